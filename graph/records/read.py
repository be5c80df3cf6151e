"""Reading one record: its envelope, or its content. What a caller may not see is not there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from graph.access import Caller
from graph.clock import instant_to_text
from graph.database.database import Database
from graph.database.rows import Row
from graph.envelope import stored_faults
from graph.errors import NotFound
from graph.records.model import envelope_from_text
from graph.vocabulary import ReasonCode

NEIGHBOURS_MAX: Final = 1_000


@dataclass(frozen=True)
class RecordView:
    """A record as it is shown: the envelope with what the graph says now, and whether it may be used at all."""

    identity: str
    envelope: Mapping[str, JsonValue]
    eligible: bool
    ineligible_because: tuple[str, ...]
    neighbours_complete: bool


@dataclass(frozen=True)
class TombstoneView:
    """What is left of a deleted record."""

    identity: str
    deleted_at: int
    reason_code: str
    policy_ref: str


def read_record(database: Database, caller: Caller, identity: str) -> RecordView | TombstoneView:
    """The envelope of a record, or its tombstone; no content.

    Raises:
        NotFound: there is no such record for this caller (the same answer where it exists and may not be seen).
    """
    rows = database.read(
        "get_record",
        identity=identity,
        tenantId=caller.tenant_id,
        neighboursMax=NEIGHBOURS_MAX + 1,
        **_seen_by(caller),
    )
    if not rows:
        raise NotFound("no such record", code=ReasonCode.NOT_FOUND)
    row = rows[0]
    if row.truth("isTombstone"):
        return TombstoneView(identity, row.number("deletedAt"), row.text("reasonCode"), row.text("policyRef"))
    return _view(identity, row)


def read_content(database: Database, caller: Caller, identity: str) -> JsonValue:
    """The content of a record.

    Raises:
        NotFound: there is no such record for this caller, it is being deleted, or its envelope is not whole.
    """
    rows = database.read("get_content", identity=identity, **_seen_by(caller))
    if not rows or stored_faults(envelope_from_text(rows[0].text("envelope"))):
        raise NotFound("no such record", code=ReasonCode.NOT_FOUND)
    text = rows[0].text_or_none("content")
    return None if text is None else cast("JsonValue", json.loads(text))


def _seen_by(caller: Caller) -> dict[str, object]:
    return {
        "tenants": caller.tenants,
        "purpose": caller.purpose,
        "grants": caller.grants,
        "states": caller.states,
    }


def _view(identity: str, row: Row) -> RecordView:
    stored = envelope_from_text(row.text("envelope"))
    faults = stored_faults(stored)
    downstream, sources = row.texts("downstream"), row.rows("sources")
    envelope: dict[str, JsonValue] = {
        **stored,
        "observedAt": _text(row.number_or_none("observedAt")),
        "expiresAt": _text(row.number_or_none("expiresAt")),
        "conflicts": cast("JsonValue", sorted(row.texts("contradicts"))),
        "supersedes": cast("JsonValue", row.texts("supersedes")),
        "supersededBy": cast("JsonValue", row.texts("supersededBy")),
        "deletionState": "being_deleted" if row.truth("fenced") else row.text("state"),
        "downstreamRefs": cast("JsonValue", sorted(downstream)[:NEIGHBOURS_MAX]),
        "sources": cast("JsonValue", [_source(source) for source in sources[:NEIGHBOURS_MAX]]),
    }
    because = [f"{fault.code}:{fault.field}" for fault in faults]
    if row.text("state") != "active":
        because.append(row.text("state"))
    if row.truth("fenced"):
        because.append("being_deleted")
    return RecordView(
        identity=identity,
        envelope=envelope,
        eligible=not because,
        ineligible_because=tuple(because),
        neighbours_complete=max(len(downstream), len(sources)) <= NEIGHBOURS_MAX,
    )


def _source(row: Row) -> dict[str, JsonValue]:
    return {"recordId": row.text("identity"), "edge": row.text("edge"), "deleted": row.truth("deleted")}


def _text(instant: int | None) -> str | None:
    return None if instant is None else instant_to_text(instant)
