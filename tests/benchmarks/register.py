"""Registering under the fence, against the same writes by the driver with the same lock and re-read."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

from graph.access import Caller
from service.bootstrap import Application
from tests.benchmarks.graphs import properties
from tests.benchmarks.measure import measure_pairs, row
from tests.support.records import derived, record

PARENTS = 2_000
SINGLES = 200
BATCH_RUNS = 7

_RAW = (
    "UNWIND $locks AS id MATCH (p:Identity {identity: id}) SET p:Identity WITH count(p) AS locked "
    "UNWIND $rows AS row CALL (row) { UNWIND row.parents AS id MATCH (p:Identity {identity: id}) "
    "WHERE p:Record AND p.fence IS NULL RETURN count(p) AS free } WITH row WHERE free = size(row.parents) "
    "CREATE (c:Identity:Record) SET c = row.properties CREATE (o:Operation) SET o = row.operation "
    "CREATE (c)-[:PRODUCED_BY]->(o) WITH c, o, row UNWIND row.parents AS id MATCH (p:Identity {identity: id}) "
    "CREATE (c)-[:SUMMARIZED_FROM]->(p) CREATE (o)-[:USED]->(p) RETURN count(*) AS edges"
)


def run_register(application: Application, caller: Caller) -> Iterator[str]:
    """One record with two sources, and batches of 1,000 of them."""
    parents = _parents(application, caller)
    picks = random.Random(3)
    for size, runs in ((1, SINGLES), (1_000, BATCH_RUNS)):

        def ours(_: int, size: int = size) -> None:
            records = [_input(picks.sample(parents, 2)) for _ in range(size)]
            results = application.registrar.register(records, caller)
            assert all(result.status == "created" for result in results)

        def raw(_: int, size: int = size) -> None:
            rows = [_row(picks.sample(parents, 2)) for _ in range(size)]
            locks = sorted({parent for item in rows for parent in item["parents"]})
            application.database.administer(_RAW, rows=rows, locks=locks)

        for _ in range(10 if size == 1 else 2):
            ours(0)
            raw(0)
        yield row(f"register {size:,} with two sources each", *measure_pairs(ours, raw, runs))


def _parents(application: Application, caller: Caller) -> list[str]:
    records = [record(f"benchmark-parent-{number}", content="c" * 200) for number in range(PARENTS)]
    batches = [records[start : start + 1_000] for start in range(0, PARENTS, 1_000)]
    return [result.identity for batch in batches for result in application.registrar.register(batch, caller)]


def _input(parents: list[str]):
    sources = [{"recordId": parent, "edge": "SUMMARIZED_FROM"} for parent in parents]
    return derived(None, sources=sources, permissions=["role:producer"], content="c" * 200)


def _row(parents: list[str]) -> dict:
    identity = str(uuid.uuid4())
    operation = {"operationId": str(uuid.uuid4()), "type": "computation", "producerId": "p", "producerVersion": "1"}
    return {
        "properties": properties(identity),
        "parents": parents,
        "operation": operation | {"method": "m", "at": 1, "actorKey": "0" * 32},
    }
