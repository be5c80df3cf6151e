"""Origins, operations, versions and approvals."""

from __future__ import annotations

import re

import pytest

from graph.database.catalogue import default_query_folder
from graph.lineage import provenance as room
from graph.lineage.model import Direction
from graph.records.read import RecordView, read_record
from tests.support.deletion import register
from tests.support.graphs import HIDDEN, chain
from tests.support.records import derived, record


@pytest.mark.req("CLS-12", "ENV-12")
def test_the_kind_of_origin_stays_through_summary_copy_embedding_and_restore(application, lineage, caller):
    records = [
        record("seen", derivationType="observed", sourceVersion="edition-4", trust="authoritative_for_field"),
        record("said", derivationType="asserted", sourceVersion="2"),
        derived("summary", "seen", "said"),
        derived("copy", "summary", edge="CACHED_FROM"),
        derived("embedding", "copy", edge="EMBEDDED_FROM"),
    ]
    seen, said, _, _, embedding = register(application, caller, *records)
    assert {result.status for result in application.registrar.register(records, caller)} == {"unchanged"}
    answer = lineage.origins(caller, embedding)
    assert {(item.identity, item.depth, item.derivation_type, item.source_version) for item in answer.items} == {
        (seen, 3, "observed", "edition-4"),
        (said, 3, "asserted", "2"),
    }
    assert answer.kinds_of_origin == {"observed", "asserted"}
    assert answer.receipt.complete
    assert (answer.receipt.nodes_visited, answer.receipt.edges_visited, answer.receipt.depth_deepest) == (4, 4, 3)
    view = read_record(application.database, caller, embedding)
    assert isinstance(view, RecordView)
    assert (view.envelope["origins"], view.envelope["derivationType"]) == (["asserted", "observed"], "computed")


def test_what_was_derived_from_nothing_is_its_own_origin(lineage, graphs, caller):
    graphs.records(["alone"])
    assert [(item.identity, item.depth, item.kind) for item in lineage.origins(caller, "alone").items] == [
        ("alone", 0, "document")
    ]


@pytest.mark.parametrize("way", ["tenant", "deleted"])
def test_an_origin_that_may_not_be_seen_makes_no_other_record_an_origin(lineage, graphs, caller, way):
    graphs.load(chain("c", 2))
    if way == "deleted":
        graphs.delete(["c-0"])
    else:
        graphs.change("c-0", **HIDDEN[way])
    answer = lineage.origins(caller, "c-2")
    assert answer.items == ()
    assert answer.receipt.withheld
    assert not answer.receipt.complete


@pytest.mark.req("PRV-01")
def test_a_claim_leads_to_its_operations_and_from_those_to_records(application, lineage, caller):
    source, note, claim = register(
        application,
        caller,
        record("source"),
        derived(
            "note", "source", operation={"operationId": "compaction-9", "type": "compaction"}, inferenceMethod="fold"
        ),
        derived(
            "claim",
            "note",
            "source",
            derivationType="model_derived",
            operation={"type": "model_call"},
            producerId="model-1",
            producerVersion="7",
        ),
    )
    answer = lineage.operations(caller, claim)
    assert [(one.identity, one.depth, one.type, one.used) for one in answer.items] == [
        (claim, 0, "model_call", tuple(sorted([note, source]))),
        *sorted([(note, 1, "compaction", (source,)), (source, 1, "assertion", ())]),
    ]
    call = answer.items[0]
    assert (call.producer_id, call.producer_version, call.method) == ("model-1", "7", "test")
    assert call.at == application.clock.now()
    assert len({one.operation_id for one in answer.items}) == 3
    assert answer.receipt.complete


def test_an_operation_shows_only_what_the_caller_may_see_of_what_it_used(application, lineage, graphs, caller):
    source, other, claim = register(
        application, caller, record("source"), record("other"), derived("claim", "source", "other")
    )
    graphs.change(other, **HIDDEN["purpose"])
    answer = lineage.operations(caller, claim)
    assert [one.used for one in answer.items if one.identity == claim] == [(source,)]
    assert answer.receipt.withheld


@pytest.mark.parametrize(
    ("question", "limit", "name"),
    [("origins", "ORIGINS_MAX", "ORIGINS_MAX"), ("operations", "OPERATIONS_MAX", "OPERATIONS_MAX")],
)
def test_upstream_lists_are_cut_at_their_limit_and_say_so(
    application, lineage, caller, monkeypatch, question, limit, name
):
    made = register(application, caller, record("a"), record("b"), record("c"), derived("d", "a", "b", "c"))
    whole = 3 if question == "origins" else 4
    monkeypatch.setattr(room, limit, whole)
    assert getattr(lineage, question)(caller, made[3]).receipt.complete
    monkeypatch.setattr(room, limit, whole - 1)
    answer = getattr(lineage, question)(caller, made[3])
    assert len(answer.items) == whole - 1
    assert answer.receipt.limits_met == (name,)


def test_history_is_the_whole_chain_from_any_of_its_versions(application, lineage, caller):
    made = register(application, caller, record("v1"))
    for number in (2, 3, 4):
        made += register(application, caller, record(f"v{number}", supersedes=made[-1]))
    for identity in made:
        answer = lineage.history(caller, identity)
        assert [(one.identity, one.version, one.state, one.is_current) for one in answer.versions] == [
            (made[0], 1, "superseded", False),
            (made[1], 2, "superseded", False),
            (made[2], 3, "superseded", False),
            (made[3], 4, "active", True),
        ]
        assert answer.receipt.complete
        assert (answer.receipt.nodes_visited, answer.receipt.edges_visited) == (3, 3)


def test_a_hidden_newest_version_leaves_none_current(lineage, graphs, caller):
    graphs.load(chain("v", 2, "SUPERSEDES"), state="superseded")
    graphs.change("v-2", state="active", **HIDDEN["tenant"])
    answer = lineage.history(caller, "v-0")
    assert [(one.identity, one.is_current) for one in answer.versions] == [("v-0", False), ("v-1", False)]
    assert answer.receipt.withheld


@pytest.mark.parametrize(("include_deleted", "shown"), [(False, ["v-2"]), (True, ["v-0", "v-1", "v-2"])])
def test_deleted_versions_are_shown_on_request(lineage, graphs, caller, include_deleted, shown):
    graphs.load(chain("v", 2, "SUPERSEDES"))
    graphs.delete(["v-1"])
    answer = lineage.history(caller, "v-2", include_deleted=include_deleted)
    assert [one.identity for one in answer.versions] == shown
    assert [one.version for one in answer.versions if one.deleted] == [None] * (len(shown) // 2)
    assert not answer.receipt.withheld


def test_a_chain_of_versions_is_cut_at_its_limit_and_says_so(lineage, graphs, caller, monkeypatch):
    graphs.load(chain("v", 4, "SUPERSEDES"))
    monkeypatch.setattr(room, "VERSIONS_MAX", 2)
    answer = lineage.history(caller, "v-0")
    assert [one.identity for one in answer.versions] == ["v-0", "v-1", "v-2"]
    assert answer.receipt.limits_met == ("VERSIONS_MAX",)
    assert not any(one.is_current for one in answer.versions)
    middle = lineage.history(caller, "v-2")
    assert [one.identity for one in middle.versions] == ["v-0", "v-1", "v-2", "v-3", "v-4"]
    assert middle.receipt.complete


@pytest.mark.req("PRV-05")
def test_an_approval_approves_no_descendant(lineage, graphs, caller):
    graphs.load(
        [
            ("proposal-1", "APPROVED_BY", "approval"),
            ("proposal-2", "INFERRED_FROM", "proposal-1"),
            ("summary", "SUMMARIZED_FROM", "proposal-1"),
        ]
    )
    answer = lineage.approvals(caller, "proposal-1")
    assert answer.is_approved
    assert [(one.identity, one.state) for one in answer.items] == [("approval", "active")]
    for descendant in ("proposal-2", "summary"):
        assert not lineage.approvals(caller, descendant).is_approved
        assert lineage.approvals(caller, descendant).items == ()
    assert "approval" not in {item.identity for item in lineage.walk(caller, "summary", direction=Direction.BOTH).items}
    for path in (default_query_folder() / "lineage").glob("*.cypher"):
        walks = re.findall(r"\[[^\]]*\*[^\]]*\]", path.read_text(encoding="utf-8"))
        assert not any("APPROVED_BY" in walk for walk in walks), f"{path.stem} walks over APPROVED_BY"


@pytest.mark.parametrize(
    "changes", [{"state": "superseded"}, {"fence": "request-1"}, HIDDEN["tenant"], {"state": "quarantined"}]
)
def test_an_approval_that_does_not_serve_approves_nothing(lineage, graphs, caller, changes):
    graphs.load([("proposal", "APPROVED_BY", "approval")])
    graphs.change("approval", **changes)
    answer = lineage.approvals(caller, "proposal")
    assert not answer.is_approved
    assert answer.receipt.withheld == ("tenantId" in changes)
