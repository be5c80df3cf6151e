"""The closure of a record through the deletion walk, against the best raw query."""

from __future__ import annotations

from collections.abc import Iterator

from graph.access import Caller
from graph.propagation.closure import discover
from service.bootstrap import Application
from tests.benchmarks.graphs import load_tree
from tests.benchmarks.measure import measure_pairs, row

SIZES = (1_000, 10_000)
RUNS = 9
_RAW = (
    "MATCH p = (:Identity {identity: $root})<-[:SUMMARIZED_FROM*1..]-(d:Identity) "
    "WITH d, min(length(p)) AS depth RETURN depth, collect(d.identity) AS ids ORDER BY depth"
)


def run_closure(application: Application, caller: Caller) -> Iterator[str]:
    """Ids with their depth: as a deletion finds them, and as a reviewer's question is answered in counts."""
    for size in SIZES:
        root = load_tree(application.database, size, f"closure-{size}")

        def found(_: int, root: str = root, size: int = size) -> None:
            assert len(discover(application.database, [root], application.policy.deletion_edges)) == size + 1

        def raw(_: int, root: str = root) -> None:
            application.database.administer(_RAW, root=root)

        for _ in range(3):
            found(0)
            raw(0)
        yield row(f"closure of {size:,}, ids with depth", *measure_pairs(found, raw, RUNS))
