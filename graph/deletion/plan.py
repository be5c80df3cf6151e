"""What a deletion would do, by the same walk and the same rules as the run, changing nothing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence

from graph.canonical import canonical_json
from graph.database.database import Database
from graph.deletion.model import PlannedOutcome, Preview
from graph.policy.model import Policy
from graph.propagation.closure import discover
from graph.propagation.model import Facts, facts_from_row
from graph.propagation.reach import Reach
from graph.propagation.rules import decide
from graph.vocabulary import GRAPH_STORE, DerivativeOutcome

PLAN_ROWS = 2_000


def plan_deletion(database: Database, policy: Policy, scope: Sequence[str], now: int) -> Preview:
    """The outcome set of deleting `scope` now.

    Args:
        database: the graph.
        policy: edges and rules.
        scope: identities, versions included.
        now: for review dates; no part of the digest.
    """
    reached = discover(database, scope, policy.deletion_edges)
    items: list[PlannedOutcome] = []
    for batch in reached.pieces(PLAN_ROWS):
        for facts in _facts(database, policy, batch, reached):
            items.extend(_planned(facts, reached, policy, now))
    items.sort(key=lambda item: (item.depth, item.identity, item.store))
    counts = Counter(item.outcome for item in items)
    return Preview(
        digest=_digest(policy, items),
        policy_id=policy.policy_id,
        scope=tuple(sorted(scope)),
        items=tuple(items),
        counts={outcome.value: counts[outcome.value] for outcome in DerivativeOutcome},
    )


def _facts(database: Database, policy: Policy, batch: Reach, reached: Reach) -> Iterator[Facts]:
    found = database.read(
        "list_affected",
        identities=batch.identities,
        edgeTypes=[edge.value for edge in policy.deletion_edges],
        within=reached.identities,
    )[0].rows("facts")
    return map(facts_from_row, found)


def _planned(facts: Facts, reached: Reach, policy: Policy, now: int) -> Iterator[PlannedOutcome]:
    depth = reached[facts.identity]
    decision = decide(facts, policy, depth=depth, affected=reached, now=now)
    for store in (GRAPH_STORE, *facts.stores):
        outcome = decision.outcome
        if store != GRAPH_STORE and outcome is not DerivativeOutcome.RETAINED_UNDER_EXCEPTION:
            connected = policy.store(store).connector is not None
            outcome = DerivativeOutcome.DELETED if connected else DerivativeOutcome.FAILED
        yield PlannedOutcome(
            identity=facts.identity,
            store=store,
            depth=depth,
            kind=facts.kind,
            outcome=outcome.value,
            rule_id=decision.rule_id,
            witness_edge=facts.witness_edge,
            witness_parent=facts.witness_parent,
        )


def _digest(policy: Policy, items: Sequence[PlannedOutcome]) -> str:
    listed = [[item.identity, item.store, item.outcome, item.rule_id] for item in items]
    return hashlib.sha256(canonical_json([policy.digest, listed])).hexdigest()
