"""Deletion requests from filing to receipt.

A request is durable before anything is removed. The subject goes first (content removed and tombstone written in one
transaction, holds read inside it), then everything that came of it: fenced to a fixpoint, then settled with one outcome
for each node and store. It ends only when every outcome is there, what the graph says was read back, and every failure
has an owner. Each step is idempotent and judged on what is committed, so a killed worker's request is simply advanced
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pydantic import JsonValue

from graph.access import Caller
from graph.clock import Clock
from graph.database.database import Database, Statements
from graph.database.journal import FileJournal
from graph.database.journaling import journaled
from graph.deletion.conclude import Conclusion
from graph.deletion.idempotency import key_reused, result_under_key
from graph.deletion.ledger import Ledger, Stored, move_request, no_request
from graph.deletion.model import DeletionInput, OutcomePage, Preview, RequestView
from graph.deletion.plan import plan_deletion
from graph.deletion.scope import Scope, may_request, not_theirs, resolve_scope, scope_key
from graph.errors import Conflict, InvalidInput, NotFound
from graph.ids import IdentityKeys, Ids
from graph.paging import cursor_after, id_before
from graph.policy.model import Policy
from graph.propagation.closure import Progress, fence_closure
from graph.propagation.reach import Reach
from graph.propagation.settle import Cause, Settler
from graph.vocabulary import (
    DELETION_STATES_RUNNING,
    DELETION_STATES_TERMINAL,
    GRAPH_STORE,
    DeletionState,
    JournalEntryKind,
    ReasonCode,
    Role,
)

OUTCOME_PAGE_MAX: Final = 10_000
UNFINISHED_MAX: Final = 1_000
_READERS: Final = (Role.PRIVACY, Role.AUDITOR, Role.OPERATOR, Role.SOURCE_OWNER)
_UNFINISHED: Final = (DeletionState.RECEIVED, DeletionState.AUTHENTICATED, *DELETION_STATES_RUNNING)


@dataclass(frozen=True)
class Deletions:
    """Files, runs and accounts for deletions."""

    database: Database
    policy: Policy
    keys: IdentityKeys
    clock: Clock
    ids: Ids
    journal: FileJournal
    settler: Settler

    @cached_property
    def ledger(self) -> Ledger:
        """Requests and outcomes in the graph."""
        return Ledger(self.database, self.policy.store(GRAPH_STORE).verification_level.value)

    @cached_property
    def conclusion(self) -> Conclusion:
        """How requests end."""
        return Conclusion(self.database, self.policy, self.clock, self.ledger)

    def preview(self, request: DeletionInput, caller: Caller) -> Preview:
        """What the request would do now; refused like the request itself."""
        scope = self._scope(request, caller)
        return plan_deletion(self.database, self.policy, scope.identities, self.clock.now())

    def file(self, request: DeletionInput, caller: Caller, idempotency_key: str) -> RequestView:
        """File a request; from the return on it is durable and will be carried out. Nothing is removed yet.

        The same key with the same request, and any request for the same records, meet the request that is there: one
        erasure has one request and one receipt.

        Raises:
            NotAuthorized, InvalidInput, Oversized: see `resolve_scope`.
            Conflict: the key was used for another request (`IDEMPOTENCY_KEY_REUSED`), or the graph is no longer what the
                preview saw (`PREVIEW_STALE`).
        """
        if not may_request(self.policy, caller, frozenset()):
            raise not_theirs()
        fingerprint = self.keys.fingerprint(caller.tenant_id, request.model_dump_json(by_alias=True).encode())
        # A keyed hash of it: callers make keys of what they please, and it would stay.
        key = self.keys.lookup(caller.tenant_id, "idempotencyKey", idempotency_key)
        known = result_under_key(self.database, caller.tenant_id, key, fingerprint)
        if known is not None:
            stored = self.ledger.load(known)
            if not may_request(self.policy, caller, stored.kinds):
                raise not_theirs()
            return self.ledger.view(stored)
        scope = self._scope(request, caller)
        self._preview_checked(request, scope)
        values = self._new_request(request, caller, scope)
        filed = self.database.transact(
            "file", lambda statements: self._file(statements, values, scope, key, fingerprint)
        )
        return self.ledger.view(self.ledger.load(filed))

    def _file(
        self, statements: Statements, values: dict[str, JsonValue], scope: Scope, key: str, fingerprint: str
    ) -> str:
        tenant_id, now = str(values["tenantId"]), self.clock.now()
        rows = statements.run(
            "merge_deletion",
            scopeKey=scope_key(tenant_id, scope.identities),
            request=values,
            scope=list(scope.identities),
            tenantId=tenant_id,
            key=key,
            fingerprint=fingerprint,
            at=now,
        )
        if not rows:
            raise key_reused()
        filed = rows[0].text("requestId")
        if filed == values["requestId"]:
            journaled(statements, self.journal, JournalEntryKind.REQUEST_FILED, now, {"request": values})
        return filed

    def advance(self, request_id: str, progress: Progress | None = None) -> RequestView:
        """Carry a request as far as the graph allows; what is left is work in other stores, or nothing.

        Safe to call at any time, by any number of workers.

        Args:
            request_id: the request.
            progress: told (nodes done, nodes in all).
        """
        stored = self.ledger.load(request_id)
        if stored.state is DeletionState.RECEIVED and not self._authenticate(stored):
            return self.ledger.view(self.ledger.load(request_id))
        if stored.state in DELETION_STATES_TERMINAL and not self.ledger.resumable(request_id):
            return self.ledger.view(stored)
        self._remove_subject(stored, progress)
        if self._propagate(stored, progress):
            self.conclude(request_id)
        return self.ledger.view(self.ledger.load(request_id))

    def settle_again(self, request_id: str, identities: Sequence[str]) -> int:
        """Settle records under a request that had settled them once, wherever its walk reaches now; answers how many.

        Nothing is settled where there is no such request: its filing was rolled back.
        """
        try:
            stored = self.ledger.load(request_id)
        except NotFound:
            return 0
        again = Reach.of((), [(1, sorted(identities))])
        return self.settler.settle(self._cause(stored), again, again)

    def conclude(self, request_id: str) -> None:
        """End the request if all of it is settled; see `Conclusion.conclude`."""
        self.conclusion.conclude(request_id)

    def view(self, request_id: str, caller: Caller) -> RequestView:
        """A request as it stands.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
        """
        return self.ledger.view(self._readable(request_id, caller))

    def outcomes(
        self, request_id: str, caller: Caller, page_size: int = 1_000, cursor: str | None = None
    ) -> OutcomePage:
        """One page of outcomes in a fixed order; later pages never repeat or miss one that was there.

        Raises:
            InvalidInput: the page size is out of bounds (`LIMIT_EXCEEDED`), or the cursor is another's (`CURSOR_INVALID`).
            NotFound: there is no such request in the caller's tenant.
        """
        if not 1 <= page_size <= OUTCOME_PAGE_MAX:
            raise InvalidInput(
                f"a page has 1 to {OUTCOME_PAGE_MAX} outcomes",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "OUTCOME_PAGE_MAX", "max": OUTCOME_PAGE_MAX},
            )
        self._readable(request_id, caller)
        found = self.ledger.outcomes(request_id, id_before(request_id, cursor), page_size + 1)
        more = len(found) > page_size
        next_cursor = cursor_after(request_id, found[page_size - 1].outcome_id) if more else None
        return OutcomePage(tuple(found[:page_size]), next_cursor, not more)

    def receipt(self, request_id: str, caller: Caller) -> bytes:
        """The receipt as it was issued; the same bytes each time until something that had failed or was held is settled.

        Raises:
            Conflict: the request has not ended (`STATE_CONFLICT`).
            NotFound: there is no such request in the caller's tenant.
        """
        stored = self._readable(request_id, caller)
        if stored.state not in DELETION_STATES_TERMINAL or stored.receipt is None:
            raise Conflict("the request has not ended: there is no receipt yet", code=ReasonCode.STATE_CONFLICT)
        return stored.receipt

    def retry(self, request_id: str, caller: Caller) -> RequestView:
        """Have what failed tried again now, whatever its schedule; a request without failures is left as it is."""
        caller.demand(Role.PRIVACY, Role.OPERATOR)
        stored = self._readable(request_id, caller)
        self.database.write("mark_outcomes_due", requestId=request_id, at=self.clock.now())
        return self.ledger.view(stored)

    def unfinished(self) -> list[str]:
        """Ids of all requests that have not ended and do not wait for stores alone, oldest first."""
        states = [state.value for state in _UNFINISHED]
        found: list[str] = []
        last_at, last_id = -1, ""
        while True:
            row = self.database.read(
                "list_requests_unfinished", states=states, afterAt=last_at, afterId=last_id, rowsMax=UNFINISHED_MAX
            )[0]
            page = row.texts("requestIds")
            found.extend(page)
            if len(page) < UNFINISHED_MAX:
                return found
            last_at, last_id = row.number("lastAt"), page[-1]

    def _scope(self, request: DeletionInput, caller: Caller) -> Scope:
        return resolve_scope(self.database, self.policy, self.keys, caller, request.subject)

    def _preview_checked(self, request: DeletionInput, scope: Scope) -> None:
        if request.expected_digest is None:
            return
        now = plan_deletion(self.database, self.policy, scope.identities, self.clock.now())
        if now.digest != request.expected_digest:
            raise Conflict(
                "the graph has moved since the preview: look at a new one",
                code=ReasonCode.PREVIEW_STALE,
                details={"digest": now.digest},
            )

    def _new_request(self, request: DeletionInput, caller: Caller, scope: Scope) -> dict[str, JsonValue]:
        return {
            "requestId": self.ids.new(),
            "tenantId": caller.tenant_id,
            "state": DeletionState.RECEIVED,
            "scope": [*scope.identities],
            "kinds": [*sorted(scope.kinds)],
            "reasonCode": request.reason_code,
            "policyId": self.policy.policy_id,
            "receivedAt": self.clock.now(),
            "requesterKey": self.keys.lookup(caller.tenant_id, "principalId", caller.principal_id),
            "requesterRoles": [role.value for role in sorted(caller.roles)],
        }

    def _authenticate(self, stored: Stored) -> bool:
        """Judge the requester's authority at the time of the run, under the policy of the run."""
        requester = Caller(stored.tenant_id, "", stored.requester_roles, "")
        received = (DeletionState.RECEIVED,)
        if may_request(self.policy, requester, stored.kinds):
            self.ledger.move(stored.request_id, received, DeletionState.AUTHENTICATED)
            return True
        self.database.transact("reject", lambda statements: self._reject(statements, stored.request_id))
        return False

    def _reject(self, statements: Statements, request_id: str) -> None:
        now = self.clock.now()
        changes = {"reason": ReasonCode.REQUESTER_UNAUTHORIZED, "scopeKey": None, "finishedAt": now}
        if move_request(statements.run, request_id, (DeletionState.RECEIVED,), DeletionState.REJECTED, changes):
            journaled(statements, self.journal, JournalEntryKind.REQUEST_REJECTED, now, {"requestId": request_id})

    def _remove_subject(self, stored: Stored, progress: Progress | None) -> None:
        if stored.targets < len(stored.scope):
            self.database.transact("stand_in", lambda statements: self._stand_in(statements, stored))
        scope = Reach.of(stored.scope, ())
        missing = scope if _untouched(stored) else scope.only(self.ledger.missing(stored.request_id, stored.scope))
        if missing:
            self.settler.settle(self._cause(stored), missing, scope, progress)
        self.ledger.move(stored.request_id, (DeletionState.AUTHENTICATED,), DeletionState.CONTENT_REMOVED)

    def _stand_in(self, statements: Statements, stored: Stored) -> None:
        """Give what a restored graph never had of the scope its tombstone, so that nothing brings it back unasked."""
        now = self.clock.now()
        told = {"reasonCode": stored.reason_code, "policyRef": stored.policy_id}
        rows = [{"identity": identity, "deletedAt": now, **told} for identity in sorted(stored.scope)]
        created = statements.run("merge_targets", requestId=stored.request_id, rows=rows)[0].texts("created")
        if created:
            body: dict[str, JsonValue] = {
                "requestId": stored.request_id,
                **told,
                "delete": [*created],
                "invalidate": [],
            }
            journaled(statements, self.journal, JournalEntryKind.CONTENT_REMOVED, now, body)

    def _propagate(self, stored: Stored, progress: Progress | None) -> bool:
        """Fence and settle everything that came of the subject; answers whether nothing can be added any more."""
        request_id, cause = stored.request_id, self._cause(stored)
        self.ledger.move(request_id, (DeletionState.CONTENT_REMOVED,), DeletionState.PROPAGATING)
        affected, closed = fence_closure(self.database, request_id, stored.scope, cause.edge_types)
        if _untouched(stored):
            self.settler.settle(cause, affected.without(stored.scope), affected, progress)
        else:
            missing = self.ledger.missing(request_id, affected.identities)
            self.settler.settle(cause, affected.only(missing), affected, progress)
            self.settler.settle(cause, self.ledger.resumable(request_id), affected, progress)
        whole = closed and self._enumerable(stored, affected.identities)
        return whole and self.ledger.mark_propagated(stored, self.clock.now())

    def _enumerable(self, stored: Stored, identities: Sequence[str]) -> bool:
        """Whether every derivative could be found: operations and edges tell the same story (DEL-15)."""
        lost = self.ledger.not_enumerable(identities)
        if lost or stored.reason is not None:
            changes: dict[str, object] = {"reason": ReasonCode.DOWNSTREAM_NOT_ENUMERABLE if lost else None}
            self.ledger.move(stored.request_id, DELETION_STATES_RUNNING, DeletionState.PROPAGATING, changes)
        return lost == 0

    def _cause(self, stored: Stored) -> Cause:
        return Cause(
            stored.request_id, stored.tenant_id, stored.reason_code, stored.policy_id, self.policy.deletion_edges
        )

    def _readable(self, request_id: str, caller: Caller) -> Stored:
        caller.demand(*_READERS)
        stored = self.ledger.load(request_id)
        if stored.tenant_id != caller.tenant_id:
            raise no_request()
        return stored


def _untouched(stored: Stored) -> bool:
    """Whether nothing of a request was settled when it was loaded, so that nothing needs to be looked for."""
    return stored.state in {DeletionState.RECEIVED, DeletionState.AUTHENTICATED}
