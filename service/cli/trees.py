"""What a record leads to, as a tree: each thing once, below the neighbour by which it was reached first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text
from rich.tree import Tree


@dataclass(frozen=True)
class Branch:
    """One thing of a tree.

    Attributes:
        identity: its id.
        depth: steps from the root; negative where the walk went upstream.
        label: what is shown of it.
        via: the edges by which it was reached: their type and the neighbour that is one step nearer to the root.
    """

    identity: str
    depth: int
    label: Text
    via: Sequence[tuple[str, str]]


def tree_of(root: str, label: Text, branches: Iterable[Branch], names: Mapping[str, str] | None = None) -> Tree:
    """The tree of everything in `branches`.

    A thing with several ways to the root hangs on the first and names the others, so that nothing is shown twice. One
    whose nearer neighbours are not shown (a filter left them out) hangs on the root and tells its depth.

    Args:
        root: the id that the walk began at.
        label: what is shown of it.
        branches: what was reached, in any order; neighbours are shown by their labels' order.
        names: short names for ids in the remarks on other ways; ids stand for themselves otherwise.
    """
    tree = Tree(label, guide_style="dim")
    nodes: dict[str, Tree] = {root: tree}
    called = names or {}
    for branch in sorted(branches, key=lambda one: (abs(one.depth), one.label.plain)):
        above = next(((edge, neighbour) for edge, neighbour in branch.via if neighbour in nodes), None)
        line = Text.assemble(branch.label, ("  ", ""), (_ways(branch, above, called), "dim"))
        nodes[branch.identity] = nodes[above[1] if above else root].add(line)
    return tree


def _ways(branch: Branch, above: tuple[str, str] | None, called: Mapping[str, str]) -> str:
    if above is None:
        steps = f"{abs(branch.depth)} steps away"
        return f"{steps}, by {_edges(branch.via)}" if branch.via else steps
    others = [
        f"{edge} {called.get(neighbour, neighbour)}" for edge, neighbour in branch.via if (edge, neighbour) != above
    ]
    also = f" (also {', '.join(others)})" if others else ""
    return f"{above[0]}{also}"


def _edges(via: Sequence[tuple[str, str]]) -> str:
    return ", ".join(sorted({edge for edge, _ in via}))
