"""What is stored: read back whole, shown from the graph as it is now, and unusable once somebody took a part out of it."""

from __future__ import annotations

import json
import random
from collections import defaultdict

import pytest

from graph.database.checker import check
from graph.database.invariants import Invariant
from graph.errors import NotFound
from graph.records.read import NEIGHBOURS_MAX
from graph.vocabulary import DERIVATION_EDGES, Role
from tests.support.graph import copies
from tests.support.records import READERS, derived, record

# Of the 26 fields of the envelope, those that the stored envelope holds.
STORED_FIELDS = [
    *("recordId", "class", "version", "tenantId", "principalId", "taskId", "runId", "sourceId", "sourceVersion"),
    *("observedAt", "recordedAt", "derivationType", "inferenceMethod", "trust", "reviewState", "expiresAt"),
    *("freshnessRuleId", "permissions", "purpose", "contextEligible", "memoryDecision", "retentionClass"),
]
# Those that are read from edges and from the state whenever the envelope is shown.
LIVE_FIELDS = ["conflicts", "supersedes", "deletionState", "downstreamRefs"]
# What stands alone for queries to filter by, and the field that it stands for. Without the first four nothing is shown.
# Without these nobody can tell whether the caller may see it: it looks like a record that is not there.
UNSEEN = {"tenantId", "purposes", "permissions"}
STANDING = {
    "tenantId": None,
    "state": None,
    "permissions": None,
    "purposes": None,
    "class": "class",
    "kind": "kind",
    "observedAt": "observedAt",
    "expiresAt": "expiresAt",
}

AUDIENCE = 6_837_776_450_208_336_715


def take_out(room, identity, field):
    """Remove one field of a stored envelope past the service."""
    stored = room.cypher("MATCH (n:Identity {identity: $id}) RETURN n.envelope AS envelope", id=identity)
    envelope = json.loads(stored[0].text("envelope"))
    del envelope[field]
    room.cypher("MATCH (n:Identity {identity: $id}) SET n.envelope = $new", id=identity, new=json.dumps(envelope))


@pytest.mark.req("ENV-01", "ENV-05")
def test_a_record_that_lost_a_field_serves_no_more(room):
    records = [record(f"without {field}", content="text") for field in STORED_FIELDS]
    lost = dict(zip(STORED_FIELDS, room.many(*records), strict=True))
    for field, identity in lost.items():
        take_out(room, identity, field)
    shown = {field: room.read(identity) for field, identity in lost.items()}
    assert {field: (view.eligible, view.ineligible_because) for field, view in shown.items()} == {
        field: (False, (f"ENVELOPE_INCOMPLETE:{field}",)) for field in STORED_FIELDS
    }
    for identity in lost.values():
        with pytest.raises(NotFound):
            room.content(identity)
    children = [derived(f"from {field}", f"without {field}") for field in STORED_FIELDS]
    assert room.verdicts(*children) == [("refused", "SOURCE_NOT_ELIGIBLE")] * len(STORED_FIELDS)
    found = check(room.application.database, room.application.policy).findings
    assert {finding.identity for finding in found} == set(lost.values())
    assert {finding.invariant for finding in found} >= {Invariant.FULL_ENVELOPE}


def test_the_fields_above_are_all_26():
    assert len({*STORED_FIELDS, *LIVE_FIELDS}) == 26


@pytest.mark.req("ENV-01")
def test_a_record_that_lost_a_property_serves_no_more(room):
    records = [record(f"without {name}", expiresAt="2026-04-01T00:00:00Z", content="text") for name in STANDING]
    lost = dict(zip(STANDING, room.many(*records), strict=True))
    for name, identity in lost.items():
        room.cypher(f"MATCH (n:Identity {{identity: $id}}) REMOVE n.{name}", id=identity)
    for name, field in STANDING.items():
        if field is None:
            with pytest.raises(NotFound):
                room.read(lost[name])
        else:
            assert room.read(lost[name]).ineligible_because == (f"ENVELOPE_INCOMPLETE:{field}",)
        with pytest.raises(NotFound):
            room.content(lost[name])
    children = room.verdicts(*(derived(f"from {name}", f"without {name}") for name in STANDING))
    assert dict(zip(STANDING, children, strict=True)) == {
        name: ("refused", "SOURCE_NOT_FOUND" if name in UNSEEN else "SOURCE_NOT_ELIGIBLE") for name in STANDING
    }


@pytest.mark.parametrize("text", [None, "", "{", "[]"])
def test_a_record_without_a_readable_envelope_serves_no_more(room, text):
    identity = room.one(record("r", content="text"))
    room.cypher("MATCH (n:Identity {identity: $id}) SET n.envelope = $new", id=identity, new=text)
    view = room.read(identity)
    assert not view.eligible
    assert "ENVELOPE_INCOMPLETE:ownerId" in view.ineligible_because
    with pytest.raises(NotFound):
        room.content(identity)


def test_a_version_that_lost_its_edge_to_the_one_before_serves_no_more(room):
    older = room.one(record("v1"))
    newer = room.one(record("v2", supersedes=older))
    assert room.read(newer).eligible
    room.cypher("MATCH (:Identity {identity: $id})-[e:SUPERSEDES]->() DELETE e", id=newer)
    assert room.read(newer).ineligible_because == ("ENVELOPE_INCOMPLETE:supersedes",)


def test_versions_show_one_another(room):
    older = room.one(record("v1"))
    newer = room.one(record("v2", supersedes=older))
    before, after = room.read(older), room.read(newer)
    assert (before.eligible, before.ineligible_because) == (False, ("superseded",))
    assert (before.envelope["version"], before.envelope["supersededBy"]) == (1, [newer])
    assert (after.envelope["version"], after.envelope["supersedes"]) == (2, [older])


def test_an_envelope_is_shown_as_it_was_stated(room):
    identity = room.one(record("r", expiresAt="2026-04-01T02:00:00+02:00", content="text"))
    envelope = room.read(identity).envelope
    assert {field: envelope[field] for field in (*STORED_FIELDS, *LIVE_FIELDS)} == {
        "recordId": identity,
        "class": "artifact",
        "version": 1,
        "tenantId": "tenant-a",
        "principalId": "not_applicable",
        "taskId": "not_applicable",
        "runId": "not_applicable",
        "sourceId": "manual-repository",
        "sourceVersion": "1",
        "observedAt": "2026-03-02T08:59:00.000000Z",
        "recordedAt": "2026-03-02T09:00:00.000000Z",
        "derivationType": "asserted",
        "inferenceMethod": "not_applicable",
        "trust": "untrusted_text",
        "reviewState": "unreviewed",
        "expiresAt": "2026-04-01T00:00:00.000000Z",
        "freshnessRuleId": "not_applicable",
        "permissions": READERS,
        "purpose": ["maintenance"],
        "contextEligible": [],
        "memoryDecision": [],
        "conflicts": [],
        "supersedes": [],
        "retentionClass": "durable_artifact",
        "deletionState": "active",
        "downstreamRefs": [],
    }
    assert "fingerprint" not in envelope
    assert "content" not in envelope


def test_what_was_invalidated_is_shown_to_auditors_alone(room, producer):
    identity = room.one(record("r", content="text"))
    room.cypher("MATCH (n:Identity {identity: $id}) SET n.state = 'invalidated'", id=identity)
    assert room.read(identity).ineligible_because == ("invalidated",)
    for reading in (producer.read, producer.content, room.acting_as(roles=frozenset({Role.REVIEWER})).read):
        with pytest.raises(NotFound):
            reading(identity)
    assert room.verdict(derived("child", "r")) == ("refused", "SOURCE_NOT_ELIGIBLE")


def test_what_is_being_deleted_shows_no_content_and_takes_no_derivative(room):
    identity = room.one(record("r", content="text"))
    room.cypher("MATCH (n:Identity {identity: $id}) SET n.fence = 'a-request'", id=identity)
    view = room.read(identity)
    assert (view.ineligible_because, view.envelope["deletionState"]) == (("being_deleted",), "being_deleted")
    with pytest.raises(NotFound):
        room.content(identity)
    assert room.verdicts(derived("child", "r"), record("r", content="text")) == [("refused", "SOURCE_FENCED")] * 2


@pytest.mark.parametrize(
    "changes",
    [{"tenant_id": "tenant-b"}, {"purpose": "audit"}, {"roles": frozenset({Role.PRIVACY}), "principal_id": "tech-18"}],
)
def test_who_may_not_see_a_record_is_told_that_there_is_none(room, changes):
    identity = room.one(record("r", content="text"))
    stranger = room.acting_as(**changes)
    for reading in (stranger.read, stranger.content):
        with pytest.raises(NotFound) as told:
            reading(identity)
        assert (told.value.message, told.value.details) == ("no such record", {})


def test_neighbours_that_a_caller_may_not_see_are_left_out(room):
    narrow = {"permissions": ["principal:tech-17"]}
    room.one(record("root"))
    child = room.one(derived("child", "root", **narrow))
    newer = room.one(record("newer", supersedes=room.one(record("older")), **narrow))
    other = room.acting_as(principal_id="tech-18")
    assert room.read(room.one(record("root2", **narrow))).eligible
    seen, unseen = ([who.read(identity).envelope for identity in ids_of(who, room)] for who in (room, other))
    assert (seen[0]["downstreamRefs"], seen[1]["supersededBy"]) == ([child], [newer])
    assert (unseen[0]["downstreamRefs"], unseen[1]["supersededBy"]) == ([], [])


def ids_of(_who, room):
    keys = room.application.keys
    return [keys.identity("tenant-a", name) for name in ("root", "older")]


@pytest.mark.req("ENV-15")
def test_downstream_is_the_inverse_of_derivation(room):
    numbers = random.Random(20260302)
    records = [record("n0")]
    for number in range(1, 40):
        parents = numbers.sample(range(number), k=min(number, numbers.randint(1, 3)))
        edges = [{"name": f"n{parent}", "edge": numbers.choice(DERIVATION_EDGES).value} for parent in parents]
        records.append(derived(f"n{number}", sources=edges))
    numbers.shuffle(records)
    identities = room.many(*records)
    # An edge that another program drew in the database alone.
    first, last = identities[0], room.one(record("stray"))
    room.cypher(
        "MATCH (a:Identity {identity: $a}), (b:Identity {identity: $b}) CREATE (a)-[:CACHED_FROM]->(b)",
        a=last,
        b=first,
    )
    inverse = defaultdict(set)
    names = [edge.value for edge in DERIVATION_EDGES]
    for row in room.cypher(
        "MATCH (a)-[e]->(b) WHERE type(e) IN $names RETURN a.identity AS a, b.identity AS b", names=names
    ):
        inverse[row.text("b")].add(row.text("a"))
    assert sum(map(len, inverse.values())) > 40
    shown = {identity: room.read(identity).envelope["downstreamRefs"] for identity in (*identities, last)}
    assert shown == {identity: sorted(inverse[identity]) for identity in shown}
    assert room.verdict(record("unregistered", kind="embedding")) == ("quarantined", "MISSING_PROVENANCE")


def test_a_hub_says_that_it_does_not_show_all_of_its_neighbours(room):
    hub, child = room.many(record("hub"), derived("child", "hub", edge="INFERRED_FROM"))
    children = [child, *copies(room, child, 3_999)]
    room.cypher(
        "MATCH (h:Identity {identity: $hub}) UNWIND $ids AS id MATCH (c:Identity {identity: id}) "
        "MERGE (c)-[:INFERRED_FROM]->(h)",
        hub=hub,
        ids=children,
    )
    total = room.one(derived("sum", sources=[{"recordId": each, "edge": "INFERRED_FROM"} for each in children]))
    below, above = room.read(hub), room.read(total)
    assert (len(below.envelope["downstreamRefs"]), below.neighbours_complete) == (NEIGHBOURS_MAX, False)
    assert (len(above.envelope["sources"]), above.neighbours_complete) == (NEIGHBOURS_MAX, False)
    counts = room.cypher("MATCH (:Identity {identity: $id})-[e:INFERRED_FROM]->() RETURN count(e) AS edges", id=total)
    assert counts[0].number("edges") == 4_000


@pytest.mark.req("CLS-12")
def test_the_kinds_of_origin_stay_attached_through_every_copy(room):
    steps = [
        record("seen", kind="inventory_observation", derivationType="observed"),
        record("said", derivationType="asserted"),
        derived("summary", "seen", "said", kind="summary", derivationType="model_derived"),
        derived("copy", "summary", kind="cache_entry", edge="CACHED_FROM"),
        derived("vector", "copy", kind="embedding", edge="EMBEDDED_FROM"),
        derived("kept", "vector", kind="backup_copy", edge="BACKED_UP_FROM"),
        derived("restored", "kept", edge="PROJECTED_FROM"),
    ]
    restored = room.many(*steps)[-1]
    envelope = room.read(restored).envelope
    assert (envelope["origins"], envelope["derivationType"]) == (["asserted", "observed"], "computed")
    roots = room.cypher(
        "MATCH (:Identity {identity: $id})-->+(r:Record) WHERE NOT (r)-->(:Record) RETURN r.envelope AS envelope",
        id=restored,
    )
    assert {json.loads(row.text("envelope"))["derivationType"] for row in roots} == {"asserted", "observed"}


def test_a_derivative_is_no_fresher_than_the_oldest_thing_below_it(room):
    room.many(
        record("old", observedAt="2026-03-01T00:00:00Z", expiresAt="2026-05-01T00:00:00Z"),
        record("new", observedAt="2026-03-02T08:00:00Z", expiresAt="2026-04-01T00:00:00Z"),
        derived("middle", "old", "new", observedAt="2026-03-02T09:00:00Z"),
    )
    top = room.one(derived("top", "middle", observedAt="2026-03-02T09:00:00Z", expiresAt="2026-12-01T00:00:00Z"))
    envelope = room.read(top).envelope
    assert (envelope["observedAt"], envelope["expiresAt"]) == (
        "2026-03-01T00:00:00.000000Z",
        "2026-04-01T00:00:00.000000Z",
    )
    assert envelope["recordedAt"] == "2026-03-02T09:00:00.000000Z"


def test_a_living_record_has_the_number_of_its_audience_and_one_in_quarantine_none(room):
    """SHA-256 of `["tenant-a", "document", ["principal:tech-17", "role:producer", "role:reviewer"], ["maintenance"]]`."""
    living, unclear = (result.identity for result in room.all(record("living"), record("unclear", trust=None)))
    rows = room.cypher("MATCH (n:Record) RETURN n.identity AS identity, n.audience AS audience")
    assert {row.text("identity"): row.number_or_none("audience") for row in rows} == {living: AUDIENCE, unclear: None}
