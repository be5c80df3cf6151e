"""Filling a graph faster than a producer could."""

from __future__ import annotations

from typing import Protocol


class HasCypher(Protocol):
    """Runs a statement on the database of a test."""

    def cypher(self, text: str, **params: object) -> object: ...


def copies(room: HasCypher, identity: str, count: int) -> list[str]:
    """The identities of so many new records that have all properties of an existing one; no edges."""
    identities = [f"copy-{number:06}" for number in range(count)]
    room.cypher(
        "MATCH (n:Identity {identity: $id}) UNWIND $ids AS new CREATE (c:Identity:Record) SET c = n {.*, identity: new}",
        id=identity,
        ids=identities,
    )
    return identities
