"""What the shipped bundle says, against tables that were written from the requirements and not from the bundle."""

from __future__ import annotations

import shutil

import pytest

from graph.envelope import TOOL_FIELDS, RecordInput
from graph.errors import InvalidInput, NotAuthorized, PolicyInvalid
from graph.policy.loader import default_policy_folder, load_policy
from graph.policy.rules import CLASS_FIELDS, ENVELOPE_FIELDS
from graph.vocabulary import (
    DERIVATION_EDGES,
    EdgeType,
    LifecycleEvent,
    MemoryPolicyDimension,
    PropagationAction,
    ReasonCode,
    RecordClass,
    Role,
    StoreKind,
)

CLASS_OF_KIND = {
    "request": "workflow_state",
    "run_state": "workflow_state",
    "manual_passage": "artifact",
    "inventory_observation": "artifact",
    "compatibility_inference": "artifact",
    "proposal": "artifact",
    "approval": "workflow_state",
    "effect": "workflow_state",
    "verification": "artifact",
    "event_trace": "artifact",
    "model_response": "artifact",
    "summary": "artifact",
    "evidence_packet": "artifact",
    "conflict_report": "artifact",
    "resolution": "artifact",
    "evaluation_example": "artifact",
    "evaluation_label": "artifact",
    "handoff": "artifact",
    "previous_run_note": "artifact",
    "context_view": "context",
    "context_manifest": "artifact",
    "scratch_plan": "scratch",
    "working_notes": "scratch",
    "user_preference": "preference",
    "cross_run_memory": "memory",
    "memory_candidate": "memory",
    "research_brief": "artifact",
    "checkpoint": "artifact",
    "receipt_record": "artifact",
    "embedding": "artifact",
    "cache_entry": "artifact",
    "search_index_entry": "artifact",
    "export_packet": "artifact",
    "backup_copy": "artifact",
    "model_call_transcript": "artifact",
    "compaction_output": "artifact",
    "child_seed": "artifact",
    "document": "artifact",
    "dataset": "artifact",
    "prov_entity": "artifact",
    "prov_activity": "artifact",
    "prov_agent": "artifact",
    "prov_statement": "artifact",
    "quarantined_object": "artifact",
}
# What a deletion does where another live source is left.
EMPTIED = {
    *("request", "run_state", "manual_passage", "inventory_observation", "compatibility_inference", "proposal"),
    *("approval", "effect", "verification", "summary", "evidence_packet", "conflict_report", "resolution", "handoff"),
    *("previous_run_note", "context_manifest", "user_preference", "cross_run_memory", "research_brief"),
    *("receipt_record", "document", "dataset", "prov_entity", "prov_activity", "prov_agent"),
}
DERIVATIONS = {
    *("OBSERVED_FROM", "SUMMARIZED_FROM", "INFERRED_FROM", "EMBEDDED_FROM", "CACHED_FROM", "COMPACTED_FROM"),
    *("PROJECTED_FROM", "PROPOSED_FROM", "RENDERED_FROM", "EXPORTED_FROM", "LABELED_FROM", "BACKED_UP_FROM"),
}
ALLOWED = [
    ("summary", "SUMMARIZED_FROM", "manual_passage"),
    ("summary", "SUMMARIZED_FROM", "summary"),
    ("compatibility_inference", "INFERRED_FROM", "manual_passage"),
    ("proposal", "INFERRED_FROM", "inventory_observation"),
    ("proposal", "INFERRED_FROM", "context_manifest"),
    ("embedding", "EMBEDDED_FROM", "cross_run_memory"),
    ("cache_entry", "CACHED_FROM", "context_view"),
    ("context_view", "RENDERED_FROM", "user_preference"),
    ("memory_candidate", "PROPOSED_FROM", "user_preference"),
    ("evaluation_label", "LABELED_FROM", "model_call_transcript"),
    ("export_packet", "EXPORTED_FROM", "embedding"),
    ("backup_copy", "BACKED_UP_FROM", "search_index_entry"),
    ("compaction_output", "COMPACTED_FROM", "scratch_plan"),
    ("child_seed", "PROJECTED_FROM", "run_state"),
    ("proposal", "APPROVED_BY", "approval"),
    ("approval", "BINDS", "proposal"),
    ("approval", "CONSUMED_BY", "effect"),
    ("verification", "VERIFIES", "effect"),
    ("summary", "OMITS", "manual_passage"),
    ("conflict_report", "RESOLVED_BY", "resolution"),
    ("conflict_report", "ESCALATED_TO", "checkpoint"),
    ("manual_passage", "CONTRADICTS", "manual_passage"),
    ("user_preference", "SUPERSEDES", "user_preference"),
    ("prov_activity", "PROV_USED", "prov_entity"),
    ("prov_entity", "PROV_GENERATED_BY", "prov_activity"),
    ("prov_statement", "PROJECTED_FROM", "prov_entity"),
    ("quarantined_object", "SUMMARIZED_FROM", "manual_passage"),
]
# The first of these is the backwards edge of case L49.
REFUSED = [
    ("manual_passage", "SUMMARIZED_FROM", "summary"),
    ("inventory_observation", "SUMMARIZED_FROM", "summary"),
    ("user_preference", "EMBEDDED_FROM", "embedding"),
    ("manual_passage", "CACHED_FROM", "cache_entry"),
    ("manual_passage", "INFERRED_FROM", "compatibility_inference"),
    ("manual_passage", "RENDERED_FROM", "context_view"),
    ("user_preference", "PROPOSED_FROM", "memory_candidate"),
    ("model_call_transcript", "LABELED_FROM", "evaluation_label"),
    ("manual_passage", "EXPORTED_FROM", "export_packet"),
    ("cross_run_memory", "BACKED_UP_FROM", "backup_copy"),
    ("inventory_observation", "OBSERVED_FROM", "summary"),
    ("inventory_observation", "OBSERVED_FROM", "compatibility_inference"),
    ("user_preference", "OBSERVED_FROM", "cross_run_memory"),
    ("approval", "APPROVED_BY", "proposal"),
    ("summary", "APPROVED_BY", "approval"),
    ("proposal", "BINDS", "approval"),
    ("effect", "VERIFIES", "verification"),
    ("summary", "SUPERSEDES", "user_preference"),
    ("prov_entity", "PROV_USED", "prov_activity"),
    ("document", "PRODUCED_BY", "document"),
    ("ghost", "SUMMARIZED_FROM", "manual_passage"),
]
REQUIRED_BESIDES = {
    "workflow_state": {"runId", "stateVersion"},
    "context": {"runId", "assemblerVersion", "expiresAt"},
    "scratch": {"runId", "expiresAt"},
    "artifact": {"producerId", "producerVersion", "reviewState"},
    "preference": {"principalId", "purpose", "sourceId", "confirmedAt", "expiresAt"},
    "memory": {"principalId", "purpose", "sourceId", "taskFamily", "confidence", "expiresAt", "permissions"},
}
NEVER_NOT_APPLICABLE = {"class", "kind", "tenantId", "ownerId", "trust", "purpose", "permissions", "observedAt"}
ASK = [
    ("privacy", {"cross_run_memory", "effect", "document"}, True),
    ("source_owner", {"manual_passage", "dataset"}, True),
    ("source_owner", {"manual_passage", "user_preference"}, False),
    ("workflow_owner", {"scratch_plan"}, True),
    ("workflow_owner", {"run_state"}, False),
    *[(role, {"document"}, False) for role in ("producer", "reviewer", "domain_owner", "auditor", "operator")],
]


@pytest.fixture(scope="module")
def shipped():
    return load_policy(default_policy_folder())


def test_the_shipped_bundle_loads_and_names_itself(shipped):
    assert shipped.policy_id == "field-service@1.0.0"
    assert len(shipped.digest) == 64


def test_the_digest_follows_what_the_bundle_says_and_not_how_it_is_laid_out(shipped, tmp_path):
    folder = shutil.copytree(default_policy_folder(), tmp_path / "policy")
    path = folder / "retention.yaml"

    path.write_text("# another comment\n" + path.read_text())
    assert load_policy(folder).digest == shipped.digest

    path.write_text(path.read_text().replace("days: 35\n", "days: 34\n"))
    assert load_policy(folder).digest != shipped.digest


def test_every_kind_of_the_catalogue_has_its_one_class(shipped):
    assert {name: str(kind.record_class) for name, kind in shipped.kinds.items()} == CLASS_OF_KIND


@pytest.mark.req("CLS-14")
def test_every_kind_answers_for_the_six_events(shipped):
    for name, kind in shipped.kinds.items():
        assert set(kind.lifecycle) == set(LifecycleEvent), name


@pytest.mark.req("CLS-02")
def test_every_class_is_treated_in_its_own_way_on_the_seven_dimensions(shipped):
    for dimension in MemoryPolicyDimension:
        assert len({shipped.class_policy(name).treatment[dimension] for name in RecordClass}) == 6, dimension


@pytest.mark.parametrize("kind", sorted(CLASS_OF_KIND))
def test_a_deletion_removes_what_stands_alone_and_empties_what_another_source_carries(shipped, kind):
    alone = shipped.deletion_rule(kind, supported=False)
    supported = shipped.deletion_rule(kind, supported=True)

    assert (alone.action, alone.rule_id) == (PropagationAction.DELETE, f"deletion/{kind}/alone")
    assert supported.action == ("invalidate" if kind in EMPTIED else "delete")
    assert supported.rule_id == f"deletion/{kind}/supported"


@pytest.mark.parametrize(("child", "edge", "parent"), ALLOWED)
def test_an_edge_may_join_the_kinds_that_it_is_for(shipped, child, edge, parent):
    assert shipped.edge(EdgeType(edge)).allows(child, parent)


@pytest.mark.parametrize(("child", "edge", "parent"), REFUSED)
def test_an_edge_that_is_backwards_or_means_nothing_is_refused(shipped, child, edge, parent):
    assert not shipped.edge(EdgeType(edge)).allows(child, parent)


@pytest.mark.parametrize("edge", sorted(DERIVATIONS))
def test_documents_and_datasets_can_derive_from_one_another_in_any_way(shipped, edge):
    for child in ("document", "dataset", "prov_entity"):
        for parent in ("document", "dataset", "prov_entity"):
            assert shipped.edge(EdgeType(edge)).allows(child, parent)


def test_a_deletion_follows_derivation_new_versions_and_specialization_and_nothing_else(shipped):
    specializations = {"PROV_SPECIALIZATION_OF", "PROV_MENTION_OF"}

    assert list(shipped.deletion_edges) == sorted(DERIVATIONS | {"SUPERSEDES"} | specializations)
    assert set(DERIVATION_EDGES) == DERIVATIONS


def test_a_new_version_survives_the_withdrawal_correction_or_conflict_of_the_old_one(shipped):
    follow = shipped.edge(EdgeType.SUPERSEDES).follow

    assert (follow.withdrawal, follow.correction, follow.conflict) == (False, False, False)


def test_only_derivation_leads_to_another_tenant(shipped):
    assert {edge for edge in EdgeType if shipped.edge(edge).crosses_tenants} == DERIVATIONS
    assert shipped.shared_source_scopes == {"shared-sources"}


def test_rendering_export_and_backup_are_read_from_the_side_of_the_source(shipped):
    read = {
        edge: shipped.edge(EdgeType(edge)).reads_as for edge in ("RENDERED_FROM", "EXPORTED_FROM", "BACKED_UP_FROM")
    }

    assert read == {"RENDERED_FROM": "rendered_in", "EXPORTED_FROM": "exported_in", "BACKED_UP_FROM": "backed_up_in"}


@pytest.mark.parametrize("name", REQUIRED_BESIDES)
def test_every_class_says_of_every_envelope_field_whether_it_is_demanded(shipped, name):
    policy = shipped.class_policy(RecordClass(name))

    assert REQUIRED_BESIDES[name] | NEVER_NOT_APPLICABLE <= policy.required
    assert not policy.required & policy.may_be_not_applicable
    assert len(ENVELOPE_FIELDS) == 22
    assert policy.required | policy.may_be_not_applicable >= ENVELOPE_FIELDS


def test_every_field_that_a_class_can_demand_is_one_that_a_caller_can_state():
    stated = {field.alias or name for name, field in RecordInput.model_fields.items()}

    assert ENVELOPE_FIELDS | CLASS_FIELDS | set(TOOL_FIELDS) <= stated


@pytest.mark.req("DEL-02")
def test_every_kind_of_store_is_inventoried_with_its_five_attributes(shipped):
    assert {store.store_kind for store in shipped.stores.values()} == set(StoreKind)
    assert len(shipped.stores) == 11
    for store in shipped.stores.values():
        assert store.owner_id in shipped.owners
        assert store.deletion_method
        assert store.expected_completion_seconds > 0
        assert store.verification_signal
        assert store.exception_process


def test_only_the_stores_that_this_service_can_reach_have_a_connector(shipped):
    connectors = {name: store.connector for name, store in shipped.stores.items() if store.connector}

    assert connectors == {"graph": "graph", "files": "files"}
    assert shipped.retry_for("files").delays_seconds == (5, 30, 300, 1800)
    assert shipped.retry_for("files").deadline_seconds == 86_400


@pytest.mark.parametrize(("role", "kinds", "may"), ASK)
def test_who_may_ask_for_a_deletion_stands_in_a_grant(shipped, role, kinds, may):
    assert shipped.may_request_deletion(Role(role), kinds=kinds, tenant_id="tenant-a") is may


@pytest.mark.req("DEL-20")
def test_approvals_effects_and_proofs_stay_under_a_named_exception_and_the_rest_goes(shipped):
    kept = {kind: shipped.eligibility(kind).exception_type for kind in CLASS_OF_KIND}

    assert {kind: name for kind, name in kept.items() if name} == {
        "approval": "effect_audit",
        "effect": "effect_audit",
        "verification": "effect_audit",
        "receipt_record": "receipt_proof",
    }


def test_every_owner_says_what_is_theirs_and_what_is_not(shipped):
    functions = {owner.function for owner in shipped.owners.values()}

    assert functions >= {"privacy", "legal", "domain", "source", "workflow", "platform", "principal", "security"}
    for owner in shipped.owners.values():
        assert owner.scope
        assert owner.non_scope


def test_the_boundary_says_what_a_receipt_does_not_prove(shipped):
    assert "no proof of erasure anywhere else" in shipped.boundary_text
    assert len(shipped.stores_out_of_boundary) == 5


def test_what_the_policy_does_not_know_is_refused_with_a_code(shipped):
    for look_up, kind, code in (
        (lambda: shipped.kind("ghost"), InvalidInput, ReasonCode.UNKNOWN_KIND),
        (lambda: shipped.deletion_rule("ghost", supported=True), InvalidInput, ReasonCode.UNKNOWN_KIND),
        (lambda: shipped.eligibility("ghost"), InvalidInput, ReasonCode.UNKNOWN_KIND),
        (lambda: shipped.store("ghost"), InvalidInput, ReasonCode.STORE_UNREGISTERED),
        (lambda: shipped.retry_for("ghost"), InvalidInput, ReasonCode.STORE_UNREGISTERED),
        (lambda: shipped.owner("ghost"), PolicyInvalid, ReasonCode.POLICY_INVALID),
        (lambda: shipped.exception_type("ghost"), NotAuthorized, ReasonCode.EXCEPTION_NOT_AUTHORIZED),
    ):
        with pytest.raises(kind) as caught:
            look_up()
        assert caught.value.code is code


def test_what_the_policy_knows_is_found(shipped):
    assert shipped.kind("summary").owner_id == "engineering-owner"
    assert shipped.retention_classes["backup_term"].days == 35
    assert shipped.owner("privacy-owner").queue == "privacy-requests"
    assert shipped.exception_type("legal_hold").review_days == 90
    assert "maintenance" in shipped.purposes
