"""What is used or derived after its end: in a document, with its place, and in the live graph."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.formats import prov_account
from service.formats.prov_account import export_account
from service.formats.prov_json import ProvEnvelope, import_prov_document, read_prov_json
from service.formats.prov_order import late_events
from tests.support.deletion import delete, everything, family, register, with_roles
from tests.support.records import READERS, record

END = "2026-01-02T00:00:00Z"
ENDED = {"_:end": {"prov:entity": "e", "prov:time": END}}
BEFORE, AFTER = "2026-01-01T23:59:59Z", "2026-01-02T00:00:01Z"
# What the document says beside the end of e, with TIME in it; the rule that it breaks when the time is later.
EVENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "use": (
        "use_precedes_invalidation",
        {"used": {"_:u": {"prov:activity": "a", "prov:entity": "e", "prov:time": "TIME"}}},
    ),
    "use by an activity that starts later": (
        "use_precedes_invalidation",
        {
            "activity": {"a": {"prov:startTime": "TIME"}},
            "used": {"_:u": {"prov:activity": "a", "prov:entity": "e"}},
        },
    ),
    "generation": (
        "generation_precedes_invalidation",
        {"wasGeneratedBy": {"_:g": {"prov:entity": "e", "prov:time": {"$": "TIME", "type": "xsd:dateTime"}}}},
    ),
    "start": (
        "trigger_precedes_invalidation",
        {"wasStartedBy": {"_:s": {"prov:activity": "a", "prov:trigger": "e", "prov:time": "TIME"}}},
    ),
    "end": (
        "trigger_precedes_invalidation",
        {"wasEndedBy": {"_:s": {"prov:activity": "a", "prov:trigger": "e", "prov:time": ["TIME"]}}},
    ),
    "derivation by a named use": (
        "derivation_precedes_invalidation",
        {
            "used": {"u": {"prov:activity": "a", "prov:entity": "other", "prov:time": "TIME"}},
            "wasDerivedFrom": {"_:d": {"prov:generatedEntity": "f", "prov:usedEntity": "e", "prov:usage": "u"}},
        },
    ),
    "derivation by an activity": (
        "derivation_precedes_invalidation",
        {
            "activity": {"a": {"prov:startTime": "TIME"}},
            "wasDerivedFrom": {"_:d": {"prov:generatedEntity": "f", "prov:usedEntity": "e", "prov:activity": "a"}},
        },
    ),
    "derivation by what was made": (
        "derivation_precedes_invalidation",
        {
            "wasGeneratedBy": {"_:g": {"prov:entity": "f", "prov:time": "TIME"}},
            "wasDerivedFrom": {"_:d": {"prov:generatedEntity": "f", "prov:usedEntity": "e"}},
        },
    ),
}


def at(name: str, time: str) -> bytes:
    return json.dumps({"wasInvalidatedBy": ENDED, **EVENTS[name][1]}).replace("TIME", time).encode()


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_what_comes_after_the_end_is_found_by_its_place_and_what_comes_before_is_not(name):
    assert late_events(read_prov_json(at(name, BEFORE))) == ()
    assert late_events(read_prov_json(at(name, END))) == ()
    (found,) = late_events(read_prov_json(at(name, AFTER)))
    assert found.rule == EVENTS[name][0]
    group = list(EVENTS[name][1])[-1]
    assert (found.line, found.path) == (1, f"{group}.*")


def test_the_place_is_line_and_column():
    text = (
        '{"wasInvalidatedBy": {"_:i": {"prov:entity": "canary", "prov:time": "2026-01-02T00:00:00Z"}},\n'
        ' "used": {\n'
        '   "_:1": {"prov:entity": "canary", "prov:activity": "a", "prov:time": "2026-01-01T00:00:00Z"},\n'
        '   "_:2": [{}, {"prov:entity": "canary", "prov:activity": "a", "prov:time": "2026-01-03T00:00:00Z"}]}}'
    )
    (found,) = late_events(read_prov_json(text.encode()))
    assert found.as_json() == {"rule": "use_precedes_invalidation", "line": 4, "column": 16, "path": "used.*.1"}
    assert "canary" not in str(found)


@pytest.mark.parametrize(
    ("end", "use", "is_late"),
    [
        ("2026-01-02T00:00:00+05:30", "2026-01-01T18:30:00Z", False),
        ("2026-01-02T00:00:00+05:30", "2026-01-01T18:30:01Z", True),
        ("2026-01-02T00:00:00", "2026-01-02T00:00:01", True),
        ("2026-01-02T00:00:00", "2026-01-03T00:00:00Z", False),
        ("2026-01-02T00:00:00Z", "soon", False),
        ("never", "2026-01-02T00:00:00Z", False),
        ("2026-01-02T00:00:00.000001Z", "2026-01-02T00:00:00.000002Z", True),
    ],
)
def test_only_times_of_one_kind_are_compared(end, use, is_late):
    said = {
        "wasInvalidatedBy": {"_:i": {"prov:entity": "e", "prov:time": end}},
        "used": {"_:u": {"prov:activity": "a", "prov:entity": "e", "prov:time": use}},
    }
    assert bool(late_events(read_prov_json(json.dumps(said).encode()))) == is_late


def test_the_same_name_in_a_bundle_is_another_description():
    said = {"wasInvalidatedBy": ENDED, "bundle": {"b": EVENTS["use"][1]}}
    assert late_events(read_prov_json(json.dumps(said).replace("TIME", AFTER).encode())) == ()


def test_an_import_reports_what_is_late(application, caller):
    defaults = ProvEnvelope(
        owner_id="platform-owner",
        observed_at="2026-03-02T08:00:00Z",
        permissions=tuple(READERS),
        purpose=("maintenance",),
        producer_id="prov-import",
        producer_version="1",
    )
    document = read_prov_json(at("use", AFTER))
    report = import_prov_document(document, application.registrar, caller, scope="s", defaults=defaults).as_json()
    assert report["refused"] == []
    assert [one["rule"] for one in report["late"]] == ["use_precedes_invalidation"]


def account_of(application, caller) -> dict[str, Any]:
    return export_account(application.database, caller).document


def test_the_account_says_what_was_made_when_of_what_and_what_ended(application, caller):
    ids = family(application, caller, {"root": (), "middle": ("root",), "other": (), "both": ("middle", "other")})
    application.clock.advance(10)
    request = delete(application, caller, ids["root"]).request_id
    export = export_account(application.database, caller)
    assert export.as_json() == {"records": 1, "ended": 3, "withheld": False}
    document = export.document
    label = {name: f"uuid:{identity}" for name, identity in ids.items()}
    assert set(document["entity"]) == set(label.values())
    assert document["entity"][label["root"]] == {}
    assert document["entity"][label["other"]] == {"prov:type": {"$": "sequela:document", "type": "prov:QUALIFIED_NAME"}}
    made = {one["prov:entity"]: one for one in document["wasGeneratedBy"].values()}
    assert made.keys() == set(label.values())
    assert {one["prov:time"] for one in made.values()} == {"2026-03-02T09:00:00.000000Z"}
    used = {(one["prov:activity"], one["prov:entity"], one["prov:time"]) for one in document["used"].values()}
    assert used == {
        (made[label[child]]["prov:activity"], label[parent], "2026-03-02T09:00:00.000000Z")
        for child, parent in (("middle", "root"), ("both", "middle"), ("both", "other"))
    }
    ended = {
        (one["prov:entity"], one["prov:activity"], one["prov:time"]) for one in document["wasInvalidatedBy"].values()
    }
    assert ended == {
        (label[name], f"uuid:{request}", "2026-03-02T09:00:10.000000Z") for name in ("root", "middle", "both")
    }
    links = {(one["prov:generatedEntity"], one["prov:usedEntity"]) for one in document["wasDerivedFrom"].values()}
    assert links == {
        (label["middle"], label["root"]),
        (label["both"], label["middle"]),
        (label["both"], label["other"]),
    }


def test_the_account_is_in_order_and_a_check_bites_when_it_is_not(application, caller):
    ids = family(application, caller, {"root": (), "child": ("root",)})
    application.clock.advance(10)
    delete(application, caller, ids["root"])
    document = account_of(application, caller)
    assert late_events(read_prov_json(json.dumps(document).encode())) == ()
    forged = json.dumps(document).replace("2026-03-02T09:00:10.000000Z", "2026-03-02T08:59:59.000000Z")
    rules = {found.rule.value for found in late_events(read_prov_json(forged.encode()))}
    assert rules == {
        "generation_precedes_invalidation",
        "use_precedes_invalidation",
        "derivation_precedes_invalidation",
    }


def test_the_account_holds_no_content_and_no_names(application, caller):
    register(application, caller, record("canary-name", content={"text": "canary-text"}, sourceId="canary-source"))
    (gone,) = register(application, caller, record("canary-gone", content={"text": "canary-gone"}))
    delete(application, caller, gone)
    assert "canary" in everything(application.database)
    assert "canary" not in json.dumps(account_of(application, caller))


def test_versions_are_revisions_and_work_that_made_several_has_no_time_for_what_is_gone(application, caller):
    shared = {"type": "computation", "operationId": "job"}
    (first, gone) = register(application, caller, record("first", operation=shared), record("gone", operation=shared))
    application.clock.advance(5)
    (second,) = register(application, caller, record("second", supersedes=first, operation=shared))
    delete(application, caller, gone)
    document = account_of(application, caller)
    assert [
        (one["prov:generatedEntity"], one["prov:usedEntity"], one["prov:type"]["$"])
        for one in document["wasDerivedFrom"].values()
    ] == [(f"uuid:{second}", f"uuid:{first}", "prov:Revision")]
    times = {one["prov:entity"]: one.get("prov:time") for one in document["wasGeneratedBy"].values()}
    assert times == {
        f"uuid:{first}": "2026-03-02T09:00:00.000000Z",
        f"uuid:{second}": "2026-03-02T09:00:05.000000Z",
        f"uuid:{gone}": None,
    }
    assert len(document["activity"]) == 2


def test_the_account_is_of_one_tenant_and_says_what_it_withholds(application, caller):
    (seen, gone) = register(application, caller, record("seen"), record("gone"))
    delete(application, caller, gone)
    foreigner = export_account(application.database, with_roles(*caller.roles, tenant="tenant-b"))
    assert (foreigner.document.keys() - {"prefix"}, foreigner.withheld) == (set(), False)
    elsewhere = export_account(application.database, with_roles(*caller.roles, purpose="lineage_review"))
    assert elsewhere.as_json() == {"records": 0, "ended": 1, "withheld": True}
    assert seen not in json.dumps(elsewhere.document)


def test_the_account_has_a_limit_on_both_sides(application, caller, monkeypatch):
    register(application, caller, record("a"), record("b"))
    monkeypatch.setattr(prov_account, "ENTRIES_MAX", 2)
    assert export_account(application.database, caller).records == 2
    monkeypatch.setattr(prov_account, "ENTRIES_MAX", 1)
    with pytest.raises(prov_account.Oversized, match="too much"):
        export_account(application.database, caller)
