"""A TCP proxy in front of a server that counts bytes and cuts a connection at a chosen one."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

Direction = Literal["up", "down"]  # towards the server, back from it


class CuttingProxy:
    """Passes bytes on. `cut(direction, after)` lets that many more bytes through and then closes the connection, once."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._cut: tuple[Direction, int] | None = None
        self._refusing = False
        self.passed: dict[Direction, int] = {"up": 0, "down": 0}
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, direction: Direction, after: int) -> None:
        with self._lock:
            self._cut = (direction, self.passed[direction] + after)

    def refuse(self, *, refusing: bool) -> None:
        """Be a dead server, or one that is there again."""
        with self._lock:
            self._refusing = refusing
            pairs = self._pairs if refusing else []
            self._pairs = [pair for pair in self._pairs if pair not in pairs]
        for pair in pairs:
            _close(*pair)

    def close(self) -> None:
        self.refuse(refusing=True)
        _close(self._listener)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._refusing:
                    _close(client)
                    continue
                server = socket.create_connection(self._target)
                with self._lock:
                    self._pairs.append((client, server))
                for direction, source, sink in (("up", client, server), ("down", server, client)):
                    threading.Thread(target=self._pass, args=(direction, source, sink), daemon=True).start()

    def _pass(self, direction: Direction, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                allowed, ends = self._count(direction, len(data))
                sink.sendall(data[:allowed])
                if ends:
                    break
        _close(source, sink)

    def _count(self, direction: Direction, size: int) -> tuple[int, bool]:
        """How many of `size` bytes may pass, and whether the connection ends there."""
        with self._lock:
            allowed, ends = size, False
            if self._cut is not None and self._cut[0] == direction and self.passed[direction] + size > self._cut[1]:
                allowed, ends = self._cut[1] - self.passed[direction], True
                self._cut = None
                self.cuts += 1
            self.passed[direction] += allowed
            return allowed, ends


@contextmanager
def cutting_proxy(host: str, port: int) -> Generator[CuttingProxy]:
    proxy = CuttingProxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
