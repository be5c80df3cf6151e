"""What a record has to say of itself before it serves anybody: classes, the envelope, and quarantine."""

from __future__ import annotations

import itertools

import pytest
from pydantic import ValidationError

from graph.database.checker import check
from graph.envelope import RecordInput
from graph.errors import NotFound
from graph.vocabulary import RecordClass
from tests.support.kinds import DERIVED, of_class, root
from tests.support.records import derived, record, stated

CLASSES = ["artifact", "context", "memory", "preference", "scratch", "workflow_state"]
# Blanked field → code, for a plain artifact. The other fields of the 26 are the service's own; see below.
BLANKED = {
    "class": "MISSING_CLASS",
    "tenantId": "MISSING_TENANT",
    "principalId": "ENVELOPE_INCOMPLETE",
    "taskId": "ENVELOPE_INCOMPLETE",
    "runId": "ENVELOPE_INCOMPLETE",
    "sourceId": "MISSING_PROVENANCE",
    "sourceVersion": "ENVELOPE_INCOMPLETE",
    "observedAt": "MISSING_OBSERVATION_TIME",
    "derivationType": "ENVELOPE_INCOMPLETE",
    "inferenceMethod": "ENVELOPE_INCOMPLETE",
    "trust": "MISSING_TRUST_LABEL",
    "reviewState": "ENVELOPE_INCOMPLETE",
    "expiresAt": "ENVELOPE_INCOMPLETE",
    "freshnessRuleId": "ENVELOPE_INCOMPLETE",
    "permissions": "ENVELOPE_INCOMPLETE",
    "purpose": "MISSING_PURPOSE",
    "supersedes": "ENVELOPE_INCOMPLETE",
    "retentionClass": "ENVELOPE_INCOMPLETE",
}
# Nobody states these; the service writes them or reads them from the graph.
SERVICE_OWN = ["recordId", "version", "recordedAt", "contextEligible", "memoryDecision"]
SERVICE_LIVE = ["conflicts", "deletionState", "downstreamRefs"]
LISTS = {"permissions", "purpose"}

# Class, what is left out of a whole record of it, and the code (VOC-01, last column).
CLASS_DEMANDS = [
    ("workflow_state", "stateVersion", "ENVELOPE_INCOMPLETE"),
    ("workflow_state", "runId", "ENVELOPE_INCOMPLETE"),
    ("context", "assemblerVersion", "ENVELOPE_INCOMPLETE"),
    ("context", "sources", "MISSING_PROVENANCE"),
    ("context", "expiresAt", "ENVELOPE_INCOMPLETE"),
    ("scratch", "runId", "MISSING_RUN_SCOPE"),
    ("scratch", "expiresAt", "MISSING_RUN_SCOPE"),
    ("artifact", "producerId", "ENVELOPE_INCOMPLETE"),
    ("artifact", "producerVersion", "ENVELOPE_INCOMPLETE"),
    ("artifact", "reviewState", "ENVELOPE_INCOMPLETE"),
    ("preference", "principalId", "ENVELOPE_INCOMPLETE"),
    ("preference", "purpose", "MISSING_PURPOSE"),
    ("preference", "sourceId", "MISSING_PROVENANCE"),
    ("preference", "confirmedAt", "ENVELOPE_INCOMPLETE"),
    ("preference", "expiresAt", "ENVELOPE_INCOMPLETE"),
    ("memory", "sources", "MISSING_PROVENANCE"),
    ("memory", "expiresAt", "ENVELOPE_INCOMPLETE"),
    ("memory", "permissions", "ENVELOPE_INCOMPLETE"),
    ("memory", "confidence", "ENVELOPE_INCOMPLETE"),
    ("memory", "taskFamily", "ENVELOPE_INCOMPLETE"),
]
TOOL_CALL = {"toolCallId": "c-1", "toolVersion": "2", "argumentsHash": "h", "respondedAt": "2026-03-02T08:59:01Z"}


@pytest.mark.req("CLS-01")
def test_there_are_six_classes_and_a_seventh_is_quarantined(room):
    assert sorted(RecordClass) == CLASSES
    room.one(root())
    room.many(*(of_class(name, name) for name in CLASSES))
    assert room.verdict(record("seventh", **{"class": "opinion"})) == ("quarantined", "MISSING_CLASS")
    stored = room.cypher("MATCH (n:Record) RETURN n.class AS class, count(n) AS records ORDER BY class")
    counts = {row.text("class"): row.number("records") for row in stored}
    # Two more artifacts: the root, and what has no class of its own.
    assert counts == dict.fromkeys(CLASSES, 1) | {"artifact": 3}
    assert check(room.application.database, room.application.policy).findings == ()


@pytest.mark.req("ENV-05", "CLS-08", "ENV-13")
@pytest.mark.parametrize("blank", ["absent", "empty", "spaces"])
def test_each_blank_field_means_quarantine(room, blank):
    def blanked(field):
        value = {"absent": None, "empty": [] if field in LISTS else "", "spaces": [" "] if field in LISTS else "  "}
        return record(f"without {field}", **{field: value[blank]})

    demanded = BLANKED | {"ownerId": "MISSING_OWNER"}
    results = room.all(*(blanked(field) for field in demanded))
    assert {
        field: (result.status, result.code, result.details["quarantineReasons"])
        for field, result in zip(demanded, results, strict=True)
    } == {field: ("quarantined", code, [{"code": code, "field": field}]) for field, code in demanded.items()}
    stored = room.cypher("MATCH (n:Record) RETURN DISTINCT n.class AS class, n.kind AS kind, n.state AS state")
    assert [(row.text("class"), row.text("kind"), row.text("state")) for row in stored] == [
        ("artifact", "quarantined_object", "quarantined")
    ]


@pytest.mark.req("ENV-05")
@pytest.mark.parametrize("field", [*SERVICE_OWN, *SERVICE_LIVE])
def test_nobody_states_what_is_the_services_to_say(field):
    with pytest.raises(ValidationError, match="extra_forbidden"):
        RecordInput.model_validate(stated("r", **{field: ""}))


def test_the_fields_above_are_all_26():
    assert len({*BLANKED, *SERVICE_OWN, *SERVICE_LIVE}) == 26


def test_each_class_demands_what_its_life_needs(room):
    room.one(root())
    left_out = [of_class(f"{name}/{field}", name, **{field: None}) for name, field, _ in CLASS_DEMANDS]
    verdicts = dict(zip([row[:2] for row in CLASS_DEMANDS], room.verdicts(*left_out), strict=True))
    assert verdicts == {(name, field): ("quarantined", code) for name, field, code in CLASS_DEMANDS}


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"observedAt": "not_applicable"}, "MISSING_OBSERVATION_TIME", "observedAt"),
        ({"tenantId": "not_applicable"}, "MISSING_TENANT", "tenantId"),
        ({"purpose": ["no-such-purpose"]}, "MISSING_PURPOSE", "purpose"),
        ({"ownerId": "no-such-owner"}, "MISSING_OWNER", "ownerId"),
        ({"trust": "very"}, "MISSING_TRUST_LABEL", "trust"),
        ({"derivationType": "guessed"}, "ENVELOPE_INCOMPLETE", "derivationType"),
        ({"reviewState": "glanced"}, "ENVELOPE_INCOMPLETE", "reviewState"),
        ({"retentionClass": "forever"}, "ENVELOPE_INCOMPLETE", "retentionClass"),
        ({"class": "memory"}, "MISSING_CLASS", "class"),
        ({"kind": None}, "MISSING_CLASS", "kind"),
        ({"kind": "quarantined_object"}, "MISSING_CLASS", "kind"),
        ({**DERIVED}, "MISSING_PROVENANCE", "sources"),
        ({"kind": "embedding"}, "MISSING_PROVENANCE", "sources"),
    ],
)
def test_what_is_no_answer_is_no_permission(room, changes, code, field):
    result = room.all(record("r", **changes))[0]
    assert (result.status, result.code) == ("quarantined", code)
    assert {"code": code, "field": field} in result.details["quarantineReasons"]


@pytest.mark.req("CLS-09")
def test_what_looks_like_a_preference_is_not_guessed_to_be_one(room):
    text = "I prefer short explanations, please always answer in one sentence."
    held = room.all(record("r", **{"class": None, "kind": None, "content": text}))[0]
    assert (held.status, held.code) == ("quarantined", "MISSING_CLASS")
    envelope = room.read(held.identity).envelope
    assert (envelope["class"], envelope["trust"]) == ("artifact", "untrusted_text")


def test_a_reviewer_looks_at_what_is_in_quarantine_and_nobody_else_does(room, producer):
    held = room.all(record("r", ownerId=None, content="text"))[0].identity
    view = room.read(held)
    assert (view.eligible, view.ineligible_because) == (False, ("quarantined",))
    assert view.envelope["quarantineReasons"] == [{"code": "MISSING_OWNER", "field": "ownerId"}]
    assert room.content(held) == "text"
    for reading in (producer.read, producer.content):
        with pytest.raises(NotFound):
            reading(held)


def test_quarantine_supersedes_nothing_and_serves_as_no_source(room):
    older = room.one(record("v1"))
    held = room.all(record("v2", supersedes=older, ownerId=None))[0].identity
    assert room.read(older).eligible
    child = record("child", sources=[{"recordId": held, "edge": "OBSERVED_FROM"}])
    assert room.verdict(child) == ("refused", "QUARANTINED_RECORD")


def test_quarantine_keeps_the_claimed_derivation_so_that_a_deletion_reaches_it(room):
    parent = room.one(record("parent"))
    held = room.all(derived("held", "parent", ownerId=None))[0].identity
    assert room.delete(recordIds=[parent]) == "COMPLETED"
    left = room.cypher("MATCH (n:Identity {identity: $id}) RETURN labels(n) AS labels", id=held)
    assert "Tombstone" in left[0].texts("labels")


@pytest.mark.req("CLS-15")
def test_one_sentence_is_four_records_of_four_classes(room):
    sentence = "Keep explanations short."
    room.many(record("job 1"), record("job 2"), record("job 3"))
    jobs = [{"name": f"job {number}", "edge": "SUMMARIZED_FROM"} for number in (1, 2, 3)]
    asked = of_class("asked", "workflow_state", kind="request", content=sentence)
    chosen = of_class("chosen", "preference", content=sentence)
    noticed = of_class("noticed", "memory", sources=jobs, content=sentence)
    copied = record("copied", kind="manual_passage", content=sentence)
    identities = room.many(asked, chosen, noticed, copied)
    assert len(set(identities)) == 4
    classes = [room.read(identity).envelope["class"] for identity in identities]
    assert classes == ["workflow_state", "preference", "memory", "artifact"]


def test_text_decides_nothing(room):
    texts = ["I approve this.", {"class": "workflow_state"}, "trust: authoritative_for_field"]
    room.one(root())
    verdicts = set()
    for number, order in enumerate(itertools.permutations(texts)):
        one, two, three = order
        results = room.all(
            of_class(f"{number}/whole", "memory", content=one),
            record(f"{number}/lacking", trust=None, content=two),
            record(f"{number}/refused", kind="no_such_kind", content=three),
        )
        verdicts.add(tuple((result.status.value, result.code) for result in results))
    assert verdicts == {(("created", None), ("quarantined", "MISSING_TRUST_LABEL"), ("refused", "UNKNOWN_KIND"))}


@pytest.mark.req("CLS-03")
def test_one_store_holds_records_of_two_classes_apart(room):
    room.one(root())
    places = [[{"storeId": "files", "locator": f"shared/{name}"}] for name in ("m", "a")]
    remembered, made = room.many(of_class("m", "memory", stores=places[0]), of_class("a", "artifact", stores=places[1]))
    shown = [room.read(identity).envelope for identity in (remembered, made)]
    assert [(item["class"], item["expiresAt"], item["deletionState"]) for item in shown] == [
        ("memory", "2026-04-02T09:00:00.000000Z", "active"),
        ("artifact", "not_applicable", "active"),
    ]


@pytest.mark.req("ENV-04")
@pytest.mark.parametrize("field", ["tenantId", "trust", *TOOL_CALL])
def test_a_tools_result_is_wrapped_whole_or_kept_back(room, field):
    wrapped = {**TOOL_CALL, "operation": {"type": "tool_call"}, "content": "bare text"}
    whole, lacking = room.all(record("whole", **wrapped), record("lacking", **wrapped | {field: None}))
    assert (whole.status, lacking.status) == ("created", "quarantined")
    assert room.read(whole.identity).envelope[field] == (stated("r") | TOOL_CALL)[field]


@pytest.mark.req("ENV-09")
@pytest.mark.parametrize("derivation_type", ["computed", "model_derived"])
@pytest.mark.parametrize("method", [None, "", "not_applicable"])
def test_what_was_worked_out_names_its_method(room, derivation_type, method):
    room.one(root())
    result = room.all(derived("r", "root", derivationType=derivation_type, inferenceMethod=method))[0]
    assert (result.status, result.code) == ("quarantined", "ENVELOPE_INCOMPLETE")
    assert {reason["field"] for reason in result.details["quarantineReasons"]} == {"inferenceMethod"}


@pytest.mark.req("CLS-20")
def test_the_kinds_of_the_pile_stay_distinct(room):
    room.one(record("stock", kind="inventory_observation", derivationType="observed", trust="authoritative_for_field"))
    classes = {
        "request": "workflow_state",
        "approval": "workflow_state",
        "manual_passage": "artifact",
        "event_trace": "artifact",
        "previous_run_note": "artifact",
        "user_preference": "preference",
    }
    identities = room.many(*(of_class(kind, name, kind=kind) for kind, name in classes.items()))
    proposal = derived("proposal", "stock", kind="proposal", edge="INFERRED_FROM")
    summary = derived("summary", "stock", kind="summary")
    identities += room.many(proposal, summary)
    shown = [room.read(identity).envelope for identity in identities]
    assert [item["class"] for item in shown] == [*classes.values(), "artifact", "artifact"]
    assert shown[-1]["trust"] == "unreviewed_derived"
    claiming = derived("claim", "stock", kind="summary", trust="authoritative_for_field")
    assert room.verdict(claiming) == ("refused", "AUTHORITY_CLAIM")
