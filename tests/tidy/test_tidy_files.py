"""What stands in the project's files: no machine, no registry, valid requirement ids, and READMEs that are true."""

from __future__ import annotations

import ast
import json
import re
import tomllib

import pytest
import typer

from graph.vocabulary import ReasonCode
from service.cli.main import app
from service.settings import Settings
from tests.tidy.sources import ROOT, own_files, python_files, section, shown, table_codes, tree

READMES = ("README.md", "graph/README.md", "service/README.md", "service/api/README.md", "tests/README.md")
README_LINES_MAX = 150
DECISION_LINES_MAX = 8
INSTALLED_COMMANDS = (
    "python3 -m pip install -e '.[local]' && sequela demo",
    "python3 -m pip install -e '.[local,test]' && python3 -m pytest",
)
# Hosts that name a format, a loopback address, or nothing that exists.
HOSTS = re.compile(
    r"(127(\.0\.0\.1)?|localhost|host|([a-z-]+\.)*example(\.(org|com|net))?|(www\.)?w3\.org|maven\.apache\.org"
    r"|in-toto\.io|keepachangelog\.com|semver\.org|json-schema\.org|openlineage\.io|purl\.org|xmlns\.com)"
)
ADDRESS = re.compile(r"https?://([A-Za-z0-9._-]+)")
MACHINE_PATH = re.compile(r"(?<![\w.$}<*])/(?:work|tmp|root|home|Users)/[\w.]")
REQUIREMENT = re.compile(r"[A-Z]{3}-\d{2}|FIX-\d-\d{2}|F-\d{2}")


def test_no_file_names_a_host_of_the_world():
    strays = [
        f"{shown(path)}: {host}"
        for path in own_files()
        for host in ADDRESS.findall(path.read_text(encoding="utf-8", errors="replace"))
        if not HOSTS.fullmatch(host.rstrip("."))
    ]
    assert not strays, f"leave the address to the machine's configuration, or use example.org: {strays}"


def test_no_file_names_a_place_on_somebodys_machine():
    strays = [
        f"{shown(path)}:{number}"
        for path in own_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not strays, f"use tmp_path, a setting or a path below the project: {strays}"


def test_marked_requirements_look_like_requirements():
    strays: list[str] = []
    for path in python_files("tests"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.req"):
                ids = [argument.value if isinstance(argument, ast.Constant) else "" for argument in node.args]
                if not ids or not all(isinstance(one, str) and REQUIREMENT.fullmatch(one) for one in ids):
                    strays.append(f"{shown(path)}:{node.lineno}")
    assert not strays, f"name ids of the catalogue, such as DEL-07, one string each: {strays}"


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_is_short(readme):
    lines = (ROOT / readme).read_text(encoding="utf-8").splitlines()
    assert 0 < len(lines) < README_LINES_MAX, f"{readme} has {len(lines)} lines; say it in fewer"


@pytest.mark.parametrize("readme", READMES)
def test_decisions_are_short(readme):
    text = (ROOT / readme).read_text(encoding="utf-8")
    for decision in re.findall(r"^\*\*(.+?)\*\* \(\d{4}-\d{2}-\d{2}\)((?:\n(?!\n).*)*)", text, re.MULTILINE):
        lines = 1 + decision[1].count("\n")
        assert lines <= DECISION_LINES_MAX, f"{readme}: '{decision[0]}' takes {lines} lines"


def test_the_readme_has_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in INSTALLED_COMMANDS:
        assert text.count(command) == 1, f"README.md says exactly once: {command}"


def test_the_map_of_folders_is_true():
    named = {name.rstrip("/") for name in table_codes("README.md", "Map", 0)}
    there = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")} - {
        "build",
        "dist",
    }
    there -= {path.name for path in ROOT.glob("*.egg-info")}
    rooms = {f"{top}/{path.parent.name}" for top in ("graph", "service") for path in (ROOT / top).glob("*/__init__.py")}
    assert named == there | rooms, "bring the table under Map in README.md up to date"


def test_the_table_of_test_folders_is_true():
    there = {path.relative_to(ROOT / "tests").parts[0] for path in python_files("tests")}
    folders = {name for name in there if (ROOT / "tests" / name).is_dir()}
    named = table_codes("tests/README.md", "The tests", 0)
    assert named == folders, "bring the table of folders in tests/README.md up to date"


def test_the_table_of_commands_is_true():
    assert table_codes("service/README.md", "Commands", 0) == set(commands(typer.main.get_command(app), "sequela")), (
        "bring the table of commands in service/README.md up to date"
    )


def commands(command, name):
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name
    else:
        for part, below in inner.items():
            yield from commands(below, f"{name} {part}")


def test_changes_are_kept_in_the_usual_form():
    text = section("README.md", "Changes") + (ROOT / "README.md").read_text().partition("## Changes")[2]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert re.search(r"^### \[(Unreleased|\d+\.\d+\.\d+)\]", text, re.MULTILINE)
    assert f"[{version}]" in text or "[Unreleased]" in text


def test_the_table_of_settings_is_true():
    prefix = str(Settings.model_config["env_prefix"])
    fields = {f"{prefix}{name}".upper() for name in Settings.model_fields}
    assert table_codes("service/README.md", "Settings", 0) == fields, "bring the table of settings up to date"


def test_the_defaults_of_settings_are_true():
    for line in section("service/README.md", "Settings").splitlines():
        matched = re.match(r"\| `SEQUELA_(\w+)` \| `([^`]*)` \|", line)
        if matched:
            default = Settings.model_fields[matched[1].lower()].default
            assert str(default) == matched[2], f"the default of SEQUELA_{matched[1]} is {default}"


def test_the_table_of_error_codes_is_true():
    assert table_codes("service/api/README.md", "Error codes", 1) == {code.value for code in ReasonCode}


def test_the_table_of_endpoints_is_true():
    document = json.loads((ROOT / "tests/api/openapi.json").read_text(encoding="utf-8"))
    served = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert table_codes("service/api/README.md", "Endpoints", 0) == served, "bring the table of endpoints up to date"
