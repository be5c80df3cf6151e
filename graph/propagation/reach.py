"""What a trigger reaches, kept small: a closure of a million has to fit beside everything else in a few hundred MB."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import repeat


class Reach(Mapping[str, int]):
    """Identity → least distance from the subject (0 for the subject itself), in ascending order of the identities.

    Sorted columns in place of a dictionary of objects: a third of the memory, and batches are slices.
    """

    def __init__(self, identities: Sequence[str], depths: Sequence[int]) -> None:
        self.identities = identities
        self.depths = depths

    @classmethod
    def of(cls, roots: Iterable[str], levels: Iterable[tuple[int, Sequence[str]]]) -> Reach:
        """Put levels together.

        Args:
            roots: the subject; a root that a level names as well stays at depth 0.
            levels: (depth, identities), each identity in one of them.
        """
        subject = set(roots)
        columns = [zip(sorted(subject), repeat(0))]
        columns += [zip(sorted(one for one in level if one not in subject), repeat(depth)) for depth, level in levels]
        identities: list[str] = []
        depths = array("I")
        # Merging holds one pair at a time; sorting all pairs would hold a million.
        for identity, depth in merge(*columns):
            identities.append(identity)
            depths.append(depth)
        return cls(identities, depths)

    def pieces(self, size: int) -> Iterator[Reach]:
        """Consecutive pieces of at most `size` identities."""
        for start in range(0, len(self.identities), size):
            yield Reach(self.identities[start : start + size], self.depths[start : start + size])

    def only(self, identities: Iterable[str]) -> Reach:
        """The part that holds these identities, all of which are in it."""
        chosen = sorted(identities)
        return Reach(chosen, array("I", (self[identity] for identity in chosen)))

    def without(self, identities: Iterable[str]) -> Reach:
        """The part that is left without these identities."""
        left = set(identities)
        kept = [index for index, identity in enumerate(self.identities) if identity not in left]
        return Reach([self.identities[index] for index in kept], array("I", (self.depths[index] for index in kept)))

    def __getitem__(self, identity: str) -> int:
        index = bisect_left(self.identities, identity)
        if index == len(self.identities) or self.identities[index] != identity:
            raise KeyError(identity)
        return self.depths[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.identities)

    def __len__(self) -> int:
        return len(self.identities)
