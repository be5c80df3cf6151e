"""What a person sees who asks for help, and what it costs."""

import subprocess
import sys

import pytest
import typer

from service.cli.main import app


def _paths(command, path=()):
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from _paths(below, (*path, name))


PATHS = list(_paths(typer.main.get_command(app)))
COMMANDS = {
    "check", "db", "delete", "demo", "export", "hold", "import", "key", "lineage", "outcomes", "policy", "receipt", "retry",
    "serve", "show", "stores", "work",
}  # fmt: skip
GROUPS = {"db", "export", "hold", "key", "policy", "stores"}


def test_every_command_is_there():
    assert {path[0] for path in PATHS if path} == COMMANDS
    assert {path[1] for path in PATHS if path[:1] == ("db",) and len(path) == 2} == {
        "start",
        "stop",
        "status",
        "dump",
        "journal",
        "load",
        "path",
        "schema",
    }


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_of_every_command_explains_it_with_an_example(offline, path):
    ended = offline(*path, "--help")
    assert ended.code == 0
    assert "Usage: sequela" in ended.out
    if path and path[-1] not in GROUPS:
        assert f"Example: sequela {' '.join(path)}" in ended.out or "Example: cd $(sequela db path)" in ended.out
        assert "--json" in ended.out
    assert ended.err == ""


def test_overview_tells_the_exit_codes(offline):
    told = " ".join(offline("--help").out.split())
    for part in ("0 done", "1 no", "2 usage", "3 refused", "4 not available", "5 unfinished", "130 interrupted"):
        assert part in told


def test_help_loads_nothing_that_takes_long():
    heavy = "{'neo4j', 'fastapi', 'pydantic', 'structlog', 'uvicorn', 'yaml', 'tenacity'}"
    program = f"import sys, service.cli.main; print(sorted({heavy} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["lineage", "a", "--name", "b"],
        ["lineage", "a", "--direction", "sideways"],
        ["delete"],
        ["delete", "a", "--name", "b", "--yes"],
        ["delete", "--principal", "p", "--yes"],
        ["delete", "a", "--kind", "document", "--yes"],
        ["delete", "a"],
        ["hold", "place", "a"],
        ["key", "create", "--role", "king", "--principal", "p", "--purpose", "maintenance"],
        ["import", "no-such-file"],
        ["db", "load"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_ends_with_2_and_says_why(offline, arguments):
    ended = offline(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert "Error" in ended.err


def test_a_value_that_is_none_of_a_list_is_refused_in_plain_words(offline):
    ended = offline("key", "create", "--role", "king", "--principal", "p", "--purpose", "maintenance")
    assert "'king' is not one of" in ended.err
    assert "Value error" not in ended.err


LOOKS = [
    ["show", "x"],
    ["lineage", "x"],
    ["outcomes", "x"],
    ["retry", "x"],
    ["receipt", "x"],
    ["check"],
    ["delete", "x", "--preview"],
    ["export", "account", "x"],
    ["export", "prov", "x"],
    ["hold", "list"],
    ["hold", "release", "x"],
    ["key", "list"],
    ["key", "revoke", "x"],
]


@pytest.mark.parametrize("arguments", LOOKS, ids=" ".join)
def test_looking_where_no_database_is_makes_none(offline, tmp_path, arguments):
    ended = offline(*arguments)
    assert ended.code == 4
    assert f"no database in {tmp_path / 'home'}" in ended.err
    assert "`sequela db start`" in ended.err
    assert not (tmp_path / "home").exists()


def test_a_wrong_setting_is_named(offline):
    ended = offline("db", "status", SEQUELA_PORT="many")
    assert ended.code == 2
    assert "SEQUELA_PORT" in ended.err


def test_an_interrupt_is_no_error_of_the_program(offline, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("service.cli.commands.database.load_settings", interrupted)
    ended = offline("db", "path")
    assert ended.code == 130
    assert "Traceback" not in ended.err
