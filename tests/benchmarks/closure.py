"""The closure of a record by the deletion's walk and by the lineage walk, against the best raw query and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import psycopg

from graph.access import Caller
from graph.lineage.model import Direction
from graph.propagation.closure import discover
from service.bootstrap import Application
from tests.benchmarks.graphs import chain, layers, load_pairs, root, tree
from tests.benchmarks.measure import measure_turns, row
from tests.benchmarks.postgres import postgres_server

# Name, descendants, pairs, runs.
GRAPHS: tuple[tuple[str, int, Callable[[str], Iterable[tuple[str, str]]], int], ...] = (
    ("a tree of 1,000", 1_000, partial(tree, 1_000), 9),
    ("a tree of 10,000", 10_000, partial(tree, 10_000), 9),
    ("a tree of 100,000", 100_000, partial(tree, 100_000), 5),
    ("a chain of 1,000", 1_000, partial(chain, 1_000), 9),
    ("20 layers of 1,000, 5 parents", 20_000, partial(layers, 20, 1_000, 5), 9),
)
WARM_UPS = 3
_RAW = (
    "MATCH p = (:Identity {identity: $root})<-[:SUMMARIZED_FROM*1..]-(d:Identity) "
    "WITH d, min(length(p)) AS depth RETURN depth, collect(d.identity) AS ids ORDER BY depth"
)
_SEEN = _RAW.replace(
    "WITH d,",
    "WHERE all(n IN nodes(p) WHERE n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes "
    "AND any(one IN n.permissions WHERE one IN $grants)) WITH d,",
    1,
)
_RECURSIVE = (
    "WITH RECURSIVE reached(identity, depth) AS (SELECT %s::text, 0 UNION "
    "SELECT e.child, r.depth + 1 FROM reached r JOIN edge e ON e.parent = r.identity) "
    "SELECT identity, min(depth) FROM reached GROUP BY identity"
)


def run_closure(application: Application, caller: Caller) -> Iterator[str]:
    """Ids with their depths. PostgreSQL answers rows; `isolated` is the lineage walk with its receipt."""
    with postgres_server() as uri, psycopg.connect(uri, autocommit=True) as postgres:
        postgres.execute("CREATE TABLE edge (child text, parent text, PRIMARY KEY (parent, child))")
        for name, size, pairs_of, runs in GRAPHS:
            yield from _measured(application, caller, postgres, (name, size, pairs_of, runs))


def _measured(application: Application, caller: Caller, postgres: psycopg.Connection, graph: tuple) -> Iterator[str]:
    name, size, pairs_of, runs = graph
    start, database = root(name), application.database
    load_pairs(database, pairs_of(name), name)
    with postgres.cursor() as cursor, cursor.copy("COPY edge FROM STDIN") as copy:
        for pair in pairs_of(name):
            copy.write_row(pair)
    postgres.execute("ANALYZE edge")
    seen = {"tenants": caller.tenants, "states": caller.states, "purpose": caller.purpose, "grants": caller.grants}

    def walked(_: int) -> None:
        assert len(discover(database, [start], application.policy.deletion_edges)) == size + 1

    def isolated(_: int) -> None:
        found = application.lineage.closure(caller, start, direction=Direction.DOWNSTREAM)
        assert found.receipt.complete
        assert found.receipt.nodes_visited == size

    def recursive(_: int) -> None:
        assert len(postgres.execute(_RECURSIVE, [start]).fetchall()) == size + 1

    works = (
        walked,
        isolated,
        lambda _: database.administer(_RAW, root=start),
        lambda _: database.administer(_SEEN, root=start, **seen),
        recursive,
    )
    measure_turns(works, WARM_UPS)
    ours, lineage, raw, raw_seen, beside = measure_turns(works, runs)
    yield row(f"closure of {name}, the deletion's walk", ours, raw, beside)
    yield row(f"closure of {name}, isolated with receipt", lineage, raw, beside)
    yield row(f"closure of {name}, isolated; raw with the same predicates", lineage, raw_seen, beside)
