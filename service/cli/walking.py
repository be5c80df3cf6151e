"""A lineage walk on the command line: its pages up to a limit as a tree, or its numbers, with the receipt of either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from graph.access import Caller
from graph.lineage.model import CompletenessReceipt, Direction, LineageCounts, LineageItem, LineagePage, Selection
from graph.records.read import TombstoneView, read_record
from service.bootstrap import Application
from service.cli.documents import document_of
from service.cli.tables import cell, grid, moment
from service.cli.trees import Branch, tree_of

_PAGE_ROWS: Final = 1_000
_NO_NAMES: Final[Mapping[str, str]] = {}


def walk(application: Application, caller: Caller, selection: Selection, limit: int) -> LineagePage:
    """Up to `limit` items of a walk as one page; its receipt says whether more would follow."""
    items: list[LineageItem] = []
    cursor: str | None = None
    while True:
        page = application.lineage.walk(
            caller,
            selection.identity,
            direction=selection.direction,
            depth_max=selection.depth_max,
            edge_types=selection.edge_types,
            kinds=selection.kinds,
            include_deleted=selection.include_deleted,
            page_size=min(_PAGE_ROWS, limit - len(items)),
            cursor=cursor,
        )
        items.extend(page.items)
        cursor = page.next_cursor
        if cursor is None or len(items) >= limit:
            return replace(page, items=tuple(items))


def count(application: Application, caller: Caller, selection: Selection) -> LineageCounts:
    """The numbers of a walk."""
    return application.lineage.counts(
        caller,
        selection.identity,
        direction=selection.direction,
        depth_max=selection.depth_max,
        edge_types=selection.edge_types,
        kinds=selection.kinds,
        include_deleted=selection.include_deleted,
    )


def tree_document(selection: Selection, page: LineagePage) -> dict[str, object]:
    """A walk for a machine."""
    items = [document_of(item) for item in page.items]
    return {"recordId": selection.identity, "items": items, "receipt": receipt_document(page.receipt)}


def tree_lines(
    application: Application, caller: Caller, selection: Selection, page: LineagePage
) -> list[RenderableType]:
    """A walk for a person: a tree for each direction, and whether that is all."""
    root = _root_label(application, caller, selection.identity)
    trees = [
        tree_of(
            selection.identity,
            Text.assemble(root, (f"  {way.value}", "cyan")) if selection.direction is Direction.BOTH else root,
            branches_of(item for item in page.items if item.direction is way),
        )
        for way in selection.direction.ways
    ]
    nothing = [] if page.items else [Text("Nothing is there that may be shown.", style="dim")]
    return [*trees, *nothing, receipt_line(page.receipt, shown=len(page.items))]


def branches_of(items: Iterable[LineageItem], names: Mapping[str, str] = _NO_NAMES) -> list[Branch]:
    """The items of a walk as branches of a tree; `names` call records by something better than their ids."""
    return [
        Branch(item.identity, item.depth, _label(item, names), [(step.edge, step.identity) for step in item.via])
        for item in items
    ]


def counts_document(selection: Selection, counts: LineageCounts) -> dict[str, object]:
    """Numbers for a machine."""
    levels = [document_of(level) for level in counts.levels]
    receipt = receipt_document(counts.receipt)
    return {"recordId": selection.identity, "total": counts.total, "levels": levels, "receipt": receipt}


def counts_lines(counts: LineageCounts) -> list[RenderableType]:
    """Numbers for a person."""
    table = grid("direction", "depth#", "kind", "records#")
    for level in counts.levels:
        kind = level.kind or "deleted"
        table.add_row(cell(level.direction.value), cell(str(level.depth)), cell(kind), cell(f"{level.total:,}"))
    return [*([table] if counts.levels else []), receipt_line(counts.receipt, shown=counts.total)]


def receipt_document(receipt: CompletenessReceipt) -> dict[str, object]:
    """A completeness receipt for a machine."""
    return {**document_of(receipt), "asOf": moment(receipt.as_of), "complete": receipt.complete}


def receipt_line(receipt: CompletenessReceipt, *, shown: int) -> Text:
    """A completeness receipt for a person: one line."""
    about = f"{shown:,} shown of {receipt.nodes_visited:,} reached, {receipt.depth_deepest} deep"
    why = [
        *(f"limit {limit} met" for limit in receipt.limits_met),
        *(["something is withheld from you"] if receipt.withheld else []),
        *(["more follow: see --limit"] if receipt.more_follow else []),
    ]
    whole = (
        Text("complete", style="green") if receipt.complete else Text(f"not complete: {', '.join(why)}", style="yellow")
    )
    cycle = "; a cycle leads back to the root" if receipt.cycle else ""
    return Text.assemble(f"{about}; ", whole, cycle, (f" (as of {moment(receipt.as_of)})", "dim"))


def _root_label(application: Application, caller: Caller, identity: str) -> Text:
    view = read_record(application.database, caller, identity)
    if isinstance(view, TombstoneView):
        return Text.assemble(("deleted", "red"), f"  {identity}")
    return Text.assemble((str(view.envelope["kind"]), "bold"), f"  {identity}")


def _label(item: LineageItem, names: Mapping[str, str]) -> Text:
    called = names.get(item.identity, item.identity)
    if item.deleted:
        return Text.assemble(("deleted", "red"), f"  {called}")
    state = "" if item.state in (None, "active") else f"  {item.state}"
    withheld = "  (leads to something withheld)" if item.leads_to_withheld else ""
    return Text.assemble((item.kind or "", "bold"), f"  {called}", (state, "yellow"), (withheld, "dim"))
