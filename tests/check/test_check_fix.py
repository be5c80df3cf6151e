"""`sequela check --fix`: broken by hand, named, mended, clean; and what is not safe to mend stays as it is, bit for bit."""

from __future__ import annotations

import pytest

from graph.database.checker import check
from graph.database.repairs import FENCE_ROUNDS_MAX, Repair, repair
from graph.deletion.model import DeletionInput
from service.workers.worker import Worker
from tests.support.records import derived, record


@pytest.fixture
def ids(application, caller):
    """A finished deletion of `gone` with an emptied derivative, and a chain of records that it left alone."""
    inputs = [
        record("gone"),
        record("other"),
        derived("emptied", "gone", "other"),
        record("a"),
        derived("b", "a"),
        derived("c", "b"),
    ]
    results = application.registrar.register(inputs, caller)
    names = ["gone", "other", "emptied", "a", "b", "c"]
    made = {name: result.identity for name, result in zip(names, results, strict=True)}
    request = DeletionInput.model_validate({"subject": {"recordIds": [made["gone"]]}})
    made["request"] = application.deletions.file(request, caller, "k1").request_id
    run(application)
    return made


def run(application):
    worker = Worker(application, "fix-test")
    for _ in range(10):
        worker.run_once()
        application.clock.advance(600)


def named(application):
    report = check(application.database, application.policy, now=application.clock.now(), batch_rows=2)
    return {(finding.invariant.value, finding.identity) for finding in report.findings}


def mended(application):
    return repair(application.database, application.policy, now=application.clock.now(), batch_rows=2)


def everything(application):
    """Every node with its labels and properties, and every edge with both ends and its properties, as text."""
    nodes = application.database.administer(
        "MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS all"
    )
    edges = application.database.administer(
        "MATCH (n)-[e]->(m) RETURN elementId(n) AS start, type(e) AS type, elementId(m) AS end, properties(e) AS all"
    )
    listed = [
        repr((row.text("id"), sorted(row.texts("labels")), sorted(row.mapping("all").items(), key=str)))
        for row in nodes
    ] + [
        repr((row.text("start"), row.text("type"), row.text("end"), sorted(row.mapping("all").items(), key=str)))
        for row in edges
    ]
    return sorted(listed)


def test_a_clean_graph_is_left_as_it_is(application, ids):
    before = everything(application)
    assert mended(application) == ()
    assert everything(application) == before


def test_a_lease_that_ran_out_is_given_back(application, ids):
    application.database.administer(
        "MERGE (w:WorkShard {storeId: 'files', shard: 3}) SET w.holder = 'killed', w.until = $now, w.epoch = 7",
        now=application.clock.now(),
    )
    assert named(application) == {("I16", "files/3")}
    assert mended(application) == (Repair("leases given back", 1, ("files/3",)),)
    assert named(application) == set()
    assert mended(application) == ()
    # The epoch stays: an answer of the old holder is judged as before, and the next holder gets a higher one.
    assert application.work.claim("files", 3, "next").epoch == 8


def test_a_lease_that_still_runs_is_left_alone(application, ids):
    application.database.administer(
        "MERGE (w:WorkShard {storeId: 'files', shard: 3}) SET w.holder = 'busy', w.until = $later, w.epoch = 7",
        later=application.clock.now() + 1,
    )
    before = everything(application)
    assert mended(application) == ()
    assert everything(application) == before


def test_a_request_that_waits_for_nothing_is_concluded(application, caller, ids):
    request = DeletionInput.model_validate({"subject": {"recordIds": [ids["a"]]}})
    request_id = application.deletions.file(request, caller, "k2").request_id
    application.deletions.advance(request_id)
    application.database.administer(
        "MATCH (q:Request {requestId: $id}) SET q.state = 'RETRYING', q.waiting = true, q.finishedAt = null",
        id=request_id,
    )
    assert named(application) == {("I8", request_id)}
    run(application)
    assert named(application) == {("I8", request_id)}, "no worker takes it up by itself"
    assert mended(application) == (Repair("requests handed to the workers again", 1, (request_id,)),)
    run(application)
    assert application.deletions.ledger.load(request_id).state == "COMPLETED"
    assert named(application) == set()
    assert mended(application) == ()


def test_a_request_that_waits_for_a_store_is_left_alone(application, caller, ids):
    copy = application.registrar.register([record("d", stores=[{"storeId": "files", "locator": "copies/9"}])], caller)[
        0
    ]
    request = DeletionInput.model_validate({"subject": {"recordIds": [copy.identity]}})
    application.deletions.advance(application.deletions.file(request, caller, "k2").request_id)
    assert [
        row.truth("w") for row in application.database.administer("MATCH (q:Request {waiting: true}) RETURN true AS w")
    ]
    before = everything(application)
    assert mended(application) == ()
    assert everything(application) == before


def test_fences_of_no_deletion_are_lifted_along_a_chain(application, caller, ids):
    """Each is safe to lift once the one that it hangs on is; those that come first by identity may have to wait."""
    application.database.administer("MATCH (n:Record) WHERE n.identity IN [$a, $b, $c] SET n.fence = $request", **ids)
    fenced = {ids["a"], ids["b"], ids["c"]}
    assert named(application) == {("I15", identity) for identity in fenced}
    assert mended(application) == (Repair("fences lifted", 3, tuple(sorted(fenced))),)
    assert named(application) == set()
    assert mended(application) == ()
    assert application.registrar.register([derived("d", "c")], caller)[0].status == "created"


def test_a_chain_longer_than_one_call_mends_is_mended_by_the_next(application, ids, monkeypatch):
    assert FENCE_ROUNDS_MAX == 50
    monkeypatch.setattr("graph.database.repairs.FENCE_ROUNDS_MAX", 1)
    application.database.administer("MATCH (n:Record) WHERE n.identity IN [$a, $b, $c] SET n.fence = $request", **ids)
    calls = 0
    while mended(application):
        calls += 1
    assert 1 <= calls <= 3
    assert named(application) == set()


# What looks like a stray fence and is not provably one: nothing of it may change.
UNSAFE = {
    "the request of the fence is not there": "MATCH (n {identity: $c}) SET n.fence = 'gone'",
    "the request asked for the record": (
        "MATCH (n:Identity {identity: $a}), (q:Request) SET n.fence = $request, q.scope = q.scope + [$a]"
        " CREATE (q)-[:TARGETS]->(n)"
    ),
    "the scope names the record": (
        "MATCH (n:Identity {identity: $a}), (q:Request) SET n.fence = $request, q.scope = q.scope + [$a]"
    ),
    "the request is at work": (
        "MATCH (n:Identity {identity: $a}), (q:Request) SET n.fence = $request, q.state = 'PROPAGATING', q.waiting = true"
    ),
    "another request is at work": (
        "MATCH (n:Identity {identity: $a}) SET n.fence = $request CREATE (:Request:Deletion {requestId: 'r2', scope: [],"
        " state: 'RECEIVED', policyId: 'field-service@1.0.0', tenantId: 'tenant-a'})"
    ),
    "it hangs on something emptied": (
        "MATCH (n:Identity {identity: $a}), (m:Identity {identity: $emptied}) SET n.fence = $request"
        " CREATE (n)-[:SUMMARIZED_FROM]->(m)"
    ),
    "it hangs on a tombstone": (
        "MATCH (n:Identity {identity: $a}), (m:Identity {identity: $gone}) SET n.fence = $request"
        " CREATE (n)-[:SUMMARIZED_FROM]->(m)"
    ),
    "it is a newer version of a tombstone": (
        "MATCH (n:Identity {identity: $a}), (m:Identity {identity: $gone}) SET n.fence = $request"
        " CREATE (n)-[:SUPERSEDES]->(m)"
    ),
    "it hangs on something that is fenced": (
        "MATCH (n:Identity {identity: $b}), (m:Identity {identity: $a}) SET n.fence = $request, m.fence = 'gone'"
    ),
    "its content is gone": (
        "MATCH (n:Identity {identity: $a}) SET n.fence = $request, n.state = 'invalidated' REMOVE n.content"
    ),
    "it was kept": "MATCH (n:Identity {identity: $a}) SET n.fence = $request, n.state = 'retained'",
}


@pytest.mark.parametrize("case", sorted(UNSAFE))
def test_a_fence_that_may_mean_a_deletion_is_named_and_left(application, ids, case):
    application.database.administer(UNSAFE[case], **ids)
    before = everything(application)
    repairs = mended(application)
    assert "fences lifted" not in {one.what for one in repairs}
    if case != "the request is at work":
        assert everything(application) == before
        assert named(application) != set() or case == "another request is at work"


def test_nothing_else_is_mended(application, ids):
    """Everything that an adversary may have written stays for whoever has to find out who it was."""
    application.database.administer(
        "MATCH (n:Identity {identity: $a}) SET n.kind = 'rumour', n.note = 'told'"
        " WITH n MATCH (t:Tombstone) SET t.content = 'back'"
        " WITH n, t MATCH (o:Outcome {identity: $emptied})-[e:OUTCOME_FOR]->() DELETE e"
        " CREATE (n)-[:SUMMARIZED_FROM]->(n)",
        **ids,
    )
    before, broken = everything(application), named(application)
    assert {invariant for invariant, _ in broken} >= {"I1", "I3", "I4", "I6", "I17"}
    assert mended(application) == ()
    assert everything(application) == before
    assert named(application) == broken


def test_progress_is_told_page_by_page(application, ids):
    application.database.administer("MATCH (n:Identity {identity: $c}) SET n.fence = $request", **ids)
    told: list[tuple[str, int]] = []
    repair(
        application.database,
        application.policy,
        now=application.clock.now(),
        progress=lambda what, count: told.append((what, count)),
        batch_rows=4,
    )
    assert ("fences", 1) in told
