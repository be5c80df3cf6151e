"""A root folder that is gone, or another one in its place, proves nothing about copies, before and after a restart."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from graph.access import Caller
from graph.clock import ManualClock
from graph.errors import NotReady
from service.bootstrap import Application
from service.connectors.files import MARKER
from service.connectors.port import StoreUnavailable
from tests.support.deletion import by_ids, files_of, fresh_key, outcomes_of, register, with_copy, work

LOCATOR = "d/r.bin"


def _restarted(application: Application) -> None:
    """Start the service anew on the same database and folder, and let a worker do what is due, if it starts at all."""
    fresh = replace(application)
    with suppress(NotReady, StoreUnavailable):
        fresh.prepare()
        work(fresh)


def _of_files(application: Application, caller: Caller, request_id: str):
    (found,) = [item for item in outcomes_of(application, caller, request_id) if item.store == "files"]
    return found


@pytest.mark.req("DEL-25", "VER-03")
@pytest.mark.parametrize("tried_before", [True, False])
@pytest.mark.parametrize("instead", ["nothing", "an empty folder", "another store"])
def test_a_restart_without_the_disk_makes_no_copy_look_deleted(
    application: Application, caller: Caller, clock: ManualClock, instead, tried_before
):
    root = application.settings.files_store_root
    (identity,) = register(application, caller, with_copy("r", locator=LOCATOR))
    files_of(application).write(LOCATOR, b"a copy")
    elsewhere = root.rename(root.with_name("elsewhere"))
    request_id = application.deletions.file(by_ids(identity), caller, fresh_key()).request_id
    application.deletions.advance(request_id)
    if tried_before:
        work(application)
        assert _of_files(application, caller, request_id).reason == "STORE_UNAVAILABLE"
    if instead != "nothing":
        root.mkdir()
    if instead == "another store":
        (root / MARKER).touch()

    for _ in range(2):
        clock.advance(600)
        _restarted(application)

    assert (elsewhere / "tenant-a" / LOCATOR).read_bytes() == b"a copy"
    assert _of_files(application, caller, request_id).outcome in {None, "failed"}
    assert not application.deletions.view(request_id, caller).complete

    if root.exists():
        root.rename(root.with_name("not ours"))
    elsewhere.rename(root)
    clock.advance(3_600)
    application.prepare()
    work(application)
    found = _of_files(application, caller, request_id)
    assert (found.outcome, found.basis) == ("deleted", "store_answer")
    assert application.deletions.view(request_id, caller).state == "COMPLETED"
    assert list(root.rglob("*.bin")) == []


def test_a_restart_with_the_disk_changes_nothing(application: Application, caller: Caller):
    (identity,) = register(application, caller, with_copy("r", locator=LOCATOR))
    files_of(application).write(LOCATOR, b"a copy")
    fresh = replace(application)
    fresh.prepare()
    request_id = fresh.deletions.file(by_ids(identity), caller, fresh_key()).request_id
    fresh.deletions.advance(request_id)
    work(fresh)
    found = _of_files(fresh, caller, request_id)
    assert (found.outcome, found.basis) == ("deleted", "store_answer")
