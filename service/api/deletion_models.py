"""The answers about deletions, holds and the exception ledger."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from graph.clock import instant_to_text
from graph.deletion.model import ExceptionView, HoldView, OutcomeView, PlannedOutcome, Preview, RequestView
from graph.vocabulary import (
    DELETION_STATES_TERMINAL,
    DeletionState,
    DerivativeOutcome,
    OutcomeBasis,
    OutcomeState,
    TombstoneReason,
    VerificationLevel,
)
from service.api.models import Answer, Instant, RecordIdText

PREVIEW_ITEMS_MAX: Final = 10_000


class OutcomeCounts(Answer):
    """How many derivatives ended in which of the five ways, each counted by itself."""

    deleted: int
    invalidated: int
    not_found: Annotated[int, Field(alias="not_found")]
    retained_under_exception: Annotated[int, Field(alias="retained_under_exception")]
    failed: int


class Deletion(Answer):
    """A deletion request as it stands. `complete` is told only of a request that has ended."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "requestId": "0198f2a4-6f0e-7c3a-8d11-0c8a5a1f2b3c",
                "state": "PROPAGATING",
                "scope": ["8f14e45f-ceea-867a-9b1f-7d3a2c5e9a10"],
                "reasonCode": "PRINCIPAL_REQUEST",
                "policyId": "field-service@1.0.0",
                "receivedAt": "2026-03-02T09:00:00.000000Z",
                "counts": {
                    "deleted": 3,
                    "invalidated": 1,
                    "not_found": 0,
                    "retained_under_exception": 0,
                    "failed": 0,
                },
                "pending": 2,
                "ownedFailures": 0,
            }
        }
    )

    request_id: str
    state: DeletionState
    scope: list[str]
    reason_code: TombstoneReason
    policy_id: str
    received_at: Instant
    finished_at: Instant | None = None
    counts: OutcomeCounts
    pending: Annotated[int, Field(description="Derivatives and stores without an outcome yet.")]
    owned_failures: Annotated[int, Field(description="Failures that somebody answers for and that stay open.")]
    reason: Annotated[str | None, Field(description="Why it was rejected.")] = None
    complete: Annotated[
        bool | None, Field(description="Only after the end: whether nothing failed. An exception does not fail it.")
    ] = None

    @classmethod
    def of(cls, view: RequestView) -> Deletion:
        """From what the graph says."""
        return cls(
            request_id=view.request_id,
            state=view.state,
            scope=list(view.scope),
            reason_code=TombstoneReason(view.reason_code),
            policy_id=view.policy_id,
            received_at=instant_to_text(view.received_at),
            finished_at=_instant(view.finished_at),
            counts=_counts(dict(view.counts)),
            pending=view.pending,
            owned_failures=view.owned_failures,
            reason=view.reason,
            complete=view.complete if view.state in DELETION_STATES_TERMINAL else None,
        )


class PlannedItem(Answer):
    """What a deletion would do to one record or derivative in one store, by which rule and because of which edge."""

    record_id: RecordIdText
    store: str
    depth: int
    kind: str
    outcome: str
    rule_id: str
    witness_edge: str | None
    witness_parent: str | None

    @classmethod
    def of(cls, planned: PlannedOutcome) -> PlannedItem:
        """From the plan."""
        return cls(
            record_id=planned.identity,
            store=planned.store,
            depth=planned.depth,
            kind=planned.kind,
            outcome=planned.outcome,
            rule_id=planned.rule_id,
            witness_edge=planned.witness_edge,
            witness_parent=planned.witness_parent,
        )


class DeletionPreview(Answer):
    """What a deletion would do now. Filed with this digest, it does exactly this or is refused."""

    digest: str
    policy_id: str
    scope: list[str]
    counts: dict[str, int]
    items: list[PlannedItem]
    items_omitted: Annotated[int, Field(description=f"How many items beyond the first {PREVIEW_ITEMS_MAX} there are.")]

    @classmethod
    def of(cls, preview: Preview) -> DeletionPreview:
        """From the plan."""
        shown = preview.items[:PREVIEW_ITEMS_MAX]
        return cls(
            digest=preview.digest,
            policy_id=preview.policy_id,
            scope=list(preview.scope),
            counts=dict(preview.counts),
            items=[PlannedItem.of(item) for item in shown],
            items_omitted=len(preview.items) - len(shown),
        )


class OutcomeItem(Answer):
    """What became of one record or derivative in one store, why, and what is still to be done about it."""

    outcome_id: str
    record_id: RecordIdText
    store: str
    outcome: DerivativeOutcome | None
    state: OutcomeState
    rule_id: str
    basis: OutcomeBasis | None
    depth: int
    witness_edge: str | None
    witness_parent: str | None
    reason: str | None
    attempts: int
    next_attempt_at: Instant | None
    deadline_at: Instant | None
    owner_id: str | None
    decided_at: Instant | None
    verification_level: VerificationLevel | None
    history: Annotated[list[str], Field(description="Outcomes that it had before this one, oldest first.")]

    @classmethod
    def of(cls, view: OutcomeView) -> OutcomeItem:
        """From what the graph says."""
        return cls(
            outcome_id=view.outcome_id,
            record_id=view.identity,
            store=view.store,
            outcome=DerivativeOutcome(view.outcome) if view.outcome else None,
            state=OutcomeState(view.state),
            rule_id=view.rule_id,
            basis=OutcomeBasis(view.basis) if view.basis else None,
            depth=view.depth,
            witness_edge=view.witness_edge,
            witness_parent=view.witness_parent,
            reason=view.reason,
            attempts=view.attempts,
            next_attempt_at=_instant(view.next_attempt_at),
            deadline_at=_instant(view.deadline_at),
            owner_id=view.owner_id,
            decided_at=_instant(view.decided_at),
            verification_level=VerificationLevel(view.verification_level) if view.verification_level else None,
            history=list(view.history),
        )


class OutcomeItems(Answer):
    """One page of outcomes; the last one has no `nextCursor`."""

    items: list[OutcomeItem]
    next_cursor: str | None


class Hold(Answer):
    """A hold: what it keeps, on whose authority, and when that is looked at again."""

    hold_id: str
    state: Literal["active", "released"]
    exception_type: str
    authority: str
    policy_ref: str
    owner_id: str
    contact: str
    review_at: Instant
    placed_at: Instant
    released_at: Instant | None
    record_ids: list[str]

    @classmethod
    def of(cls, view: HoldView) -> Hold:
        """From what the graph says."""
        return cls.model_validate(
            {
                **{field: getattr(view, field) for field in cls.model_fields},
                "review_at": instant_to_text(view.review_at),
                "placed_at": instant_to_text(view.placed_at),
                "released_at": _instant(view.released_at),
                "record_ids": list(view.record_ids),
            }
        )


class ExceptionItem(Answer):
    """One entry of the exception ledger: what stayed or failed, on which authority, and who answers for it."""

    exception_id: str
    request_id: str
    record_id: RecordIdText
    store: str
    reason: str
    authority: str
    policy_ref: str
    owner_id: str
    review_at: Instant
    state: str

    @classmethod
    def of(cls, view: ExceptionView) -> ExceptionItem:
        """From what the graph says."""
        return cls(
            exception_id=view.exception_id,
            request_id=view.request_id,
            record_id=view.identity,
            store=view.store,
            reason=view.reason,
            authority=view.authority,
            policy_ref=view.policy_ref,
            owner_id=view.owner_id,
            review_at=instant_to_text(view.review_at),
            state=view.state,
        )


class ExceptionItems(Answer):
    """One page of the exception ledger; the last one has no `nextCursor`."""

    items: list[ExceptionItem]
    next_cursor: str | None


def _instant(instant: int | None) -> str | None:
    return None if instant is None else instant_to_text(instant)


def _counts(counts: dict[str, int]) -> OutcomeCounts:
    return OutcomeCounts.model_validate({outcome.value: counts.get(outcome, 0) for outcome in DerivativeOutcome})
