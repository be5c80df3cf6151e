"""Faults that users of lineage systems have reported, as inputs; the ids are those of the list of cases."""

from __future__ import annotations

import pytest

from graph.errors import InvalidInput, NotFound, Oversized
from graph.lineage.lineage import Lineage
from graph.lineage.model import Direction, Step
from graph.vocabulary import DeletionState, EdgeType, ReasonCode
from tests.support.deletion import delete, register
from tests.support.graphs import chain
from tests.support.records import derived, record

DOWN, UP, BOTH = Direction.DOWNSTREAM, Direction.UPSTREAM, Direction.BOTH


def found(page) -> dict[str, int]:
    return {item.identity: item.depth for item in page.items}


def test_l01_a_deleted_record_joins_nothing_unless_it_is_asked_for(lineage, graphs, caller):
    graphs.load([("j", "SUMMARIZED_FROM", "a"), ("b", "CACHED_FROM", "j")])
    graphs.delete(["j"])
    assert found(lineage.walk(caller, "a", direction=DOWN)) == {}
    page = lineage.walk(caller, "a", direction=DOWN, include_deleted=True)
    assert found(page) == {"j": 1, "b": 2}
    deleted = page.items[1]
    assert (deleted.identity, deleted.deleted) == ("j", True)
    assert (deleted.kind, deleted.record_class, deleted.state) == (None, None, None)
    assert [(step.edge, step.identity) for step in page.items[0].via] == [("CACHED_FROM", "j")]


def test_l03_names_with_colons_ports_or_digits_are_walked_like_any_other(application, lineage, caller):
    names = ["s3://h:9000/x", "123", "a:b:c", "a/b?c#d%2F"]
    made = register(application, caller, *map(record, names), *(derived(f"child of {name}", name) for name in names))
    for name, source, child in zip(names, made[:4], made[4:], strict=True):
        assert source == application.keys.identity(caller.tenant_id, name)
        assert found(lineage.walk(caller, source, direction=DOWN)) == {child: 1}
        assert found(lineage.walk(caller, child, direction=UP)) == {source: 1}


@pytest.mark.parametrize(
    "identity", ["s3://h:9000/x", "123", "a:b:c", "a/b?c#d%2F", "", "'", "\ud800", "\0", "x" * 10_000]
)
def test_l03_strange_ids_are_not_found_and_no_more(lineage, graphs, caller, identity):
    graphs.records(["there"])
    for ask in (lineage.walk, lineage.counts):
        with pytest.raises(NotFound, match="no such record"):
            ask(caller, identity, direction=BOTH)
    for ask in (lineage.origins, lineage.operations, lineage.history, lineage.approvals):
        with pytest.raises(NotFound, match="no such record"):
            ask(caller, identity)
    for ends in ((identity, "there"), ("there", identity)):
        with pytest.raises(NotFound, match="no such record"):
            lineage.routes(caller, *ends)


@pytest.mark.parametrize(("include_deleted", "expected"), [(False, {"b": 1}), (True, {"b": 1, "c": 1})])
def test_l05_counts_and_lists_agree_on_what_is_deleted(lineage, graphs, caller, include_deleted, expected):
    graphs.load([("b", "SUMMARIZED_FROM", "a"), ("c", "SUMMARIZED_FROM", "a")])
    graphs.delete(["c"])
    page = lineage.walk(caller, "a", direction=DOWN, include_deleted=include_deleted)
    counts = lineage.counts(caller, "a", direction=DOWN, include_deleted=include_deleted)
    assert found(page) == expected
    assert counts.total == page.receipt.nodes_visited == counts.receipt.nodes_visited == len(expected)
    assert counts.by_kind == ({"document": 1, None: 1} if include_deleted else {"document": 1})


def test_l09_four_thousand_edges_of_one_record_are_all_listed(lineage, graphs, caller):
    graphs.load([("conclusion", "INFERRED_FROM", f"premise-{number}") for number in range(4_000)])
    page = lineage.walk(caller, "conclusion", direction=UP, page_size=10_000)
    assert found(page) == {f"premise-{number}": 1 for number in range(4_000)}
    assert page.receipt.complete
    assert page.receipt.edges_visited == 4_000


def test_l13_an_unknown_id_is_told_from_its_key_alone(application, caller):
    class Recording:
        def __init__(self):
            self.names = []

        def read(self, name, /, **given):
            self.names.append(name)
            return application.database.read(name, **given)

    recording = Recording()
    lineage = Lineage(recording, application.policy, application.clock, 30.0)
    with pytest.raises(NotFound) as caught:
        lineage.walk(caller, "nobody", direction=DOWN)
    assert caught.value.code is ReasonCode.NOT_FOUND
    assert recording.names == ["expand_downstream"]


def test_l14_cycles_and_diamonds_give_each_record_once(lineage, graphs, caller):
    graphs.load(
        [
            ("b", "SUMMARIZED_FROM", "a"),
            ("c", "SUMMARIZED_FROM", "b"),
            ("a", "CONTRADICTS", "c"),
            ("c", "SUMMARIZED_FROM", "a"),
        ]
    )
    followed = frozenset({EdgeType.SUMMARIZED_FROM, EdgeType.CONTRADICTS})
    page = lineage.walk(caller, "a", direction=DOWN, depth_max=10, edge_types=followed)
    assert found(page) == {"b": 1, "c": 1}
    assert page.receipt.cycle
    assert page.receipt.complete
    assert page.receipt.edges_visited == 4
    assert not lineage.walk(caller, "a", direction=DOWN, depth_max=10).receipt.cycle
    assert lineage.counts(caller, "a", direction=DOWN, edge_types=followed).total == 2


def test_a_record_that_contradicts_itself_is_a_cycle_of_one(lineage, graphs, caller):
    graphs.load([("a", "CONTRADICTS", "a")])
    page = lineage.walk(caller, "a", direction=DOWN, edge_types={EdgeType.CONTRADICTS})
    assert page.items == ()
    assert page.receipt.cycle


@pytest.mark.parametrize(
    ("depth", "reached", "limits"),
    [
        (0, 0, ("depth_max",)),
        (1, 1, ("depth_max",)),
        (2, 2, ("depth_max",)),
        (5, 5, ("depth_max",)),
        (6, 6, ()),
        (7, 6, ()),
    ],
)
def test_l17_depth_n_means_n_levels(lineage, graphs, caller, depth, reached, limits):
    graphs.load(chain("c", 6))
    page = lineage.walk(caller, "c-0", direction=DOWN, depth_max=depth)
    assert found(page) == {f"c-{level}": level for level in range(1, reached + 1)}
    assert page.receipt.limits_met == limits
    assert page.receipt.complete == (limits == ())
    assert page.receipt.edges_visited == reached
    assert lineage.counts(caller, "c-0", direction=DOWN, depth_max=depth).total == reached


@pytest.mark.parametrize("question", ["walk", "counts"])
def test_l48_a_time_limit_is_an_error_and_never_an_empty_list(application, graphs, caller, question):
    graphs.hub("hub", 10_000)
    hasty = Lineage(application.database, application.policy, application.clock, walk_timeout_seconds=0.001)
    # The server looks for statements that are over their time every now and then: one that ends before is whole.
    for _ in range(1_000):
        try:
            answer = getattr(hasty, question)(caller, "hub", direction=DOWN)
        except Oversized as error:
            refusal = error
            break
        assert answer.receipt.nodes_visited == 10_000
    else:
        pytest.fail("the time limit never showed")
    assert refusal.code is ReasonCode.LIMIT_EXCEEDED
    assert refusal.details == {"limit": "walk_timeout_seconds", "max": 0.001}


def test_l55_a_hub_of_forty_five_thousand_is_answered(lineage, graphs, caller):
    graphs.hub("hub", 45_000)
    graphs.records(["root"])
    graphs.edges([("hub", "SUMMARIZED_FROM", "root")])
    counts = lineage.counts(caller, "root", direction=DOWN, depth_max=2)
    assert counts.by_depth == {(DOWN, 1): 1, (DOWN, 2): 45_000}
    assert counts.receipt.complete
    page = lineage.walk(caller, "root", direction=DOWN, depth_max=2, page_size=10)
    assert len(page.items) == 10
    assert page.receipt.nodes_visited == 45_001
    assert page.receipt.more_follow
    assert {(item.depth, item.via) for item in page.items} == {
        (1, (Step("SUMMARIZED_FROM", "root"),)),
        (2, (Step("CACHED_FROM", "hub"),)),
    }


@pytest.mark.req("PRV-04")
def test_walks_by_type_return_disjoint_sets(lineage, graphs, caller):
    types = ["OBSERVED_FROM", "SUMMARIZED_FROM", "INFERRED_FROM", "RENDERED_FROM"]
    relations = ["SUPERSEDES", "CONTRADICTS", "AUTHORIZED_FOR"]
    graphs.load([(f"by-{edge}", edge, "a") for edge in [*types, *relations, "APPROVED_BY"]])
    for edge in [*types, *relations]:
        assert found(lineage.walk(caller, "a", direction=DOWN, edge_types={EdgeType(edge)})) == {f"by-{edge}": 1}
    assert found(lineage.walk(caller, "a", direction=DOWN)) == {f"by-{edge}": 1 for edge in [*types, "SUPERSEDES"]}


@pytest.mark.parametrize(
    "edge_types", [{"APPROVED_BY"}, {"PRODUCED_BY"}, {"SUMMARIZED_FROM", "STORED_IN"}, {"OUTCOME_FOR"}, set()]
)
def test_no_walk_follows_approval_or_control(lineage, graphs, caller, edge_types):
    graphs.records(["a"])
    with pytest.raises(InvalidInput) as caught:
        lineage.walk(caller, "a", direction=DOWN, edge_types={EdgeType(edge) for edge in edge_types})
    assert caught.value.code is ReasonCode.UNKNOWN_EDGE_TYPE


@pytest.mark.parametrize(
    ("asked", "error", "code"),
    [
        ({"depth_max": -1}, InvalidInput, ReasonCode.MALFORMED_INPUT),
        ({"depth_max": 1_000_000_001}, Oversized, ReasonCode.LIMIT_EXCEEDED),
        ({"page_size": 0}, InvalidInput, ReasonCode.MALFORMED_INPUT),
        ({"page_size": 10_001}, Oversized, ReasonCode.LIMIT_EXCEEDED),
        ({"kinds": {"no-such-kind"}}, InvalidInput, ReasonCode.UNKNOWN_KIND),
        ({"kinds": set()}, InvalidInput, ReasonCode.MALFORMED_INPUT),
    ],
)
def test_a_selection_that_makes_no_sense_is_refused(lineage, graphs, caller, asked, error, code):
    graphs.records(["a"])
    with pytest.raises(error) as caught:
        lineage.walk(caller, "a", direction=DOWN, **asked)
    assert caught.value.code is code


def test_limits_on_their_inner_side_are_fine(lineage, graphs, caller):
    graphs.load(chain("c", 3))
    page = lineage.walk(caller, "c-0", direction=DOWN, depth_max=1_000_000_000, page_size=10_000)
    assert found(page) == {"c-1": 1, "c-2": 2, "c-3": 3}
    assert len(lineage.walk(caller, "c-0", direction=DOWN, page_size=1).items) == 1


@pytest.mark.req("PRV-03")
def test_wording_plays_no_part(application, lineage, graphs, caller, bare):
    records = [record("a", content="first"), derived("b", "a", content="words"), derived("c", "b", content="more")]
    a, b, c = register(application, caller, *records)
    before = [bare(lineage.walk(caller, c, direction=BOTH)), bare(lineage.walk(caller, a, direction=BOTH))]
    for identity in (a, b, c):
        graphs.change(identity, content='"%&/( noise )/&%"')
    assert [bare(lineage.walk(caller, c, direction=BOTH)), bare(lineage.walk(caller, a, direction=BOTH))] == before
    assert {item.identity: (item.direction, item.depth) for item in before[0].items} == {a: (UP, 2), b: (UP, 1)}


@pytest.mark.req("LIN-08", "DEL-27")
def test_after_a_deletion_the_skeleton_answers(application, lineage, caller):
    a, b, c = register(application, caller, record("a", content="secret"), derived("b", "a"), derived("c", "b"))
    assert delete(application, caller, a).state is DeletionState.COMPLETED
    with pytest.raises(NotFound) as caught:
        lineage.walk(caller, a, direction=DOWN)
    assert caught.value.code is ReasonCode.DELETED_RECORD
    page = lineage.walk(caller, a, direction=DOWN, include_deleted=True)
    assert {item.identity: (item.depth, item.deleted, item.kind) for item in page.items} == {
        b: (1, True, None),
        c: (2, True, None),
    }
    assert [(step.edge, step.identity) for item in page.items for step in item.via if item.identity == c] == [
        ("SUMMARIZED_FROM", b)
    ]
