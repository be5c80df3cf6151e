"""Which nodes of a large edge list lie on a cycle, in memory that grows by a few whole numbers a node and an edge.

Names are not kept: each is known by Python's hash of it, 64 bits that differ from process to process. Two names with one
number could only make a node look as if it lay on a cycle, never hide one, and among a million names that happens once in
tens of millions of runs and not in the next.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

_GONE: Final = -1


class EdgeList:
    """Directed edges between named nodes: eight bytes an edge and sixteen a node that has edges out."""

    def __init__(self) -> None:
        self._nodes = array("q")
        self._first = array("q", [0])
        self._ends = array("q")

    def add(self, start: str, ends: Sequence[str]) -> None:
        """Add the edges from `start`, all at once: each start is added once."""
        self._nodes.append(hash(start))
        self._ends.extend(map(hash, ends))
        self._first.append(len(self._ends))

    def on_cycles(self) -> CycleNodes:
        """The nodes that lie on a cycle or on a way from one cycle to another; none means no cycle.

        Nodes without an edge out are taken away until none is left, then nodes without an edge in: what remains has
        both. Time grows with nodes and edges, whatever their shape.
        """
        names = array("q", sorted(self._nodes))
        starts, ends = self._inner_edges(names)
        left = bytearray(b"\1") * len(names)
        _peel(left, starts, ends)
        if any(left):
            _peel(left, ends, starts)
        return CycleNodes(array("q", (name for name, is_left in zip(names, left, strict=True) if is_left)))

    def _inner_edges(self, names: array[int]) -> tuple[array[int], array[int]]:
        """The edges between nodes that have edges out, as places in `names`: no other edge can be part of a cycle."""
        starts, ends = array("i"), array("i")
        for index, node in enumerate(self._nodes):
            start = _place(names, node)
            for edge in range(self._first[index], self._first[index + 1]):
                end = _place(names, self._ends[edge])
                if end != _GONE:
                    starts.append(start)
                    ends.append(end)
        return starts, ends


class CycleNodes:
    """The nodes that were found, by whether a name is one of them."""

    def __init__(self, numbers: array[int]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, name: str) -> bool:
        return _place(self._numbers, hash(name)) != _GONE


def _place(numbers: array[int], wanted: int) -> int:
    place = bisect_left(numbers, wanted)
    return place if place < len(numbers) and numbers[place] == wanted else _GONE


def _peel(left: bytearray, starts: array[int], ends: array[int]) -> None:
    """Clear in `left` every node from which no edge leads to a node that is left, again and again."""
    degree = array("i", bytes(array("i").itemsize * len(left)))
    for start, end in zip(starts, ends, strict=True):
        if left[start] and left[end]:
            degree[start] += 1
    first, incoming = _incoming(len(left), starts, ends)
    bare = array("i", (node for node in range(len(left)) if left[node] and not degree[node]))
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
    size = array("i").itemsize
    first = array("i", bytes(size * (nodes + 1)))
    for end in ends:
        first[end + 1] += 1
    for node in range(nodes):
        first[node + 1] += first[node]
    place = array("i", first)
    incoming = array("i", bytes(size * len(ends)))
    for start, end in zip(starts, ends, strict=True):
        incoming[place[end]] = start
        place[end] += 1
    return first, incoming
