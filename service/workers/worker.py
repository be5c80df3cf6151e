"""Workers: carry requests forward in the graph, and attempt what is due in the stores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final, cast

from graph.clock import SECOND
from graph.errors import Unavailable
from graph.propagation.closure import chunks
from graph.propagation.work import NOTHING_COMPLETED, UNANSWERED, Answer, Completed, DueOutcome, Lease, Work, judge
from service.bootstrap import Application
from service.connectors.port import Claim, Connector, StoreUnavailable
from service.connectors.registry import pair_if_there
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
        Calls go out as large as the store takes them, and only as long as the lease is fresh: what is left is due still.
        """
        due = self.work.due(store_id, shard)
        if due:
            # Before anything is begun: pairing asks the database, whose silence says nothing of the store.
            pair_if_there(connector)
        lease = self.work.claim(store_id, shard, self.holder) if due else None
        if lease is None:
            return 0
        fresh_until = self.application.clock.now() + round(self.work.lease_seconds * SECOND / 2)
        attempted = 0
        ready: list[str] = []
        try:
            for part in _calls(due, connector.profile.batch_max):
                if self.application.clock.now() > fresh_until:
                    break
                completed = self._attempt(lease, part, connector)
                attempted += len(completed.outcome_ids)
                ready.extend(completed.ready)
        finally:
            self.work.release(lease)
        for request_id in sorted(set(ready)):
            self.application.deletions.conclude(request_id)
        return attempted

    def _attempt(self, lease: Lease, due: Sequence[DueOutcome], connector: Connector) -> Completed:
        attempts = self.work.begin(lease, due)
        if not attempts:
            return NOTHING_COMPLETED
        locators = sorted({locator for attempt in attempts for locator in attempt.locators})
        answers = self._answers(connector, locators)
        judged = [
            (attempt, judge([answers[one] for one in attempt.locators], attempts_before=attempt.attempts_before))
            for attempt in attempts
        ]
        return self.work.complete(lease, judged)

    def _answers(self, connector: Connector, locators: Sequence[str]) -> dict[str, Answer]:
        """What a store says of each locator; several copies of one derivative may make more than one call of it."""
        answers: dict[str, Answer] = {}
        for part in chunks(locators, connector.profile.batch_max):
            answers.update(zip(part, self._called(connector, part), strict=True))
        return answers

    def _called(self, connector: Connector, locators: Sequence[str]) -> list[Answer]:
        reached = self.application.failpoints.reached
        try:
            reached("store.before_effect")
            # What a connector answers is somebody else's code: taken as it comes, and checked.
            claims = cast("object", connector.delete(locators))
            reached("store.after_effect")
            presences = cast("object", connector.present(locators))
            reached("store.after_verify")
        except StoreUnavailable:
            return [UNANSWERED] * len(locators)
        except Exception as error:  # noqa: BLE001 - whatever a connector raises is a failed attempt, never an outcome
            self.events.error("connector_failed", **exception_fields(error))
            return [UNANSWERED] * len(locators)
        return _each(claims, presences, len(locators))


def _calls(due: Sequence[DueOutcome], batch_max: int) -> Iterator[list[DueOutcome]]:
    """Calls as large as the store takes them.

    What failed before goes in calls half as large each time: a copy that no call survives, whatever the reason, holds up
    fewer and fewer others, and in the end itself alone.
    """
    for attempts, group in groupby(sorted(due, key=lambda one: one.attempts), key=lambda one: one.attempts):
        alike = list(group)
        yield from chunks(alike, max(1, min(batch_max, len(alike)) >> attempts))


def _each(claims: object, presences: object, number: int) -> list[Answer]:
    """One answer a locator; an answer of another length, one flag for all say, is an answer for none."""
    each_claim, each_presence = _listed(claims), _listed(presences)
    if len(each_claim) != number or len(each_presence) != number:
        return [UNANSWERED] * number
    return [
        Answer(
            claim=claim if isinstance(claim, str) else None,
            present=present if isinstance(present, bool) else None,
            error=claim == Claim.FAILED,
            malformed=claim == Claim.MALFORMED,
        )
        for claim, present in zip(each_claim, each_presence, strict=True)
    ]


def _listed(answer: object) -> list[object]:
    return cast("list[object]", answer) if isinstance(answer, list) else []


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
