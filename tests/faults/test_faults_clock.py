"""Clocks that jump: the end is right, nothing takes less than no time, and no lease is held for ever."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from graph.clock import instant_from_text
from tests.connectors.doubles import Passing
from tests.support.deletion import by_ids, files_of, fresh_key, outcome_table, register, with_copy, work
from tests.support.records import derived, record

HOUR, YEAR = 3_600, 366 * 86_400
SPANS = (
    "MATCH (q:Request) RETURN q.receivedAt AS first, q.finishedAt AS last UNION ALL"
    " MATCH (a:Attempt) RETURN a.startedAt AS first, a.finishedAt AS last"
)


class Jumping(Passing):
    """The real files store; the clock jumps during its deletion."""

    def __init__(self, files, jump):
        super().__init__(files)
        self._jump = jump

    def delete(self, locators):
        self._jump()
        return self.real.delete(locators)


@pytest.mark.req("DEL-14")
@pytest.mark.parametrize("seconds", [-HOUR, YEAR], ids=["back-an-hour", "on-a-year"])
@pytest.mark.parametrize("when", ["filed", "advanced", "attempted"])
def test_a_jump_changes_no_end(application, caller, clock, seconds, when):
    known = register(application, caller, record("r"), with_copy("copy", "r"), derived("d", "copy"))
    files_of(application).write("copy.bin", b"a copy")
    filed = application.deletions.file(by_ids(known[0]), caller, fresh_key()).request_id
    if when == "filed":
        clock.advance(seconds)
    application.deletions.advance(filed)
    if when == "advanced":
        clock.advance(seconds)
    one = replace(application)
    if when == "attempted":
        files = files_of(application)
        one.__dict__["connectors"] = {"files": Jumping(files, lambda: clock.advance(seconds))}
    work(one)
    # What was due by the clock of before is due again when that time has come again.
    clock.advance(HOUR)
    work(application)
    view = application.deletions.view(filed, caller)
    assert (view.state, view.complete) == ("COMPLETED", True)
    assert outcome_table(application, caller, filed) == {
        (known[0], "graph"): "deleted",
        (known[1], "graph"): "deleted",
        (known[1], "files"): "deleted",
        (known[2], "graph"): "deleted",
    }
    spans = [(row.number("first"), row.number("last")) for row in application.database.administer(SPANS)]
    assert [span for span in spans if span[1] < span[0]] == []
    receipt = json.loads(application.deletions.receipt(filed, caller))
    assert instant_from_text(receipt["receivedAt"]) <= instant_from_text(receipt["finishedAt"])


@pytest.mark.req("DEL-16")
def test_a_lease_that_was_taken_by_a_clock_a_year_ahead_is_not_held_for_a_year(application, clock):
    clock.advance(YEAR)
    ahead = application.work.claim("files", 0, "ahead")
    clock.advance(-YEAR)
    taken = application.work.claim("files", 0, "another")
    assert ahead is not None
    assert taken is not None
    assert taken.epoch == ahead.epoch + 1


def test_a_clock_that_is_a_little_behind_does_not_take_a_lease(application, clock):
    held = application.work.claim("files", 0, "first")
    clock.advance(-1)
    assert held is not None
    assert application.work.claim("files", 0, "another") is None
