"""The decisions of a deletion as pure functions: every combination of what they look at."""

from __future__ import annotations

import itertools
import json

import pytest

from graph.clock import SECOND
from graph.policy.model import Policy
from graph.propagation.model import Facts, Ground
from graph.propagation.rules import decide, shell_envelope
from graph.propagation.work import Answer, judge

NOW = 1_000 * SECOND
DAY = 86_400 * SECOND


def _facts(**changes) -> Facts:
    return Facts(
        **{
            "identity": "d",
            "is_tombstone": False,
            "is_whole": True,
            "has_content": False,
            "kind": "document",
            "state": "active",
            "outcome": None,
            "ground": None,
            "holds": (),
            "stores": (),
            "live_sources": frozenset(),
            "witness_edge": "SUMMARIZED_FROM",
            "witness_parent": "r",
            "envelope": "{}",
            **changes,
        }
    )


def _hold(number: int, review_at: int) -> Ground:
    return Ground(f"hold-{number}", "legal_hold", f"order {number}", "policy", "legal-owner", review_at)


@pytest.mark.req("DEL-23", "DEL-10", "DEL-06")
def test_the_first_ground_that_applies_decides(policy: Policy):
    """Gone, held, kept by rule, then the kind's rule; stated here once more as a table of its own."""
    for gone, held, must_stay, supported, root, shell in itertools.product([False, True], repeat=6):
        facts = _facts(
            is_tombstone=gone,
            holds=(_hold(1, 5),) if held else (),
            kind="approval" if must_stay else "document",
            live_sources=frozenset({"other"} if supported else {"r"}),
            state="invalidated" if shell else "active",
        )
        decision = decide(facts, policy, depth=0 if root else 1, affected={"r", "d"}, now=NOW)
        kept = supported and not root
        if gone:
            expected = ("none", "deleted", "settled_by_another_request")
        elif held:
            expected = ("retain", "retained_under_exception", "hold")
        elif must_stay:
            expected = ("retain", "retained_under_exception", "policy_rule")
        elif kept and shell:
            expected = ("none", "invalidated", "settled_by_another_request")
        elif kept:
            expected = ("invalidate", "invalidated", "settled_by_this_request")
        else:
            expected = ("delete", "deleted", "settled_by_this_request")
        assert (decision.change, decision.outcome, decision.basis) == expected
        assert (decision.ground is not None) == (decision.change == "retain")


@pytest.mark.req("DEL-23")
@pytest.mark.parametrize("kind", ["embedding", "cache_entry", "search_index_entry", "export_packet", "backup_copy"])
def test_a_technical_copy_goes_although_another_source_is_left(policy: Policy, kind):
    facts = _facts(kind=kind, live_sources=frozenset({"other"}))
    assert decide(facts, policy, depth=1, affected={"r"}, now=NOW).change == "delete"


@pytest.mark.req("EXC-01")
def test_of_several_holds_the_one_that_is_reviewed_first_is_cited(policy: Policy):
    holds = [_hold(1, 30), _hold(2, 10), _hold(3, 20)]
    for order in itertools.permutations(holds):
        decision = decide(_facts(holds=tuple(order)), policy, depth=1, affected=set(), now=NOW)
        assert decision.ground == holds[1]
        assert decision.rule_id == "exception/legal_hold"


@pytest.mark.req("EXC-01", "DEL-17")
@pytest.mark.parametrize(
    ("kind", "rule", "owner", "days"),
    [
        ("approval", "eligibility/effects_stay", "legal-owner", 365),
        ("effect", "eligibility/effects_stay", "legal-owner", 365),
        ("receipt_record", "eligibility/proofs_stay", "legal-owner", 365),
    ],
)
def test_what_must_stay_stays_with_authority_owner_and_review_date(policy: Policy, kind, rule, owner, days):
    decision = decide(_facts(kind=kind), policy, depth=0, affected={"d"}, now=NOW)
    assert decision.rule_id == rule
    assert decision.ground is not None
    assert (decision.ground.authority, decision.ground.owner_id) == (rule, owner)
    assert decision.ground.review_at == NOW + days * DAY
    assert decision.ground.policy_ref == "field-service@1.0.0"


@pytest.mark.req("DEL-23", "TMB-02")
def test_a_shell_keeps_no_word_of_anybody():
    stated = {
        "recordId": "d",
        "class": "artifact",
        "kind": "document",
        "tenantId": "t",
        "version": 2,
        "name": "pref-concise",
        "scope": "s",
        "principalId": "tech-17",
        "sourceId": "x",
        "sourceVersion": "1",
        "taskId": "t1",
        "runId": "r1",
        "inferenceMethod": "free text",
        "fingerprint": "f",
        "stated": {"anything": "else"},
        "quarantineReasons": [],
    }
    assert json.loads(shell_envelope(json.dumps(stated))) == {
        "recordId": "d",
        "class": "artifact",
        "kind": "document",
        "tenantId": "t",
        "version": 2,
    }


CLAIMS = ("deleted", "not_found", "retained_under_exception", "failed", "invalidated", "", "DELETED", None)


@pytest.mark.req("DEL-25", "VER-03", "EXC-02", "DEL-06")
def test_one_answer_in_every_combination():
    for claim, present, error, before in itertools.product(CLAIMS, (True, False, None), (True, False), (0, 1)):
        verdict = judge([Answer(claim, present, error)], attempts_before=before)
        if error or present is None:
            expected = ("failed", "STORE_UNAVAILABLE")
        elif claim == "retained_under_exception":
            expected = ("failed", "EXCEPTION_NOT_AUTHORIZED")
        elif present or claim not in ("deleted", "not_found"):
            expected = ("failed", "VERIFICATION_FAILED")
        elif claim == "deleted" or before:
            expected = ("deleted", None)
        else:
            expected = ("not_found", None)
        assert (verdict.outcome, verdict.reason) == expected, (claim, present, error, before)


@pytest.mark.req("DEL-07", "DEL-25")
def test_one_failed_copy_fails_the_derivative_and_one_deleted_copy_makes_it_deleted():
    good, absent = Answer("deleted", present=False), Answer("not_found", present=False)
    lying, down = Answer("deleted", present=True), Answer(None, present=None, error=True)
    for answers in itertools.product((good, absent, lying, down), repeat=3):
        outcome = judge(answers, attempts_before=0).outcome
        bad = lying in answers or down in answers
        assert outcome == ("failed" if bad else "deleted" if good in answers else "not_found")
