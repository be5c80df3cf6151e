"""Reading what an export writes down: a collection of records whole, or the account of everything that was made and ended.

A caller gets what the caller may see, and is told where that is not all. What a deletion ended is shown by its opaque
identity, with the time and the request, and never with content; its edges are the skeleton that the deletion left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from graph.access import Caller
from graph.clock import instant_from_text
from graph.database.database import Database
from graph.database.rows import Row
from graph.errors import Conflict, InvalidInput, Oversized
from graph.vocabulary import DERIVATION_EDGES, GRAPH_STORE, RELATION_EDGES, EdgeType, ReasonCode

COLLECTION_RECORDS_MAX: Final = 500_000
_BATCH_ROWS: Final = 1_000
_READS_MAX: Final = 3
# What a document can say: derivation, and the relations that came in with one.
_SAID_EDGES: Final = sorted({*DERIVATION_EDGES, *(edge for edge in RELATION_EDGES if edge.value.startswith("PROV_"))})


@dataclass(frozen=True)
class Joint:
    """An edge of an export, from what was made to what it was made of or is related to."""

    child: str
    edge: EdgeType
    parent: str


@dataclass(frozen=True)
class Part:
    """A record of a collection as it was imported: its name and what it says."""

    identity: str
    kind: str
    name: str
    content: JsonValue


@dataclass(frozen=True)
class Ended:
    """What a deletion ended: when, by which request, and from when to when that ran (microseconds UTC)."""

    identity: str
    at: int
    request_id: str
    received_at: int
    finished_at: int | None


@dataclass(frozen=True)
class Collection:
    """All records of one source that a caller may see, the edges between them, and what ended beside them.

    `withheld` is whether the caller may not see all of it, or a deletion of some of it is on its way.
    """

    parts: tuple[Part, ...]
    joints: tuple[Joint, ...]
    ended: tuple[Ended, ...]
    withheld: bool


@dataclass(frozen=True)
class Work:
    """The operation that made a record; `is_shared` where it made others too, so that `at` is the time of the first."""

    operation_id: str
    type: str
    at: int
    is_shared: bool


@dataclass(frozen=True)
class Entry:
    """One record or what is left of it: its work, its sources, and its end; `recorded_at` of a living one alone."""

    identity: str
    kind: str | None
    recorded_at: int | None
    work: tuple[Work, ...]
    sources: tuple[Joint, ...]
    ended: Ended | None


def read_collection(database: Database, caller: Caller, source_key: str) -> Collection:
    """Everything of one source, as it stands at one moment.

    Args:
        database: the graph.
        caller: who asks.
        source_key: the keyed hash of the source's id in the caller's tenant.

    Raises:
        Oversized: more than `COLLECTION_RECORDS_MAX` records (`LIMIT_EXCEEDED`).
        Conflict: records kept going while it was read (`STATE_CONFLICT`); nothing of it is given away.
    """
    before, withheld = _identities(database, caller, source_key)
    for _ in range(_READS_MAX):
        rows = [row for batch in _batches(before) for row in read_parts(database, caller, batch)]
        after, withheld = _identities(database, caller, source_key)
        # What is gone since may not be given away any more; what has come since is told by the next export.
        if set(before) <= set(after) and len(rows) == len(before):
            return _collection(database, caller, rows, withheld=withheld)
        before = after
    raise Conflict("records are going while they are read; try again", code=ReasonCode.STATE_CONFLICT)


def read_parts(database: Database, caller: Caller, identities: Sequence[str]) -> list[Row]:
    """What some records say, with their edges; what the caller may not see or a deletion has fenced is left out."""
    found = database.read(
        "list_collection_parts",
        identities=list(identities),
        edgeTypes=_SAID_EDGES,
        tenants=caller.tenants,
        purpose=caller.purpose,
        grants=caller.grants,
        states=caller.states,
    )
    return found[0].rows("parts")


def part_from_row(row: Row) -> Part:
    """A record of a collection; one without a name or content has empty ones."""
    envelope = cast("dict[str, JsonValue]", json.loads(row.text("envelope")))
    content = row.text_or_none("content")
    name = envelope.get("name")
    return Part(
        identity=row.text("identity"),
        kind=row.text("kind"),
        name=name if isinstance(name, str) else "",
        content=None if content is None else cast("JsonValue", json.loads(content)),
    )


def account_pages(database: Database, caller: Caller) -> Iterator[tuple[list[Entry], bool]]:
    """Everything in the caller's sight and everything that the tenant's deletions ended, in pages by identity.

    Yields:
        The entries of a page, and whether something of the tenant was withheld from it.
    """
    after = ""
    while True:
        row = database.read(
            "list_account",
            after=after,
            rowsMax=_BATCH_ROWS,
            derivations=sorted({*DERIVATION_EDGES, EdgeType.SUPERSEDES}),
            store=GRAPH_STORE,
            tenantId=caller.tenant_id,
            tenants=caller.tenants,
            purpose=caller.purpose,
            grants=caller.grants,
            states=caller.states,
        )[0]
        if row.is_null("pageLast"):
            return
        after = row.text("pageLast")
        yield [_entry(entry) for entry in row.rows("rows")], row.truth("withheld")


def _identities(database: Database, caller: Caller, source_key: str) -> tuple[list[str], bool]:
    row = database.read(
        "list_collection",
        tenantId=caller.tenant_id,
        key=source_key,
        purpose=caller.purpose,
        grants=caller.grants,
        states=caller.states,
    )[0]
    identities = row.texts("identities")
    if len(identities) > COLLECTION_RECORDS_MAX:
        raise Oversized(
            "the collection is too large for one document",
            code=ReasonCode.LIMIT_EXCEEDED,
            details={"limit": "COLLECTION_RECORDS_MAX", "max": COLLECTION_RECORDS_MAX},
        )
    return sorted(identities), row.truth("withheld")


def _collection(database: Database, caller: Caller, rows: Sequence[Row], *, withheld: bool) -> Collection:
    parts = [part_from_row(row) for row in rows]
    here = {part.identity for part in parts}
    joints: dict[Joint, None] = {}
    frontier: dict[str, None] = {}
    for row in rows:
        for joint, other in _joints(row):
            joints[joint] = None
            if other not in here:
                frontier[other] = None
    ended = _ended_from(database, caller, frontier, joints)
    shown = here | ended.keys()
    drawn = [joint for joint in joints if joint.child in shown and joint.parent in shown]
    return Collection(tuple(parts), tuple(drawn), tuple(ended.values()), withheld)


def _joints(row: Row) -> Iterator[tuple[Joint, str]]:
    """The edges of a row, each with its other end."""
    identity = row.text("identity")
    for one in row.rows("edges"):
        yield Joint(identity, EdgeType(one.text("edge")), one.text("identity")), one.text("identity")
    for one in row.rows("endedEdges"):
        yield Joint(one.text("identity"), EdgeType(one.text("edge")), identity), one.text("identity")


def _ended_from(
    database: Database, caller: Caller, frontier: dict[str, None], joints: dict[Joint, None]
) -> dict[str, Ended]:
    """What ended among the given identities and beyond them; the edges between are added to `joints`."""
    ended: dict[str, Ended] = {}
    met: set[str] = set()
    while frontier:
        met |= frontier.keys()
        found = [row for batch in _batches(list(frontier)) for row in _ended_rows(database, caller, batch)]
        frontier = {}
        for row in found:
            one = _ended(row)
            ended[one.identity] = one
            for joint, other in _joints(row):
                joints[joint] = None
                if other not in met:
                    frontier[other] = None
    return ended


def _ended_rows(database: Database, caller: Caller, identities: Sequence[str]) -> list[Row]:
    found = database.read(
        "list_ended",
        identities=list(identities),
        edgeTypes=_SAID_EDGES,
        tenantId=caller.tenant_id,
        store=GRAPH_STORE,
    )
    return found[0].rows("ended")


def _ended(row: Row) -> Ended:
    return Ended(
        identity=row.text("identity"),
        at=row.number("endedAt"),
        request_id=row.text("requestId"),
        received_at=row.number("receivedAt"),
        finished_at=row.number_or_none("finishedAt"),
    )


def _entry(row: Row) -> Entry:
    identity = row.text("identity")
    return Entry(
        identity=identity,
        kind=row.text_or_none("kind"),
        recorded_at=_recorded_at(row.text_or_none("envelope")),
        work=tuple(
            Work(one.text("operationId"), one.text("type"), one.number("at"), one.truth("shared"))
            for one in row.rows("work")
        ),
        sources=tuple(Joint(identity, EdgeType(one.text("edge")), one.text("identity")) for one in row.rows("sources")),
        ended=None if row.is_null("requestId") else _ended(row),
    )


def _recorded_at(envelope: str | None) -> int | None:
    recorded = cast("dict[str, JsonValue]", json.loads(envelope or "{}")).get("recordedAt")
    try:
        return instant_from_text(recorded) if isinstance(recorded, str) else None
    except InvalidInput:
        return None


def _batches(identities: Sequence[str]) -> Iterator[Sequence[str]]:
    return (identities[start : start + _BATCH_ROWS] for start in range(0, len(identities), _BATCH_ROWS))
