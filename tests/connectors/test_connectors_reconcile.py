"""Reconciliation finds exactly what one side alone knows, however much, and nothing that a writer is at work on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from service.connectors.port import StoreUnavailable
from service.connectors.reconcile import LISTED_MAX, Gap, reconcile
from tests.connectors.doubles import Passing
from tests.support.deletion import delete, files_of, placed, register, with_copy, work
from tests.support.records import record


def compared(application, connector=None):
    return reconcile("files", connector or application.connectors["files"], application.stores)


@pytest.mark.req("DEL-02")
def test_what_one_side_alone_knows_is_named(application, caller):
    register(application, caller, *(with_copy(name) for name in ("both", "gone", "never")))
    files = files_of(application)
    for name in ("both", "gone", "stray", "another stray"):
        files.write(f"{name}.bin", b"a copy")
    files.remove("gone.bin")
    found = compared(application)
    assert (found.held, found.registered, found.agrees) == (3, 3, False)
    assert sorted(found.unregistered.locators) == [placed("another stray.bin"), placed("stray.bin")]
    assert found.missing.locators == [placed("gone.bin"), placed("never.bin")]


def test_both_know_the_same_before_and_after_a_deletion(application, caller):
    (root,) = register(application, caller, record("r"))
    register(application, caller, *(with_copy(f"c{number}", "r") for number in range(5)))
    for number in range(5):
        files_of(application).write(f"c{number}.bin", b"a copy")
    assert compared(application).agrees
    delete(application, caller, root)
    work(application)
    after = compared(application)
    assert (after.held, after.registered, after.agrees) == (0, 0, True)


def test_what_changes_meanwhile_is_no_difference(application, caller):
    """A copy that is registered while the store is listed, and one that is deleted."""
    (late, doomed) = register(application, caller, with_copy("late"), with_copy("doomed"))
    files = files_of(application)
    files.write("doomed.bin", b"a copy")
    assert late != doomed

    @dataclass
    class Busy(Passing):
        looks: list[int] = field(default_factory=list)

        def locators(self) -> Iterator[str]:
            found = list(self.real.locators())
            files.write("new.bin", b"a copy")
            register(application, caller, with_copy("new"))
            files.write("late.bin", b"a copy")
            yield from [*found, placed("new.bin")]

    assert compared(application, Busy(application.connectors["files"])).agrees


def test_pages_are_whole(application, caller, monkeypatch):
    monkeypatch.setattr("graph.propagation.stores.LOCATOR_ROWS", 7)
    monkeypatch.setattr("service.connectors.reconcile.LOCATOR_ROWS", 5)
    register(application, caller, *(with_copy(f"c{number:02}") for number in range(28)))
    for number in range(0, 28, 2):
        files_of(application).write(f"c{number:02}.bin", b"a copy")
    found = compared(application)
    assert (found.held, found.registered, found.unregistered.count) == (14, 28, 0)
    assert found.missing.locators == [placed(f"c{number:02}.bin") for number in range(1, 28, 2)]


def test_more_than_are_listed_are_counted():
    gap = Gap()
    gap.add(str(number) for number in range(LISTED_MAX))
    assert (gap.count, len(gap.locators)) == (LISTED_MAX, LISTED_MAX)
    gap.add(["one more"])
    assert (gap.count, len(gap.locators)) == (LISTED_MAX + 1, LISTED_MAX)


def test_a_store_out_of_reach_is_no_empty_store(application):
    application.settings.files_store_root.rename(application.settings.files_store_root.with_name("elsewhere"))
    with pytest.raises(StoreUnavailable):
        compared(application)


def test_the_state_of_a_store_is_told(application, caller, clock):
    (root,) = register(application, caller, with_copy("r"))
    before = {one.store_id: one for one in application.stores.status()}
    assert (before["files"].pending, before["files"].verified_at) == (0, None)
    delete(application, caller, root)
    waiting = {one.store_id: one for one in application.stores.status()}["files"]
    assert (waiting.pending, waiting.due, waiting.oldest_due_at) == (1, 1, clock.now())
    clock.advance(3)
    work(application)
    after = {one.store_id: one for one in application.stores.status()}["files"]
    assert (after.pending, after.due, after.oldest_due_at, after.verified_at) == (0, 0, None, clock.now())
    assert set(before) == set(application.policy.stores) - {"graph"}
