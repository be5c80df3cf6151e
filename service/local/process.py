"""The server's process: start it, recognise it later, end it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from graph.errors import LocalServerError
from service.local.paths import Home, write_private

_GUARD = Path(__file__).with_name("guard.py")
_LOOK_SECONDS = 0.05
_KILLED_SECONDS = 10
_ENDED_STATES = "ZX"
_BIRTH_FIELD = 19  # of /proc/PID/stat, counted from the state


@dataclass(frozen=True, slots=True)
class Running:
    """Which process serves a home, as kept in its record.

    Attributes:
        pid: the virtual machine's process.
        birth: when the system says that it began; a later process with the same number has another.
        port: where it answers.
        owner: the process that it ends with, or None where it runs until it is stopped.
        training: the unfinished class archive that it writes at a clean stop, if any.
    """

    pid: int
    birth: str
    port: int
    owner: int | None
    training: str | None = None


def write_record(home: Home, running: Running) -> None:
    """Remember the process for other commands."""
    write_private(home.record, json.dumps(asdict(running)))


def read_record(home: Home) -> Running | None:
    """The server that is alive for this home; the record of a dead one counts for nothing."""
    try:
        fields = json.loads(home.record.read_text(encoding="utf-8"))
        running = Running(int(fields["pid"]), fields["birth"], int(fields["port"]), fields["owner"], fields["training"])
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None
    return running if is_alive(running) else None


def is_alive(running: Running) -> bool:
    """Whether that very process exists.

    Its command line would not tell: it is empty for a moment while some Java launchers replace themselves.
    """
    return birth_of(running.pid) == running.birth


def birth_of(pid: int) -> str | None:
    """When a process began, in whatever form the system gives; None where it has ended, even if not yet collected."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in _ENDED_STATES else fields[_BIRTH_FIELD]
    answer = subprocess.run(  # noqa: S603 - fixed words and a number
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, began = answer.stdout.strip().partition(" ")
    return None if not began or state[0] in _ENDED_STATES else began.strip()


def launch(home: Home, command: Sequence[str], *, owned: bool) -> tuple[int, subprocess.Popen[bytes]]:
    """Start the server through the guard.

    Returns:
        The server's process id, and the guard, which has to be waited for once the server has ended.

    Raises:
        LocalServerError: the guard could not start the command.
    """
    mode = "owned" if owned else "detached"
    guard = subprocess.Popen(  # noqa: S603 - our own script and the found Java
        [sys.executable, "-I", "-S", str(_GUARD), mode, str(os.getpid()), str(home.console), *command],
        cwd=home.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # an interrupt at the keyboard is for the program, which then stops the server
    )
    stream = guard.stdout
    line = stream.readline() if stream else b""
    if stream:
        stream.close()
    if not owned or not line:
        guard.wait()
    if not line:
        raise LocalServerError(f"The Neo4j server could not be started: {command[0]} does not run.")
    return int(line), guard


def end(running: Running, limit_seconds: float) -> bool:
    """End the server: ask, wait, then kill.

    Returns:
        Whether it ended because it was asked, with its files in order.

    Raises:
        LocalServerError: the process survives even that.
    """
    if not is_alive(running):
        return False
    if _ended_after(running, signal.SIGTERM, limit_seconds):
        return True
    if _ended_after(running, signal.SIGKILL, _KILLED_SECONDS):
        return False
    raise LocalServerError(f"Process {running.pid} does not end.", details={"pid": running.pid})


def _ended_after(running: Running, number: signal.Signals, limit_seconds: float) -> bool:
    deadline = time.monotonic() + limit_seconds
    _send(running.pid, number)
    while is_alive(running):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise LocalServerError(f"Process {pid} belongs to another user.", details={"pid": pid}) from error
