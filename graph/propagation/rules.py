"""The pure decisions of a deletion: what becomes of each node that it reaches."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Final, cast

from pydantic import JsonValue

from graph.clock import SECOND
from graph.policy.model import Duty, Policy
from graph.propagation.model import Decision, Facts, Ground
from graph.vocabulary import DerivativeOutcome, OutcomeBasis, PropagationAction, RecordState

# What the envelope of an invalidated record keeps: what kind of thing it was and who answers for it, nothing of anybody.
_SHELL_FIELDS: Final = (
    *("recordId", "class", "kind", "version", "recordedAt", "tenantId", "ownerId", "producerId", "producerVersion"),
    *("derivationType", "retentionClass", "contextEligible", "memoryDecision", "origins", "trust", "reviewState"),
)
_DAY_SECONDS: Final = 86_400


def decide(facts: Facts, policy: Policy, *, depth: int, affected: Container[str], now: int) -> Decision:
    """What becomes of one node, by the first of: gone already, held, kept by rule, its kind's deletion rule.

    Args:
        facts: what was read of it, under its lock when this is the run.
        policy: holds the rules.
        depth: 0 for a record that was asked for by itself; remaining sources do not keep that.
        affected: every identity that the deletion reaches; a source among them supports nothing.
        now: the present instant, for review dates.
    """
    if facts.is_tombstone:
        # One that somebody wrote to past this service is made a tombstone again.
        change = "none" if facts.is_whole else "delete"
        return Decision(
            change, DerivativeOutcome.DELETED, "deletion/tombstone", OutcomeBasis.SETTLED_BY_ANOTHER_REQUEST
        )
    if facts.holds:
        ground = min(facts.holds, key=lambda hold: (hold.review_at, hold.authority))
        return Decision(
            "retain",
            DerivativeOutcome.RETAINED_UNDER_EXCEPTION,
            f"exception/{ground.exception_type}",
            OutcomeBasis.HOLD,
            ground,
        )
    if (kept := _kept_by_rule(facts, policy, now)) is not None:
        return kept
    supported = depth > 0 and any(source not in affected for source in facts.live_sources)
    rule = policy.deletion_rule(facts.kind, supported=supported)
    if rule.action is PropagationAction.DELETE:
        return Decision("delete", DerivativeOutcome.DELETED, rule.rule_id, OutcomeBasis.SETTLED_BY_THIS_REQUEST)
    if facts.state == RecordState.INVALIDATED and not facts.has_content:
        return Decision("none", DerivativeOutcome.INVALIDATED, rule.rule_id, OutcomeBasis.SETTLED_BY_ANOTHER_REQUEST)
    return Decision("invalidate", DerivativeOutcome.INVALIDATED, rule.rule_id, OutcomeBasis.SETTLED_BY_THIS_REQUEST)


def _kept_by_rule(facts: Facts, policy: Policy, now: int) -> Decision | None:
    """A kind that the owners of the rules decided to keep stays under their exception type (DEL-20, AMB-45)."""
    rule = policy.eligibility(facts.kind)
    if rule.duty is not Duty.MUST_KEEP or rule.exception_type is None:
        return None
    exception = policy.exception_type(rule.exception_type)
    ground = Ground(
        ground_id=f"eligibility/{rule.id}",
        exception_type=exception.id,
        authority=f"eligibility/{rule.id}",
        policy_ref=policy.policy_id,
        owner_id=exception.owner_id,
        review_at=now + exception.review_days * _DAY_SECONDS * SECOND,
    )
    return Decision(
        "retain",
        DerivativeOutcome.RETAINED_UNDER_EXCEPTION,
        f"eligibility/{rule.id}",
        OutcomeBasis.POLICY_RULE,
        ground,
    )


def shell_envelope(envelope: str) -> str:
    """What stays of the envelope of an invalidated record."""
    stored = cast("dict[str, JsonValue]", json.loads(envelope))
    shell = {field: stored[field] for field in _SHELL_FIELDS if field in stored}
    return json.dumps(shell, separators=(",", ":"), sort_keys=True)
