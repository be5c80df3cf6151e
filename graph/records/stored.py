"""Whether a stored record is whole. What somebody took out of it past the service makes it unusable (ENV-01)."""

from __future__ import annotations

from typing import Final

from graph.clock import instant_to_text
from graph.envelope import LIVE_FIELDS, NOT_APPLICABLE, is_blank, stored_faults
from graph.policy.rules import ENVELOPE_FIELDS
from graph.records.model import Known
from graph.vocabulary import RecordState

# Admission demands a value or `not_applicable` of each of these; what is in quarantine lacks some by its nature.
_STATED_FIELDS: Final = sorted(ENVELOPE_FIELDS.difference(LIVE_FIELDS))
_STATES_WHOLE: Final = frozenset({RecordState.ACTIVE.value, RecordState.SUPERSEDED.value})


def lacking_fields(known: Known) -> list[str]:
    """The envelope fields that a stored record lacks, in its envelope or in the properties that stand for them.

    A record that no longer serves (in quarantine, invalidated, retained) only has to have what the service wrote.
    """
    lacking = {fault.field for fault in stored_faults(known.envelope)}
    if known.state in _STATES_WHOLE:
        lacking.update(field for field in _STATED_FIELDS if is_blank(known.envelope.get(field)))
        lacking.update(field for field, is_there in _standing(known) if not is_there)
    return sorted(lacking)


def _standing(known: Known) -> tuple[tuple[str, bool], ...]:
    expires = known.envelope.get("expiresAt") in (None, NOT_APPLICABLE)
    return (
        ("tenantId", bool(known.tenant_id)),
        ("class", bool(known.record_class)),
        ("kind", bool(known.kind)),
        ("permissions", bool(known.permissions)),
        ("purpose", bool(known.purposes)),
        ("observedAt", known.observed_at is not None),
        ("expiresAt", expires or known.expires_at is not None),
    )


def instant_shown(instant: int | None, stated: object) -> str | None:
    """An instant as it is shown: the live one, or the `not_applicable` that was stated."""
    if instant is None:
        return NOT_APPLICABLE if stated == NOT_APPLICABLE else None
    return instant_to_text(instant)
