"""Carrying a deletion to its end from the command line, and reading what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from graph.vocabulary import DELETION_STATES_TERMINAL

if TYPE_CHECKING:
    from graph.access import Caller
    from graph.deletion.model import OutcomeView, RequestView
    from service.bootstrap import Application
    from service.cli.screen import Screen

_PAGE_ROWS: Final = 1_000


def finish(application: Application, caller: Caller, request_id: str, screen: Screen) -> RequestView:
    """Do all the work of a request that is due now: in the graph, then in the stores.

    What has to wait for its next attempt is left to the workers of `sequela serve` or `sequela work`.
    """
    from service.workers.worker import Worker  # noqa: PLC0415 - heavy; only when a deletion runs

    with screen.progress("Deleting") as progress:
        view = application.deletions.advance(request_id, progress)
    worker = Worker(application, f"command:{request_id}")
    with screen.progress("Emptying stores"):
        while view.state not in DELETION_STATES_TERMINAL and worker.run_once():
            view = application.deletions.view(request_id, caller)
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
