"""`sequela db` without starting a server, and what commands say where no database is there."""

from pathlib import Path

import pytest

NEXT_STEP = "See `sequela db status`, or the server that SEQUELA_NEO4J_URI names."


def test_status_and_stop_where_nothing_runs(offline, tmp_path):
    ended = offline("db", "status", "--json")
    assert ended.code == 1
    assert ended.document == {
        "home": str(tmp_path / "home"),
        "running": False,
        "listening": False,
        "pid": None,
        "uri": None,
        "owner": None,
    }
    assert offline("db", "stop", "--json").document == {"stopped": False}
    assert "was not running" in offline("db", "stop").out


def test_path_is_the_home_folder_alone(offline, tmp_path):
    assert offline("db", "path").out == f"{tmp_path / 'home'}\n"
    assert offline("db", "path", "--json").document == {"path": str(tmp_path / "home")}


def test_a_dump_of_nothing_and_a_load_of_nothing_say_so(offline, tmp_path):
    nothing = offline("db", "dump", tmp_path / "a.dump", "--json")
    assert nothing.code == 4
    assert nothing.document["error"]["exitCode"] == 4
    assert "holds no database yet" in nothing.err
    assert offline("db", "load", tmp_path / "a.dump").code == 4


def test_a_file_that_is_there_is_not_replaced_without_being_asked_to(offline, tmp_path):
    (tmp_path / "a.dump").write_text("mine")
    ended = offline("db", "dump", tmp_path / "a.dump")
    assert ended.code == 2
    assert "--force" in ended.err
    assert (tmp_path / "a.dump").read_text() == "mine"


def test_the_schema_is_looked_at_and_applied(sequela):
    applied = sequela("db", "schema", "--json")
    assert applied.code == 0
    assert applied.document["missing"] == []
    assert "001_identity_unique" in applied.document["steps"]
    looked = sequela("db", "schema", "--check")
    assert looked.code == 0
    assert "001_identity_unique" in looked.out


@pytest.mark.parametrize("arguments", [["check"], ["key", "list"], ["show", "x"], ["db", "schema"]], ids=" ".join)
def test_a_database_that_does_not_answer_is_one_clear_line(offline, arguments):
    ended = offline(*arguments, "--json", SEQUELA_NEO4J_URI="bolt://127.0.0.1:9")
    assert ended.code == 4
    assert ended.document["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert ended.err.splitlines() == [
        f"error: The database does not answer. [SERVICE_UNAVAILABLE] {NEXT_STEP}",
    ]


def test_the_journal_is_looked_at_and_renewed_only_where_it_is_lost(sequela):
    assert sequela("work", "--once").code == 0
    whole = sequela("db", "journal", "--json")
    assert whole.code == 0
    file = Path(whole.document["file"])
    assert whole.document == {"file": str(file), "entries": 1, "applied": 1, "fault": None}
    there = sequela("db", "journal", "--renew", "--json")
    assert there.code == 2
    assert "move it away" in there.err
    file.unlink()
    lost = sequela("db", "journal", "--json")
    assert (lost.code, lost.document["fault"], lost.document["entries"]) == (1, "JOURNAL_MISSING", None)
    assert sequela("work", "--once", "--json").document["error"]["code"] == "JOURNAL_MISSING"
    renewed = sequela("db", "journal", "--renew", "--json")
    assert (renewed.code, renewed.document["fault"]) == (0, None)
    assert sequela("work", "--once").code == 0
