"""Requests that cannot go on keep no later one back: neither those that wait for a store nor those that are stuck."""

from __future__ import annotations

import pytest

import graph.deletion.deletions as deletions_module
from graph.access import Caller
from graph.clock import ManualClock
from service.bootstrap import Application
from service.workers.worker import Worker
from tests.support.deletion import (
    CANARY,
    by_ids,
    everything,
    faulty,
    files_of,
    fresh_key,
    register,
    unavailable,
    with_copy,
    work,
)
from tests.support.interleaved import interleaved
from tests.support.records import derived, record

BOUND = 3


@pytest.fixture
def bound(monkeypatch):
    """So few requests in one look at the unfinished that a handful of them is a backlog."""
    monkeypatch.setattr(deletions_module, "UNFINISHED_MAX", BOUND)


def _filed(application: Application, caller: Caller, clock: ManualClock, identity: str) -> str:
    clock.advance(0.001)
    return application.deletions.file(by_ids(identity), caller, fresh_key()).request_id


def _waiting(
    application: Application, caller: Caller, clock: ManualClock, number: int
) -> tuple[Application, list[str]]:
    """Requests whose copies lie in a store that is down, each carried as far as it goes."""
    identities = register(application, caller, *(with_copy(f"s{turn}") for turn in range(number)))
    for turn in range(number):
        files_of(application).write(f"s{turn}.bin", b"a copy")
    down, _ = faulty(application, unavailable)
    requests = [_filed(application, caller, clock, identity) for identity in identities]
    for _ in range(number):
        Worker(down, "worker-1").run_once()
    assert {application.deletions.view(one, caller).state for one in requests} == {"RETRYING"}
    return down, requests


@pytest.mark.req("DEL-14", "DEL-16")
def test_what_waits_for_a_store_that_is_down_keeps_no_later_request_back(
    application: Application, caller: Caller, clock: ManualClock, bound
):
    down, waiting = _waiting(application, caller, clock, BOUND + 2)
    late, _ = register(application, caller, record("late", content=CANARY), derived("made", "late", content=CANARY))
    request_id = _filed(application, caller, clock, late)
    Worker(down, "worker-1").run_once()
    assert application.deletions.view(request_id, caller).state == "COMPLETED"
    assert CANARY not in everything(application.database)
    clock.advance(30)
    work(application)
    assert {application.deletions.view(one, caller).state for one in waiting} == {"COMPLETED"}


@pytest.mark.req("DEL-16")
def test_what_waits_for_a_store_costs_an_idle_round_nothing(
    application: Application, caller: Caller, clock: ManualClock
):
    down, _ = _waiting(application, caller, clock, 2)
    assert application.deletions.unfinished() == []
    counted, calls = interleaved(down, lambda: None, call=0)
    worker = Worker(counted, "worker-1")
    assert worker.advance_requests() == 0
    # One look at the mark of the journal, and one for what is unfinished.
    assert (calls.calls, calls.acted) == (2, False)


@pytest.mark.req("DEL-14")
def test_requests_that_are_stuck_keep_no_later_one_back(
    application: Application, caller: Caller, clock: ManualClock, bound
):
    """Stuck: an operation used the record, and nothing says what came of it, so the request cannot end."""
    stuck = register(application, caller, *(record(f"s{turn}") for turn in range(BOUND + 2)))
    for identity in stuck:
        application.database.administer(
            "MATCH (n:Identity {identity: $id}) CREATE (:Operation {operationId: $id})-[:USED]->(n)", id=identity
        )
    requests = [_filed(application, caller, clock, identity) for identity in stuck]
    for request_id in requests:
        application.deletions.advance(request_id)
    (late,) = register(application, caller, record("late", content=CANARY))
    request_id = _filed(application, caller, clock, late)
    for _ in range(3):
        Worker(application, "worker-1").run_once()
    assert {application.deletions.view(one, caller).reason for one in requests} == {"DOWNSTREAM_NOT_ENUMERABLE"}
    assert application.deletions.view(request_id, caller).state == "COMPLETED"
    assert CANARY not in everything(application.database)


@pytest.mark.req("DEL-14")
def test_requests_that_break_keep_no_later_one_back(
    application: Application, caller: Caller, clock: ManualClock, bound
):
    broken = register(application, caller, *(record(f"s{turn}") for turn in range(BOUND + 2)))
    for identity in broken:
        request_id = _filed(application, caller, clock, identity)
        application.database.administer(
            "MATCH (q:Request {requestId: $id}) SET q.requesterRoles = ['no-such-role']", id=request_id
        )
    (late,) = register(application, caller, record("late"))
    request_id = _filed(application, caller, clock, late)
    for _ in range(3):
        Worker(application, "worker-1").run_once()
    assert application.deletions.view(request_id, caller).state == "COMPLETED"


def test_a_backlog_is_worked_off_oldest_first_to_its_end(
    application: Application, caller: Caller, clock: ManualClock, bound
):
    identities = register(application, caller, *(record(f"r{turn}") for turn in range(2 * BOUND + 1)))
    requests = [_filed(application, caller, clock, identity) for identity in identities]
    work(application)
    assert {application.deletions.view(one, caller).state for one in requests} == {"COMPLETED"}
