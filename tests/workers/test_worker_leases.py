"""Leases on shards of a store: one holder at a time, and what an old holder still answers changes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from graph.access import Caller
from graph.clock import ManualClock
from graph.propagation.work import Answer, DueOutcome, Lease, judge
from service.bootstrap import Application
from service.workers.worker import WorkerThreads
from tests.support.deletion import (
    by_ids,
    delete,
    faulty,
    files_of,
    fresh_key,
    nodes,
    outcomes_of,
    register,
    with_copy,
    work,
)
from tests.support.records import derived, record

LEASE_SECONDS = 30
GONE = judge([Answer("deleted", present=False)], attempts_before=0)
FAILED = judge([Answer(None, present=None, error=True)], attempts_before=0)


def _due(application: Application, caller: Caller) -> tuple[str, Lease, DueOutcome]:
    """A request with one copy to delete, its shard leased to worker-1."""
    (identity,) = register(application, caller, with_copy("r"))
    files_of(application).write("r.bin", b"a copy")
    request_id = delete(application, caller, identity).request_id
    for shard in range(application.settings.shards):
        lease = application.work.claim("files", shard, "worker-1")
        assert lease is not None
        for due in application.work.due(lease.store_id, lease.shard):
            return request_id, lease, due
    raise AssertionError("nothing is due")


def _store_outcome(application: Application, caller: Caller, request_id: str):
    (found,) = [item for item in outcomes_of(application, caller, request_id) if item.store == "files"]
    return found


@pytest.mark.req("DEL-14")
def test_a_lease_keeps_others_out_until_it_runs_out(application: Application, clock: ManualClock):
    first = application.work.claim("files", 0, "worker-1")
    assert first is not None
    assert application.work.claim("files", 0, "worker-2") is None
    assert application.work.claim("files", 1, "worker-2") is not None
    clock.advance(LEASE_SECONDS - 0.001)
    assert application.work.claim("files", 0, "worker-2") is None
    clock.advance(0.001)
    second = application.work.claim("files", 0, "worker-2")
    assert second is not None
    assert second.epoch == first.epoch + 1
    assert application.work.claim("files", 0, "worker-1") is None


@pytest.mark.req("DEL-14")
def test_the_same_holder_renews_under_the_same_epoch(application: Application, clock: ManualClock):
    first = application.work.claim("files", 0, "worker-1")
    clock.advance(LEASE_SECONDS - 1)
    renewed = application.work.claim("files", 0, "worker-1")
    assert renewed == first
    clock.advance(LEASE_SECONDS - 1)
    assert application.work.claim("files", 0, "worker-2") is None


def test_of_twenty_that_claim_at_once_one_gets_it(application: Application):
    with ThreadPoolExecutor(20) as pool:
        leases = list(pool.map(lambda number: application.work.claim("files", 0, f"w{number}"), range(20)))
    assert len([lease for lease in leases if lease is not None]) == 1


@pytest.mark.req("DEL-14")
@pytest.mark.parametrize("verdict", [GONE, FAILED], ids=["gone", "failed"])
def test_what_a_holder_answers_after_another_took_over_changes_nothing(
    application: Application, caller: Caller, clock: ManualClock, verdict
):
    request_id, old, due = _due(application, caller)
    (attempt,) = application.work.begin(old, [due])
    clock.advance(LEASE_SECONDS)
    assert application.work.claim(old.store_id, old.shard, "worker-2") is not None
    before = nodes(application.database)

    assert application.work.complete(old, [(attempt, verdict)]).outcome_ids == frozenset()

    assert nodes(application.database) == before
    assert _store_outcome(application, caller, request_id).outcome is None


@pytest.mark.req("DEL-14")
def test_an_old_holder_cannot_begin_either(application: Application, caller: Caller, clock: ManualClock):
    _, old, due = _due(application, caller)
    clock.advance(LEASE_SECONDS)
    assert application.work.begin(old, [due]) == [], "the lease ran out, though nobody else has it yet"
    assert application.work.claim(old.store_id, old.shard, "worker-2") is not None
    assert application.work.begin(old, [due]) == []
    assert nodes(application.database, "(n:Attempt)") == []


@pytest.mark.req("DEL-14", "DEL-25")
def test_the_new_holder_sees_that_an_attempt_began_and_never_ended(
    application: Application, caller: Caller, clock: ManualClock
):
    request_id, old, due = _due(application, caller)
    assert application.work.begin(old, [due])
    files_of(application).remove("r.bin")
    work(application, "worker-2")
    assert _store_outcome(application, caller, request_id).outcome is None, "the lease still holds"
    clock.advance(LEASE_SECONDS)
    work(application, "worker-2")
    found = _store_outcome(application, caller, request_id)
    assert (found.outcome, found.basis, found.attempts) == ("deleted", "absent_after_started_attempt", 2)


@pytest.mark.req("DEL-14")
def test_a_settled_outcome_is_not_attempted_again(application: Application, caller: Caller):
    request_id, lease, due = _due(application, caller)
    (attempt,) = application.work.begin(lease, [due])
    assert application.work.complete(lease, [(attempt, GONE)]).outcome_ids == {due.outcome_id}
    before = _store_outcome(application, caller, request_id)
    assert application.work.begin(lease, [due]) == []
    assert application.work.complete(lease, [(attempt, FAILED)]).outcome_ids == frozenset()
    assert _store_outcome(application, caller, request_id) == before


@pytest.mark.req("DEL-24")
def test_derivatives_registered_while_workers_run_are_refused_or_have_an_outcome(
    application: Application, caller: Caller
):
    rounds = 12
    roots = register(application, caller, *(record(f"r{number}") for number in range(rounds)))
    threads = WorkerThreads(application, 2)
    threads.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            filings = [pool.submit(application.deletions.file, by_ids(root), caller, fresh_key()) for root in roots]
            writes = [
                pool.submit(application.registrar.register, [derived(f"d{number}-{turn}", f"r{number}")], caller)
                for turn in range(4)
                for number in range(rounds)
            ]
            requests = [filing.result().request_id for filing in filings]
            results = [result for write in writes for result in write.result()]
    finally:
        threads.stop()
    work(application)
    assert {application.deletions.view(request_id, caller).state for request_id in requests} == {"COMPLETED"}
    assert {result.code for result in results if result.status == "refused"} <= {"SOURCE_FENCED", "TOMBSTONE_BLOCKED"}
    rows = application.database.administer(
        "MATCH (d:Record)-[:SUMMARIZED_FROM]->() WHERE NOT EXISTS { (d)<-[:OUTCOME_FOR]-(:Outcome) } RETURN d.identity"
    )
    assert rows == []


@pytest.mark.req("DEL-14")
def test_one_request_that_cannot_go_on_does_not_keep_the_others_back(application: Application, caller: Caller):
    stuck, fine = register(application, caller, record("stuck"), record("fine"))
    lost = application.deletions.file(by_ids(stuck), caller, fresh_key())
    filed = application.deletions.file(by_ids(fine), caller, fresh_key())
    application.database.administer(
        "MATCH (q:Request {requestId: $id}) SET q.requesterRoles = ['no-such-role']", id=lost.request_id
    )
    broken, _ = faulty(application)
    work(broken)
    assert application.deletions.view(filed.request_id, caller).state == "COMPLETED"
