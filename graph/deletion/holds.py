"""Holds: on whose authority a record stays in spite of a deletion, and the ledger of everything that stayed or failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from graph.access import Caller
from graph.clock import SECOND, Clock, instant_from_text
from graph.database.database import Database, Statements
from graph.database.journal import FileJournal
from graph.database.journaling import journaled
from graph.database.rows import Row
from graph.deletion.idempotency import result_under_key
from graph.deletion.ledger import Run
from graph.deletion.model import ExceptionPage, ExceptionView, HoldInput, HoldView
from graph.errors import InvalidInput, NotAuthorized, NotFound, Oversized
from graph.ids import IdentityKeys, derived_id
from graph.paging import cursor_after, id_before
from graph.policy.model import Policy
from graph.vocabulary import JournalEntryKind, ReasonCode, Role

EXCEPTION_PAGE_MAX: Final = 10_000
HOLDS_MAX: Final = 1_000
DAY: Final = 86_400 * SECOND


@dataclass(frozen=True)
class Holds:
    """Places and releases holds, and reads the exception ledger."""

    database: Database
    policy: Policy
    keys: IdentityKeys
    clock: Clock
    journal: FileJournal

    def place(self, hold: HoldInput, caller: Caller, idempotency_key: str) -> HoldView:
        """Place a hold; from the return on no removal passes over it. All records are held, or none.

        Raises:
            NotAuthorized: no privacy or legal owner declared such an exception, no authority is named, or
                the policy reference leads nowhere (`EXCEPTION_NOT_AUTHORIZED`), or the caller may not.
            NotFound: one of the records is not there for this caller, or was deleted before.
            InvalidInput: the review date is no instant, lies in the past, or beyond the days of the exception type
                (`LIMIT_EXCEEDED`).
            Conflict: the key was used for something else (`IDEMPOTENCY_KEY_REUSED`).
        """
        caller.demand(Role.PRIVACY)
        fingerprint = self.keys.fingerprint(caller.tenant_id, hold.model_dump_json(by_alias=True).encode())
        key = self.keys.lookup(caller.tenant_id, "idempotencyKey", idempotency_key)
        placed = result_under_key(self.database, caller.tenant_id, key, fingerprint)
        if placed is not None:
            return self.view(placed, caller)
        exception = self.policy.exception_type(hold.exception_type)
        if not hold.authority.strip() or not hold.policy_ref.strip() or not hold.contact.strip():
            raise NotAuthorized(
                "a hold names its authority, policy and contact", code=ReasonCode.EXCEPTION_NOT_AUTHORIZED
            )
        values = self._values(hold, caller, exception.owner_id, key)
        identities = sorted(set(hold.record_ids))
        hold_id = self.database.transact(
            "place_hold", lambda statements: self._place(statements, values, identities, key, fingerprint)
        )
        if hold_id is None:
            # The same call may have been made elsewhere since it was looked for, and the records may have gone after it.
            hold_id = result_under_key(self.database, caller.tenant_id, key, fingerprint)
        if hold_id is None:
            raise NotFound("one of these records is not there", code=ReasonCode.NOT_FOUND)
        return self.view(hold_id, caller)

    def _place(
        self,
        statements: Statements,
        values: dict[str, JsonValue],
        identities: list[str],
        idempotency_key: str,
        fingerprint: str,
    ) -> str | None:
        now = self.clock.now()
        rows = statements.run(
            "merge_hold",
            locks=identities,
            tenantId=values["tenantId"],
            key=idempotency_key,
            fingerprint=fingerprint,
            hold=values,
            at=now,
        )
        if not rows:
            return None
        body: dict[str, JsonValue] = {"hold": values, "identities": list(identities)}
        journaled(statements, self.journal, JournalEntryKind.HOLD_PLACED, now, body)
        return rows[0].text("holdId")

    def release(self, hold_id: str, caller: Caller) -> HoldView:
        """Release a hold; deletions that it kept from ending go on by themselves. Releasing again changes nothing.

        Raises:
            NotFound: there is no such hold in the caller's tenant.
        """
        caller.demand(Role.PRIVACY)
        released_by = self.keys.lookup(caller.tenant_id, "principalId", caller.principal_id)
        self.database.transact(
            "release_hold", lambda statements: self._release(statements, hold_id, caller.tenant_id, released_by)
        )
        return self.view(hold_id, caller)

    def _release(self, statements: Statements, hold_id: str, tenant_id: str, released_by: str) -> None:
        now = self.clock.now()
        if release_hold(statements.run, hold_id, tenant_id, now, released_by):
            body: dict[str, JsonValue] = {"holdId": hold_id, "tenantId": tenant_id, "releasedBy": released_by}
            journaled(statements, self.journal, JournalEntryKind.HOLD_RELEASED, now, body)

    def view(self, hold_id: str, caller: Caller) -> HoldView:
        """A hold as it stands.

        Raises:
            NotFound: there is no such hold in the caller's tenant.
        """
        rows = self.database.read("get_hold", holdId=hold_id, tenantId=caller.tenant_id)
        if not rows:
            raise NotFound("no such hold", code=ReasonCode.NOT_FOUND)
        return _hold(rows[0].mapping("hold"), rows[0].texts("recordIds"))

    def active(self, caller: Caller) -> list[HoldView]:
        """The holds of the tenant that are active, those reviewed soonest first, at most `HOLDS_MAX`.

        Raises:
            Oversized: there are more (`LIMIT_EXCEEDED`): nothing is shown rather than a part.
        """
        caller.demand(Role.PRIVACY, Role.AUDITOR, Role.OPERATOR)
        rows = self.database.read("list_holds", tenantId=caller.tenant_id, rowsMax=HOLDS_MAX + 1)[0].rows("holds")
        if len(rows) > HOLDS_MAX:
            raise Oversized(
                "too many holds for one list",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "HOLDS_MAX", "max": HOLDS_MAX},
            )
        return [_hold(row.mapping("hold"), row.texts("recordIds")) for row in rows]

    def exceptions(self, caller: Caller, page_size: int = 1_000, cursor: str | None = None) -> ExceptionPage:
        """One page of the tenant's exception ledger, ended entries included.

        Raises:
            InvalidInput: the page size is out of bounds (`LIMIT_EXCEEDED`), or the cursor is another's (`CURSOR_INVALID`).
        """
        caller.demand(Role.PRIVACY, Role.AUDITOR, Role.OPERATOR)
        if not 1 <= page_size <= EXCEPTION_PAGE_MAX:
            raise InvalidInput(
                f"a page has 1 to {EXCEPTION_PAGE_MAX} entries",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "EXCEPTION_PAGE_MAX", "max": EXCEPTION_PAGE_MAX},
            )
        listing = f"exceptions/{caller.tenant_id}"
        rows = self.database.read(
            "list_exceptions",
            tenantId=caller.tenant_id,
            after=id_before(listing, cursor),
            rowsMax=page_size + 1,
        )
        found = [_exception(row) for row in rows[0].rows("entries")]
        more = len(found) > page_size
        next_cursor = cursor_after(listing, found[page_size - 1].exception_id) if more else None
        return ExceptionPage(tuple(found[:page_size]), next_cursor, not more)

    def _values(self, hold: HoldInput, caller: Caller, owner_id: str, key: str) -> dict[str, JsonValue]:
        review_at, now = instant_from_text(hold.review_at), self.clock.now()
        if review_at <= now:
            raise InvalidInput("the review date of a hold lies ahead", code=ReasonCode.MALFORMED_INPUT)
        days_max = self.policy.exception_type(hold.exception_type).review_days
        if review_at > now + days_max * DAY:
            raise InvalidInput(
                "a hold of this type is reviewed sooner",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "reviewDays", "max": days_max},
            )
        if hold.policy_ref not in {self.policy.policy_id, f"exceptions/{hold.exception_type}"}:
            raise NotAuthorized(
                "the policy reference of a hold is the policy, or exceptions/ and the type",
                code=ReasonCode.EXCEPTION_NOT_AUTHORIZED,
            )
        return {
            # The same for the same key: a repeat after a lost answer places no second hold beside the first.
            "holdId": derived_id("hold", key),
            "tenantId": caller.tenant_id,
            "state": "active",
            "exceptionType": hold.exception_type,
            "authority": hold.authority,
            "policyRef": hold.policy_ref,
            "ownerId": owner_id,
            "contact": hold.contact,
            "reviewAt": review_at,
            "placedAt": now,
            "placedBy": self.keys.lookup(caller.tenant_id, "principalId", caller.principal_id),
        }


def release_hold(run: Run, hold_id: str, tenant_id: str, at: int, released_by: str) -> bool:
    """Release a hold and reopen what it kept from ending; false where there is no such hold in that tenant."""
    rows = run("mark_hold_released", holdId=hold_id, tenantId=tenant_id, at=at, releasedBy=released_by)
    return bool(rows)


def _hold(stored: Mapping[str, object], record_ids: list[str]) -> HoldView:
    released = stored.get("releasedAt")
    return HoldView(
        hold_id=str(stored["holdId"]),
        state=str(stored["state"]),
        exception_type=str(stored["exceptionType"]),
        authority=str(stored["authority"]),
        policy_ref=str(stored["policyRef"]),
        owner_id=str(stored["ownerId"]),
        contact=str(stored["contact"]),
        review_at=cast("int", stored["reviewAt"]),
        placed_at=cast("int", stored["placedAt"]),
        released_at=released if isinstance(released, int) else None,
        record_ids=tuple(record_ids),
    )


def _exception(row: Row) -> ExceptionView:
    return ExceptionView(
        exception_id=row.text("exceptionId"),
        request_id=row.text("requestId"),
        identity=row.text("identity"),
        store=row.text("store"),
        reason=row.text("reason"),
        authority=row.text("authority"),
        policy_ref=row.text("policyRef"),
        owner_id=row.text("ownerId"),
        review_at=row.number("reviewAt"),
        state=row.text("state"),
    )
