"""Writing whole graphs straight into the database, for tests that read them.

This bypasses the registrar, which is the only way in for the product: walks must stay right on graphs that nobody could
register any more (hidden records in the middle, tombstones, cycles through relations, a hub of tens of thousands), and
thousands of them have to be there within seconds. Nothing that is proven on such a graph says anything about what may be
written; the tests of `records` do that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graph.access import audience_of
from graph.database.database import Database
from tests.support.records import PURPOSE, READERS, TENANT

ROWS_MAX = 5_000
SHOWN = {
    "tenantId": TENANT,
    "class": "artifact",
    "kind": "document",
    "state": "active",
    "permissions": READERS,
    "purposes": [PURPOSE],
    "envelope": '{"derivationType":"asserted","sourceVersion":"1","version":1}',
}
# Ways to hide a record from the caller of the fixtures.
HIDDEN = {
    "tenant": {"tenantId": "tenant-b"},
    "purpose": {"purposes": ["billing"]},
    "permission": {"permissions": ["principal:somebody-else"]},
    "no_permission": {"permissions": []},
    "blank": {"permissions": None},
}

Edge = tuple[str, str, str]


@dataclass(frozen=True)
class Graphs:
    """Loads graphs into one database."""

    database: Database

    def records(self, identities: Iterable[str], **changes: object) -> None:
        """Records that the caller of the fixtures may see, unless `changes` say otherwise."""
        rows = [_with_audience({"identity": identity, **SHOWN, **changes}) for identity in identities]
        for batch in _batches(rows):
            self.database.administer("UNWIND $rows AS row CREATE (n:Identity:Record) SET n = row", rows=batch)

    def edges(self, edges: Iterable[Edge]) -> None:
        """Edges as (derivative, type, source)."""
        by_type: dict[str, list[list[str]]] = defaultdict(list)
        for derivative, edge, source in edges:
            by_type[edge].append([derivative, source])
        for edge, rows in by_type.items():
            for batch in _batches(rows):
                self.database.administer(
                    f"UNWIND $rows AS row MATCH (a:Identity {{identity: row[0]}}) MATCH (b:Identity {{identity: row[1]}}) "
                    f"CREATE (a)-[:{edge}]->(b)",
                    rows=batch,
                )

    def load(self, edges: Iterable[Edge], **changes: object) -> None:
        """Edges with all their ends as records."""
        drawn = list(edges)
        self.records(sorted({end for derivative, _, source in drawn for end in (derivative, source)}), **changes)
        self.edges(drawn)

    def delete(self, identities: Iterable[str], *, by: str = TENANT) -> None:
        """Turn records into tombstones, each with the outcome of a request of the tenant `by`; their edges stay."""
        self.database.administer(
            "UNWIND $identities AS identity MATCH (n:Identity {identity: identity}) REMOVE n:Record SET n:Tombstone "
            "SET n = {identity: identity, deletedAt: 1, reasonCode: 'PRINCIPAL_REQUEST', policyRef: 'test@1'} "
            "CREATE (:Request:Deletion {requestId: $by + identity, tenantId: $by})-[:HAS_OUTCOME]->"
            "(:Outcome {outcomeId: $by + identity})-[:OUTCOME_FOR]->(n)",
            identities=list(identities),
            by=by,
        )

    def change(self, identity: str, **changes: object) -> None:
        """Set properties of a record, as no product path could."""
        self.database.administer(
            "MATCH (n:Identity {identity: $identity}) SET n += $changes", identity=identity, changes=changes
        )

    def hub(self, root: str, children: int) -> None:
        """A record with so many children; the server numbers them."""
        self.records([root])
        self.database.administer(
            "MATCH (root:Identity {identity: $root}) UNWIND range(1, $children) AS number "
            "CALL (root, number) { CREATE (n:Identity:Record {identity: $root + '-' + number})-[:CACHED_FROM]->(root) "
            "SET n += $properties } IN TRANSACTIONS OF 5000 ROWS",
            root=root,
            children=children,
            properties=_with_audience(SHOWN),
        )


def _with_audience(row: Mapping[str, object]) -> dict[str, object]:
    """A record's properties, with the number of its audience where the product would write one."""
    lists = row["permissions"], row["purposes"]
    if (
        "audience" in row
        or row["state"] not in {"active", "superseded"}
        or not all(isinstance(one, list) for one in lists)
    ):
        return dict(row)
    permissions, purposes = (tuple(one) for one in lists)
    return {**row, "audience": audience_of(str(row["tenantId"]), str(row["kind"]), permissions, purposes)}


def _batches(rows: list[Any]) -> Iterable[list[Any]]:
    return (rows[start : start + ROWS_MAX] for start in range(0, len(rows), ROWS_MAX))


def chain(prefix: str, length: int, edge: str = "SUMMARIZED_FROM") -> list[Edge]:
    """`length` edges in a row: prefix-0 is the source of prefix-1, and so on."""
    return [(f"{prefix}-{place + 1}", edge, f"{prefix}-{place}") for place in range(length)]


def levels(edges: Iterable[Edge], root: str, *, downstream: bool) -> list[set[str]]:
    """The oracle: what is reached from a root, level by level, by adding neighbours to a set until it stops growing."""
    steps = [(source, derivative) if downstream else (derivative, source) for derivative, _, source in edges]
    seen = {root}
    found: list[set[str]] = []
    while grown := {farther for nearer, farther in steps if nearer in seen} - seen:
        found.append(grown)
        seen |= grown
    return found


def depths(edges: Iterable[Edge], root: str, *, downstream: bool) -> Mapping[str, int]:
    """The same as shortest distances; the root is not there."""
    found = levels(edges, root, downstream=downstream)
    return {identity: depth for depth, level in enumerate(found, 1) for identity in level}
