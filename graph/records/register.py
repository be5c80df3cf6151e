"""Registering records: the only way an edge of a new record comes to be (the fence, design 3.1).

Two round trips: what the graph knows of the identities involved (immutable parts decide tenant, kinds and audience),
then one statement that write-locks what the records hang on, reads the mutable parts again under the locks, and creates.
A deletion fences by writing to the same nodes, so one of the two comes first and no derivative escapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graph.access import Caller
from graph.clock import Clock
from graph.database.database import ConstraintViolated, Database
from graph.envelope import RecordInput
from graph.errors import Blocked, Conflict, Oversized, Refused
from graph.ids import IdentityKeys, Ids
from graph.policy.model import Policy
from graph.records.draft import Drafter, completed
from graph.records.lookup import known_among
from graph.records.model import Draft, Known, RegisterResult, RegisterStatus
from graph.records.rules import cycle_among, links_checked, places_checked
from graph.vocabulary import ReasonCode, RecordState, Role

BATCH_ROWS_MAX: Final = 1_000
_RACES_MAX: Final = 5


@dataclass(frozen=True)
class Registrar:
    """Registers records in the graph."""

    database: Database
    policy: Policy
    keys: IdentityKeys
    clock: Clock
    ids: Ids

    def register(
        self, records: Sequence[RecordInput], caller: Caller, *, repeat_keys: Sequence[str | None] = ()
    ) -> list[RegisterResult]:
        """Register up to `BATCH_ROWS_MAX` records; each gets a verdict of its own, in order.

        Records of one call may name one another as sources, in any order. A repeat of a record that is there already,
        the same in every part, is `unchanged`; anything else under its name is refused (`RECORD_IMMUTABLE`).

        Args:
            records: what the producer states.
            caller: who registers; needs the role producer.
            repeat_keys: for records without a name, keys by which a repeated call meets the same records.

        Raises:
            NotAuthorized: the caller is no producer.
            Oversized: more than `BATCH_ROWS_MAX` records (`LIMIT_EXCEEDED`).
            Unavailable: the database does not answer; the same call may be repeated.
        """
        caller.demand(Role.PRODUCER)
        if len(records) > BATCH_ROWS_MAX:
            raise Oversized(
                "too many records in one call",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "BATCH_ROWS_MAX", "max": BATCH_ROWS_MAX},
            )
        drafter = Drafter(caller, self.policy, self.keys, self.ids, self.clock.now())
        keys = [*repeat_keys, *([None] * (len(records) - len(repeat_keys)))]
        verdicts: dict[int, RegisterResult] = {}
        drafts: list[Draft] = []
        for index, (record, key) in enumerate(zip(records, keys, strict=True)):
            try:
                drafts.append(drafter.draft(index, record, repeat_key=key))
            except Refused as error:
                verdicts[index] = _refused("", error)
        for wave in _waves(drafts, verdicts):
            self._register_wave(wave, caller, verdicts)
        return [verdicts[index] for index in range(len(records))]

    def _register_wave(self, wave: Sequence[Draft], caller: Caller, verdicts: dict[int, RegisterResult]) -> None:
        left = list(wave)
        for _ in range(_RACES_MAX):
            known, taken = self._known(left), self._taken(left)
            ready = [draft for draft in left if self._is_ready(draft, known, taken, caller, verdicts)]
            if not ready:
                return
            created = self._create(ready, known)
            for draft in ready:
                if draft.index in created:
                    verdicts[draft.index] = _created(draft)
            left = [draft for draft in ready if draft.index not in created]
            if not left:
                return
        for draft in left:
            error = Conflict("what it hangs on keeps changing; try again", code=ReasonCode.STATE_CONFLICT)
            verdicts[draft.index] = _refused(draft.identity, error)

    def _known(self, drafts: Iterable[Draft]) -> dict[str, Known]:
        wanted = {draft.identity for draft in drafts}.union(*(draft.touches for draft in drafts))
        return known_among(self.database, wanted)

    def _taken(self, drafts: Iterable[Draft]) -> frozenset[tuple[str, str]]:
        """The places in stores, among those that the drafts name, that a record names already."""
        places = [dict(store) for draft in drafts for store in draft.stores]
        if not places:
            return frozenset()
        rows = self.database.read("list_locators_taken", places=places)[0].rows("taken")
        return frozenset((row.text("storeId"), row.text("locator")) for row in rows)

    def _is_ready(
        self,
        draft: Draft,
        known: Mapping[str, Known],
        taken: frozenset[tuple[str, str]],
        caller: Caller,
        verdicts: dict[int, RegisterResult],
    ) -> bool:
        try:
            if (existing := known.get(draft.identity)) is not None:
                verdicts[draft.index] = _repeated(draft, existing)
                return False
            links_checked(draft, known, self.policy, caller)
            places_checked(draft, taken)
        except Refused as error:
            verdicts[draft.index] = _refused(draft.identity, error)
            return False
        return True

    def _create(self, drafts: Sequence[Draft], known: Mapping[str, Known]) -> frozenset[int]:
        locks = sorted(frozenset[str]().union(*(draft.touches for draft in drafts)))
        rows = [completed(draft, known) for draft in drafts]
        try:
            return frozenset(self.database.write("create_records", locks=locks, rows=rows)[0].numbers("created"))
        except ConstraintViolated:
            # Somebody else created one of these identities in this moment: look again, and judge each by itself.
            return frozenset()


def _created(draft: Draft) -> RegisterResult:
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
    wave, where it meets what the first one made. What hangs on a refused draft meets what is not there.
    """
    waiting = list(drafts)
    while waiting:
        wave, later = _ready_among(waiting)
        if wave:
            yield wave
            waiting = later
        else:
            cycle = _cycle_of(waiting)
            error = Conflict("derivation has no cycles", code=ReasonCode.DERIVATION_CYCLE, details={"cycle": cycle})
            on_cycle = [draft for draft in waiting if draft.identity in cycle]
            verdicts.update((draft.index, _refused(draft.identity, error)) for draft in on_cycle)
            waiting = [draft for draft in waiting if draft.identity not in cycle]


def _ready_among(waiting: Sequence[Draft]) -> tuple[list[Draft], list[Draft]]:
    unborn = {draft.identity for draft in waiting}
    wave: list[Draft] = []
    later: list[Draft] = []
    taken: set[str] = set()
    for draft in waiting:
        places = {f"{store['storeId']} {store['locator']}" for store in draft.stores}
        claims = {draft.identity, draft.supersedes or draft.identity} | places
        if (draft.touches - {draft.identity}) & unborn or claims & taken:
            later.append(draft)
            taken.add(draft.identity)
        else:
            wave.append(draft)
            taken |= claims
    return wave, later


def _cycle_of(waiting: Sequence[Draft]) -> list[str]:
    """A cycle among drafts none of which can come first; where two have one identity, the first one speaks."""
    unborn = {draft.identity for draft in waiting}
    hangs_on: dict[str, frozenset[str]] = {}
    for draft in waiting:
        hangs_on.setdefault(draft.identity, (draft.touches - {draft.identity}) & unborn)
    return cycle_among(hangs_on)
