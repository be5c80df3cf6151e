"""Deleting a record with many derivatives, against the raw statements doing the same writes in batches, and PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg

from graph.access import Caller
from service.bootstrap import Application
from tests.benchmarks.deleter import delete, delete_apart
from tests.benchmarks.deletion_postgres import delete_in_postgres, load_postgres, schema
from tests.benchmarks.graphs import load_tree
from tests.benchmarks.measure import measure_turns, row
from tests.benchmarks.postgres import postgres_server

# Derivatives, runs.
SIZES = ((1_000, 7), (10_000, 5), (100_000, 3))
BATCH = 2_500
_WALK = (
    "MATCH p = (:Identity {identity: $root})<-[:SUMMARIZED_FROM*1..]-(d:Identity) "
    "WITH d, min(length(p)) AS depth RETURN collect(d.identity) AS ids"
)
_FENCE = "UNWIND $ids AS id MATCH (d:Identity {identity: id}) SET d.fence = $request"
_STRIP = (
    "MATCH (q:RawRequest {requestId: $request}) UNWIND $rows AS row MATCH (d:Identity {identity: row.identity}) "
    "REMOVE d:Record SET d:Tombstone SET d = row.tombstone "
    "CREATE (q)-[:HAS_OUTCOME]->(o:RawOutcome)-[:OUTCOME_FOR]->(d) SET o = row.outcome"
)


def run_delete(application: Application, caller: Caller) -> Iterator[str]:
    """From the request to its terminal state, receipt included."""
    application.database.administer("CREATE INDEX IF NOT EXISTS FOR (q:RawRequest) ON (q.requestId)")
    with postgres_server() as uri:
        with psycopg.connect(uri, autocommit=True) as postgres:
            postgres.execute(schema())
        for size, runs in SIZES:
            yield from _measured(application, caller, uri, size, runs)


def _measured(application: Application, caller: Caller, uri: str, size: int, runs: int) -> Iterator[str]:
    database = application.database
    # The first one of each kind warms up.
    ours = [load_tree(database, size, f"ours-{size}-{number}") for number in range(runs + 1)]
    raw = [load_tree(database, size, f"raw-{size}-{number}") for number in range(runs + 1)]
    beside = [load_postgres(uri, size, f"postgres-{size}-{number}") for number in range(runs + 1)]
    works = (
        lambda number: delete(application, caller, ours[number]),
        lambda number: _delete_raw(application, raw[number]),
        lambda number: delete_in_postgres(uri, beside[number]),
    )
    for work in works:
        work(runs)
    yield row(f"delete with {size:,} derivatives", *measure_turns(works, runs))
    taken = delete_apart(application, load_tree(database, size, f"apart-{size}"))
    memory = f"service {taken.process_mb:,.0f} MB, server {taken.server_mb:,.0f} MB"
    yield f"| the same in a process of its own | {taken.seconds * 1_000:,.1f} ms, {memory} | | | |"


def _delete_raw(application: Application, root: str) -> None:
    database, request = application.database, str(uuid.uuid4())
    database.administer("CREATE (:RawRequest {requestId: $request})", request=request)
    ids = sorted([root, *database.administer(_WALK, root=root)[0].texts("ids")])
    batches = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
    for batch in batches:
        database.administer(_FENCE, ids=batch, request=request)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda batch: _strip(application, batch, request), batches))


def _strip(application: Application, batch: list[str], request: str) -> None:
    rows = [
        {
            "identity": identity,
            "tombstone": {"identity": identity, "deletedAt": 1, "reasonCode": "PRINCIPAL_REQUEST", "policyRef": "p@1"},
            "outcome": {
                "outcomeId": f"{request}/{identity}",
                "requestId": request,
                "identity": identity,
                "store": "graph",
                "rule": "deletion/document/alone",
                "depth": 1,
                "witnessEdge": "SUMMARIZED_FROM",
                "witnessParent": identity,
                "outcome": "deleted",
                "state": "settled",
                "basis": "settled_by_this_request",
                "decidedAt": 1,
            },
        }
        for identity in batch
    ]
    application.database.administer(_STRIP, rows=rows, request=request)
