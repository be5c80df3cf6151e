"""What a record may claim about its own authority (CLS-20, ENV-10): trust says what validation really took place.

Trust never changes in place. It is stated once, at registration, and a version that claims more than the one before it
is a reviewer's decision: registered by a reviewer, as the output of a gate decision, with its review state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from graph.access import Caller
from graph.envelope import WORKED_OUT, RecordInput
from graph.errors import NotAuthorized
from graph.records.model import Draft, Known
from graph.vocabulary import OperationType, ReasonCode, ReviewState, Role, Trust

_RANK_OF: Final[Mapping[str, int]] = {
    Trust.UNTRUSTED_TEXT: 0,
    Trust.UNREVIEWED_DERIVED: 0,
    Trust.REVIEWED: 1,
    Trust.VERIFIED_PRINCIPAL: 2,
    Trust.AUTHORITATIVE_FOR_FIELD: 2,
}
# What only the source itself can give a record, and no working out.
_FIRST_HAND: Final = frozenset({Trust.AUTHORITATIVE_FOR_FIELD.value, Trust.VERIFIED_PRINCIPAL.value})
_LOOKED_AT: Final = frozenset({ReviewState.REVIEWED.value, ReviewState.REJECTED.value})


def authority_checked(record: RecordInput, stated: Mapping[str, JsonValue], caller: Caller) -> None:
    """Refuse a record that claims an authority that nothing gave it.

    Raises:
        NotAuthorized: something worked out that claims first-hand trust; or a review without a reviewer, without the
            gate decision that it was, or without its review state (`AUTHORITY_CLAIM`), with the field.
    """
    trust, review = stated.get("trust"), stated.get("reviewState")
    if trust in _FIRST_HAND and stated.get("derivationType") in WORKED_OUT:
        raise _claim("what was worked out has no authority of its own", {"field": "trust"})
    if trust == Trust.REVIEWED and review != ReviewState.REVIEWED:
        raise _claim("what nobody reviewed is not reviewed", {"field": "trust"})
    is_decision = record.operation is not None and record.operation.type is OperationType.GATE_DECISION
    if review in _LOOKED_AT and not (is_decision and Role.REVIEWER in caller.roles):
        raise _claim("only a reviewer's gate decision says that something was reviewed", {"field": "reviewState"})


def trust_checked(draft: Draft, older: Known) -> None:
    """Refuse a version that claims more trust than the one that it supersedes without a review of its own.

    Raises:
        NotAuthorized: it does (`AUTHORITY_CLAIM`), with the older version.
    """
    is_reviewed = draft.envelope.get("reviewState") == ReviewState.REVIEWED
    if not is_reviewed and _rank(draft.envelope) > _rank(older.envelope):
        raise _claim("more trust than the version before takes a review", {"sourceId": older.identity})


def _rank(envelope: Mapping[str, JsonValue]) -> int:
    return _RANK_OF.get(str(envelope.get("trust")), 0)


def _claim(message: str, details: Mapping[str, str]) -> NotAuthorized:
    return NotAuthorized(message, code=ReasonCode.AUTHORITY_CLAIM, details=details)
