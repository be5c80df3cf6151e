"""What the lineage room takes and gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Required, TypedDict

from graph.vocabulary import DERIVATION_EDGES, RELATION_EDGES, EdgeType, RecordState

# An approval approves no descendant: no walk follows it (PRV-05). It is asked for record by record, see `approvals`.
WALKABLE_EDGES: Final = frozenset({*DERIVATION_EDGES, *RELATION_EDGES} - {EdgeType.APPROVED_BY})
DEFAULT_EDGES: Final = frozenset({*DERIVATION_EDGES, EdgeType.SUPERSEDES})
PAGE_SIZE_MAX: Final = 10_000
PAGE_SIZE_DEFAULT: Final = 1_000
DEPTH_MAX: Final = 1_000_000_000
# The state that is shown of a record that a deletion has fenced and not yet removed.
BEING_DELETED: Final = "being_deleted"


class Direction(StrEnum):
    """Which way a walk goes from its root: to what it came from, to what came of it, or both, one after the other."""

    DOWNSTREAM = "downstream"
    UPSTREAM = "upstream"
    BOTH = "both"

    @property
    def ways(self) -> tuple[Direction, ...]:
        """The single directions, in the order in which they are paged."""
        return (Direction.DOWNSTREAM, Direction.UPSTREAM) if self is Direction.BOTH else (self,)


class Limit(StrEnum):
    """The limits that an answer can meet, by the names that its receipt gives."""

    DEPTH = "depth_max"
    TIME = "walk_timeout_seconds"
    ROUTE_EDGES = "ROUTE_EDGES_MAX"
    ROUTE_COUNT = "ROUTE_COUNT_MAX"
    VERSIONS = "VERSIONS_MAX"
    ORIGINS = "ORIGINS_MAX"
    OPERATIONS = "OPERATIONS_MAX"


@dataclass(frozen=True)
class CompletenessReceipt:
    """How whole an answer is.

    Attributes:
        nodes_visited: records that the walk reached, each once in each direction; the root and what is hidden not counted.
        edges_visited: edges of the followed types between them.
        depth_deepest: the deepest level reached, in edges from the root.
        limits_met: names of limits that cut something off.
        withheld: the walk stopped at something that this caller may not see; never how much, what or who.
        cycle: an edge of the followed types leads back to the root.
        more_follow: another page follows.
        as_of: an instant, microseconds UTC; what was committed by then is in the answer.
        bookmarks: what the database had seen, for a reader elsewhere to wait for.
    """

    nodes_visited: int
    edges_visited: int
    depth_deepest: int
    limits_met: tuple[str, ...]
    withheld: bool
    cycle: bool
    more_follow: bool
    as_of: int
    bookmarks: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether this answer, with the pages before it, is everything there was: for programs to test."""
        return not (self.limits_met or self.withheld or self.more_follow)


@dataclass(frozen=True)
class Step:
    """One edge, and the record at its other end: the nearer one in a walk, the next one in a route."""

    edge: str
    identity: str


@dataclass(frozen=True)
class LineageItem:
    """A record or tombstone that a walk reached.

    Attributes:
        identity: its id.
        direction: which way from the root.
        depth: its shortest distance from the root in edges, through what the caller may see.
        kind: its kind; None for a tombstone, which has none any more.
        record_class: its class; None for a tombstone.
        state: its state, `being_deleted` while a deletion holds it; None for a tombstone.
        deleted: whether it is a tombstone.
        via: the edges that join it to records one step nearer to the root, sorted.
        leads_to_withheld: the walk would go on from here into something that this caller may not see.
    """

    identity: str
    direction: Direction
    depth: int
    kind: str | None
    record_class: str | None
    state: str | None
    deleted: bool
    via: tuple[Step, ...]
    leads_to_withheld: bool


@dataclass(frozen=True)
class LineagePage:
    """Part of a walk; `next_cursor` is None on the last page."""

    items: tuple[LineageItem, ...]
    next_cursor: str | None
    receipt: CompletenessReceipt


@dataclass(frozen=True)
class ClosureLevel:
    """The records of one kind at one depth, in no order; `kind` is None for tombstones."""

    direction: Direction
    depth: int
    kind: str | None
    identities: tuple[str, ...]


@dataclass(frozen=True)
class LineageClosure:
    """All ids of a walk with their depths: nothing else is read of them, so that 100,000 take a fraction of a second."""

    levels: tuple[ClosureLevel, ...]
    receipt: CompletenessReceipt


@dataclass(frozen=True)
class LevelCount:
    """How many records of one kind stand at one depth; `kind` is None for tombstones."""

    direction: Direction
    depth: int
    kind: str | None
    total: int


@dataclass(frozen=True)
class LineageCounts:
    """The numbers of a walk without its ids, by direction, depth and kind."""

    levels: tuple[LevelCount, ...]
    receipt: CompletenessReceipt

    @property
    def total(self) -> int:
        """All records of the selection."""
        return sum(level.total for level in self.levels)

    @property
    def by_depth(self) -> Mapping[tuple[Direction, int], int]:
        """Totals by direction and depth."""
        totals: dict[tuple[Direction, int], int] = {}
        for level in self.levels:
            key = (level.direction, level.depth)
            totals[key] = totals.get(key, 0) + level.total
        return totals

    @property
    def by_kind(self) -> Mapping[str | None, int]:
        """Totals by kind."""
        totals: dict[str | None, int] = {}
        for level in self.levels:
            totals[level.kind] = totals.get(level.kind, 0) + level.total
        return totals


class Asked(TypedDict, total=False):
    """What is asked of a walk.

    Attributes:
        direction: downstream to derivatives, upstream to sources, or both (downstream pages first).
        depth_max: how many levels, in edges; all where None.
        edge_types: what to follow: derivation and relation edges but `APPROVED_BY`; derivation and `SUPERSEDES` where
            None.
        kinds: show records of these kinds alone; the walk goes on through others. Tombstones have no kind.
        include_deleted: show tombstones and walk through them.
    """

    direction: Required[Direction]
    depth_max: int | None
    edge_types: Collection[EdgeType] | None
    kinds: Collection[str] | None
    include_deleted: bool


@dataclass(frozen=True)
class Selection:
    """What a walk was asked, checked and made whole."""

    identity: str
    direction: Direction
    depth_max: int | None
    edge_types: frozenset[EdgeType]
    kinds: frozenset[str] | None
    include_deleted: bool


@dataclass(frozen=True)
class Witness:
    """One route from a source to its derivative, as the steps after the source; the last edge enters the derivative."""

    steps: tuple[Step, ...]

    @property
    def entered_by(self) -> str:
        """The type of the edge that enters the derivative."""
        return self.steps[-1].edge


@dataclass(frozen=True)
class RouteAnswer:
    """How a derivative hangs on one of its sources.

    Attributes:
        source: the record where the routes start.
        derivative: the record where they end.
        count: the number of distinct routes along derivation edges (two edges between two records are two routes);
            exact unless `at_least`.
        at_least: a limit was met, and there may be more routes than `count`.
        witnesses: a shortest route for each type of edge that enters the derivative, sorted by that type.
    """

    source: str
    derivative: str
    count: int
    at_least: bool
    witnesses: tuple[Witness, ...]
    receipt: CompletenessReceipt


@dataclass(frozen=True)
class Version:
    """One version in a chain; `is_current` where it serves and nothing supersedes it."""

    identity: str
    version: int | None
    kind: str | None
    state: str | None
    deleted: bool
    is_current: bool


@dataclass(frozen=True)
class History:
    """The versions of a record that the caller may see, oldest first."""

    versions: tuple[Version, ...]
    receipt: CompletenessReceipt


@dataclass(frozen=True)
class Origin:
    """A record upstream that was derived from nothing, with its kind of origin and the source it names."""

    identity: str
    depth: int
    kind: str
    derivation_type: str | None
    source_version: str | None


@dataclass(frozen=True)
class Origins:
    """The roots of a record."""

    items: tuple[Origin, ...]
    receipt: CompletenessReceipt

    @property
    def kinds_of_origin(self) -> frozenset[str]:
        """The kinds of origin at the roots (CLS-12)."""
        return frozenset(item.derivation_type for item in self.items if item.derivation_type is not None)


@dataclass(frozen=True)
class ProducingOperation:
    """The work that produced one record of the lineage, and the records that it used."""

    identity: str
    depth: int
    operation_id: str
    type: str
    producer_id: str | None
    producer_version: str | None
    method: str | None
    at: int
    used: tuple[str, ...]


@dataclass(frozen=True)
class Operations:
    """The operations behind a record, nearest first."""

    items: tuple[ProducingOperation, ...]
    receipt: CompletenessReceipt


@dataclass(frozen=True)
class Approval:
    """A record that approves another one, and its state."""

    identity: str
    state: str | None


@dataclass(frozen=True)
class Approvals:
    """The approvals of one record."""

    items: tuple[Approval, ...]
    receipt: CompletenessReceipt

    @property
    def is_approved(self) -> bool:
        """Whether an approval of this very record serves."""
        return any(item.state == RecordState.ACTIVE for item in self.items)
