"""Finding everything that a trigger reaches, and fencing it so that nothing is added to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from graph.database.database import Database
from graph.propagation.model import Affected
from graph.vocabulary import EdgeType

T = TypeVar("T")

FENCE_ROWS: Final = 5_000
FENCE_ROUNDS_MAX: Final = 50

Progress = Callable[[int, int], None]


def discover(database: Database, roots: Sequence[str], edge_types: Sequence[EdgeType]) -> list[Affected]:
    """The subject and everything that came of it, each once at its least distance, nearest first.

    Args:
        database: the graph.
        roots: the subject's identities; they come first, at depth 0.
        edge_types: the types that the trigger follows, from derivative to source.
    """
    rows = database.read(
        "expand_affected", identities=sorted(set(roots)), edgeTypes=[edge.value for edge in edge_types]
    )
    depths = dict.fromkeys(roots, 0)
    for row in rows:
        depth = row.number("depth")
        for identity in row.texts("identities"):
            depths.setdefault(identity, depth)
    return [Affected(identity, depth) for identity, depth in depths.items()]


def fence_closure(
    database: Database, request_id: str, roots: Sequence[str], edge_types: Sequence[EdgeType]
) -> tuple[list[Affected], bool]:
    """Fence the subject and its closure to a fixpoint.

    A registration write-locks its sources and so does the fence: whichever comes first, a later walk sees the derivative
    or the registration is refused. When a walk finds nothing that is not fenced yet, nothing can be added any more.

    Returns:
        What is fenced, and whether the fixpoint was reached; it is not where writers kept extending the unfenced tip for
        `FENCE_ROUNDS_MAX` rounds, and the same call then carries on.
    """
    fenced: set[str] = set()
    for _ in range(FENCE_ROUNDS_MAX):
        found = discover(database, roots, edge_types)
        fresh = sorted(item.identity for item in found if item.identity not in fenced)
        if not fresh:
            return found, True
        fence(database, request_id, fresh)
        fenced.update(fresh)
    return discover(database, roots, edge_types), False


def fence(database: Database, request_id: str, identities: Sequence[str]) -> None:
    """Mark records so that nothing can be registered on them any more, in ascending order and bounded batches."""
    for chunk in chunks(sorted(identities), FENCE_ROWS):
        database.write("mark_fenced", identities=chunk, requestId=request_id)


def chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    """Consecutive pieces of at most `size` items."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
