"""Asking for what is not there, against a keyed look-up by the driver, on a small and on a large graph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graph.access import Caller
from graph.errors import NotFound
from graph.lineage.model import Direction
from service.bootstrap import Application
from tests.benchmarks.graphs import load_tree
from tests.benchmarks.measure import measure_pairs, row

SIZES = (100, 100_000)
RUNS = 200
UNKNOWN = "8f14e45f-ceea-867a-9b1f-7d3a2c5e9a10"
_RAW = "MATCH (n:Identity {identity: $identity}) RETURN n.identity AS identity"


def run_unknown(application: Application, caller: Caller) -> Iterator[str]:
    """The lineage of an id that no record has."""

    def ours(_: int) -> None:
        with pytest.raises(NotFound):
            application.lineage.walk(caller, UNKNOWN, direction=Direction.DOWNSTREAM)

    def raw(_: int) -> None:
        assert application.database.administer(_RAW, identity=UNKNOWN) == []

    for size in SIZES:
        load_tree(application.database, size, f"unknown-{size}")
        for _ in range(50):
            ours(0)
            raw(0)
        yield row(f"lineage of an unknown id, graph of {size:,}", *measure_pairs(ours, raw, RUNS))
