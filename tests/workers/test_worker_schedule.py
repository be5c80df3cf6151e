"""When a failed attempt is tried again, when it gets its owner, and how a late recovery ends it."""

from __future__ import annotations

import json

import pytest

from graph.access import Caller
from graph.clock import SECOND, ManualClock
from service.bootstrap import Application
from tests.conftest import START
from tests.support.deletion import (
    by_ids,
    delete,
    faulty,
    files_of,
    fresh_key,
    outcomes_of,
    register,
    unavailable,
    with_copy,
    work,
)

# Seconds after the request: the delays of the policy are 5, 30, 300 and then 1,800, the deadline is 86,400.
FIRST_ATTEMPTS = [0, 5, 35, 335, 2_135, 3_935, 5_735]
LAST_BEFORE_DEADLINE = 84_935
DEADLINE = 86_400


def _request(application: Application, caller: Caller, *names: str) -> str:
    stated = [with_copy(name) for name in names or ("r",)]
    identities = register(application, caller, *stated)
    for name in names or ("r",):
        files_of(application).write(f"{name}.bin", b"a copy")
    return delete(application, caller, *identities).request_id


def _of_files(application: Application, caller: Caller, request_id: str):
    return [item for item in outcomes_of(application, caller, request_id) if item.store == "files"]


def _attempts(application: Application) -> list[tuple[int, str, str]]:
    """Seconds after the start, outcome and reason of every attempt."""
    rows = application.database.administer(
        "MATCH (a:Attempt) RETURN a.startedAt AS at, a.outcome AS outcome, a.reason AS reason ORDER BY a.number"
    )
    return [
        ((row.number("at") - START) // SECOND, row.text("outcome"), row.text_or_none("reason") or "") for row in rows
    ]


@pytest.mark.req("DEL-16")
def test_attempts_fall_on_the_policys_times_and_each_is_written_down(
    application: Application, caller: Caller, clock: ManualClock
):
    request_id = _request(application, caller)
    broken, store = faulty(application, unavailable)
    last = 0
    for number, at in enumerate(FIRST_ATTEMPTS):
        if at:
            clock.advance(at - last - 1)
            work(broken)
            assert store.attempts == number, "tried too early"
            clock.advance(1)
        work(broken)
        assert store.attempts == number + 1
        last = at
        (found,) = _of_files(application, caller, request_id)
        assert (found.outcome, found.state, found.reason, found.owner_id) == (
            "failed",
            "retrying",
            "STORE_UNAVAILABLE",
            None,
        )
        assert found.deadline_at == START + DEADLINE * SECOND
    assert _attempts(application) == [(at, "failed", "STORE_UNAVAILABLE") for at in FIRST_ATTEMPTS]
    assert application.deletions.view(request_id, caller).state == "RETRYING"


def _expired(application: Application, caller: Caller, clock: ManualClock, *names: str) -> str:
    """A request whose copies could not be reached until past the deadline."""
    request_id = _request(application, caller, *names)
    broken, _ = faulty(application, unavailable)
    last = 0
    for at in (*FIRST_ATTEMPTS[:4], LAST_BEFORE_DEADLINE):
        clock.advance(at - last)
        work(broken)
        last = at
    for item in _of_files(application, caller, request_id):
        assert item.state == "retrying"
        assert item.next_attempt_at == START + DEADLINE * SECOND, "the last wait ends at the deadline"
    clock.advance(DEADLINE - LAST_BEFORE_DEADLINE)
    work(broken)
    return request_id


@pytest.mark.req("DEL-16", "DEL-07", "EXC-01", "EXC-04", "DEL-17")
def test_at_the_deadline_the_failure_gets_its_owner_and_its_entry(
    application: Application, caller: Caller, clock: ManualClock
):
    request_id = _expired(application, caller, clock)
    (found,) = _of_files(application, caller, request_id)
    assert (found.outcome, found.state, found.reason, found.owner_id, found.attempts) == (
        "failed",
        "owned",
        "DEADLINE_EXPIRED",
        "platform-owner",
        6,
    )
    view = application.deletions.view(request_id, caller)
    assert (view.state, view.complete, view.owned_failures) == ("CLOSED_WITH_OWNED_FAILURES", False, 1)
    assert "complete" not in json.loads(application.deletions.receipt(request_id, caller))["state"].lower()
    assert json.loads(application.deletions.receipt(request_id, caller))["complete"] is False
    (entry,) = application.holds.exceptions(caller).items
    assert (entry.identity, entry.store, entry.reason, entry.owner_id, entry.authority, entry.state) == (
        found.identity,
        "files",
        "DEADLINE_EXPIRED",
        "platform-owner",
        "stores/files",
        "open",
    )
    assert entry.policy_ref == "field-service@1.0.0"
    assert entry.review_at == START + DEADLINE * SECOND


@pytest.mark.req("DEL-16", "FIX-6-13", "FIX-6-04")
def test_a_recovery_after_the_deadline_ends_it_and_both_results_stay_on_record(
    application: Application, caller: Caller, clock: ManualClock
):
    request_id = _expired(application, caller, clock)
    closed = application.deletions.receipt(request_id, caller)
    clock.advance(1_799)
    work(application)
    assert application.deletions.view(request_id, caller).state == "CLOSED_WITH_OWNED_FAILURES"
    clock.advance(1)
    work(application)
    view = application.deletions.view(request_id, caller)
    assert (view.state, view.counts["failed"], view.counts["deleted"]) == ("COMPLETED", 0, 2)
    (found,) = _of_files(application, caller, request_id)
    assert (found.outcome, found.history, found.owner_id) == ("deleted", ("failed",), None)
    assert [outcome for _, outcome, _ in _attempts(application)] == ["failed"] * 6 + ["deleted"]
    completed = application.deletions.receipt(request_id, caller)
    assert json.loads(closed)["state"] == "CLOSED_WITH_OWNED_FAILURES"
    assert json.loads(completed)["state"] == "COMPLETED"
    assert [entry.state for entry in application.holds.exceptions(caller).items] == ["ended"]


@pytest.mark.req("DEL-16")
def test_the_receipt_follows_each_failure_that_is_settled(application: Application, caller: Caller, clock: ManualClock):
    """Two owned failures; one recovers: the request stays closed, and its receipt no longer lists that one."""
    request_id = _expired(application, caller, clock, "one", "two")
    assert len(json.loads(application.deletions.receipt(request_id, caller))["ownedFailures"]) == 2
    clock.advance(1_800)

    def one_alone(locator: str) -> object:
        return files_of(application).remove(locator) if locator == "one.bin" else unavailable(locator)

    broken, _ = faulty(application, one_alone)
    work(broken)
    view = application.deletions.view(request_id, caller)
    assert (view.state, view.owned_failures, view.counts["deleted"]) == ("CLOSED_WITH_OWNED_FAILURES", 1, 3)
    receipt = json.loads(application.deletions.receipt(request_id, caller))
    assert receipt["outcomes"] == dict(view.counts)
    assert len(receipt["ownedFailures"]) == 1


@pytest.mark.req("DEL-16")
def test_a_worker_that_dies_right_after_the_late_success_leaves_nothing_undone(
    application: Application, caller: Caller, clock: ManualClock
):
    """The outcome is settled and the request not yet judged; whoever comes next ends it."""
    request_id = _expired(application, caller, clock)
    clock.advance(1_800)
    _succeed_and_die(application)
    assert [item.outcome for item in _of_files(application, caller, request_id)] == ["deleted"]
    work(application, "worker-2")
    assert application.deletions.view(request_id, caller).state == "COMPLETED"


def _succeed_and_die(application: Application) -> None:
    from graph.propagation.work import Answer, judge  # noqa: PLC0415 - a worker's insides, step by step

    ledger = application.work
    for shard in range(application.settings.shards):
        lease = ledger.claim("files", shard, "worker-1")
        assert lease is not None
        for due in ledger.due(lease.store_id, lease.shard):
            (attempt,) = ledger.begin(lease, [due])
            claim = files_of(application).remove(attempt.locators[0])
            verdict = judge([Answer(claim, present=False)], attempts_before=attempt.attempts_before)
            assert ledger.complete(lease, [(attempt, verdict)]).outcome_ids == {due.outcome_id}


@pytest.mark.req("DEL-16")
def test_a_retry_makes_it_due_at_once_before_and_after_the_deadline(
    application: Application, caller: Caller, clock: ManualClock
):
    request_id = _request(application, caller)
    broken, store = faulty(application, unavailable)
    work(broken)
    work(broken)
    assert store.attempts == 1
    application.deletions.retry(request_id, caller)
    work(broken)
    assert store.attempts == 2
    clock.advance(DEADLINE)
    work(broken)
    assert application.deletions.view(request_id, caller).state == "CLOSED_WITH_OWNED_FAILURES"
    application.deletions.retry(request_id, caller)
    work(application)
    assert application.deletions.view(request_id, caller).state == "COMPLETED"


@pytest.mark.req("DEL-16", "DEL-11")
def test_a_retry_of_what_has_ended_well_changes_nothing(application: Application, caller: Caller):
    request_id = _request(application, caller)
    work(application)
    before = (outcomes_of(application, caller, request_id), application.deletions.receipt(request_id, caller))
    view = application.deletions.retry(request_id, caller)
    work(application)
    assert view.state == "COMPLETED"
    assert (outcomes_of(application, caller, request_id), application.deletions.receipt(request_id, caller)) == before


@pytest.mark.req("DEL-12", "DEL-16")
def test_a_second_request_does_not_hurry_the_schedule_of_the_first(
    application: Application, caller: Caller, clock: ManualClock
):
    (identity,) = register(application, caller, with_copy("r"))
    files_of(application).write("r.bin", b"a copy")
    first = application.deletions.file(by_ids(identity), caller, fresh_key())
    application.deletions.advance(first.request_id)
    broken, store = faulty(application, unavailable)
    work(broken)
    second = application.deletions.file(by_ids(identity), caller, fresh_key())
    assert second.request_id == first.request_id
    application.deletions.advance(second.request_id)
    work(broken)
    assert store.attempts == 1
    clock.advance(5)
    work(broken)
    assert store.attempts == 2
