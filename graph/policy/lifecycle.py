"""The legal life of a class as a small state machine over the verbs of VOC-01 (CLS-17)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Verb = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Lifecycle(BaseModel):
    """Which verb may follow which; the verbs themselves are those that stand here and no others.

    Attributes:
        starts: the verbs that may come first.
        ends: the verbs after which nothing follows.
        follows: for each verb, the verbs that may come next; a verb of `ends` has none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    starts: Annotated[tuple[Verb, ...], Field(min_length=1)]
    ends: Annotated[tuple[Verb, ...], Field(min_length=1)]
    follows: Annotated[dict[Verb, Annotated[tuple[Verb, ...], Field(min_length=1)]], Field(min_length=1)]

    @property
    def verbs(self) -> frozenset[str]:
        """Every verb of the class."""
        return frozenset(self.follows) | frozenset(self.ends)

    def may_follow(self, verb_before: str | None, verb: str) -> bool:
        """Whether `verb` is legal after `verb_before`; `None` stands for a record that does not exist yet."""
        if verb_before is None:
            return verb in self.starts
        return verb in self.follows.get(verb_before, ())

    def faults(self) -> Iterator[tuple[str, str]]:
        """What makes the machine no machine, as (cell below `lifecycle`, what is wrong)."""
        for verb in sorted(frozenset(self.follows) & frozenset(self.ends)):
            yield f"follows.{verb}", "an end has no followers"
        for cell, named in (("starts", self.starts), *((f"follows.{v}", after) for v, after in self.follows.items())):
            for verb in named:
                if verb not in self.verbs:
                    yield cell, f"unknown verb '{verb}'"
        for verb in sorted(self.verbs - self._reached()):
            yield f"follows.{verb}" if verb in self.follows else "ends", f"verb '{verb}' can never happen"
        for verb in sorted(frozenset(self.follows) - self._ending()):
            yield f"follows.{verb}", f"no end can be reached from '{verb}'"

    def _reached(self) -> frozenset[str]:
        reached = frozenset(self.starts)
        while (further := reached.union(*(self.follows.get(verb, ()) for verb in reached))) != reached:
            reached = further
        return reached

    def _ending(self) -> frozenset[str]:
        ending = frozenset(self.ends)
        while (further := ending | {v for v, after in self.follows.items() if ending & set(after)}) != ending:
            ending = further
        return ending
