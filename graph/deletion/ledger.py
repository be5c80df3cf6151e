"""Reading and moving requests and their outcomes: the part of the deletion room that knows the queries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

from graph.database.database import Database
from graph.database.rows import Row
from graph.deletion.model import OutcomeView, RequestView, outcome_from_row
from graph.deletion.receipt import OutcomeCount
from graph.errors import NotFound
from graph.propagation.closure import chunks
from graph.propagation.reach import Reach
from graph.propagation.settle import outcome_id
from graph.vocabulary import GRAPH_STORE, DeletionState, DerivativeOutcome, OutcomeState, ReasonCode, Role

LEDGER_ROWS: Final = 10_000
# Each page sorts all outcomes of the request: few pages, as large as memory bears.
DIGEST_ROWS: Final = 50_000


@dataclass(frozen=True)
class Stored:
    """A request as it is stored, without its outcomes. `targets` of its scope the graph has, or has a tombstone for."""

    request_id: str
    tenant_id: str
    state: DeletionState
    scope: tuple[str, ...]
    targets: int
    kinds: frozenset[str]
    reason_code: str
    policy_id: str
    received_at: int
    finished_at: int | None
    requester_roles: frozenset[Role]
    reason: str | None
    receipt: bytes | None
    receipt_sequence: int
    reopened: int


@dataclass(frozen=True)
class Ledger:
    """Requests and outcomes in the graph. `graph_level` is how far the reading back of the graph itself reaches."""

    database: Database
    graph_level: str

    def load(self, request_id: str) -> Stored:
        """The request of that id.

        Raises:
            NotFound: there is none.
        """
        rows = self.database.read("get_request", requestId=request_id)
        if not rows:
            raise no_request()
        return _stored(rows[0].mapping("request"), rows[0].number("targets"))

    def counts(self, request_id: str) -> list[OutcomeCount]:
        """Its outcomes, counted."""
        return [
            OutcomeCount(
                store=row.text("store"),
                outcome=row.text_or_none("outcome"),
                state=row.text("state"),
                level=row.text_or_none("level"),
                number=row.number("number"),
            )
            for row in self.database.read("count_outcomes", requestId=request_id)
        ]

    def view(self, stored: Stored, counts: Sequence[OutcomeCount] | None = None) -> RequestView:
        """The request with its outcomes as they were counted, or counted now."""
        counts = self.counts(stored.request_id) if counts is None else counts
        five: dict[str, int] = {outcome.value: 0 for outcome in DerivativeOutcome}
        for count in counts:
            if count.outcome is not None:
                five[count.outcome] += count.number
        return RequestView(
            request_id=stored.request_id,
            tenant_id=stored.tenant_id,
            state=stored.state,
            scope=stored.scope,
            reason_code=stored.reason_code,
            policy_id=stored.policy_id,
            received_at=stored.received_at,
            finished_at=stored.finished_at,
            counts=five,
            pending=_number(counts, OutcomeState.PENDING, OutcomeState.RETRYING),
            owned_failures=_number(counts, OutcomeState.OWNED),
            reason=stored.reason,
        )

    def move(
        self,
        request_id: str,
        states: Sequence[DeletionState],
        state: DeletionState,
        changes: Mapping[str, object] | None = None,
    ) -> None:
        """Move a request to `state` if it is in one of `states`; otherwise nothing happens."""
        move_request(self.database.write, request_id, states, state, changes or {})

    def mark_propagated(self, stored: Stored, at: int) -> bool:
        """Mark that the walk came to its end; false where the request was reopened since `stored` was loaded."""
        rows = self.database.write(
            "mark_request_propagated", requestId=stored.request_id, reopened=stored.reopened, at=at
        )
        return rows[0].number("marked") == 1

    def wait(self, request_id: str, states: Sequence[DeletionState], state: DeletionState) -> None:
        """Mark a request as waiting for its stores alone; nothing happens where no outcome is pending any more."""
        self.database.write(
            "mark_request_waiting", requestId=request_id, states=[item.value for item in states], state=state
        )

    def missing(self, request_id: str, identities: Sequence[str]) -> list[str]:
        """Of these identities, those without an outcome in the graph."""
        missing: list[str] = []
        for chunk in chunks(identities, LEDGER_ROWS):
            by_outcome = {outcome_id(request_id, identity, GRAPH_STORE): identity for identity in chunk}
            rows = self.database.read("list_outcomes_missing", outcomeIds=list(by_outcome))
            missing.extend(by_outcome[missed] for missed in rows[0].texts("missing"))
        return missing

    def resumable(self, request_id: str) -> Reach:
        """Nodes whose outcome in the graph is not the last word: held no longer, or found to be otherwise."""
        nodes = self.database.read("list_outcomes_resumable", requestId=request_id)[0].rows("nodes")
        return Reach.of((), [(node.number("depth"), [node.text("identity")]) for node in nodes])

    def not_enumerable(self, identities: Sequence[str]) -> int:
        """How many operations used one of these identities without an edge that says so."""
        return sum(
            self.database.read("count_not_enumerable", identities=chunk)[0].number("number")
            for chunk in chunks(identities, LEDGER_ROWS)
        )

    def outcomes(self, request_id: str, after: str, rows_max: int) -> list[OutcomeView]:
        """At most `rows_max` outcomes behind the id `after`, in the order of their ids."""
        rows = self.database.read(
            "list_outcomes", requestId=request_id, after=after, rowsMax=rows_max, graphLevel=self.graph_level
        )
        return [outcome_from_row(row) for row in rows[0].rows("outcomes")]

    def failures(self, request_id: str) -> list[Mapping[str, object]]:
        """Id, store, owner and reason of each failure."""
        rows = self.database.read("list_outcomes_failed", requestId=request_id)[0].rows("failures")
        fields = ("outcomeId", "store", "ownerId", "reason")
        return [{field: row.text_or_none(field) for field in fields} for row in rows]

    def outcomes_digest(self, request_id: str, number: int) -> str:
        """SHA-256 over one line an outcome; see `build_receipt`.

        Args:
            request_id: the request.
            number: how many outcomes it has; a page asks for no more than that, since the server sets room aside for it.
        """
        digest, after, left = hashlib.sha256(), "", number
        while left > 0:
            wanted = min(left, DIGEST_ROWS)
            row = self.database.read("list_outcome_lines", requestId=request_id, after=after, rowsMax=wanted)[0]
            lines = row.texts("lines")
            for line in lines:
                digest.update(f"{line}\n".encode())
            if len(lines) < wanted:
                break
            left -= wanted
            after = row.text("last")
        return digest.hexdigest()


class Run(Protocol):
    """Runs a writing query, alone or inside a transaction."""

    def __call__(self, name: str, /, **params: object) -> list[Row]:
        """Run the query of that name."""
        ...


def move_request(
    run: Run, request_id: str, states: Sequence[DeletionState], state: DeletionState, changes: Mapping[str, object]
) -> bool:
    """Move a request to `state` if it is in one of `states`; answers whether it was."""
    rows = run(
        "mark_request_state",
        requestId=request_id,
        states=[item.value for item in states],
        state=state,
        changes=dict(changes),
    )
    return rows[0].number("moved") == 1


def no_request() -> NotFound:
    """The answer where there is no such request, or not for this caller."""
    return NotFound("no such request", code=ReasonCode.NOT_FOUND)


def _number(counts: Sequence[OutcomeCount], *states: OutcomeState) -> int:
    return sum(count.number for count in counts if count.state in states)


def _stored(values: Mapping[str, object], targets: int) -> Stored:
    finished, reason, receipt = values.get("finishedAt"), values.get("reason"), values.get("receipt")
    reopened, sequence = values.get("reopened"), values.get("receiptSequence")
    return Stored(
        request_id=str(values["requestId"]),
        tenant_id=str(values["tenantId"]),
        state=DeletionState(str(values["state"])),
        scope=tuple(cast("list[str]", values["scope"])),
        targets=targets,
        kinds=frozenset(cast("list[str]", values["kinds"])),
        reason_code=str(values["reasonCode"]),
        policy_id=str(values["policyId"]),
        received_at=cast("int", values["receivedAt"]),
        finished_at=finished if isinstance(finished, int) else None,
        requester_roles=frozenset(Role(role) for role in cast("list[str]", values["requesterRoles"])),
        reason=reason if isinstance(reason, str) else None,
        receipt=receipt.encode() if isinstance(receipt, str) else None,
        receipt_sequence=sequence if isinstance(sequence, int) else 0,
        reopened=reopened if isinstance(reopened, int) else 0,
    )
