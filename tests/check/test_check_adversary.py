"""What somebody who knows the graph could write past the service, and what a crash could leave: each is named."""

from __future__ import annotations

import pytest

from graph.database.checker import SHAPES_MAX, check
from graph.database.checker_lists import PROPERTIES
from graph.database.invariants import NEXT_STEPS, Finding, Invariant
from graph.deletion.model import DeletionInput, HoldInput
from service.workers.worker import Worker
from tests.support.records import derived, record
from tests.tidy.sources import node_properties

LATE = 1_900_000_000_000_000


@pytest.fixture
def ids(application, caller):
    """A finished deletion of `manual` with an emptied, a held and two stored derivatives, and records that it left alone."""
    inputs = [
        record("manual"),
        record("other"),
        derived("both", "manual", "other"),
        derived("held", "manual"),
        derived("copy", "manual", edge="CACHED_FROM", stores=[{"storeId": "files", "locator": "copies/1"}]),
        derived("vector", "manual", edge="EMBEDDED_FROM", stores=[{"storeId": "vector_index", "locator": "v1"}]),
        record("plain"),
        derived("note", "plain"),
        record("kept", stores=[{"storeId": "files", "locator": "copies/2"}]),
    ]
    results = application.registrar.register(inputs, caller)
    made = {
        name: result.identity
        for name, result in zip(
            ["manual", "other", "both", "held", "copy", "vector", "plain", "note", "kept"], results, strict=True
        )
    }
    newer = application.registrar.register([record("plain-2", supersedes=made["plain"])], caller)[0]
    made["newer"] = newer.identity
    hold = HoldInput.model_validate(
        {
            "recordIds": [made["held"]],
            "exceptionType": "legal_hold",
            "authority": "court order 17",
            "policyRef": application.policy.policy_id,
            "contact": "legal desk",
            "reviewAt": "2026-05-01T00:00:00Z",
        }
    )
    made["hold"] = application.holds.place(hold, caller, "h1").hold_id
    request = DeletionInput.model_validate({"subject": {"recordIds": [made["manual"]]}})
    made["request"] = application.deletions.file(request, caller, "k1").request_id
    worker = Worker(application, "adversary-test")
    for _ in range(20):
        worker.run_once()
        application.clock.advance(600)
    for name in ("manual", "both", "held", "copy", "vector"):
        for row in application.database.administer(
            "MATCH (o:Outcome {identity: $identity}) RETURN o.store AS store, o.outcomeId AS id", identity=made[name]
        ):
            made[f"{name}_{row.text('store')}"] = row.text("id")
    return made


def found(application, **options):
    report = check(application.database, application.policy, batch_rows=3, **options)
    return {(finding.invariant.value, finding.identity, finding.message) for finding in report.findings}


def test_the_graph_that_is_broken_below_is_clean(application, ids):
    assert found(application, now=application.clock.now()) == set()


# Statement, invariant, whose identity is named, and words of the message.
WRITTEN = {
    "a second class as a label": ("MATCH (n:Identity {identity: $note}) SET n:Store", "I3", "note", "labels"),
    "content beside a record": (
        "MATCH (n:Identity {identity: $note}) SET n.summary = 'told'",
        "I3",
        "note",
        "property",
    ),
    "content on work": (
        "MATCH (n:Identity {identity: $note})-[:PRODUCED_BY]->(w) SET w.prompt = 'told'",
        "I3",
        None,
        "a property that is not registered",
    ),
    "content on an outcome": ("MATCH (o {outcomeId: $both_graph}) SET o.copy = 'told'", "I3", "both_graph", "property"),
    "content on an edge": (
        "MATCH (n:Identity {identity: $note})-[e:SUMMARIZED_FROM]->() SET e.quote = 'told'",
        "I3",
        "note",
        "edges have a property",
    ),
    "content in a place": (
        "MATCH (n:Identity {identity: $kept})-[e:STORED_IN]->() SET e.quote = 'told'",
        "I3",
        "kept",
        "edges have a property",
    ),
    "content of an emptied record": (
        "MATCH (n:Identity {identity: $both}) SET n.content = '1'",
        "I6",
        "both",
        "still has content",
    ),
    "whose an emptied record was": (
        "MATCH (n:Identity {identity: $both}) SET n.principalKey = 'k'",
        "I6",
        "both",
        "or a name",
    ),
    "the name of an emptied record": (
        'MATCH (n:Identity {identity: $both}) SET n.envelope = replace(n.envelope, "{", "{\\"name\\":\\"both\\",")',
        "I6",
        "both",
        "or a name",
    ),
    "a place that a settled copy has left": (
        "MATCH (n:Identity {identity: $copy})-[e:STORED_IN]->() SET e.locator = 'copies/1', e.storeId = 'files'",
        "I6",
        "copy_files",
        "still written down",
    ),
    "a wider audience than was stated": (
        "MATCH (n:Identity {identity: $kept}) SET n.permissions = n.permissions + ['role:operator']",
        "I2",
        "kept",
        "another permissions",
    ),
    "another purpose than was stated": (
        "MATCH (n:Identity {identity: $kept}) SET n.purposes = ['audit']",
        "I2",
        "kept",
        "purpose",
    ),
    "a later expiry than was stated": (
        "MATCH (n:Identity {identity: $kept}) SET n.expiresAt = 1",
        "I2",
        "kept",
        "expiresAt",
    ),
    "another observation time": (
        "MATCH (n:Identity {identity: $kept}) SET n.observedAt = 1",
        "I2",
        "kept",
        "observedAt",
    ),
    "superseded by nothing": (
        "MATCH (n:Identity {identity: $note}) SET n.state = 'superseded'",
        "I4",
        "note",
        "there is none",
    ),
    "two current versions": (
        "MATCH (n:Identity {identity: $plain}) SET n.state = 'active'",
        "I4",
        "plain",
        "beside the newer",
    ),
    "a deleted record that lives again": (
        (
            "MATCH (n:Identity {identity: $manual}), (m:Identity {identity: $other}) REMOVE n:Tombstone SET n:Record"
            " SET n = m {.*, identity: $manual, envelope: replace(m.envelope, $other, $manual)}"
        ),
        "I8",
        "manual_graph",
        "not what the outcome",
    ),
    "an emptied record that serves": (
        "MATCH (n:Identity {identity: $both}) SET n.state = 'active'",
        "I8",
        "both_graph",
        "not what",
    ),
    "a kept record that serves": (
        "MATCH (n:Identity {identity: $held}) SET n.state = 'active'",
        "I8",
        "held_graph",
        "not what",
    ),
    "an outcome about nothing": (
        "MATCH (o {outcomeId: $copy_files})-[e:OUTCOME_FOR]->() DELETE e",
        "I17",
        "copy_files",
        "about nothing",
    ),
    "an outcome about another record": (
        (
            "MATCH (o {outcomeId: $copy_files})-[e:OUTCOME_FOR]->(), (n:Identity {identity: $kept}) DELETE e"
            " CREATE (o)-[:OUTCOME_FOR]->(n)"
        ),
        "I17",
        "copy_files",
        "another record than it names",
    ),
    "an outcome of no request": (
        "MATCH (o {outcomeId: $copy_files})<-[e:HAS_OUTCOME]-() DELETE e",
        "I17",
        "copy_files",
        "belongs to no request",
    ),
    "two outcomes for one key": (
        (
            "MATCH (q)-[:HAS_OUTCOME]->(o {outcomeId: $copy_files})-[:OUTCOME_FOR]->(n)"
            " CREATE (q)-[:HAS_OUTCOME]->(:Outcome {outcomeId: 'twin', requestId: o.requestId, identity: o.identity,"
            " store: o.store, outcome: 'not_found', state: 'settled'})-[:OUTCOME_FOR]->(n)"
        ),
        "I17",
        "copy_files",
        "two outcomes",
    ),
    "an open exception of what is settled": (
        (
            "MATCH (o {outcomeId: $copy_files})"
            " CREATE (o)-[:EXCEPTED_UNDER]->(:Exception {exceptionId: 'x', state: 'open',"
            " requestId: o.requestId, identity: o.identity, store: o.store, ownerId: 'platform-owner'})"
        ),
        "I17",
        "copy_files",
        "its entry in the exception ledger is open",
    ),
    "a failure that was taken out of the ledger": (
        "MATCH (:Outcome {outcomeId: $vector_vector_index})-[:EXCEPTED_UNDER]->(x) DETACH DELETE x",
        "I17",
        "vector_vector_index",
        "no open entry",
    ),
    "a kept record whose entry was ended": (
        "MATCH (:Outcome {outcomeId: $held_graph})-[:EXCEPTED_UNDER]->(x) SET x.state = 'ended'",
        "I17",
        "held_graph",
        "no open entry",
    ),
    "an entry of no outcome": (
        "CREATE (:Exception {exceptionId: $hold, state: 'open', ownerId: 'legal-owner'})",
        "I17",
        "hold",
        "belongs to no outcome",
    ),
    "an entry of another outcome": (
        "MATCH (:Outcome {outcomeId: $held_graph})-[:EXCEPTED_UNDER]->(x) SET x.exceptionId = $hold, x.identity = $kept",
        "I17",
        "hold",
        "something else than its outcome",
    ),
    "an exception whose owner is gone": (
        "MATCH (:Outcome {outcomeId: $held_graph})-[:EXCEPTED_UNDER]->(x) SET x.exceptionId = $hold, x.ownerId = 'nobody'",
        "I13",
        "hold",
        "owner of an open exception",
    ),
    "a copy that no worker will attempt": (
        "MATCH (o {outcomeId: $copy_files}) SET o.state = 'pending', o.outcome = null",
        "I17",
        "copy_files",
        "no worker",
    ),
    "a copy that waits where nobody works": (
        "MATCH (o {outcomeId: $vector_vector_index}) SET o.state = 'pending', o.nextAttemptAt = 1, o.shard = 0",
        "I17",
        "vector_vector_index",
        "no worker",
    ),
    "a settled copy that is due": (
        "MATCH (o {outcomeId: $copy_files}) SET o.nextAttemptAt = 1",
        "I17",
        "copy_files",
        "due",
    ),
    "a hold without records": ("MATCH ()-[e:HELD_UNDER]->() DELETE e", "I17", "hold", "holds no record"),
    "a hold of a type that nobody declared": (
        "MATCH (h:Hold) SET h.exceptionType = 'because'",
        "I13",
        "hold",
        "exception type",
    ),
    "a hold that nobody owns": ("MATCH (h:Hold) SET h.ownerId = 'nobody'", "I13", "hold", "owner"),
    "a hold under a policy that is not there": (
        "MATCH (h:Hold) SET h.policyRef = 'case-12'",
        "I13",
        "hold",
        "leads nowhere",
    ),
    "a hold of another tenant": ("MATCH (h:Hold) SET h.tenantId = 'tenant-b'", "I10", "hold", "another tenant's"),
    "a deletion in spite of a hold": (
        "MATCH (n:Identity {identity: $manual}), (h:Hold) CREATE (n)-[:HELD_UNDER]->(h)",
        "I17",
        "hold",
        "deleted all the same",
    ),
    "a request for another tenant's record": (
        "MATCH (q:Request), (n:Identity {identity: $kept}) SET n.tenantId = 'tenant-b' CREATE (q)-[:TARGETS]->(n)",
        "I10",
        "request",
        "another tenant's record",
    ),
    "a request that lost a target": ("MATCH (:Request)-[e:TARGETS]->() DELETE e", "I8", "request", "other records"),
    "a request that waits for nothing": ("MATCH (q:Request) SET q.waiting = true", "I8", "request", "waits"),
    "a request that left a derivative unfenced": (
        "MATCH (q:Request), (n:Identity {identity: $both}) SET q.state = 'PROPAGATING' REMOVE n.fence",
        "I8",
        "request",
        "left 1 derivatives without a fence",
    ),
    "a request that passed over a derivative": (
        "MATCH (q:Request) SET q.state = 'PROPAGATING' WITH q MATCH (o {outcomeId: $both_graph}) DETACH DELETE o",
        "I8",
        "request",
        "left 1 derivatives without an outcome",
    ),
    "a fence of a request that is not there": (
        "MATCH (n:Identity {identity: $kept}) SET n.fence = 'gone'",
        "I15",
        "kept",
        "fenced",
    ),
    "a fence of a request that ended": (
        "MATCH (n:Identity {identity: $kept}) SET n.fence = $request",
        "I15",
        "kept",
        "fenced",
    ),
    "work that made nothing": (
        "CREATE (:Operation {operationId: $hold, type: 'model_call', at: 1})",
        "I17",
        "hold",
        "made nothing",
    ),
    "work that used what was deleted": (
        "MATCH (w:Operation)-[:USED]->(:Tombstone {identity: $manual}) SET w.at = $late",
        "I18",
        None,
        "used a source after its deletion",
    ),
    "an attempt at nothing": ("CREATE (:Attempt {attemptId: $hold})", "I17", "hold", "no outcome"),
    "a key that leads nowhere": (
        "MATCH (k:IdempotencyKey {key: 'k1'}) SET k.result = 'gone'",
        "I17",
        None,
        "idempotency keys",
    ),
    "copies in a store that the policy does not know": (
        "MATCH (n:Identity {identity: $kept})-[:STORED_IN]->(s) SET s.storeId = $hold",
        "I13",
        "hold",
        "store that the policy does not know",
    ),
}


@pytest.mark.req("F-12")
@pytest.mark.parametrize("case", sorted(WRITTEN))
def test_what_an_adversary_writes_is_named(application, ids, case):
    statement, invariant, name, words = WRITTEN[case]
    application.database.administer(statement, late=LATE, **ids)
    named = found(application)
    assert any(
        one == invariant and words in message and (name is None or identity == ids[name])
        for one, identity, message in named
    ), named


@pytest.mark.req("F-12")
def test_a_lease_that_ran_out_is_named_once_it_has(application, ids):
    application.database.administer(
        "MERGE (w:WorkShard {storeId: 'files', shard: 0}) SET w.holder = 'gone', w.until = 100, w.epoch = 7"
    )
    assert found(application, now=99) == set()
    assert found(application, now=100) == {("I16", "files/0", "a lease ran out and was not given back")}
    assert found(application) == set()


def test_work_that_used_a_source_up_to_its_deletion_is_fine(application, ids):
    application.database.administer(
        "MATCH (w:Operation)-[:USED]->(t:Tombstone {identity: $manual}) SET w.at = t.deletedAt", **ids
    )
    assert found(application) == set()


def test_a_successor_that_was_deleted_does_not_fork(application, ids):
    """A version whose successor is a tombstone may get another one."""
    application.database.administer(
        "MATCH (n:Identity {identity: $plain}), (m:Identity {identity: $manual}) CREATE (m)-[:SUPERSEDES]->(n)", **ids
    )
    assert "I4" not in {invariant for invariant, _, _ in found(application)}


def test_a_key_is_never_quoted(application, ids):
    application.database.administer(
        "MATCH (k:IdempotencyKey) SET k.key = 'canary-key-' + k.key, k.result = 'canary-gone'"
    )
    report = check(application.database, application.policy)
    assert report.counts == {"I17": 2}
    assert "canary" not in str(report.findings)


def test_a_missing_index_is_named(application, ids):
    application.database.administer("DROP INDEX hold_tenant")
    try:
        named = found(application)
    finally:
        application.database.administer("CREATE INDEX hold_tenant IF NOT EXISTS FOR (n:Hold) ON (n.tenantId, n.state)")
    assert named == {("I17", "021_hold_tenant", "an index or constraint of the schema is missing")}


def test_many_nodes_that_are_alike_do_not_use_up_the_list(application, ids):
    """One finding stands for them all; the next of the same invariant is still listed."""
    application.database.administer("UNWIND range(1, 300) AS i CREATE (:Rumour {told: i})")
    application.database.administer("MATCH (n:Identity {identity: $note}) SET n:Store", **ids)
    report = check(application.database, application.policy)
    assert {(finding.identity == ids["note"]) for finding in report.findings if finding.invariant == "I3"} == {
        True,
        False,
    }
    assert (report.counts["I3"], report.unlisted) == (301, {})


def test_findings_beyond_the_list_are_counted_exactly(application, ids):
    application.database.administer(
        "MATCH (q:Request) UNWIND range(1, 205) AS i CREATE (:Exception {exceptionId: 'x' + i, state: 'ended'})"
    )
    report = check(application.database, application.policy, batch_rows=50)
    assert len(report.findings) == 200
    assert (report.counts, report.unlisted) == ({"I17": 205}, {"I17": 5})


def test_more_shapes_than_are_looked_at_are_named(application, ids, monkeypatch):
    assert SHAPES_MAX == 10_000
    monkeypatch.setattr("graph.database.checker.SHAPES_MAX", 2)
    (named,) = [one for one in found(application) if one[1] == "schema"]
    assert named == (
        "I3",
        "schema",
        "nodes have more than 2 sets of properties, and the most frequent were not looked at",
    )


def test_an_extra_check_takes_part(application, ids):
    """The seam for what this room does not know of, such as a journal outside of the database."""
    behind = Finding(Invariant.JOURNAL_AT_HEAD, "journal", "the graph is behind its journal")
    report = check(application.database, application.policy, extra=[lambda: [behind], list])
    assert report.findings == (behind,)
    assert report.counts == {"I11": 1}
    assert "start the service" in behind.next_step


def test_every_invariant_has_a_next_step():
    assert set(NEXT_STEPS) == set(Invariant)


def test_the_properties_that_are_registered_are_those_of_the_readme():
    """Bring the table under Nodes in graph/README.md and `PROPERTIES` up to date together."""
    stated = node_properties()
    apart = {label: names for label, names in stated.items() if label not in {"Identity", "Deletion"}}
    registered = {max(labels - {"Identity", "Deletion"}): set(names) for labels, names in PROPERTIES.items()}
    assert registered == apart
