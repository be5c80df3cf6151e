"""What the graph knows of identities: the one look-up before anything hangs on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from graph.database.database import Database
from graph.database.rows import Row
from graph.records.model import Known, known_from_row


def known_among(database: Database, identities: Iterable[str]) -> dict[str, Known]:
    """The records and tombstones among `identities`, by identity; what is not there is left out."""
    return {identity: known_as_told(row) for identity, row in rows_among(database, identities).items()}


def known_as_told(row: Row) -> Known:
    """What a row of `rows_among` says."""
    return replace(known_from_row(row), succeeded=row.truth("succeeded"))


def rows_among(database: Database, identities: Iterable[str]) -> dict[str, Row]:
    """The same as the graph tells it."""
    rows = database.read("list_identities", identities=sorted(set(identities)))[0].rows("known")
    return {row.text("identity"): row for row in rows}


def registered_among(database: Database, places: Sequence[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Of these places, (store, locator) each, those that a record names."""
    if not places:
        return frozenset()
    asked = [{"storeId": store_id, "locator": locator} for store_id, locator in places]
    rows = database.read("list_locators_taken", places=asked)[0].rows("taken")
    return frozenset((row.text("storeId"), row.text("locator")) for row in rows)
