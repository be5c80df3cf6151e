"""The tools that judge the code, run once each over the whole of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.sources import ROOT

TOOLS = {
    "ruff check": (
        [sys.executable, "-m", "ruff", "check", "--no-cache", "."],
        "run `ruff check --fix` and mend the rest",
    ),
    "ruff format": ([sys.executable, "-m", "ruff", "format", "--no-cache", "--check", "."], "run `ruff format`"),
    "basedpyright": (
        [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable],
        "give what is named its exact type",
    ),
    "import-linter": (
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        "move the code or the import so that rooms depend downwards only",
    ),
}


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_tool_has_nothing_to_say(tool):
    command, advice = TOOLS[tool]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.returncode == 0, f"{tool}: {advice}\n{done.stdout[-6_000:]}{done.stderr[-2_000:]}"
