"""What the tidy tests read: the project's own files, as text and as syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE_FOLDERS = ("graph", "service")
TOP_LEVEL = (
    "README.md",
    "pyproject.toml",
    "docker-compose.yml",
    ".gitignore",
    ".ci",
    "graph",
    "service",
    "cypher",
    "seeds",
    "tests",
)
SKIPPED = {"__pycache__", ".hypothesis", ".pytest_cache"}


@cache
def python_files(*folders: str) -> tuple[Path, ...]:
    return tuple(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if not skipped(path))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def skipped(path: Path) -> bool:
    return bool(SKIPPED.intersection(path.parts))


def own_files() -> Iterator[Path]:
    """Every text file that belongs to the project."""
    for name in TOP_LEVEL:
        top = ROOT / name
        paths = [top] if top.is_file() else sorted(top.rglob("*"))
        yield from (path for path in paths if path.is_file() and not skipped(path) and b"\0" not in path.read_bytes())


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(module: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def calls(module: ast.AST) -> Iterator[tuple[str, int]]:
    """The dotted names that are called, with their lines."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def imports(module: ast.AST) -> Iterator[tuple[str, int]]:
    """The modules that are imported, with their lines."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno


@cache
def query_files() -> tuple[Path, ...]:
    """The query files, without the steps of the schema."""
    return tuple(path for path in sorted((ROOT / "cypher").glob("*/*.cypher")) if path.parent.name != "schema")


def statement(path: Path) -> str:
    """A query's text without comments and quoted text."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("//")]
    return re.sub(r"'[^']*'", "''", "\n".join(lines))


def section(readme: str, heading: str) -> str:
    """The text below a heading of a README, up to the next heading."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    parts = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.MULTILINE)
    assert len(parts) == 2, f"{readme} needs exactly one heading '{heading}'"
    return re.split(r"^#+ ", parts[1], flags=re.MULTILINE)[0]


def table_codes(readme: str, heading: str, column: int) -> set[str]:
    """The `code` words of one column of the tables below a heading."""
    found: set[str] = set()
    for line in section(readme, heading).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("|") and len(cells) > column:
            found.update(re.findall(r"`([^`]+)`", cells[column]))
    return found


def node_properties() -> dict[str, set[str]]:
    """The properties that graph/README.md gives each label."""
    rows = [line.strip("|").split(" | ") for line in section("graph/README.md", "Nodes").splitlines()]
    return {
        cells[0].strip(" `"): set(re.findall(r"`([^`]+)`", cells[1])) for cells in rows if cells[0].startswith(" `")
    }
