"""A few cells of the kill matrix; `python3 -m tests.faults matrix` runs them all."""

from __future__ import annotations

import pytest

from service.local.server import LocalServer
from tests.faults.matrix import Cell, Matrix
from tests.faults.stories import STORIES

CELLS = (
    Cell("deletion", "file.after_commit", 1, "killed"),
    Cell("deletion", "settle.before_commit", 1, "killed"),
    Cell("deletion", "journal.after_append", 2, "killed"),
    Cell("deletion", "store.after_effect", 1, "killed"),
    Cell("odd", "reject.before_commit", 1, "killed"),
    Cell("restore", "mark_applied.before_commit", 1, "killed"),
    Cell("deletion", "store.before_effect", 1, "stopped"),
    Cell("deletion", "settle.before_commit", 1, "stopped"),
    Cell("deletion", "settle.before_commit", 1, "neo4j"),
)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    with LocalServer(folder / "neo4j", heap="512m", page_cache="64m", quick_compiler=True) as server:
        matrix = Matrix(server, folder / "homes")
        yield matrix
        matrix.database.close()


@pytest.mark.req("DEL-03", "DEL-05", "DEL-14", "DEL-16")
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.story}-{cell.point}-{cell.victim}")
def test_a_victim_changes_nothing_about_the_end(matrix, cell):
    assert matrix.run(cell).unexpected == []


def test_the_fault_free_ends_have_no_findings(matrix):
    """So that an end that is equal to one of them is clean as well."""
    found = {story: [line for line in matrix.fault_free(story)[1] if line.startswith("finding")] for story in STORIES}
    assert found == {"deletion": [], "odd": [], "restore": []}
