"""Registrations that wait for the graph at the same time go into it in one transaction, each with its own verdict.

Whoever comes while a place to write is free writes at once: a lone client waits for nobody. Whoever comes meanwhile
queues; a writer who is done gives its place to the first in the queue, who takes along what waits with it, up to
`TOGETHER_ROWS_MAX` records. Where such a transaction fails, each of its registrations goes by itself, so that none pays
for another's fault.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from graph.database.database import ConstraintViolated, Database
from graph.errors import Refused, Unavailable

TOGETHER_ROWS_MAX: Final = 64
# While one group is in the database, the next one is put together and sent.
WRITERS_MAX: Final = 2


@dataclass(eq=False)
class Registration:
    """Judged rows for `create_records`, and what became of them.

    Args:
        rows: the rows, each with an index of its own among them.
        locks: every identity that they hang on.
        facts: what is remembered of some of these and decided by, to be compared under the locks.
        claims: what no two registrations of one transaction may share.
    """

    rows: Sequence[Mapping[str, object]]
    locks: frozenset[str]
    facts: Sequence[Mapping[str, object]]
    claims: frozenset[str]
    turn: threading.Event = field(default_factory=threading.Event)
    writes: bool = False
    created: frozenset[object] | None = None
    fault: Unavailable | None = None


class Committer:
    """Writes registrations; what waits together is written together."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._waiting: list[Registration] = []
        self._writers = 0

    def create(self, registration: Registration) -> frozenset[object]:
        """Create the rows that are free to be created, and answer their indices.

        Raises:
            ConstraintViolated: somebody else created one of these in this moment.
            Unavailable: the database does not answer.
        """
        if len(registration.rows) > TOGETHER_ROWS_MAX:
            return self._written([registration])[0]
        self._queue(registration)
        if registration.writes:
            group = self._group(registration)
            try:
                self._settle(group)
            finally:
                self._hand_over(group)
        if registration.fault is not None:
            fault = registration.fault
            raise type(fault)(fault.message, code=fault.code, details=fault.details) from fault
        return self._written([registration])[0] if registration.created is None else registration.created

    def _queue(self, registration: Registration) -> None:
        """Take a free place to write, or wait until the registration is settled or may write itself."""
        with self._lock:
            if self._writers < WRITERS_MAX:
                self._writers += 1
                registration.writes = True
                return
            self._waiting.append(registration)
        registration.turn.wait()

    def _group(self, first: Registration) -> list[Registration]:
        """Take from the queue what fits into one transaction with `first`; what claims the same waits on."""
        group, rows, claims = [first], len(first.rows), set(first.claims)
        with self._lock:
            left: list[Registration] = []
            for other in self._waiting:
                if rows + len(other.rows) <= TOGETHER_ROWS_MAX and claims.isdisjoint(other.claims):
                    group.append(other)
                    rows += len(other.rows)
                    claims |= other.claims
                else:
                    left.append(other)
            self._waiting = left
        return group

    def _settle(self, group: Sequence[Registration]) -> None:
        try:
            created = self._written(group)
        except Unavailable as error:
            for registration in group:
                registration.fault = error
        except (ConstraintViolated, Refused):
            if len(group) == 1:
                raise
            # Which of them it was is not said: each goes by itself now.
        else:
            for registration, indices in zip(group, created, strict=True):
                registration.created = indices

    def _hand_over(self, group: Sequence[Registration]) -> None:
        """Let the members of a group go on, and the first in the queue write."""
        with self._lock:
            following = self._waiting.pop(0) if self._waiting else None
            if following is None:
                self._writers -= 1
            else:
                following.writes = True
        for registration in [*group[1:], *([following] if following else [])]:
            registration.turn.set()

    def _written(self, group: Sequence[Registration]) -> list[frozenset[object]]:
        """Create the rows of a group in one transaction; the indices of those created, for each registration."""
        rows = [(number, row) for number, registration in enumerate(group) for row in registration.rows]
        answer = self._database.write(
            "create_records",
            locks=sorted(frozenset[str]().union(*(registration.locks for registration in group))),
            facts=_distinct(fact for registration in group for fact in registration.facts),
            rows=[{**row, "index": place} for place, (_, row) in enumerate(rows)],
        )
        created: list[set[object]] = [set() for _ in group]
        for place in answer[0].numbers("created"):
            number, row = rows[place]
            created[number].add(row["index"])
        return [frozenset(indices) for indices in created]


def _distinct(facts: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Each fact once. Two that differ about one record are both compared, so that nobody decides by the wrong one."""
    distinct: dict[object, list[Mapping[str, object]]] = {}
    for fact in facts:
        held = distinct.setdefault(fact["identity"], [])
        if fact not in held:
            held.append(fact)
    return [fact for held in distinct.values() for fact in held]
