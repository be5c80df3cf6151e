"""`sequela export`: what was imported, and the account of a tenant."""

import json

import pytest

PROV = {
    "prefix": {"ex": "http://example.org/"},
    "entity": {"ex:chart": {}, "ex:data": {"ex:n": 12_345_678_901_234_567_890}},
    "wasDerivedFrom": {"_:d": {"prov:generatedEntity": "ex:chart", "prov:usedEntity": "ex:data"}},
}


@pytest.fixture
def imported(sequela, tmp_path):
    path = tmp_path / "chart.json"
    path.write_text(json.dumps(PROV))
    assert sequela("import", path, "--format", "prov-json", "--scope", "s").code == 0
    return sequela


def test_what_was_imported_is_written_to_a_file(imported, tmp_path):
    file = tmp_path / "out.json"
    file.write_text("older")
    ended = imported("export", "prov", file, "--scope", "s", "--json")
    assert (ended.code, ended.document) == (0, {"records": 2, "ended": 0, "withheld": False, "file": str(file)})
    written = json.loads(file.read_text())
    assert written["entity"] == PROV["entity"]
    assert list(written["wasDerivedFrom"].values()) == list(PROV["wasDerivedFrom"].values())
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith("out")) == ["out.json"]
    assert "2 records, 0 deleted" in imported("export", "prov", file, "--scope", "s").out


def test_standard_output_has_the_document_alone(imported):
    ended = imported("export", "prov", "-", "--scope", "s")
    assert (ended.code, ended.document["entity"]) == (0, PROV["entity"])
    assert "2 records" in ended.err


def test_a_scope_with_nothing_in_it_says_so(imported, tmp_path):
    ended = imported("export", "prov", tmp_path / "none.json", "--scope", "other")
    assert ended.code == 1
    assert "Nothing is there" in ended.out


def test_what_the_caller_may_not_see_is_missed_aloud(imported, tmp_path):
    ended = imported("export", "prov", tmp_path / "out.json", "--scope", "s", "--purpose", "lineage_review", "--json")
    assert (ended.code, ended.document["withheld"], ended.document["records"]) == (1, True, 0)


def test_after_a_deletion_names_and_content_stay_away_and_the_end_is_said(imported, tmp_path):
    assert imported("delete", "--name", "http://example.org/data", "--scope", "s", "--yes").code == 0
    ended = imported("export", "prov", "-", "--scope", "s")
    assert "example.org/data" not in ended.out
    account = imported("export", "account", "-")
    assert account.code == 0
    assert len(account.document["wasInvalidatedBy"]) == 2
    assert "example.org" not in account.out


def test_a_whole_source_is_deleted_by_its_scope(imported):
    assert imported("delete", "--source", "prov-json:s", "--kind", "prov_entity", "--yes").code == 0
    assert imported("export", "prov", "-", "--scope", "s").document == {}


def test_a_file_that_cannot_be_written_is_a_wrong_call(imported, tmp_path):
    ended = imported("export", "prov", tmp_path / "no" / "out.json", "--scope", "s")
    assert ended.code == 2
    assert "cannot be written" in ended.err
