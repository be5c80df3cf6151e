"""`python3 -m tests.faults [matrix|…]`: the faults at their full number, with a table."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from service.local.server import LocalServer
from tests.faults.matrix import VICTIMS, Cell, Matrix, Result, table
from tests.faults.stories import STORIES


def run_matrix(words: list[str]) -> int:
    """`matrix [STORY …] [VICTIM …] [FAILPOINT …] [first]`: all cells of these, or of all; or only first visits."""
    stories = [word for word in words if word in STORIES] or list(STORIES)
    victims = [word for word in words if word in VICTIMS] or VICTIMS
    points = [word for word in words if "." in word]
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        with LocalServer(Path(folder) / "neo4j", heap="512m", page_cache="64m", quick_compiler=True) as server:
            matrix = Matrix(server, Path(folder) / "homes")
            for story in stories:
                results += [_run(matrix, cell) for cell in matrix.cells(story, victims) if _is_wanted(cell, words, points)]
    for line in table(results):
        _say(line)
    different = [result for result in results if not result.equal]
    _say(f"\n{len(results)} cells, {len(different)} different, {matrix.runs} processes.")
    return 1 if different else 0


def _is_wanted(cell: Cell, words: list[str], points: list[str]) -> bool:
    return (not points or cell.point in points) and (cell.visit == 1 or "first" not in words)


def _run(matrix: Matrix, cell) -> Result:
    try:
        result = matrix.run(cell)
    except AssertionError as error:
        result = Result(cell, [str(error)], [], [])
    said = "equal" if result.equal else "DIFFERENT"
    _say(f"{cell.story} {cell.victim} {cell.point}@{cell.visit}: {said} in {result.seconds:.1f} s"
         f"{', waited' if result.waited else ''}", file=sys.stderr)
    for line in [*result.unexpected, *result.findings]:
        _say(f"    {line}", file=sys.stderr)
    for line in result.expected:
        _say(f"    (expected) {line}", file=sys.stderr)
    return result


def _say(line: str, file=sys.stdout) -> None:
    file.write(f"{line}\n")
    file.flush()


if __name__ == "__main__":
    sys.exit(run_matrix(sys.argv[2:]))
