"""Routes through diamonds: counted without walking them one by one."""

from __future__ import annotations

import random

import pytest

from graph.lineage import routes as room
from graph.lineage.model import Step
from graph.lineage.routes import ROUTE_COUNT_MAX, Edges, count_routes, shortest_witnesses
from tests.support.graphs import chain


def steps(witness) -> list[tuple[str, str]]:
    return [(step.edge, step.identity) for step in witness.steps]


def test_l07_a_diamond_has_two_routes(lineage, graphs, caller):
    graphs.load(
        [
            ("b", "SUMMARIZED_FROM", "a"),
            ("c", "INFERRED_FROM", "a"),
            ("d", "CACHED_FROM", "b"),
            ("d", "EMBEDDED_FROM", "c"),
            ("d", "CACHED_FROM", "unrelated"),
        ]
    )
    answer = lineage.routes(caller, "a", "d")
    assert (answer.count, answer.at_least) == (2, False)
    assert [steps(witness) for witness in answer.witnesses] == [
        [("SUMMARIZED_FROM", "b"), ("CACHED_FROM", "d")],
        [("INFERRED_FROM", "c"), ("EMBEDDED_FROM", "d")],
    ]
    assert [witness.entered_by for witness in answer.witnesses] == ["CACHED_FROM", "EMBEDDED_FROM"]
    assert answer.receipt.complete
    assert (answer.receipt.nodes_visited, answer.receipt.edges_visited, answer.receipt.depth_deepest) == (4, 5, 2)


def test_two_edges_between_two_records_are_two_routes(lineage, graphs, caller):
    graphs.load([("b", "SUMMARIZED_FROM", "a"), ("b", "CACHED_FROM", "a")])
    answer = lineage.routes(caller, "a", "b")
    assert answer.count == 2
    assert [steps(witness) for witness in answer.witnesses] == [[("CACHED_FROM", "b")], [("SUMMARIZED_FROM", "b")]]


@pytest.mark.parametrize(("source", "derivative"), [("b", "a"), ("a", "a"), ("a", "elsewhere"), ("elsewhere", "b")])
def test_where_nothing_leads_there_are_no_routes(lineage, graphs, caller, source, derivative):
    graphs.load([("b", "SUMMARIZED_FROM", "a")])
    graphs.records(["elsewhere"])
    answer = lineage.routes(caller, source, derivative)
    assert (answer.count, answer.at_least, answer.witnesses) == (0, False, ())
    assert answer.receipt.complete


def test_relations_and_supersession_are_no_derivation(lineage, graphs, caller):
    graphs.load([("b", "SUPERSEDES", "a"), ("b", "CONTRADICTS", "a")])
    assert lineage.routes(caller, "a", "b").count == 0


@pytest.mark.parametrize(("include_deleted", "count"), [(False, 0), (True, 1)])
def test_routes_lead_through_tombstones_on_request(lineage, graphs, caller, include_deleted, count):
    graphs.load(chain("c", 2))
    graphs.delete(["c-1"])
    assert lineage.routes(caller, "c-0", "c-2", include_deleted=include_deleted).count == count


def ladder(rungs: int) -> list[tuple[str, str, str]]:
    """`rungs` diamonds in a row: 2 ** rungs routes from n-0 to n-rungs."""
    return [
        edge
        for rung in range(rungs)
        for side in ("l", "r")
        for edge in (
            (f"{side}-{rung}", "SUMMARIZED_FROM", f"n-{rung}"),
            (f"n-{rung + 1}", "SUMMARIZED_FROM", f"{side}-{rung}"),
        )
    ]


def test_routes_are_counted_exactly_to_the_limit_and_named_a_lower_bound_past_it(lineage, graphs, caller):
    graphs.load(ladder(60))
    exact = lineage.routes(caller, "n-0", "n-39")
    assert (exact.count, exact.at_least) == (2**39, False)
    over = lineage.routes(caller, "n-0", "n-40")
    assert 2**40 > ROUTE_COUNT_MAX == 1_000_000_000_000
    assert (over.count, over.at_least) == (1_000_000_000_000, True)
    assert over.receipt.limits_met == ("ROUTE_COUNT_MAX",)
    assert not over.receipt.complete
    assert lineage.routes(caller, "n-0", "n-60").count == 1_000_000_000_000
    assert len(over.witnesses[0].steps) == 80


def test_more_edges_than_the_limit_give_a_lower_bound(lineage, graphs, caller, monkeypatch):
    graphs.load(ladder(3))
    monkeypatch.setattr(room, "ROUTE_EDGES_MAX", 12)
    assert (lineage.routes(caller, "n-0", "n-3").count, lineage.routes(caller, "n-0", "n-3").at_least) == (8, False)
    monkeypatch.setattr(room, "ROUTE_EDGES_MAX", 11)
    answer = lineage.routes(caller, "n-0", "n-3")
    assert (answer.count, answer.at_least, answer.witnesses) == (1, True, ())
    assert answer.receipt.limits_met == ("ROUTE_EDGES_MAX",)
    graphs.records(["elsewhere"])
    assert lineage.routes(caller, "elsewhere", "n-3").count == 0


def every_route(drawn, source, derivative) -> list[tuple[tuple[str, str], ...]]:
    """The oracle: all routes, one by one."""
    if source == derivative:
        return [()]
    return [
        (*before, (edge, end))
        for end, edge, start in drawn
        if end == derivative
        for before in every_route(drawn, source, start)
    ]


def test_counts_and_witnesses_are_those_of_enumeration():
    for seed in range(300):
        chance = random.Random(seed)
        nodes = [f"n{place}" for place in range(chance.randint(2, 9))]
        drawn = sorted(
            {
                (nodes[place], chance.choice(["CACHED_FROM", "INFERRED_FROM"]), chance.choice(nodes[:place]))
                for place in range(1, len(nodes))
                for _ in range(chance.randint(1, 3))
            }
        )
        edges = Edges()
        for derivative, edge, source in drawn:
            edges.add(derivative, edge, source)
        found = every_route(drawn, nodes[0], nodes[-1])
        assert count_routes(edges, nodes[0], nodes[-1]) == len(found)
        shortest = {
            edge: min(len(route) for route in found if route[-1][0] == edge) for edge in {r[-1][0] for r in found}
        }
        witnesses = shortest_witnesses(edges, nodes[0], nodes[-1])
        assert {witness.entered_by: len(witness.steps) for witness in witnesses} == shortest
        assert all(tuple(steps(witness)) in found for witness in witnesses)
        assert all(isinstance(step, Step) for witness in witnesses for step in witness.steps)
