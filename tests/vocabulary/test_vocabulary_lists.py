"""The closed lists, against the catalogue's, written down here a second time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graph import vocabulary
from graph.envelope import LIVE_FIELDS, SERVICE_FIELDS, RecordInput
from graph.policy.rules import ENVELOPE_FIELDS
from graph.vocabulary import DERIVATION_EDGES, UNCERTAINTY_FIELDS, EdgeType, ReasonCode

ROOT = Path(__file__).parents[2]

# Class of the code → requirement and the tokens of the catalogue.
LISTS = {
    "RecordClass": ("VOC-01", "workflow_state context scratch artifact preference memory"),
    "DerivativeOutcome": ("VOC-05", "deleted invalidated not_found retained_under_exception failed"),
    "CorrectionDisposition": ("VOC-06", "recompute quarantine mark_superseded invalidate retain_audit_only"),
    "MemoryDecision": ("VOC-07", "DENY ADMIT REVIEW"),
    "UncertaintyCategory": ("VOC-08", "verified_statement derived_unconfirmed conflicted expired revoked"),
    "DerivationType": ("VOC-10", "observed asserted computed model_derived"),
    "Trust": ("trust", "untrusted_text authoritative_for_field verified_principal reviewed unreviewed_derived"),
    "MemoryKind": ("memory kinds", "presentation_preference issue_pattern prior_resolution"),
    "DeletionState": (
        "deletion states",
        """RECEIVED AUTHENTICATED CONTENT_REMOVED PROPAGATING RETRYING COMPLETED COMPLETED_WITH_EXCEPTIONS
        CLOSED_WITH_OWNED_FAILURES REJECTED""",
    ),
    "TombstoneReason": ("tombstones", "PRINCIPAL_REQUEST AUTHORIZED_PROCESS RETENTION_EXPIRED SOURCE_WITHDRAWN"),
    "ContextPriority": (
        "VOC-11",
        "task_contract run_state active_policy fresh_evidence durable_artifacts scratch admitted_memory",
    ),
    "PipelineStage": (
        "VOC-12",
        """call_envelope candidate_retrieval metadata_resolution denial ranking section_budget compaction
        channel_rendering manifest_validation""",
    ),
    "ModelOperation": (
        "operations",
        "clarify compare draft_proposal explain authorize triage validate_post_approval historical_analysis",
    ),
    "MemoryPolicyDimension": ("VOC-13", "trust provenance permission freshness conflict retention deletion"),
    "ForbiddenContent": ("VOC-14", "credential secret_outside_approved_system effect_credential approval_token"),
    "StoreKind": (
        "VOC-15",
        """primary_record vector_embedding search_cache context_cache model_call_transcript summary_artifact
        evaluation_example exported_review_packet backup files""",
    ),
}
FIELDS = """recordId class version tenantId principalId taskId runId sourceId sourceVersion observedAt recordedAt
    derivationType inferenceMethod trust reviewState expiresAt freshnessRuleId permissions purpose contextEligible
    memoryDecision conflicts supersedes retentionClass deletionState downstreamRefs"""
EDGES_NAMED = (
    "observed_from summarized_from inferred_from approved_by supersedes contradicts rendered_in authorized_for"
)
EDGES_IMPLIED = """embedded_from cached_from compacted_from projected_from proposed_from admitted_by excluded_from omits
    resolved_by escalated_to binds consumed_by verifies produced_by governed_by stored_in labeled_from exported_in
    backed_up_in targets has_outcome outcome_for held_under"""
# The same edge read from the source's side has the name of the derivative's side here.
STORED_AS = {"rendered_in": "RENDERED_FROM", "exported_in": "EXPORTED_FROM", "backed_up_in": "BACKED_UP_FROM"}
UNCERTAINTY = """derivationType sourceCount sourceIndependence lastConfirmedAt counterevidence conflictState
    revalidationAction"""

# What no present room produces, by the room that will. A room that begins to use one has to take it off this list, and the
# test below then asks for a test that names it. VOC-06 to VOC-09, VOC-11, VOC-12 and VOC-14 wait for their rooms whole.
LISTS_LATER = {
    "graph/correction": "CorrectionDisposition",
    "graph/memory": "MemoryDecision UncertaintyCategory MemoryKind",
    "graph/context": "ContextPriority PipelineStage ModelOperation ForbiddenContent",
}
EDGES_LATER = {"graph/context": "EXCLUDED_FROM", "graph/memory": "ADMITTED_BY", "graph/policy": "GOVERNED_BY"}
CODES_LATER = {
    "service/formats": "CONTENT_DERIVED_IDENTITY CALLER_CHOSEN_IDENTITY",
    "graph/workflow": """STATE_VERSION_MISMATCH ILLEGAL_TRANSITION CONTRADICTS_AUTHORITATIVE_STATE
        CAPABILITY_NOT_IN_CONTRACT ARGUMENT_NOT_IN_CONTRACT TARGET_NOT_IN_CONTRACT EFFECT_NOT_IN_CONTRACT
        AUTHORITY_NOT_GRANTED APPROVAL_BINDING_MISMATCH APPROVAL_EXPIRED APPROVAL_REVOKED APPROVAL_CONSUMED
        RESOURCE_MISMATCH CLASS_NOT_PERMITTED REQUESTER_SUBSTITUTION SOURCE_CLOSURE_EXCEEDED EFFECT_UNOBSERVED
        UNIT_MISMATCH ACTOR_MISMATCH TARGET_BINDING_STALE PLAN_STEP_MISMATCH SEED_MISMATCH WRITER_FENCE_STALE
        CHECK_NOT_FRESH CHECK_FAILED LABEL_IN_PROVIDER_INPUT""",
    "graph/context": """AUTHORIZATION_EXCLUDED PRINCIPAL_MISMATCH PERMISSION_REVOKED FORBIDDEN_CREDENTIAL
        SUPERSEDED_SOURCE OBSERVATION_IN_FUTURE MISSING_FRESHNESS_RULE EXPIRED_FOR_PURPOSE NOT_RELEVANT
        DUPLICATE_CONTENT BUDGET_SECTION_EXHAUSTED CONTEXT_REQUIRED_INVARIANT_OVERFLOW REQUIRED_EVIDENCE_MISSING
        RUN_CANCELLED DEADLINE_PASSED ROUTING_CONSTRAINT_DENIED COMPACTION_INVARIANT_LOST NEGATION_LOST
        QUANTITY_UNIT_LOST CONDITION_LOST EDITION_LOST APPROVAL_BINDING_LOST OMISSION_UNDECLARED
        COMPACTION_METHOD_UNSAFE CHANNEL_VIOLATION MANIFEST_CONTRACT_VIOLATION""",
    "graph/memory": """MISSING_PERMISSION MISSING_EXPIRY UNSUPPORTED_PURPOSE UNTRUSTED_INSTRUCTION
        SECRET_OUTSIDE_APPROVED_SYSTEM RETENTION_UNNECESSARY VOLATILE_FACT UNTYPED_CANDIDATE MIXED_CLAIMS
        WHOLESALE_CONVERSATION GLOBAL_SCOPE_DISABLED UNCONFIRMED_INFERENCE INDEPENDENT_EVIDENCE_REQUIRED
        EDITION_CHECK_REQUIRED SECONDARY_USE_DENIED UNCALIBRATED_CONFIDENCE MEMORY_DISABLED""",
    "graph/conflict": """CONFLICT_UNRESOLVED EDITION_DESIGNATION_UNCERTAIN UNSUPPORTED_CLAIM RULE_OUT_OF_DOMAIN
        RESOLVER_NOT_OWNER INFERRED_CANNOT_SUPERSEDE NEWER_NOT_QUALIFIED""",
    "graph/correction": "SOURCE_WITHDRAWN EXTRACTION_ERROR OBSERVATION_CORRECTED PREFERENCE_CORRECTED",
    "graph/deletion": "UNOWNED_FAILURE",
}
# Codes of VOC-04 that the present rooms give, each named by a test of theirs.
CODES_NOW = """MISSING_CLASS MISSING_OWNER MISSING_TENANT MISSING_PURPOSE ENVELOPE_INCOMPLETE MISSING_RUN_SCOPE
    MISSING_TRUST_LABEL MISSING_OBSERVATION_TIME MISSING_PROVENANCE RECORD_IMMUTABLE UNKNOWN_EDGE_TYPE AUDIENCE_WIDENING
    TENANT_MIXING TOMBSTONE_BLOCKED CLASS_MOVEMENT_FORBIDDEN ACTIVE_TENANT_REQUIRED OUTSIDE_PURPOSE DELETED_RECORD
    QUARANTINED_RECORD AUTHORITY_CLAIM REQUESTER_UNAUTHENTICATED REQUESTER_UNAUTHORIZED SCOPE_INEXACT
    DOWNSTREAM_NOT_ENUMERABLE STORE_UNREGISTERED STORE_UNAVAILABLE VERIFICATION_FAILED EXCEPTION_NOT_AUTHORIZED
    DEADLINE_EXPIRED"""
# Given by the code and named by no test yet.
WITHOUT_TEST = {"OUTCOME_UNKNOWN", "AUTHENTICATED", "CONTENT_REMOVED"}


def text_of(*folders):
    files = (file for folder in folders for file in (ROOT / folder).rglob("*"))
    return "\n".join(
        file.read_text(encoding="utf-8")
        for file in sorted(files)
        if file.suffix in {".py", ".cypher"} and file.name != "vocabulary.py" and "vocabulary" not in file.parts
    )


def tokens(*lists):
    return {token for one in lists for token in one.split()}


@pytest.mark.parametrize("name", sorted(LISTS))
def test_a_list_is_the_catalogues_in_its_order(name):
    # Order counts for what is filled or run in order (VOC-11, VOC-12); for the others it costs nothing.
    found = [str(value) for value in getattr(vocabulary, name)]
    wanted = LISTS[name][1].split()
    assert found == wanted if name in {"ContextPriority", "PipelineStage"} else sorted(found) == sorted(wanted)


def test_the_envelope_has_the_26_fields():
    stated = {field.alias or name for name, field in RecordInput.model_fields.items()}
    assert len(tokens(FIELDS)) == 26
    assert tokens(FIELDS) <= stated | set(SERVICE_FIELDS) | set(LIVE_FIELDS)
    # A whole class states each of them, but for what the service itself writes and reads.
    assert tokens(FIELDS) - ENVELOPE_FIELDS == {*SERVICE_FIELDS, *LIVE_FIELDS} - {"supersedes"}
    assert list(UNCERTAINTY_FIELDS) == UNCERTAINTY.split()


def test_every_edge_of_the_catalogue_is_there():
    named = {STORED_AS.get(name, name.upper()) for name in tokens(EDGES_NAMED, EDGES_IMPLIED)}
    assert named <= set(EdgeType)
    assert len(tokens(EDGES_NAMED)) == 8
    assert [str(edge) for edge in DERIVATION_EDGES] == [
        *("OBSERVED_FROM", "SUMMARIZED_FROM", "INFERRED_FROM", "EMBEDDED_FROM", "CACHED_FROM", "COMPACTED_FROM"),
        *("PROJECTED_FROM", "PROPOSED_FROM", "RENDERED_FROM", "EXPORTED_FROM", "LABELED_FROM", "BACKED_UP_FROM"),
    ]


def test_every_reason_code_of_the_catalogue_is_there():
    assert tokens(CODES_NOW, *CODES_LATER.values(), "OUTCOME_UNKNOWN") <= set(ReasonCode)


def test_what_no_room_produces_is_listed_with_its_room():
    code = text_of("graph", "service")
    unused = {one.value for one in ReasonCode if not re.search(rf"ReasonCode\.{one.value}\b", code)}
    assert unused == tokens(*CODES_LATER.values()), "take what a room uses now off CODES_LATER, or name its room"
    written = text_of("cypher")
    undrawn = {one.value for one in EdgeType if not re.search(rf"(CREATE|MERGE)[^\n]*:{one.value}\b", written)}
    assert undrawn == tokens(*EDGES_LATER.values()), "take what a room draws now off EDGES_LATER, or name its room"
    for name in tokens(*LISTS_LATER.values()):
        assert not re.search(rf"\b{name}\.", code), f"{name} is used now: take it off LISTS_LATER and test it"


def test_every_value_that_a_room_produces_is_named_by_a_test():
    tests = text_of("tests")
    produced = {one.value for one in ReasonCode} - tokens(*CODES_LATER.values()) - WITHOUT_TEST
    assert sorted(code for code in produced if not re.search(rf"\b{code}\b", tests)) == []
    later = tokens(*LISTS_LATER.values())
    for name in sorted(set(LISTS) - later - {"StoreKind"}):
        values = {str(value) for value in getattr(vocabulary, name)} - WITHOUT_TEST
        members = {str(value): f"{name}.{value.name}" for value in getattr(vocabulary, name)}
        unnamed = [one for one in sorted(values) if not re.search(rf"\b{one}\b|\b{members[one]}\b", tests)]
        assert not unnamed, f"no test names {unnamed} of {name}"
