"""A value outside its list: refused or held back on write, named by the checker where it stands in the graph; each value
inside a list comes about."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from graph.database.checker import check
from graph.envelope import RecordInput
from graph.errors import InvalidInput, PolicyInvalid
from graph.policy.loader import default_policy_folder, load_policy
from graph.records.read import RecordView, read_record
from graph.vocabulary import DERIVATION_EDGES, MemoryPolicyDimension
from tests.support.deletion import answering, by_ids, delete, faulty, fresh_key, hold, outcome_table, register, work
from tests.support.records import derived, record, stated

# Field, a value outside its list, and the code of the quarantine.
OUTSIDE = [
    ("class", "opinion", "MISSING_CLASS"),
    ("derivationType", "guessed", "ENVELOPE_INCOMPLETE"),
    ("trust", "very", "MISSING_TRUST_LABEL"),
    ("reviewState", "glanced", "ENVELOPE_INCOMPLETE"),
]
DOUBT = {"derivationType": '"asserted"', "trust": '"untrusted_text"', "reviewState": '"unreviewed"'}


def findings(application):
    return {(one.invariant.value, one.identity) for one in check(application.database, application.policy).findings}


@pytest.mark.req("VOC-01", "VOC-10")
@pytest.mark.parametrize(("field", "value", "code"), OUTSIDE)
def test_a_value_outside_its_list_is_held_back(application, caller, field, value, code):
    (result,) = application.registrar.register([record("r", **{field: value})], caller)
    assert (result.status, result.code) == ("quarantined", code)
    assert {"code": code, "field": field} in result.details["quarantineReasons"]
    # What is in quarantine keeps what was stated, and that is no fault of the graph.
    assert findings(application) == set()


@pytest.mark.req("VOC-10")
@pytest.mark.parametrize("field", sorted(DOUBT))
def test_a_value_outside_its_list_is_found_in_the_graph_and_serves_nobody(application, caller, field):
    (identity,) = register(application, caller, record("r"))
    application.database.administer(
        "MATCH (n:Identity {identity: $id}) SET n.envelope = replace(n.envelope, $field + $old, $field + '\"rumoured\"')",
        id=identity,
        field=f'"{field}":',
        old=DOUBT[field],
    )
    assert findings(application) == {("I2", identity)}
    view = read_record(application.database, caller, identity)
    assert isinstance(view, RecordView)
    assert (view.eligible, view.ineligible_because) == (False, (f"ENVELOPE_INCOMPLETE:{field}",))


@pytest.mark.req("VOC-10")
def test_each_derivation_type_comes_about(application, caller):
    how = ("observed", "asserted", "computed", "model_derived")
    register(application, caller, record("root"))
    made = [
        derived("computed", "root"),
        derived("model_derived", "root", derivationType="model_derived"),
        record("observed", derivationType="observed"),
        record("asserted"),
    ]
    found = [read_record(application.database, caller, one) for one in register(application, caller, *made)]
    assert sorted(str(view.envelope["derivationType"]) for view in found if isinstance(view, RecordView)) == sorted(how)


def test_an_edge_outside_the_registry_is_refused_and_found(application, caller):
    with pytest.raises(InvalidInput) as refused:
        RecordInput.model_validate(stated("r", sources=[{"name": "root", "edge": "STOLEN_FROM"}]))
    assert refused.value.code == "UNKNOWN_EDGE_TYPE"
    one, other = register(application, caller, record("one"), record("other"))
    application.database.administer(
        "MATCH (n {identity: $one}), (m {identity: $other}) CREATE (n)-[:STOLEN_FROM]->(m)", one=one, other=other
    )
    assert ("I3", one) in findings(application)


def test_each_derivation_edge_comes_about(application, caller):
    register(application, caller, record("root"))
    register(application, caller, *(derived(edge, "root", edge=edge) for edge in DERIVATION_EDGES))
    rows = application.database.administer("MATCH (:Record)-[e]->(:Record) RETURN DISTINCT type(e) AS edge")
    assert {row.text("edge") for row in rows} == set(DERIVATION_EDGES)
    assert findings(application) == set()


@pytest.mark.req("VOC-05")
def test_each_of_the_five_outcomes_comes_about_and_a_sixth_is_found(application, caller):
    def kept(store: str, locator: str) -> dict[str, Any]:
        return {"stores": [{"storeId": store, "locator": locator}]}

    root, _, supported, held, gone, unreachable = register(
        application,
        caller,
        record("root"),
        record("other"),
        derived("supported", "root", "other"),
        derived("held", "root"),
        derived("gone", "root", **kept("files", "never-written.bin")),
        derived("unreachable", "root", **kept("vector_index", "v-1")),
    )
    hold(application, caller, held)
    view = delete(application, caller, root)
    work(application)
    assert outcome_table(application, caller, view.request_id) == {
        (root, "graph"): "deleted",
        (supported, "graph"): "invalidated",
        (held, "graph"): "retained_under_exception",
        (gone, "graph"): "deleted",
        (gone, "files"): "not_found",
        (unreachable, "graph"): "deleted",
        (unreachable, "vector_index"): "failed",
    }
    assert findings(application) == set()
    application.database.administer(
        "MATCH (o:Outcome {identity: $id, store: 'files'}) SET o.outcome = 'vanished'", id=gone
    )
    assert findings(application) == {("I8", view.request_id)}


@pytest.mark.req("VOC-05")
def test_an_outcome_of_a_stores_own_making_is_not_written(application, caller):
    (root,) = register(application, caller, record("root", stores=[{"storeId": "files", "locator": "a.bin"}]))
    lying, _ = faulty(application, answering("vanished"))
    filed = lying.deletions.file(by_ids(root), caller, fresh_key())
    lying.deletions.advance(filed.request_id)
    work(lying)
    written = application.database.administer("MATCH (o:Outcome) RETURN DISTINCT o.outcome AS outcome")
    assert {row.text_or_none("outcome") for row in written} == {"deleted", "failed"}


@pytest.mark.req("VOC-13")
def test_each_class_is_treated_in_the_seven_dimensions_and_in_no_eighth(policy, tmp_path):
    dimensions = {"trust", "provenance", "permission", "freshness", "conflict", "retention", "deletion"}
    assert set(MemoryPolicyDimension) == dimensions
    classes = ("workflow_state", "context", "scratch", "artifact", "preference", "memory")
    assert {name.value: set(row.treatment) for name, row in policy.classes.items()} == dict.fromkeys(
        classes, dimensions
    )
    folder = tmp_path / "policy"
    shutil.copytree(default_policy_folder(), folder)
    file = folder / "classes.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("  treatment:\n", "  treatment:\n    colour: Blue.\n", 1), encoding="utf-8")
    with pytest.raises(PolicyInvalid) as refused:
        load_policy(folder)
    assert "workflow_state.treatment" in str(refused.value.details["faults"])
