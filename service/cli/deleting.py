"""Carrying a deletion to its end from the command line, and reading what became of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

from graph.access import Caller
from graph.clock import SECOND
from graph.deletion.model import OutcomeView, RequestView
from graph.vocabulary import DELETION_STATES_TERMINAL, OutcomeState
from service.bootstrap import Application
from service.cli.screen import Screen
from service.workers.worker import Worker

_PAGE_ROWS: Final = 1_000
_PAUSE_SECONDS: Final = 0.25
_OPEN: Final = frozenset({OutcomeState.PENDING, OutcomeState.RETRYING})


def finish(application: Application, caller: Caller, request_id: str, screen: Screen) -> RequestView:
    """Do all the work of a request that is due now: in the graph, then in the stores.

    A shard of a store that another worker holds is waited for as long as such a lease can last. What has to wait for a
    later attempt is left to the workers of `sequela serve` or `sequela work`.
    """
    with screen.progress("Deleting") as progress:
        view = application.deletions.advance(request_id, progress)
    worker = Worker(application, f"command {application.ids.new()}")
    patience_until = application.clock.now() + round(2 * application.settings.lease_seconds * SECOND)
    with screen.counting("Emptying stores") as told:
        while view.state not in DELETION_STATES_TERMINAL:
            if worker.run_once() == 0:
                if application.clock.now() > patience_until or not _is_due(application, caller, request_id):
                    break
                threading.Event().wait(_PAUSE_SECONDS)
            view = application.deletions.view(request_id, caller)
            told("left", view.pending)
    return application.deletions.view(request_id, caller)


def outcome_views(application: Application, caller: Caller, request_id: str) -> Iterator[OutcomeView]:
    """Every outcome of a request, page by page."""
    cursor: str | None = None
    while True:
        page = application.deletions.outcomes(request_id, caller, page_size=_PAGE_ROWS, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _is_due(application: Application, caller: Caller, request_id: str) -> bool:
    now = application.clock.now()
    return any(
        one.state in _OPEN and (one.next_attempt_at or 0) <= now
        for one in outcome_views(application, caller, request_id)
    )
