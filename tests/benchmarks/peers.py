"""Peers at a thousand derivatives, each in an environment of its own, beside ours in the same run.

`tombstone-erase` takes five to six minutes for a thousand (it reads its whole store again for each artifact) and is left
out here; `inspeximus` is the fastest peer that deletes what was derived as well.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graph.access import Caller
from service.bootstrap import Application
from tests.benchmarks.deleter import delete
from tests.benchmarks.graphs import load_tree
from tests.benchmarks.measure import Measurement, measure_turns

SIZE = 1_000
RUNS = 5
# Loading one takes most of a minute.
PEER_RUNS = 3
INSPEXIMUS = ("inspeximus==3.23.1", "cryptography")


@dataclass(frozen=True)
class Forgotten:
    """What a peer says of one deletion: seconds, marked texts left in its files, and whether its own check is content."""

    seconds: float
    residue: int
    verified: bool


def run_peers(application: Application, caller: Caller) -> Iterator[str]:
    """The same tree in each; the peer is loaded anew for each run, since what it forgot it keeps traces of."""
    roots = [load_tree(application.database, SIZE, f"peers-{number}") for number in range(RUNS + 1)]
    delete(application, caller, roots.pop())
    (ours,) = measure_turns([lambda number: delete(application, caller, roots[number])], RUNS)
    with tempfile.TemporaryDirectory() as folder:
        python = _environment(Path(folder) / "inspeximus", INSPEXIMUS)
        for way in ("receipts", "plain"):
            runs = [_forget(python, Path(folder) / f"{way}-{number}", way) for number in range(PEER_RUNS)]
            yield _line(way, ours, runs)


def _line(way: str, ours: Measurement, runs: list[Forgotten]) -> str:
    theirs = Measurement("inspeximus", tuple(run.seconds for run in runs))
    left, checks = max(run.residue for run in runs), sum(run.verified for run in runs)
    told = f"{left} marked texts left, own check content {checks} of {len(runs)}"
    what = f"delete with {SIZE:,} derivatives, beside inspeximus ({way}: {told})"
    return f"| {what} | {ours} | {theirs} | {ours.median / theirs.median:.2f} | |"


def _environment(folder: Path, packages: tuple[str, ...]) -> Path:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return python


def _forget(python: Path, folder: Path, way: str) -> Forgotten:
    folder.mkdir()
    command = [str(python), str(Path(__file__).with_name("peer_inspeximus.py")), str(folder), str(SIZE), way]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Forgotten(told["seconds"], told["residue"], told["verified"])
