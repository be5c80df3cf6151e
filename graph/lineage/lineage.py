"""The questions about lineage, each for one caller. What a caller may not see is not there, and stops every walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from graph.access import Caller
from graph.clock import Clock
from graph.database.database import Database
from graph.lineage.model import (
    PAGE_SIZE_DEFAULT,
    Approvals,
    Asked,
    History,
    LineageClosure,
    LineageCounts,
    LineagePage,
    Operations,
    Origins,
    RouteAnswer,
    Selection,
)
from graph.lineage.provenance import find_approvals, find_history, find_operations, find_origins
from graph.lineage.reader import Reader
from graph.lineage.routes import find_routes
from graph.lineage.rules import page_size_checked, selection_checked
from graph.lineage.walk import walk_closure, walk_counts, walk_page
from graph.policy.model import Policy


@dataclass(frozen=True)
class Lineage:
    """Answers where records come from and what came of them.

    Every question raises `NotFound` for a record that is not there for the caller, in the same words whether it does not
    exist or may not be seen; `Oversized` (`LIMIT_EXCEEDED`, naming `walk_timeout_seconds`) when the time limit passes;
    and `Unavailable` when the database does not answer. Every answer carries a `CompletenessReceipt`.

    A record that a deletion has fenced is shown with the state `being_deleted`: that it exists is no content, and a
    lineage with a hole would mislead. Tombstones are shown and walked through on request alone (`include_deleted`), and
    only those that a deletion of the caller's own tenant left.
    """

    database: Database
    policy: Policy
    clock: Clock
    walk_timeout_seconds: float

    def walk(
        self,
        caller: Caller,
        identity: str,
        *,
        page_size: int = PAGE_SIZE_DEFAULT,
        cursor: str | None = None,
        **asked: Unpack[Asked],
    ) -> LineagePage:
        """A page of the records that came of a record, or that it came from.

        Args:
            caller: who asks.
            identity: the root of the walk; never an item itself, even where a cycle leads back to it.
            page_size: items on a page, 1 to `PAGE_SIZE_MAX`.
            cursor: `next_cursor` of the page before.
            asked: which way, how far and what; see `Asked`.

        Raises:
            InvalidInput: what is asked makes no sense, or the cursor belongs to another selection (`CURSOR_INVALID`).
            Oversized: a limit was passed.
            NotFound: no such record for this caller.
        """
        reader, selection = self._asked(caller, identity, asked)
        return walk_page(reader, selection, page_size_checked(page_size), cursor)

    def closure(self, caller: Caller, identity: str, **asked: Unpack[Asked]) -> LineageClosure:
        """The ids of everything that a walk would page through, with depth and kind; raises what `walk` does."""
        return walk_closure(*self._asked(caller, identity, asked))

    def counts(self, caller: Caller, identity: str, **asked: Unpack[Asked]) -> LineageCounts:
        """How many records a walk would show, by direction, depth and kind; raises what `walk` does."""
        return walk_counts(*self._asked(caller, identity, asked))

    def routes(self, caller: Caller, source: str, derivative: str, *, include_deleted: bool = False) -> RouteAnswer:
        """How many routes of derivation lead from a source to a derivative, with witnesses.

        The count is exact up to `ROUTE_COUNT_MAX` routes and `ROUTE_EDGES_MAX` edges above the derivative; past either
        it is a lower bound and says so.
        """
        return find_routes(self._reader(caller, include_deleted=include_deleted), source, derivative)

    def history(self, caller: Caller, identity: str, *, include_deleted: bool = False) -> History:
        """The versions of a record, oldest first, at most `VERSIONS_MAX` each way from the one that was asked for."""
        return find_history(self._reader(caller, include_deleted=include_deleted), identity)

    def origins(self, caller: Caller, identity: str) -> Origins:
        """The records upstream that were derived from nothing, with their kinds of origin and source versions."""
        return find_origins(self._reader(caller), identity)

    def operations(self, caller: Caller, identity: str) -> Operations:
        """The operations that produced a record and everything upstream of it, with what each one used (PRV-01)."""
        return find_operations(self._reader(caller), identity)

    def approvals(self, caller: Caller, identity: str) -> Approvals:
        """The approvals of this very record; those of what it was derived from do not count (PRV-05)."""
        return find_approvals(self._reader(caller), identity)

    def _asked(self, caller: Caller, identity: str, asked: Asked) -> tuple[Reader, Selection]:
        selection = selection_checked(self.policy, identity, asked)
        return self._reader(caller, include_deleted=selection.include_deleted), selection

    def _reader(self, caller: Caller, *, include_deleted: bool = False) -> Reader:
        return Reader(self.database, self.clock.now(), self.walk_timeout_seconds, caller, include_deleted)
