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

DUE_ROWS: Final = 500
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

    due: DueOutcome
    attempt_id: str
    locators: tuple[str, ...]
    attempts_before: int


@dataclass(frozen=True)
class Answer:
    """What a store's connector said of one locator, and what a reading by another path then found.

    `claim` is what the connector answered to the deletion, whatever it is; `present` is null where the store could not be
    read. `error` is set where the store did not answer, `malformed` where the locator can mean nothing there.
    """

    claim: str | None
    present: bool | None
    error: bool = False
    malformed: bool = False


# What is known where a store did not answer, or not as it should.
UNANSWERED: Final = Answer(claim=None, present=None, error=True)


@dataclass(frozen=True)
class Completed:
    """What came of writing down what attempts came to: outcomes moved, and requests with nothing left to settle."""

    outcome_ids: frozenset[str]
    ready: tuple[str, ...]


NOTHING_COMPLETED: Final = Completed(frozenset(), ())


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
    if (reason := _failure(answer)) is not None:
        return Verdict(DerivativeOutcome.FAILED, OutcomeBasis.STORE_ANSWER, reason)
    if answer.claim == DerivativeOutcome.DELETED:
        return Verdict(DerivativeOutcome.DELETED, OutcomeBasis.STORE_ANSWER)
    if attempts_before:
        return Verdict(DerivativeOutcome.DELETED, OutcomeBasis.ABSENT_AFTER_STARTED_ATTEMPT)
    return Verdict(DerivativeOutcome.NOT_FOUND, OutcomeBasis.ABSENT_BEFORE_ANY_ATTEMPT)


def _failure(answer: Answer) -> ReasonCode | None:
    """Why an answer is a failure; none where the copy is gone, by the store's claim and by the reading."""
    if answer.malformed:
        return ReasonCode.MALFORMED_INPUT
    if answer.error or answer.present is None:
        return ReasonCode.STORE_UNAVAILABLE
    if answer.claim == DerivativeOutcome.RETAINED_UNDER_EXCEPTION:
        return ReasonCode.EXCEPTION_NOT_AUTHORIZED
    if answer.present or answer.claim not in {DerivativeOutcome.DELETED, DerivativeOutcome.NOT_FOUND}:
        return ReasonCode.VERIFICATION_FAILED
    return None


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

    def begin(self, lease: Lease, due: Sequence[DueOutcome]) -> list[Attempt]:
        """Write attempts down before their effect, in the order of their outcomes' ids.

        Answers fewer where the store's rate is used up, an outcome is settled meanwhile or the lease is lost: what is
        missing was not begun.
        """
        asked = {self.ids.new(): one for one in sorted(due, key=lambda one: one.outcome_id)}
        rows = self.database.write(
            "create_attempts",
            **_of(lease),
            now=self.clock.now(),
            rows=[{"outcomeId": one.outcome_id, "attemptId": attempt_id} for attempt_id, one in asked.items()],
            attemptIds=list(asked),
            rate=self.policy.store(lease.store_id).rate_per_second,
        )
        return [
            Attempt(
                asked[row.text("attemptId")],
                row.text("attemptId"),
                tuple(row.texts("locators")),
                row.number("attemptsBefore"),
            )
            for row in (rows[0].rows("attempts") if rows else ())
        ]

    def complete(self, lease: Lease, judged: Sequence[tuple[Attempt, Verdict]]) -> Completed:
        """Write down what attempts came to; nothing is written where the lease was lost."""
        return self.database.transact("complete_attempts", lambda statements: self._complete(statements, lease, judged))

    def _complete(self, statements: Statements, lease: Lease, judged: Sequence[tuple[Attempt, Verdict]]) -> Completed:
        now, store = self.clock.now(), self.policy.store(lease.store_id)
        moves = [_move(attempt, verdict, store, now) for attempt, verdict in judged]
        rows = statements.run(
            "mark_attempts_done",
            **_of(lease),
            now=now,
            rows=sorted(moves, key=lambda move: str(move["outcomeId"])),
        )
        if not rows:
            return NOTHING_COMPLETED
        done = frozenset(rows[0].texts("done"))
        owned = [attempt.due for attempt, verdict in judged if _is_owned(attempt.due, verdict, now)]
        enter_exceptions(statements, [self._entry(due, store, now) for due in owned if due.outcome_id in done])
        return Completed(done, tuple(rows[0].texts("ready")))

    def _entry(self, due: DueOutcome, store: StorePolicy, now: int) -> dict[str, object]:
        return exception_entry(
            outcome_id=due.outcome_id,
            tenant_id=due.tenant_id,
            request_id=due.request_id,
            store=store.id,
            reason=ReasonCode.DEADLINE_EXPIRED,
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


def _move(attempt: Attempt, verdict: Verdict, store: StorePolicy, now: int) -> dict[str, object]:
    """What one attempt changes: itself, and its outcome."""
    settled = verdict.outcome is not DerivativeOutcome.FAILED
    level = store.verification_level if settled else VerificationLevel.UNREACHABLE
    return {
        "outcomeId": attempt.due.outcome_id,
        "attemptId": attempt.attempt_id,
        "settled": settled,
        "result": {"outcome": verdict.outcome, "basis": verdict.basis, "reason": verdict.reason},
        "changes": {
            **(_settled(verdict, now) if settled else _failed(attempt.due, store, verdict, now)),
            "verificationLevel": level,
        },
    }


def _is_owned(due: DueOutcome, verdict: Verdict, now: int) -> bool:
    """Whether a failure comes so late that it gets its owner."""
    return verdict.outcome is DerivativeOutcome.FAILED and now >= due.deadline_at


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
    expired = _is_owned(due, verdict, now)
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
