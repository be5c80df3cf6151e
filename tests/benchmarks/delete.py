"""Deleting a record with many derivatives, against the raw statements doing the same writes in batches."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from graph.access import Caller
from graph.deletion.model import DeletionInput
from service.bootstrap import Application
from tests.benchmarks.graphs import load_tree
from tests.benchmarks.measure import measure_pairs, row

SIZES = (1_000, 10_000)
RUNS = 5
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
    for size in SIZES:
        ours_roots = [load_tree(application.database, size, f"ours-{size}-{number}") for number in range(RUNS + 1)]
        raw_roots = [load_tree(application.database, size, f"raw-{size}-{number}") for number in range(RUNS + 1)]
        _delete(application, caller, ours_roots.pop())
        _delete_raw(application, raw_roots.pop())
        measured = measure_pairs(
            lambda number, roots=ours_roots: _delete(application, caller, roots[number]),
            lambda number, roots=raw_roots: _delete_raw(application, roots[number]),
            RUNS,
        )
        yield row(f"delete with {size:,} derivatives", *measured)


def _delete(application: Application, caller: Caller, root: str) -> None:
    request = DeletionInput.model_validate({"subject": {"recordIds": [root]}})
    view = application.deletions.file(request, caller, root)
    assert application.deletions.advance(view.request_id).complete


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
