"""Pure decisions about records: what a stated envelope lacks, and whether it may hang on what it names."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from typing import Final, cast

from pydantic import JsonValue

from graph.access import Caller
from graph.clock import instant_from_text
from graph.envelope import (
    CLOSED_FIELDS,
    INSTANT_FIELDS,
    WORKED_OUT,
    Fault,
    RecordInput,
    blank_faults,
    inference_faults,
    is_unstated,
    tool_faults,
)
from graph.errors import Blocked, Conflict, InvalidInput, NotAuthorized, NotFound, Refused
from graph.ids import is_plain, name_checked
from graph.policy.model import Policy
from graph.records.authority import trust_checked
from graph.records.model import Draft, Known
from graph.records.stored import lacking_fields
from graph.vocabulary import (
    CONTROL_EDGES,
    DERIVATION_EDGES,
    DerivationType,
    EdgeType,
    ReasonCode,
    RecordClass,
    RecordState,
)

QUARANTINE_KIND: Final = "quarantined_object"
# Instants outside of these cannot be written as RFC 3339 in UTC: 1000-01-01 and 9999-12-31T23:59:59.999999.
INSTANT_MIN: Final = -30_610_224_000_000_000
INSTANT_MAX: Final = 253_402_300_799_999_999
# Derivation by observing or capturing; every other derivation edge says that something was worked out.
_OBSERVING_EDGES: Final = frozenset({EdgeType.OBSERVED_FROM, EdgeType.BACKED_UP_FROM, EdgeType.EXPORTED_FROM})
_FIRST_HAND: Final = frozenset({DerivationType.OBSERVED.value, DerivationType.ASSERTED.value})
# From the class of a source to the class of what is made of it: what no conversion contract can permit (MOV-01). State is
# written on commands, never out of what a model saw or a run noted down; and only an artifact is proposed as memory.
BARRED_MOVEMENTS: Final = frozenset(
    {
        (RecordClass.CONTEXT.value, RecordClass.WORKFLOW_STATE.value),
        (RecordClass.SCRATCH.value, RecordClass.WORKFLOW_STATE.value),
        (RecordClass.PREFERENCE.value, RecordClass.WORKFLOW_STATE.value),
        (RecordClass.MEMORY.value, RecordClass.WORKFLOW_STATE.value),
        (RecordClass.SCRATCH.value, RecordClass.MEMORY.value),
        (RecordClass.CONTEXT.value, RecordClass.MEMORY.value),
    }
)


def admission_faults(record: RecordInput, stated: Mapping[str, JsonValue], policy: Policy) -> list[Fault]:
    """Every demand of its class that a record does not meet; any fault means quarantine (CLS-08, ENV-05).

    Args:
        record: what the producer states.
        stated: its envelope fields; see `RecordInput.stated`.
        policy: what each class demands.
    """
    try:
        record_class = RecordClass(str(stated.get("class", "")))
    except ValueError:
        return [Fault(ReasonCode.MISSING_CLASS, "class")]
    if not stated.get("kind"):
        return [Fault(ReasonCode.MISSING_CLASS, "kind")]
    if policy.kind(str(stated["kind"])).record_class is not record_class:
        return [Fault(ReasonCode.MISSING_CLASS, "class")]
    if stated["kind"] == QUARANTINE_KIND:
        # A producer that says so cannot classify it (CLS-09).
        return [Fault(ReasonCode.MISSING_CLASS, "kind")]
    if record_class is RecordClass.SCRATCH and _lacks(stated, "runId", "expiresAt"):
        return [Fault(ReasonCode.MISSING_RUN_SCOPE, "runId" if _lacks(stated, "runId") else "expiresAt")]
    demands = policy.class_policy(record_class)
    operation = record.operation.type if record.operation else None
    return [
        *blank_faults(stated, demands.required, demands.may_be_not_applicable),
        *tool_faults(stated, operation),
        *inference_faults(stated),
        *_unknown_values(stated, policy),
        *_missing_sources(record, stated, policy),
    ]


def _lacks(stated: Mapping[str, JsonValue], *fields: str) -> bool:
    return any(is_unstated(stated.get(field)) for field in fields)


def _unknown_values(stated: Mapping[str, JsonValue], policy: Policy) -> list[Fault]:
    enums: tuple[tuple[str, Container[object], ReasonCode], ...] = (
        ("derivationType", CLOSED_FIELDS["derivationType"], ReasonCode.ENVELOPE_INCOMPLETE),
        ("trust", CLOSED_FIELDS["trust"], ReasonCode.MISSING_TRUST_LABEL),
        ("reviewState", CLOSED_FIELDS["reviewState"], ReasonCode.ENVELOPE_INCOMPLETE),
        ("ownerId", policy.owners, ReasonCode.MISSING_OWNER),
        ("retentionClass", policy.retention_classes, ReasonCode.ENVELOPE_INCOMPLETE),
    )
    faults = [Fault(code, field) for field, allowed, code in enums if not _is_one_of(stated.get(field), allowed)]
    purposes = stated.get("purpose")
    named = purposes if isinstance(purposes, list) and not is_unstated(purposes) else []
    if not policy.purposes.issuperset(str(purpose) for purpose in named):
        faults.append(Fault(ReasonCode.MISSING_PURPOSE, "purpose"))
    return faults


def _is_one_of(value: JsonValue, allowed: Container[object]) -> bool:
    return (isinstance(value, str) and value in allowed) or is_unstated(value)


def _missing_sources(record: RecordInput, stated: Mapping[str, JsonValue], policy: Policy) -> list[Fault]:
    """What was worked out, and what only exists as a derivative, names what it was made of."""
    derived = any(source.edge in DERIVATION_EDGES for source in record.sources)
    hangs = stated.get("derivationType") in WORKED_OUT or not policy.kind(str(stated["kind"])).stands_alone
    if hangs and not derived:
        return [Fault(ReasonCode.MISSING_PROVENANCE, "sources")]
    return []


def texts_checked(stated: Mapping[str, JsonValue]) -> None:
    """Refuse text that not every store can hold exactly.

    Raises:
        InvalidInput: NUL or a lone surrogate (`NAME_NOT_ENCODABLE`), with the field.
    """
    values = list(stated.values())
    texts = [value for value in values if isinstance(value, str)]
    texts += [str(item) for value in values if isinstance(value, list) for item in value]
    if is_plain("".join(texts)):
        return
    for field, value in stated.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text:
                try:
                    name_checked(text)
                except Refused as error:
                    raise InvalidInput(error.message, code=error.code, details={"field": field}) from None


def instants_of(stated: Mapping[str, JsonValue]) -> dict[str, int | None]:
    """The instants of an envelope in microseconds; `not_applicable` is null.

    Raises:
        InvalidInput: an instant that is none, has no zone or lies too far off (`MALFORMED_INPUT`), with the field.
    """
    instants: dict[str, int | None] = {}
    for field in INSTANT_FIELDS:
        value = stated.get(field)
        instants[field] = None if value is None or is_unstated(value) else _instant(field, str(value))
    return instants


def _instant(field: str, text: str) -> int:
    details = {"field": field}
    try:
        instant = instant_from_text(text)
    except InvalidInput as error:
        raise InvalidInput(error.message, code=error.code, details=details) from None
    if not INSTANT_MIN <= instant <= INSTANT_MAX:
        raise InvalidInput(
            "an instant lies in the years 1000 to 9999 UTC", code=ReasonCode.MALFORMED_INPUT, details=details
        )
    return instant


def links_checked(draft: Draft, known: Mapping[str, Known], policy: Policy, caller: Caller) -> None:
    """Whether a record may hang on everything that it names.

    Args:
        draft: the record.
        known: what the graph knows of the identities that it touches.
        policy: which edges may join which kinds.
        caller: who registers it; may hang it only on what it may see.

    Raises:
        Refused: the first demand that is not met, with the identity it fails on.
    """
    if draft.identity in draft.touches:
        raise Conflict(
            "a record cannot be derived from itself",
            code=ReasonCode.DERIVATION_CYCLE,
            details={"cycle": [draft.identity, draft.identity]},
        )
    sources = [(link.edge, _source_of(known, link.identity, caller)) for link in draft.links]
    for edge, source in sources:
        _edge_checked(draft, edge, source, policy)
    if draft.state == RecordState.QUARANTINED:
        # It serves nobody but a reviewer; its edges stand so that a deletion of a source reaches it.
        return
    for edge, source in sources:
        _derivation_checked(draft, edge, source)
    derived = [known[link.identity] for link in draft.links if link.edge in DERIVATION_EDGES]
    _audience_checked(draft, derived)
    if draft.supersedes is not None:
        _supersession_checked(draft, _older_of(known, draft.supersedes, caller), policy)


def places_checked(draft: Draft, taken: Collection[tuple[str, str]]) -> None:
    """A copy belongs to one record: with two, the deletion of one would take the other's copy along.

    Raises:
        Conflict: another record names the same place in a store (`LOCATOR_TAKEN`), with the store.
    """
    for store in draft.stores:
        if (store["storeId"], store["locator"]) in taken:
            details = {"storeId": store["storeId"]}
            raise Conflict("another record names that copy", code=ReasonCode.LOCATOR_TAKEN, details=details)


def _source_of(known: Mapping[str, Known], identity: str, caller: Caller) -> Known:
    source = known.get(identity)
    details = {"sourceId": identity}
    if source is None or not source.is_known_to(caller):
        # What is foreign, deleted or not, and what is missing look alike to whoever may not know of it.
        raise NotFound("a source is not there", code=ReasonCode.SOURCE_NOT_FOUND, details=details)
    if source.is_tombstone:
        raise Blocked("a source was deleted", code=ReasonCode.TOMBSTONE_BLOCKED, details=details)
    if source.fenced:
        raise Blocked("a source is being deleted", code=ReasonCode.SOURCE_FENCED, details=details)
    if source.state == RecordState.QUARANTINED:
        raise Conflict("a source is in quarantine", code=ReasonCode.QUARANTINED_RECORD, details=details)
    if source.state not in {RecordState.ACTIVE, RecordState.SUPERSEDED}:
        raise Conflict("a source is not eligible", code=ReasonCode.SOURCE_NOT_ELIGIBLE, details=details)
    if not source.judged_whole and (lacking := lacking_fields(source)):
        details |= {"field": lacking[0]}
        raise Conflict("a source's envelope is not whole", code=ReasonCode.SOURCE_NOT_ELIGIBLE, details=details)
    return source


def _older_of(known: Mapping[str, Known], identity: str, caller: Caller) -> Known:
    """The version that is to be succeeded; one in quarantine may be, by a whole record: that is its way out."""
    older = known.get(identity)
    in_quarantine = older is not None and not older.is_tombstone and older.state == RecordState.QUARANTINED
    if older is not None and in_quarantine and not older.fenced and older.tenant_id == caller.tenant_id:
        return older
    return _source_of(known, identity, caller)


def _edge_checked(draft: Draft, edge: EdgeType, source: Known, policy: Policy) -> None:
    details = {"sourceId": source.identity, "edge": edge.value}
    if edge in CONTROL_EDGES or edge is EdgeType.SUPERSEDES:
        raise InvalidInput(
            "this edge is not for producers to draw", code=ReasonCode.EDGE_ENDS_NOT_ALLOWED, details=details
        )
    rule = policy.edge(edge)
    if source.tenant_id != draft.properties["tenantId"] and not rule.crosses_tenants:
        raise Conflict("this edge stays within a tenant", code=ReasonCode.TENANT_MIXING, details=details)
    # What is in quarantine has lost its kind; its edges stand as its producer claimed them.
    if draft.state != RecordState.QUARANTINED and not rule.allows(draft.kind, source.kind):
        raise InvalidInput(
            "this edge does not join these kinds", code=ReasonCode.EDGE_ENDS_NOT_ALLOWED, details=details
        )


def _derivation_checked(draft: Draft, edge: EdgeType, source: Known) -> None:
    details = {"sourceId": source.identity, "edge": edge.value}
    if edge in DERIVATION_EDGES and (source.record_class, draft.record_class) in BARRED_MOVEMENTS:
        raise InvalidInput(
            "nothing of this class is made of a record of that class",
            code=ReasonCode.CLASS_MOVEMENT_FORBIDDEN,
            details=details,
        )
    if (
        draft.envelope.get("derivationType") in _FIRST_HAND
        and edge in DERIVATION_EDGES
        and edge not in _OBSERVING_EDGES
    ):
        raise InvalidInput(
            "what was worked out is not an observation", code=ReasonCode.OBSERVED_FROM_INFERENCE, details=details
        )


def _audience_checked(draft: Draft, sources: Iterable[Known]) -> None:
    """A derivative is for no one and no purpose that one of its sources is not for (MEM, AMB-30)."""
    permissions = frozenset(_texts(draft.properties["permissions"]))
    purposes = frozenset(_texts(draft.properties["purposes"]))
    for source in sources:
        details = {"sourceId": source.identity}
        if not permissions <= source.permissions or not purposes <= source.purposes:
            raise NotAuthorized(
                "the audience would be wider than a source's", code=ReasonCode.AUDIENCE_WIDENING, details=details
            )


def _supersession_checked(draft: Draft, older: Known, policy: Policy) -> None:
    details = {"sourceId": older.identity}
    if older.tenant_id != draft.properties["tenantId"]:
        raise Conflict("a version belongs to its tenant", code=ReasonCode.TENANT_MIXING, details=details)
    if older.state == RecordState.QUARANTINED:
        # The whole record takes the place of the one that was not: there is no kind or trust to carry on.
        return
    # A version whose successor was deleted may get another one.
    if older.state != RecordState.ACTIVE and older.succeeded:
        raise Conflict("that version has a successor", code=ReasonCode.SUPERSESSION_FORK, details=details)
    if not policy.edge(EdgeType.SUPERSEDES).allows(draft.kind, older.kind):
        raise InvalidInput(
            "a version supersedes one of its kind", code=ReasonCode.EDGE_ENDS_NOT_ALLOWED, details=details
        )
    trust_checked(draft, older)


def _texts(value: object) -> list[str]:
    return [str(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def cycle_among(waiting: Mapping[str, frozenset[str]]) -> list[str]:
    """A cycle in a graph where every node has an edge to another waiting node: the identities along it, first repeated.

    Args:
        waiting: identity → the waiting identities that it hangs on; none of the values is empty, and each is a key.
    """
    seen: dict[str, int] = {}
    path: list[str] = []
    node = min(waiting)
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = min(waiting[node])
    return [*path[seen[node] :], node]
