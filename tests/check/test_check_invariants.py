"""Each invariant broken once by somebody who writes past the service, and named by the checker."""

from __future__ import annotations

import pytest

from graph.database.checker import check
from graph.envelope import RecordInput
from tests.support.records import derived, record


@pytest.fixture
def ids(application, caller):
    """A small clean graph: manual → note → digest, a second version of the note, a stored copy, a bystander."""
    inputs: list[RecordInput] = [
        record("manual"),
        derived("note", "manual"),
        derived("digest", "note", "manual", edge="INFERRED_FROM"),
        record("copy", stores=[{"storeId": "files", "locator": "copies/1"}]),
        record("bystander"),
        record("unclear", trust=None),
    ]
    results = application.registrar.register(inputs, caller)
    names = ["manual", "note", "digest", "copy", "bystander", "unclear"]
    made = {name: result.identity for name, result in zip(names, results, strict=True)}
    newer = application.registrar.register([record("manual-2", supersedes=made["bystander"])], caller)[0]
    assert newer.status == "created"
    return made | {"newer": newer.identity}


def found(application, batch_rows=2):
    report = check(application.database, application.policy, batch_rows=batch_rows)
    return {(finding.invariant.value, finding.identity) for finding in report.findings}


@pytest.mark.req("VOC-01", "ENV-15")
def test_a_graph_that_only_the_service_wrote_has_no_findings(application, ids):
    report = check(application.database, application.policy)
    assert report.findings == ()
    assert report.clean
    assert report.checked["identities"] == 7
    assert report.checked["derivations"] == 4


# After everything that the fixtures register.
DELETED_AT = 1_900_000_000_000_000


def entombed(name, rest):
    tombstone = f"{{identity: ${name}, deletedAt: {DELETED_AT}, {rest}}}"
    return (
        f"MATCH (n {{identity: ${name}}})-[:PRODUCED_BY]->(w:Operation) REMOVE w.method, w.producerId, w.producerVersion"
        f" REMOVE n:Record SET n:Tombstone SET n = {tombstone}"
    )


# One way to break each invariant: what is written past the service, which invariant is named, and where.
BROKEN = {
    "unknown class": ("MATCH (n {identity: $note}) SET n.class = 'rumour'", "I1", "note"),
    "no class": ("MATCH (n {identity: $note}) REMOVE n.class", "I1", "note"),
    "class as a list": ("MATCH (n {identity: $note}) SET n.class = ['artifact', 'memory']", "I1", "note"),
    "unknown kind": ("MATCH (n {identity: $note}) SET n.kind = 'rumour'", "I1", "note"),
    "class of another kind": ("MATCH (n {identity: $note}) SET n.class = 'memory'", "I1", "note"),
    "no envelope": ("MATCH (n {identity: $note}) REMOVE n.envelope", "I2", "note"),
    "broken envelope": ("MATCH (n {identity: $note}) SET n.envelope = '{'", "I2", "note"),
    "envelope of another record": (
        "MATCH (n {identity: $note}), (m {identity: $manual}) SET n.envelope = m.envelope",
        "I2",
        "note",
    ),
    "no tenant": ("MATCH (n {identity: $bystander}) REMOVE n.tenantId", "I2", "bystander"),
    "no readers": ("MATCH (n {identity: $bystander}) SET n.permissions = []", "I2", "bystander"),
    "another audience number": ("MATCH (n {identity: $note}) SET n.audience = n.audience + 1", "I9", "note"),
    "unknown state": ("MATCH (n {identity: $bystander}) SET n.state = 'rumoured'", "I2", "bystander"),
    "quarantine without a reason": ("MATCH (n {identity: $manual}) SET n.state = 'quarantined'", "I2", "manual"),
    "unregistered edge": (
        "MATCH (n {identity: $copy}), (m {identity: $manual}) CREATE (n)-[:STOLEN_FROM]->(m)",
        "I3",
        "copy",
    ),
    "edge between the wrong kinds": (
        "MATCH (n {identity: $copy}), (m {identity: $manual}) CREATE (n)-[:APPROVED_BY]->(m)",
        "I3",
        "copy",
    ),
    "control edge between the wrong labels": (
        "MATCH (n {identity: $copy}), (m {identity: $manual}) CREATE (n)-[:HAS_OUTCOME]->(m)",
        "I3",
        "copy",
    ),
    "derivation from a store": (
        "MATCH (n {identity: $copy}), (s:Store {storeId: 'files'}) CREATE (n)-[:CACHED_FROM]->(s)",
        "I3",
        "copy",
    ),
    "unregistered label": ("MATCH (n {identity: $copy}) SET n:Rumour", "I3", "copy"),
    "derivation cycle": (
        "MATCH (n {identity: $digest}), (m {identity: $manual}) CREATE (m)-[:SUMMARIZED_FROM]->(n)",
        "I4",
        "manual",
    ),
    "derived from itself": ("MATCH (n {identity: $copy}) CREATE (n)-[:CACHED_FROM]->(n)", "I4", "copy"),
    "fork of versions": (
        "MATCH (n {identity: $copy}), (m {identity: $bystander}) CREATE (n)-[:SUPERSEDES]->(m)",
        "I4",
        "bystander",
    ),
    "record and tombstone at once": ("MATCH (n {identity: $copy}) SET n:Tombstone", "I5", "copy"),
    "neither record nor tombstone": ("MATCH (n {identity: $copy}) REMOVE n:Record", "I5", "copy"),
    "record outside the constraint": ("MATCH (n {identity: $copy}) REMOVE n:Identity", "I5", "copy"),
    "tombstone that keeps its properties": (
        "MATCH (n {identity: $copy}) REMOVE n:Record SET n:Tombstone",
        "I6",
        "copy",
    ),
    "tombstone with a fifth property": (
        entombed("bystander", "reasonCode: 'RETENTION_EXPIRED', policyRef: 'field-service@1.0.0', note: 'x'"),
        "I6",
        "bystander",
    ),
    "tombstone with three properties": (
        entombed("bystander", "reasonCode: 'RETENTION_EXPIRED'"),
        "I6",
        "bystander",
    ),
    "tombstone with a reason in free text": (
        entombed("bystander", "reasonCode: 'because they asked', policyRef: 'field-service@1.0.0'"),
        "I6",
        "bystander",
    ),
    "tombstone with its locator left": (
        entombed("copy", "reasonCode: 'RETENTION_EXPIRED', policyRef: 'field-service@1.0.0'"),
        "I6",
        "copy",
    ),
    "derivative of a tombstone": (
        entombed("manual", "reasonCode: 'RETENTION_EXPIRED', policyRef: 'field-service@1.0.0'"),
        "I7",
        "note",
    ),
    "derivative of an emptied record": ("MATCH (n {identity: $note}) SET n.state = 'invalidated'", "I7", "digest"),
    "newer version of a tombstone": (
        entombed("bystander", "reasonCode: 'RETENTION_EXPIRED', policyRef: 'field-service@1.0.0'"),
        "I7",
        "newer",
    ),
    "another reader": (
        "MATCH (n {identity: $note}) SET n.permissions = n.permissions + ['role:operator']",
        "I9",
        "note",
    ),
    "another purpose": ("MATCH (n {identity: $digest}) SET n.purposes = n.purposes + ['audit']", "I9", "digest"),
    "edge to another tenant": ("MATCH (n {identity: $manual}) SET n.tenantId = 'tenant-b'", "I10", "note"),
    "relation into a shared source": (
        "MATCH (n {identity: $copy}), (m {identity: $manual}) SET m.tenantId = $shared CREATE (n)-[:CONTRADICTS]->(m)",
        "I10",
        "copy",
    ),
    "tombstone under an unknown policy": (
        entombed("bystander", "reasonCode: 'RETENTION_EXPIRED', policyRef: 'field-service@0.0.9'"),
        "I13",
        "bystander",
    ),
    "input without an edge": (
        "MATCH (n {identity: $note})-[:PRODUCED_BY]->(o), (m {identity: $bystander}) CREATE (o)-[:USED]->(m)",
        "ENV-15",
        "bystander",
    ),
    "edge without an input": (
        "MATCH (n {identity: $note})-[:PRODUCED_BY]->(o)-[e:USED]->() DELETE e",
        "ENV-15",
        "note",
    ),
}


@pytest.mark.req("F-12", "TMB-01")
@pytest.mark.parametrize("case", sorted(BROKEN))
def test_what_is_written_past_the_service_is_named(application, ids, case):
    statement, invariant, name = BROKEN[case]
    application.database.administer(statement, shared="shared-sources", **ids)
    assert (invariant, ids[name]) in found(application)


@pytest.mark.req("F-05")
def test_work_that_used_an_unnamed_source_is_named(application, ids):
    application.database.administer(
        "MATCH (n {identity: $digest})-[:PRODUCED_BY]->(o), (m {identity: $copy}) CREATE (o)-[:USED]->(m)", **ids
    )
    assert found(application) == {("ENV-15", ids["copy"])}


def test_an_unknown_owner_in_an_envelope_is_named(application, ids):
    application.database.administer(
        "MATCH (n {identity: $note}) SET n.envelope = replace(n.envelope, 'platform-owner', 'nobody')", **ids
    )
    assert found(application) == {("I13", ids["note"])}


@pytest.mark.parametrize("field", ["recordId", "version", "recordedAt", "contextEligible", "memoryDecision"])
def test_a_field_that_the_service_writes_is_missed(application, ids, field):
    application.database.administer(
        "MATCH (n {identity: $note}) SET n.envelope = replace(n.envelope, $field, 'x')", field=f'"{field}"', **ids
    )
    assert ("I2", ids["note"]) in found(application)


def test_a_source_in_a_shared_scope_may_be_derived_from(application, ids):
    application.database.administer(
        "MATCH (n {identity: $manual}) SET n.tenantId = 'shared-sources',"
        " n.envelope = replace(n.envelope, 'tenant-a', 'shared-sources') REMOVE n.audience",
        **ids,
    )
    assert found(application) == set()


def test_a_missing_constraint_is_named(application, ids):
    application.database.administer("DROP CONSTRAINT identity_unique")
    try:
        named = found(application)
    finally:
        application.database.administer(
            "CREATE CONSTRAINT identity_unique IF NOT EXISTS FOR (n:Identity) REQUIRE n.identity IS UNIQUE"
        )
    assert ("I5", "schema") in named


def test_a_cycle_names_its_members_and_nobody_else(application, ids):
    application.database.administer(
        "MATCH (n {identity: $note}), (m {identity: $manual}) CREATE (m)-[:SUMMARIZED_FROM]->(n)", **ids
    )
    named = {identity for invariant, identity in found(application) if invariant == "I4"}
    assert named == {ids["note"], ids["manual"]}


@pytest.mark.parametrize("batch_rows", [1, 2, 7, 5_000])
def test_the_size_of_a_page_changes_nothing(application, ids, batch_rows):
    application.database.administer("MATCH (n:Record) SET n.kind = 'rumour'")
    assert {identity for invariant, identity in found(application, batch_rows) if invariant == "I1"} == set(
        ids.values()
    )


def test_many_findings_are_counted_in_full_and_listed_up_to_the_limit(application, ids):
    application.database.administer(
        "UNWIND range(1, 250) AS i CREATE (:Identity:Record {identity: 'stray-' + toString(i)})"
    )
    report = check(application.database, application.policy)
    assert report.counts["I1"] == 250
    assert sum(finding.invariant == "I1" for finding in report.findings) == 200


def test_findings_say_what_to_do_and_quote_nothing(application, ids):
    application.database.administer(
        "MATCH (n {identity: $note}) SET n.kind = 'canary-7f3a', n.class = 'canary-7f3a'", **ids
    )
    report = check(application.database, application.policy)
    assert report.findings
    assert all(finding.next_step for finding in report.findings)
    assert "canary-7f3a" not in " ".join(finding.message + finding.next_step for finding in report.findings)


def test_progress_is_told_page_by_page(application, ids):
    told: list[tuple[str, int]] = []
    check(application.database, application.policy, progress=lambda what, done: told.append((what, done)), batch_rows=3)
    assert [done for what, done in told if what == "identities"] == [3, 6, 7]


@pytest.fixture
def finished(application, ids):
    """A finished request over `copy`, written by hand as the service leaves it: a tombstone and a settled outcome."""
    statement = entombed("copy", "reasonCode: 'PRINCIPAL_REQUEST', policyRef: 'field-service@1.0.0'")
    application.database.administer(
        statement + " WITH n MATCH (n)-[e:STORED_IN]->(s:Store) DELETE e CREATE (n)-[:STORED_IN]->(s)", **ids
    )
    application.database.administer(
        "MATCH (n {identity: $copy}) CREATE (q:Request:Deletion {requestId: 'request-1', tenantId: 'tenant-a',"
        " state: 'COMPLETED', policyId: 'field-service@1.0.0', scope: [$copy]})-[:TARGETS]->(n)"
        " CREATE (q)-[:HAS_OUTCOME]->(:Outcome {outcomeId: 'outcome-1', requestId: 'request-1', identity: $copy,"
        " store: 'graph', outcome: 'deleted', state: 'settled'})-[:OUTCOME_FOR]->(n)"
        " CREATE (q)-[:HAS_OUTCOME]->(:Outcome {outcomeId: 'outcome-2', requestId: 'request-1', identity: $copy,"
        " store: 'files', outcome: 'deleted', state: 'settled'})-[:OUTCOME_FOR]->(n)",
        **ids,
    )
    return ids


def test_a_finished_request_has_no_findings(application, finished):
    assert found(application) == set()


UNSETTLED = {
    "target without an outcome": ("MATCH (o:Outcome) DETACH DELETE o", "I8"),
    "outcome without an answer": ("MATCH (o:Outcome {store: 'files'}) REMOVE o.outcome", "I8"),
    "answer that is not one of the five": ("MATCH (o:Outcome {store: 'files'}) SET o.outcome = 'gone'", "I8"),
    "outcome that is still pending": ("MATCH (o:Outcome {store: 'files'}) SET o.state = 'pending'", "I8"),
    "failure that nobody owns": (
        (
            "MATCH (q:Request)-->(o:Outcome {store: 'files'})"
            " SET q.state = 'CLOSED_WITH_OWNED_FAILURES', o.outcome = 'failed', o.state = 'owned'"
        ),
        "I8",
    ),
    "complete with a failure": (
        "MATCH (o:Outcome {store: 'files'}) SET o.outcome = 'failed', o.state = 'owned', o.ownerId = 'platform-owner'",
        "I8",
    ),
    "owner whom the policy does not know": (
        (
            "MATCH (q:Request)-->(o:Outcome {store: 'files'}) SET q.state = 'CLOSED_WITH_OWNED_FAILURES',"
            " o.outcome = 'failed', o.state = 'owned', o.ownerId = 'nobody'"
        ),
        "I13",
    ),
    "request under an unknown policy": ("MATCH (q:Request) SET q.policyId = 'field-service@0.0.9'", "I13"),
}


@pytest.mark.req("F-12")
@pytest.mark.parametrize("case", sorted(UNSETTLED))
def test_a_request_that_ended_too_early_is_named(application, finished, case):
    statement, invariant = UNSETTLED[case]
    application.database.administer(statement)
    assert (invariant, "request-1") in found(application)


@pytest.mark.req("F-12")
def test_a_finished_request_that_passed_over_a_derivative_is_named(application, finished):
    application.database.administer(
        "MATCH (n {identity: $copy}), (m {identity: $digest}) CREATE (m)-[:INFERRED_FROM]->(n)", **finished
    )
    named = found(application)
    assert ("I8", "request-1") in named
    assert ("I7", finished["digest"]) in named


def test_a_locator_stays_while_its_store_is_not_settled(application, finished):
    application.database.administer(
        "MATCH (n {identity: $copy})-[e:STORED_IN]->() SET e.locator = 'copies/1'", **finished
    )
    assert ("I6", finished["copy"]) in found(application)
    application.database.administer(
        "MATCH (q:Request)-->(o:Outcome {store: 'files'}) SET q.state = 'CLOSED_WITH_OWNED_FAILURES',"
        " o.outcome = 'failed', o.state = 'owned', o.ownerId = 'platform-owner'"
        " CREATE (o)-[:EXCEPTED_UNDER]->(:Exception {exceptionId: 'exception-1', requestId: o.requestId, store: o.store,"
        " identity: o.identity, state: 'open', ownerId: 'platform-owner'})"
    )
    assert found(application) == set()


def test_what_an_unfinished_request_has_fenced_is_its_own_business(application, ids):
    statement = entombed("manual", "reasonCode: 'PRINCIPAL_REQUEST', policyRef: 'field-service@1.0.0'")
    application.database.administer(
        "CREATE (:Request:Deletion {requestId: 'request-1', state: 'PROPAGATING', policyId: 'field-service@1.0.0'})"
    )
    application.database.administer(statement, **ids)
    application.database.administer("MATCH (n:Record) WHERE n.kind = 'document' SET n.fence = 'request-1'")
    assert found(application) == set()
    application.database.administer("MATCH (q:Request) SET q.state = 'COMPLETED'")
    assert ("I7", ids["note"]) in found(application)
