"""The process that serves: the API and its worker threads, ended together."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import uvicorn

from graph.errors import Unavailable
from graph.vocabulary import ReasonCode
from service.api.app import create_app
from service.bootstrap import Application
from service.telemetry import log_everything_to
from service.workers.worker import WorkerThreads

# How long calls that are under way may go on after the process was asked to end.
GRACE_SECONDS: Final = 10
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def serve(application: Application, host: str, port: int, *, announce: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM, then let calls and workers end in order, and return.

    Args:
        application: does the work; already prepared.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
        announce: is told, once the API listens, where it and its documentation are; standard error where not given.

    Raises:
        Unavailable: the address is taken or not of this machine.
    """
    with _listening(host, port) as listener:
        config = uvicorn.Config(
            create_app(application, log=log_everything_to(application.clock)),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        workers = WorkerThreads(application, application.settings.workers)
        workers.start()
        try:
            _Server(config, _announcement(listener), announce or _to_standard_error).run(sockets=[listener])
        finally:
            workers.stop()


class _Server(uvicorn.Server):
    """A server that says where it listens, and returns when it is told to stop."""

    def __init__(self, config: uvicorn.Config, announcement: str, announce: Callable[[str], None]) -> None:
        super().__init__(config)
        self._announcement = announcement
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self._announce(self._announcement)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """End on a signal without raising it again afterwards: workers and the private database end after this."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family)
        # Connections inherit it. Without it the body of an answer waits up to 40 ms for the receipt of its head.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise Unavailable(
            f"{host}:{port} cannot be listened on: {error.strerror or 'no such address'}",
            code=ReasonCode.SERVICE_UNAVAILABLE,
            details={"host": host, "port": port},
        ) from error
    return listener


def _announcement(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return f"Sequela listens on {address}; its documentation is at {address}/docs"


def _to_standard_error(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
