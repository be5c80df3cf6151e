"""Killed at every statement, before and after its effect: whoever carries on comes to the same end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from graph.access import Caller
from graph.clock import ManualClock
from service.bootstrap import Application
from tests.support.deletion import (
    DyingDatabase,
    Killed,
    abandoned,
    by_ids,
    files_of,
    hold,
    labels_of,
    outcomes_of,
    register,
    with_copy,
    work,
)
from tests.support.records import derived, record

LEASE_SECONDS = 31
STATEMENTS_MAX = 80
Step = Callable[[Application], object]


def _end(application: Application, caller: Caller, names: dict[str, str]) -> object:
    """What a fault may not change: outcomes by name, labels, request state, exception ledger, files."""
    known = {identity: name for name, identity in names.items()}
    (request_id,) = [
        row.text("id") for row in application.database.administer("MATCH (q:Request) RETURN q.requestId AS id")
    ]
    view = application.deletions.view(request_id, caller)
    outcomes = sorted(
        (known[item.identity], item.store, item.outcome, item.rule_id, item.depth, item.state, item.history)
        for item in outcomes_of(application, caller, request_id)
    )
    labels = {name: labels_of(application.database, identity) for name, identity in names.items()}
    ledger = sorted(
        (known[entry.identity], entry.store, entry.reason, entry.state)
        for entry in application.holds.exceptions(caller).items
    )
    root = application.settings.files_store_root
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*.bin"))
    return view.state, dict(view.counts), outcomes, labels, ledger, files


def _graph(application: Application, caller: Caller) -> dict[str, str]:
    """A little of everything, on an empty graph: support, a hold, a copy, a store without a connector."""
    application.database.administer(
        "MATCH (n) WHERE NOT n:SchemaVersion AND NOT n:Store AND NOT n:Policy AND NOT n:Journal DETACH DELETE n"
    )
    stated = {
        "r": record("r"),
        "manual": record("manual"),
        "s": derived("s", "r", "manual"),
        "held": derived("held", "r"),
        "t": derived("t", "s"),
        "copy": with_copy("copy", "r"),
        "stuck": derived("stuck", "r", stores=[{"storeId": "vector_index", "locator": "v1"}]),
    }
    names = dict(zip(stated, register(application, caller, *stated.values()), strict=True))
    files_of(application).write("copy.bin", b"a copy")
    hold(application, caller, names["held"])
    return names


def _killed_everywhere(
    application: Application, caller: Caller, clock: ManualClock, prepare: Step, step: Step, *, after: bool
) -> list[object]:
    """The ends of runs whose `step` was killed at its first, second, … statement, and carried on with afterwards."""
    ends: list[object] = []
    for dies_at in range(1, STATEMENTS_MAX):
        names = _graph(application, caller)
        prepare(application)
        dying = DyingDatabase(application.database, dies_at, after=after)
        with suppress(Killed):
            step(replace(application, database=dying))
        clock.advance(LEASE_SECONDS)
        work(application, "worker-2")
        assert abandoned(application.database) == []
        ends.append(_end(application, caller, names))
        if not dying.died:
            return ends
    raise AssertionError("the step never came to its end")


EXPECTED_COUNTS = {"deleted": 5, "invalidated": 1, "not_found": 0, "retained_under_exception": 1, "failed": 1}


@pytest.fixture
def application(application: Application) -> Application:
    """With one shard, so that a worker's round has few statements."""
    return replace(application, settings=application.settings.model_copy(update={"shards": 1}))


def _file(application: Application, caller: Caller) -> str:
    root = application.keys.identity(caller.tenant_id, "r")
    return application.deletions.file(by_ids(root), caller, "one-key").request_id


@pytest.mark.req("DEL-03", "DEL-05", "DEL-07", "DEL-14", "DEL-11", "LIN-11")
@pytest.mark.parametrize("after", [False, True], ids=["before-the-effect", "after-the-effect"])
def test_a_run_killed_at_any_statement_ends_like_one_that_was_not(
    application: Application, caller: Caller, clock: ManualClock, after
):
    ends = _killed_everywhere(
        application,
        caller,
        clock,
        prepare=lambda whole: _file(whole, caller),
        step=lambda dying: dying.deletions.advance(_only_request(application)),
        after=after,
    )
    assert len(ends) > 15
    state, counts, outcomes, labels, ledger, files = ends[-1]
    assert (state, counts, files) == ("CLOSED_WITH_OWNED_FAILURES", EXPECTED_COUNTS, [])
    assert [name for name, found in labels.items() if "Tombstone" in found] == ["r", "t", "copy", "stuck"]
    assert ledger == [
        ("held", "graph", "legal_hold", "open"),
        ("stuck", "vector_index", "STORE_UNAVAILABLE", "open"),
    ]
    assert len(outcomes) == 8
    for number, end in enumerate(ends, start=1):
        assert end == ends[-1], f"killed at statement {number}"


def _only_request(application: Application) -> str:
    (request_id,) = application.deletions.unfinished()
    return request_id


@pytest.mark.req("DEL-03", "DEL-11")
@pytest.mark.parametrize("after", [False, True], ids=["before-the-effect", "after-the-effect"])
def test_a_filing_that_was_killed_and_is_repeated_makes_one_request(application: Application, caller: Caller, after):
    (root,) = register(application, caller, record("r"))
    for dies_at in range(1, STATEMENTS_MAX):
        dying = DyingDatabase(application.database, dies_at, after=after)
        key = f"key-{dies_at}"
        try:
            first = replace(application, database=dying).deletions.file(by_ids(root), caller, key)
        except Killed:
            first = application.deletions.file(by_ids(root), caller, key)
        assert application.deletions.file(by_ids(root), caller, key) == first
        rows = application.database.administer("MATCH (q:Request) RETURN q.requestId AS id")
        assert [row.text("id") for row in rows] == [first.request_id]
        if not dying.died:
            return
    raise AssertionError("the filing never came to its end")


@pytest.mark.req("DEL-14", "DEL-16", "DEL-25")
@pytest.mark.parametrize("after", [False, True], ids=["before-the-effect", "after-the-effect"])
def test_a_worker_killed_at_any_statement_ends_like_one_that_was_not(
    application: Application, caller: Caller, clock: ManualClock, after
):
    """A copy that is gone by an attempt nobody heard of counts as deleted, never as not found."""
    ends = _killed_everywhere(
        application,
        caller,
        clock,
        prepare=lambda whole: whole.deletions.advance(_file(whole, caller)),
        step=lambda dying: work(dying, "worker-1"),
        after=after,
    )
    assert ends[-1][:2] == ("CLOSED_WITH_OWNED_FAILURES", EXPECTED_COUNTS)
    for number, end in enumerate(ends, start=1):
        assert end == ends[-1], f"killed at statement {number}"


@pytest.mark.req("EXC-06", "DEL-14")
@pytest.mark.parametrize("after", [False, True], ids=["before-the-effect", "after-the-effect"])
def test_what_a_released_hold_resumes_may_be_killed_too(
    application: Application, caller: Caller, clock: ManualClock, after
):
    def prepare(whole: Application) -> None:
        whole.deletions.advance(_file(whole, caller))
        work(whole, "worker-1")

    def release_and_run(dying: Application) -> None:
        (held,) = [row.text("id") for row in application.database.administer("MATCH (h:Hold) RETURN h.holdId AS id")]
        dying.holds.release(held, caller)
        for request_id in dying.deletions.unfinished():
            dying.deletions.advance(request_id)

    def released(dying: Application) -> None:
        try:
            release_and_run(dying)
        finally:
            (held,) = [r.text("id") for r in application.database.administer("MATCH (h:Hold) RETURN h.holdId AS id")]
            application.holds.release(held, caller)

    ends = _killed_everywhere(application, caller, clock, prepare=prepare, step=released, after=after)
    state, counts, outcomes, *_ = ends[-1]
    assert state == "CLOSED_WITH_OWNED_FAILURES"
    assert counts == EXPECTED_COUNTS | {"deleted": 6, "retained_under_exception": 0}
    assert (
        "held",
        "graph",
        "deleted",
        "deletion/document/alone",
        1,
        "settled",
        ("retained_under_exception",),
    ) in outcomes
    for number, end in enumerate(ends, start=1):
        assert end == ends[-1], f"killed at statement {number}"


@pytest.mark.req("DEL-05")
def test_content_and_tombstone_change_in_one_transaction(application: Application, caller: Caller):
    """At no instant is there neither, or a claim of deletion beside the content."""
    seen: set[tuple[tuple[str, ...], bool, bool]] = set()

    class Watching(DyingDatabase):
        def _counted(self) -> bool:
            rows = application.database.administer(
                "MATCH (n:Identity {identity: $r}) RETURN labels(n) AS labels, n.content IS NOT NULL AS content,"
                " EXISTS { (n)<-[:OUTCOME_FOR]-(:Outcome) } AS outcome",
                r=root,
            )
            seen.update((tuple(sorted(r.texts("labels"))), r.truth("content"), r.truth("outcome")) for r in rows)
            return False

    (root,) = register(application, caller, record("r", content="text"))
    filed = _file(application, caller)
    replace(application, database=Watching(application.database, 0, after=False)).deletions.advance(filed)
    assert seen == {(("Identity", "Record"), True, False), (("Identity", "Tombstone"), False, True)}
