"""Registering records: the only way an edge of a new record comes to be (the fence, design 3.1).

At most two round trips: what the graph knows of the identities involved (immutable parts decide tenant, kinds and
audience), where it is not remembered; then one statement that write-locks what the records hang on, reads the mutable
parts again under the locks, compares what was remembered, and creates. A deletion fences by writing to the same nodes, so
one of the two comes first and no derivative escapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from graph.access import Caller
from graph.clock import Clock
from graph.database.database import ConstraintViolated, Database
from graph.envelope import RecordInput
from graph.errors import Blocked, Conflict, Oversized, Refused
from graph.ids import IdentityKeys, Ids
from graph.policy.model import Policy
from graph.records.commit import Committer, Registration
from graph.records.draft import Drafter, completed, properties_in
from graph.records.facts import Fact, FactMemory, properties_of
from graph.records.lookup import known_as_told, registered_among, rows_among
from graph.records.model import Draft, Known, RegisterResult, RegisterStatus
from graph.records.rules import cycle_among, links_checked, places_checked
from graph.vocabulary import ReasonCode, RecordState, Role

BATCH_ROWS_MAX: Final = 1_000
_RACES_MAX: Final = 5


@dataclass(frozen=True)
class _Seen:
    """What drafts are judged by: the identities that are known, those that are only remembered, and the places taken."""

    known: Mapping[str, Known]
    facts: Mapping[str, Fact]
    taken: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Prepared:
    """Records of one call in their stored form, and the refusals of those that have none; nothing is in the graph yet."""

    caller: Caller
    count: int
    drafts: Sequence[Draft]
    refused: Mapping[int, RegisterResult]

    @cached_property
    def makes(self) -> frozenset[object]:
        """What the records bring into being, end or occupy: identities, versions succeeded, places, operations."""
        operations = (draft.operation["operationId"] for draft in self.drafts)
        return frozenset[object](operations).union(*(draft.claims for draft in self.drafts))

    @cached_property
    def touches(self) -> frozenset[str]:
        """The existing identities that the records hang on."""
        return frozenset[str]().union(*(draft.touches for draft in self.drafts))

    def is_apart_from(self, other: Prepared) -> bool:
        """Whether both get the same verdicts and leave the same graph whichever is settled first, or both at once."""
        return (
            self.makes.isdisjoint(other.makes)
            and self.makes.isdisjoint(other.touches)
            and self.touches.isdisjoint(other.makes)
        )


@dataclass(frozen=True)
class Registrar:
    """Registers records in the graph."""

    database: Database
    policy: Policy
    keys: IdentityKeys
    clock: Clock
    ids: Ids

    def register(
        self, records: Sequence[RecordInput] | Prepared, caller: Caller, *, repeat_keys: Sequence[str | None] = ()
    ) -> list[RegisterResult]:
        """Register up to `BATCH_ROWS_MAX` records; each gets a verdict of its own, in order.

        Records of one call may name one another as sources, in any order. A repeat of a record that is there already,
        the same in every part, is `unchanged`; anything else under its name is refused (`RECORD_IMMUTABLE`).

        Args:
            records: what the producer states, or what `prepare` made of that for this caller.
            caller: who registers; needs the role producer.
            repeat_keys: for records without a name, keys by which a repeated call meets the same records.

        Raises:
            NotAuthorized: the caller is no producer.
            Oversized: more than `BATCH_ROWS_MAX` records (`LIMIT_EXCEEDED`).
            Unavailable: the database does not answer; the same call may be repeated.
        """
        if not isinstance(records, Prepared):
            records = self.prepare(records, caller, repeat_keys=repeat_keys)
        verdicts = dict(records.refused)
        for wave in _waves(records.drafts, verdicts):
            self._register_wave(wave, records.caller, verdicts)
        return [verdicts[index] for index in range(records.count)]

    def prepare(
        self, records: Sequence[RecordInput], caller: Caller, *, repeat_keys: Sequence[str | None] = ()
    ) -> Prepared:
        """Give records their stored form; asks and writes nothing. Takes and raises what `register` does."""
        caller.demand(Role.PRODUCER)
        if len(records) > BATCH_ROWS_MAX:
            raise Oversized(
                "too many records in one call",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "BATCH_ROWS_MAX", "max": BATCH_ROWS_MAX},
            )
        drafter = Drafter(caller, self.policy, self.keys, self.ids, self.clock.now())
        keys = [*repeat_keys, *([None] * (len(records) - len(repeat_keys)))]
        refused: dict[int, RegisterResult] = {}
        drafts: list[Draft] = []
        for index, (record, key) in enumerate(zip(records, keys, strict=True)):
            try:
                drafts.append(drafter.draft(index, record, repeat_key=key))
            except Refused as error:
                refused[index] = _refused("", error)
        return Prepared(caller, len(records), drafts, refused)

    @cached_property
    def _facts(self) -> FactMemory:
        return FactMemory()

    @cached_property
    def _committer(self) -> Committer:
        return Committer(self.database)

    def _register_wave(self, wave: Sequence[Draft], caller: Caller, verdicts: dict[int, RegisterResult]) -> None:
        left = list(wave)
        for attempt in range(_RACES_MAX + 1):
            seen = self._remembered(left) if attempt == 0 else self._seen(left)
            ready: list[Draft] = []
            for draft in left:
                verdict = self._judged(draft, seen, caller)
                if verdict is None:
                    ready.append(draft)
                elif seen.facts.keys().isdisjoint(draft.touches):
                    verdicts[draft.index] = verdict
            if ready:
                verdicts.update(self._created(ready, seen))
            left = [draft for draft in left if draft.index not in verdicts]
            if not left:
                return
        for draft in left:
            error = Conflict("what it hangs on keeps changing; try again", code=ReasonCode.STATE_CONFLICT)
            verdicts[draft.index] = _refused(draft.identity, error)

    def _remembered(self, drafts: Sequence[Draft]) -> _Seen:
        """What is remembered of what the drafts hang on, and what the graph says of the rest.

        A single record whose sources are all remembered is tried at once: the graph refuses what is there already.
        """
        touched = frozenset[str]().union(*(draft.touches for draft in drafts))
        facts = self._facts.among(touched)
        wanted = set(touched.difference(facts))
        if len(drafts) == 1 and not wanted:
            return _Seen({identity: fact.known for identity, fact in facts.items()}, facts, frozenset())
        wanted.update(draft.identity for draft in drafts if draft.may_repeat)
        known = self._known(wanted, touched) if wanted else {}
        # What was read just now is whole and goes before what is remembered.
        return _Seen({identity: fact.known for identity, fact in facts.items()} | known, facts, self._taken(drafts))

    def _seen(self, drafts: Sequence[Draft]) -> _Seen:
        """What the graph says now, and nothing that is remembered."""
        touched = frozenset[str]().union(*(draft.touches for draft in drafts))
        return _Seen(self._known(touched.union(draft.identity for draft in drafts), touched), {}, self._taken(drafts))

    def _known(self, wanted: Iterable[str], touched: frozenset[str]) -> dict[str, Known]:
        """What the graph knows of the identities; those that records hang on are remembered."""
        rows = rows_among(self.database, wanted)
        known = {identity: known_as_told(row) for identity, row in rows.items()}
        self._facts.forget(touched.intersection(wanted))
        self._facts.remember(
            properties_of(rows[identity])
            for identity, item in known.items()
            if identity in touched and not item.is_tombstone and not item.fenced
        )
        return known

    def _taken(self, drafts: Iterable[Draft]) -> frozenset[tuple[str, str]]:
        """The places in stores, among those that the drafts name, that a record names already."""
        places = [(str(store["storeId"]), str(store["locator"])) for draft in drafts for store in draft.stores]
        return registered_among(self.database, places)

    def _judged(self, draft: Draft, seen: _Seen, caller: Caller) -> RegisterResult | None:
        """The verdict on a draft by what is seen; none where it may be created."""
        try:
            if (existing := seen.known.get(draft.identity)) is not None:
                return _repeated(draft, existing)
            links_checked(draft, seen.known, self.policy, caller)
            places_checked(draft, seen.taken)
        except Refused as error:
            return _refused(draft.identity, error)
        return None

    def _created(self, drafts: Sequence[Draft], seen: _Seen) -> dict[int, RegisterResult]:
        """Create what is free under the locks; the verdicts on what was."""
        touched = frozenset[str]().union(*(draft.touches for draft in drafts))
        rows = [completed(draft, seen.known) for draft in drafts]
        registration = Registration(
            rows=rows,
            locks=touched,
            facts=[fact.compared for identity, fact in seen.facts.items() if identity in touched],
            claims=frozenset[str]().union(*(draft.claims for draft in drafts)),
        )
        try:
            created = self._committer.create(registration)
        except ConstraintViolated:
            # Somebody else created one of these identities in this moment: look again, and judge each by itself.
            return {}
        made = [(draft, row) for draft, row in zip(drafts, rows, strict=True) if draft.index in created]
        self._facts.forget(draft.supersedes for draft, _ in made if draft.supersedes is not None)
        self._facts.remember(properties_in(row) for draft, row in made if draft.state == RecordState.ACTIVE)
        return {draft.index: _made(draft) for draft, _ in made}


def _made(draft: Draft) -> RegisterResult:
    if draft.state == RecordState.QUARANTINED:
        return RegisterResult(
            RegisterStatus.QUARANTINED, draft.identity, draft.faults[0].code, _quarantine_details(draft)
        )
    return RegisterResult(RegisterStatus.CREATED, draft.identity)


def _repeated(draft: Draft, existing: Known) -> RegisterResult:
    if existing.is_tombstone:
        raise Blocked("this record was deleted", code=ReasonCode.TOMBSTONE_BLOCKED)
    if existing.state == RecordState.RETAINED:
        raise Blocked("this record was deleted but for an exception", code=ReasonCode.HOLD_ACTIVE)
    if existing.fenced:
        raise Blocked("this record is being deleted", code=ReasonCode.SOURCE_FENCED)
    if existing.envelope.get("fingerprint") != draft.envelope["fingerprint"]:
        raise Conflict(
            "another record has this name; a change, or what mends one in quarantine, gets its own name and supersedes it",
            code=ReasonCode.RECORD_IMMUTABLE,
        )
    if draft.faults:
        # A producer that only saw the repeat still learns that the record serves nobody.
        code = draft.faults[0].code
        return RegisterResult(RegisterStatus.UNCHANGED, draft.identity, code, _quarantine_details(draft))
    return RegisterResult(RegisterStatus.UNCHANGED, draft.identity)


def _quarantine_details(draft: Draft) -> dict[str, object]:
    return {"quarantineReasons": [{"code": fault.code.value, "field": fault.field} for fault in draft.faults]}


def _refused(identity: str, error: Refused) -> RegisterResult:
    return RegisterResult(RegisterStatus.REFUSED, identity, error.code, {**error.details, "message": error.message})


def _waves(drafts: Sequence[Draft], verdicts: dict[int, RegisterResult]) -> Iterator[list[Draft]]:
    """Group drafts so that each comes after those of the same call that it hangs on; cycles get their refusal.

    A second draft with the identity of an earlier one, or superseding what an earlier one supersedes, comes in a later
    wave, where it meets what the first one made, also where the first one has to wait itself; only what the first one
    hangs on goes before it. What hangs on a refused draft meets what is not there.
    """
    waiting = list(drafts)
    while waiting:
        wave, later = _ready_among(waiting, in_turn=True)
        if not wave:
            wave, later = _ready_among(waiting, in_turn=False)
        if wave:
            yield wave
            waiting = later
        else:
            cycle = _cycle_of(waiting)
            error = Conflict("derivation has no cycles", code=ReasonCode.DERIVATION_CYCLE, details={"cycle": cycle})
            on_cycle = [draft for draft in waiting if draft.identity in cycle]
            verdicts.update((draft.index, _refused(draft.identity, error)) for draft in on_cycle)
            waiting = [draft for draft in waiting if draft.identity not in cycle]


def _ready_among(waiting: Sequence[Draft], *, in_turn: bool) -> tuple[list[Draft], list[Draft]]:
    unborn = {draft.identity for draft in waiting}
    wave: list[Draft] = []
    later: list[Draft] = []
    taken: set[str] = set()
    for draft in waiting:
        is_born = draft.touches & unborn <= {draft.identity}
        if is_born and taken.isdisjoint(draft.claims):
            wave.append(draft)
            taken |= draft.claims
        else:
            later.append(draft)
            taken |= draft.claims if in_turn else {draft.identity}
    return wave, later


def _cycle_of(waiting: Sequence[Draft]) -> list[str]:
    """A cycle among drafts none of which can come first; where two have one identity, the first one speaks."""
    unborn = {draft.identity for draft in waiting}
    hangs_on: dict[str, frozenset[str]] = {}
    for draft in waiting:
        hangs_on.setdefault(draft.identity, (draft.touches - {draft.identity}) & unborn)
    return cycle_among(hangs_on)
