"""`python3 -m tests.faults matrix | late | fence | canary`: the faults at their full number, on a private server."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph.access import Caller
from graph.vocabulary import Role
from service.bootstrap import Application
from service.local.server import LocalServer
from service.runtime import running_application
from service.settings import Settings
from tests.faults.canary import measured
from tests.faults.fence import run_fence
from tests.faults.late import write_late
from tests.faults.matrix import VICTIMS, Cell, Matrix, Result, table
from tests.faults.stories import STORIES
from tests.support.records import PURPOSE, TENANT

LATE_WRITES = 10_000
CALLER = Caller(TENANT, "tech-17", frozenset(Role), PURPOSE)


def main(words: list[str]) -> int:
    """Run one kind of fault and say what came of it."""
    commands = {"matrix": run_matrix, "late": run_late, "fence": run_races, "canary": run_canary}
    if not words or words[0] not in commands:
        _say(f"one of: {', '.join(commands)}", sys.stderr)
        return 2
    return commands[words[0]](words[1:])


def run_matrix(words: list[str]) -> int:
    """`matrix [STORY …] [VICTIM …] [FAILPOINT …] [first]`: all cells of these, or of all; or only first visits."""
    stories = [word for word in words if word in STORIES] or list(STORIES)
    victims = [word for word in words if word in VICTIMS] or VICTIMS
    points = [word for word in words if "." in word]
    results: list[Result] = []
    with _server() as (server, folder):
        matrix = Matrix(server, folder / "homes")
        for story in stories:
            results += [_run(matrix, cell) for cell in matrix.cells(story, victims) if _is_wanted(cell, words, points)]
        matrix.database.close()
    for line in table(results):
        _say(line)
    different = [result for result in results if not result.equal]
    _say(f"\n{len(results)} cells, {len(different)} different, {matrix.runs} processes.")
    return 1 if different else 0


def run_late(_words: list[str]) -> int:
    with _application() as (_, application, _folder):
        late = write_late(application, CALLER, LATE_WRITES)
    for name, counted in (("tried", late.tried), ("answered", late.said)):
        _say(f"{name}: {', '.join(f'{number:,} {what}' for what, number in sorted(counted.items()))}")
    _say(f"resurrected: {len(late.alive)}")
    return 1 if late.alive else 0


def run_races(_words: list[str]) -> int:
    with _application() as (_, application, _folder):
        lines = []
        for line in run_fence(application, CALLER):
            _say(line)
            lines.append(line)
    return 0 if all(line.endswith(" 0 escaped") for line in lines) else 1


def run_canary(_words: list[str]) -> int:
    with _application() as (server, application, folder):
        for line in measured(server, application, folder):
            _say(line)
    return 0


def _is_wanted(cell: Cell, words: list[str], points: list[str]) -> bool:
    return (not points or cell.point in points) and (cell.visit == 1 or "first" not in words)


def _run(matrix: Matrix, cell: Cell) -> Result:
    try:
        result = matrix.run(cell)
    except AssertionError as error:
        result = Result(cell, [str(error)], [])
    said = f"{cell.story} {cell.victim} {cell.point}@{cell.visit}: {'equal' if result.equal else 'DIFFERENT'}"
    _say(f"{said} in {result.seconds:.1f} s", sys.stderr)
    for line in [*result.unexpected, *(f"(expected) {line}" for line in result.expected)]:
        _say(f"    {line}", sys.stderr)
    return result


@contextmanager
def _server() -> Iterator[tuple[LocalServer, Path]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with LocalServer(folder / "neo4j", heap="512m", page_cache="64m", quick_compiler=True) as server:
            yield server, folder


@contextmanager
def _application() -> Iterator[tuple[LocalServer, Application, Path]]:
    with _server() as (server, folder), running_application(Settings(home=folder / "home"), local=server) as running:
        yield server, running, folder


def _say(line: str, stream=sys.stdout) -> None:
    stream.write(f"{line}\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
