"""`sequela serve` and `sequela work`: the processes that run for long."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.invocation import Invocation, command, load_settings

if TYPE_CHECKING:
    from service.workers.worker import Worker


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    panel = "Run"
    command(root, "serve", example="sequela serve --port 8000", acts=False, panel=panel)(serve)
    command(root, "work", example="sequela work --once", acts=False, panel=panel)(work)


def serve(
    invocation: Invocation,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on; SEQUELA_HOST by default.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="Port; SEQUELA_PORT by default.")
    ] = None,
) -> None:
    """Serve the HTTP API, with workers inside, until interrupted."""
    from service.api.server import serve as serve_api  # noqa: PLC0415 - heavy; only when the command runs

    settings = load_settings()
    with invocation.application() as application:
        serve_api(application, host or settings.host, settings.port if port is None else port)


def work(
    invocation: Invocation,
    once: Annotated[bool, typer.Option("--once", help="End when nothing is due instead of waiting for more.")] = False,
) -> None:
    """Do the work of deletions in a process of its own, until SIGTERM or an interrupt."""
    from service.workers.worker import Worker, WorkerThreads  # noqa: PLC0415 - heavy; only when the command runs

    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopping.set())
    with invocation.application() as application:
        if once:
            done = _drain(Worker(application, f"command {application.ids.new()}"), stopping)
            invocation.screen.answer({"done": done}, f"Did {done} units of work; nothing more is due.")
            return
        threads = WorkerThreads(application, max(1, application.settings.workers))
        threads.start()
        invocation.screen.say("Working; end with SIGTERM or an interrupt.", style="")
        stopping.wait()
        threads.stop()
    invocation.screen.answer({"stopped": True}, "Stopped.")


def _drain(worker: Worker, stopping: threading.Event) -> int:
    done = 0
    while not stopping.is_set() and (units := worker.run_once()):
        done += units
    return done
