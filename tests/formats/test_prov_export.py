"""What comes out again: names, numbers, prefixes, several documents of one scope, and what a deletion leaves of them."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import pytest
from prov.model import ProvDocument

from graph.errors import Conflict, Oversized
from graph.lineage import exchange
from graph.vocabulary import Role
from service.formats.prov_export import ProvExport, export_prov_document
from service.formats.prov_json import ProvEnvelope, ProvImportReport, import_prov_document, read_prov_json
from service.formats.prov_order import late_events
from tests.support.deletion import delete, with_roles
from tests.support.records import READERS, TENANT

EX = "http://example.org/"
DEFAULTS = ProvEnvelope(
    owner_id="platform-owner",
    observed_at="2026-03-02T08:00:00Z",
    permissions=tuple(READERS),
    purpose=("maintenance",),
    producer_id="prov-import",
    producer_version="1",
)


def text(prefix: dict[str, str] | None = None, **groups: Any) -> bytes:
    return json.dumps({"prefix": prefix or {"ex": EX}, **groups}).encode()


def derived(child: str, parent: str, **more: Any) -> dict[str, Any]:
    return {"prov:generatedEntity": child, "prov:usedEntity": parent, **more}


def oracle(document: Any) -> ProvDocument:
    with warnings.catch_warnings():
        # It warns of names that a later version will not take any more.
        warnings.simplefilter("ignore")
        return ProvDocument.deserialize(content=json.dumps(document), format="json")


class World:
    def __init__(self, application, caller) -> None:
        self.application = application
        self.caller = caller

    def take(self, data: bytes, scope: str = "s") -> ProvImportReport:
        return import_prov_document(
            read_prov_json(data), self.application.registrar, self.caller, scope=scope, defaults=DEFAULTS
        )

    def give(self, scope: str = "s", caller: Any = None) -> ProvExport:
        return export_prov_document(
            self.application.database, self.application.keys, caller or self.caller, scope=scope
        )

    def identity(self, name: str, scope: str = "s") -> str:
        return self.application.keys.identity(TENANT, name, scope=scope)

    def delete(self, *names: str) -> str:
        return delete(self.application, self.caller, *(self.identity(f"{EX}{name}") for name in names)).request_id


@pytest.fixture
def world(application, caller) -> World:
    return World(application, caller)


# Said with the prefixes ex, odd and default; each one a document of its own.
ROUND_TRIPS: dict[str, dict[str, Any]] = {
    "numbers": {
        "entity": {
            "ex:e": {
                "ex:whole": 12_345_678_901_234_567_890,
                "ex:typed": {"$": "98765432109876543210", "type": "xsd:integer"},
                "ex:small": -0.0000001,
                "ex:double": {"$": "1E400", "type": "xsd:double"},
                "ex:yes": True,
                "ex:no": False,
                "ex:zero": 0,
                "ex:same": [1, 1.0, "1", True, {"$": "1", "type": "xsd:string"}],
            }
        }
    },
    "texts": {
        "entity": {
            "ex:e": {
                "prov:label": [
                    {"$": "bonjour", "lang": "fr"},
                    {"$": "hello", "lang": "en"},
                    "hello",
                    "two\nlines\tand \u0000".replace("\u0000", "\u2028"),
                ],
                "ex:own": {"$": "5 \N{DEGREE SIGN}C", "type": "odd:temperature/%"},
                "ex:name": {"$": "odd:it's", "type": "prov:QUALIFIED_NAME"},
                "ex:empty": "",
            }
        }
    },
    "names": {
        "entity": {
            f"ex:{local}": {"ex:n": number}
            for number, local in enumerate(
                ["a/b", "100%", "a%2Fb", 'say "hi"', "it's", "a b", "a:b:c", "\N{GRINNING FACE}", "\\", "?q#f", "-.~"]
            )
        }
        | {"odd:x": {"odd:%20": 1}, "bare": {"tag": 1}},
        "used": {"_:1": {"prov:activity": "ex:a/b/%", "prov:entity": 'ex:say "hi"'}},
        "wasDerivedFrom": {"_:1": derived("odd:'", "ex:100%"), "ex:named/1": derived("bare", "ex:a:b:c")},
    },
    "spellings of one letter": {
        "entity": {"ex:\u00e9": {"ex:n": 1}, "ex:e\u0301": {"ex:n": 2}},
        "used": {"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:e\u0301"}},
    },
    "plain beside full": {
        "used": {
            "_:1": {"prov:activity": "ex:a", "prov:entity": "ex:e"},
            "ex:u": {"prov:activity": "ex:a", "prov:entity": "ex:e", "prov:time": "2026-01-01T00:00:00Z"},
        },
        "wasDerivedFrom": {
            "_:1": derived("ex:e", "ex:d"),
            "_:2": derived("ex:e", "ex:d", **{"prov:type": {"$": "prov:PrimarySource", "type": "xsd:QName"}}),
        },
    },
    "blank ids that are named": {
        "wasGeneratedBy": {"_:sequela1": {"prov:entity": "ex:e", "prov:activity": "ex:a"}},
        "wasAttributedTo": {"_:sequela1": {"prov:entity": "ex:e", "prov:agent": "ex:g"}},
        "used": {"_:id1": {"prov:activity": "ex:a", "prov:entity": "ex:f"}},
    },
    "lists": {
        "entity": {"ex:e": [{"ex:n": 1}, {"ex:n": 2, "prov:type": [{"$": "ex:T", "type": "xsd:QName"}, "t"]}]},
        "hadMember": {"_:m": {"prov:collection": "ex:c", "prov:entity": ["ex:e", "ex:f", "ex:100%"]}},
    },
    "bundles": {
        "entity": {"ex:b": {"prov:type": {"$": "prov:Bundle", "type": "prov:QUALIFIED_NAME"}}, "ex:e": {"ex:n": 1}},
        "bundle": {
            "ex:b": {"prefix": {"ex": "http://inner.example/"}, "entity": {"ex:e": {"ex:n": 2}}},
            "odd:b/%": {"used": {"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:e"}}},
            "ex:nothing": {},
        },
    },
}
PREFIXES = {"ex": EX, "odd": "urn:odd:%25/'\"#", "default": "http://default.example/?x="}


@pytest.mark.parametrize("name", sorted(ROUND_TRIPS))
def test_everything_comes_back_as_it_was_said(world, name):
    said = {"prefix": PREFIXES, **ROUND_TRIPS[name]}
    assert world.take(json.dumps(said).encode()).as_json()["refused"] == []
    export = world.give()
    expected, found = oracle(said), oracle(export.document)
    assert (expected == found, found == expected) == (True, True)
    assert export.ended == 0
    assert not export.withheld
    # And by this reader: another import of what came out changes nothing in what comes out.
    world.take(json.dumps(export.document).encode(), scope="again")
    assert oracle(world.give("again").document) == expected


def test_numbers_keep_every_digit(world):
    world.take(json.dumps({"prefix": PREFIXES, **ROUND_TRIPS["numbers"]}).encode())
    body = world.give().document["entity"]["ex:e"]
    assert body == ROUND_TRIPS["numbers"]["entity"]["ex:e"]
    assert [type(one) for one in body["ex:same"]] == [int, float, str, bool, dict]


def test_documents_of_one_scope_come_out_as_one_even_where_their_prefixes_differ(world):
    first = {"prefix": {"p": "http://one.example/"}, "entity": {"p:e": {"p:n": 1}}}
    second = {
        "prefix": {"p": "http://two.example/", "default": "http://three.example/"},
        "entity": {
            "p:e": {
                "p:n": {"$": "p:v", "type": "prov:QUALIFIED_NAME"},
                "prov:label": "p:not a name",
                "tag": {"$": "1", "type": "p:t"},
            }
        },
        "used": {"p:u": {"prov:activity": "p:a", "prov:entity": "p:e"}},
        "hadMember": {"_:m": {"prov:collection": "p:c", "prov:entity": ["p:e", "late"]}},
    }
    third = {"prefix": {"default": "http://four.example/"}, "entity": {"late": {"tag": 2}}}
    expected = ProvDocument()
    for said in (first, second, third):
        world.take(json.dumps(said).encode())
        expected.update(oracle(said))
    found = oracle(world.give().document)
    assert (expected == found, found == expected) == (True, True)


def test_whole_iris_without_a_prefix_come_back_under_one(world):
    world.take(text(entity={"s3://h:9000/x": {"ex:n": 1}, "123": {}, "7": {}}))
    world.take(text({"s3": "urn:taken:", "default": "http://d.example/"}, entity={"s3:y": {}, "z": {}}))
    again = read_prov_json(json.dumps(world.give().document).encode())
    assert sorted(statement.name.name for statement in again.elements) == [
        "123",
        "7",
        "http://d.example/z",
        "s3://h:9000/x",
        "urn:taken:y",
    ]


def test_one_blank_name_of_two_documents_is_no_one_document(world):
    world.take(text(entity={"_:x": {"ex:n": 1}}))
    world.take(text(entity={"_:x": {"ex:n": 2}}))
    with pytest.raises(Conflict, match="blank name"):
        world.give()


def test_nothing_comes_out_of_a_scope_that_is_not_there(world):
    world.take(text(entity={"ex:e": {}}))
    for scope in ("", "S", "s/", "s:"):
        assert world.give(scope).as_json() == {"records": 0, "ended": 0, "withheld": False}
        assert world.give(scope).document == {}


def test_who_may_not_see_all_is_told_so_and_gets_nothing_of_it(world):
    world.take(text(entity={"ex:e": {"ex:n": "secret"}}))
    for stranger in (
        with_roles(Role.PRODUCER, purpose="lineage_review"),
        replace(with_roles(Role.OPERATOR), principal_id="somebody-else"),
    ):
        export = world.give(caller=stranger)
        assert export.as_json() == {"records": 0, "ended": 0, "withheld": True}
        assert export.document == {}
    assert world.give(caller=with_roles(Role.PRODUCER, tenant="tenant-b")).as_json() == {
        "records": 0,
        "ended": 0,
        "withheld": False,
    }


def test_what_one_document_only_names_a_later_one_declares(world):
    first = text(used={"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:e"}})
    second = text(entity={"ex:e": {"ex:n": 1}}, activity={"ex:a": {"prov:label": "drawing"}})
    world.take(first)
    report = world.take(second).as_json()
    assert report["records"]["counts"] == {"created": 2, "quarantined": 0, "unchanged": 2, "refused": 0}
    again = world.take(second).as_json()
    assert again["records"]["counts"] == {"created": 0, "quarantined": 0, "unchanged": 4, "refused": 0}
    expected = oracle(json.loads(first))
    expected.update(oracle(json.loads(second)))
    found = oracle(world.give().document)
    assert (expected == found, found == expected) == (True, True)
    # It is declared now: what a third says otherwise is refused, and what says it is another thing as well.
    third = world.take(text(entity={"ex:e": {"ex:n": 2}})).as_json()
    assert third["records"]["codes"] == {"RECORD_IMMUTABLE": 1}
    other = world.take(text(agent={"ex:e": {}})).as_json()
    assert other["records"]["codes"] == {"RECORD_IMMUTABLE": 1}


def test_a_derivation_does_not_come_later_than_the_thing(world):
    world.take(text(used={"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:e"}}))
    report = world.take(text(entity={"ex:e": {"ex:n": 1}}, wasDerivedFrom={"_:d": derived("ex:e", "ex:d")})).as_json()
    assert report["records"]["codes"] == {"RECORD_IMMUTABLE": 1}
    assert [one["recordId"] for one in report["refused"]] == [world.identity(f"{EX}e")]


@pytest.mark.req("TMB-04")
def test_what_was_declared_later_goes_with_the_thing_and_does_not_come_back(world):
    second = text(entity={"ex:canary": {"ex:n": "canary"}})
    world.take(text(used={"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:canary"}}))
    world.take(second)
    world.delete("canary")
    assert "canary" not in json.dumps(world.give().document)
    report = world.take(second).as_json()
    assert report["records"]["codes"] == {"TOMBSTONE_BLOCKED": 1}
    assert "canary" not in json.dumps(world.give().document)


DELETED = text(
    entity={"ex:canary": {"ex:canary": "canary"}, "ex:e": {"ex:n": 1}, "ex:f": {}},
    activity={"ex:a": {}},
    wasDerivedFrom={"_:1": derived("ex:f", "ex:canary"), "_:2": derived("ex:f", "ex:e")},
    used={
        "_:u": {"prov:activity": "ex:a", "prov:entity": "ex:canary"},
        "ex:v": {"prov:activity": "ex:a", "prov:entity": "ex:canary", "ex:canary": 1},
        "_:w": {"prov:activity": "ex:a", "prov:entity": "ex:e"},
    },
    bundle={"ex:b": {"entity": {"ex:canary": {"ex:n": "another canary"}}}},
)


def test_a_deletion_is_an_invalidation_by_id_request_and_time_and_brings_no_content(world):
    world.take(DELETED)
    assert "canary" in json.dumps(world.give().document)
    world.application.clock.advance(60)
    request = world.delete("canary")
    export = world.give()
    outside = {key: value for key, value in export.document.items() if key != "bundle"}
    assert "canary" not in json.dumps(outside)
    gone = f"uuid:{world.identity(f'{EX}canary')}"
    said = {
        (one["prov:entity"], one["prov:activity"], one["prov:time"]) for one in outside["wasInvalidatedBy"].values()
    }
    assert (gone, f"uuid:{request}", "2026-03-02T09:01:00.000000Z") in said
    assert outside["entity"][gone] == {}
    # ex:f has another source and stays as a shell; both statements of the use went with what they name.
    assert len(said) == export.ended == 4
    assert {time for _, _, time in said} == {"2026-03-02T09:01:00.000000Z"}
    assert outside["activity"][f"uuid:{request}"]["prov:type"] == {
        "$": "sequela:deletion",
        "type": "prov:QUALIFIED_NAME",
    }
    # The skeleton: the shell came of what is gone and of what is still there.
    shell = f"uuid:{world.identity(f'{EX}f')}"
    links = {(one["prov:generatedEntity"], one["prov:usedEntity"]) for one in outside["wasDerivedFrom"].values()}
    assert {(shell, gone), (shell, "ex:e")} <= links
    influences = {(one["prov:influencee"], one["prov:influencer"]) for one in outside["wasInfluencedBy"].values()}
    assert ("ex:a", gone) in influences
    # It is PROV that others can read, and in order.
    assert len(list(oracle(export.document).get_records())) > 0
    assert late_events(read_prov_json(json.dumps(export.document).encode())) == ()


def test_the_name_of_a_deleted_bundle_does_not_come_back_with_what_is_in_it(world):
    world.take(text(bundle={"ex:canary": {"entity": {"ex:e": {"ex:n": 1}}}, "ex:empty-canary": {}}))
    assert "canary" in json.dumps(world.give().document)
    world.delete("canary", "empty-canary")
    document = world.give().document
    assert "canary" not in json.dumps(document)
    (inner,) = document["bundle"].values()
    assert inner["entity"] == {"ex:e": {"ex:n": 1}}


def test_a_record_that_is_being_deleted_is_withheld(world):
    world.take(text(entity={"ex:canary": {}, "ex:e": {}}))
    world.application.database.administer(
        "MATCH (n:Record {identity: $identity}) SET n.fence = 'r'", identity=world.identity(f"{EX}canary")
    )
    export = world.give()
    assert export.as_json() == {"records": 1, "ended": 0, "withheld": True}
    assert "canary" not in json.dumps(export.document)


class MovingDatabase:
    """The real database, in which a deletion fences a record each time after the records of a scope were listed."""

    def __init__(self, real: Any, *identities: str) -> None:
        self._real = real
        self._left = list(identities)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def read(self, name: str, /, **params: Any) -> Any:
        rows = self._real.read(name, **params)
        if name == "list_collection_parts" and self._left:
            fence = "MATCH (n:Record {identity: $identity}) SET n.fence = 'r'"
            self._real.administer(fence, identity=self._left.pop())
        return rows


def test_what_goes_while_it_is_read_is_not_given_away(world):
    world.take(text(entity={f"ex:canary-{n}": {} for n in range(4)} | {"ex:e": {}}))
    canaries = [world.identity(f"{EX}canary-{n}") for n in range(4)]
    real, keys = world.application.database, world.application.keys
    moving = MovingDatabase(real, *canaries[:1])
    document = export_prov_document(moving, keys, world.caller, scope="s").document
    assert set(document["entity"]) == {"ex:canary-1", "ex:canary-2", "ex:canary-3", "ex:e"}
    with pytest.raises(Conflict, match="going while they are read"):
        export_prov_document(MovingDatabase(real, *canaries[1:]), keys, world.caller, scope="s")


def test_a_scope_has_a_limit_on_both_sides(world, monkeypatch):
    world.take(text(entity={"ex:e": {}, "ex:f": {}}))
    monkeypatch.setattr(exchange, "COLLECTION_RECORDS_MAX", 2)
    assert world.give().records == 2
    monkeypatch.setattr(exchange, "COLLECTION_RECORDS_MAX", 1)
    with pytest.raises(Oversized, match="too large"):
        world.give()


def test_the_marks_of_a_chain_survive_export_and_import(world):
    """A chain of ten with its root deleted: everything ended, here and where the document is imported."""
    links = {f"_:{n}": derived(f"ex:{n + 1}", f"ex:{n}") for n in range(9)}
    world.take(
        text(
            entity={"ex:kept": {}}, used={"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:9"}}, wasDerivedFrom=links
        )
    )
    world.delete("0")
    ended = {f"urn:uuid:{world.identity(f'{EX}{n}')}" for n in range(10)}
    document = world.give().document
    assert invalidated(document) == ended
    world.take(json.dumps(document).encode(), scope="elsewhere")
    again = world.give("elsewhere").document
    assert invalidated(again) == ended
    assert oracle(again) == oracle(document)
    pairs = {(child.uri, parent.uri) for child, parent in derivations(again)}
    assert pairs == {
        (f"urn:uuid:{world.identity(f'{EX}{n + 1}')}", f"urn:uuid:{world.identity(f'{EX}{n}')}") for n in range(9)
    }


def derivations(document: Any) -> list[tuple[Any, Any]]:
    return [
        (record.formal_attributes[0][1], record.formal_attributes[1][1])
        for record in oracle(document).get_records()
        if record.get_type().localpart == "Derivation"
    ]


def invalidated(document: Any) -> set[str]:
    return {
        record.formal_attributes[0][1].uri
        for record in oracle(document).get_records()
        if record.get_type().localpart == "Invalidation"
    }
