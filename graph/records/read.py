"""Reading one record: its envelope, or its content. What a caller may not see is not there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from graph.access import Caller
from graph.database.database import Database
from graph.database.rows import Row
from graph.errors import NotFound
from graph.records.model import Known, known_from_row
from graph.records.stored import instant_shown, lacking_fields
from graph.vocabulary import ReasonCode, RecordState, Role

NEIGHBOURS_MAX: Final = 1_000
_BEING_DELETED: Final = "being_deleted"
# Tells a repeat from another record; a guess at the content could be tried against it.
_UNSHOWN: Final = frozenset({"fingerprint"})


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
    rows = _seen(database, caller, "get_record", identity=identity, neighboursMax=NEIGHBOURS_MAX + 1)
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
    rows = _seen(database, caller, "get_content", identity=identity)
    if not rows or lacking_fields(known_from_row(rows[0])):
        raise NotFound("no such record", code=ReasonCode.NOT_FOUND)
    text = rows[0].text_or_none("content")
    return None if text is None else cast("JsonValue", json.loads(text))


def _seen(database: Database, caller: Caller, name: str, **params: str | int) -> list[Row]:
    """Run a reading query with what the caller may be shown."""
    return database.read(
        name,
        literals=None,
        timeout=None,
        tenantId=caller.tenant_id,
        tenants=caller.tenants,
        purpose=caller.purpose,
        grants=caller.grants,
        states=caller.states,
        audits=Role.AUDITOR in caller.roles,
        **params,
    )


def _view(identity: str, row: Row) -> RecordView:
    known = known_from_row(row)
    downstream, sources = row.texts("downstream"), row.rows("sources")
    because = _ineligible_because(known, row.number("olderVersions"))
    return RecordView(
        identity=identity,
        envelope={
            **{field: value for field, value in known.envelope.items() if field not in _UNSHOWN},
            "observedAt": instant_shown(known.observed_at, known.envelope.get("observedAt")),
            "expiresAt": instant_shown(known.expires_at, known.envelope.get("expiresAt")),
            "conflicts": cast("JsonValue", sorted(row.texts("contradicts"))),
            "supersedes": cast("JsonValue", row.texts("supersedes")),
            "supersededBy": cast("JsonValue", row.texts("supersededBy")),
            "deletionState": _BEING_DELETED if _is_going(known) else known.state,
            "downstreamRefs": cast("JsonValue", sorted(downstream)[:NEIGHBOURS_MAX]),
            "sources": cast("JsonValue", [_source(source) for source in sources[:NEIGHBOURS_MAX]]),
        },
        eligible=not because,
        ineligible_because=tuple(because),
        neighbours_complete=max(len(downstream), len(sources)) <= NEIGHBOURS_MAX,
    )


def _ineligible_because(known: Known, older_versions: int) -> list[str]:
    lacking = lacking_fields(known)
    if known.version > 1 and older_versions == 0:
        lacking.append("supersedes")
    because = [f"{ReasonCode.ENVELOPE_INCOMPLETE}:{field}" for field in lacking]
    if known.state != RecordState.ACTIVE:
        because.append(known.state)
    if _is_going(known):
        because.append(_BEING_DELETED)
    return because


def _is_going(known: Known) -> bool:
    """Whether a deletion has fenced a record and not settled it yet."""
    return known.fenced and known.state not in {RecordState.INVALIDATED, RecordState.RETAINED}


def _source(row: Row) -> dict[str, JsonValue]:
    return {"recordId": row.text("identity"), "edge": row.text("edge"), "deleted": row.truth("deleted")}
