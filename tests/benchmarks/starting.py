"""Starting: the private server against its bare process, and what the command line costs before it does anything."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from graph.access import Caller
from service.bootstrap import Application
from service.local.probe import Connection, answers, listens
from service.local.server import LocalServer
from tests.benchmarks.measure import Measurement, measure_turns

RUNS = 5
_MAIN = "from service.cli.main import main; main()"


def run_starting(application: Application, caller: Caller) -> Iterator[str]:
    """`sequela db start` on a home that has a database, from a warm cache, by turns with the same java command alone."""
    del application, caller
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        server = LocalServer(home)
        connection = server.start()
        command = _command_of(server.status().pid)
        server.stop()

        def ours(_: int) -> None:
            _sequela("db", "start", home=home)

        def bare(_: int) -> None:
            _until_it_answers(command, connection)

        one, other = measure_turns([ours, bare], RUNS, after=[lambda: _ended(home), lambda: None])
    yield f"| start of the private server, warm cache | {one} | {other} (bare process) | {one.median / other.median:.2f} |"
    yield f"| `sequela --help`, CPU | {_help_cpu()} | 300 ms | |"


def _command_of(pid: int | None) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")


def _until_it_answers(command: list[str], connection: Connection) -> None:
    port = int(connection.uri.rpartition(":")[2])
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (listens(port) and answers(connection)):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)


def _ended(home: Path) -> None:
    _sequela("db", "stop", home=home)


def _sequela(*arguments: str, home: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SEQUELA_NEO4J_URI"}
    subprocess.run(
        [sys.executable, "-c", _MAIN, *arguments],
        env={**environment, "SEQUELA_HOME": str(home)},
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
    )


def _help_cpu() -> Measurement:
    spent: list[float] = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", _MAIN, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return Measurement("help", tuple(spent))
