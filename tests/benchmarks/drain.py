"""What the ledger of work costs a derivative, beside a store that answers at once, and in all beside a raw client."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from graph.access import Caller
from graph.deletion.model import DeletionInput
from graph.envelope import RecordInput
from service.bootstrap import Application
from service.connectors.port import Claim
from service.workers.worker import Worker
from tests.connectors.doubles import Passing
from tests.support.records import derived, record

SIZES: Final = (1_000, 10_000)
WORKERS: Final = 2
BATCH: Final = 1_000


class Instant(Passing):
    """Has every copy until it is asked to delete it; no time is spent in it."""

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        return [Claim.DELETED] * len(locators)

    def present(self, locators: Sequence[str]) -> list[bool]:
        return [False] * len(locators)


def run_drain(application: Application, caller: Caller) -> Iterator[str]:
    """Attempts written, store asked, outcomes settled, request ended; two workers."""
    instant = replace(application)
    instant.__dict__["connectors"] = {"files": Instant(application.connectors["files"])}
    drain(instant, copies_deleted(instant, caller, 500, "warm"))
    for size in SIZES:
        request_id = copies_deleted(instant, caller, size, f"root-{size}")
        seconds = drain(instant, request_id)
        each = f"{seconds * 1_000 / size:.2f} ms each"
        yield f"| ledger of {size:,} copies in a store that answers at once | {seconds:,.1f} s, {each} | | | |"


def copies_deleted(application: Application, caller: Caller, size: int, name: str) -> str:
    """A deletion whose copies in the files store all wait for a worker: the request's id."""
    root = application.registrar.register([record(name)], caller)[0].identity
    assert root is not None
    for start in range(0, size, BATCH):
        ends = range(start, min(start + BATCH, size))
        results = application.registrar.register([_copy(name, number) for number in ends], caller)
        assert all(one.status == "created" for one in results)
    subject = DeletionInput.model_validate({"subject": {"recordIds": [root]}})
    filed = application.deletions.file(subject, caller, name)
    return application.deletions.advance(filed.request_id).request_id


def _copy(root: str, number: int) -> RecordInput:
    return derived(f"{root}-{number}", root, stores=[{"storeId": "files", "locator": f"{root}/{number}"}])


def drain(application: Application, request_id: str) -> float:
    """Seconds until the request has ended; two workers do nothing but the work in stores."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(Worker(application, f"{request_id}-{number}"), ended))
        for number in range(WORKERS)
    ]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    while application.deletions.ledger.load(request_id).finished_at is None:
        time.sleep(0.05)
    taken = time.perf_counter() - started
    ended.set()
    for thread in threads:
        thread.join()
    return taken


def _work(worker: Worker, ended: threading.Event) -> None:
    while not ended.is_set():
        if not worker.drain_stores():
            ended.wait(0.02)
