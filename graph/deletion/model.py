"""What the deletion room takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from graph.database.rows import Row
from graph.ids import name_checked
from graph.vocabulary import DELETION_STATES_COMPLETE, DeletionState, TombstoneReason

SUBJECT_MAX: Final = 10_000


def _name_checked(name: str) -> str:
    name_checked(name)
    return name


def _text_checked(text: str) -> str:
    return _name_checked(text) if text else text


# Text that goes into keyed hashes: NUL and lone surrogates are refused where they come in.
Text = Annotated[str, AfterValidator(_text_checked)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NameInput(_Model):
    """A producer's own name for a record, in the scope that it was registered under."""

    name: Annotated[str, AfterValidator(_name_checked)]
    scope: Annotated[Text, Field(max_length=512)] = ""


class SubjectInput(_Model):
    """What is to be deleted, stated exactly: ids, names, or everything of a person or a source of the named kinds."""

    record_ids: Annotated[list[Text] | None, Field(alias="recordIds", min_length=1, max_length=SUBJECT_MAX)] = None
    names: Annotated[list[NameInput] | None, Field(min_length=1, max_length=SUBJECT_MAX)] = None
    principal_id: Annotated[Text | None, Field(alias="principalId", min_length=1)] = None
    source_id: Annotated[Text | None, Field(alias="sourceId", min_length=1)] = None
    kinds: Annotated[list[Text] | None, Field(min_length=1, max_length=64)] = None


class DeletionInput(_Model):
    """A request to delete. `expectedDigest` is a preview's digest: the request is refused where the graph has moved."""

    subject: SubjectInput
    reason_code: Annotated[TombstoneReason, Field(alias="reasonCode")] = TombstoneReason.PRINCIPAL_REQUEST
    expected_digest: Annotated[str | None, Field(alias="expectedDigest", max_length=64)] = None


class HoldInput(_Model):
    """A hold on records: on whose authority, until when it is reviewed, and whom to ask. `reviewAt` is RFC 3339."""

    record_ids: Annotated[list[Text], Field(alias="recordIds", min_length=1, max_length=SUBJECT_MAX)]
    exception_type: Annotated[Text, Field(alias="exceptionType", max_length=64)]
    authority: Annotated[Text, Field(max_length=512)]
    policy_ref: Annotated[Text, Field(alias="policyRef", max_length=512)]
    contact: Annotated[Text, Field(max_length=512)]
    review_at: Annotated[Text, Field(alias="reviewAt", max_length=64)]


@dataclass(frozen=True)
class PlannedOutcome:
    """What a deletion would do to one node in one store."""

    identity: str
    store: str
    depth: int
    kind: str
    outcome: str
    rule_id: str
    witness_edge: str | None
    witness_parent: str | None


@dataclass(frozen=True)
class Preview:
    """The outcome set of a deletion that has not run; `digest` names exactly this set under exactly this policy."""

    digest: str
    policy_id: str
    scope: tuple[str, ...]
    items: tuple[PlannedOutcome, ...]
    counts: Mapping[str, int]


@dataclass(frozen=True)
class RequestView:
    """A request as it stands. `counts` has the five outcomes, each by itself; `pending` are still without one."""

    request_id: str
    tenant_id: str
    state: DeletionState
    scope: tuple[str, ...]
    reason_code: str
    policy_id: str
    received_at: int
    finished_at: int | None
    counts: Mapping[str, int]
    pending: int
    owned_failures: int
    reason: str | None = None

    @property
    def complete(self) -> bool:
        """Whether this may be called complete: all settled, and nothing failed."""
        return self.state in DELETION_STATES_COMPLETE


@dataclass(frozen=True)
class OutcomeView:
    """What became of one node in one store."""

    outcome_id: str
    identity: str
    store: str
    outcome: str | None
    state: str
    rule_id: str
    basis: str | None
    depth: int
    witness_edge: str | None
    witness_parent: str | None
    reason: str | None
    attempts: int
    next_attempt_at: int | None
    deadline_at: int | None
    owner_id: str | None
    decided_at: int | None
    verification_level: str | None
    history: tuple[str, ...]


@dataclass(frozen=True)
class OutcomePage:
    """One page of outcomes; `complete` says whether it is the last."""

    items: tuple[OutcomeView, ...]
    next_cursor: str | None
    complete: bool


@dataclass(frozen=True)
class HoldView:
    """A hold as it stands."""

    hold_id: str
    state: str
    exception_type: str
    authority: str
    policy_ref: str
    owner_id: str
    contact: str
    review_at: int
    placed_at: int
    released_at: int | None
    record_ids: tuple[str, ...]


@dataclass(frozen=True)
class ExceptionView:
    """One entry of the exception ledger: something that stayed, or failed, and who answers for it."""

    exception_id: str
    request_id: str
    identity: str
    store: str
    reason: str
    authority: str
    policy_ref: str
    owner_id: str
    review_at: int
    state: str


@dataclass(frozen=True)
class ExceptionPage:
    """One page of the ledger; `complete` says whether it is the last."""

    items: tuple[ExceptionView, ...]
    next_cursor: str | None
    complete: bool


def outcome_from_row(row: Row) -> OutcomeView:
    """Read one row of `list_outcomes`."""
    return OutcomeView(
        outcome_id=row.text("outcomeId"),
        identity=row.text("identity"),
        store=row.text("store"),
        outcome=row.text_or_none("outcome"),
        state=row.text("state"),
        rule_id=row.text("rule"),
        basis=row.text_or_none("basis"),
        depth=row.number("depth"),
        witness_edge=row.text_or_none("witnessEdge"),
        witness_parent=row.text_or_none("witnessParent"),
        reason=row.text_or_none("reason"),
        attempts=row.number("attempts"),
        next_attempt_at=row.number_or_none("nextAttemptAt"),
        deadline_at=row.number_or_none("deadlineAt"),
        owner_id=row.text_or_none("ownerId"),
        decided_at=row.number_or_none("decidedAt"),
        verification_level=row.text_or_none("verificationLevel"),
        history=tuple(row.texts("history")),
    )
