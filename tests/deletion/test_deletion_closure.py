"""What a deletion reaches, what becomes of each of it, and that nothing else changes."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from graph.access import Caller
from graph.vocabulary import DERIVATION_EDGES
from service.bootstrap import Application
from tests.support.deletion import (
    CANARY,
    FOREIGNER,
    RandomGraph,
    abandoned,
    by_ids,
    closure,
    delete,
    everything,
    family,
    fresh_key,
    graph_outcomes,
    labels_of,
    nodes,
    outcomes_of,
    properties_of,
    random_graph,
    register,
    register_graph,
    tombstones,
)
from tests.support.records import OTHER_TENANT, derived, record

GRAPHS = 30
GRAPH_SIZE = 12


def _states(application: Application, ids: dict[str, str]) -> dict[str, str]:
    """Name → state; a tombstone says so."""
    return {name: str(properties_of(application.database, i).get("state", "gone")) for name, i in ids.items()}


@pytest.mark.req("DEL-06", "DEL-08", "DEL-18", "DEL-23")
def test_random_graphs_come_out_as_the_oracle_says(application: Application, caller: Caller):
    rng = random.Random(20260302)
    graphs = [random_graph(rng, f"g{number}", GRAPH_SIZE) for number in range(GRAPHS)]
    ids = register_graph(application, caller, *graphs)
    sizes = set()
    for graph in graphs:
        root = rng.choice(list(graph.sources)[: GRAPH_SIZE // 3])
        view = delete(application, caller, ids[root])
        expected = graph.expected(root)
        sizes.add(len(expected))
        assert view.state == "COMPLETED"
        found = outcomes_of(application, caller, view.request_id)
        assert {item.identity: item.outcome for item in found} == {ids[name]: value for name, value in expected.items()}
        assert len(found) == len(expected)
        _check_witnesses(graph, ids, root, {item.identity: item for item in found})
    assert len(sizes) > 4, "the graphs are too much alike to show anything"
    assert abandoned(application.database) == []


def _check_witnesses(graph: RandomGraph, ids: dict[str, str], root: str, found) -> None:
    edges = {(ids[child], edge, ids[parent]) for child, parents in graph.sources.items() for parent, edge in parents}
    for name, depth in closure(graph.pairs, [root]).items():
        item = found[ids[name]]
        assert item.depth == depth
        if name == root:
            continue
        assert (item.identity, item.witness_edge, item.witness_parent) in edges
        assert item.witness_parent in found


@pytest.mark.req("DEL-22")
def test_everything_outside_the_closure_stays_byte_for_byte(application: Application, caller: Caller):
    graph = random_graph(random.Random(7), "g", 25)
    ids = register_graph(application, caller, graph)
    mine = dict.fromkeys(("own-1", "own-2"), ())
    family(application, caller, mine)
    foreign = [record(name, tenantId=OTHER_TENANT) for name in (*graph.sources, "own-1")]
    results = application.registrar.register(foreign, FOREIGNER)
    assert {result.status for result in results} == {"created"}
    root = next(name for name in graph.sources if 4 < len(closure(graph.pairs, [name])) < 15)
    reached = {ids[name] for name in closure(graph.pairs, [root])}
    before = _untouched(application, reached)

    assert delete(application, caller, ids[root]).state == "COMPLETED"

    assert _untouched(application, reached) == before
    assert len(before) == 25 + 2 + 26 - len(reached)


def _untouched(application: Application, reached: set[str]) -> list[object]:
    rows = application.database.administer(
        "MATCH (n:Identity) WHERE NOT n.identity IN $reached"
        " RETURN n.identity AS identity, labels(n) AS labels, properties(n) AS properties,"
        " COLLECT { MATCH (n)-[e]->(m:Identity) RETURN type(e) + ' ' + m.identity AS t ORDER BY t } AS edges",
        reached=sorted(reached),
    )
    found = [
        (
            row.text("identity"),
            tuple(row.texts("labels")),
            repr(sorted(row.mapping("properties").items())),
            row.texts("edges"),
        )
        for row in rows
    ]
    return sorted(found)


@pytest.mark.req("DEL-08", "DEL-01")
def test_every_derivation_edge_type_is_followed_and_no_other(application: Application, caller: Caller):
    root, bystander = register(application, caller, record("root"), record("bystander"))
    followed = [
        derived(f"by-{edge}", sources=[{"name": "root", "edge": edge.value}], derivationType=_way(edge.value))
        for edge in DERIVATION_EDGES
    ]
    ids = register(application, caller, *followed)
    (relative,) = register(application, caller, record("relative", sources=[{"name": "root", "edge": "CONTRADICTS"}]))
    view = delete(application, caller, root)
    assert graph_outcomes(application, caller, view.request_id) == dict.fromkeys([root, *ids], "deleted")
    assert (
        labels_of(application.database, relative)
        == labels_of(application.database, bystander)
        == [
            "Identity",
            "Record",
        ]
    )


def _way(edge: str) -> str:
    return "observed" if edge in {"OBSERVED_FROM", "BACKED_UP_FROM", "EXPORTED_FROM"} else "computed"


@pytest.mark.req("DEL-08")
def test_a_chain_of_sixty_and_a_derivative_of_an_embedding_are_reached(application: Application, caller: Caller):
    names = [f"n{number}" for number in range(60)]
    chain = family(application, caller, {name: names[number - 1 : number] for number, name in enumerate(names)})
    embedding, packet = register(
        application,
        caller,
        derived("vector", "n59", edge="EMBEDDED_FROM", kind="embedding", retentionClass="derived_copy"),
        derived("packet", "vector", edge="EXPORTED_FROM", kind="export_packet", retentionClass="export_term"),
    )
    view = delete(application, caller, chain["n0"])
    found = {item.identity: item.depth for item in outcomes_of(application, caller, view.request_id)}
    assert found == {chain[f"n{number}"]: number for number in range(60)} | {embedding: 60, packet: 61}


@pytest.mark.req("DEL-23")
@pytest.mark.parametrize("deleted", [("a",), ("b",), ("a", "b"), ("c",), ("a", "c"), ("a", "b", "c")])
def test_support_is_what_is_left_of_three_sources(application: Application, caller: Caller, deleted):
    ids = family(application, caller, {"a": (), "b": (), "c": (), "s": ("a", "b", "c")})
    view = delete(application, caller, *(ids[name] for name in deleted))
    gone = {*deleted, "s"} if len(deleted) == 3 else set(deleted)
    assert view.state == "COMPLETED"
    assert tombstones(application.database) == {ids[name] for name in gone}
    assert _states(application, ids) == {
        name: "gone" if name in gone else "invalidated" if name == "s" else "active" for name in ids
    }


@pytest.mark.req("DEL-23")
@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")])
def test_sources_that_go_one_after_the_other_take_their_derivative_with_the_last(
    application: Application, caller: Caller, order
):
    ids = family(application, caller, {"a": (), "b": (), "c": (), "s": ("a", "b", "c")})
    seen = []
    for name in order:
        view = delete(application, caller, ids[name])
        seen.append(graph_outcomes(application, caller, view.request_id)[ids["s"]])
    assert seen == ["invalidated", "invalidated", "deleted"]
    assert tombstones(application.database) == set(ids.values())


@pytest.mark.req("DEL-08", "DEL-23")
def test_a_diamond_has_no_support_of_its_own(application: Application, caller: Caller):
    ids = family(application, caller, {"r": (), "left": ("r",), "right": ("r",), "d": ("left", "right")})
    view = delete(application, caller, ids["r"])
    found = outcomes_of(application, caller, view.request_id)
    assert {item.identity: (item.outcome, item.depth) for item in found} == {
        ids["r"]: ("deleted", 0),
        ids["left"]: ("deleted", 1),
        ids["right"]: ("deleted", 1),
        ids["d"]: ("deleted", 2),
    }


@pytest.mark.req("DEL-08", "DEL-23")
def test_what_was_made_of_an_invalidated_record_goes_as_well(application: Application, caller: Caller):
    ids = family(
        application,
        caller,
        {"r": (), "manual": (), "s": ("r", "manual"), "only": ("s",), "also": ("s", "manual")},
    )
    view = delete(application, caller, ids["r"])
    assert graph_outcomes(application, caller, view.request_id) == {
        ids["r"]: "deleted",
        ids["s"]: "invalidated",
        ids["only"]: "deleted",
        ids["also"]: "invalidated",
    }
    assert _states(application, ids)["manual"] == "active"


@pytest.mark.req("DEL-23", "DEL-22")
def test_a_summary_of_two_sources_loses_the_deleted_text_and_the_other_source_is_untouched(
    application: Application, caller: Caller
):
    """D02: only A holds the marked text."""
    a, b, s = register(
        application,
        caller,
        record("a", content={"text": CANARY}),
        record("b", content={"text": "about valves"}),
        derived("s", "a", "b", content={"text": f"valves and {CANARY}"}),
    )
    before = properties_of(application.database, b)
    view = delete(application, caller, a)
    assert graph_outcomes(application, caller, view.request_id) == {a: "deleted", s: "invalidated"}
    assert properties_of(application.database, b) == before
    assert CANARY not in everything(application.database)
    shell = properties_of(application.database, s)
    assert "content" not in shell
    assert "name" not in shell["envelope"]


@pytest.mark.req("DEL-22", "DEL-23")
def test_an_artifact_of_two_subjects_stays_with_the_other(application: Application, caller: Caller):
    """D04: deleting X takes X's text out; Y and the artifact's shell stay, and Y's deletion later ends it."""
    ids = family(application, caller, {"x": (), "y": (), "shared": ("x", "y"), "only-y": ("y",)})
    first = delete(application, caller, ids["x"])
    assert graph_outcomes(application, caller, first.request_id) == {ids["x"]: "deleted", ids["shared"]: "invalidated"}
    assert _states(application, ids) == {"x": "gone", "y": "active", "shared": "invalidated", "only-y": "active"}
    second = delete(application, caller, ids["y"])
    assert graph_outcomes(application, caller, second.request_id) == {
        ids["y"]: "deleted",
        ids["shared"]: "deleted",
        ids["only-y"]: "deleted",
    }


@pytest.mark.req("DEL-23", "DEL-12")
def test_twenty_sources_deleted_in_parallel_leave_no_derivative_behind(application: Application, caller: Caller):
    """D14."""
    names = [f"r{number}" for number in range(20)]
    ids = family(application, caller, dict.fromkeys(names, ()) | {"d": names, "of-d": ("d",)})
    filed = [application.deletions.file(by_ids(ids[name]), caller, fresh_key()).request_id for name in names]
    with ThreadPoolExecutor(20) as pool:
        states = [view.state for view in pool.map(application.deletions.advance, filed)]
    assert states == ["COMPLETED"] * 20
    assert tombstones(application.database) == set(ids.values())
    rows = application.database.administer("MATCH (:Identity {identity: $d})-[]->(s:Record) RETURN s", d=ids["d"])
    assert rows == []


@pytest.mark.req("DEL-27")
@pytest.mark.parametrize("asked", ["v1", "v2", "v3"])
def test_every_version_goes_whichever_is_named(application: Application, caller: Caller, asked):
    (v1,) = register(application, caller, record("v1"))
    (v2,) = register(application, caller, record("v2", supersedes=v1))
    (v3,) = register(application, caller, record("v3", supersedes=v2))
    of_v1 = register(application, caller, derived("of-v1", "v1"))
    versions = {"v1": v1, "v2": v2, "v3": v3}
    view = delete(application, caller, versions[asked])
    assert view.scope == tuple(sorted([v1, v2, v3]))
    assert tombstones(application.database) == {v1, v2, v3, *of_v1}
    assert view.counts["deleted"] == 4


@pytest.mark.req("DEL-08")
def test_a_derivative_in_quarantine_is_reached(application: Application, caller: Caller):
    (root,) = register(application, caller, record("root", content=CANARY))
    result = application.registrar.register([derived("odd", "root", ownerId=None, content=CANARY)], caller)[0]
    assert result.status == "quarantined"
    view = delete(application, caller, root)
    assert graph_outcomes(application, caller, view.request_id) == {root: "deleted", result.identity: "deleted"}
    assert CANARY not in everything(application.database)


@pytest.mark.req("DEL-08", "DEL-06")
@pytest.mark.parametrize("count", [0, 1, 10, 11, 100, 101])
def test_no_list_of_derivatives_is_cut_short(application: Application, caller: Caller, count):
    """D33."""
    (root,) = register(application, caller, record("root"))
    derivatives = register(application, caller, *(derived(f"d{number}", "root") for number in range(count)))
    view = delete(application, caller, root)
    assert view.counts["deleted"] == count + 1
    assert tombstones(application.database) == {root, *derivatives}


@pytest.mark.req("DEL-27")
def test_the_skeleton_still_says_what_existed_and_what_came_of_it(application: Application, caller: Caller):
    ids = family(application, caller, {"r": (), "s": ("r",), "t": ("s",)})
    view = delete(application, caller, ids["r"])
    rows = application.database.administer(
        "MATCH (q:Request {requestId: $id})-[:HAS_OUTCOME]->(o:Outcome)-[:OUTCOME_FOR]->(d:Tombstone)"
        " OPTIONAL MATCH (d)-[e:SUMMARIZED_FROM]->(p:Tombstone)"
        " RETURN d.identity AS identity, o.outcome AS outcome, p.identity AS parent, size(keys(e)) AS extras",
        id=view.request_id,
    )
    found = {(row.text("identity"), row.text("outcome"), row.text_or_none("parent")) for row in rows}
    assert found == {
        (ids["r"], "deleted", None),
        (ids["s"], "deleted", ids["r"]),
        (ids["t"], "deleted", ids["s"]),
    }
    assert nodes(application.database, "(n:Record)") == []


@pytest.mark.req("DEL-22", "DEL-27")
def test_a_record_authorised_after_the_request_survives_it(application: Application, caller: Caller):
    """D16: a new source event is no part of the list; a derivative of what is being deleted never appears."""
    (old,) = register(application, caller, record("preference-1"))
    filed = application.deletions.file(by_ids(old), caller, fresh_key())
    (new,) = register(application, caller, record("preference-2"))
    application.deletions.advance(filed.request_id)
    late = application.registrar.register([derived("late", "preference-1"), record("preference-1")], caller)
    assert labels_of(application.database, new) == ["Identity", "Record"]
    assert tombstones(application.database) == {old}
    assert [result.code for result in late] == ["TOMBSTONE_BLOCKED", "TOMBSTONE_BLOCKED"]
