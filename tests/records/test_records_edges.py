"""What a record may hang on: edge types and their ends, movements between classes, audiences, tenants, trust, versions."""

from __future__ import annotations

import re

import pytest

from graph.database.catalogue import default_query_folder
from graph.database.checker import check
from graph.database.invariants import Invariant
from graph.envelope import RecordInput
from graph.errors import Blocked, Conflict, InvalidInput, NotAuthorized, NotFound
from graph.records.relate import Relation, relate
from graph.vocabulary import CONTROL_EDGES, DERIVATION_EDGES, EdgeType, Role
from tests.support.kinds import DERIVED, of_class, root
from tests.support.records import OTHER_TENANT, derived, record, stated

# Edge → the kind that may start it from a manual passage, and the end that may not: (child, parent).
ENDS = {
    "OBSERVED_FROM": ("inventory_observation", ("manual_passage", "summary")),
    "SUMMARIZED_FROM": ("summary", ("manual_passage", "summary")),
    "INFERRED_FROM": ("compatibility_inference", ("manual_passage", "compatibility_inference")),
    "EMBEDDED_FROM": ("embedding", ("summary", "embedding")),
    "CACHED_FROM": ("cache_entry", ("summary", "cache_entry")),
    "COMPACTED_FROM": ("compaction_output", ("manual_passage", "compaction_output")),
    "PROJECTED_FROM": ("child_seed", ("manual_passage", "child_seed")),
    "PROPOSED_FROM": ("proposal", ("manual_passage", "proposal")),
    "RENDERED_FROM": ("export_packet", ("summary", "export_packet")),
    "EXPORTED_FROM": ("export_packet", ("summary", "export_packet")),
    "LABELED_FROM": ("evaluation_example", ("manual_passage", "evaluation_example")),
    "BACKED_UP_FROM": ("backup_copy", ("summary", "backup_copy")),
}
ONE_WAY = [edge for edge in ENDS if edge != "OBSERVED_FROM"]
# From the class of the source to the class of the derivative.
BARRED = [
    ("context", "workflow_state"),
    ("scratch", "workflow_state"),
    ("preference", "workflow_state"),
    ("memory", "workflow_state"),
    ("scratch", "memory"),
    ("context", "memory"),
]


def made_from(name: str, kind: str, parent: str, edge: str, **changes) -> RecordInput:
    return derived(name, parent, edge=edge, **{"kind": kind, **changes})


@pytest.mark.req("PRV-04")
def test_each_derivation_edge_has_its_ends(room):
    assert set(ENDS) == {edge.value for edge in DERIVATION_EDGES}
    room.many(record("manual_passage", kind="manual_passage"))
    room.many(*(made_from(kind, kind, "manual_passage", edge) for edge, kind in KINDS_ONCE.items()))
    allowed = room.verdicts(
        *(made_from(f"ok {edge}", kind, "manual_passage", edge) for edge, (kind, _) in ENDS.items())
    )
    refused = room.verdicts(
        *(made_from(f"bad {edge}", child, parent, edge) for edge, (_, (child, parent)) in ENDS.items())
    )
    assert dict(zip(ENDS, allowed, strict=True)) == dict.fromkeys(ENDS, ("created", None))
    assert dict(zip(ENDS, refused, strict=True)) == dict.fromkeys(ENDS, ("refused", "EDGE_ENDS_NOT_ALLOWED"))
    drawn = room.cypher("MATCH (c:Record)-[e]->(:Record) RETURN type(e) AS edge, collect(c.identity) AS children")
    children = {row.text("edge"): set(row.texts("children")) for row in drawn}
    assert set(children) == set(ENDS)
    assert len(set().union(*children.values())) == sum(map(len, children.values()))


# One record of each kind that a refused pair needs as its parent.
KINDS_ONCE = {
    "SUMMARIZED_FROM": "summary",
    "INFERRED_FROM": "compatibility_inference",
    "EMBEDDED_FROM": "embedding",
    "CACHED_FROM": "cache_entry",
    "COMPACTED_FROM": "compaction_output",
    "PROJECTED_FROM": "child_seed",
    "PROPOSED_FROM": "proposal",
    "RENDERED_FROM": "export_packet",
    "LABELED_FROM": "evaluation_example",
    "BACKED_UP_FROM": "backup_copy",
}


@pytest.mark.req("PRV-04")
@pytest.mark.parametrize("edge", ["RELATED_TO", "DERIVED_FROM", "", "summarized_from"])
def test_an_edge_of_no_registered_type_is_refused(edge):
    with pytest.raises(InvalidInput) as told:
        RecordInput.model_validate(stated("r", sources=[{"name": "s", "edge": edge}]))
    assert told.value.code == "UNKNOWN_EDGE_TYPE"


@pytest.mark.parametrize("edge", [*CONTROL_EDGES, EdgeType.SUPERSEDES])
def test_an_edge_of_the_service_is_not_for_producers(room, edge):
    room.one(root())
    for changes in ({}, {"ownerId": None}):
        asked = record("r", sources=[{"name": "root", "edge": edge.value}], **changes)
        assert room.verdict(asked) == ("refused", "EDGE_ENDS_NOT_ALLOWED")


def test_what_was_approved_is_a_proposal(room):
    room.many(root(), of_class("approval", "workflow_state", kind="approval"))
    sources = [{"name": "root", "edge": "INFERRED_FROM"}, {"name": "approval", "edge": "APPROVED_BY"}]
    proposal = derived("proposal", kind="proposal", sources=sources)
    summary = derived("summary", kind="summary", sources=sources)
    assert room.verdicts(proposal, summary) == [("created", None), ("refused", "EDGE_ENDS_NOT_ALLOWED")]


def test_a_source_gives_an_id_or_a_name(room):
    identity = room.one(root())
    both = [{"recordId": identity, "name": "root", "edge": "OBSERVED_FROM"}]
    neither = [{"edge": "OBSERVED_FROM"}]
    asked = [record(f"r{number}", sources=sources) for number, sources in enumerate((both, neither))]
    assert room.verdicts(*asked) == [("refused", "MALFORMED_INPUT")] * 2


@pytest.mark.parametrize(("source_class", "child_class"), BARRED)
def test_a_barred_movement_between_classes_is_refused(room, source_class, child_class):
    room.many(root(), of_class("source", source_class))
    edge = "PROPOSED_FROM" if child_class == "memory" else "PROJECTED_FROM"
    moved = of_class("moved", child_class, **DERIVED, sources=[{"name": "source", "edge": edge}])
    assert room.verdict(moved) == ("refused", "CLASS_MOVEMENT_FORBIDDEN")


def test_what_a_run_noted_becomes_memory_only_through_an_artifact(room):
    room.many(of_class("notes", "scratch"), made_from("artifact", "summary", "notes", "SUMMARIZED_FROM"))
    proposed = of_class("memory", "memory", sources=[{"name": "artifact", "edge": "PROPOSED_FROM"}])
    assert room.verdict(proposed) == ("created", None)


@pytest.mark.req("ENV-08")
def test_a_conclusion_is_no_observation(room):
    seen = record("one in stock", kind="inventory_observation", derivationType="observed")
    concluded = made_from("will be there", "compatibility_inference", "one in stock", "INFERRED_FROM")
    posing = made_from("posing", "compatibility_inference", "one in stock", "INFERRED_FROM", derivationType="observed")
    results = room.all(seen, concluded, posing)
    assert [result.status for result in results] == ["created", "created", "refused"]
    assert results[2].code == "OBSERVED_FROM_INFERENCE"
    source = room.read(results[1].identity).envelope["sources"]
    assert source == [{"recordId": results[0].identity, "edge": "INFERRED_FROM", "deleted": False}]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"permissions": ["role:producer"]}, ("created", None)),
        ({"permissions": ["role:auditor"]}, ("refused", "AUDIENCE_WIDENING")),
        ({"permissions": ["role:producer", "role:auditor"]}, ("refused", "AUDIENCE_WIDENING")),
        ({"purpose": ["maintenance", "audit"]}, ("refused", "AUDIENCE_WIDENING")),
        ({"permissions": ["role:reviewer"]}, ("refused", "AUDIENCE_WIDENING")),
    ],
)
def test_a_derivative_is_for_nobody_that_one_of_its_sources_is_not_for(room, changes, verdict):
    room.many(record("wide"), record("narrow", permissions=["role:producer"]))
    assert room.verdict(derived("r", "wide", "narrow", **{"permissions": ["role:producer"], **changes})) == verdict


def test_a_foreign_source_looks_like_a_missing_one(room, neighbour):
    theirs = neighbour.one(record("theirs", tenantId=OTHER_TENANT))
    missing = "00000000-0000-8000-8000-000000000000"
    results = [
        room.all(record(f"r{n}", sources=[{"recordId": source, "edge": "OBSERVED_FROM"}]))[0]
        for n, source in enumerate((theirs, missing))
    ]
    told = [{**result.details, "sourceId": None} for result in results]
    assert [(result.status, result.code) for result in results] == [("refused", "SOURCE_NOT_FOUND")] * 2
    assert told[0] == told[1]


def test_two_tenants_with_one_name_never_meet(room, neighbour):
    mine, theirs = room.one(record("r")), neighbour.one(record("r", tenantId=OTHER_TENANT))
    assert mine != theirs
    assert neighbour.delete(names=[{"name": "r"}]) == "COMPLETED"
    assert room.read(mine).eligible


def test_a_foreign_tenant_is_refused(room):
    assert room.verdict(record("r", tenantId=OTHER_TENANT)) == ("refused", "REQUESTER_UNAUTHORIZED")


def test_a_shared_source_may_be_derived_from_and_nothing_else(room, librarian):
    shared = librarian.one(record("manual", tenantId="shared-sources"))
    mine = room.one(record("mine"))
    copied = record("copied", sources=[{"recordId": shared, "edge": "OBSERVED_FROM"}])
    against = record("against", sources=[{"recordId": shared, "edge": "CONTRADICTS"}])
    newer = record("newer", supersedes=shared)
    assert room.verdicts(copied, against, newer) == [
        ("created", None),
        ("refused", "TENANT_MIXING"),
        ("refused", "TENANT_MIXING"),
    ]
    for one, other in ((mine, shared), (shared, mine)):
        with pytest.raises(Conflict) as told:
            draw(room, one, "CONTRADICTS", other)
        assert told.value.code == "TENANT_MIXING"
    stranger = room.acting_as(shared_scopes=frozenset())
    again = record("again", sources=[{"recordId": shared, "edge": "OBSERVED_FROM"}])
    assert stranger.verdict(again) == ("refused", "SOURCE_NOT_FOUND")


def draw(room, identity, edge, target):
    application = room.application
    relate(application.database, application.policy, room.caller, Relation(identity, EdgeType(edge), target))


def test_a_relation_is_drawn_once_between_records_that_are_there(room):
    one, two = room.many(record("one"), record("two"))
    for _ in range(2):
        draw(room, one, "CONTRADICTS", two)
    assert [room.read(identity).envelope["conflicts"] for identity in (one, two)] == [[two], [one]]
    edges = room.cypher("MATCH (:Record)-[e:CONTRADICTS]->(:Record) RETURN count(e) AS edges")
    assert edges[0].number("edges") == 1


def test_a_relation_that_may_not_be_is_refused(room, neighbour):
    one, two, gone, fenced = room.many(record("one"), record("two"), record("gone"), record("fenced"))
    held = room.all(record("held", ownerId=None))[0].identity
    theirs = neighbour.one(record("theirs", tenantId=OTHER_TENANT))
    room.delete(recordIds=[gone])
    room.cypher("MATCH (n:Identity {identity: $id}) SET n.fence = 'a-request'", id=fenced)
    refusals = [
        (one, "SUMMARIZED_FROM", two, InvalidInput, "EDGE_ENDS_NOT_ALLOWED"),
        (one, "SUPERSEDES", two, InvalidInput, "EDGE_ENDS_NOT_ALLOWED"),
        (one, "PRODUCED_BY", two, InvalidInput, "EDGE_ENDS_NOT_ALLOWED"),
        (one, "APPROVED_BY", two, InvalidInput, "EDGE_ENDS_NOT_ALLOWED"),
        (one, "CONTRADICTS", one, InvalidInput, "EDGE_ENDS_NOT_ALLOWED"),
        (one, "CONTRADICTS", held, Conflict, "QUARANTINED_RECORD"),
        (one, "CONTRADICTS", theirs, NotFound, "NOT_FOUND"),
        (one, "CONTRADICTS", "no-such-id", NotFound, "NOT_FOUND"),
        (gone, "CONTRADICTS", two, Blocked, "TOMBSTONE_BLOCKED"),
        (one, "CONTRADICTS", fenced, Blocked, "SOURCE_FENCED"),
    ]
    for identity, edge, target, error, code in refusals:
        with pytest.raises(error) as told:
            draw(room, identity, edge, target)
        assert told.value.code == code
    with pytest.raises(NotAuthorized) as told:
        draw(room.acting_as(roles=frozenset({Role.REVIEWER})), one, "CONTRADICTS", two)
    assert told.value.code == "ROLE_REQUIRED"


REVIEW = {"reviewState": "reviewed", "trust": "reviewed", "operation": {"type": "gate_decision"}}


@pytest.mark.req("ENV-10")
def test_trust_is_raised_by_a_review_and_by_nothing_else(room, producer):
    older = room.one(record("v1"))
    raised = record("v1", trust="authoritative_for_field")
    newer = record("v2", supersedes=older, trust="authoritative_for_field")
    alone = record("v2", supersedes=older, trust="reviewed")
    unnoted = record("v2", supersedes=older, **REVIEW | {"operation": {"type": "assertion"}})
    reviewed = record("v2", supersedes=older, **REVIEW)
    assert room.verdict(raised) == ("refused", "RECORD_IMMUTABLE")
    for claim in (newer, alone, unnoted):
        assert room.verdict(claim) == ("refused", "AUTHORITY_CLAIM")
    assert producer.verdict(reviewed) == ("refused", "AUTHORITY_CLAIM")
    assert room.read(older).envelope["trust"] == "untrusted_text"
    identity = room.one(reviewed)
    assert room.read(identity).envelope["trust"] == "reviewed"
    event = room.cypher(
        "MATCH (:Identity {identity: $id})-[:PRODUCED_BY]->(o:Operation) RETURN o.type AS type, o.actorKey AS actor",
        id=identity,
    )
    actor = room.application.keys.lookup("tenant-a", "principalId", "tech-17")
    assert (event[0].text("type"), event[0].text("actor")) == ("gate_decision", actor)


@pytest.mark.parametrize("trust", ["authoritative_for_field", "verified_principal"])
@pytest.mark.parametrize("derivation_type", ["computed", "model_derived"])
def test_what_was_worked_out_has_no_authority_of_its_own(room, trust, derivation_type):
    room.one(root())
    claim = derived("r", "root", trust=trust, derivationType=derivation_type)
    assert room.verdict(claim) == ("refused", "AUTHORITY_CLAIM")


@pytest.mark.parametrize("trust", ["untrusted_text", "reviewed"])
def test_a_version_may_claim_as_much_as_the_one_before_or_less(room, trust):
    reviewed = {"trust": trust, **({} if trust == "untrusted_text" else REVIEW)}
    older = room.one(record("v1", **reviewed))
    assert room.verdict(record("v2", supersedes=older)) == ("created", None)


@pytest.mark.req("PRV-01")
def test_a_claim_leads_to_the_operations_behind_it(room):
    room.one(root())
    works = {"answer": "model_call", "compact": "compaction", "tool": "tool_call", "gate": "gate_decision"}
    call = {"toolCallId": "1", "toolVersion": "2", "argumentsHash": "h", "respondedAt": "2026-03-02T08:59:01Z"}
    room.many(
        *(
            derived(name, "root", operation={"type": work}, **(call if work == "tool_call" else {}))
            for name, work in works.items()
        )
    )
    claim = room.one(derived("claim", *works))
    paths = room.cypher(
        """
        MATCH (:Identity {identity: $claim})-[:PRODUCED_BY]->(:Operation)-[:USED]->(:Record)
              -[:PRODUCED_BY]->(o:Operation)-[:USED]->(r:Record)
        RETURN o.type AS type, r.identity AS root, o.producerId AS producer
        """,
        claim=claim,
    )
    source = room.application.keys.identity("tenant-a", "root")
    assert sorted((row.text("type"), row.text("root"), row.text("producer")) for row in paths) == sorted(
        (work, source, "test-producer") for work in works.values()
    )


def test_records_of_one_piece_of_work_share_its_operation(room):
    room.one(root())
    work = {"operation": {"type": "model_call", "operationId": "call-1"}}
    room.many(derived("one", "root", **work), derived("two", "root", **work), derived("other", "root"))
    rows = room.cypher(
        "MATCH (o:Operation {type: 'model_call'})<-[:PRODUCED_BY]-(n) RETURN o.operationId AS id, count(n) AS records"
    )
    assert [row.number("records") for row in rows] == [2]
    assert "call-1" not in rows[0].text("id")


@pytest.mark.req("PRV-13")
def test_derivation_has_no_cycle_supersession_no_fork_and_no_edge_goes(room):
    itself = derived("x", "x")
    pair = [derived("a", "b"), derived("b", "a")]
    assert room.verdicts(itself, *pair) == [("refused", "DERIVATION_CYCLE")] * 3
    older = room.one(record("v1"))
    versions = [record(f"v{number}", supersedes=older) for number in (2, 3)]
    assert room.verdicts(*versions) == [("created", None), ("refused", "SUPERSESSION_FORK")]
    queries = room.application.database.catalogue.queries
    statements = {query.name: re.sub(r"'[^']*'", "", query.text) for query in queries}
    assert [name for name, text in statements.items() if re.search(r"\bDELETE\b", text, re.IGNORECASE)] == []
    room.many(root(), derived("child", "root"))
    room.cypher("MATCH (:Record)-[e:SUMMARIZED_FROM]->(:Record) DELETE e")
    found = check(room.application.database, room.application.policy).findings
    assert {finding.invariant for finding in found} == {Invariant.LISTED_INPUTS}


@pytest.mark.req("PRV-04")
@pytest.mark.parametrize("edge", ONE_WAY)
def test_an_edge_that_was_written_backwards_is_refused(room, edge):
    kind = ENDS[edge][0]
    room.one(record("source", kind="manual_passage"))
    room.one(made_from("derivative", kind, "source", edge))
    backwards = made_from("backwards", "manual_passage", "derivative", edge)
    assert room.verdict(backwards) == ("refused", "EDGE_ENDS_NOT_ALLOWED")


def test_the_statement_that_draws_edges_tells_derivations_and_relations_apart_as_the_vocabulary_does():
    text = default_query_folder().joinpath("records", "create_records.cypher").read_text(encoding="utf-8")
    derivations, relations = text.split("WHERE one.derives")[1].split("WHERE NOT one.derives")
    drawn = [re.findall(r"WHEN '(\w+)'.*-\[:(\w+)\]->", part) for part in (derivations, relations)]
    assert all(case == made for part in drawn for case, made in part)
    assert {edge for edge, _ in drawn[0]} == set(DERIVATION_EDGES)
    assert {edge for edge, _ in drawn[1]} == set(EdgeType) - {*DERIVATION_EDGES, *CONTROL_EDGES, EdgeType.SUPERSEDES}
