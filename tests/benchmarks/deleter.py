"""One deletion in a process of its own, to see what memory it takes: `python3 -m tests.benchmarks.deleter HOME ROOT`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from graph.access import Caller
from graph.deletion.model import DeletionInput
from graph.vocabulary import Role
from service.bootstrap import Application
from tests.benchmarks.setting import application_at

CALLER = Caller("tenant-a", "bench", frozenset(Role), "maintenance")


@dataclass(frozen=True)
class Taken:
    """Seconds of a deletion, and the resident memory at its highest of its process and of the server, in MB."""

    seconds: float
    process_mb: float
    server_mb: float


def delete(application: Application, caller: Caller, root: str) -> None:
    """Through the service, from the request to its terminal state."""
    request = DeletionInput.model_validate({"subject": {"recordIds": [root]}})
    view = application.deletions.file(request, caller, root)
    assert application.deletions.advance(view.request_id).complete


def delete_apart(application: Application, root: str) -> Taken:
    """Delete in another process."""
    home = application.settings.home
    command = [sys.executable, "-m", "tests.benchmarks.deleter", str(home), root]
    seconds, process_mb = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Taken(seconds, process_mb, _server_mb(home))


def _server_mb(home: Path) -> float:
    found = [
        _resident_mb(process)
        for process in Path("/proc").iterdir()
        if process.name.isdecimal() and f"--home-dir={home}" in _command(process)
    ]
    return max(found)


def _command(process: Path) -> str:
    try:
        return process.joinpath("cmdline").read_text(encoding="utf-8")
    except OSError:
        return ""


def _resident_mb(process: Path) -> float:
    status = process.joinpath("status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1_024


def main(home: Path, root: str) -> None:
    with application_at(home) as application:
        start = time.perf_counter()
        delete(application, CALLER, root)
        seconds = time.perf_counter() - start
    sys.stdout.write(json.dumps([seconds, _resident_mb(Path("/proc/self"))]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
