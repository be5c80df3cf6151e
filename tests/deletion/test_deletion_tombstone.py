"""What is left of a deleted record says nothing of it, and nothing brings the record back."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib

import pytest

from graph.access import Caller
from graph.database.checker import check
from graph.database.database import ConstraintViolated
from graph.errors import Blocked, NotFound
from graph.records.read import TombstoneView, read_content, read_record
from graph.records.relate import Relation, relate
from graph.vocabulary import EdgeType
from service.bootstrap import Application
from tests.conftest import START
from tests.support.deletion import (
    CANARY,
    FOREIGNER,
    by_ids,
    delete,
    everything,
    files_of,
    fresh_key,
    labels_of,
    properties_of,
    register,
    tombstones,
    with_copy,
    work,
)
from tests.support.records import derived, record

VALUE = "prefers concise answers in the morning"


@pytest.mark.req("TMB-01", "DEL-01")
@pytest.mark.parametrize("reason", ["PRINCIPAL_REQUEST", "AUTHORIZED_PROCESS", "RETENTION_EXPIRED", "SOURCE_WITHDRAWN"])
def test_a_tombstone_has_exactly_four_properties(application: Application, caller: Caller, reason):
    (r,) = register(application, caller, record("r", content=VALUE, principalId="tech-17"))
    filed = application.deletions.file(by_ids(r, reasonCode=reason), caller, fresh_key())
    application.deletions.advance(filed.request_id)
    assert labels_of(application.database, r) == ["Identity", "Tombstone"]
    assert properties_of(application.database, r) == {
        "identity": r,
        "deletedAt": START,
        "reasonCode": reason,
        "policyRef": "field-service@1.0.0",
    }


@pytest.mark.req("TMB-01")
def test_a_fifth_property_is_found_by_the_checker(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    delete(application, caller, r)
    assert check(application.database, application.policy).clean
    application.database.administer("MATCH (t:Tombstone) SET t.title = 'kept by mistake'")
    found = check(application.database, application.policy).findings
    assert [(finding.invariant, finding.identity) for finding in found] == [("I6", r)]


@pytest.mark.req("TMB-08", "TMB-03")
def test_the_database_itself_refuses_the_identity_of_a_tombstone(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    delete(application, caller, r)
    for labels in ("Identity:Record", "Identity:Tombstone", "Identity"):
        with pytest.raises(ConstraintViolated):
            application.database.administer(f"CREATE (:{labels} {{identity: $r}})", r=r)
    assert tombstones(application.database) == {r}


@pytest.mark.req("TMB-04")
def test_a_stale_import_is_blocked_for_the_deleted_one_alone(application: Application, caller: Caller):
    rows = [record(name, content=VALUE) for name in ("one", "two", "three")]
    (gone,) = register(application, caller, rows[1])
    delete(application, caller, gone)
    results = application.registrar.register(rows, caller)
    assert [(result.status, result.code) for result in results] == [
        ("created", None),
        ("refused", "TOMBSTONE_BLOCKED"),
        ("created", None),
    ]
    assert results[1].identity == gone
    assert VALUE not in json.dumps(results[1].details)
    again = application.registrar.register(rows, caller)
    assert [result.status for result in again] == ["unchanged", "refused", "unchanged"]


@pytest.mark.req("TMB-03", "TMB-09")
@pytest.mark.parametrize("by", ["recordId", "name"])
@pytest.mark.parametrize("edge", ["EMBEDDED_FROM", "SUMMARIZED_FROM", "CONTRADICTS"])
def test_nothing_new_hangs_on_a_tombstone(application: Application, caller: Caller, by, edge):
    (r,) = register(application, caller, record("r", content=VALUE))
    late = derived("late", sources=[{by: r if by == "recordId" else "r", "edge": edge}], content=VALUE)
    if edge == "CONTRADICTS":
        late = record("late", sources=[{by: r if by == "recordId" else "r", "edge": edge}], content=VALUE)
    delete(application, caller, r)
    (result,) = application.registrar.register([late], caller)
    assert (result.status, result.code) == ("refused", "TOMBSTONE_BLOCKED")
    assert VALUE not in everything(application.database)


@pytest.mark.req("TMB-09")
def test_an_old_summary_cannot_be_summarised_into_a_new_id(application: Application, caller: Caller):
    r, old = register(application, caller, record("r"), derived("old", "r", content=VALUE))
    delete(application, caller, r)
    attempts = [
        derived(None, sources=[{"recordId": old, "edge": "SUMMARIZED_FROM"}], content=VALUE),
        derived("fresh", sources=[{"recordId": old, "edge": "SUMMARIZED_FROM"}], content=VALUE),
        derived("old", "r", content=VALUE),
        derived("old", sources=[{"recordId": old, "edge": "SUMMARIZED_FROM"}], content=VALUE),
        record("old", content=VALUE),
    ]
    results = [application.registrar.register([attempt], caller)[0] for attempt in attempts]
    assert {result.status for result in results} == {"refused"}
    assert [result.code for result in results[:3]] == ["TOMBSTONE_BLOCKED"] * 3
    assert results[4].code == "TOMBSTONE_BLOCKED"
    assert VALUE not in everything(application.database)


@pytest.mark.req("TMB-09", "TMB-03")
def test_a_tombstone_has_no_successor_and_no_new_relation(application: Application, caller: Caller):
    """D01: a late checkpoint whose base version is deleted."""
    r, other = register(application, caller, record("r"), record("other"))
    delete(application, caller, r)
    (result,) = application.registrar.register([record("v2", supersedes=r, content=VALUE)], caller)
    assert (result.status, result.code) == ("refused", "TOMBSTONE_BLOCKED")
    for ends in ((r, other), (other, r)):
        with pytest.raises(Blocked) as refused:
            relate(application.database, application.policy, caller, Relation(ends[0], EdgeType.CONTRADICTS, ends[1]))
        assert refused.value.code == "TOMBSTONE_BLOCKED"


@pytest.mark.req("TMB-03")
def test_a_late_state_write_is_refused_and_the_state_stays_absent(application: Application, caller: Caller):
    """D01: a stale worker writes workflow state again, as a repeat and as the next version."""
    state = {"class": "workflow_state", "kind": "run_state", "runId": "run-1", "retentionClass": "effect_audit"}
    first = record("state", **state, stateVersion=1)
    (r,) = register(application, caller, first)
    delete(application, caller, r)
    for late in (
        first,
        record("state", **state, stateVersion=2),
        record("state-2", **state, stateVersion=2, supersedes=r),
    ):
        (result,) = application.registrar.register([late], caller)
        assert (result.status, result.code) == ("refused", "TOMBSTONE_BLOCKED")
    assert labels_of(application.database, r) == ["Identity", "Tombstone"]


@pytest.mark.req("TMB-10")
def test_reading_a_tombstone_tells_that_it_is_one_and_nothing_else(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r", content=VALUE))
    delete(application, caller, r)
    assert read_record(application.database, caller, r) == TombstoneView(
        r, START, "PRINCIPAL_REQUEST", "field-service@1.0.0"
    )
    answers = []
    for reader, identity in ((caller, r), (FOREIGNER, r), (caller, "00000000-0000-7000-8000-000000000000")):
        with pytest.raises(NotFound) as refused:
            read_content(application.database, reader, identity)
        answers.append((str(refused.value), refused.value.code, refused.value.details))
    assert answers[0] == answers[1] == answers[2]
    with pytest.raises(NotFound):
        read_record(application.database, FOREIGNER, r)


def _disguises(value: str) -> set[str]:
    """Forms of a value from which it, or whether it is the one, could be told."""
    data = value.encode()
    digests = [hashlib.new(name, data).digest() for name in ("md5", "sha1", "sha224", "sha256", "sha512", "blake2b")]
    plain = {value, value[::-1], data.hex(), base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()}
    plain |= {base64.b32encode(data).decode(), zlib.compress(data).hex(), value.encode("utf-16-le").hex()}
    for digest in digests:
        plain |= {digest.hex(), base64.b64encode(digest).decode(), digest.hex()[:16], digest.hex()[-16:]}
    return {form.casefold() for form in plain}


@pytest.mark.req("TMB-02", "TMB-07", "DEL-21")
def test_a_dictionary_attack_on_all_that_is_left_finds_nothing(application: Application, caller: Caller):
    values = [VALUE, "pref-concise", "tech-17", "tenant-a/pref-concise", "https://example.com/pref", "r.bin"]
    (r,) = register(
        application,
        caller,
        with_copy(
            "pref-concise", locator="r.bin", content=VALUE, principalId="tech-17", sourceId="https://example.com/pref"
        ),
    )
    files_of(application).write("r.bin", VALUE.encode())
    delete(application, caller, r)
    work(application)
    left = everything(application.database).casefold()
    guesses = {value for value in values if value != "tenant-a/pref-concise"} | {json.dumps(VALUE), VALUE[:12]}
    found = {form for guess in guesses for form in _disguises(guess) if form in left}
    assert found == set()
    assert f'"{len(VALUE)}"' not in left


@pytest.mark.req("TMB-02", "VER-02", "DEL-01", "TMB-10")
def test_a_marked_text_is_nowhere_after_the_deletion(application: Application, caller: Caller, capfd, caplog):
    """Content, name, scope, person, task, run, source, method, producer, operation, locator: all of it marked."""
    marks = {
        field: f"{CANARY}-{field}"
        for field in (
            "principalId",
            "taskId",
            "runId",
            "sourceId",
            "sourceVersion",
            "producerVersion",
            "inferenceMethod",
        )
    }
    (root,) = register(application, caller, record(f"{CANARY}-root", content=[CANARY]))
    (marked,) = register(
        application,
        caller,
        with_copy(
            f"{CANARY}-name",
            f"{CANARY}-root",
            locator=f"{CANARY}.bin",
            **marks,
            content={CANARY: CANARY},
            permissions=["role:producer"],
            operation={"operationId": f"{CANARY}-operation", "type": "computation"},
        ),
    )
    files_of(application).write(f"{CANARY}.bin", CANARY.encode())
    assert CANARY in everything(application.database)
    view = delete(application, caller, root)
    work(application)
    assert application.deletions.view(view.request_id, caller).state == "COMPLETED"
    assert tombstones(application.database) == {root, marked}
    assert CANARY not in everything(application.database)
    assert CANARY not in application.deletions.receipt(view.request_id, caller).decode()
    for path in application.settings.files_store_root.rglob("*"):
        assert CANARY not in path.name
        assert path.is_dir() or CANARY.encode() not in path.read_bytes()
    out, err = capfd.readouterr()
    assert CANARY not in out + err + caplog.text


@pytest.mark.req("TMB-05")
def test_how_long_a_tombstone_stays_is_its_owners_decision(application: Application):
    lifetime = application.policy.header.tombstone_lifetime
    longest = max(store.copies_live_days or 0 for store in application.policy.stores.values())
    assert (lifetime.owner_id, lifetime.days, longest) == ("privacy-owner", 3650, 90)
    assert application.policy.owner(lifetime.owner_id).function == "privacy"


@pytest.mark.req("TMB-07")
def test_ids_say_nothing_of_names(application: Application, caller: Caller):
    named, nameless = register(application, caller, record("pref-concise"), record(None))
    for identity in (named, nameless):
        assert len(identity) == 36
        assert "pref" not in identity
    foreign = application.keys.identity("tenant-b", "pref-concise")
    plain = [hashlib.new(name, b"pref-concise").hexdigest()[:8] for name in ("md5", "sha1", "sha256")]
    assert named != foreign
    assert not any(named.replace("-", "").startswith(prefix) for prefix in plain)
