"""Workers: carry requests forward in the graph, and attempt what is due in the stores."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from graph.errors import InvalidInput, Unavailable
from graph.propagation.work import Answer, DueOutcome, Lease, Work, judge
from service.bootstrap import Application
from service.connectors.port import Connector, StoreUnavailable
from service.telemetry import EventLog, event_log, exception_fields

IDLE_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Worker:
    """One worker. `holder` names it in leases; two workers never share a name."""

    application: Application
    holder: str

    @cached_property
    def events(self) -> EventLog:
        """Where the worker writes what went wrong, content-free."""
        return event_log(self.application.clock)

    @property
    def work(self) -> Work:
        """The ledger of work."""
        return self.application.work

    def run_once(self) -> int:
        """Advance every unfinished request, then attempt what is due; answers how much was done."""
        return self.advance_requests() + self.drain_stores()

    def drain_stores(self) -> int:
        """Attempt what is due in every store; answers the number of attempts."""
        done = 0
        for store_id, connector in self.application.connectors.items():
            for shard in range(self.application.settings.shards):
                done += self.drain(store_id, connector, shard)
        return done

    def advance_requests(self) -> int:
        """Advance every unfinished request; one that fails does not keep the others back.

        An entry of the journal whose transaction was rolled back is gone through first.
        """
        self.application.restorer.catch_up()
        advanced = 0
        for request_id in self.application.deletions.unfinished():
            try:
                before = self.application.deletions.ledger.load(request_id).state
                after = self.application.deletions.advance(request_id).state
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 - one request that cannot go on keeps no other back
                self.events.error("request_not_advanced", deletionId=request_id, **exception_fields(error))
                continue
            advanced += before is not after
        return advanced

    def drain(self, store_id: str, connector: Connector, shard: int) -> int:
        """Attempt what is due on one shard of a store under its lease; answers the number of attempts.

        Nothing is claimed where nothing is due, and the lease is given back at the end: an idle worker costs a read.
        """
        if not self.work.due(store_id, shard):
            return 0
        lease = self.work.claim(store_id, shard, self.holder)
        if lease is None:
            return 0
        attempted = 0
        touched: set[str] = set()
        try:
            for due in self.work.due(store_id, shard):
                attempted += self._attempt(lease, due, connector)
                touched.add(due.request_id)
        finally:
            self.work.release(lease)
        for request_id in sorted(touched):
            self.application.deletions.conclude(request_id)
        return attempted

    def _attempt(self, lease: Lease, due: DueOutcome, connector: Connector) -> bool:
        attempt = self.work.begin(lease, due)
        if attempt is None:
            return False
        answers = [self._answer(connector, locator) for locator in attempt.locators]
        verdict = judge(answers, attempts_before=attempt.attempts_before)
        return self.work.complete(lease, due, attempt, verdict)

    def _answer(self, connector: Connector, locator: str) -> Answer:
        reached = self.application.failpoints.reached
        try:
            reached("store.before_effect")
            # What a connector answers is somebody else's code: taken as it comes, and checked.
            claim = cast("object", connector.delete(locator))
            reached("store.after_effect")
            present = cast("object", connector.is_present(locator))
            reached("store.after_verify")
        except (StoreUnavailable, InvalidInput):
            return Answer(claim=None, present=None, error=True)
        except Exception as error:  # noqa: BLE001 - whatever a connector raises is a failed attempt, never an outcome
            self.events.error("connector_failed", **exception_fields(error))
            return Answer(claim=None, present=None, error=True)
        return Answer(
            claim=claim if isinstance(claim, str) else None,
            present=present if isinstance(present, bool) else None,
        )


class WorkerThreads:
    """Worker threads inside a process: started, and stopped after the step that they are in."""

    def __init__(self, application: Application, count: int) -> None:
        self._application = application
        self._stopping = threading.Event()
        # With several threads the first one only carries requests forward: a store that hangs holds none of them up.
        steps: list[Callable[[Worker], int]] = [Worker.drain_stores] * count
        if count:
            steps[0] = Worker.advance_requests if count > 1 else Worker.run_once
        self._threads = [
            threading.Thread(
                target=self._run, args=(f"{application.ids.new()}-{number}", step), name=f"worker-{number}"
            )
            for number, step in enumerate(steps)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let each thread end its step, and wait for it."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, holder: str, step: Callable[[Worker], int]) -> None:
        worker = Worker(self._application, holder)
        while not self._stopping.is_set():
            if not _guarded(step, worker):
                self._stopping.wait(IDLE_SECONDS)


def _guarded(step: Callable[[Worker], int], worker: Worker) -> int:
    try:
        return step(worker)
    except Unavailable as error:
        worker.events.warning("worker_waits", code=error.code)
    except Exception as error:  # noqa: BLE001 - a worker outlives a failed step; what it left is found again in the graph
        worker.events.error("worker_step_failed", **exception_fields(error))
    return 0
