"""Many outcomes at once: each gets its own answer, one that no call survives holds up no other, and the rate is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from graph.access import Caller
from graph.clock import ManualClock
from service.bootstrap import Application
from service.connectors.port import Claim, StoreUnavailable
from service.workers.worker import Worker
from tests.connectors.doubles import Passing
from tests.support.deletion import (
    delete,
    files_of,
    nodes,
    outcomes_of,
    register,
    with_connectors,
    with_copy,
    work,
)
from tests.support.records import record


def _with_copies(application: Application, caller: Caller, number: int) -> str:
    """A deletion of one record and its copies, all of which wait for a worker: the request's id."""
    (root,) = register(application, caller, record("r"))
    register(application, caller, *(with_copy(f"c{index}", "r") for index in range(number)))
    for index in range(number):
        files_of(application).write(f"c{index}.bin", b"a copy")
    return delete(application, caller, root).request_id


def _in_store(application: Application, caller: Caller, request_id: str) -> list[str | None]:
    return [one.outcome for one in outcomes_of(application, caller, request_id) if one.store == "files"]


@dataclass
class Counting(Passing):
    """Counts calls and the copies in them."""

    sizes: list[int] = field(default_factory=list)

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        self.sizes.append(len(locators))
        return self.real.delete(locators)


@dataclass
class Poisoned(Counting):
    """Has one copy at which the whole call hangs until it is given up."""

    poison: str = ""

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        self.sizes.append(len(locators))
        if self.poison in locators:
            raise StoreUnavailable("timed out")
        return self.real.delete(locators)


@dataclass
class OneFlag(Passing):
    """Answers one flag for a whole call, or an answer too few or too many."""

    answer: object = True

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        self.real.delete(locators)
        return self.answer  # type: ignore[return-value] - what it should not


@pytest.mark.req("DEL-14")
def test_calls_are_as_large_as_the_store_takes(application: Application, caller: Caller):
    request_id = _with_copies(application, caller, 250)
    store = Counting(files_of(application))
    work(with_connectors(application, files=store))
    assert _in_store(application, caller, request_id) == ["deleted"] * 250
    assert sum(store.sizes) == 250
    assert max(store.sizes) <= store.profile.batch_max
    assert len(nodes(application.database, "(n:Attempt)")) == 250
    assert application.deletions.view(request_id, caller).state == "COMPLETED"


@pytest.mark.req("DEL-06", "VER-03")
@pytest.mark.parametrize("answer", [True, "deleted", None, {"deleted": 3}, [Claim.DELETED], [Claim.DELETED] * 9])
def test_one_flag_for_many_is_an_answer_for_none(application: Application, caller: Caller, answer):
    request_id = _with_copies(application, caller, 8)
    work(with_connectors(application, files=OneFlag(files_of(application), answer)))
    found = [one for one in outcomes_of(application, caller, request_id) if one.store == "files"]
    alone = answer == [Claim.DELETED]
    # The copies are spread over shards: one that was alone in its call was answered for.
    settled = [one for one in found if one.outcome == "deleted"]
    assert len(settled) <= (4 if alone else 0)
    assert {(one.outcome, one.reason) for one in found if one not in settled} == {("failed", "STORE_UNAVAILABLE")}


@pytest.mark.req("DEL-14", "DEL-09")
def test_a_copy_that_no_call_survives_is_alone_in_the_end(application: Application, caller: Caller, clock: ManualClock):
    request_id = _with_copies(application, caller, 40)
    store = Poisoned(files_of(application), poison="tenant-a/c7.bin")
    ill = with_connectors(application, files=store)
    for _ in range(6):
        work(ill)
        clock.advance(1_800)
    found = _in_store(application, caller, request_id)
    assert sorted(found) == ["deleted"] * 39 + ["failed"]
    assert store.sizes[-1] == 1
    work(application)
    assert _in_store(application, caller, request_id) == ["deleted"] * 40


@pytest.mark.req("DEL-16")
def test_three_workers_together_keep_to_the_rate_of_a_store(
    application: Application, caller: Caller, clock: ManualClock
):
    """Five a second, and a second's worth at once in the beginning."""
    request_id = _with_copies(application, caller, 60)
    slow = _rated(application, 5)
    started = clock.now()
    tallies: list[tuple[float, int]] = []
    while (done := _in_store(application, caller, request_id).count("deleted")) < 60:
        for number in range(3):
            Worker(slow, f"worker-{number}").run_once()
        tallies.append(((clock.now() - started) / 1_000_000, done))
        clock.advance(0.1)
        assert len(tallies) < 200, "it comes to no end"
    assert all(done <= 5 + 5 * seconds for seconds, done in tallies)
    assert 10.5 <= tallies[-1][0] <= 11.5, "as fast as the rate allows"
    assert application.deletions.view(request_id, caller).state == "COMPLETED"


@pytest.mark.parametrize("seconds", [-3_600, 3_600])
def test_a_clock_that_jumps_neither_empties_nor_floods_the_rate(
    application: Application, caller: Caller, clock: ManualClock, seconds
):
    request_id = _with_copies(application, caller, 20)
    slow = _rated(application, 5)
    worker = Worker(slow, "worker-1")
    worker.drain_stores()
    assert _in_store(application, caller, request_id).count("deleted") == 5
    clock.advance(seconds)
    before = _in_store(application, caller, request_id).count("deleted")
    for _ in range(10):
        worker.drain_stores()
        clock.advance(1 if seconds < 0 else 0)
    assert _in_store(application, caller, request_id).count("deleted") - before == (0 if seconds < 0 else 5)


def _rated(application: Application, rate: int) -> Application:
    stores = dict(application.policy.stores)
    stores["files"] = stores["files"].model_copy(update={"rate_per_second": rate})
    return replace(application, policy=replace(application.policy, stores=stores))
