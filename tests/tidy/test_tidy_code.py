"""The conventions of the code. Each message says what to do."""

from __future__ import annotations

import ast
import statistics

import pytest

from tests.tidy.sources import CODE_FOLDERS, ROOT, calls, functions, imports, python_files, shown, tree

FUNCTION_LINES_P90 = 30
FUNCTION_LINES_LONG = 50
FUNCTION_LINES_MAX = 60
LONG_SHARE_MAX = 0.02
FILE_LINES_MAX = 400
TEST_FILE_LINES_MAX = 600
# Longer files, each with its reason.
LONG_FILES = {
    "graph/vocabulary.py": "every closed list stands in one place, and a list is not split to please a counter",
}
# Who may import what is bound to one boundary.
IMPORT_PLACES = {
    "neo4j": ("graph/database/", "service/local/", "tests/"),
    "fastapi": ("service/api/", "service/web/", "tests/"),
    "starlette": ("service/api/", "service/web/", "tests/"),
    "typer": ("service/cli/", "tests/"),
    "tenacity": ("graph/database/", "tests/"),
}
# Time, ids and randomness come through ports.
PORTS = {
    "graph/clock.py": ("time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"),
    "graph/ids.py": ("uuid4", "uuid1", "uuid7", "uuid.uuid4", "uuid.uuid1", "uuid_utils.uuid4", "uuid_utils.uuid7"),
}


def lengths() -> list[tuple[int, str]]:
    return [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{shown(path)}:{node.lineno} {node.name}")
        for path in python_files(*CODE_FOLDERS)
        for node in functions(tree(path))
    ]


def test_no_function_is_too_long():
    long = [f"{where} has {lines} lines" for lines, where in lengths() if lines > FUNCTION_LINES_MAX]
    assert not long, f"split these into steps with names, at most {FUNCTION_LINES_MAX} lines each: {long}"


def test_functions_are_short_as_a_rule():
    measured = lengths()
    p90 = statistics.quantiles([lines for lines, _ in measured], n=10)[-1]
    long = sorted(where for lines, where in measured if lines > FUNCTION_LINES_LONG)
    assert p90 <= FUNCTION_LINES_P90, f"nine of ten functions have at most {FUNCTION_LINES_P90} lines, not {p90}"
    assert len(long) <= LONG_SHARE_MAX * len(measured), f"too many functions over {FUNCTION_LINES_LONG} lines: {long}"


@pytest.mark.parametrize(("folders", "most"), [(CODE_FOLDERS, FILE_LINES_MAX), (("tests",), TEST_FILE_LINES_MAX)])
def test_no_file_is_too_long(folders, most):
    sizes = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(*folders)}
    long = {name: lines for name, lines in sizes.items() if lines > most and name not in LONG_FILES}
    assert not long, f"split these files by what they are about, at most {most} lines each: {long}"


def test_exceptions_for_long_files_are_still_needed():
    short = [name for name in LONG_FILES if len((ROOT / name).read_text().splitlines()) <= FILE_LINES_MAX]
    assert not short, f"take these out of LONG_FILES, they are short enough: {short}"


@pytest.mark.parametrize("package", sorted(IMPORT_PLACES))
def test_a_library_is_imported_at_its_boundary_alone(package):
    strays = [
        f"{shown(path)}:{line}"
        for path in python_files(*CODE_FOLDERS, "tests")
        for module, line in imports(tree(path))
        if module.split(".")[0] == package and not shown(path).startswith(IMPORT_PLACES[package])
    ]
    assert not strays, (
        f"{package} is imported in {IMPORT_PLACES[package]} alone; go through that room instead: {strays}"
    )


def test_the_domain_does_not_know_the_service():
    strays = [
        f"{shown(path)}:{line}"
        for path in python_files("graph")
        for module, line in imports(tree(path))
        if module.split(".")[0] in {"service", "tests"}
    ]
    assert not strays, f"graph never imports service; give it what it needs as an argument: {strays}"


@pytest.mark.parametrize("port", sorted(PORTS))
def test_time_and_ids_come_through_their_ports(port):
    strays = [
        f"{shown(path)}:{line} {name}"
        for path in python_files(*CODE_FOLDERS)
        if shown(path) != port
        for name, line in calls(tree(path))
        if name in PORTS[port] or name.endswith(tuple(f".{forbidden}" for forbidden in PORTS[port]))
    ]
    assert not strays, f"take the port of {port} as an argument instead of calling this: {strays}"


def test_tests_do_not_sleep():
    # Races spread their contenders over some milliseconds; that waits for nothing.
    strays = [
        f"{shown(path)}:{line}"
        for path in python_files("tests")
        for name, line in calls(tree(path))
        if name == "time.sleep" and not shown(path).startswith(("tests/races/", "tests/benchmarks/"))
    ]
    assert not strays, f"wait for an event, a barrier or a ManualClock instead of sleeping: {strays}"


def test_no_error_is_swallowed_whole():
    strays: list[str] = []
    for path in python_files(*CODE_FOLDERS):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ExceptHandler):
                broad = node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"}
                if broad and all(isinstance(step, ast.Pass) for step in node.body):
                    strays.append(f"{shown(path)}:{node.lineno}")
        strays += [
            f"{shown(path)}:{node.lineno}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("suppress")
            and any(ast.unparse(argument) in {"Exception", "BaseException"} for argument in node.args)
        ]
    assert not strays, f"name the error that is meant, or let it pass: {strays}"


def test_the_domain_prints_nothing():
    strays = [
        f"{shown(path)}:{line}" for path in python_files("graph") for name, line in calls(tree(path)) if name == "print"
    ]
    assert not strays, f"give it back instead of printing it: {strays}"


def test_nothing_happens_at_import():
    allowed = (
        ast.Import,
        ast.ImportFrom,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Assign,
        ast.AnnAssign,
        ast.If,
        ast.Try,
        ast.Expr,
    )
    strays: list[str] = []
    for path in python_files(*CODE_FOLDERS):
        for node in tree(path).body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not isinstance(node, allowed) or (isinstance(node, ast.Expr) and not is_text and not _registers(node)):
                strays.append(f"{shown(path)}:{node.lineno}")
    assert not strays, f"move this into a function that somebody calls: {strays}"


def _registers(node: ast.Expr) -> bool:
    """Putting commands together on a typer application is a declaration."""
    return isinstance(node.value, ast.Call) and ast.unparse(node.value.func).endswith((".add_to", ".add_typer"))


def test_nothing_is_left_to_do():
    marks = ("TO" + "DO", "FIX" + "ME", "XX" + "X")
    strays = [
        f"{shown(path)}:{number}"
        for path in python_files(*CODE_FOLDERS, "tests")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if any(mark in line for mark in marks)
    ]
    assert not strays, f"do it or file an issue: {strays}"
