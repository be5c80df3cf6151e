"""Listing outcomes: whole, once each, whatever the page."""

from __future__ import annotations

import hashlib
import json

import pytest

from graph.access import Caller
from graph.errors import InvalidInput, NotAuthorized
from graph.vocabulary import Role
from service.bootstrap import Application
from tests.support.deletion import delete, outcomes_of, register, with_roles
from tests.support.records import derived, record

DERIVATIVES = 2_499


@pytest.mark.req("DEL-06", "DEL-08", "DEL-17")
def test_two_and_a_half_thousand_outcomes_come_in_pages_without_gap_or_repeat(application: Application, caller: Caller):
    (root,) = register(application, caller, record("r"))
    derivatives: list[str] = []
    for start in range(0, DERIVATIVES, 1_000):
        stated = [derived(f"d{number}", "r") for number in range(start, min(start + 1_000, DERIVATIVES))]
        derivatives += register(application, caller, *stated)
    view = delete(application, caller, root)
    assert view.counts["deleted"] == DERIVATIVES + 1
    first = application.deletions.outcomes(view.request_id, caller, 1_000)
    assert (len(first.items), first.complete) == (1_000, False)
    found = outcomes_of(application, caller, view.request_id, 1_000)
    assert len(found) == 2_500
    assert {item.identity for item in found} == {root, *derivatives}
    whole = application.deletions.outcomes(view.request_id, caller, 2_500)
    assert (list(whole.items), whole.next_cursor, whole.complete) == (found, None, True)
    lines = "".join(f"{o.outcome_id} {o.identity} {o.store} {o.outcome} {o.rule_id}\n" for o in found)
    receipt = json.loads(application.deletions.receipt(view.request_id, caller))
    assert receipt["outcomesListed"] == 2_500
    assert receipt["outcomesDigest"] == hashlib.sha256(lines.encode()).hexdigest()


@pytest.mark.req("DEL-06")
@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 5])
def test_every_page_size_gives_the_same_list(application: Application, caller: Caller, page_size):
    root, *_ = register(application, caller, record("r"), *(derived(f"d{number}", "r") for number in range(3)))
    view = delete(application, caller, root)
    assert outcomes_of(application, caller, view.request_id, page_size) == outcomes_of(
        application, caller, view.request_id
    )


def test_a_page_out_of_bounds_is_refused(application: Application, caller: Caller):
    (root,) = register(application, caller, record("r"))
    view = delete(application, caller, root)
    for size in (-1, 0, 10_001):
        with pytest.raises(InvalidInput) as refused:
            application.deletions.outcomes(view.request_id, caller, size)
        assert refused.value.code == "LIMIT_EXCEEDED"
    assert application.deletions.outcomes(view.request_id, caller, 10_000).complete


@pytest.mark.parametrize("role", [Role.PRODUCER, Role.REVIEWER, Role.DOMAIN_OWNER, Role.WORKFLOW_OWNER])
def test_outcomes_are_not_for_everybody(application: Application, caller: Caller, role):
    (root,) = register(application, caller, record("r"))
    view = delete(application, caller, root)
    for call in (application.deletions.view, application.deletions.outcomes, application.deletions.receipt):
        with pytest.raises(NotAuthorized) as refused:
            call(view.request_id, with_roles(role))
        assert refused.value.code == "ROLE_REQUIRED"
