"""Stands between a process and the server that it owns, so that the server never outlives it.

Run as a plain script, without the package, so that it starts in milliseconds:

    guard.py owned|detached PARENT_PID CONSOLE_FILE COMMAND...

It starts COMMAND and prints its process id. `detached` then leaves; `owned` stays and ends
the command when the parent is gone, however the parent ended. On Linux the kernel also kills the command when the
guard itself is killed. That signal is tied to the thread that forked; the guard has one thread and lives as long as
the command, which an arbitrary thread of the parent would not promise.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time

_PR_SET_PDEATHSIG = 1
_LOOK_SECONDS = 0.2
_TERMINATE_SECONDS = 15


def _die_with_guard() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch(process: subprocess.Popen[bytes], parent: int) -> None:
    while process.poll() is None:
        if os.getppid() != parent:
            process.terminate()
            try:
                process.wait(_TERMINATE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            return
        time.sleep(_LOOK_SECONDS)


def main() -> None:
    """Start the command and, where it is owned, guard it."""
    mode, parent, console, *command = sys.argv[1:]
    owned = mode == "owned"
    with open(console, "wb") as output:  # noqa: PTH123 - pathlib would double the time that this script takes
        process = subprocess.Popen(  # noqa: S603 - the command comes from the room beside this file
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=_die_with_guard if owned else None,  # noqa: PLW1509 - there is one thread here
        )
    sys.stdout.write(f"{process.pid}\n")
    sys.stdout.flush()
    os.close(sys.stdout.fileno())
    if not owned:
        os._exit(0)
    _watch(process, int(parent))
    os._exit(0)


if __name__ == "__main__":
    main()
