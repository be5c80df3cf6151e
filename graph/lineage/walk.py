"""Walking to derivatives or sources: a page of them, or their numbers.

Each page walks anew, in one breadth-first statement that answers lists, and then reads what is shown of the page alone;
where everything fits on one page, the walk itself answers that, too.
Pages follow the identity, which no write can move, so that everything that is there from the first page to the last is
on exactly one of them. Counts come from the very same statement, so that they cannot differ from the lists.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph.database.rows import Row
from graph.lineage.model import (
    DEPTH_MAX,
    ClosureLevel,
    CompletenessReceipt,
    Direction,
    LevelCount,
    Limit,
    LineageClosure,
    LineageCounts,
    LineageItem,
    LineagePage,
    Selection,
    Step,
)
from graph.lineage.reader import Reader
from graph.lineage.rules import Position, cursor_text, position_from_cursor, state_shown


@dataclass(frozen=True)
class _Level:
    """The records of one kind at one depth; `identities` are empty where only numbers were asked for."""

    depth: int
    kind: str | None
    total: int
    identities: Sequence[str]


@dataclass(frozen=True)
class _Walked:
    """What a walk in one direction found; `deeper` where a level below the depth limit exists.

    `row` is the answer itself: it also says what is shown of everything, where that was asked for and it is no more.
    """

    direction: Direction
    levels: tuple[_Level, ...]
    edges: int
    deeper: bool
    withheld: bool
    cycle: bool
    row: Row

    def selected(self, kinds: frozenset[str] | None) -> Iterable[_Level]:
        """The levels of these kinds."""
        return (level for level in self.levels if kinds is None or level.kind in kinds)


def walk_page(reader: Reader, selection: Selection, page_size: int, cursor: str | None) -> LineagePage:
    """A page of a walk; see `Lineage.walk`."""
    start = None if cursor is None else position_from_cursor(cursor, selection, reader.caller)
    rows_max = page_size if start is None else 0
    walks = [_expand(reader, selection, way, rows_max=rows_max) for way in selection.direction.ways]
    chosen = _after(walks, selection.kinds, start, page_size + 1)
    shown = chosen[:page_size]
    more_follow = len(chosen) > page_size
    items: list[LineageItem] = []
    withheld = False
    for walked in walks:
        wanted = [position.identity for position in shown if position.direction is walked.direction]
        found = _items(reader, selection, walked, wanted) if wanted else []
        withheld = withheld or len(found) < len(wanted)
        items.extend(found)
    return LineagePage(
        items=tuple(items),
        next_cursor=cursor_text(selection, reader.caller, shown[-1]) if more_follow else None,
        receipt=_receipt(reader, walks, more_follow=more_follow, withheld=withheld),
    )


def walk_closure(reader: Reader, selection: Selection) -> LineageClosure:
    """All ids of a walk at once; see `Lineage.closure`."""
    walks = [_expand(reader, selection, way) for way in selection.direction.ways]
    levels = tuple(
        ClosureLevel(walked.direction, level.depth, level.kind, tuple(level.identities))
        for walked in walks
        for level in walked.selected(selection.kinds)
    )
    return LineageClosure(levels, _receipt(reader, walks, more_follow=False, withheld=False))


def walk_counts(reader: Reader, selection: Selection) -> LineageCounts:
    """The numbers of a walk; see `Lineage.counts`."""
    walks = [_expand(reader, selection, way, listed=False) for way in selection.direction.ways]
    levels = [
        LevelCount(walked.direction, level.depth, level.kind, level.total)
        for walked in walks
        for level in walked.selected(selection.kinds)
    ]
    levels.sort(key=lambda level: (selection.direction.ways.index(level.direction), level.depth, level.kind or ""))
    return LineageCounts(tuple(levels), _receipt(reader, walks, more_follow=False, withheld=False))


def _expand(
    reader: Reader, selection: Selection, direction: Direction, *, listed: bool = True, rows_max: int = 0
) -> _Walked:
    depth_max = DEPTH_MAX if selection.depth_max is None else selection.depth_max
    row = reader.one(
        "expand_downstream" if direction is Direction.DOWNSTREAM else "expand_upstream",
        selection.identity,
        literals={"levels": depth_max + 1, "edgeTypes": selection.edge_types},
        followed=sorted(selection.edge_types),
        depthMax=depth_max,
        listed=listed,
        rowsMax=rows_max,
    )
    levels = _levels(row.rows("groups"))
    return _Walked(
        direction=direction,
        levels=tuple(level for level in levels if level.depth <= depth_max),
        edges=row.number("edges"),
        deeper=any(level.depth > depth_max for level in levels),
        withheld=row.truth("withheld"),
        cycle=row.truth("cycle"),
        row=row,
    )


def _levels(groups: Iterable[Row]) -> list[_Level]:
    """The groups of an answer, those of one depth and kind together."""
    totals: Counter[tuple[int, str | None]] = Counter()
    identities: defaultdict[tuple[int, str | None], list[str]] = defaultdict(list)
    for group in groups:
        at = group.number("depth"), group.text_or_none("kind")
        totals[at] += group.number("total")
        identities[at].extend(group.texts("identities"))
    return [_Level(depth, kind, total, identities[depth, kind]) for (depth, kind), total in totals.items()]


def _after(
    walks: Sequence[_Walked], kinds: frozenset[str] | None, start: Position | None, wanted: int
) -> list[Position]:
    """The first `wanted` positions after `start`, one direction after the other, by identity."""
    directions = [walked.direction for walked in walks]
    chosen: list[Position] = []
    for walked in walks[0 if start is None else directions.index(start.direction) :]:
        after = start.identity if start is not None and start.direction is walked.direction else ""
        later = (identity for level in walked.selected(kinds) for identity in level.identities if identity > after)
        chosen.extend(Position(walked.direction, identity) for identity in sorted(later)[: wanted - len(chosen)])
    return chosen


def _items(reader: Reader, selection: Selection, walked: _Walked, wanted: Sequence[str]) -> list[LineageItem]:
    """What is shown of the wanted records; one that the caller may not see (any more) is left out."""
    row = walked.row if walked.row.rows("rows") else _steps(reader, selection, walked, wanted)
    depths = {identity: level.depth for level in walked.levels for identity in level.identities}
    depths[selection.identity] = 0
    steps = _steps_nearer(reader, row.rows("nearer"), depths)
    stops = frozenset(row.texts("stops"))
    chosen = frozenset(wanted)
    seen = [one for one in row.rows("rows") if one.text("identity") in chosen and reader.sight.covers(one)]
    items = (
        LineageItem(
            identity=one.text("identity"),
            direction=walked.direction,
            depth=depths[one.text("identity")],
            kind=one.text_or_none("kind"),
            record_class=one.text_or_none("class"),
            state=state_shown(one),
            deleted=one.truth("isTombstone"),
            via=tuple(sorted(steps.get(one.text("identity"), ()), key=lambda step: (step.edge, step.identity))),
            leads_to_withheld=one.text("identity") in stops,
        )
        for one in seen
    )
    return sorted(items, key=lambda item: item.identity)


def _steps(reader: Reader, selection: Selection, walked: _Walked, wanted: Sequence[str]) -> Row:
    return reader.some(
        "list_steps_downstream" if walked.direction is Direction.DOWNSTREAM else "list_steps_upstream",
        identities=wanted,
        edgeTypes=sorted(selection.edge_types),
        lookBeyond=walked.withheld,
    )


def _steps_nearer(reader: Reader, nearer: Iterable[Row], depths: Mapping[str, int]) -> dict[str, list[Step]]:
    """For each record of the page, its edges to records that were walked and stand one level nearer to the root."""
    steps: dict[str, list[Step]] = {}
    for near in nearer:
        identity = near.text("identity")
        if identity not in depths or not reader.sight.covers(near):
            continue
        for farther, edge in zip(near.texts("farther"), near.texts("edges"), strict=True):
            if depths[farther] == depths[identity] + 1:
                steps.setdefault(farther, []).append(Step(edge, identity))
    return steps


def _receipt(reader: Reader, walks: Sequence[_Walked], *, more_follow: bool, withheld: bool) -> CompletenessReceipt:
    return reader.receipt(
        nodes=sum(level.total for walked in walks for level in walked.levels),
        edges=sum(walked.edges for walked in walks),
        deepest=max((level.depth for walked in walks for level in walked.levels), default=0),
        limits=(Limit.DEPTH,) if any(walked.deeper for walked in walks) else (),
        withheld=withheld or any(walked.withheld for walked in walks),
        cycle=any(walked.cycle for walked in walks),
        more_follow=more_follow,
    )
