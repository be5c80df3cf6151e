"""The envelope as it is kept and shown: beside the content, with the times of its sources, and by state."""

from __future__ import annotations

import io
import logging
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from graph.database.checker import check
from graph.errors import NotFound
from graph.ids import SystemIds
from graph.lineage.model import Direction
from graph.vocabulary import Role
from service.api.app import create_app
from service.auth import create_key
from service.settings import Settings
from service.telemetry import event_log
from tests.api.conftest import Api
from tests.support.deletion import delete, hold
from tests.support.records import PURPOSE, TENANT, derived, record

# Where a record comes from, by the fields that say so.
PROVENANCE = {
    "class": "artifact",
    "kind": "embedding",
    "ownerId": "platform-owner",
    "sourceId": "manual-repository",
    "sourceVersion": "4",
    "observedAt": "2026-03-02T07:00:00.000000Z",
    "recordedAt": "2026-03-02T09:00:00.000000Z",
    "derivationType": "computed",
    "inferenceMethod": "embed-3",
    "trust": "unreviewed_derived",
    "reviewState": "unreviewed",
    "producerId": "indexer",
    "producerVersion": "9",
    "origins": ["asserted"],
}


@pytest.fixture
def silent():
    """No log is written by anybody."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.req("ENV-02")
def test_provenance_needs_no_log(room, tmp_path, silent):
    made = {"kind": "embedding", "inferenceMethod": "embed-3", "producerId": "indexer", "producerVersion": "9"}
    manual, summary, vector = room.many(
        record("manual", sourceVersion="4", observedAt="2026-03-02T07:00:00Z"),
        derived("summary", "manual", kind="summary"),
        derived("vector", "summary", edge="EMBEDDED_FROM", sourceVersion="4", content=[0.5], **made),
    )
    # Another process that has the database and nothing else: no folder, no file, no memory of what was registered.
    anew = replace(room.application, settings=Settings(home=tmp_path / "elsewhere"), ids=SystemIds())
    room = replace(room, application=anew)
    envelope = room.read(vector).envelope
    assert {field: envelope[field] for field in PROVENANCE} == PROVENANCE
    assert envelope["sources"] == [{"recordId": summary, "edge": "EMBEDDED_FROM", "deleted": False}]
    upstream = anew.lineage.walk(room.caller, vector, direction=Direction.UPSTREAM).items
    assert {item.identity: item.depth for item in upstream} == {summary: 1, manual: 2}
    (origin,) = anew.lineage.origins(room.caller, vector).items
    assert (origin.identity, origin.depth) == (manual, 2)
    work = {item.identity: (item.type, item.used) for item in anew.lineage.operations(room.caller, vector).items}
    assert work == {
        vector: ("computation", (summary,)),
        summary: ("computation", (manual,)),
        manual: ("assertion", ()),
    }
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.req("ENV-02")
def test_content_is_not_to_be_had_without_its_envelope(room):
    identity = room.one(record("r", content="text"))
    where = "MATCH (n:Identity {identity: $id})"
    (node,) = room.cypher(f"{where} RETURN n.content AS content, n.envelope IS NOT NULL AS enveloped", id=identity)
    assert (node.text("content"), node.truth("enveloped")) == ('"text"', True)
    room.cypher(f"{where} REMOVE n.envelope", id=identity)
    with pytest.raises(NotFound):
        room.content(identity)


EARLY, LATE = "2026-03-01T06:00:00.000000Z", "2026-03-02T08:00:00.000000Z"
SOON, FAR = "2026-03-02T10:00:00.000000Z", "2026-12-01T00:00:00.000000Z"
NEVER = "not_applicable"
# Own times of each record, its sources, and the times that it then has. All are recorded later than any of them.
TIMES: dict[str, tuple[tuple[str, str], tuple[str, ...], str, tuple[str, str]]] = {
    "old": ((EARLY, FAR), (), "", (EARLY, FAR)),
    "short": ((LATE, SOON), (), "", (LATE, SOON)),
    "lasting": ((LATE, NEVER), (), "", (LATE, NEVER)),
    "of old": ((LATE, NEVER), ("old",), "SUMMARIZED_FROM", (EARLY, FAR)),
    "two levels": ((LATE, NEVER), ("of old",), "SUMMARIZED_FROM", (EARLY, FAR)),
    "of two": ((LATE, FAR), ("old", "short"), "INFERRED_FROM", (EARLY, SOON)),
    "of two and lasting": ((LATE, NEVER), ("lasting", "short", "old"), "SUMMARIZED_FROM", (EARLY, SOON)),
    "two levels of two": ((LATE, FAR), ("of two", "lasting"), "COMPACTED_FROM", (EARLY, SOON)),
    "copy": ((LATE, NEVER), ("of two",), "CACHED_FROM", (EARLY, SOON)),
    "backup of copy": ((LATE, NEVER), ("copy",), "BACKED_UP_FROM", (EARLY, SOON)),
    "of lasting": ((LATE, NEVER), ("lasting",), "SUMMARIZED_FROM", (LATE, NEVER)),
    "shorter than its source": ((EARLY, SOON), ("lasting",), "SUMMARIZED_FROM", (EARLY, SOON)),
}


@pytest.mark.parametrize("calls", ["one", "many"])
def test_the_earliest_observation_and_expiry_win_whatever_was_recorded_when(room, clock, calls):
    clock.advance(3_600)
    stated = [
        derived(name, *sources, edge=edge, observedAt=observed, expiresAt=expires)
        if sources
        else record(name, observedAt=observed, expiresAt=expires)
        for name, ((observed, expires), sources, edge, _) in TIMES.items()
    ]
    if calls == "one":
        identities = room.many(*stated)
    else:
        identities = []
        for one in stated:
            clock.advance(60)
            identities.append(room.one(one))
    shown = [room.read(identity).envelope for identity in identities]
    assert {name: (one["observedAt"], one["expiresAt"]) for name, one in zip(TIMES, shown, strict=True)} == {
        name: wanted for name, (*_, wanted) in TIMES.items()
    }
    recorded = {str(one["recordedAt"]) for one in shown}
    assert min(recorded) > LATE
    assert len(recorded) == (1 if calls == "one" else len(TIMES))


def test_a_delayed_event_keeps_its_own_time_beside_the_time_of_storage(room):
    late, prompt = room.many(
        record("late", observedAt="2026-03-02T06:00:00Z"), record("prompt", observedAt="2026-03-02T09:00:00Z")
    )
    shown = [(room.read(one).envelope["observedAt"], room.read(one).envelope["recordedAt"]) for one in (late, prompt)]
    assert shown == [
        ("2026-03-02T06:00:00.000000Z", "2026-03-02T09:00:00.000000Z"),
        ("2026-03-02T09:00:00.000000Z", "2026-03-02T09:00:00.000000Z"),
    ]
    (row,) = room.cypher("MATCH (n:Record) RETURN collect(DISTINCT n.recordedAt) AS standing")
    assert row.is_null("standing") or row.texts("standing") == []


@pytest.mark.req("ENV-14")
def test_a_retention_class_is_a_row_of_the_policy(room):
    unknown = room.all(record("r", retentionClass="as_long_as_needed"))[0]
    assert (unknown.status, unknown.code) == ("quarantined", "ENVELOPE_INCOMPLETE")
    assert unknown.details["quarantineReasons"] == [{"code": "ENVELOPE_INCOMPLETE", "field": "retentionClass"}]
    known = room.one(record("known", retentionClass="run_audit"))
    row = room.application.policy.retention_classes[str(room.read(known).envelope["retentionClass"])]
    assert (row.days, row.event, row.owner_id) == (365, None, "legal-owner")
    room.cypher(
        "MATCH (n:Identity {identity: $id}) SET n.envelope = replace(n.envelope, 'run_audit', 'for_good')", id=known
    )
    findings = check(room.application.database, room.application.policy).findings
    assert [(one.invariant.value, one.identity) for one in findings] == [("I13", known)]


# Every call of the contract that reads, apart from those that follow a request for deletion by its own id.
READS_RECORDS = {
    "/v1/records/{record_id}",
    "/v1/records/{record_id}/content",
    "/v1/records/{record_id}/history",
    "/v1/records/{record_id}/lineage",
    "/v1/records/{record_id}/routes",
}
READS_NO_RECORDS = {
    *("/health/live", "/health/ready", "/v1/exceptions"),
    *("/v1/deletions/{request_id}", "/v1/deletions/{request_id}/outcomes", "/v1/deletions/{request_id}/receipt"),
}
SERVED = {"itself": 200, "content": 200, "history": 200, "lineage": 200, "routes": 200, "found": True}
# Of an invalidated record nothing is left but its shell.
SHELL = SERVED | {"content": 404}
HIDDEN = {"itself": 404, "content": 404, "history": 404, "lineage": 404, "routes": 404, "found": False}
GONE = {"itself": 410, "content": 404, "history": 404, "lineage": 404, "routes": 404, "found": False}
# State → what a producer, a reviewer and an auditor get of it by each call; `found` is by a walk from its source.
BY_STATE = {
    "active": (SERVED, SERVED, SERVED),
    "superseded": (SERVED, SERVED, SERVED),
    "quarantined": (HIDDEN, SERVED, HIDDEN),
    "invalidated": (HIDDEN, HIDDEN, SHELL),
    "retained": (HIDDEN, HIDDEN, HIDDEN),
    "deleted": (GONE, GONE, GONE),
}


@pytest.fixture
def api_of(application):
    """A client for somebody of one role, whose calls are written down nowhere."""
    clients: list[TestClient] = []
    app = create_app(application, log=event_log(application.clock, io.StringIO()))

    def make(role: Role, purpose: str = PURPOSE) -> Api:
        _, key = create_key(
            application.database,
            application.ids,
            application.clock,
            tenant_id=TENANT,
            roles=(role,),
            principal_id="tech-17",
            purposes=(purpose,),
        )
        clients.append(TestClient(app))
        headers = {"Authorization": f"Bearer {key}", "Sequela-Tenant": TENANT, "Sequela-Purpose": purpose}
        return Api(clients[-1], headers)

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def states(room):
    """A record in each state, as the service itself brought it there; all were made of `root`."""
    application, caller = room.application, room.caller
    names = ("active", "superseded", "retained", "deleted")
    root, other, *made = room.many(record("root"), record("other"), *(derived(name, "root") for name in names))
    ids = {"root": root, **dict(zip(names, made, strict=True))}
    ids["invalidated"] = room.one(derived("invalidated", "root", "other"))
    ids["quarantined"] = room.all(derived("quarantined", "root", ownerId=None))[0].identity
    room.one(derived("newer", "root", supersedes=ids["superseded"]))
    hold(application, caller, ids["retained"])
    delete(application, caller, ids["retained"], ids["deleted"], other)
    found = room.cypher(
        "MATCH (n:Identity) WHERE n.identity IN $ids RETURN n.identity AS id, n.state AS state", ids=[*ids.values()]
    )
    assert {row.text("id"): row.text_or_none("state") or "deleted" for row in found} == {
        identity: "active" if name == "root" else name for name, identity in ids.items()
    }
    return ids


def given(api, root, identity):
    """What one caller gets of one record by each call."""
    at = f"/v1/records/{identity}"
    walked = api.get(f"/v1/records/{root}/lineage")
    assert walked.status_code == 200
    return {
        "itself": int(api.get(at).status_code),
        "content": int(api.get(f"{at}/content").status_code),
        "history": int(api.get(f"{at}/history").status_code),
        "lineage": int(api.get(f"{at}/lineage", direction="upstream").status_code),
        "routes": int(api.get(f"/v1/records/{root}/routes", to=identity).status_code),
        "found": identity in {item["recordId"] for item in walked.json()["items"]},
    }


@pytest.mark.req("ENV-14")
def test_every_call_that_reads_asks_for_the_state(states, api_of):
    callers = [api_of(role) for role in (Role.PRODUCER, Role.REVIEWER, Role.AUDITOR)]
    contract = callers[0].client.get("/openapi.json").json()
    reading = {path for path, operations in contract["paths"].items() if "get" in operations}
    assert reading == READS_RECORDS | READS_NO_RECORDS, "say of a new call that reads what it shows of each state"
    found = {name: tuple(given(api, states["root"], states[name]) for api in callers) for name in BY_STATE}
    assert found == BY_STATE
    # What is kept is shown to an auditor for the purpose of its exception, and to nobody else.
    at = f"/v1/records/{states['retained']}"
    asked = [api_of(role, "audit") for role in (Role.PRODUCER, Role.REVIEWER, Role.AUDITOR)]
    assert [(api.get(at).status_code, api.get(f"{at}/content").status_code) for api in asked] == [
        (404, 404),
        (404, 404),
        (200, 200),
    ]


# The same record, of which somebody changed nothing but the state: no fence, no other audience, no exception helps.
BY_STATE_ALONE = {
    "active": (SERVED, SERVED, SERVED),
    "superseded": (SERVED, SERVED, SERVED),
    "quarantined": (HIDDEN, SERVED, SERVED),
    "invalidated": (HIDDEN, HIDDEN, SERVED),
    "retained": (HIDDEN, HIDDEN, HIDDEN),
}


@pytest.mark.req("ENV-14")
def test_the_state_alone_keeps_a_record_from_being_read(room, api_of):
    root, *made = room.many(record("root"), *(derived(name, "root", content="text") for name in BY_STATE_ALONE))
    room.cypher(
        "UNWIND $pairs AS pair MATCH (n:Identity {identity: pair[0]}) SET n.state = pair[1]",
        pairs=[list(pair) for pair in zip(made, BY_STATE_ALONE, strict=True)],
    )
    callers = [api_of(role) for role in (Role.PRODUCER, Role.REVIEWER, Role.AUDITOR)]
    found = {
        name: tuple(given(api, root, identity) for api in callers)
        for name, identity in zip(BY_STATE_ALONE, made, strict=True)
    }
    assert found == BY_STATE_ALONE
