from __future__ import annotations

import json
from typing import Any

import pytest

from graph.errors import Conflict, NotAuthorized, Oversized
from graph.records.read import read_content
from graph.vocabulary import Role
from service.formats import prov_read
from service.formats.prov_json import (
    ProvEnvelope,
    ProvImportReport,
    import_prov_document,
    prov_statements,
    read_prov_json,
)
from tests.support.deletion import delete, with_roles
from tests.support.records import READERS, TENANT

EX = "http://example.org/"
PREFIX = {"ex": EX}
SCOPE = "lineage"
DEFAULTS = ProvEnvelope(
    owner_id="platform-owner",
    observed_at="2026-03-02T08:00:00Z",
    permissions=tuple(READERS),
    purpose=("maintenance",),
    producer_id="prov-import",
    producer_version="1",
)


def document(**groups: Any) -> bytes:
    return json.dumps({"prefix": PREFIX, **groups}).encode()


def derivation(child: str, parent: str, **more: Any) -> dict[str, Any]:
    return {"prov:generatedEntity": child, "prov:usedEntity": parent, **more}


class World:
    """One graph to import into, and what stands in it."""

    def __init__(self, application, caller) -> None:
        self.application = application
        self.caller = caller

    def take(self, data: bytes, scope: str = SCOPE, defaults: ProvEnvelope = DEFAULTS) -> ProvImportReport:
        return import_prov_document(
            read_prov_json(data), self.application.registrar, self.caller, scope=scope, defaults=defaults
        )

    def identity(self, name: str, scope: str = SCOPE) -> str:
        return self.application.keys.identity(TENANT, name, scope=scope)

    def records(self) -> dict[str, dict[str, Any]]:
        """Identity → kind, envelope, content."""
        rows = self.application.database.administer(
            "MATCH (n:Record) RETURN n.identity AS id, n.kind AS kind, n.envelope AS envelope, n.content AS content"
        )
        return {
            row.text("id"): {
                "kind": row.text("kind"),
                "envelope": json.loads(row.text("envelope")),
                "content": json.loads(row.text_or_none("content") or "null"),
            }
            for row in rows
        }

    def named(self, kind: str) -> list[str]:
        return sorted(record["envelope"].get("name") for record in self.records().values() if record["kind"] == kind)

    def edges(self) -> set[tuple[str, str, str]]:
        """Edges between records, their ends by name; statements by their relation."""
        names = {
            identity: record["envelope"]["name"].removeprefix(EX)
            if record["kind"] != "prov_statement"
            else record["content"]["statements"][0]["type"]
            for identity, record in self.records().items()
        }
        rows = self.application.database.administer(
            "MATCH (a:Record)-[e]->(b:Record) RETURN a.identity AS a, type(e) AS e, b.identity AS b"
        )
        return {(names[row.text("a")], row.text("e"), names[row.text("b")]) for row in rows}


@pytest.fixture
def world(application, caller) -> World:
    return World(application, caller)


def test_elements_become_records_with_all_that_is_said_of_them(world):
    said = {
        "prov:label": [{"$": "bonjour", "lang": "fr", "type": "prov:InternationalizedString"}, "hello"],
        "ex:size": 12_345_678_901_234_567_890,
        "ex:share": 0.25,
        "ex:typed": {"$": "12345678901234567890", "type": "xsd:integer"},
        "ex:yes": True,
    }
    world.take(document(entity={"ex:e": said}, activity={"ex:a": {"prov:startTime": "2012-03-31T09:21:00"}}))
    content = read_content(world.application.database, world.caller, world.identity(f"{EX}e"))
    (statement,) = prov_statements(content)
    assert (statement.type, statement.id, statement.attributes) == ("entity", "ex:e", said)
    assert statement.attributes["ex:size"] == 12_345_678_901_234_567_890
    assert statement.prefix == {"ex": EX}
    assert world.named("prov_entity") == [f"{EX}e"]
    assert world.named("prov_activity") == [f"{EX}a"]


def test_a_derivation_is_an_edge_that_the_derivative_is_registered_with(world):
    report = world.take(
        document(
            wasDerivedFrom={
                "_:1": derivation("ex:report", "ex:draft"),
                "_:2": derivation(
                    "ex:draft", "ex:data", **{"prov:type": {"$": "prov:PrimarySource", "type": "xsd:QName"}}
                ),
            },
            entity={"ex:report": {}, "ex:draft": {}, "ex:data": {}},
        )
    )
    records = world.records()
    assert world.edges() >= {("report", "PROJECTED_FROM", "draft"), ("draft", "OBSERVED_FROM", "data")}
    stated = {
        name: tuple(
            records[world.identity(EX + name)]["envelope"][field] for field in ("derivationType", "inferenceMethod")
        )
        for name in ("report", "draft", "data")
    }
    assert stated == {
        "report": ("computed", "prov:wasDerivedFrom"),
        "draft": ("computed", "prov:wasDerivedFrom"),
        "data": ("asserted", "not_applicable"),
    }
    # The one with a prov:type says more than its edge does.
    assert world.named("prov_statement") != []
    assert report.records.as_json()["counts"]["created"] == 4


def test_what_is_only_named_gets_a_record_that_says_so(world):
    world.take(document(wasDerivedFrom={"_:1": derivation("ex:report", "ex:data")}))
    contents = {record["envelope"]["name"]: record["content"] for record in world.records().values()}
    assert contents == {
        f"{EX}report": {"statements": [], "prefix": {}, "implicit": True},
        f"{EX}data": {"statements": [], "prefix": {}, "implicit": True},
    }


@pytest.mark.parametrize(
    ("derivations", "cycle"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a"), ("x", "a")], {"a", "b", "c"}),
        ([("a", "a")], {"a"}),
    ],
)
def test_derivations_in_a_circle_are_refused_by_id_and_nothing_is_written(world, derivations, cycle):
    data = document(wasDerivedFrom={f"_:{n}": derivation(f"ex:{a}", f"ex:{b}") for n, (a, b) in enumerate(derivations)})
    with pytest.raises(Conflict) as refusal:
        world.take(data)
    assert refusal.value.code == "DERIVATION_CYCLE"
    found = refusal.value.details["cycle"]
    assert set(found) == {world.identity(EX + name) for name in cycle}
    assert found[0] == found[-1]
    assert world.records() == {}


def test_relations_that_go_in_circles_are_drawn(world):
    world.take(
        document(
            alternateOf={
                "_:1": {"prov:alternate1": "ex:a", "prov:alternate2": "ex:b"},
                "_:2": {"prov:alternate1": "ex:b", "prov:alternate2": "ex:a"},
                "_:3": {"prov:alternate1": "ex:a", "prov:alternate2": "ex:a"},
            },
            used={"_:u": {"prov:activity": "ex:act", "prov:entity": "ex:b"}},
            wasGeneratedBy={"_:g": {"prov:entity": "ex:b", "prov:activity": "ex:act"}},
        )
    )
    assert world.edges() == {
        ("a", "PROV_ALTERNATE_OF", "b"),
        ("b", "PROV_ALTERNATE_OF", "a"),
        # No edge joins a record with itself; the statement is kept.
        ("alternateOf", "PROJECTED_FROM", "a"),
        ("act", "PROV_USED", "b"),
        ("b", "PROV_GENERATED_BY", "act"),
    }
    assert len(world.named("prov_statement")) == 1


def test_a_relation_that_says_more_than_an_edge_is_kept_and_hangs_on_all_that_it_names(world):
    world.take(
        document(
            wasDerivedFrom={
                "ex:d": derivation(
                    "ex:e2", "ex:e1", **{"prov:activity": "ex:a", "prov:generation": "_:g", "prov:usage": "ex:u"}
                )
            },
            wasGeneratedBy={"_:g": {"prov:entity": "ex:e2", "prov:activity": "ex:a"}},
            wasAssociatedWith={"_:w": {"prov:activity": "ex:a", "prov:agent": "ex:ag", "prov:plan": "ex:p"}},
            wasStartedBy={
                "_:s": {"prov:activity": "ex:a", "prov:starter": "ex:b", "prov:time": "2026-01-01T00:00:00Z"}
            },
        )
    )
    assert world.edges() == {
        ("e2", "PROJECTED_FROM", "e1"),
        ("e2", "PROV_GENERATED_BY", "a"),
        ("a", "PROV_ASSOCIATED_WITH", "ag"),
        ("wasDerivedFrom", "PROJECTED_FROM", "e1"),
        ("wasDerivedFrom", "PROJECTED_FROM", "e2"),
        ("wasDerivedFrom", "PROJECTED_FROM", "a"),
        ("wasDerivedFrom", "PROJECTED_FROM", "wasGeneratedBy"),
        ("wasGeneratedBy", "PROJECTED_FROM", "e2"),
        ("wasGeneratedBy", "PROJECTED_FROM", "a"),
        ("wasAssociatedWith", "PROJECTED_FROM", "a"),
        ("wasAssociatedWith", "PROJECTED_FROM", "ag"),
        ("wasAssociatedWith", "PROJECTED_FROM", "p"),
        ("wasStartedBy", "PROJECTED_FROM", "a"),
        ("wasStartedBy", "PROJECTED_FROM", "b"),
    }


def test_a_relation_whose_ends_no_edge_may_join_is_kept_as_a_statement(world):
    # An activity is no entity, and still the document says so.
    report = world.take(
        document(activity={"ex:a": {}, "ex:b": {}}, used={"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:b"}})
    )
    assert report.as_json()["refused"] == []
    assert world.edges() == {("used", "PROJECTED_FROM", "a"), ("used", "PROJECTED_FROM", "b")}


def test_one_id_said_to_be_several_things_is_one_record(world):
    world.take(document(entity={"ex:x": {"ex:n": 1}}, agent={"ex:x": [{"ex:n": 2}, {"ex:n": 3}]}))
    (record,) = world.records().values()
    assert record["kind"] == "prov_agent"
    assert [(one.type, one.attributes["ex:n"]) for one in prov_statements(record["content"])] == [
        ("entity", 1),
        ("agent", 2),
        ("agent", 3),
    ]


def test_the_same_name_in_two_bundles_is_two_records_and_a_bundle_is_one_too(world):
    inner = {"prefix": {"ex": "http://inner.example/"}, "entity": {"ex:e": {}}}
    world.take(document(entity={"ex:e": {}}, bundle={"ex:b1": inner, "ex:b2": {"entity": {"ex:e": {}}}}))
    found = {(record["envelope"]["name"], record["content"].get("bundle")) for record in world.records().values()}
    assert found == {
        (f"{EX}e", None),
        ("http://inner.example/e", "http://inner.example/b1"),
        (f"{EX}e", f"{EX}b2"),
        ("http://inner.example/b1", None),
        (f"{EX}b2", None),
    }


def test_a_mention_leads_into_the_bundle_that_it_names(world):
    mention = {"prov:specificEntity": "ex:m", "prov:generalEntity": "ex:e", "prov:bundle": "ex:b"}
    world.take(document(mentionOf={"_:m": mention}, bundle={"ex:b": {"entity": {"ex:e": {"ex:n": 1}}}}))
    rows = world.application.database.administer(
        "MATCH (:Record)-[:PROV_MENTION_OF]->(b:Record) RETURN b.content AS content"
    )
    assert [json.loads(row.text("content"))["bundle"] for row in rows] == [f"{EX}b"]
    assert len(world.records()) == 4


def test_blank_names_mean_something_in_their_own_document_alone(world):
    first = document(entity={"_:x": {"ex:n": 1}})
    world.take(first)
    world.take(document(entity={"_:x": {"ex:n": 2}}))
    again = world.take(first)
    assert world.named("prov_entity") == ["_:x", "_:x"]
    assert again.records.as_json()["counts"] == {"created": 0, "quarantined": 0, "unchanged": 1, "refused": 0}


LONG = "n" * 3_000
# What stands in the document → the name that it gives.
ODD_NAMES = {
    "s3://h:9000/x": "s3://h:9000/x",
    "123": "123",
    "a/b?c#d%2F": "a/b?c#d%2F",
    "ex:a:b": f"{EX}a:b",
    "ex:": EX,
    "ex:a/b?c#d%2F": f"{EX}a/b?c#d%2F",
    "ex:\"quoted\" 'twice' \\": f"{EX}\"quoted\" 'twice' \\",
    "ex:two\nlines\tand tabs ": f"{EX}two\nlines\tand tabs ",
    f"ex:{LONG}": EX + LONG,
    "ex:Å": f"{EX}\N{LATIN CAPITAL LETTER A WITH RING ABOVE}",
    "ex:\N{GRINNING FACE}": f"{EX}\N{GRINNING FACE}",
    "ex:user-42": f"{EX}user-42",
    "ex:User_42": f"{EX}User_42",
    "prov:Thing": "http://www.w3.org/ns/prov#Thing",
    "urn:x:y": "urn:x:y",
    "'; MATCH (n) DETACH DELETE n; //": "'; MATCH (n) DETACH DELETE n; //",
}


def test_odd_names_come_back_as_they_were(world):
    world.take(document(entity={name: {"ex:n": number} for number, name in enumerate(ODD_NAMES)}))
    records = world.records()
    assert len(records) == len(ODD_NAMES)
    for number, (label, name) in enumerate(ODD_NAMES.items()):
        record = records[world.identity(name)]
        (statement,) = prov_statements(record["content"])
        assert (record["envelope"]["name"], statement.id, statement.attributes) == (name, label, {"ex:n": number})


def test_bare_names_take_the_default_namespace(world):
    prefix = {"default": "http://default.example/", "ex": EX}
    world.take(document(prefix=prefix, entity={"e": {"tag": 1}}))
    (record,) = world.records().values()
    assert record["envelope"]["name"] == "http://default.example/e"
    assert record["content"]["prefix"] == {"default": "http://default.example/"}


def test_two_prefixes_for_one_namespace_give_one_record(world):
    world.take(document(prefix={"ex": EX, "alias": EX}, entity={"ex:e": {"ex:n": 1}, "alias:e": {"ex:n": 2}}))
    assert world.named("prov_entity") == [f"{EX}e"]


WHOLE = document(
    entity={"ex:e1": {}, "ex:e2": {"prov:label": "two"}, "_:blank": {}},
    activity={"ex:a": {}},
    wasDerivedFrom={"ex:d": derivation("ex:e2", "ex:e1"), "_:d": derivation("ex:e3", "ex:e2")},
    used={"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:e1"}, "ex:u": {"prov:activity": "ex:a"}},
    bundle={
        "ex:b": {
            "entity": {"ex:e1": {}},
            "hadMember": {"_:h": {"prov:collection": "ex:c", "prov:entity": ["ex:e1", "ex:e2"]}},
        }
    },
)


def test_a_repeat_of_the_same_document_changes_nothing(world):
    first = world.take(WHOLE)
    before, edges = world.records(), world.edges()
    again = world.take(json.dumps(json.loads(WHOLE), indent=2, sort_keys=True).encode())
    assert first.records.as_json()["counts"]["created"] == len(before) == 11
    assert again.records.as_json()["counts"] == {"created": 0, "quarantined": 0, "unchanged": 11, "refused": 0}
    assert (world.records(), world.edges()) == (before, edges)


@pytest.mark.req("TMB-04")
def test_what_was_deleted_stays_out_with_what_hangs_on_it_and_the_rest_is_imported(world):
    world.take(document(entity={"ex:secret": {"ex:v": 1}, "ex:other": {}}))
    gone = world.identity(f"{EX}secret")
    delete(world.application, world.caller, gone)
    report = world.take(
        document(
            entity={"ex:secret": {"ex:v": 1}, "ex:other": {}, "ex:third": {}},
            wasDerivedFrom={"_:1": derivation("ex:summary", "ex:secret"), "_:2": derivation("ex:copy", "ex:summary")},
            used={
                "_:u": {"prov:activity": "ex:a", "prov:entity": "ex:secret"},
                "_:v": {"prov:activity": "ex:a", "prov:entity": "ex:other"},
            },
        )
    ).as_json()
    assert report["records"]["counts"] == {"created": 2, "quarantined": 0, "unchanged": 1, "refused": 3}
    assert report["records"]["codes"] == {"SOURCE_NOT_FOUND": 1, "TOMBSTONE_BLOCKED": 2}
    assert (report["records"]["blocked"], report["records"]["blockedSources"]) == ([gone], [gone])
    assert (report["relationsJoined"], report["relationsRefused"]) == (1, 1)
    assert {row["code"] for row in report["refused"] if "edge" in row} == {"TOMBSTONE_BLOCKED"}
    assert world.named("prov_entity") == [f"{EX}other", f"{EX}third"]
    assert "secret" not in json.dumps(report)


@pytest.mark.req("TMB-04")
def test_a_deleted_end_takes_the_statement_with_it_and_a_stale_import_brings_back_neither(world):
    said = document(
        used={"ex:u": {"prov:activity": "ex:a", "prov:entity": "ex:e", "prov:time": "2026-01-01T00:00:00Z"}}
    )
    world.take(said)
    assert len(world.named("prov_statement")) == 1
    delete(world.application, world.caller, world.identity(f"{EX}e"))
    assert "2026-01-01" not in json.dumps(world.records())
    report = world.take(said)
    assert set(report.records.blocked) >= {world.identity(f"{EX}e")}
    assert len(report.records.blocked) == 2
    assert "2026-01-01" not in json.dumps(world.records())
    assert world.named("prov_entity") == []


def test_documents_of_one_scope_add_relations_to_what_is_there(world):
    world.take(document(entity={"ex:e": {"ex:n": 1}}))
    report = world.take(document(used={"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:e"}}))
    assert report.records.as_json()["counts"] == {"created": 1, "quarantined": 0, "unchanged": 1, "refused": 0}
    assert world.edges() == {("a", "PROV_USED", "e")}


def test_what_another_document_says_otherwise_is_refused(world):
    world.take(document(entity={"ex:e": {"ex:n": 1}}))
    report = world.take(document(entity={"ex:e": {"ex:n": 2}, "ex:f": {}})).as_json()
    assert report["records"]["codes"] == {"RECORD_IMMUTABLE": 1}
    assert [row["recordId"] for row in report["refused"]] == [world.identity(f"{EX}e")]
    assert world.take(document(entity={"ex:e": {"ex:n": 2}}), scope="other").records.as_json()["counts"]["created"] == 1


def test_more_than_a_batch_in_one_chain(world):
    links = {f"_:{n}": derivation(f"ex:{n + 1}", f"ex:{n}") for n in range(520)}
    report = world.take(document(wasDerivedFrom=dict(reversed(links.items()))))
    assert report.records.as_json()["counts"] == {"created": 521, "quarantined": 0, "unchanged": 0, "refused": 0}
    rows = world.application.database.administer("MATCH ()-[e:PROJECTED_FROM]->() RETURN count(e) AS n")
    assert rows[0].number("n") == 520


def test_a_caller_who_is_no_producer_imports_nothing(world):
    auditor = World(world.application, with_roles(Role.AUDITOR))
    with pytest.raises(NotAuthorized):
        auditor.take(WHOLE)
    assert world.records() == {}


def test_limits_are_named_on_both_sides(monkeypatch, world):
    name = "n" * 4_096
    assert len(read_prov_json(json.dumps({"entity": {name: {}}}).encode()).elements) == 1
    with pytest.raises(Oversized) as too_long:
        read_prov_json(json.dumps({"entity": {f"{name}n": {}}}).encode())
    assert (too_long.value.details["limit"], too_long.value.details["column"]) == ("NAME_CHARACTERS_MAX", 13)
    monkeypatch.setattr(prov_read, "STATEMENTS_MAX", 2)
    assert len(read_prov_json(document(entity={"ex:1": {}, "ex:2": {}})).elements) == 2
    with pytest.raises(Oversized, match="too many statements"):
        read_prov_json(document(entity={"ex:1": {}, "ex:2": {}, "ex:3": {}}))
    monkeypatch.setattr(prov_read, "DOCUMENT_BYTES_MAX", 20)
    assert read_prov_json(b'{"entity": {"a":{}}}').elements != ()
    with pytest.raises(Oversized, match="too large"):
        read_prov_json(b'{"entity": {"ab":{}}}')
    agent = b'{"agent": {"a":{}}}'
    assert world.take(agent, scope="s" * 256).refused == []
    with pytest.raises(Oversized, match="scope"):
        world.take(agent, scope="s" * 257)


def test_the_content_of_another_record_is_no_statement():
    with pytest.raises(ValueError, match="no content of an imported"):
        prov_statements({"text": "hello"})
