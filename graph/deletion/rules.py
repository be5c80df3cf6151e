"""The pure decisions about a request."""

from __future__ import annotations

from graph.deletion.model import RequestView
from graph.vocabulary import DeletionState, DerivativeOutcome


def terminal_state(view: RequestView) -> DeletionState | None:
    """The state in which a request ends, or none while an outcome is missing or a failure has no owner (DEL-07, AMB-06)."""
    if view.pending or view.counts[DerivativeOutcome.FAILED] != view.owned_failures:
        return None
    if view.counts[DerivativeOutcome.FAILED]:
        return DeletionState.CLOSED_WITH_OWNED_FAILURES
    if view.counts[DerivativeOutcome.RETAINED_UNDER_EXCEPTION]:
        return DeletionState.COMPLETED_WITH_EXCEPTIONS
    return DeletionState.COMPLETED
