"""What the checker looks for: the invariants, a finding, and the pure rules on one stored identity or request."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from pydantic import JsonValue

from graph.access import audience_of
from graph.clock import instant_from_text
from graph.envelope import LIVE_FIELDS, blank_faults, is_unstated, stored_faults
from graph.errors import InvalidInput
from graph.policy.model import Policy
from graph.vocabulary import (
    DELETION_STATES_COMPLETE,
    DELETION_STATES_TERMINAL,
    DeletionState,
    RecordClass,
    RecordState,
    TombstoneReason,
)


class Invariant(StrEnum):
    """What holds in every graph that only this service has written to."""

    ONE_CLASS = "I1"
    FULL_ENVELOPE = "I2"
    KNOWN_EDGES = "I3"
    NO_CYCLE_NO_FORK = "I4"
    ONE_IDENTITY = "I5"
    BARE_TOMBSTONE = "I6"
    NO_FORGOTTEN_DERIVATIVE = "I7"
    SETTLED_REQUEST = "I8"
    NARROW_AUDIENCE = "I9"
    ONE_TENANT = "I10"
    JOURNAL_AT_HEAD = "I11"
    KNOWN_REFERENCES = "I13"
    WORKING_FENCE = "I15"
    KEPT_LEASE = "I16"
    WHOLE_LEDGER = "I17"
    USED_BEFORE_DELETION = "I18"
    LISTED_INPUTS = "ENV-15"


NEXT_STEPS: Final[Mapping[Invariant, str]] = {
    Invariant.ONE_CLASS: "register the record again with the one class of its kind and delete this one",
    Invariant.FULL_ENVELOPE: "treat the record as unusable; register it again and delete this one",
    Invariant.KNOWN_EDGES: "find out who wrote past the service and remove what it wrote",
    Invariant.NO_CYCLE_NO_FORK: "remove the edge or the state that was written past the service",
    Invariant.ONE_IDENTITY: (
        "remove the node that came second; where the constraint is missing, remove the mark of its step"
        " (SchemaVersion 001_identity_unique) and run `sequela db schema`"
    ),
    Invariant.BARE_TOMBSTONE: "remove the property that is too many: it may be content, or say where some was",
    Invariant.NO_FORGOTTEN_DERIVATIVE: "file a deletion for the derivative, with the reason of its source's",
    Invariant.SETTLED_REQUEST: (
        "`sequela check --fix` wakes a request that waits for nothing; retry any other, and if that changes nothing,"
        " report it with this identity"
    ),
    Invariant.NARROW_AUDIENCE: "delete the derivative and register it with an audience that its sources have",
    Invariant.ONE_TENANT: "delete the derivative and look for whoever wrote past the service",
    Invariant.JOURNAL_AT_HEAD: "start the service, which applies what the journal has and the graph lacks, before it serves",
    Invariant.KNOWN_REFERENCES: "load the policy version that is named, or name the owner in the policy again",
    Invariant.LISTED_INPUTS: "find out what the work read, and register the output again with all its sources",
    Invariant.WORKING_FENCE: (
        "`sequela check --fix` lifts it where no deletion can have meant the record; else file a deletion for the record,"
        " or remove the fence if it is to stay"
    ),
    Invariant.KEPT_LEASE: "`sequela check --fix` gives it back; the next worker would take it over as well",
    Invariant.WHOLE_LEDGER: (
        "find out who wrote past the service; restore what is missing from a dump, or remove what is too many"
    ),
    Invariant.USED_BEFORE_DELETION: (
        "find out where the work had it from: a copy outlived the deletion; compare the clocks of the machines too"
    ),
}
TOMBSTONE_PROPERTIES: Final = frozenset({"identity", "deletedAt", "reasonCode", "policyRef"})
# What a stored envelope repeats of the node's own properties.
_REPEATED: Final = (("recordId", "identity"), ("class", "class"), ("kind", "kind"), ("tenantId", "tenantId"))
_REPEATED_LISTS: Final = (("permissions", "permissions"), ("purpose", "purposes"))
_REPEATED_INSTANTS: Final = ("observedAt", "expiresAt")
_REFERENCES: Final = ("ownerId", "retentionClass")
# What went with the content of an emptied record: the properties, and the names in its envelope.
_EMPTIED_PROPERTIES: Final = frozenset({"content", "principalKey", "sourceKey"})
_EMPTIED_FIELDS: Final = frozenset({"name", "scope", "principalId", "sourceId", "taskId", "runId", "stated"})


_NOT_BEGUN: Final = (DeletionState.RECEIVED, DeletionState.AUTHENTICATED, DeletionState.REJECTED)


@dataclass(frozen=True)
class Finding:
    """One offender: the invariant, the id of the node, what is wrong without any content, and what to do."""

    invariant: Invariant
    identity: str
    message: str

    @property
    def next_step(self) -> str:
        """What to do about it."""
        return NEXT_STEPS[self.invariant]


def identity_findings(stored: Mapping[str, object], policy: Policy, policy_ids: Collection[str]) -> Iterator[Finding]:
    """What is wrong with one node that has an identity.

    Args:
        stored: one entry of `list_stored_identities`.
        policy: the closed lists and demands that it is held against.
        policy_ids: the policy versions that the graph knows.
    """
    identity = _text(stored["identity"])
    is_record, is_tombstone = stored["isRecord"] is True, stored["isTombstone"] is True
    if is_record == is_tombstone:
        both = "is a record and a tombstone" if is_record else "is neither a record nor a tombstone"
        yield Finding(Invariant.ONE_IDENTITY, identity, both)
    if is_tombstone:
        yield from _tombstone_findings(identity, stored, policy_ids)
    elif is_record:
        yield from _record_findings(identity, stored, policy)


def _tombstone_findings(identity: str, stored: Mapping[str, object], policy_ids: Collection[str]) -> Iterator[Finding]:
    names = frozenset(_texts(stored["propertyNames"]))
    if lacking := sorted(TOMBSTONE_PROPERTIES - names):
        yield Finding(Invariant.BARE_TOMBSTONE, identity, f"a tombstone lacks {', '.join(lacking)}")
    if extra := len(names - TOMBSTONE_PROPERTIES):
        yield Finding(Invariant.BARE_TOMBSTONE, identity, f"a tombstone has {extra} properties besides its four")
    if stored["reasonCode"] not in tuple(TombstoneReason):
        yield Finding(Invariant.BARE_TOMBSTONE, identity, "a tombstone's reason is not on the list")
    if isinstance(stored["deletedAt"], bool) or not isinstance(stored["deletedAt"], int):
        yield Finding(Invariant.BARE_TOMBSTONE, identity, "a tombstone's time is no instant")
    if stored["policyRef"] not in policy_ids:
        yield Finding(Invariant.KNOWN_REFERENCES, identity, "a tombstone names a policy that was never loaded here")


def _record_findings(identity: str, stored: Mapping[str, object], policy: Policy) -> Iterator[Finding]:
    record_class, kind = stored["class"], stored["kind"]
    if record_class not in tuple(RecordClass):
        yield Finding(Invariant.ONE_CLASS, identity, "its class is not one of the six")
    elif kind not in policy.kinds:
        yield Finding(Invariant.ONE_CLASS, identity, "its kind is not in the policy")
    elif policy.kinds[_text(kind)].record_class != record_class:
        yield Finding(Invariant.ONE_CLASS, identity, "its class is not the one of its kind")
    for name in ("tenantId", "permissions", "purposes"):
        if not stored[name]:
            yield Finding(Invariant.FULL_ENVELOPE, identity, f"{name} is blank")
    if stored["state"] not in tuple(RecordState):
        yield Finding(Invariant.FULL_ENVELOPE, identity, "its state is not on the list")
    if stored["audience"] not in (None, _audience(stored)):
        yield Finding(Invariant.NARROW_AUDIENCE, identity, "its audience number is not the one of whom it serves")
    envelope = _envelope(stored["envelope"])
    if envelope is None:
        yield Finding(Invariant.FULL_ENVELOPE, identity, "its envelope cannot be read")
        return
    yield from _envelope_findings(identity, stored, envelope, policy)


def _audience(stored: Mapping[str, object]) -> int | None:
    """The number that its audience has, where it may have one."""
    if stored["state"] not in (RecordState.ACTIVE, RecordState.SUPERSEDED):
        return None
    lists = (tuple(_texts(stored[name])) for name in ("permissions", "purposes"))
    return audience_of(_text(stored["tenantId"]), _text(stored["kind"]), *lists)


def _envelope_findings(
    identity: str, stored: Mapping[str, object], envelope: Mapping[str, JsonValue], policy: Policy
) -> Iterator[Finding]:
    for fault in stored_faults(envelope):
        yield Finding(Invariant.FULL_ENVELOPE, identity, f"its envelope lacks {fault.field}")
    for field, name in _REPEATED:
        if envelope.get(field) != stored[name]:
            yield Finding(Invariant.FULL_ENVELOPE, identity, f"its envelope says another {field} than its node")
    if stored["state"] == RecordState.QUARANTINED:
        if not envelope.get("quarantineReasons"):
            yield Finding(Invariant.FULL_ENVELOPE, identity, "it is in quarantine without a reason")
        return
    if stored["state"] == RecordState.INVALIDATED:
        # A shell: what the class demanded went with the content.
        if not _EMPTIED_PROPERTIES.isdisjoint(_texts(stored["propertyNames"])) or _EMPTIED_FIELDS & envelope.keys():
            yield Finding(Invariant.BARE_TOMBSTONE, identity, "an emptied record still has content or a name")
        return
    yield from _repetition_findings(identity, stored, envelope)
    yield from _demand_findings(identity, stored["class"], envelope, policy)


def _repetition_findings(
    identity: str, stored: Mapping[str, object], envelope: Mapping[str, JsonValue]
) -> Iterator[Finding]:
    """Whom it serves and until when stands twice: in the envelope, and on the node for queries to filter on."""
    for field, name in _REPEATED_LISTS:
        if set(_texts(envelope.get(field))) != set(_texts(stored[name])):
            yield Finding(Invariant.FULL_ENVELOPE, identity, f"its envelope says another {field} than its node")
    for field in _REPEATED_INSTANTS:
        if _instant(envelope.get(field)) != stored[field]:
            yield Finding(Invariant.FULL_ENVELOPE, identity, f"its envelope says another {field} than its node")


def _demand_findings(
    identity: str, record_class: object, envelope: Mapping[str, JsonValue], policy: Policy
) -> Iterator[Finding]:
    if record_class in tuple(RecordClass):
        demands = policy.class_policy(RecordClass(_text(record_class)))
        required = demands.required.difference(LIVE_FIELDS)
        for fault in blank_faults(envelope, required, demands.may_be_not_applicable.difference(LIVE_FIELDS)):
            yield Finding(Invariant.FULL_ENVELOPE, identity, f"its class demands {fault.field}")
    known = (policy.owners, policy.retention_classes)
    for field, names in zip(_REFERENCES, known, strict=True):
        if field in envelope and envelope[field] not in names:
            yield Finding(Invariant.KNOWN_REFERENCES, identity, f"its {field} is not in the policy")


def request_findings(
    settlement: Mapping[str, object], policy: Policy, policy_ids: Collection[str]
) -> Iterator[Finding]:
    """What is wrong with one request.

    Args:
        settlement: one entry of `list_request_settlements`.
        policy: the owners that failures may name.
        policy_ids: the policy versions that the graph knows.
    """
    identity, state = _text(settlement["requestId"]), settlement["state"]
    if settlement["policyId"] not in policy_ids:
        yield Finding(Invariant.KNOWN_REFERENCES, identity, "a request names a policy that was never loaded here")
    if settlement["foreign"]:
        yield Finding(Invariant.ONE_TENANT, identity, "a request is for another tenant's record")
    yield from _progress_findings(identity, settlement)
    owners = _texts(settlement["owners"])
    if any(owner not in policy.owners for owner in owners if owner):
        yield Finding(Invariant.KNOWN_REFERENCES, identity, "a failure's owner is not in the policy")
    if state not in DELETION_STATES_TERMINAL or state == DeletionState.REJECTED:
        return
    lacking = (
        ("untouched", "targets without an outcome"),
        ("forgotten", "derivatives without an outcome"),
        ("undecided", "outcomes without an answer"),
    )
    for name, what in lacking:
        if settlement[name]:
            yield Finding(Invariant.SETTLED_REQUEST, identity, f"a finished request has {settlement[name]} {what}")
    if "" in owners:
        yield Finding(Invariant.SETTLED_REQUEST, identity, "a finished request has failures that nobody owns")
    if owners and state in DELETION_STATES_COMPLETE:
        yield Finding(Invariant.SETTLED_REQUEST, identity, "a request calls itself complete and has failures")


def _progress_findings(identity: str, settlement: Mapping[str, object]) -> Iterator[Finding]:
    """What is wrong with how far a request says that it has come, whether it has ended or not."""
    # A restored graph may lack records that a request is for; they get their tombstones when it runs.
    if settlement["scope"] != settlement["targets"] and settlement["state"] not in _NOT_BEGUN:
        yield Finding(Invariant.SETTLED_REQUEST, identity, "a request leads to other records than it is for")
    if settlement["waiting"] and not settlement["pending"]:
        yield Finding(
            Invariant.SETTLED_REQUEST, identity, "a request waits for its stores, and nothing is pending there"
        )
    if not settlement["propagated"]:
        return
    reached = (
        ("unfenced", "derivatives without a fence"),
        ("untouched", "targets without an outcome"),
        ("forgotten", "derivatives without an outcome"),
    )
    for name, what in reached:
        if settlement[name]:
            message = f"a request says that it has reached everything and left {settlement[name]} {what}"
            yield Finding(Invariant.SETTLED_REQUEST, identity, message)


def _instant(stated: JsonValue) -> int | None:
    try:
        return instant_from_text(stated) if isinstance(stated, str) and not is_unstated(stated) else None
    except InvalidInput:
        return None


def _envelope(text: object) -> dict[str, JsonValue] | None:
    try:
        parsed: object = json.loads(_text(text))
    except ValueError:
        return None
    return cast("dict[str, JsonValue]", parsed) if isinstance(parsed, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [str(item) for item in cast("list[object]", value)] if isinstance(value, list) else []
