"""What may be asked of a walk, who may see what comes back, and how a page says where it ended. No I/O."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import cast

from graph.access import Caller
from graph.database.rows import Row
from graph.errors import InvalidInput, Oversized
from graph.lineage.model import (
    BEING_DELETED,
    DEFAULT_EDGES,
    DEPTH_MAX,
    PAGE_SIZE_MAX,
    WALKABLE_EDGES,
    Asked,
    Direction,
    Selection,
)
from graph.policy.model import Policy
from graph.vocabulary import ReasonCode, RecordState

_CHECK_CHARACTERS = 32


@dataclass(frozen=True)
class Position:
    """The last item of a page; the next one starts after it."""

    direction: Direction
    identity: str


def selection_checked(policy: Policy, identity: str, asked: Asked) -> Selection:
    """A selection that makes sense.

    Raises:
        InvalidInput: a depth below 0, no edge type, one that no walk follows, or a kind that the policy does not know.
        Oversized: a depth above `DEPTH_MAX`.
    """
    depth_max, edge_types, kinds = asked.get("depth_max"), asked.get("edge_types"), asked.get("kinds")
    if depth_max is not None and depth_max < 0:
        raise InvalidInput("a depth is 0 or more", code=ReasonCode.MALFORMED_INPUT, details={"field": "depth_max"})
    if depth_max is not None and depth_max > DEPTH_MAX:
        raise _too_large("DEPTH_MAX", DEPTH_MAX)
    types = DEFAULT_EDGES if edge_types is None else frozenset(edge_types)
    if not types or not types <= WALKABLE_EDGES:
        raise InvalidInput(
            "a walk follows derivation and relation edges, one type at least",
            code=ReasonCode.UNKNOWN_EDGE_TYPE,
            details={"edges": sorted(types - WALKABLE_EDGES)},
        )
    chosen = None if kinds is None else frozenset(kinds)
    if chosen is not None and not chosen:
        raise InvalidInput("name one kind at least", code=ReasonCode.MALFORMED_INPUT, details={"field": "kinds"})
    for kind in sorted(chosen or ()):
        policy.kind(kind)
    return Selection(identity, asked["direction"], depth_max, types, chosen, asked.get("include_deleted", False))


def page_size_checked(page_size: int) -> int:
    """A page size within its bounds.

    Raises:
        InvalidInput: below 1.
        Oversized: above `PAGE_SIZE_MAX`.
    """
    if page_size < 1:
        raise InvalidInput("a page has 1 item or more", code=ReasonCode.MALFORMED_INPUT, details={"field": "page_size"})
    if page_size > PAGE_SIZE_MAX:
        raise _too_large("PAGE_SIZE_MAX", PAGE_SIZE_MAX)
    return page_size


@dataclass(frozen=True)
class Sight:
    """What a caller may be shown. The queries have judged it already; this does not rely on that."""

    tenants: frozenset[str]
    states: frozenset[str]
    grants: frozenset[str]
    purpose: str
    include_deleted: bool

    def covers(self, row: Row) -> bool:
        """Whether what a row says may be shown.

        A tombstone has no tenant, so that only the query can tell whose deletion left it.
        """
        if row.truth("isTombstone"):
            return self.include_deleted
        if row.is_null("purposes") or row.is_null("permissions"):
            return False
        return (
            row.text_or_none("tenantId") in self.tenants
            and row.text_or_none("state") in self.states
            and self.purpose in row.texts("purposes")
            and not self.grants.isdisjoint(row.texts("permissions"))
        )


def sight_of(caller: Caller, *, include_deleted: bool) -> Sight:
    """What this caller may be shown."""
    return Sight(
        tenants=frozenset(caller.tenants),
        states=frozenset(caller.states),
        grants=frozenset(caller.grants),
        purpose=caller.purpose,
        include_deleted=include_deleted,
    )


def state_shown(row: Row) -> str | None:
    """The state that is shown: a record that a deletion has fenced says so. None for a tombstone, which has none."""
    state = row.text_or_none("state")
    settled = state in {RecordState.INVALIDATED, RecordState.RETAINED}
    return BEING_DELETED if row.truth("fenced") and not settled else state


def cursor_text(selection: Selection, caller: Caller, position: Position) -> str:
    """An opaque cursor: where a page ended, bound to the selection and to what its caller may see.

    It is no secret and gives no right: whoever forges one only moves about in an answer of their own.
    """
    body = [_check(selection, caller, position), position.direction.value, position.identity]
    return base64.urlsafe_b64encode(json.dumps(body).encode()).decode()


def position_from_cursor(cursor: str, selection: Selection, caller: Caller) -> Position:
    """Where the page before ended.

    Raises:
        InvalidInput: not a cursor of this selection and caller (`CURSOR_INVALID`).
    """
    refusal = InvalidInput("this cursor is not one of this selection", code=ReasonCode.CURSOR_INVALID)
    try:
        body: object = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        raise refusal from None
    parts = cast("list[object]", body) if isinstance(body, list) else []
    if [type(part) for part in parts] != [str, str, str] or parts[1] not in selection.direction.ways:
        raise refusal
    _, direction, identity = cast("list[str]", parts)
    position = Position(Direction(direction), identity)
    if cursor != cursor_text(selection, caller, position):
        raise refusal
    return position


def _check(selection: Selection, caller: Caller, position: Position) -> str:
    asked = [
        selection.identity,
        selection.direction.value,
        selection.depth_max,
        sorted(selection.edge_types),
        None if selection.kinds is None else sorted(selection.kinds),
        selection.include_deleted,
        [caller.tenant_id, caller.tenants, caller.purpose, caller.grants, caller.states],
        [position.direction.value, position.identity],
    ]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:_CHECK_CHARACTERS]


def _too_large(limit: str, most: int) -> Oversized:
    return Oversized(f"at most {most}", code=ReasonCode.LIMIT_EXCEEDED, details={"limit": limit, "max": most})
