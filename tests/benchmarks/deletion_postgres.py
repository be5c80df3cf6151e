"""The deletion protocol on PostgreSQL: walk, fence, then tombstone and outcome in batches under row locks."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg

from tests.benchmarks.graphs import node, properties, root, tree

BATCH = 2_500
WRITERS = 2
_COLUMNS = ("identity", "tenantId", "class", "kind", "state", "permissions", "purposes", "sourceKey", "observedAt")
_WALK = (
    "WITH RECURSIVE reached(identity, depth) AS (SELECT %s::text, 0 UNION "
    "SELECT e.child, r.depth + 1 FROM reached r JOIN edge e ON e.parent = r.identity) "
    "SELECT identity, min(depth) FROM reached GROUP BY identity ORDER BY identity"
)
_FENCE = "UPDATE record SET fence = %s WHERE identity = ANY(%s) AND deleted_at IS NULL"
_LOCK = (
    "SELECT r.identity, r.kind, r.state, h.record FROM record r LEFT JOIN hold h ON h.record = r.identity "
    "WHERE r.identity = ANY(%s) ORDER BY r.identity FOR UPDATE OF r"
)
_STRIP = (
    "UPDATE record SET tenantId = NULL, class = NULL, kind = NULL, state = NULL, permissions = NULL, purposes = NULL, "
    "sourceKey = NULL, observedAt = NULL, envelope = NULL, content = NULL, fence = NULL, deleted_at = 1, "
    "reason_code = 'PRINCIPAL_REQUEST', policy_ref = 'p@1' WHERE identity = ANY(%s)"
)


def schema() -> str:
    """The statements that make the tables."""
    return (
        "CREATE TABLE record (identity text PRIMARY KEY, tenantId text, class text, kind text, state text, "
        "permissions text[], purposes text[], sourceKey text, observedAt bigint, envelope text, content text, fence text, "
        "deleted_at bigint, reason_code text, policy_ref text);"
        "CREATE TABLE edge (child text REFERENCES record, parent text REFERENCES record, PRIMARY KEY (parent, child));"
        "CREATE TABLE hold (record text REFERENCES record);"
        "CREATE INDEX ON hold (record);"
        "CREATE TABLE request (requestId text PRIMARY KEY, state text);"
        "CREATE TABLE outcome (outcomeId text PRIMARY KEY, requestId text REFERENCES request, "
        "identity text REFERENCES record, store text, rule text, depth int, outcome text, state text, basis text, "
        "decidedAt bigint)"
    )


def load_postgres(uri: str, size: int, prefix: str) -> str:
    """Load the tree that the graph has and answer its root."""
    with psycopg.connect(uri) as postgres, postgres.cursor() as cursor:
        columns = (*_COLUMNS, "envelope", "content")
        with cursor.copy(f"COPY record ({', '.join(columns)}) FROM STDIN") as copy:
            for identity in (root(prefix), *(node(prefix, number) for number in range(1, size + 1))):
                values = properties(identity)
                copy.write_row([values[column] for column in columns])
        with cursor.copy("COPY edge FROM STDIN") as copy:
            for pair in tree(size, prefix):
                copy.write_row(pair)
    with psycopg.connect(uri, autocommit=True) as postgres:
        postgres.execute("ANALYZE")
    return root(prefix)


def delete_in_postgres(uri: str, identity: str) -> None:
    """The same steps as the service's, each batch a transaction."""
    request = str(uuid.uuid4())
    with psycopg.connect(uri, autocommit=True) as postgres:
        postgres.execute("INSERT INTO request VALUES (%s, 'PROPAGATING')", [request])
        reached = postgres.execute(_WALK, [identity]).fetchall()
        batches = [reached[start : start + BATCH] for start in range(0, len(reached), BATCH)]
        for batch in batches:
            postgres.execute(_FENCE, [request, [one for one, _ in batch]])
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(lambda batch: _settle(uri, request, batch), batches))
        postgres.execute("UPDATE request SET state = 'COMPLETED' WHERE requestId = %s", [request])


def _settle(uri: str, request: str, batch: list[tuple[str, int]]) -> None:
    depths = dict(batch)
    with psycopg.connect(uri) as postgres, postgres.cursor() as cursor:
        found = cursor.execute(_LOCK, [list(depths)]).fetchall()
        removed = [identity for identity, _, _, hold in found if hold is None]
        with cursor.copy("COPY outcome FROM STDIN") as copy:
            for one in removed:
                rule, basis = "deletion/document/alone", "settled_by_this_request"
                copy.write_row(
                    [f"{request}/{one}", request, one, "graph", rule, depths[one], "deleted", "settled", basis, 1]
                )
        cursor.execute(_STRIP, [removed])
