"""What the service's own deletions leave behind has no findings, at every step of their way."""

from __future__ import annotations

import pytest

from graph.database.checker import check
from graph.deletion.model import DeletionInput, HoldInput
from service.workers.worker import Worker
from tests.support.records import derived, record
from tests.tidy.sources import node_properties


@pytest.fixture
def ids(application, caller):
    """A tree with a second parent, a stored copy, a copy where nothing deletes, an approval, and two versions."""
    inputs = [
        record("manual"),
        record("other"),
        derived("note", "manual"),
        derived("digest", "note"),
        derived("both", "manual", "other"),
        derived("copy", "note", edge="CACHED_FROM", stores=[{"storeId": "files", "locator": "copies/1"}]),
        derived("vector", "digest", edge="EMBEDDED_FROM", stores=[{"storeId": "vector_index", "locator": "v1"}]),
        derived("held", "manual"),
        derived("unclear", "manual", trust=None),
    ]
    results = application.registrar.register(inputs, caller)
    assert [result.status.value for result in results] == ["created"] * 8 + ["quarantined"]
    names = ["manual", "other", "note", "digest", "both", "copy", "vector", "held", "unclear"]
    return {name: result.identity for name, result in zip(names, results, strict=True)}


def findings(application):
    report = check(application.database, application.policy, batch_rows=3)
    return [(finding.invariant.value, finding.identity, finding.message) for finding in report.findings]


def file(application, caller, identity, key):
    request = DeletionInput.model_validate({"subject": {"recordIds": [identity]}})
    return application.deletions.file(request, caller, key).request_id


def run_to_the_end(application, request_id):
    worker = Worker(application, "check-test")
    for _ in range(20):
        worker.run_once()
        application.clock.advance(600)
    return application.database.read("get_request", requestId=request_id)[0].mapping("request")["state"]


def test_a_deletion_leaves_a_clean_graph_at_every_step(application, caller, ids):
    request_id = file(application, caller, ids["manual"], "k1")
    assert findings(application) == []
    application.deletions.advance(request_id)
    assert findings(application) == []
    assert run_to_the_end(application, request_id) == "CLOSED_WITH_OWNED_FAILURES"
    assert findings(application) == []


def test_a_second_deletion_over_the_first_leaves_a_clean_graph(application, caller, ids):
    run_to_the_end(application, file(application, caller, ids["note"], "k1"))
    request_id = file(application, caller, ids["manual"], "k2")
    run_to_the_end(application, request_id)
    assert findings(application) == []
    run_to_the_end(application, file(application, caller, ids["other"], "k3"))
    assert findings(application) == []


def test_a_held_derivative_leaves_a_clean_graph_before_and_after_its_release(application, caller, ids):
    hold = application.holds.place(
        HoldInput.model_validate(
            {
                "recordIds": [ids["held"]],
                "exceptionType": "legal_hold",
                "authority": "court order 17",
                "policyRef": "exceptions/legal_hold",
                "contact": "legal desk",
                "reviewAt": "2026-05-31T00:00:00Z",
            }
        ),
        caller,
        "h1",
    )
    request_id = file(application, caller, ids["manual"], "k1")
    run_to_the_end(application, request_id)
    assert findings(application) == []
    application.holds.release(hold.hold_id, caller)
    assert findings(application) == []
    run_to_the_end(application, request_id)
    assert findings(application) == []


def test_a_content_that_came_back_by_hand_is_named(application, caller, ids):
    run_to_the_end(application, file(application, caller, ids["manual"], "k1"))
    application.database.administer("MATCH (n:Tombstone {identity: $manual}) SET n.content = 'from an old dump'", **ids)
    assert findings(application) == [
        ("I6", ids["manual"], "a tombstone has 1 properties besides its four"),
    ]


def test_an_outcome_that_was_lost_is_named(application, caller, ids):
    request_id = file(application, caller, ids["manual"], "k1")
    run_to_the_end(application, request_id)
    application.database.administer("MATCH (o:Outcome {identity: $both}) DETACH DELETE o", **ids)
    assert {finding[:2] for finding in findings(application)} == {
        ("I7", ids["both"]),
        ("I8", request_id),
        ("I15", ids["both"]),
    }


def test_labels_and_properties_in_the_graph_are_those_of_the_readme(application, caller, ids):
    run_to_the_end(application, file(application, caller, ids["manual"], "k1"))
    rows = application.database.administer(
        "MATCH (n) UNWIND labels(n) AS label UNWIND keys(n) AS name RETURN label, collect(DISTINCT name) AS names"
    )
    stated = node_properties()
    # A request carries its own label and one that says what it asks for; the table describes them together.
    together = {"Identity": stated["Record"] | stated["Tombstone"], "Deletion": stated["Request"]}
    for row in rows:
        label = row.text("label")
        strange = set(row.texts("names")) - together.get(label, stated[label])
        assert not strange, f"bring the row of {label} under Nodes in graph/README.md up to date: {strange}"
