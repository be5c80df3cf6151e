"""Walking and fencing a closure on the real graph."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from graph.access import Caller
from graph.propagation import closure as walking
from service.bootstrap import Application
from tests.support.deletion import closure, family, random_graph, register, register_graph
from tests.support.records import derived, record


def _fences(application: Application) -> dict[str, str]:
    rows = application.database.administer(
        "MATCH (n:Record) WHERE n.fence IS NOT NULL RETURN n.identity AS identity, n.fence AS fence"
    )
    return {row.text("identity"): row.text("fence") for row in rows}


@pytest.mark.req("DEL-08")
def test_the_walk_is_the_oracles_closure_with_least_depths(application: Application, caller: Caller):
    rng = random.Random(8)
    graph = random_graph(rng, "g", 60)
    ids = register_graph(application, caller, graph)
    names = list(graph.sources)
    for _ in range(12):
        roots = rng.sample(names, k=rng.choice([1, 2, 5]))
        found = walking.discover(application.database, [ids[name] for name in roots], application.policy.deletion_edges)
        expected = closure(graph.pairs, roots)
        assert dict(found) == {ids[name]: depth for name, depth in expected.items()}
        assert list(found) == sorted(found)


@pytest.mark.req("DEL-08")
def test_an_edge_that_only_the_database_knows_is_followed(application: Application, caller: Caller):
    """F-01: the walk reads the graph, not a list kept beside it."""
    ids = family(application, caller, {"r": (), "apart": ()})
    application.database.administer(
        "MATCH (a {identity: $apart}), (r {identity: $r}) CREATE (a)-[:CACHED_FROM]->(r)",
        apart=ids["apart"],
        r=ids["r"],
    )
    found = walking.discover(application.database, [ids["r"]], application.policy.deletion_edges)
    assert dict(found) == {ids["r"]: 0, ids["apart"]: 1}


@pytest.mark.req("DEL-24")
def test_after_the_fence_nothing_can_be_added(application: Application, caller: Caller):
    ids = family(application, caller, {"r": (), "s": ("r",), "other": ()})
    found, closed = walking.fence_closure(application.database, "q-1", [ids["r"]], application.policy.deletion_edges)
    assert closed
    assert _fences(application) == {ids["r"]: "q-1", ids["s"]: "q-1"}
    assert set(found) == {ids["r"], ids["s"]}
    late = [derived("late", "s"), derived("mixed", "s", "other"), derived("free", "other")]
    results = application.registrar.register(late, caller)
    assert [result.code for result in results] == ["SOURCE_FENCED", "SOURCE_FENCED", None]


@pytest.mark.req("DEL-12")
def test_the_first_fence_on_a_record_stays(application: Application, caller: Caller):
    ids = family(application, caller, {"a": (), "b": (), "s": ("a", "b")})
    for number, name in enumerate("ab", start=1):
        walking.fence_closure(application.database, f"q-{number}", [ids[name]], application.policy.deletion_edges)
    assert _fences(application) == {ids["a"]: "q-1", ids["b"]: "q-2", ids["s"]: "q-1"}


@pytest.mark.req("DEL-24")
def test_a_writer_at_the_tip_and_a_fence_at_the_root_lose_nothing(application: Application, caller: Caller):
    (root,) = register(application, caller, record("n0"))

    def extend() -> list[str]:
        grown = []
        for number in range(1, 40):
            (result,) = application.registrar.register([derived(f"n{number}", f"n{number - 1}")], caller)
            if result.status == "refused":
                assert result.code in {"SOURCE_FENCED", "SOURCE_NOT_FOUND"}
                return grown
            grown.append(result.identity)
        return grown

    with ThreadPoolExecutor(2) as pool:
        growing = pool.submit(extend)
        found, closed = walking.fence_closure(application.database, "q-1", [root], application.policy.deletion_edges)
        grown = growing.result()
    assert closed
    assert set(found) == {root, *grown} == set(_fences(application))


@pytest.mark.parametrize(("size", "expected"), [(1, [1, 1, 1]), (2, [2, 1]), (3, [3]), (4, [3])])
def test_chunks_leave_nothing_out(size, expected):
    pieces = list(walking.chunks(["a", "b", "c"], size))
    assert [len(piece) for piece in pieces] == expected
    assert [item for piece in pieces for item in piece] == ["a", "b", "c"]
