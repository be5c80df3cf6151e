"""Going through the journal again: what a restored graph lacks is deleted again before anybody reads it (TMB-06).

The last entry about a record says what is true of it: a removal that comes after a hold shows that the hold was no longer
there or never came to be, and a hold that comes after a removal shows that the removal was rolled back, since both are
written under the record's lock. So the entries behind the graph's mark are read twice: once for holds, releases and
rejections, which are few, and once for the removals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import JsonValue

from graph.clock import Clock
from graph.database.database import Database
from graph.database.journal import Entry, FileJournal, Position
from graph.database.journaling import applied_in, is_behind, mark_applied
from graph.deletion.deletions import Deletions
from graph.deletion.holds import release_hold
from graph.deletion.ledger import move_request
from graph.deletion.scope import scope_key
from graph.errors import NotFound, Unavailable
from graph.propagation.closure import chunks
from graph.vocabulary import DeletionState, JournalEntryKind, ReasonCode

REPLAY_ROWS: Final = 2_000


@dataclass
class _Gap:
    """What stands behind the mark besides the removals. `holds` has what is not void; `kept` says since which entry."""

    last: Position
    requests: dict[str, Mapping[str, JsonValue]] = field(default_factory=dict[str, Mapping[str, JsonValue]])
    rejected: set[str] = field(default_factory=set[str])
    holds: dict[str, Entry] = field(default_factory=dict[str, Entry])
    released: dict[str, Entry] = field(default_factory=dict[str, Entry])
    removing: dict[str, None] = field(default_factory=dict[str, None])

    @property
    def kept(self) -> dict[str, int]:
        """Identity → the entry of the hold that keeps it; a removal before that entry was rolled back."""
        standing = (entry for hold_id, entry in self.holds.items() if hold_id not in self.released)
        return {identity: entry.position.sequence for entry in standing for identity in _ids(entry, "identities")}


@dataclass(frozen=True)
class Replayed:
    """What a catch-up came to. `stuck` names requests that could not be carried on; their removals hold all the same."""

    entries: int
    removed: int
    stuck: tuple[str, ...]


@dataclass(frozen=True)
class Restorer:
    """Brings the graph up to its journal."""

    database: Database
    journal: FileJournal
    deletions: Deletions
    clock: Clock

    def catch_up(self, sweep: Callable[[], object] | None = None) -> Replayed:
        """Go through every entry behind the graph's mark; may be repeated, interrupted, and run by two at once.

        Args:
            sweep: goes through the stores before the mark moves on, so that a death in between leaves none unswept.

        Raises:
            Unavailable: the database does not answer; the next catch-up carries on.
        """
        entries = removed = 0
        stuck: set[str] = set()
        if not is_behind(self.database, self.journal):
            return Replayed(0, 0, ())
        start = self._mark().sequence
        while (gap := self._gap()) is not None:
            entries = gap.last.sequence - start
            self._bring_back(gap)
            self._absent(gap)
            stuck |= self._carry_on(gap)
            removed += self._removals(gap)
            if sweep is not None:
                sweep()
            mark_applied(self.database, self.journal, gap.last)
        return Replayed(entries, removed, tuple(sorted(stuck)))

    def _mark(self) -> Position:
        applied = applied_in(self.database)
        return Position(0, "") if applied is None else applied.position

    def _gap(self) -> _Gap | None:
        """What stands behind the mark; none where nothing does."""
        gap: _Gap | None = None
        for entry in self.journal.after(self._mark().sequence):
            gap = gap or _Gap(entry.position)
            gap.last = entry.position
            _take(gap, entry)
        return gap

    def _bring_back(self, gap: _Gap) -> None:
        for request_id, values in gap.requests.items():
            if request_id not in gap.rejected:
                scope = sorted(str(identity) for identity in cast("list[JsonValue]", values["scope"]))
                key = scope_key(str(values["tenantId"]), scope)
                # Whose removals stand in the journal was judged; of any other, authority is judged when it runs.
                judged = request_id in gap.removing
                request = {**values, "state": DeletionState.AUTHENTICATED if judged else DeletionState.RECEIVED}
                self.database.write("merge_request_journaled", scopeKey=key, request=request, scope=scope)
        for request_id in sorted(gap.rejected):
            changes = {"reason": ReasonCode.REQUESTER_UNAUTHORIZED, "scopeKey": None, "finishedAt": self.clock.now()}
            received = (DeletionState.RECEIVED,)
            move_request(self.database.write, request_id, received, DeletionState.REJECTED, changes)
        for entry in gap.holds.values():
            hold, identities = entry.body["hold"], sorted(_ids(entry, "identities"))
            self.database.write("merge_hold_journaled", identities=identities, hold=hold)
        for entry in gap.released.values():
            released = (str(entry.body[name]) for name in ("holdId", "tenantId", "releasedBy"))
            hold_id, tenant_id, released_by = released
            release_hold(self.database.write, hold_id, tenant_id, entry.at, released_by)

    def _absent(self, gap: _Gap) -> None:
        """Give what the graph never had its tombstone and outcome, before the requests go on and end."""
        kept = gap.kept
        for entry in self._removed_in(gap):
            request_id = entry.body.get("requestId")
            for rows in chunks(list(_tombstones(entry, kept)), REPLAY_ROWS):
                created = self.database.write("create_tombstones_absent", rows=rows)[0].texts("created")
                if created and isinstance(request_id, str):
                    self.deletions.settle_again(request_id, created)

    def _removed_in(self, gap: _Gap) -> Iterator[Entry]:
        """The removals behind the mark."""
        for entry in self.journal.after(self._mark().sequence):
            if entry.position.sequence > gap.last.sequence:
                return
            if entry.kind is JournalEntryKind.CONTENT_REMOVED:
                yield entry

    def _carry_on(self, gap: _Gap) -> set[str]:
        """Advance the requests that the entries tell of: the same engine finds and settles what came of their subjects."""
        stuck: set[str] = set()
        for request_id in dict.fromkeys([*gap.requests, *gap.removing]):
            if request_id in gap.rejected:
                continue
            try:
                self.deletions.advance(request_id)
            except Unavailable:
                raise
            except NotFound:
                continue  # Its filing was rolled back, and the scope has the request of the next try.
            except Exception:  # noqa: BLE001 - whatever keeps one request from going on, what it removed goes below
                stuck.add(request_id)
        return stuck

    def _removals(self, gap: _Gap) -> int:
        """Make sure of each removal itself, whatever became of its request."""
        kept, removed = gap.kept, 0
        for entry in self._removed_in(gap):
            for rows in chunks(sorted(_tombstones(entry, kept), key=_identity_of), REPLAY_ROWS):
                removed += self.database.write("merge_tombstones_journaled", rows=rows)[0].number("removed")
            for identities in chunks(sorted(_gone(entry, "invalidate", kept)), REPLAY_ROWS):
                removed += self._invalidate(str(entry.body["requestId"]), identities)
        return removed

    def _invalidate(self, request_id: str, identities: Sequence[str]) -> int:
        left = self.database.read("list_records_left", identities=identities)[0].texts("identities")
        return self.deletions.settle_again(request_id, left) if left else 0


def _take(gap: _Gap, entry: Entry) -> None:
    body = entry.body
    if entry.kind is JournalEntryKind.REQUEST_FILED:
        values = cast("Mapping[str, JsonValue]", body["request"])
        gap.requests[str(values["requestId"])] = values
    elif entry.kind is JournalEntryKind.REQUEST_REJECTED:
        gap.rejected.add(str(body["requestId"]))
    elif entry.kind is JournalEntryKind.HOLD_PLACED:
        hold = cast("Mapping[str, JsonValue]", body["hold"])
        gap.holds[str(hold["holdId"])] = entry
    elif entry.kind is JournalEntryKind.HOLD_RELEASED:
        gap.released[str(body["holdId"])] = entry
    elif entry.kind is JournalEntryKind.CONTENT_REMOVED:
        _take_removal(gap, entry)


def _take_removal(gap: _Gap, entry: Entry) -> None:
    """A removal after a hold that nobody released: the hold never came to be, since all its records or none are held."""
    if (request_id := entry.body.get("requestId")) is not None:
        gap.removing[str(request_id)] = None
    if gap.holds:
        gone = {*_ids(entry, "delete"), *_ids(entry, "invalidate")}
        for hold_id in [one for one in gap.holds if one not in gap.released]:
            if gone.intersection(_ids(gap.holds[hold_id], "identities")):
                del gap.holds[hold_id]


def _tombstones(entry: Entry, kept: Mapping[str, int]) -> Iterator[dict[str, object]]:
    past = entry.body.get("tombstones")
    yield from cast("list[dict[str, object]]", past or [])
    for identity in _gone(entry, "delete", kept):
        yield {
            "identity": identity,
            "deletedAt": entry.at,
            "reasonCode": entry.body["reasonCode"],
            "policyRef": entry.body["policyRef"],
        }


def _gone(entry: Entry, change: str, kept: Mapping[str, int]) -> Iterator[str]:
    """What the entry removed; not what a later hold shows to have stayed."""
    return (one for one in _ids(entry, change) if kept.get(one, 0) < entry.position.sequence)


def _identity_of(row: Mapping[str, object]) -> str:
    return str(row["identity"])


def _ids(entry: Entry, name: str) -> list[str]:
    listed = entry.body.get(name)
    return [str(identity) for identity in listed] if isinstance(listed, list) else []
