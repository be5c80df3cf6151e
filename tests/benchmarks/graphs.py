"""Graphs to measure on, loaded with the raw driver so that loading is no part of what is measured."""

from __future__ import annotations

import json
from collections.abc import Iterator

from graph.database.database import Database
from graph.ids import derived_id

LOAD_ROWS = 5_000
FAN_OUT = 10


def tree(size: int, prefix: str) -> Iterator[tuple[str, str]]:
    """(child, parent) pairs of a tree below `root(prefix)` with `size` descendants, ten children a node."""
    for number in range(1, size + 1):
        parent = root(prefix) if number <= FAN_OUT else node(prefix, (number - 1) // FAN_OUT)
        yield node(prefix, number), parent


def root(prefix: str) -> str:
    return derived_id("benchmark", prefix, "root")


def node(prefix: str, number: int) -> str:
    return derived_id("benchmark", prefix, str(number))


def load_tree(database: Database, size: int, prefix: str) -> str:
    """Load a tree and answer its root."""
    load_nodes(database, [root(prefix)])
    pairs = list(tree(size, prefix))
    load_nodes(database, [child for child, _ in pairs])
    for start in range(0, size, LOAD_ROWS):
        database.administer(
            "UNWIND $pairs AS pair MATCH (c:Identity {identity: pair[0]}) MATCH (p:Identity {identity: pair[1]}) "
            "CREATE (c)-[:SUMMARIZED_FROM]->(p)",
            pairs=[list(pair) for pair in pairs[start : start + LOAD_ROWS]],
        )
    return root(prefix)


def load_nodes(database: Database, identities: list[str]) -> None:
    """Load records with the properties that a registered one has."""
    for start in range(0, len(identities), LOAD_ROWS):
        database.administer(
            "UNWIND $rows AS row CREATE (n:Identity:Record) SET n = row",
            rows=[properties(identity) for identity in identities[start : start + LOAD_ROWS]],
        )


def properties(identity: str) -> dict[str, object]:
    """What a registered record of this size holds."""
    return {
        "identity": identity,
        "tenantId": "tenant-a",
        "class": "artifact",
        "kind": "document",
        "state": "active",
        "permissions": ["role:producer", "role:reviewer"],
        "purposes": ["maintenance"],
        "sourceKey": "0" * 32,
        "observedAt": 1_772_441_940_000_000,
        "envelope": json.dumps({"recordId": identity, "text": "e" * 900}),
        "content": json.dumps("c" * 200),
    }
