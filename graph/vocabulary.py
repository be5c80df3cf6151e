"""Every closed list of the product, once.

Code, the policy bundle, the checker and the tests read these; a value outside its list is refused on write and named by
`sequela check` on the live graph. Reason codes have a module-sized list of their own at the end.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class RecordClass(StrEnum):
    """The question that a record may answer (VOC-01)."""

    WORKFLOW_STATE = "workflow_state"
    CONTEXT = "context"
    SCRATCH = "scratch"
    ARTIFACT = "artifact"
    PREFERENCE = "preference"
    MEMORY = "memory"


class RecordState(StrEnum):
    """Whether a record serves. Only `active` ones do; what is deleted is a tombstone and has no state."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"
    RETAINED = "retained"


class MemoryPolicyDimension(StrEnum):
    """What each class needs a treatment of its own for (VOC-13)."""

    TRUST = "trust"
    PROVENANCE = "provenance"
    PERMISSION = "permission"
    FRESHNESS = "freshness"
    CONFLICT = "conflict"
    RETENTION = "retention"
    DELETION = "deletion"


class LifecycleEvent(StrEnum):
    """The six events that each kind names (CLS-14)."""

    STALENESS = "staleness"
    SUPERSESSION = "supersession"
    EXPIRY = "expiry"
    RETENTION = "retention"
    CORRECTION = "correction"
    DELETION = "deletion"


class DerivationType(StrEnum):
    """How content came to be (VOC-10)."""

    OBSERVED = "observed"
    ASSERTED = "asserted"
    COMPUTED = "computed"
    MODEL_DERIVED = "model_derived"


class Trust(StrEnum):
    """What validation a record has had."""

    UNTRUSTED_TEXT = "untrusted_text"
    AUTHORITATIVE_FOR_FIELD = "authoritative_for_field"
    VERIFIED_PRINCIPAL = "verified_principal"
    REVIEWED = "reviewed"
    UNREVIEWED_DERIVED = "unreviewed_derived"


class ReviewState(StrEnum):
    """Whether a person looked at it."""

    UNREVIEWED = "unreviewed"
    REVIEWED = "reviewed"
    REJECTED = "rejected"


class EdgeGroup(StrEnum):
    """What an edge type is for."""

    DERIVATION = "derivation"
    RELATION = "relation"
    CONTROL = "control"


class EdgeType(StrEnum):
    """Every relationship type in the graph (VOC-03). Derivation edges point from the derivative to its source."""

    OBSERVED_FROM = "OBSERVED_FROM"
    SUMMARIZED_FROM = "SUMMARIZED_FROM"
    INFERRED_FROM = "INFERRED_FROM"
    EMBEDDED_FROM = "EMBEDDED_FROM"
    CACHED_FROM = "CACHED_FROM"
    COMPACTED_FROM = "COMPACTED_FROM"
    PROJECTED_FROM = "PROJECTED_FROM"
    PROPOSED_FROM = "PROPOSED_FROM"
    RENDERED_FROM = "RENDERED_FROM"
    EXPORTED_FROM = "EXPORTED_FROM"
    LABELED_FROM = "LABELED_FROM"
    BACKED_UP_FROM = "BACKED_UP_FROM"
    # relations between records
    SUPERSEDES = "SUPERSEDES"
    CONTRADICTS = "CONTRADICTS"
    APPROVED_BY = "APPROVED_BY"
    BINDS = "BINDS"
    CONSUMED_BY = "CONSUMED_BY"
    VERIFIES = "VERIFIES"
    AUTHORIZED_FOR = "AUTHORIZED_FOR"
    OMITS = "OMITS"
    RESOLVED_BY = "RESOLVED_BY"
    ESCALATED_TO = "ESCALATED_TO"
    # relations of PROV documents that have no type of their own above
    PROV_USED = "PROV_USED"
    PROV_GENERATED_BY = "PROV_GENERATED_BY"
    PROV_INFORMED_BY = "PROV_INFORMED_BY"
    PROV_STARTED_BY = "PROV_STARTED_BY"
    PROV_ENDED_BY = "PROV_ENDED_BY"
    PROV_INVALIDATED_BY = "PROV_INVALIDATED_BY"
    PROV_ATTRIBUTED_TO = "PROV_ATTRIBUTED_TO"
    PROV_ASSOCIATED_WITH = "PROV_ASSOCIATED_WITH"
    PROV_ACTED_ON_BEHALF_OF = "PROV_ACTED_ON_BEHALF_OF"
    PROV_INFLUENCED_BY = "PROV_INFLUENCED_BY"
    PROV_SPECIALIZATION_OF = "PROV_SPECIALIZATION_OF"
    PROV_ALTERNATE_OF = "PROV_ALTERNATE_OF"
    PROV_HAD_MEMBER = "PROV_HAD_MEMBER"
    PROV_MENTION_OF = "PROV_MENTION_OF"
    # control: between a record and what governs it, or between control nodes
    PRODUCED_BY = "PRODUCED_BY"
    USED = "USED"
    GOVERNED_BY = "GOVERNED_BY"
    STORED_IN = "STORED_IN"
    TARGETS = "TARGETS"
    HAS_OUTCOME = "HAS_OUTCOME"
    OUTCOME_FOR = "OUTCOME_FOR"
    HAS_ATTEMPT = "HAS_ATTEMPT"
    HELD_UNDER = "HELD_UNDER"
    EXCEPTED_UNDER = "EXCEPTED_UNDER"
    EXCLUDED_FROM = "EXCLUDED_FROM"
    ADMITTED_BY = "ADMITTED_BY"


DERIVATION_EDGES: Final = tuple(EdgeType)[: tuple(EdgeType).index(EdgeType.SUPERSEDES)]
RELATION_EDGES: Final = tuple(EdgeType)[len(DERIVATION_EDGES) : tuple(EdgeType).index(EdgeType.PRODUCED_BY)]
CONTROL_EDGES: Final = tuple(EdgeType)[len(DERIVATION_EDGES) + len(RELATION_EDGES) :]


class NodeLabel(StrEnum):
    """Every label in the graph."""

    IDENTITY = "Identity"
    RECORD = "Record"
    TOMBSTONE = "Tombstone"
    OPERATION = "Operation"
    REQUEST = "Request"
    DELETION = "Deletion"
    OUTCOME = "Outcome"
    ATTEMPT = "Attempt"
    HOLD = "Hold"
    EXCEPTION = "Exception"
    STORE = "Store"
    WORK_SHARD = "WorkShard"
    POLICY = "Policy"
    IDEMPOTENCY_KEY = "IdempotencyKey"
    API_KEY = "ApiKey"
    SCHEMA_VERSION = "SchemaVersion"
    JOURNAL = "Journal"


class OperationType(StrEnum):
    """What kind of work produced a record."""

    MODEL_CALL = "model_call"
    TOOL_CALL = "tool_call"
    COMPACTION = "compaction"
    GATE_DECISION = "gate_decision"
    ASSEMBLY = "assembly"
    OBSERVATION = "observation"
    ASSERTION = "assertion"
    COMPUTATION = "computation"
    IMPORT = "import"


class DerivativeOutcome(StrEnum):
    """What became of one derivative in one store (VOC-05). Exactly five."""

    DELETED = "deleted"
    INVALIDATED = "invalidated"
    NOT_FOUND = "not_found"
    RETAINED_UNDER_EXCEPTION = "retained_under_exception"
    FAILED = "failed"


class OutcomeState(StrEnum):
    """Whether work on an outcome is left."""

    PENDING = "pending"
    RETRYING = "retrying"
    SETTLED = "settled"
    OWNED = "owned"


class OutcomeBasis(StrEnum):
    """What an outcome rests on."""

    SETTLED_BY_THIS_REQUEST = "settled_by_this_request"
    SETTLED_BY_ANOTHER_REQUEST = "settled_by_another_request"
    ABSENT_BEFORE_ANY_ATTEMPT = "absent_before_any_attempt"
    ABSENT_AFTER_STARTED_ATTEMPT = "absent_after_started_attempt"
    HOLD = "hold"
    POLICY_RULE = "policy_rule"
    STORE_ANSWER = "store_answer"


class VerificationLevel(StrEnum):
    """How far a verifying read reached."""

    NOT_SERVED = "not_served"
    LOGICALLY_ABSENT = "logically_absent"
    PHYSICALLY_ABSENT = "physically_absent"
    UNREACHABLE = "unreachable"


class CorrectionDisposition(StrEnum):
    """What becomes of a derivative after a correction (VOC-06). Exactly five."""

    RECOMPUTE = "recompute"
    QUARANTINE = "quarantine"
    MARK_SUPERSEDED = "mark_superseded"
    INVALIDATE = "invalidate"
    RETAIN_AUDIT_ONLY = "retain_audit_only"


class DeletionState(StrEnum):
    """The life of a deletion request."""

    RECEIVED = "RECEIVED"
    AUTHENTICATED = "AUTHENTICATED"
    CONTENT_REMOVED = "CONTENT_REMOVED"
    PROPAGATING = "PROPAGATING"
    RETRYING = "RETRYING"
    COMPLETED = "COMPLETED"
    COMPLETED_WITH_EXCEPTIONS = "COMPLETED_WITH_EXCEPTIONS"
    CLOSED_WITH_OWNED_FAILURES = "CLOSED_WITH_OWNED_FAILURES"
    REJECTED = "REJECTED"


DELETION_STATES_RUNNING: Final = (DeletionState.CONTENT_REMOVED, DeletionState.PROPAGATING, DeletionState.RETRYING)
DELETION_STATES_COMPLETE: Final = frozenset({DeletionState.COMPLETED, DeletionState.COMPLETED_WITH_EXCEPTIONS})
DELETION_STATES_TERMINAL: Final = DELETION_STATES_COMPLETE | {
    DeletionState.CLOSED_WITH_OWNED_FAILURES,
    DeletionState.REJECTED,
}


class TombstoneReason(StrEnum):
    """Why a record was removed; never free text (TMB-01)."""

    PRINCIPAL_REQUEST = "PRINCIPAL_REQUEST"
    AUTHORIZED_PROCESS = "AUTHORIZED_PROCESS"
    RETENTION_EXPIRED = "RETENTION_EXPIRED"
    SOURCE_WITHDRAWN = "SOURCE_WITHDRAWN"


class JournalEntryKind(StrEnum):
    """What an entry of the tombstone journal tells of."""

    OPENED = "opened"
    REQUEST_FILED = "request_filed"
    REQUEST_REJECTED = "request_rejected"
    CONTENT_REMOVED = "content_removed"
    HOLD_PLACED = "hold_placed"
    HOLD_RELEASED = "hold_released"


class PropagationAction(StrEnum):
    """What a deletion rule does with a derivative in the graph."""

    DELETE = "delete"
    INVALIDATE = "invalidate"


class MemoryDecision(StrEnum):
    """The answers of the memory gate (VOC-07)."""

    DENY = "DENY"
    ADMIT = "ADMIT"
    REVIEW = "REVIEW"


class UncertaintyCategory(StrEnum):
    """How sure a memory is (VOC-08)."""

    VERIFIED_STATEMENT = "verified_statement"
    DERIVED_UNCONFIRMED = "derived_unconfirmed"
    CONFLICTED = "conflicted"
    EXPIRED = "expired"
    REVOKED = "revoked"


UNCERTAINTY_FIELDS: Final = (
    "derivationType",
    "sourceCount",
    "sourceIndependence",
    "lastConfirmedAt",
    "counterevidence",
    "conflictState",
    "revalidationAction",
)


class MemoryKind(StrEnum):
    """The kinds of memory that may be proposed."""

    PRESENTATION_PREFERENCE = "presentation_preference"
    ISSUE_PATTERN = "issue_pattern"
    PRIOR_RESOLUTION = "prior_resolution"


MEMORY_CONTEXT_LABEL: Final = "derived_memory"


class ContextPriority(StrEnum):
    """The order in which a context is filled (VOC-11), first to last."""

    TASK_CONTRACT = "task_contract"
    RUN_STATE = "run_state"
    ACTIVE_POLICY = "active_policy"
    FRESH_EVIDENCE = "fresh_evidence"
    DURABLE_ARTIFACTS = "durable_artifacts"
    SCRATCH = "scratch"
    ADMITTED_MEMORY = "admitted_memory"


class PipelineStage(StrEnum):
    """The nine stages of context assembly (VOC-12), in order."""

    CALL_ENVELOPE = "call_envelope"
    CANDIDATE_RETRIEVAL = "candidate_retrieval"
    METADATA_RESOLUTION = "metadata_resolution"
    DENIAL = "denial"
    RANKING = "ranking"
    SECTION_BUDGET = "section_budget"
    COMPACTION = "compaction"
    CHANNEL_RENDERING = "channel_rendering"
    MANIFEST_VALIDATION = "manifest_validation"


class ModelOperation(StrEnum):
    """What a model call is for."""

    CLARIFY = "clarify"
    COMPARE = "compare"
    DRAFT_PROPOSAL = "draft_proposal"
    EXPLAIN = "explain"
    AUTHORIZE = "authorize"
    TRIAGE = "triage"
    VALIDATE_POST_APPROVAL = "validate_post_approval"
    HISTORICAL_ANALYSIS = "historical_analysis"


class ForbiddenContent(StrEnum):
    """What no context may hold (VOC-14)."""

    CREDENTIAL = "credential"
    SECRET_OUTSIDE_APPROVED_SYSTEM = "secret_outside_approved_system"
    EFFECT_CREDENTIAL = "effect_credential"
    APPROVAL_TOKEN = "approval_token"


class StoreKind(StrEnum):
    """Where derivatives can be (VOC-15)."""

    PRIMARY_RECORD = "primary_record"
    VECTOR_EMBEDDING = "vector_embedding"
    SEARCH_CACHE = "search_cache"
    CONTEXT_CACHE = "context_cache"
    MODEL_CALL_TRANSCRIPT = "model_call_transcript"
    SUMMARY_ARTIFACT = "summary_artifact"
    EVALUATION_EXAMPLE = "evaluation_example"
    EXPORTED_REVIEW_PACKET = "exported_review_packet"
    BACKUP = "backup"
    FILES = "files"


# The store that every record is in: the graph itself.
GRAPH_STORE: Final = "graph"


class Role(StrEnum):
    """What a caller is allowed to do."""

    PRODUCER = "producer"
    REVIEWER = "reviewer"
    PRIVACY = "privacy"
    SOURCE_OWNER = "source_owner"
    DOMAIN_OWNER = "domain_owner"
    WORKFLOW_OWNER = "workflow_owner"
    AUDITOR = "auditor"
    OPERATOR = "operator"


class ReasonCode(StrEnum):
    """Every code that a refusal, an exclusion or an outcome can carry (VOC-04)."""

    # ingest
    MISSING_CLASS = "MISSING_CLASS"
    MISSING_OWNER = "MISSING_OWNER"
    MISSING_TENANT = "MISSING_TENANT"
    MISSING_PURPOSE = "MISSING_PURPOSE"
    ENVELOPE_INCOMPLETE = "ENVELOPE_INCOMPLETE"
    MISSING_RUN_SCOPE = "MISSING_RUN_SCOPE"
    MISSING_TRUST_LABEL = "MISSING_TRUST_LABEL"
    MISSING_OBSERVATION_TIME = "MISSING_OBSERVATION_TIME"
    MISSING_PROVENANCE = "MISSING_PROVENANCE"
    RECORD_IMMUTABLE = "RECORD_IMMUTABLE"
    UNKNOWN_EDGE_TYPE = "UNKNOWN_EDGE_TYPE"
    UNKNOWN_KIND = "UNKNOWN_KIND"
    EDGE_ENDS_NOT_ALLOWED = "EDGE_ENDS_NOT_ALLOWED"
    AUDIENCE_WIDENING = "AUDIENCE_WIDENING"
    TENANT_MIXING = "TENANT_MIXING"
    TOMBSTONE_BLOCKED = "TOMBSTONE_BLOCKED"
    SOURCE_FENCED = "SOURCE_FENCED"
    SOURCE_NOT_FOUND = "SOURCE_NOT_FOUND"
    SOURCE_NOT_ELIGIBLE = "SOURCE_NOT_ELIGIBLE"
    DERIVATION_CYCLE = "DERIVATION_CYCLE"
    SUPERSESSION_FORK = "SUPERSESSION_FORK"
    OBSERVED_FROM_INFERENCE = "OBSERVED_FROM_INFERENCE"
    CONTENT_DERIVED_IDENTITY = "CONTENT_DERIVED_IDENTITY"
    CALLER_CHOSEN_IDENTITY = "CALLER_CHOSEN_IDENTITY"
    LOCATOR_TAKEN = "LOCATOR_TAKEN"
    # workflow state
    STATE_VERSION_MISMATCH = "STATE_VERSION_MISMATCH"
    ILLEGAL_TRANSITION = "ILLEGAL_TRANSITION"
    CLASS_MOVEMENT_FORBIDDEN = "CLASS_MOVEMENT_FORBIDDEN"
    CONTRADICTS_AUTHORITATIVE_STATE = "CONTRADICTS_AUTHORITATIVE_STATE"
    CAPABILITY_NOT_IN_CONTRACT = "CAPABILITY_NOT_IN_CONTRACT"
    ARGUMENT_NOT_IN_CONTRACT = "ARGUMENT_NOT_IN_CONTRACT"
    TARGET_NOT_IN_CONTRACT = "TARGET_NOT_IN_CONTRACT"
    EFFECT_NOT_IN_CONTRACT = "EFFECT_NOT_IN_CONTRACT"
    AUTHORITY_NOT_GRANTED = "AUTHORITY_NOT_GRANTED"
    APPROVAL_BINDING_MISMATCH = "APPROVAL_BINDING_MISMATCH"
    APPROVAL_EXPIRED = "APPROVAL_EXPIRED"
    APPROVAL_REVOKED = "APPROVAL_REVOKED"
    APPROVAL_CONSUMED = "APPROVAL_CONSUMED"
    RESOURCE_MISMATCH = "RESOURCE_MISMATCH"
    # retrieval authorisation
    AUTHORIZATION_EXCLUDED = "AUTHORIZATION_EXCLUDED"
    ACTIVE_TENANT_REQUIRED = "ACTIVE_TENANT_REQUIRED"
    # metadata eligibility
    PRINCIPAL_MISMATCH = "PRINCIPAL_MISMATCH"
    OUTSIDE_PURPOSE = "OUTSIDE_PURPOSE"
    PERMISSION_REVOKED = "PERMISSION_REVOKED"
    DELETED_RECORD = "DELETED_RECORD"
    QUARANTINED_RECORD = "QUARANTINED_RECORD"
    FORBIDDEN_CREDENTIAL = "FORBIDDEN_CREDENTIAL"
    CLASS_NOT_PERMITTED = "CLASS_NOT_PERMITTED"
    SUPERSEDED_SOURCE = "SUPERSEDED_SOURCE"
    OBSERVATION_IN_FUTURE = "OBSERVATION_IN_FUTURE"
    MISSING_FRESHNESS_RULE = "MISSING_FRESHNESS_RULE"
    EXPIRED_FOR_PURPOSE = "EXPIRED_FOR_PURPOSE"
    CONFLICT_UNRESOLVED = "CONFLICT_UNRESOLVED"
    # ranking and budget
    NOT_RELEVANT = "NOT_RELEVANT"
    DUPLICATE_CONTENT = "DUPLICATE_CONTENT"
    BUDGET_SECTION_EXHAUSTED = "BUDGET_SECTION_EXHAUSTED"
    CONTEXT_REQUIRED_INVARIANT_OVERFLOW = "CONTEXT_REQUIRED_INVARIANT_OVERFLOW"
    # context assembly
    REQUIRED_EVIDENCE_MISSING = "REQUIRED_EVIDENCE_MISSING"
    RUN_CANCELLED = "RUN_CANCELLED"
    DEADLINE_PASSED = "DEADLINE_PASSED"
    ROUTING_CONSTRAINT_DENIED = "ROUTING_CONSTRAINT_DENIED"
    COMPACTION_INVARIANT_LOST = "COMPACTION_INVARIANT_LOST"
    NEGATION_LOST = "NEGATION_LOST"
    QUANTITY_UNIT_LOST = "QUANTITY_UNIT_LOST"
    CONDITION_LOST = "CONDITION_LOST"
    EDITION_LOST = "EDITION_LOST"
    APPROVAL_BINDING_LOST = "APPROVAL_BINDING_LOST"
    OMISSION_UNDECLARED = "OMISSION_UNDECLARED"
    COMPACTION_METHOD_UNSAFE = "COMPACTION_METHOD_UNSAFE"
    CHANNEL_VIOLATION = "CHANNEL_VIOLATION"
    MANIFEST_CONTRACT_VIOLATION = "MANIFEST_CONTRACT_VIOLATION"
    # memory gate
    MISSING_PERMISSION = "MISSING_PERMISSION"
    MISSING_EXPIRY = "MISSING_EXPIRY"
    UNSUPPORTED_PURPOSE = "UNSUPPORTED_PURPOSE"
    UNTRUSTED_INSTRUCTION = "UNTRUSTED_INSTRUCTION"
    SECRET_OUTSIDE_APPROVED_SYSTEM = "SECRET_OUTSIDE_APPROVED_SYSTEM"
    AUTHORITY_CLAIM = "AUTHORITY_CLAIM"
    RETENTION_UNNECESSARY = "RETENTION_UNNECESSARY"
    VOLATILE_FACT = "VOLATILE_FACT"
    UNTYPED_CANDIDATE = "UNTYPED_CANDIDATE"
    MIXED_CLAIMS = "MIXED_CLAIMS"
    WHOLESALE_CONVERSATION = "WHOLESALE_CONVERSATION"
    GLOBAL_SCOPE_DISABLED = "GLOBAL_SCOPE_DISABLED"
    UNCONFIRMED_INFERENCE = "UNCONFIRMED_INFERENCE"
    INDEPENDENT_EVIDENCE_REQUIRED = "INDEPENDENT_EVIDENCE_REQUIRED"
    EDITION_CHECK_REQUIRED = "EDITION_CHECK_REQUIRED"
    SECONDARY_USE_DENIED = "SECONDARY_USE_DENIED"
    UNCALIBRATED_CONFIDENCE = "UNCALIBRATED_CONFIDENCE"
    MEMORY_DISABLED = "MEMORY_DISABLED"
    # conflict
    EDITION_DESIGNATION_UNCERTAIN = "EDITION_DESIGNATION_UNCERTAIN"
    UNSUPPORTED_CLAIM = "UNSUPPORTED_CLAIM"
    RULE_OUT_OF_DOMAIN = "RULE_OUT_OF_DOMAIN"
    RESOLVER_NOT_OWNER = "RESOLVER_NOT_OWNER"
    INFERRED_CANNOT_SUPERSEDE = "INFERRED_CANNOT_SUPERSEDE"
    NEWER_NOT_QUALIFIED = "NEWER_NOT_QUALIFIED"
    # correction
    SOURCE_WITHDRAWN = "SOURCE_WITHDRAWN"
    EXTRACTION_ERROR = "EXTRACTION_ERROR"
    OBSERVATION_CORRECTED = "OBSERVATION_CORRECTED"
    PREFERENCE_CORRECTED = "PREFERENCE_CORRECTED"
    # deletion
    REQUESTER_UNAUTHENTICATED = "REQUESTER_UNAUTHENTICATED"
    REQUESTER_UNAUTHORIZED = "REQUESTER_UNAUTHORIZED"
    SCOPE_INEXACT = "SCOPE_INEXACT"
    DOWNSTREAM_NOT_ENUMERABLE = "DOWNSTREAM_NOT_ENUMERABLE"
    STORE_UNREGISTERED = "STORE_UNREGISTERED"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    VERIFICATION_FAILED = "VERIFICATION_FAILED"
    HOLD_ACTIVE = "HOLD_ACTIVE"
    EXCEPTION_NOT_AUTHORIZED = "EXCEPTION_NOT_AUTHORIZED"
    DEADLINE_EXPIRED = "DEADLINE_EXPIRED"
    UNOWNED_FAILURE = "UNOWNED_FAILURE"
    PREVIEW_STALE = "PREVIEW_STALE"
    # source-bound work
    REQUESTER_SUBSTITUTION = "REQUESTER_SUBSTITUTION"
    SOURCE_CLOSURE_EXCEEDED = "SOURCE_CLOSURE_EXCEEDED"
    EFFECT_UNOBSERVED = "EFFECT_UNOBSERVED"
    UNIT_MISMATCH = "UNIT_MISMATCH"
    ACTOR_MISMATCH = "ACTOR_MISMATCH"
    TARGET_BINDING_STALE = "TARGET_BINDING_STALE"
    PLAN_STEP_MISMATCH = "PLAN_STEP_MISMATCH"
    SEED_MISMATCH = "SEED_MISMATCH"
    WRITER_FENCE_STALE = "WRITER_FENCE_STALE"
    CHECK_NOT_FRESH = "CHECK_NOT_FRESH"
    CHECK_FAILED = "CHECK_FAILED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    LABEL_IN_PROVIDER_INPUT = "LABEL_IN_PROVIDER_INPUT"
    # the edge of the service
    MALFORMED_INPUT = "MALFORMED_INPUT"
    NAME_NOT_ENCODABLE = "NAME_NOT_ENCODABLE"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    NOT_FOUND = "NOT_FOUND"
    ROLE_REQUIRED = "ROLE_REQUIRED"
    IDEMPOTENCY_KEY_REQUIRED = "IDEMPOTENCY_KEY_REQUIRED"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    CURSOR_INVALID = "CURSOR_INVALID"
    STATE_CONFLICT = "STATE_CONFLICT"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    INTERNAL_FAULT = "INTERNAL_FAULT"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    SERVICE_NOT_READY = "SERVICE_NOT_READY"
    JOURNAL_MISSING = "JOURNAL_MISSING"
    JOURNAL_BROKEN = "JOURNAL_BROKEN"
    JOURNAL_FOREIGN = "JOURNAL_FOREIGN"
    JOURNAL_BEHIND = "JOURNAL_BEHIND"
    JOURNAL_UNAVAILABLE = "JOURNAL_UNAVAILABLE"
    POLICY_INVALID = "POLICY_INVALID"
