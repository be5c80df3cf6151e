"""Finding everything that a trigger reaches, and fencing it so that nothing is added to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from graph.database.database import Database
from graph.propagation.reach import Reach
from graph.vocabulary import EdgeType

T = TypeVar("T")

FENCE_ROWS: Final = 5_000
WALK_ROWS: Final = 50_000
FENCE_ROUNDS_MAX: Final = 50
WRITERS: Final = 2

Progress = Callable[[int, int], None]


def discover(database: Database, roots: Sequence[str], edge_types: Collection[EdgeType]) -> Reach:
    """The subject and everything that came of it, each once at its least distance.

    Args:
        database: the graph.
        roots: the subject's identities; they are at depth 0.
        edge_types: the types that the trigger follows, from derivative to source.
    """
    return _walk(database, roots, edge_types)[0]


def fence_closure(
    database: Database, request_id: str, roots: Sequence[str], edge_types: Collection[EdgeType]
) -> tuple[Reach, bool]:
    """Fence the subject and its closure to a fixpoint.

    A registration write-locks its sources and so does the fence: whichever comes first, a later walk sees the derivative
    or the registration is refused. When a walk finds nothing that is open any more, nothing can be added. What a second
    walk still finds was added by writers at the tip; from there on each round is a gate, see `mark_fenced_beyond`.

    Returns:
        What is fenced, and whether the fixpoint was reached; it is not where writers outran `FENCE_ROUNDS_MAX` rounds, and
        the same call then carries on.
    """
    for number in range(FENCE_ROUNDS_MAX):
        found, tip = _walk(database, roots, edge_types)
        if not tip:
            return found, True
        # A closure of a million takes a third of the memory that a service may have: not twice.
        del found
        if number == 0:
            fence(database, request_id, tip)
        else:
            _fence_beyond(database, request_id, tip, edge_types)
    return discover(database, roots, edge_types), False


def fence(database: Database, request_id: str, identities: Sequence[str]) -> None:
    """Mark records so that nothing can be registered on them any more, in ascending order and bounded batches."""
    pieces = chunks(sorted(identities), FENCE_ROWS)
    with ThreadPoolExecutor(max_workers=WRITERS, thread_name_prefix="fence") as pool:
        for _ in pool.map(partial(_mark, database, request_id), pieces):
            pass


def _mark(database: Database, request_id: str, identities: list[str]) -> None:
    database.write("mark_fenced", identities=identities, requestId=request_id)


def _fence_beyond(database: Database, request_id: str, tip: Sequence[str], edge_types: Collection[EdgeType]) -> None:
    types = [edge.value for edge in edge_types]
    for piece in chunks(sorted(tip), FENCE_ROWS):
        database.write("mark_fenced_beyond", identities=piece, requestId=request_id, edgeTypes=types)


def _walk(database: Database, roots: Sequence[str], edge_types: Collection[EdgeType]) -> tuple[Reach, list[str]]:
    """What is reached, and the part of it on which a registration could still hang something."""
    rows = database.read(
        "expand_affected", literals={"edgeTypes": edge_types}, identities=sorted(set(roots)), pieceRows=WALK_ROWS
    )
    levels = [(row.number("depth"), row.texts("identities")) for row in rows]
    tip = [identity for row in rows if row.truth("isOpen") for identity in row.texts("identities")]
    return Reach.of(roots, levels), tip


def chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    """Consecutive pieces of at most `size` items."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
