"""Walks on random graphs against a plainer oracle: repeated set union over an edge list."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import dataclass

import pytest

from graph.lineage.model import Direction
from graph.vocabulary import EdgeType
from tests.support.graphs import HIDDEN, Graphs, chain, depths, levels
from tests.support.records import PURPOSE

GRAPHS = 1_000
DERIVATIONS = ["SUMMARIZED_FROM", "INFERRED_FROM", "CACHED_FROM", "EMBEDDED_FROM"]
FOLLOWED = frozenset({*(EdgeType(edge) for edge in DERIVATIONS), EdgeType.CONTRADICTS, EdgeType.SUPERSEDES})


@dataclass(frozen=True)
class RandomGraph:
    nodes: list[str]
    edges: list[tuple[str, str, str]]
    hidden: frozenset[str]
    deleted: frozenset[str]
    deleted_by_others: frozenset[str]
    root: str


def random_graph(number: int) -> RandomGraph:
    """Layers with diamonds, sometimes wide, sometimes deep, with relations that close cycles and records that are hidden."""
    chance = random.Random(number)
    nodes = [f"g{number:04}-{place:02}" for place in range(chance.randint(2, 14))]
    edges = set()
    for place in range(1, len(nodes)):
        for source in chance.sample(range(place), chance.randint(0, min(place, 3))):
            edges.add((nodes[place], chance.choice(DERIVATIONS), nodes[source]))
        if chance.random() < 0.1:
            edges.add((nodes[place], "SUPERSEDES", nodes[place - 1]))
    for _ in range(chance.randint(0, 3)):
        edges.add((chance.choice(nodes), "CONTRADICTS", chance.choice(nodes)))
    root = chance.choice(nodes)
    others = [node for node in nodes if node != root]
    chance.shuffle(others)
    special = iter(others[: len(others) // 3])
    sets = {"hidden": set(), "deleted": set(), "deleted_by_others": set()}
    for node in special:
        sets[chance.choice(sorted(sets))].add(node)
    return RandomGraph(nodes, sorted(edges), *(frozenset(sets[key]) for key in sets), root)


# How what is shown differs, if it does: other readers and purposes, all of which have the caller; no audience number.
SHOWN_TOO = {
    "": {},
    "fewer": {"permissions": ["role:reviewer"]},
    "more": {"permissions": ["principal:somebody", "role:producer"], "purposes": ["billing", PURPOSE]},
    "another_kind": {"kind": "dataset"},
    "unnumbered": {"audience": None},
}


def load(graphs: Graphs, drawn: list[RandomGraph]) -> None:
    """Half of the graphs have one audience, a quarter several, and a quarter also records without a number for theirs."""
    hidden, shown = sorted(HIDDEN), sorted(SHOWN_TOO)
    by_way: dict[str, list[str]] = {}
    for number, graph in enumerate(drawn):
        varied = ([""], shown[:-1], [""], shown)[number % 4]
        for place, node in enumerate(graph.nodes):
            way = hidden[number % len(hidden)] if node in graph.hidden else varied[place % len(varied)]
            by_way.setdefault(way, []).append(node)
    for way, nodes in by_way.items():
        graphs.records(nodes, **(HIDDEN | SHOWN_TOO)[way])
    graphs.edges([edge for graph in drawn for edge in graph.edges])
    graphs.delete([node for graph in drawn for node in graph.deleted])
    graphs.delete([node for graph in drawn for node in graph.deleted_by_others], by="tenant-b")


def expected(graph: RandomGraph, followed: set[str], *, downstream: bool, include_deleted: bool):
    gone = graph.deleted | graph.deleted_by_others
    unseen = graph.hidden | graph.deleted_by_others | (frozenset() if include_deleted else graph.deleted)
    drawn = [edge for edge in graph.edges if edge[1] in followed]
    shown = [edge for edge in drawn if edge[0] not in unseen and edge[2] not in unseen]
    found = depths(shown, graph.root, downstream=downstream)
    walked = {graph.root, *found}
    stops = set()
    for derivative, _, source in drawn:
        nearer, farther = (source, derivative) if downstream else (derivative, source)
        if nearer in walked and farther in unseen and (include_deleted or farther not in gone):
            stops.add(nearer)
    return (
        found,
        {
            "nodes": len(found),
            "edges": sum(edge[0] in walked and edge[2] in walked for edge in shown),
            "deepest": max(found.values(), default=0),
            "withheld": bool(stops),
            "cycle": any(
                (derivative if downstream else source) == graph.root
                and (source if downstream else derivative) in walked
                for derivative, _, source in shown
            ),
            "stops": stops - {graph.root},
            "via": {
                node: {
                    (edge, near)
                    for far, edge, near in ((d, e, s) if downstream else (s, e, d) for d, e, s in shown)
                    if far == node and near in walked and ({graph.root: 0} | found)[near] == found[node] - 1
                }
                for node in found
            },
        },
    )


def check(lineage, caller, graph: RandomGraph, direction: Direction, edge_types, *, include_deleted: bool) -> None:
    asked = {"direction": direction, "edge_types": edge_types, "include_deleted": include_deleted}
    page = lineage.walk(caller, graph.root, **asked)
    followed = {edge.value for edge in edge_types}
    parts = {
        way: expected(graph, followed, downstream=way == "downstream", include_deleted=include_deleted)
        for way in direction.ways
    }
    assert {(item.direction, item.identity): item.depth for item in page.items} == {
        (way, identity): depth for way, (found, _) in parts.items() for identity, depth in found.items()
    }
    for item in page.items:
        facts = parts[item.direction][1]
        assert {(step.edge, step.identity) for step in item.via} == facts["via"][item.identity]
        assert item.leads_to_withheld == (item.identity in facts["stops"])
        assert item.deleted == (item.identity in graph.deleted)
    facts = [facts for _, facts in parts.values()]
    receipt = page.receipt
    assert (receipt.nodes_visited, receipt.edges_visited) == tuple(
        sum(one[key] for one in facts) for key in ("nodes", "edges")
    )
    assert receipt.depth_deepest == max(one["deepest"] for one in facts)
    assert (receipt.withheld, receipt.cycle) == tuple(any(one[key] for one in facts) for key in ("withheld", "cycle"))
    assert receipt.complete == (not receipt.withheld)
    assert lineage.counts(caller, graph.root, **asked).by_depth == Counter(
        (item.direction, item.depth) for item in page.items
    )
    levels_found = [
        (one.direction, one.depth, one.kind, one.identities)
        for one in lineage.closure(caller, graph.root, **asked).levels
    ]
    assert {(way, identity): depth for way, depth, _, ids in levels_found for identity in ids} == {
        (item.direction, item.identity): item.depth for item in page.items
    }
    assert len({one[:3] for one in levels_found}) == len(levels_found)


@pytest.mark.req("LIN-03")
def test_walks_find_what_repeated_set_union_finds(lineage, graphs, caller):
    drawn = [random_graph(number) for number in range(GRAPHS)]
    load(graphs, drawn)
    for number, graph in enumerate(drawn):
        direction = (Direction.DOWNSTREAM, Direction.UPSTREAM, Direction.BOTH)[number % 3]
        check(lineage, caller, graph, direction, FOLLOWED, include_deleted=number % 2 == 0)


@pytest.mark.req("LIN-03")
def test_a_graph_of_a_thousand_nodes_is_walked_exactly_both_ways(lineage, graphs, caller):
    chance = random.Random(20)
    layers = [[f"n{layer}-{place}" for place in range(100)] for layer in range(10)]
    edges = [
        (node, chance.choice(DERIVATIONS), source)
        for above, below in itertools.pairwise(layers)
        for node in below
        for source in chance.sample(above, 3)
    ]
    graphs.load(edges)
    for root, downstream in (("n0-7", True), ("n4-50", True), ("n9-3", False), ("n5-5", False)):
        direction = Direction.DOWNSTREAM if downstream else Direction.UPSTREAM
        page = lineage.walk(caller, root, direction=direction)
        assert {item.identity: item.depth for item in page.items} == depths(edges, root, downstream=downstream)
        assert page.receipt.complete


@pytest.mark.req("LIN-03")
def test_a_chain_of_a_thousand_has_no_cut_off(lineage, graphs, caller):
    edges = chain("c", 1_000)
    graphs.load(edges)
    page = lineage.walk(caller, "c-0", direction=Direction.DOWNSTREAM)
    assert {item.identity: item.depth for item in page.items} == {f"c-{depth}": depth for depth in range(1, 1_001)}
    assert len(levels(edges, "c-0", downstream=True)) == page.receipt.depth_deepest == 1_000
    assert page.receipt.complete
    assert lineage.walk(caller, "c-1000", direction=Direction.UPSTREAM).receipt.depth_deepest == 1_000


@pytest.mark.parametrize("direction", [Direction.DOWNSTREAM, Direction.UPSTREAM])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_depth_limit_cuts_exactly_there_and_says_so(lineage, graphs, caller, depth, direction):
    drawn = [random_graph(number) for number in range(30)]
    load(graphs, drawn)
    downstream = direction is Direction.DOWNSTREAM
    for graph in drawn:
        found, _ = expected(graph, {edge.value for edge in FOLLOWED}, downstream=downstream, include_deleted=False)
        asked = {"direction": direction, "edge_types": FOLLOWED, "depth_max": depth}
        page = lineage.walk(caller, graph.root, **asked)
        assert {item.identity: item.depth for item in page.items} == {n: d for n, d in found.items() if d <= depth}
        assert (page.receipt.limits_met == ("depth_max",)) == any(d > depth for d in found.values())
        assert lineage.counts(caller, graph.root, **asked).total == len(page.items)
        reached = {graph.root: 0} | found
        assert page.receipt.edges_visited == sum(
            reached.get(source if downstream else derivative, depth) < depth
            and (derivative if downstream else source) in reached
            for derivative, _, source in graph.edges
        )
        assert page.receipt.withheld == any(
            reached.get(source if downstream else derivative, depth + 1) <= depth
            and (derivative if downstream else source) in graph.hidden
            for derivative, _, source in graph.edges
        )


def test_a_level_of_a_thousand_audiences_is_one_level(lineage, graphs, caller):
    names = [f"c-{number}" for number in range(1_000)]
    graphs.records(["root"])
    for name in names:
        graphs.records([name], permissions=["role:reviewer", f"principal:{name}"])
    graphs.edges([(name, "SUMMARIZED_FROM", "root") for name in names])
    (level,) = lineage.closure(caller, "root", direction=Direction.DOWNSTREAM).levels
    assert (level.depth, level.kind, sorted(level.identities)) == (1, "document", sorted(names))
    assert lineage.counts(caller, "root", direction=Direction.DOWNSTREAM).total == 1_000
