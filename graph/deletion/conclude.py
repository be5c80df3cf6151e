"""How a deletion request ends: what its outcomes say is read back, judged, and put into a receipt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from graph.clock import Clock
from graph.database.database import Database, Statements
from graph.deletion.ledger import Ledger, Stored
from graph.deletion.model import RequestView
from graph.deletion.receipt import OutcomeCount, build_receipt
from graph.deletion.rules import terminal_state
from graph.policy.model import Policy
from graph.propagation.settle import enter_exceptions, exception_entry
from graph.vocabulary import (
    DELETION_STATES_COMPLETE,
    DELETION_STATES_RUNNING,
    GRAPH_STORE,
    DeletionState,
    DerivativeOutcome,
    ReasonCode,
)

_REOPENED: Final = (
    *DELETION_STATES_RUNNING,
    *sorted(DELETION_STATES_COMPLETE),
    DeletionState.CLOSED_WITH_OWNED_FAILURES,
)


@dataclass(frozen=True)
class Conclusion:
    """Ends requests."""

    database: Database
    policy: Policy
    clock: Clock
    ledger: Ledger

    def conclude(self, request_id: str) -> None:
        """End the request if all is settled: read back what the outcomes say, judge, and issue the receipt.

        Nothing happens while an outcome is pending, and nothing where it has ended in this very state before.
        """
        stored = self.ledger.load(request_id)
        counts = self.ledger.counts(request_id)
        view = self.ledger.view(stored, counts)
        if view.pending:
            failed = view.counts[DerivativeOutcome.FAILED] > view.owned_failures
            self.ledger.wait(request_id, _REOPENED, DeletionState.RETRYING if failed else DeletionState.PROPAGATING)
            return
        # A clock that was set back makes no request end before it was received.
        now = max(self.clock.now(), stored.received_at)
        if self._verify(stored, now):
            counts = self.ledger.counts(request_id)
            view = self.ledger.view(stored, counts)
        state = terminal_state(view)
        if state is None or state is stored.state or stored.reason is not None:
            return
        self.database.write(
            "mark_request_finished",
            requestId=request_id,
            state=state,
            at=now,
            receipt=self._receipt(stored, view, counts, state, now).decode(),
            expectedOutcomes=sum(view.counts.values()),
        )

    def _verify(self, stored: Stored, now: int) -> bool:
        """Read back what the outcomes say; answers whether some were not so and have become failures."""
        return self.database.transact("verify", lambda statements: self._read_back(statements, stored, now))

    def _read_back(self, statements: Statements, stored: Stored, now: int) -> bool:
        """Failures and their ledger entries in one transaction: the next reading back passes over what has failed."""
        owner_id = self.policy.store(GRAPH_STORE).owner_id
        rows = statements.run("mark_outcomes_verified", requestId=stored.request_id, ownerId=owner_id, at=now)
        entries = [
            exception_entry(
                outcome_id=failed,
                tenant_id=stored.tenant_id,
                request_id=stored.request_id,
                store=GRAPH_STORE,
                reason=ReasonCode.VERIFICATION_FAILED,
                owner_id=owner_id,
                policy_ref=stored.policy_id,
                now=now,
            )
            for failed in rows[0].texts("failed")
        ]
        enter_exceptions(statements, entries)
        return bool(entries)

    def _receipt(
        self, stored: Stored, view: RequestView, counts: Sequence[OutcomeCount], state: DeletionState, now: int
    ) -> bytes:
        return build_receipt(
            view=view,
            sequence=stored.receipt_sequence + 1,
            previous=stored.receipt,
            state=state,
            finished_at=now,
            policy=self.policy,
            counts=counts,
            failures=self.ledger.failures(view.request_id) if view.counts[DerivativeOutcome.FAILED] else [],
            outcomes_digest=self.ledger.outcomes_digest(view.request_id, sum(count.number for count in counts)),
        )
