"""The private server of one home: `LocalServer`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from graph.errors import LocalServerError
from service.local import archive, jars, ports, process
from service.local.admin import Admin, require_dump
from service.local.config import MAIN_CLASS, USER, Memory, machine_flags, server_settings, write_configuration
from service.local.java import Java, find_java
from service.local.paths import Home, cache_folder
from service.local.probe import Connection, listens, wait_until_ready
from service.local.process import Running
from service.local.progress import Reporter, SilentReporter
from service.local.store import StoreAside

START_SECONDS = 180.0
STOP_SECONDS = 60.0

_TAIL_LINES = 12


@dataclass(frozen=True, slots=True)
class Status:
    """What is known about the server of a home without changing anything.

    Attributes:
        home: the folder.
        running: whether its process is alive.
        listening: whether it accepts connections; a starting or stopping one does not.
        pid: its process.
        uri: where it answers.
        owner: the process that it ends with; None for one that runs until it is stopped.
    """

    home: Path
    running: bool
    listening: bool = False
    pid: int | None = None
    uri: str | None = None
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class _Tools:
    """What a start and an administration command both need."""

    folder: Path
    java: Java

    @property
    def library(self) -> Path:
        return self.folder / "lib"


@dataclass(frozen=True, slots=True)
class _Owned:
    """A server that this object started and that ends with this process."""

    running: Running
    guard: subprocess.Popen[bytes]


class LocalServer:
    """A Neo4j Community server for one folder, without containers.

    As a context manager it owns the server: the server starts on entry, stops on exit, and dies with this process
    however that ends. A server of the same home that is alive already is used instead, and left running.

    Args:
        home: the folder of configuration, data and logs; made where missing.
        heap: size of the heap, such as `1g`.
        page_cache: size of the cache of store pages, such as `256m`.
        reporter: told of the long steps.
        quick_compiler: start sooner on a busy machine and run slower under load; for functional tests.
        settings: settings of neo4j.conf on top of the room's own.

    Raises:
        LocalServerError: a size cannot be read.
    """

    def __init__(
        self,
        home: Path,
        *,
        heap: str = "1g",
        page_cache: str = "256m",
        reporter: Reporter | None = None,
        quick_compiler: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._home = Home(home.expanduser().absolute())
        self._memory = Memory.parse(heap, page_cache)
        self._reporter = reporter or SilentReporter()
        self._quick_compiler = quick_compiler
        self._settings = dict(settings or {})
        self._owned: _Owned | None = None

    def __enter__(self) -> Self:
        self.start(owned=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._owned is not None:
            self.stop()

    @property
    def path(self) -> Path:
        """The home folder."""
        return self._home.root

    def connection(self) -> Connection:
        """How to reach the running server.

        Raises:
            LocalServerError: it does not run.
        """
        running = process.read_record(self._home)
        if running is None:
            raise LocalServerError(f"No server runs for {self._home.root}.")
        return self._connection(running.port)

    def status(self) -> Status:
        """What runs for this home."""
        running = process.read_record(self._home)
        if running is None:
            return Status(self._home.root, running=False)
        uri = _uri(running.port)
        return Status(self._home.root, True, listens(running.port), running.pid, uri, running.owner)

    def start(self, *, owned: bool = False) -> Connection:
        """Start the server and wait until it answers a query; one that is alive already is used.

        Args:
            owned: end the server when this process ends; otherwise it runs until it is stopped.

        Raises:
            LocalServerError: jars or Java cannot be had, the port is taken, or the server does not come up.
        """
        with self._home.changing():
            return self._start(owned=owned)

    def stop(self) -> bool:
        """Stop the server of this home, whoever started it.

        Returns:
            Whether one was running.

        Raises:
            LocalServerError: the process cannot be ended.
        """
        with self._home.changing():
            return self._stop() is not None

    def dump(self, target: Path, *, force: bool = False) -> None:
        """Write the database to a file; a running server is stopped for it and started again.

        Args:
            target: the file; it appears whole or not at all.
            force: replace a file that is there.

        Raises:
            LocalServerError: the file is there or its folder is not, there is no database, or the dump fails.
        """
        target = target.expanduser().absolute()
        if target.exists() and not force:
            raise LocalServerError(f"{target} is there already; it is only replaced when that is asked for.")
        if not target.parent.is_dir():
            raise LocalServerError(f"{target.parent} is not a folder.")
        with self._home.changing(), self._stopped():
            if not (self._home.data / "databases").exists():
                raise LocalServerError(f"{self._home.root} holds no database yet.")
            StoreAside(self._home).restore()
            self._repair()
            self._reporter.say("Dumping the database.")
            self._admin(self._tools()).dump(target)

    def load(self, source: Path) -> None:
        """Replace the database by a dump; a running server is stopped for it and started again.

        Raises:
            LocalServerError: the file is missing, is no dump, or is damaged; the database then stays as it was.
        """
        source = source.expanduser().absolute()
        require_dump(source)
        with self._home.changing(), self._stopped():
            tools = self._tools()
            self._configure(tools)
            self._reporter.say("Loading the dump.")
            self._admin(tools).load(source)

    def _connection(self, port: int) -> Connection:
        return Connection(_uri(port), USER, self._home.password())

    def _admin(self, tools: _Tools) -> Admin:
        return Admin(self._home, tools.java, tools.library)

    def _tools(self) -> _Tools:
        return _Tools(jars.fetch(cache_folder(), jars.read_lock(), self._reporter), find_java())

    def _start(self, *, owned: bool) -> Connection:
        running = process.read_record(self._home)
        if running is not None:
            if running.owner not in (None, os.getpid()):
                self._reporter.say(f"The server belongs to process {running.owner} and will end with it.")
            self._await(running)
            return self._connection(running.port)
        if self._owned is not None:  # it was killed; its guard is still to be waited for
            self._end(self._owned.running)
        tools = self._tools()
        port = self._configure(tools)
        self._reporter.say(f"Starting Neo4j on port {port}.")
        started = self._launch(tools, port, owned=owned)
        try:
            self._await(started)
        except BaseException:
            self._end(started)
            raise
        return self._connection(port)

    def _configure(self, tools: _Tools) -> int:
        """Write the configuration, and the password before the first start; returns the port."""
        port = ports.port_of(self._home)
        ports.require_free(self._home, port)
        write_configuration(self._home, server_settings(port, self._memory) | self._settings)
        admin = self._admin(tools)
        StoreAside(self._home).restore()
        if not (self._home.data / "dbms" / "auth.ini").exists() and not (self._home.data / "databases").exists():
            self._reporter.say("Preparing a new database.")
            admin.set_initial_password(self._home.password())
        return port

    def _launch(self, tools: _Tools, port: int, *, owned: bool) -> Running:
        classes = archive.prepare(tools.folder, tools.java, self._home)
        command = [str(tools.java.executable), *classes.flags]
        command += machine_flags(self._memory, quick_compiler=self._quick_compiler)
        command += ["-cp", f"{tools.library}/*", MAIN_CLASS, f"--home-dir={self._home.root}"]
        command += [f"--config-dir={self._home.configuration}", "--console-mode"]
        pid, guard = process.launch(self._home, command, owned=owned)
        training = str(classes.training) if classes.training else None
        birth = process.birth_of(pid) or "ended at once"
        running = Running(pid, birth, port, os.getpid() if owned else None, training)
        process.write_record(self._home, running)
        self._owned = _Owned(running, guard) if owned else None
        return running

    def _await(self, running: Running) -> None:
        if not wait_until_ready(
            self._connection(running.port),
            running.port,
            lambda: process.is_alive(running),
            START_SECONDS,
        ):
            raise LocalServerError(f"Neo4j did not come up. It said last:\n{self._tail()}")

    def _tail(self) -> str:
        try:
            lines = self._home.console.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return "nothing"
        return "\n".join(lines[-_TAIL_LINES:]) or "nothing"

    def _stop(self) -> Running | None:
        """End the server; returns what was running."""
        running = self._owned.running if self._owned else process.read_record(self._home)
        if running is not None:
            self._end(running)
        return running

    def _end(self, running: Running) -> None:
        if running.training:
            self._reporter.say("Stopping Neo4j; the first time it also writes an archive that speeds up starts.")
        clean = process.end(running, STOP_SECONDS)
        if running.training:
            archive.finish(Path(running.training), clean=clean)
        self._home.record.unlink(missing_ok=True)
        if self._owned is not None:
            self._owned.guard.wait()
            self._owned = None

    def _repair(self) -> None:
        """Let the server put its files in order after a crash: a dump refuses a store that needs recovery."""
        if self._home.record.exists():  # a stop removes it, so its process ended in another way
            self._reporter.say("The server did not end cleanly; starting it once to recover its files.")
            self._start(owned=True)
            self._stop()

    @contextmanager
    def _stopped(self) -> Generator[None]:
        """Have the server stopped for a while, and started again the way it ran before."""
        running = process.read_record(self._home)
        if running is None:
            yield
            return
        if running.owner not in (None, os.getpid()):
            raise LocalServerError(f"The server belongs to process {running.owner}; end that first.")
        self._reporter.say("Stopping the running server for this; it is started again afterwards.")
        self._stop()
        try:
            yield
        finally:
            self._start(owned=running.owner is not None)


def _uri(port: int) -> str:
    return f"bolt://127.0.0.1:{port}"
