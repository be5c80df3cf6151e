"""`sequela lineage` and `sequela show`."""

import json

import pytest

from tests.support.records import stated


def _derived(name, *parents, edge):
    sources = [{"name": parent, "edge": edge} for parent in parents]
    computed = {"derivationType": "computed", "inferenceMethod": "test", "trust": "unreviewed_derived"}
    return stated(name, sources=sources, **computed)


@pytest.fixture
def ids(sequela):
    """note → summary → packet, and note → vector → packet."""
    records = [
        stated("note", content={"text": "[bold]short[/bold]"}),
        _derived("summary", "note", edge="SUMMARIZED_FROM"),
        _derived("vector", "note", edge="EMBEDDED_FROM"),
        _derived("packet", "summary", "vector", edge="EXPORTED_FROM"),
    ]
    taken = sequela("import", "-", "--json", given="\n".join(json.dumps(record) for record in records))
    assert taken.code == 0, taken.err
    return {record["name"]: line["recordId"] for record, line in zip(records, taken.lines, strict=False)}


def test_the_tree_of_what_came_of_a_record(sequela, ids):
    ended = sequela("lineage", "--name", "note")
    assert ended.code == 0
    *tree, receipt = ended.out.splitlines()
    assert tree[0] == f"document  {ids['note']}"
    assert len(tree) == 4
    assert any(f"document  {ids['summary']}  SUMMARIZED_FROM" in line for line in tree)
    assert any(f"document  {ids['packet']}  EXPORTED_FROM (also EXPORTED_FROM" in line for line in tree)
    assert receipt.startswith("3 shown of 3 reached, 2 deep; complete")


def test_the_same_for_a_machine(sequela, ids):
    document = sequela("lineage", ids["note"], "--json").document
    found = {
        item["identity"]: (item["depth"], sorted(step["edge"] for step in item["via"])) for item in document["items"]
    }
    assert found == {
        ids["summary"]: (1, ["SUMMARIZED_FROM"]),
        ids["vector"]: (1, ["EMBEDDED_FROM"]),
        ids["packet"]: (2, ["EXPORTED_FROM", "EXPORTED_FROM"]),
    }
    assert document["receipt"]["complete"] is True


def test_direction_depth_edge_and_kind(sequela, ids):
    def reached(*options):
        return {item["identity"] for item in sequela("lineage", *options, "--json").document["items"]}

    assert reached(ids["packet"], "--direction", "upstream") == {ids["note"], ids["summary"], ids["vector"]}
    assert reached(ids["summary"], "--direction", "both") == {ids["note"], ids["packet"]}
    assert reached(ids["note"], "--depth", "1") == {ids["summary"], ids["vector"]}
    assert reached(ids["note"], "--edge", "embedded_from") == {ids["vector"]}
    assert reached(ids["note"], "--kind", "embedding") == set()


def test_counts_instead_of_ids(sequela, ids):
    document = sequela("lineage", ids["note"], "--counts", "--json").document
    assert document["total"] == 3
    assert [(level["depth"], level["total"]) for level in document["levels"]] == [(1, 2), (2, 1)]
    assert "complete" in sequela("lineage", ids["note"], "--counts").out


def test_an_answer_that_is_cut_off_says_so(sequela, ids):
    ended = sequela("lineage", ids["note"], "--limit", "2", "--json")
    assert len(ended.document["items"]) == 2
    assert (ended.document["receipt"]["complete"], ended.document["receipt"]["moreFollow"]) == (False, True)
    assert "not complete: more follow: see --limit" in sequela("lineage", ids["note"], "--limit", "2").out
    assert "not complete: limit depth_max met" in sequela("lineage", ids["note"], "--depth", "1").out


def test_deleted_ones_are_walked_through_on_request(sequela, ids):
    assert sequela("delete", ids["note"], "--yes").code == 0
    plain = sequela("lineage", ids["note"])
    assert plain.code == 3
    assert "[DELETED_RECORD] Add --deleted" in plain.err
    ended = sequela("lineage", ids["note"], "--deleted", "--json")
    assert {item["identity"] for item in ended.document["items"]} == {ids["summary"], ids["vector"], ids["packet"]}
    assert all(item["deleted"] for item in ended.document["items"])
    shown = sequela("lineage", ids["note"], "--deleted").out
    assert shown.startswith(f"deleted  {ids['note']}")
    assert ids["packet"] in shown


def test_show_tells_the_envelope_and_on_request_the_content(sequela, ids):
    plain = sequela("show", "--name", "packet")
    assert plain.code == 0
    assert f"EXPORTED_FROM {ids['summary']}" in plain.out
    assert "content" not in sequela("show", ids["note"], "--json").document
    assert "[bold]short[/bold]" in sequela("show", ids["note"], "--content").out
    document = sequela("show", ids["note"], "--content", "--json").document
    assert document["content"] == {"text": "[bold]short[/bold]"}


def test_what_is_not_there_is_one_line(sequela):
    for command in ("lineage", "show"):
        ended = sequela(command, "--name", "nothing of that name")
        assert ended.code == 3
        assert ended.out == ""
        assert ended.err.startswith("error: No such record. [NOT_FOUND]")
        assert ended.err.count("\n") == 1


def test_an_unknown_kind_is_refused(sequela, ids):
    ended = sequela("lineage", ids["note"], "--kind", "unheard-of")
    assert ended.code == 3
    assert "[UNKNOWN_KIND]" in ended.err
