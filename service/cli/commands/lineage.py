"""`sequela lineage` and `sequela show`: what came of a record, what it came from, and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer
from rich.console import RenderableType
from rich.text import Text

from graph.clock import instant_to_text
from graph.vocabulary import EdgeType
from service.cli.invocation import AFTER_DEMO, Invocation, command
from service.cli.subjects import Name, RecordId, Reference, Scope
from service.cli.tables import fields

if TYPE_CHECKING:
    from graph.records.read import TombstoneView

NOT_APPLICABLE: Final = "not_applicable"
_ROWS_MAX: Final = 10_000
_FIRST: Final = ("recordId", "name", "class", "kind", "tenantId", "deletionState", "eligible", "ineligibleBecause")


class Way(StrEnum):
    """Which way a walk goes."""

    DOWNSTREAM = "downstream"
    UPSTREAM = "upstream"
    BOTH = "both"


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    panel = "Look"
    walk_it = "sequela lineage --name summary/job --scope pump --direction upstream"
    show_it = "sequela show --name summary/job --scope pump --content"
    command(root, "lineage", example=f"{walk_it}{AFTER_DEMO}", looks=True, panel=panel)(lineage)
    command(root, "show", example=f"{show_it}{AFTER_DEMO}", looks=True, panel=panel)(show)


def lineage(
    invocation: Invocation,
    record_id: RecordId = None,
    name: Name = None,
    scope: Scope = "",
    direction: Annotated[Way, typer.Option("--direction", help="Which way to walk.")] = Way.DOWNSTREAM,
    depth: Annotated[int | None, typer.Option("--depth", min=1, help="How many steps at most.")] = None,
    edge: Annotated[
        list[EdgeType] | None,
        typer.Option(
            "--edge", help="An edge type to follow; all derivation by default.", case_sensitive=False, metavar="TYPE"
        ),
    ] = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="A kind to show; all by default.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Walk through what was deleted, too.")] = False,
    counts: Annotated[bool, typer.Option("--counts", help="Numbers for each depth and kind instead.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=_ROWS_MAX, help="How many to show at most.")] = 500,
) -> None:
    """Show what came of a record as a tree, and whether that is all of it."""
    from graph.lineage.model import DEFAULT_EDGES, Direction, Selection  # noqa: PLC0415 - heavy; only when it runs
    from service.cli import walking  # noqa: PLC0415

    reference = Reference(record_id, name, scope)
    with invocation.caller() as (application, caller):
        selection = Selection(
            identity=reference.identity(application, caller),
            direction=Direction(direction),
            depth_max=depth,
            edge_types=frozenset(edge) if edge else DEFAULT_EDGES,
            kinds=frozenset(kind) if kind else None,
            include_deleted=deleted,
        )
        if counts:
            numbers = walking.count(application, caller, selection)
            invocation.screen.answer(walking.counts_document(selection, numbers), *walking.counts_lines(numbers))
            return
        page = walking.walk(application, caller, selection, limit)
        shown = walking.tree_lines(application, caller, selection, page)
    invocation.screen.answer(walking.tree_document(selection, page), *shown)


def show(
    invocation: Invocation,
    record_id: RecordId = None,
    name: Name = None,
    scope: Scope = "",
    content: Annotated[bool, typer.Option("--content", help="Show its content as well.")] = False,
) -> None:
    """Show a record's envelope, or what is left of it after its deletion."""
    from graph.records.read import TombstoneView, read_content, read_record  # noqa: PLC0415 - heavy; only when it runs

    reference = Reference(record_id, name, scope)
    with invocation.caller() as (application, caller):
        identity = reference.identity(application, caller)
        view = read_record(application.database, caller, identity)
        if isinstance(view, TombstoneView):
            _answer_tombstone(invocation, view)
            return
        document = {**view.envelope, "eligible": view.eligible, "ineligibleBecause": list(view.ineligible_because)}
        if content:
            document["content"] = read_content(application.database, caller, identity)
    invocation.screen.answer(document, *_envelope_lines(document))


def _answer_tombstone(invocation: Invocation, view: TombstoneView) -> None:
    left = {
        "recordId": view.identity,
        "deletedAt": instant_to_text(view.deleted_at),
        "reasonCode": view.reason_code,
        "policyRef": view.policy_ref,
    }
    told = Text("Deleted; this is all that is left.", style="bold")
    invocation.screen.answer({**left, "deleted": True}, told, fields(left))


def _source(source: Mapping[str, object]) -> str:
    return f"{source['edge']} {source['recordId']}{' (deleted)' if source['deleted'] else ''}"


def _envelope_lines(document: Mapping[str, object]) -> list[RenderableType]:
    """What a person looks for comes first; what does not apply comes last, on one line."""
    void = sorted(name for name, value in document.items() if value == NOT_APPLICABLE)
    order = [*_FIRST, *(name for name in document if name not in _FIRST)]
    shown = {name: document[name] for name in order if name in document and name not in void}
    if isinstance(sources := document.get("sources"), list):
        shown["sources"] = "\n".join(_source(one) for one in cast("list[Mapping[str, object]]", sources))
    return [fields(shown), *([Text(f"not applicable: {', '.join(void)}", style="dim")] if void else [])]
