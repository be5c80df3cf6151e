"""What the graph knows of identities: the one look-up before anything hangs on them."""

from __future__ import annotations

from collections.abc import Iterable

from graph.database.database import Database
from graph.records.model import Known, known_from_row


def known_among(database: Database, identities: Iterable[str]) -> dict[str, Known]:
    """The records and tombstones among `identities`, by identity; what is not there is left out."""
    rows = database.read("list_identities", identities=sorted(set(identities)))
    return {known.identity: known for known in map(known_from_row, rows[0].rows("known"))}
