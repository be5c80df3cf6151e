"""The ledger of work in stores: leases on shards, attempts written before their effect, and the schedule of retries.

The graph is the only record of work, so whoever calls may die at any point: an attempt that began and never ended is seen
by the next one, a lease that ran out goes to another holder with a new epoch, and what the old holder still answers is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from graph.clock import SECOND, Clock
from graph.database.database import Database, Statements
from graph.database.rows import Row
from graph.ids import Ids
from graph.policy.model import Policy, StorePolicy
from graph.propagation.settle import enter_exceptions, exception_entry
from graph.vocabulary import DerivativeOutcome, OutcomeBasis, OutcomeState, ReasonCode, VerificationLevel

DUE_ROWS: Final = 100
# Of how many leases from now the end of a lease that is held may lie ahead at most.
_LEASES_AHEAD_MAX: Final = 10


@dataclass(frozen=True)
class Lease:
    """The right to work on one shard of one store until an instant; `epoch` is its fencing token."""

    store_id: str
    shard: int
    holder: str
    epoch: int


@dataclass(frozen=True)
class DueOutcome:
    """An outcome to attempt, and how often it was attempted before."""

    outcome_id: str
    request_id: str
    tenant_id: str
    identity: str
    attempts: int
    deadline_at: int


@dataclass(frozen=True)
class Attempt:
    """An attempt that was written down: where the copies are, and how many attempts at them began before it."""

    attempt_id: str
    locators: tuple[str, ...]
    attempts_before: int


@dataclass(frozen=True)
class Answer:
    """What a store's connector said of one locator, and what a reading by another path then found.

    `claim` is what the connector answered to the deletion, whatever it is; `present` is null where the store could not be
    read. `error` is set where the store did not answer.
    """

    claim: str | None
    present: bool | None
    error: bool = False


@dataclass(frozen=True)
class Verdict:
    """What an attempt comes to."""

    outcome: DerivativeOutcome
    basis: OutcomeBasis
    reason: ReasonCode | None = None


def judge(answers: Sequence[Answer], *, attempts_before: int) -> Verdict:
    """What the answers for all copies of one derivative in one store come to; one failure fails the whole.

    A copy counts as gone only if the reading says so. An exception or a time-out is a failure and never `not_found`; a
    claim that is no answer to a deletion is a failure too, above all that something is kept (DEL-25, VER-03, EXC-02).

    Args:
        answers: one for each copy.
        attempts_before: attempts that began earlier; their effect may have happened although nobody heard of it.
    """
    if not answers:
        # Where it was is known no more: another request's attempt saw it gone and took the locator along.
        return Verdict(DerivativeOutcome.DELETED, OutcomeBasis.SETTLED_BY_ANOTHER_REQUEST)
    verdicts = [_judge_one(answer, attempts_before) for answer in answers]
    failed = next((verdict for verdict in verdicts if verdict.outcome is DerivativeOutcome.FAILED), None)
    deleted = next((verdict for verdict in verdicts if verdict.outcome is DerivativeOutcome.DELETED), None)
    absent = Verdict(DerivativeOutcome.NOT_FOUND, OutcomeBasis.ABSENT_BEFORE_ANY_ATTEMPT)
    return failed or deleted or absent


def _judge_one(answer: Answer, attempts_before: int) -> Verdict:
    if answer.error or answer.present is None:
        return Verdict(DerivativeOutcome.FAILED, OutcomeBasis.STORE_ANSWER, ReasonCode.STORE_UNAVAILABLE)
    if answer.claim == DerivativeOutcome.RETAINED_UNDER_EXCEPTION:
        return Verdict(DerivativeOutcome.FAILED, OutcomeBasis.STORE_ANSWER, ReasonCode.EXCEPTION_NOT_AUTHORIZED)
    if answer.present or answer.claim not in {DerivativeOutcome.DELETED, DerivativeOutcome.NOT_FOUND}:
        return Verdict(DerivativeOutcome.FAILED, OutcomeBasis.STORE_ANSWER, ReasonCode.VERIFICATION_FAILED)
    if answer.claim == DerivativeOutcome.DELETED:
        return Verdict(DerivativeOutcome.DELETED, OutcomeBasis.STORE_ANSWER)
    if attempts_before:
        return Verdict(DerivativeOutcome.DELETED, OutcomeBasis.ABSENT_AFTER_STARTED_ATTEMPT)
    return Verdict(DerivativeOutcome.NOT_FOUND, OutcomeBasis.ABSENT_BEFORE_ANY_ATTEMPT)


@dataclass(frozen=True)
class Work:
    """Work in stores, as the graph holds it."""

    database: Database
    policy: Policy
    clock: Clock
    ids: Ids
    lease_seconds: float

    def claim(self, store_id: str, shard: int, holder: str) -> Lease | None:
        """Take or renew the lease on a shard; none where another holder has it.

        A lease that ends later than any clock about right could have made it was taken while a clock was far ahead, and is
        not waited for; its holder's late answers are refused by their epoch like those of any other.
        """
        now, lease = self.clock.now(), round(self.lease_seconds * SECOND)
        rows = self.database.write(
            "claim_shard",
            storeId=store_id,
            shard=shard,
            holder=holder,
            now=now,
            until=now + lease,
            untilMax=now + _LEASES_AHEAD_MAX * lease,
        )
        return Lease(store_id, shard, holder, rows[0].number("epoch")) if rows else None

    def release(self, lease: Lease) -> None:
        """Give a lease back before its time, so that whoever comes next need not wait for its end."""
        self.database.write("mark_shard_released", **_of(lease))

    def due(self, store_id: str, shard: int) -> list[DueOutcome]:
        """At most `DUE_ROWS` outcomes of a shard that are due now, longest overdue first."""
        rows = self.database.read(
            "list_outcomes_due",
            storeId=store_id,
            shard=shard,
            now=self.clock.now(),
            rowsMax=DUE_ROWS,
        )
        return [_due(row) for row in rows[0].rows("due")]

    def begin(self, lease: Lease, due: DueOutcome) -> Attempt | None:
        """Write an attempt down before its effect; none where the lease is lost or the outcome is settled."""
        attempt_id = self.ids.new()
        rows = self.database.write(
            "create_attempt", **_of(lease), outcomeId=due.outcome_id, attemptId=attempt_id, now=self.clock.now()
        )
        if not rows:
            return None
        return Attempt(attempt_id, tuple(rows[0].texts("locators")), rows[0].number("attemptsBefore"))

    def complete(self, lease: Lease, due: DueOutcome, attempt: Attempt, verdict: Verdict) -> bool:
        """Write down what an attempt came to; false where the lease was lost and nothing was written."""
        return self.database.transact(
            "complete_attempt", lambda statements: self._complete(statements, lease, due, attempt, verdict)
        )

    def _complete(
        self, statements: Statements, lease: Lease, due: DueOutcome, attempt: Attempt, verdict: Verdict
    ) -> bool:
        now, store = self.clock.now(), self.policy.store(lease.store_id)
        settled = verdict.outcome is not DerivativeOutcome.FAILED
        changes = _settled(verdict, now) if settled else _failed(due, store, verdict, now)
        rows = statements.run(
            "mark_attempt_done",
            **_of(lease),
            outcomeId=due.outcome_id,
            attemptId=attempt.attempt_id,
            now=now,
            result={"outcome": verdict.outcome, "basis": verdict.basis, "reason": verdict.reason},
            changes=changes,
            settled=settled,
            level=store.verification_level if settled else VerificationLevel.UNREACHABLE,
        )
        if not rows[0].number("done"):
            return False
        if changes["state"] == OutcomeState.OWNED:
            enter_exceptions(statements, [self._entry(due, store, changes, now)])
        return True

    def _entry(self, due: DueOutcome, store: StorePolicy, changes: dict[str, object], now: int) -> dict[str, object]:
        return exception_entry(
            outcome_id=due.outcome_id,
            tenant_id=due.tenant_id,
            request_id=due.request_id,
            store=store.id,
            reason=str(changes["reason"]),
            owner_id=store.owner_id,
            policy_ref=self.policy.policy_id,
            now=now,
        )


def _of(lease: Lease) -> dict[str, object]:
    return {"storeId": lease.store_id, "shard": lease.shard, "holder": lease.holder, "epoch": lease.epoch}


def _due(row: Row) -> DueOutcome:
    return DueOutcome(
        outcome_id=row.text("outcomeId"),
        request_id=row.text("requestId"),
        tenant_id=row.text("tenantId"),
        identity=row.text("identity"),
        attempts=row.number("attempts"),
        deadline_at=row.number("deadlineAt"),
    )


def _settled(verdict: Verdict, now: int) -> dict[str, object]:
    return {
        "outcome": verdict.outcome,
        "state": OutcomeState.SETTLED,
        "basis": verdict.basis,
        "reason": None,
        "ownerId": None,
        "nextAttemptAt": None,
        "decidedAt": now,
    }


def _failed(due: DueOutcome, store: StorePolicy, verdict: Verdict, now: int) -> dict[str, object]:
    """A failure waits for its next time; past the deadline it also gets its owner, and is still tried again."""
    delays = store.retry.delays_seconds
    delay = delays[min(due.attempts, len(delays) - 1)] * SECOND
    expired = now >= due.deadline_at
    next_at = now + delay if expired else min(now + delay, due.deadline_at)
    return {
        "outcome": DerivativeOutcome.FAILED,
        "state": OutcomeState.OWNED if expired else OutcomeState.RETRYING,
        "basis": verdict.basis,
        "reason": ReasonCode.DEADLINE_EXPIRED if expired else verdict.reason,
        "ownerId": store.owner_id if expired else None,
        "nextAttemptAt": next_at,
        "decidedAt": now,
    }
