"""Which nodes of a large edge list lie on a cycle, in memory that grows with the edges alone."""

from __future__ import annotations

from array import array
from collections.abc import Iterable


class EdgeList:
    """Directed edges between named nodes, kept as whole numbers: two of eight bytes an edge, one name a node."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._starts = array("q")
        self._ends = array("q")

    def add(self, start: str, ends: Iterable[str]) -> None:
        """Add an edge from `start` to each of `ends`."""
        number = self._number(start)
        for end in ends:
            self._starts.append(number)
            self._ends.append(self._number(end))

    def on_cycles(self) -> list[str]:
        """The nodes that lie on a cycle or on a way from one cycle to another, sorted; none means no cycle.

        Nodes without an edge out are taken away until none is left, then nodes without an edge in: what remains has
        both. Time grows with nodes and edges, whatever their shape.
        """
        left = bytearray(b"\1") * len(self._numbers)
        _peel(left, self._starts, self._ends)
        _peel(left, self._ends, self._starts)
        return sorted(name for name, number in self._numbers.items() if left[number])

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))


def _peel(left: bytearray, starts: array[int], ends: array[int]) -> None:
    """Clear in `left` every node from which no edge leads to a node that is left, again and again."""
    degree = array("q", bytes(8 * len(left)))
    for start, end in zip(starts, ends, strict=True):
        if left[start] and left[end]:
            degree[start] += 1
    first, incoming = _incoming(len(left), starts, ends)
    bare = [node for node in range(len(left)) if left[node] and not degree[node]]
    while bare:
        node = bare.pop()
        left[node] = 0
        for index in range(first[node], first[node + 1]):
            start = incoming[index]
            degree[start] -= 1
            if left[start] and not degree[start]:
                bare.append(start)


def _incoming(nodes: int, starts: array[int], ends: array[int]) -> tuple[array[int], array[int]]:
    """Where each node's incoming edges begin, and their other ends, grouped by node."""
    first = array("q", bytes(8 * (nodes + 1)))
    for end in ends:
        first[end + 1] += 1
    for node in range(nodes):
        first[node + 1] += first[node]
    place = array("q", first)
    incoming = array("q", bytes(8 * len(ends)))
    for start, end in zip(starts, ends, strict=True):
        incoming[place[end]] = start
        place[end] += 1
    return first, incoming
