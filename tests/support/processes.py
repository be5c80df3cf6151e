"""Real processes to be killed and stopped: forked from one that has everything imported, so that each starts quickly."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

_LOOK_SECONDS = 0.02
_PRELOADED = ["service.runtime", "service.workers.worker", "tests.faults.stories"]


class Child:
    """A process of its own that runs a module's function under settings of its own; its output goes to a file."""

    def __init__(self, act: Callable[..., object], environment: Mapping[str, str], log: Path, *args: object) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        self._process: Any = context.Process(target=_run, args=(act, dict(environment), log, args), daemon=True)
        self._process.start()

    def ended(self, seconds: float) -> bool:
        """Whether it ends within that time."""
        self._process.join(seconds)
        return self._process.exitcode is not None

    @property
    def code(self) -> int | None:
        """Its exit code; minus the signal that ended it."""
        return self._process.exitcode

    def stopped(self, seconds: float) -> bool:
        """Whether it stands still (SIGSTOP) before it ends and within that time."""
        process = psutil.Process(self._process.pid)
        found = until(lambda: self.code is not None or _status(process) == psutil.STATUS_STOPPED, seconds)
        return found and self.code is None

    def go_on(self) -> None:
        """Let it go on (SIGCONT)."""
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it, whatever it does."""
        if self.code is None:
            self._process.kill()
            self._process.join()


def until(true: Callable[[], bool], seconds: float) -> bool:
    """Look again and again at what another process does, until it is so or the time is over."""
    end, pause = time.monotonic() + seconds, threading.Event()
    while not true():
        if time.monotonic() > end:
            return False
        pause.wait(_LOOK_SECONDS)
    return True


def _status(process: psutil.Process) -> str:
    try:
        return process.status()
    except psutil.NoSuchProcess:
        return psutil.STATUS_DEAD


def _run(act: Callable[..., object], environment: Mapping[str, str], log: Path, args: tuple[object, ...]) -> None:
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1)
    os.environ.update(environment)
    act(*args)
