"""The envelope that every record carries, and what is demanded of it.

The caller states what a record is (`RecordInput`); the service adds its id, version and time. A demanded field that is
left blank never becomes permission: it becomes a quarantine with a reason code. Where a field truly has no answer for
a class, the caller says `not_applicable`, and the class must allow that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints

from graph.errors import InvalidInput, Oversized
from graph.vocabulary import DerivationType, EdgeType, OperationType, ReasonCode, ReviewState, Trust

NOT_APPLICABLE: Final = "not_applicable"
SOURCES_MAX: Final = 10_000
STORES_MAX: Final = 16
LIST_MAX: Final = 64
TEXT_MAX: Final = 512
CONTENT_BYTES_MAX: Final = 1_048_576
CONTENT_DEPTH_MAX: Final = 64
STATE_VERSION_MAX: Final = 2**63 - 1

Short = Annotated[str, StringConstraints(max_length=TEXT_MAX)]
Shorts = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=TEXT_MAX)]], Field(max_length=LIST_MAX)
]
ShortsOrNotApplicable = Shorts | Literal["not_applicable"]

# The code for a demanded field that is blank; every other field gives ENVELOPE_INCOMPLETE and its name.
MISSING_CODES: Final[Mapping[str, ReasonCode]] = {
    "class": ReasonCode.MISSING_CLASS,
    "kind": ReasonCode.MISSING_CLASS,
    "ownerId": ReasonCode.MISSING_OWNER,
    "tenantId": ReasonCode.MISSING_TENANT,
    "purpose": ReasonCode.MISSING_PURPOSE,
    "sourceId": ReasonCode.MISSING_PROVENANCE,
    "trust": ReasonCode.MISSING_TRUST_LABEL,
    "observedAt": ReasonCode.MISSING_OBSERVATION_TIME,
}
# What the service itself writes into the stored envelope.
SERVICE_FIELDS: Final = ("recordId", "version", "recordedAt", "contextEligible", "memoryDecision")
# What is read from the graph whenever the envelope is shown, so that it cannot drift from it.
LIVE_FIELDS: Final = ("conflicts", "supersedes", "deletionState", "downstreamRefs")

# The stated fields that have a closed list of their own, whatever the policy says.
CLOSED_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "derivationType": frozenset(DerivationType),
    "trust": frozenset(Trust),
    "reviewState": frozenset(ReviewState),
}

_EDGE_TYPES: Final[frozenset[str]] = frozenset(EdgeType)
# What was worked out of other records, by a program or a model.
WORKED_OUT: Final = frozenset({DerivationType.COMPUTED.value, DerivationType.MODEL_DERIVED.value})


def _depth_checked(content: object) -> object:
    """Content as it came, if its lists and objects are not nested deeper than `CONTENT_DEPTH_MAX`.

    Raises:
        Oversized: it is (`LIMIT_EXCEEDED`); raised past pydantic, which would tell a fault without the limit.
    """
    level, depth = _children(content), 1
    while level:
        if depth > CONTENT_DEPTH_MAX:
            raise Oversized(
                "content is nested too deep",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "CONTENT_DEPTH_MAX", "max": CONTENT_DEPTH_MAX},
            )
        level = [child for item in level for child in _children(item)]
        depth += 1
    return content


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast("dict[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else []


def _edge_checked(edge: object) -> object:
    """An edge type as it came, if it is registered (PRV-04).

    Raises:
        InvalidInput: it is not (`UNKNOWN_EDGE_TYPE`); raised past pydantic, whose faults have no code of their own.
    """
    if isinstance(edge, str) and edge not in _EDGE_TYPES:
        raise InvalidInput("the registry has no such edge type", code=ReasonCode.UNKNOWN_EDGE_TYPE)
    return edge


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class SourceInput(_Model):
    """One source of a record: its id or the name that it was registered under, and the edge that leads to it."""

    record_id: Annotated[
        str | None, Field(alias="recordId", max_length=36, description="The source's id; or else its name.")
    ] = None
    name: Annotated[str | None, Field(description="The name that it was registered under, in the caller's tenant.")] = (
        None
    )
    scope: Annotated[Short | None, Field(description="The scope of that name.")] = None
    edge: Annotated[
        EdgeType,
        BeforeValidator(_edge_checked),
        Field(description="How this was made of it: a derivation or a relation."),
    ]


class StoreInput(_Model):
    """Where a copy of the record lives outside the graph."""

    store_id: Annotated[
        str,
        Field(alias="storeId", min_length=1, max_length=TEXT_MAX, description="A store of the policy's stores.yaml."),
    ]
    locator: Annotated[
        str, Field(min_length=1, max_length=4_096, description="Where in the store, below the folder of the tenant.")
    ]


class OperationInput(_Model):
    """The work that produced the record; several records of one piece of work give the same `operationId`."""

    operation_id: Annotated[
        str | None,
        Field(
            alias="operationId", min_length=1, max_length=TEXT_MAX, description="The same for all that the work made."
        ),
    ] = None
    type: OperationType


class RecordInput(_Model):
    """What a producer says of a record.

    Every field that its class demands (`required` and `mayBeNotApplicable` in the policy's classes.yaml) is stated; where
    one has no answer it says `not_applicable`. What leaves one out is kept in quarantine.
    """

    name: Annotated[
        str | None,
        Field(description="The producer's own name for it; a repeat under the same name meets the same record."),
    ] = None
    scope: Annotated[Short, Field(description="Keeps names apart that others use, too.")] = ""
    record_class: Annotated[
        Short | None,
        Field(
            alias="class",
            description="workflow_state, context, scratch, artifact, preference or memory. Demanded of every record.",
        ),
    ] = None
    kind: Annotated[
        Short | None,
        Field(description="A kind of the policy's kinds.yaml; it has exactly one class. Demanded of every record."),
    ] = None
    tenant_id: Annotated[Short | None, Field(alias="tenantId", description="The tenant of the call.")] = None
    owner_id: Annotated[
        Short | None, Field(alias="ownerId", description="Who answers for it: an owner of the policy's owners.yaml.")
    ] = None
    principal_id: Annotated[Short | None, Field(alias="principalId", description="The person that it is about.")] = None
    task_id: Annotated[Short | None, Field(alias="taskId", description="The task that it belongs to.")] = None
    run_id: Annotated[Short | None, Field(alias="runId", description="The run that it belongs to.")] = None
    source_id: Annotated[Short | None, Field(alias="sourceId", description="The system that it came from.")] = None
    source_version: Annotated[
        Short | None, Field(alias="sourceVersion", description="The version of what it came from.")
    ] = None
    observed_at: Annotated[
        Short | None, Field(alias="observedAt", description="When it was true or seen: RFC 3339 with a zone.")
    ] = None
    derivation_type: Annotated[
        Short | None,
        Field(
            alias="derivationType",
            description="observed, asserted, computed or model_derived; the last two need inferenceMethod and sources.",
        ),
    ] = None
    inference_method: Annotated[
        Short | None, Field(alias="inferenceMethod", description="The program or model that worked it out.")
    ] = None
    trust: Annotated[
        Short | None,
        Field(
            description="untrusted_text, authoritative_for_field, verified_principal, reviewed or unreviewed_derived."
        ),
    ] = None
    review_state: Annotated[
        Short | None,
        Field(alias="reviewState", description="unreviewed; reviewed or rejected only by a reviewer's gate_decision."),
    ] = None
    expires_at: Annotated[
        Short | None, Field(alias="expiresAt", description="Until when it holds: RFC 3339 with a zone.")
    ] = None
    freshness_rule_id: Annotated[
        Short | None, Field(alias="freshnessRuleId", description="The rule that says how old it may be.")
    ] = None
    permissions: Annotated[
        ShortsOrNotApplicable | None,
        Field(description="Who may see it: role:ROLE and principal:ID; no wider than its sources'."),
    ] = None
    purpose: Annotated[
        ShortsOrNotApplicable | None,
        Field(description="What it may be used for: purposes of the policy's bundle.yaml; no wider than its sources'."),
    ] = None
    supersedes: Annotated[
        str | None, Field(max_length=36, description="The id of the version that this one follows.")
    ] = None
    retention_class: Annotated[
        Short | None,
        Field(alias="retentionClass", description="How long it stays: a class of the policy's retention.yaml."),
    ] = None
    producer_id: Annotated[Short | None, Field(alias="producerId", description="The program that states this.")] = None
    producer_version: Annotated[
        Short | None, Field(alias="producerVersion", description="The version of that program.")
    ] = None
    task_family: Annotated[
        Short | None, Field(alias="taskFamily", description="The tasks that a memory may serve.")
    ] = None
    confidence: Annotated[Short | None, Field(description="How sure the producer of a memory is.")] = None
    confirmed_at: Annotated[
        Short | None,
        Field(alias="confirmedAt", description="When a preference was last confirmed: RFC 3339 with a zone."),
    ] = None
    state_version: Annotated[
        int | None,
        Field(alias="stateVersion", ge=0, le=STATE_VERSION_MAX, description="The number of a workflow_state."),
    ] = None
    assembler_version: Annotated[
        Short | None, Field(alias="assemblerVersion", description="The version of what assembled a context.")
    ] = None
    responded_at: Annotated[
        Short | None, Field(alias="respondedAt", description="When a tool answered: RFC 3339 with a zone.")
    ] = None
    arguments_hash: Annotated[
        Short | None, Field(alias="argumentsHash", description="A hash of what a tool was called with.")
    ] = None
    tool_version: Annotated[
        Short | None, Field(alias="toolVersion", description="The version of the tool that answered.")
    ] = None
    tool_call_id: Annotated[Short | None, Field(alias="toolCallId", description="The call that a tool answered.")] = (
        None
    )
    # Counted where the record is drafted, so that the refusal names the limit.
    sources: Annotated[
        list[SourceInput], Field(json_schema_extra={"maxItems": SOURCES_MAX}, description="What it was made of.")
    ] = []
    stores: Annotated[
        list[StoreInput], Field(max_length=STORES_MAX, description="Where its copies outside the graph lie.")
    ] = []
    operation: Annotated[OperationInput | None, Field(description="The work that produced it.")] = None
    content: Annotated[JsonValue, BeforeValidator(_depth_checked), Field(description="What it says: any JSON.")] = None

    def stated(self) -> dict[str, JsonValue]:
        """The envelope fields as the caller stated them, by their public names; blanks are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude=_NOT_ENVELOPE, exclude_none=True)


_NOT_ENVELOPE: Final = {"name", "scope", "sources", "stores", "operation", "content"}
INSTANT_FIELDS: Final = ("observedAt", "expiresAt", "confirmedAt", "respondedAt")
TOOL_FIELDS: Final = ("toolCallId", "toolVersion", "argumentsHash", "respondedAt")


@dataclass(frozen=True)
class Fault:
    """A demand that an envelope does not meet: the code and the field."""

    code: ReasonCode
    field: str


def blank_faults(
    stated: Mapping[str, JsonValue], required: frozenset[str], may_be_not_applicable: frozenset[str]
) -> list[Fault]:
    """The demanded fields that are blank, and those that say `not_applicable` without being allowed to.

    Args:
        stated: envelope fields by public name; see `RecordInput.stated`.
        required: fields that need a value.
        may_be_not_applicable: fields that need a value or the explicit `not_applicable`.
    """
    demanded, strict = _demands(required, may_be_not_applicable)
    blank = [field for field in demanded if is_blank(stated.get(field))]
    evaded = [field for field in strict if stated.get(field) == NOT_APPLICABLE]
    return [Fault(MISSING_CODES.get(field, ReasonCode.ENVELOPE_INCOMPLETE), field) for field in [*blank, *evaded]]


@lru_cache(maxsize=64)
def _demands(
    required: frozenset[str], may_be_not_applicable: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields that a class demands, and those of them that need a value, in order."""
    return tuple(sorted(required | may_be_not_applicable)), tuple(sorted(required - may_be_not_applicable))


def tool_faults(stated: Mapping[str, JsonValue], operation: OperationType | None) -> list[Fault]:
    """What a tool's result lacks of its four call fields (ENV-04)."""
    is_tool_result = operation is OperationType.TOOL_CALL or any(not is_unstated(stated.get(f)) for f in TOOL_FIELDS)
    if not is_tool_result:
        return []
    return [Fault(ReasonCode.ENVELOPE_INCOMPLETE, field) for field in TOOL_FIELDS if is_unstated(stated.get(field))]


def inference_faults(stated: Mapping[str, JsonValue]) -> list[Fault]:
    """A computed or model-derived record names its method (ENV-09)."""
    if stated.get("derivationType") in WORKED_OUT and is_unstated(stated.get("inferenceMethod")):
        return [Fault(ReasonCode.ENVELOPE_INCOMPLETE, "inferenceMethod")]
    return []


def stored_faults(envelope: Mapping[str, JsonValue]) -> list[Fault]:
    """What a stored envelope lacks of what the service wrote into it, or holds outside of its closed list.

    Such a record is not eligible for any use. What is in quarantine keeps what its producer stated, listed or not.
    """
    lacking = [field for field in SERVICE_FIELDS if field not in envelope]
    if "quarantineReasons" not in envelope:
        lacking += [field for field, allowed in CLOSED_FIELDS.items() if not _is_listed(envelope.get(field), allowed)]
    return [Fault(ReasonCode.ENVELOPE_INCOMPLETE, field) for field in lacking]


def _is_listed(value: JsonValue, allowed: frozenset[str]) -> bool:
    return is_unstated(value) or (isinstance(value, str) and value in allowed)


def is_blank(value: JsonValue) -> bool:
    """Whether a field holds nothing: no value, no items, or nothing but white space."""
    if isinstance(value, str):
        return not value or value.isspace()
    if isinstance(value, list):
        return all(is_blank(item) for item in value)
    return value is None


def is_unstated(value: JsonValue) -> bool:
    """Whether a field holds nothing, or says that it has no answer."""
    return is_blank(value) or value == NOT_APPLICABLE
