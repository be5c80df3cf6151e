"""Where a record comes from: its origins, the operations behind it, its versions, its approvals."""

from __future__ import annotations

from typing import Final

from graph.database.rows import Row
from graph.lineage.model import (
    DEPTH_MAX,
    Approval,
    Approvals,
    CompletenessReceipt,
    History,
    Limit,
    Operations,
    Origin,
    Origins,
    ProducingOperation,
    Version,
)
from graph.lineage.reader import Reader
from graph.lineage.rules import state_shown
from graph.records.model import known_from_row
from graph.vocabulary import DERIVATION_EDGES, RecordState

VERSIONS_MAX: Final = 1_000
ORIGINS_MAX: Final = 10_000
OPERATIONS_MAX: Final = 10_000


def find_origins(reader: Reader, identity: str) -> Origins:
    """The roots of a record; see `Lineage.origins`."""
    rows, receipt = _upstream(reader, "expand_origins", identity, Limit.ORIGINS, ORIGINS_MAX)
    items = [_origin(row) for row in rows]
    return Origins(tuple(sorted(items, key=lambda item: (item.depth, item.identity))), receipt)


def find_operations(reader: Reader, identity: str) -> Operations:
    """The operations behind a record; see `Lineage.operations`."""
    rows, receipt = _upstream(reader, "expand_operations", identity, Limit.OPERATIONS, OPERATIONS_MAX)
    items = [
        ProducingOperation(
            identity=row.text("identity"),
            depth=row.number("depth"),
            operation_id=row.text("operationId"),
            type=row.text("type"),
            producer_id=row.text_or_none("producerId"),
            producer_version=row.text_or_none("producerVersion"),
            method=row.text_or_none("method"),
            at=row.number("at"),
            used=tuple(sorted(one.text("identity") for one in row.rows("used") if reader.sight.covers(one))),
        )
        for row in rows
    ]
    return Operations(tuple(sorted(items, key=lambda item: (item.depth, item.identity))), receipt)


def find_history(reader: Reader, identity: str) -> History:
    """The versions of a record; see `Lineage.history`."""
    row = reader.one("expand_versions", identity, literals={"levels": VERSIONS_MAX + 1})
    found = row.rows("rows")
    seen = sorted((one for one in found if reader.sight.covers(one)), key=lambda one: one.number("place"))
    kept = [one for one in seen if abs(one.number("place")) <= VERSIONS_MAX]
    versions = tuple(_version(one, is_newest=one is seen[-1]) for one in kept)
    receipt = reader.receipt(
        nodes=max(len(versions) - 1, 0),
        edges=max(len(versions) - 1, 0),
        deepest=max((abs(one.number("place")) for one in kept), default=0),
        limits=(Limit.VERSIONS,) if len(kept) < len(seen) else (),
        withheld=row.truth("withheld") or len(seen) < len(found),
    )
    return History(versions, receipt)


def find_approvals(reader: Reader, identity: str) -> Approvals:
    """The approvals of a record; see `Lineage.approvals`."""
    row = reader.one("list_approvals", identity)
    found = row.rows("rows")
    seen = [one for one in found if reader.sight.covers(one)]
    items = [Approval(one.text("identity"), state_shown(one)) for one in seen]
    receipt = reader.receipt(
        nodes=len(items),
        edges=len(items),
        deepest=min(len(items), 1),
        withheld=row.truth("withheld") or len(seen) < len(found),
    )
    return Approvals(tuple(sorted(items, key=lambda item: item.identity)), receipt)


def _upstream(
    reader: Reader, query: str, identity: str, limit: Limit, rows_max: int
) -> tuple[list[Row], CompletenessReceipt]:
    """What a query says of a record and everything that it was derived from."""
    row = reader.one(
        query,
        identity,
        literals={"levels": DEPTH_MAX},
        edgeTypes=sorted(DERIVATION_EDGES),
        rowsMax=rows_max,
    )
    found = row.rows("rows")
    seen = [one for one in found if reader.sight.covers(one)]
    receipt = reader.receipt(
        nodes=row.number("nodes"),
        edges=row.number("edges"),
        deepest=row.number("deepest"),
        limits=(limit,) if row.truth("cut") else (),
        withheld=row.truth("withheld") or len(seen) < len(found),
    )
    return seen, receipt


def _origin(row: Row) -> Origin:
    known = known_from_row(row)
    return Origin(
        identity=known.identity,
        depth=row.number("depth"),
        kind=known.kind,
        derivation_type=_text(known.envelope.get("derivationType")),
        source_version=_text(known.envelope.get("sourceVersion")),
    )


def _version(row: Row, *, is_newest: bool) -> Version:
    if row.truth("isTombstone"):
        return Version(row.text("identity"), version=None, kind=None, state=None, deleted=True, is_current=False)
    known, state = known_from_row(row), state_shown(row)
    return Version(
        identity=known.identity,
        version=known.version,
        kind=known.kind,
        state=state,
        deleted=False,
        is_current=is_newest and state == RecordState.ACTIVE,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
