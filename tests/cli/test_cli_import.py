"""`sequela import` of NDJSON."""

import json
import re
from pathlib import Path

from graph.envelope import RecordInput
from tests.support.records import stated


def _file(tmp_path, *lines):
    path = tmp_path / "records.ndjson"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_each_line_has_its_result_and_the_last_line_is_the_summary(sequela, tmp_path):
    path = _file(tmp_path, stated("a"), "{not json", stated("b", purpose=None), stated("c", kind="unheard-of"))
    ended = sequela("import", path, "--json")
    assert ended.code == 1
    *results, last = ended.lines
    assert [(one["line"], one["status"], one["code"]) for one in results] == [
        (1, "created", None),
        (2, "refused", "MALFORMED_INPUT"),
        (3, "quarantined", "MISSING_PURPOSE"),
        (4, "refused", "UNKNOWN_KIND"),
    ]
    assert last["summary"]["counts"] == {"created": 1, "quarantined": 1, "unchanged": 0, "refused": 2}


def test_a_person_sees_the_problems_and_the_numbers(sequela, tmp_path):
    path = _file(tmp_path, stated("a"), "{not json")
    ended = sequela("import", path)
    assert ended.code == 1
    assert "MALFORMED_INPUT" in ended.out
    assert "2 records: 1 created, 0 quarantined, 0 unchanged, 1 refused." in ended.out


def test_standard_input_and_a_repeat(sequela, tmp_path):
    line = json.dumps(stated("a"))
    assert "1 created" in sequela("import", "-", given=line).out
    again = sequela("import", "-", given=line)
    assert again.code == 0
    assert "1 unchanged" in again.out


def test_options_of_the_other_format_are_a_wrong_call(offline, tmp_path):
    path = _file(tmp_path)
    assert offline("import", path, "--scope", "x").code == 2
    assert offline("import", path, "--format", "prov-json", "--key", "x").code == 2


PROV = {
    "prefix": {"ex": "http://example.org/"},
    "entity": {"ex:chart": {}, "ex:data": {}},
    "activity": {"ex:draw": {}},
    "wasDerivedFrom": {"_:d": {"prov:generatedEntity": "ex:chart", "prov:usedEntity": "ex:data"}},
    "used": {"_:u": {"prov:activity": "ex:draw", "prov:entity": "ex:data"}},
}


def test_a_prov_document_becomes_records_and_edges_and_its_repeat_changes_nothing(sequela, tmp_path):
    path = tmp_path / "chart.json"
    path.write_text(json.dumps(PROV))
    ended = sequela("import", path, "--format", "prov-json", "--json")
    assert ended.code == 0, ended.err
    assert ended.document["records"]["counts"]["created"] == 3
    assert ended.document["relationsJoined"] == 1
    again = sequela("import", path, "--format", "prov-json")
    assert again.code == 0
    assert "3 unchanged" in again.out
    found = sequela("lineage", "--name", "http://example.org/data", "--json")
    assert [item["kind"] for item in found.document["items"]] == ["prov_entity"]


def test_a_broken_prov_document_is_refused_whole(sequela, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"entity": {')
    ended = sequela("import", path, "--format", "prov-json", "--json")
    assert ended.code == 3
    assert ended.document["error"]["code"] == "MALFORMED_INPUT"
    assert sequela("import", "-", "--format", "prov-json", given="{}").code == 2


README = Path(__file__).parents[2] / "service" / "formats" / "README.md"


def test_the_lines_of_the_readme_are_created(sequela):
    lines = re.findall(r"^```json\n(.+)\n```$", README.read_text(encoding="utf-8"), re.MULTILINE)
    ended = sequela("import", "-", "--json", "--tenant", "default", given="\n".join(lines))
    assert ended.code == 0, ended.out
    assert [one.get("status") for one in ended.lines[:-1]] == ["created", "created"]
    # The purpose that a call has without --purpose.
    walked = sequela("lineage", "--name", "note-1", "--tenant", "default", "--purpose", "lineage_review", "--json")
    assert [item["kind"] for item in walked.document["items"]] == ["summary"]


def test_the_table_of_the_readme_has_every_field():
    rows = [line.split("|")[1] for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {info.alias or name for name, info in RecordInput.model_fields.items()}


def test_what_is_wrong_with_a_line_is_told_in_words(sequela, tmp_path):
    path = _file(tmp_path, stated("a"), stated("b", runId=None, purpose=None), stated("c", nmae=1), "{not json")
    told = " ".join(sequela("import", path).out.split())
    assert "MISSING_PURPOSE: purpose; ENVELOPE_INCOMPLETE: runId" in told
    assert "no record has such a field" in told
    assert "line 4, column 2" in told
    assert "{'" not in told


def test_privacy_sees_what_was_imported_and_what_comes_late_is_told_with_its_place(sequela, tmp_path):
    path = tmp_path / "late.json"
    time, end = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
    late = {
        "wasInvalidatedBy": {"_:i": {"prov:entity": "e", "prov:time": end}},
        "used": {"_:u": {"prov:activity": "a", "prov:entity": "e", "prov:time": time}},
    }
    path.write_text(json.dumps(late))
    ended = sequela("import", path, "--format", "prov-json", "--json")
    assert (ended.code, ended.document["refused"]) == (1, [])
    assert [(one["rule"], one["line"]) for one in ended.document["late"]] == [("use_precedes_invalidation", 1)]
    assert "use_precedes_invalidation" in sequela("import", path, "--format", "prov-json").out
    shown = sequela("show", "--name", "e", "--json").document
    assert "role:privacy" in shown["permissions"]
