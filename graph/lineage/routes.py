"""Counting the routes between two records, and showing some, without walking them one by one.

The number of routes grows exponentially with a diamond on a diamond. So the edges are fetched once, and each record's
number is the sum over the records that it was derived from, taken in an order in which those come first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from graph.lineage.model import DEPTH_MAX, Limit, RouteAnswer, Step, Witness
from graph.lineage.reader import Reader
from graph.vocabulary import DERIVATION_EDGES

ROUTE_EDGES_MAX: Final = 100_000
ROUTE_COUNT_MAX: Final = 1_000_000_000_000


@dataclass(frozen=True)
class Edges:
    """Derivation edges between records, by both ends."""

    to_derivatives: dict[str, list[Step]] = field(default_factory=dict[str, list[Step]])
    to_sources: dict[str, list[Step]] = field(default_factory=dict[str, list[Step]])

    def add(self, derivative: str, edge: str, source: str) -> None:
        """Add one edge."""
        self.to_derivatives.setdefault(source, []).append(Step(edge, derivative))
        self.to_sources.setdefault(derivative, []).append(Step(edge, source))


def find_routes(reader: Reader, source: str, derivative: str) -> RouteAnswer:
    """The routes from a source to a derivative; see `Lineage.routes`."""
    row = reader.one(
        "expand_routes",
        derivative,
        literals={"levels": DEPTH_MAX},
        source=source,
        edgeTypes=sorted(DERIVATION_EDGES),
        edgesMax=ROUTE_EDGES_MAX,
    )
    edges = Edges()
    for join in row.rows("joins"):
        if reader.sight.covers(join):
            for step in join.rows("steps"):
                edges.add(step.text("identity"), step.text("edge"), join.text("identity"))
    too_many = row.number("edges") > ROUTE_EDGES_MAX
    count = int(row.truth("reaches")) if too_many else count_routes(edges, source, derivative)
    limits = [limit for limit, met in ((Limit.ROUTE_EDGES, too_many), (Limit.ROUTE_COUNT, _is_over(count))) if met]
    return RouteAnswer(
        source=source,
        derivative=derivative,
        count=min(count, ROUTE_COUNT_MAX),
        at_least=bool(limits),
        witnesses=shortest_witnesses(edges, source, derivative),
        receipt=reader.receipt(
            nodes=row.number("nodes"),
            edges=row.number("edges"),
            deepest=row.number("deepest"),
            limits=tuple(limits),
            withheld=row.truth("withheld"),
        ),
    )


def count_routes(edges: Edges, source: str, derivative: str) -> int:
    """How many distinct sequences of edges lead from a source to a derivative; 0 where none does.

    Counts are capped a little above `ROUTE_COUNT_MAX`, so that numbers stay small. Derivation has no cycle.
    """
    reached = _parents_by_breadth(edges, source)
    waiting = {node: sum(step.identity in reached for step in edges.to_sources.get(node, ())) for node in reached}
    waiting[source] = 0
    counts = dict.fromkeys(reached, 0) | {source: 1}
    ready = deque([source])
    while ready:
        node = ready.popleft()
        for step in edges.to_derivatives.get(node, ()):
            counts[step.identity] = min(counts[step.identity] + counts[node], ROUTE_COUNT_MAX + 1)
            waiting[step.identity] -= 1
            if waiting[step.identity] == 0:
                ready.append(step.identity)
    return counts.get(derivative, 0) if derivative != source else 0


def shortest_witnesses(edges: Edges, source: str, derivative: str) -> tuple[Witness, ...]:
    """A shortest route for each type of edge that enters the derivative, sorted by that type."""
    reached = _parents_by_breadth(edges, source)
    best: dict[str, tuple[Step, ...]] = {}
    for last in sorted(edges.to_sources.get(derivative, ()), key=lambda step: (step.edge, step.identity)):
        if last.identity not in reached:
            continue
        route = (*_route(reached, last.identity), Step(last.edge, derivative))
        if last.edge not in best or len(route) < len(best[last.edge]):
            best[last.edge] = route
    return tuple(Witness(best[edge]) for edge in sorted(best))


def _is_over(count: int) -> bool:
    return count > ROUTE_COUNT_MAX


def _parents_by_breadth(edges: Edges, source: str) -> Mapping[str, Step | None]:
    """Every record that a source leads to, with the edge and the record by which it is reached first."""
    reached: dict[str, Step | None] = {source: None}
    frontier = deque([source])
    while frontier:
        node = frontier.popleft()
        for step in _sorted(edges.to_derivatives.get(node, ())):
            if step.identity not in reached:
                reached[step.identity] = Step(step.edge, node)
                frontier.append(step.identity)
    return reached


def _sorted(steps: Iterable[Step]) -> list[Step]:
    return sorted(steps, key=lambda step: (step.identity, step.edge))


def _route(reached: Mapping[str, Step | None], node: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    while (parent := reached[node]) is not None:
        steps.append(Step(parent.edge, node))
        node = parent.identity
    return tuple(reversed(steps))
