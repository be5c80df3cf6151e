"""Graphs to measure on, loaded with the raw driver so that loading is no part of what is measured."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from itertools import islice

from graph.access import audience_of
from graph.database.database import Database
from graph.ids import derived_id

LOAD_ROWS = 5_000
FAN_OUT = 10


def tree(size: int, prefix: str) -> Iterator[tuple[str, str]]:
    """(child, parent) pairs of a tree below `root(prefix)` with `size` descendants, ten children a node."""
    for number in range(1, size + 1):
        parent = root(prefix) if number <= FAN_OUT else node(prefix, (number - 1) // FAN_OUT)
        yield node(prefix, number), parent


def chain(size: int, prefix: str) -> Iterator[tuple[str, str]]:
    """(child, parent) pairs of a chain below `root(prefix)`."""
    for number in range(1, size + 1):
        yield node(prefix, number), root(prefix) if number == 1 else node(prefix, number - 1)


def layers(depth: int, width: int, parents: int, prefix: str) -> Iterator[tuple[str, str]]:
    """(child, parent) pairs of layers below `root(prefix)`, each node with `parents` others of the layer above it."""
    picks = random.Random(5)
    for level in range(depth):
        above = [node(prefix, (level - 1) * width + one) for one in range(width)]
        for one in range(width):
            chosen = picks.sample(above, parents) if level else [root(prefix)]
            yield from ((node(prefix, level * width + one), parent) for parent in chosen)


def hub(size: int, prefix: str) -> Iterator[tuple[str, str]]:
    """(child, parent) pairs of `size` children of `root(prefix)`."""
    return ((node(prefix, number), root(prefix)) for number in range(1, size + 1))


def root(prefix: str) -> str:
    return derived_id("benchmark", prefix, "root")


def node(prefix: str, number: int) -> str:
    return derived_id("benchmark", prefix, str(number))


def load_tree(database: Database, size: int, prefix: str) -> str:
    """Load a tree and answer its root."""
    return load_pairs(database, tree(size, prefix), prefix)


def load_pairs(database: Database, pairs: Iterable[tuple[str, str]], prefix: str, edge: str = "SUMMARIZED_FROM") -> str:
    """Load the records and edges of (child, parent) pairs below `root(prefix)` and answer it; page by page."""
    loaded = {root(prefix)}
    load_nodes(database, [root(prefix)])
    for page in _pages(pairs):
        fresh = list(dict.fromkeys(one for pair in page for one in pair if one not in loaded))
        loaded.update(fresh)
        load_nodes(database, fresh)
        database.administer(
            "UNWIND $pairs AS pair MATCH (c:Identity {identity: pair[0]}) MATCH (p:Identity {identity: pair[1]}) "
            f"CREATE (c)-[:{edge}]->(p)",
            pairs=[list(pair) for pair in page],
        )
    return root(prefix)


def _pages(pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    left = iter(pairs)
    while page := list(islice(left, LOAD_ROWS)):
        yield page


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
        "audience": audience_of("tenant-a", "document", ("role:producer", "role:reviewer"), ("maintenance",)),
        "sourceKey": "0" * 32,
        "observedAt": 1_772_441_940_000_000,
        "envelope": json.dumps({"recordId": identity, "text": "e" * 900}),
        "content": json.dumps("c" * 200),
    }
