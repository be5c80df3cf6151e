"""A request ends only behind its last derivative: every order of a slow or killed worker, a store and a released hold."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest

from graph.access import Caller
from graph.database.checker import check
from graph.deletion.model import RequestView
from service.bootstrap import Application
from service.workers.worker import Worker
from tests.support.deletion import (
    CANARY,
    Killed,
    by_ids,
    everything,
    files_of,
    fresh_key,
    hold,
    labels_of,
    outcome_table,
    register,
    tombstones,
    with_copy,
    work,
)
from tests.support.interleaved import interleaved
from tests.support.records import derived

CALLS_MAX = 60


def _with_a_child(application: Application, caller: Caller, name: str = "r") -> tuple[str, str, str]:
    """A record with a copy, a child with the text, and a filed request for the record: (record, child, request id)."""
    locator = f"{name}.bin"
    subject, child = register(
        application, caller, with_copy(name), derived(f"{name}/child", name, content={"text": CANARY})
    )
    files_of(application).write(locator, b"a copy")
    return subject, child, application.deletions.file(by_ids(subject), caller, fresh_key()).request_id


def _drain(application: Application) -> None:
    """The second half of a worker's round, by another worker."""
    worker = Worker(application, "worker-2")
    for shard in range(application.settings.shards):
        worker.drain("files", application.connectors["files"], shard)


def _clean(application: Application) -> bool:
    return not check(application.database, application.policy).findings


def _killed() -> None:
    raise Killed


@pytest.mark.req("DEL-07", "DEL-14")
def test_a_drained_store_ends_no_request_whose_derivatives_nobody_looked_for(application: Application, caller: Caller):
    """The first worker dies when the subject is gone and before the walk; the only open outcome is that of the copy."""
    subject, child, request_id = _with_a_child(application, caller)
    dying, _ = interleaved(application, _killed, name="expand_affected")
    with pytest.raises(Killed):
        dying.deletions.advance(request_id)
    assert tombstones(application.database) == {subject}

    _drain(application)

    view = application.deletions.view(request_id, caller)
    assert (view.state, view.complete, view.pending) == ("PROPAGATING", False, 0)
    assert request_id in application.deletions.unfinished()
    work(application)
    assert application.deletions.view(request_id, caller).state == "COMPLETED"
    assert outcome_table(application, caller, request_id) == {
        (subject, "graph"): "deleted",
        (subject, "files"): "deleted",
        (child, "graph"): "deleted",
    }
    assert CANARY not in everything(application.database)
    assert _clean(application)


@pytest.mark.req("DEL-07", "DEL-14")
def test_a_worker_that_is_slow_before_its_walk_is_not_overtaken(application: Application, caller: Caller):
    subject, child, request_id = _with_a_child(application, caller)
    seen: list[RequestView] = []

    def overtake() -> None:
        _drain(application)
        seen.append(application.deletions.view(request_id, caller))

    slow, _ = interleaved(application, overtake, name="expand_affected")
    ended = slow.deletions.advance(request_id)
    assert [(view.state, view.complete) for view in seen] == [("PROPAGATING", False)]
    assert (ended.state, ended.counts["deleted"]) == ("COMPLETED", 3)
    assert tombstones(application.database) == {subject, child}


@pytest.mark.req("DEL-07", "DEL-14")
def test_wherever_the_first_worker_dies_the_end_comes_behind_the_child(application: Application, caller: Caller):
    for dies_at in range(1, CALLS_MAX):
        _, child, request_id = _with_a_child(application, caller, f"r{dies_at}")
        dying, database = interleaved(application, _killed, call=dies_at)
        with suppress(Killed):
            dying.deletions.advance(request_id)
        _drain(application)
        gone = "Tombstone" in labels_of(application.database, child)
        assert gone or not application.deletions.view(request_id, caller).complete, dies_at
        work(application)
        assert application.deletions.view(request_id, caller).state == "COMPLETED", dies_at
        assert labels_of(application.database, child) == ["Identity", "Tombstone"], dies_at
        if not database.acted:
            assert dies_at > 10
            return
    raise AssertionError("a request with two records never came to its end")


def _held(application: Application, caller: Caller, name: str = "r") -> tuple[str, str, str]:
    """A filed request that a hold on its only derivative keeps from ending: (child, hold id, request id)."""
    _, child, request_id = _with_a_child(application, caller, name)
    return child, hold(application, caller, child).hold_id, request_id


def _released_to_the_end(application: Application, caller: Caller, child: str, request_id: str) -> None:
    work(application)
    view = application.deletions.view(request_id, caller)
    assert (view.state, view.counts["deleted"], view.counts["retained_under_exception"]) == ("COMPLETED", 3, 0)
    assert labels_of(application.database, child) == ["Identity", "Tombstone"]
    assert application.deletions.unfinished() == []


@pytest.mark.req("DEL-10", "EXC-06")
def test_a_hold_released_in_the_moment_of_the_end_is_not_lost(application: Application, caller: Caller):
    child, hold_id, request_id = _held(application, caller)
    application.deletions.advance(request_id)
    _drain(application)
    application.holds.release(hold_id, caller)
    second = hold(application, caller, child).hold_id
    other, database = interleaved(
        application, lambda: application.holds.release(second, caller), name="mark_request_finished"
    )
    other.deletions.advance(request_id)
    assert database.acted
    _released_to_the_end(application, caller, child, request_id)
    assert [entry.state for entry in application.holds.exceptions(caller).items if entry.state == "open"] == []
    assert CANARY not in everything(application.database)
    assert _clean(application)


@pytest.mark.req("DEL-10", "EXC-06")
def test_a_store_drained_after_the_release_does_not_end_the_request_without_the_record(
    application: Application, caller: Caller
):
    child, hold_id, request_id = _held(application, caller)
    application.deletions.advance(request_id)
    application.holds.release(hold_id, caller)
    _drain(application)
    assert not application.deletions.view(request_id, caller).complete
    assert application.deletions.unfinished() == [request_id]
    _released_to_the_end(application, caller, child, request_id)
    assert CANARY not in everything(application.database)


@pytest.mark.req("DEL-10", "EXC-06")
def test_a_hold_may_be_released_before_any_call_of_the_run(application: Application, caller: Caller):
    for number in range(1, CALLS_MAX):
        child, hold_id, request_id = _held(application, caller, f"r{number}")
        other, database = interleaved(application, partial(application.holds.release, hold_id, caller), call=number)
        other.deletions.advance(request_id)
        if not database.acted:
            assert number > 10
            return
        _released_to_the_end(application, caller, child, request_id)
    raise AssertionError("a request with a held record never came to rest")


@pytest.mark.req("DEL-10", "EXC-06")
def test_a_hold_may_be_released_before_any_call_of_a_drain(application: Application, caller: Caller):
    one = replace(application, settings=application.settings.model_copy(update={"shards": 1}))
    for number in range(1, CALLS_MAX):
        child, hold_id, request_id = _held(one, caller, f"r{number}")
        one.deletions.advance(request_id)
        other, database = interleaved(one, partial(one.holds.release, hold_id, caller), call=number)
        _drain(other)
        if not database.acted:
            assert number > 5
            return
        _released_to_the_end(one, caller, child, request_id)
    raise AssertionError("a drain of one copy never came to its end")
