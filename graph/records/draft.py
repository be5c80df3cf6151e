"""From what a producer states to what will be stored: one place where a record takes its stored form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import quote

from pydantic import JsonValue
from pydantic_core import to_json

from graph.access import Caller, audience_of
from graph.clock import instant_to_text
from graph.envelope import CONTENT_BYTES_MAX, SOURCES_MAX, Fault, RecordInput, SourceInput, is_unstated
from graph.errors import InvalidInput, NotAuthorized, Oversized
from graph.ids import IdentityKeys, Ids, derived_id, name_checked
from graph.policy.model import Policy
from graph.records.authority import authority_checked
from graph.records.model import Draft, Known, Link
from graph.records.rules import QUARANTINE_KIND, admission_faults, instants_of, texts_checked
from graph.vocabulary import (
    DERIVATION_EDGES,
    GRAPH_STORE,
    DerivationType,
    EdgeType,
    OperationType,
    ReasonCode,
    RecordClass,
    RecordState,
    Role,
    StoreKind,
    Trust,
)

_OPERATION_OF: Final[Mapping[str, OperationType]] = {
    DerivationType.OBSERVED: OperationType.OBSERVATION,
    DerivationType.ASSERTED: OperationType.ASSERTION,
    DerivationType.COMPUTED: OperationType.COMPUTATION,
    DerivationType.MODEL_DERIVED: OperationType.MODEL_CALL,
}
_KEYED_FIELDS: Final = (("principalKey", "principalId"), ("sourceKey", "sourceId"))


class Drafter:
    """Turns inputs of one caller into drafts. Reads nothing and writes nothing."""

    def __init__(self, caller: Caller, policy: Policy, keys: IdentityKeys, ids: Ids, now: int) -> None:
        self._caller = caller
        self._policy = policy
        self._keys = keys
        self._ids = ids
        self._now = now
        self._now_text = instant_to_text(now)
        self._lookups: dict[tuple[str, str], str] = {}

    def draft(self, index: int, record: RecordInput, *, repeat_key: str | None = None) -> Draft:
        """The stored form of one record.

        Args:
            index: its place in the call, to tell verdicts apart.
            record: what the producer states.
            repeat_key: for a record without a name, a key by which a repeated call meets the same record.

        Raises:
            Refused: malformed beyond quarantine (bad instant, unknown kind, unencodable text, too large, foreign tenant),
                or claiming an authority that nothing gave it.
        """
        stated = record.stated()
        texts_checked(stated)
        content = _content(record)
        instants = instants_of(stated)
        self._tenant_checked(stated)
        authority_checked(record, stated, self._caller)
        faults = tuple(admission_faults(record, stated, self._policy))
        identity = self._identity(record, repeat_key)
        links, older = self._links(record), self._older(record)
        if faults and older is not None:
            # In quarantine it succeeds nothing, but it may hold what the older version held: a deletion must reach it.
            links = tuple(dict.fromkeys([*links, Link(older, EdgeType.PROJECTED_FROM)]))
        stores, operation = self._stores(record), self._operation(record, stated)
        envelope = self._envelope(record, stated, faults)
        envelope["recordId"] = identity
        canonical = _canonical(record, stated, identity, links, content)
        envelope["fingerprint"] = self._keys.fingerprint(self._caller.tenant_id, canonical)
        return Draft(
            index=index,
            identity=identity,
            may_repeat=record.name is not None or repeat_key is not None,
            record_class=str(envelope["class"]),
            kind=str(envelope["kind"]),
            state=RecordState.QUARANTINED if faults else RecordState.ACTIVE,
            properties={
                **self._properties(record, envelope, instants, quarantined=bool(faults)),
                "content": content,
            },
            envelope=envelope,
            links=links,
            supersedes=None if faults else older,
            stores=stores,
            operation=operation,
            faults=faults,
        )

    def _tenant_checked(self, stated: Mapping[str, JsonValue]) -> None:
        tenant_id = stated.get("tenantId")
        if not is_unstated(tenant_id) and tenant_id != self._caller.tenant_id:
            raise NotAuthorized("that tenant is not the caller's", code=ReasonCode.REQUESTER_UNAUTHORIZED)

    def _identity(self, record: RecordInput, repeat_key: str | None) -> str:
        if record.name is not None:
            return self._keys.identity(self._caller.tenant_id, record.name, scope=record.scope)
        if repeat_key is not None:
            # Apart from all names: no name that a producer chooses meets a record without one.
            key = self._keys.lookup(self._caller.tenant_id, "repeatKey", name_checked(repeat_key))
            return derived_id(self._caller.tenant_id, key)
        return self._ids.new()

    def _envelope(
        self, record: RecordInput, stated: Mapping[str, JsonValue], faults: tuple[Fault, ...]
    ) -> dict[str, JsonValue]:
        envelope: dict[str, JsonValue] = {key: value for key, value in stated.items() if key != "supersedes"}
        if faults:
            envelope["stated"] = dict(envelope)
            envelope["quarantineReasons"] = [{"code": fault.code, "field": fault.field} for fault in faults]
            envelope |= {"class": RecordClass.ARTIFACT, "kind": QUARANTINE_KIND, "trust": Trust.UNTRUSTED_TEXT}
            envelope["tenantId"] = self._caller.tenant_id
        if record.name is not None:
            envelope |= {"name": record.name, "scope": record.scope}
        envelope["recordedAt"] = self._now_text
        envelope["version"] = 1
        envelope["contextEligible"] = []
        envelope["memoryDecision"] = []
        return envelope

    def _properties(
        self,
        record: RecordInput,
        envelope: Mapping[str, JsonValue],
        instants: Mapping[str, int | None],
        *,
        quarantined: bool,
    ) -> dict[str, object]:
        tenant_id, kind = self._caller.tenant_id, envelope["kind"]
        permissions, purposes = _list(record.permissions), _list(record.purpose)
        properties: dict[str, object] = {
            "tenantId": tenant_id,
            "class": envelope["class"],
            "kind": kind,
            "state": RecordState.QUARANTINED if quarantined else RecordState.ACTIVE,
            "permissions": [f"role:{Role.REVIEWER}"] if quarantined else permissions,
            "purposes": sorted(self._policy.purposes) if quarantined else purposes,
            "audience": None if quarantined else audience_of(tenant_id, str(kind), tuple(permissions), tuple(purposes)),
            "observedAt": instants["observedAt"],
            "expiresAt": instants["expiresAt"],
        }
        for key, field in _KEYED_FIELDS:
            value = envelope.get(field)
            if isinstance(value, str) and not is_unstated(value):
                properties[key] = self._lookup(field, name_checked(value))
        return properties

    def _lookup(self, field: str, value: str) -> str:
        """A keyed hash of the caller's tenant, worked out once in a call."""
        held = self._lookups.get((field, value))
        if held is None:
            held = self._lookups[field, value] = self._keys.lookup(self._caller.tenant_id, field, value)
        return held

    def _links(self, record: RecordInput) -> tuple[Link, ...]:
        if len(record.sources) > SOURCES_MAX:
            raise Oversized(
                "too many sources",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "SOURCES_MAX", "max": SOURCES_MAX},
            )
        links = {Link(self.source_identity(source, record.scope), source.edge): None for source in record.sources}
        return tuple(links)

    def source_identity(self, source: SourceInput, scope: str) -> str:
        """The identity that a source names: by id, or by name in the record's scope or in its own."""
        if (source.record_id is None) == (source.name is None):
            raise InvalidInput("a source gives either recordId or name", code=ReasonCode.MALFORMED_INPUT)
        if source.name is not None:
            name_scope = scope if source.scope is None else source.scope
            return self._keys.identity(self._caller.tenant_id, source.name, scope=name_scope)
        return str(source.record_id)

    def _older(self, record: RecordInput) -> str | None:
        return None if is_unstated(record.supersedes) else record.supersedes

    def _stores(self, record: RecordInput) -> tuple[Mapping[str, str], ...]:
        stores: list[Mapping[str, str]] = []
        tenant_id = self._caller.tenant_id
        for store in record.stores:
            self._policy.store(store.store_id)
            if store.store_id == GRAPH_STORE:
                raise InvalidInput(
                    "the graph keeps records itself: name the stores of other copies",
                    code=ReasonCode.STORE_UNREGISTERED,
                )
            # Checked, and kept exactly as it is: a store compares bytes, and would not find a normalised locator.
            name_checked(store.locator)
            if self._policy.store(store.store_id).store_kind is StoreKind.FILES:
                _path_checked(store.locator)
            place = {"storeId": store.store_id, "locator": tenant_locator(tenant_id, store.locator)}
            if place not in stores:
                stores.append(place)
        return tuple(stores)

    def _operation(self, record: RecordInput, stated: Mapping[str, JsonValue]) -> dict[str, object]:
        given = record.operation.operation_id if record.operation else None
        kind = _OPERATION_OF.get(str(stated.get("derivationType")), OperationType.IMPORT)
        tenant_id = self._caller.tenant_id
        return {
            "operationId": derived_id(tenant_id, self._lookup("operationId", name_checked(given)))
            if given
            else self._ids.new(),
            "type": record.operation.type if record.operation else kind,
            "producerId": stated.get("producerId"),
            "producerVersion": stated.get("producerVersion"),
            "method": stated.get("inferenceMethod"),
            "at": self._now,
            "actorKey": self._lookup("principalId", self._caller.principal_id),
        }


def _path_checked(locator: str) -> None:
    """A file has one locator: spellings such as `./a` or `a/` would let two records name one copy.

    Names that begin with `.sequela` are the store's own: its marker, and drafts that belong to the copy they are of.
    """
    parts = locator.split("/")
    if any(part in {"", ".", ".."} or part.startswith(".sequela") for part in parts):
        raise InvalidInput("a locator is a plain relative path", code=ReasonCode.MALFORMED_INPUT)


def tenant_locator(tenant_id: str, locator: str) -> str:
    """Where a copy really lies in a store: below a folder of its tenant, so that no tenant can name another's copies.

    A producer writes the bytes there. The tenant's name is percent-encoded whole, so that it is one part of a path.
    """
    folder = quote(tenant_id, safe="").replace(".", "%2E")
    return f"{folder}/{locator}"


def completed(draft: Draft, known: Mapping[str, Known]) -> dict[str, object]:
    """The row that the graph stores: the draft with what it inherits from its sources.

    Freshness and expiry are the earliest of the record's own and its sources' (a derivative never looks fresher than
    what it rests on), the kinds of origin at the roots are carried along, and the version counts on from the older one.
    """
    sources = [known[link.identity] for link in draft.links if link.edge in DERIVATION_EDGES]
    envelope = dict(draft.envelope)
    inherited = frozenset[str]().union(*(source.origins for source in sources))
    own = envelope.get("derivationType")
    origins: list[JsonValue] = [*sorted(inherited or ({own} if isinstance(own, str) else frozenset[str]()))]
    envelope["origins"] = origins
    if draft.supersedes is not None:
        envelope["version"] = known[draft.supersedes].version + 1
    properties = {
        **draft.properties,
        "identity": draft.identity,
        "observedAt": _earliest(draft.properties["observedAt"], *(source.observed_at for source in sources)),
        "expiresAt": _earliest(draft.properties["expiresAt"], *(source.expires_at for source in sources)),
        "envelope": to_json(envelope).decode(),
    }
    return {
        "index": draft.index,
        "identity": draft.identity,
        "properties": {key: value for key, value in properties.items() if value is not None},
        "links": [
            {"identity": link.identity, "edge": link.edge.value, "derives": link.edge in DERIVATION_EDGES}
            for link in draft.links
        ],
        "supersedes": [draft.supersedes] if draft.supersedes else [],
        "stores": draft.stores,
        "operation": draft.operation,
    }


def properties_in(row: Mapping[str, object]) -> Mapping[str, object]:
    """The properties of the record that a row creates."""
    return cast("Mapping[str, object]", row["properties"])


def _earliest(*instants: object) -> int | None:
    return min((instant for instant in instants if isinstance(instant, int)), default=None)


def _list(value: list[str] | str | None) -> list[str]:
    return sorted(set(value)) if isinstance(value, list) else []


def _canonical(
    record: RecordInput, stated: Mapping[str, JsonValue], identity: str, links: tuple[Link, ...], content: str | None
) -> bytes:
    """What a repeat has to have in common: names by what they mean, not by their spelling; sources in any order.

    The fields of `stated` and of the models come in the order of their declaration, so equal inputs give equal bytes.
    """
    is_nested = isinstance(record.content, dict | list)
    common = {
        "stated": stated,
        "identity": identity if record.name is not None else None,
        "sources": sorted([(link.identity, link.edge) for link in links]),
        "stores": record.stores,
        "operation": record.operation,
        "content": json.dumps(record.content, sort_keys=True) if is_nested else content,
    }
    return to_json(common)


def _content(record: RecordInput) -> str | None:
    if record.content is None:
        return None
    details = {"field": "content"}
    try:
        text = json.dumps(record.content, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput(
            "content cannot hold a lone surrogate", code=ReasonCode.NAME_NOT_ENCODABLE, details=details
        ) from None
    except ValueError:
        raise InvalidInput(
            "content is not JSON: NaN, infinities and numbers of thousands of digits have no form",
            code=ReasonCode.MALFORMED_INPUT,
            details=details,
        ) from None
    if size > CONTENT_BYTES_MAX:
        raise Oversized(
            "content is too large for the graph: register it in a store and give its locator",
            code=ReasonCode.LIMIT_EXCEEDED,
            details={"limit": "CONTENT_BYTES_MAX", "max": CONTENT_BYTES_MAX},
        )
    return text
