"""Settling affected nodes: removal, tombstone and outcome in one transaction, under locks, in bounded batches.

Each batch locks its nodes in ascending order, reads under the locks what decides (holds above all), decides by pure
rules, and writes. Plain nodes, of which nothing decides but their kind, are decided and written in groups. What has its
outcome already is passed over, so a batch may run again after a crash or a lost answer, and two workers on one request
only meet, never disagree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

from pydantic import JsonValue

from graph.clock import SECOND, Clock
from graph.database.database import Database, Statements
from graph.database.journal import FileJournal
from graph.database.journaling import journaled
from graph.ids import derived_id
from graph.policy.model import Policy, StorePolicy
from graph.propagation.closure import WRITERS, Progress
from graph.propagation.model import Decision, Facts, Plain, facts_from_row, plain_from_row, witness_parts
from graph.propagation.reach import Reach
from graph.propagation.rules import decide, shell_envelope
from graph.vocabulary import (
    DERIVATION_EDGES,
    GRAPH_STORE,
    DerivativeOutcome,
    EdgeType,
    JournalEntryKind,
    OutcomeBasis,
    OutcomeState,
    ReasonCode,
)

SETTLE_ROWS: Final = 2_500
# The changes that take content away.
_REMOVING: Final = ("delete", "invalidate")


@dataclass(frozen=True)
class Cause:
    """On whose request and under which rules nodes are settled."""

    request_id: str
    tenant_id: str
    reason_code: str
    policy_ref: str
    edge_types: tuple[EdgeType, ...]


@dataclass(frozen=True)
class Settler:
    """Settles what a deletion reaches."""

    database: Database
    policy: Policy
    clock: Clock
    journal: FileJournal
    shards: int

    def settle(self, cause: Cause, affected: Reach, reached: Container[str], progress: Progress | None = None) -> int:
        """Give every node of `affected` its outcomes; answers how many nodes were settled by this call.

        Args:
            cause: the request.
            affected: the nodes to settle now.
            reached: every identity that the request reaches; a source among them supports nothing.
            progress: told (nodes done, nodes in all) after each batch.
        """
        batches = list(affected.pieces(max(1, min(SETTLE_ROWS, -(-len(affected) // WRITERS)))))
        settled = done = 0
        with ThreadPoolExecutor(max_workers=WRITERS, thread_name_prefix="settle") as pool:
            counts = pool.map(partial(self._settle_batch, cause, reached), batches)
            for batch, count in zip(batches, counts, strict=True):
                settled += count
                done += len(batch)
                if progress is not None:
                    progress(done, len(affected))
        return settled

    def _settle_batch(self, cause: Cause, reached: Container[str], batch: Reach) -> int:
        return self.database.transact("settle", lambda statements: self._write_batch(statements, cause, batch, reached))

    def _write_batch(self, statements: Statements, cause: Cause, batch: Reach, reached: Container[str]) -> int:
        found = statements.run(
            "lock_affected",
            identities=batch.identities,
            requestId=cause.request_id,
            edgeTypes=[edge.value for edge in cause.edge_types],
            supportTypes=list(DERIVATION_EDGES),
            shellKinds=list(self.policy.kinds_always_invalidated),
        )[0]
        plain = [plain_from_row(row) for row in found.rows("plain")]
        deleted, others = self._parted(plain)
        fresh: list[_Settlement] = []
        resumed: list[_Settlement] = []
        for facts in [*others, *map(facts_from_row, found.rows("facts"))]:
            settlement = self._settlement(cause, facts, batch[facts.identity], reached)
            if facts.outcome is None:
                fresh.append(settlement)
            elif _is_open(facts, settlement):
                resumed.append(settlement)
        if deleted:
            groups = [self._group(cause, group, decision, batch) for group, decision in deleted]
            statements.run("create_tombstones", requestId=cause.request_id, groups=groups)
        if fresh:
            statements.run("create_outcomes", requestId=cause.request_id, rows=[item.row for item in fresh])
        if resumed:
            statements.run("mark_outcomes_resumed", rows=[item.row for item in resumed])
        entries = [entry for item in [*fresh, *resumed] for entry in item.exceptions]
        enter_exceptions(statements, entries)
        changed: defaultdict[str, list[str]] = defaultdict(list)
        for item in [*fresh, *resumed]:
            changed[item.change].append(item.identity)
        for group, decision in deleted:
            changed[decision.change].extend(group.identities)
        self._journal(statements, cause, changed)
        return sum(len(identities) for identities in changed.values())

    def _journal(self, statements: Statements, cause: Cause, changed: Mapping[str, Sequence[str]]) -> None:
        """Tell the journal what was removed, as the last step before the commit: it may be ahead, never behind.

        Args:
            statements: the transaction.
            cause: the request.
            changed: identities by change; those that take content away count.
        """
        removed = {change: [*sorted(changed.get(change, ()))] for change in _REMOVING}
        if any(removed.values()):
            body: dict[str, JsonValue] = {
                "requestId": cause.request_id,
                "reasonCode": cause.reason_code,
                "policyRef": cause.policy_ref,
                **{change: [*identities] for change, identities in removed.items()},
            }
            journaled(statements, self.journal, JournalEntryKind.CONTENT_REMOVED, self.clock.now(), body)

    def _parted(self, plain: Sequence[Plain]) -> tuple[list[tuple[Plain, Decision]], list[Facts]]:
        """The groups that are deleted as a whole, and the facts of all others."""
        deleted: list[tuple[Plain, Decision]] = []
        others: list[Facts] = []
        for group in plain:
            # Nothing supports a plain node, so neither its depth nor what else is reached decides.
            decision = decide(group.facts(0), self.policy, depth=0, affected=(), now=self.clock.now())
            if decision.change == "delete":
                deleted.append((group, decision))
            else:
                others.extend(group.facts(index) for index in range(len(group.identities)))
        return deleted, others

    def _group(self, cause: Cause, group: Plain, decision: Decision, batch: Reach) -> dict[str, object]:
        now = self.clock.now()
        rows: list[list[object]] = []
        for identity, witness in zip(group.identities, group.witnesses, strict=True):
            depth = batch[identity]
            edge, parent = witness_parts(witness) if depth else (None, None)
            rows.append([identity, outcome_id(cause.request_id, identity, GRAPH_STORE), depth, edge, parent])
        outcome = {"requestId": cause.request_id, "store": GRAPH_STORE, "rule": decision.rule_id}
        return {
            "rows": rows,
            "outcome": outcome | _settled(decision.outcome, decision.basis, now),
            "tombstone": _tombstone(cause, now),
        }

    def _settlement(self, cause: Cause, facts: Facts, depth: int, reached: Container[str]) -> _Settlement:
        now = self.clock.now()
        decision = decide(facts, self.policy, depth=depth, affected=reached, now=now)
        outcomes = [_graph_outcome(cause, facts, depth, decision, now)]
        outcomes += [self._store_outcome(cause, facts, depth, decision, store, now) for store in facts.stores]
        row: dict[str, object] = {
            "identity": facts.identity,
            "change": decision.change,
            "outcomes": outcomes,
            "envelope": shell_envelope(facts.envelope) if facts.envelope and decision.change == "invalidate" else None,
            "tombstone": {"identity": facts.identity, **_tombstone(cause, now)},
        }
        entries = [self._exception(cause, entry, decision, now) for entry in outcomes if _excepted(entry)]
        return _Settlement(decision.ground.ground_id if decision.ground else None, row, entries)

    def _store_outcome(
        self, cause: Cause, facts: Facts, depth: int, decision: Decision, store_id: str, now: int
    ) -> dict[str, object]:
        """The copy in a store: kept with its record, due for a worker, or its owner's where nothing can delete there."""
        entry = _outcome(cause, facts, depth, decision, store_id)
        store = self.policy.store(store_id)
        if decision.outcome is DerivativeOutcome.RETAINED_UNDER_EXCEPTION:
            return entry | _settled(decision.outcome, decision.basis, now)
        if store.connector is None:
            return entry | _owned(store, now)
        return entry | {
            "state": OutcomeState.PENDING,
            "shard": shard_of(facts.identity, self.shards),
            "attempts": 0,
            "nextAttemptAt": now,
            "deadlineAt": now + store.retry.deadline_seconds * SECOND,
        }

    def _exception(self, cause: Cause, entry: dict[str, object], decision: Decision, now: int) -> dict[str, object]:
        ground, known = decision.ground, (str(entry["outcomeId"]), cause.tenant_id, cause.request_id)
        if ground is None:
            reason, owner_id = str(entry["reason"]), str(entry["ownerId"])
            return exception_entry(
                *known,
                store=str(entry["store"]),
                reason=reason,
                owner_id=owner_id,
                policy_ref=cause.policy_ref,
                now=now,
            )
        return exception_entry(
            *known,
            store=str(entry["store"]),
            reason=ground.exception_type,
            owner_id=ground.owner_id,
            policy_ref=ground.policy_ref,
            now=now,
            authority=ground.authority,
            review_at=ground.review_at,
            serves_purposes=self.policy.exception_type(ground.exception_type).serves_purposes,
        )


@dataclass(frozen=True)
class _Settlement:
    """What is written of one node: its row, its ledger entries, and the ground on which it is kept, if it is."""

    ground_id: str | None
    row: dict[str, object]
    exceptions: list[dict[str, object]]

    @property
    def identity(self) -> str:
        """The node."""
        return str(self.row["identity"])

    @property
    def change(self) -> str:
        """What is done to it."""
        return str(self.row["change"])


def _is_open(facts: Facts, settlement: _Settlement) -> bool:
    """Whether an outcome that is there is not the last word: its ground has changed, or it was found to be otherwise."""
    retained = facts.outcome == DerivativeOutcome.RETAINED_UNDER_EXCEPTION
    return (retained and settlement.ground_id != facts.ground) or facts.outcome == DerivativeOutcome.FAILED


def outcome_id(request_id: str, identity: str, store: str) -> str:
    """The id of the one outcome of a request, identity and store."""
    return derived_id("outcome", request_id, identity, store)


def shard_of(identity: str, shards: int) -> int:
    """The shard of work that a node's copies belong to."""
    return int(derived_id("shard", identity)[:8], 16) % shards


def _outcome(cause: Cause, facts: Facts, depth: int, decision: Decision, store: str) -> dict[str, object]:
    return {
        "outcomeId": outcome_id(cause.request_id, facts.identity, store),
        "requestId": cause.request_id,
        "identity": facts.identity,
        "store": store,
        "rule": decision.rule_id,
        "depth": depth,
        # What was asked for is affected by no other record, whichever of its versions went before it.
        "witnessEdge": facts.witness_edge if depth else None,
        "witnessParent": facts.witness_parent if depth else None,
        "ground": decision.ground.ground_id if decision.ground else None,
    }


def _tombstone(cause: Cause, now: int) -> dict[str, object]:
    """What all tombstones of a batch have in common: everything but the identity."""
    return {"deletedAt": now, "reasonCode": cause.reason_code, "policyRef": cause.policy_ref}


def _graph_outcome(cause: Cause, facts: Facts, depth: int, decision: Decision, now: int) -> dict[str, object]:
    entry = _outcome(cause, facts, depth, decision, GRAPH_STORE)
    return entry | _settled(decision.outcome, decision.basis, now)


def _settled(outcome: DerivativeOutcome, basis: OutcomeBasis, now: int) -> dict[str, object]:
    return {"outcome": outcome, "state": OutcomeState.SETTLED, "basis": basis, "decidedAt": now}


def _owned(store: StorePolicy, now: int) -> dict[str, object]:
    return {
        "outcome": DerivativeOutcome.FAILED,
        "state": OutcomeState.OWNED,
        "basis": OutcomeBasis.STORE_ANSWER,
        "reason": ReasonCode.STORE_UNAVAILABLE,
        "ownerId": store.owner_id,
        "decidedAt": now,
    }


def _excepted(entry: dict[str, object]) -> bool:
    return entry.get("outcome") in {DerivativeOutcome.RETAINED_UNDER_EXCEPTION, DerivativeOutcome.FAILED}


def enter_exceptions(statements: Statements, entries: Sequence[dict[str, object]]) -> None:
    """Enter rows of `exception_entry` in the ledger; entering one again brings it up to date."""
    if entries:
        statements.run("create_exceptions", rows=list(entries))


def exception_entry(
    outcome_id: str,
    tenant_id: str,
    request_id: str,
    *,
    store: str,
    reason: str,
    owner_id: str,
    policy_ref: str,
    now: int,
    authority: str | None = None,
    review_at: int | None = None,
    serves_purposes: Sequence[str] = (),
) -> dict[str, object]:
    """A row for `create_exceptions` (EXC-01); a failure's authority is the inventory, and its review is due at once."""
    return {
        "outcomeId": outcome_id,
        "exceptionId": exception_id(outcome_id),
        "entry": {
            "tenantId": tenant_id,
            "requestId": request_id,
            "store": store,
            "reason": reason,
            "ownerId": owner_id,
            "policyRef": policy_ref,
            "authority": authority or f"stores/{store}",
            "reviewAt": now if review_at is None else review_at,
            "servesPurposes": list(serves_purposes),
            "enteredAt": now,
            "state": "open",
        },
    }


def exception_id(of_outcome: str) -> str:
    """The id of the ledger entry of an outcome."""
    return derived_id("exception", of_outcome)
