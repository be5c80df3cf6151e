"""`sequela demo`, once from nothing to nothing: its own server, its own folder, the whole story."""

import json
import os
import subprocess
import sys

import pytest

BLOCKED = ("refused", "TOMBSTONE_BLOCKED")


@pytest.fixture
def demo(tmp_path):
    # Nothing listens where SEQUELA_NEO4J_URI points: the demo has a server of its own.
    environment = {
        **os.environ,
        "SEQUELA_HOME": str(tmp_path),
        "SEQUELA_NEO4J_URI": "bolt://127.0.0.1:9",
        "SEQUELA_NEO4J_HEAP": "512m",
    }

    def run(*arguments):
        program = "from service.cli.main import main; main()"
        command = [sys.executable, "-c", program, "demo", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)

    yield run
    run("--clean")


@pytest.mark.req("DEL-02", "TMB-04")
def test_the_whole_story_from_nothing_to_nothing(demo, tmp_path):
    ended = demo("--json")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["registered"] == {"created": 15}
    request = told["request"]
    assert (request["state"], request["complete"], request["pending"]) == ("COMPLETED", True, 0)
    assert request["counts"] == {
        "deleted": 9,
        "invalidated": 1,
        "not_found": 0,
        "retained_under_exception": 0,
        "failed": 0,
    }
    assert told["filesLeft"] == []
    assert [path.name for path in (tmp_path / "demo" / "files").rglob("*.bin")] == []
    assert [(one["what"], one["status"], one["code"]) for one in told["replayed"]] == [
        ("late job", *BLOCKED),
        ("late job", *BLOCKED),
        ("late job", *BLOCKED),
        ("stale import", *BLOCKED),
        ("stale import", "unchanged", None),
        ("stale import", "created", None),
    ]
    assert told["receipt"]["requestId"] == request["requestId"]
    assert told["clean"] is True
    for part in (
        "A small world",
        "derivation12.json",
        "EMBEDDED_FROM",
        "Every invariant holds",
        "sequela demo --clean",
    ):
        assert part in ended.stderr
    removed = demo("--clean", "--json")
    assert json.loads(removed.stdout) == {"removed": str(tmp_path / "demo")}
    assert not (tmp_path / "demo").exists()
    assert json.loads(demo("--clean", "--json").stdout) == {"removed": None}


def test_keep_and_clean_contradict_each_other(offline):
    ended = offline("demo", "--keep", "--clean")
    assert ended.code == 2
    assert "not both" in ended.err
