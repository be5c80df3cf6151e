"""`sequela lineage` and `sequela show`: what came of a record, what it came from, and what it is."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer
from rich.console import RenderableType
from rich.text import Text

from graph.vocabulary import EdgeType
from service.cli.invocation import Invocation, command
from service.cli.subjects import Name, RecordId, Reference, Scope
from service.cli.tables import fields, moment

_ROWS_MAX: Final = 10_000


class Way(StrEnum):
    """Which way a walk goes."""

    DOWNSTREAM = "downstream"
    UPSTREAM = "upstream"
    BOTH = "both"


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    panel = "Look"
    command(root, "lineage", example="sequela lineage --name mem-1 --direction upstream", panel=panel)(lineage)
    command(root, "show", example="sequela show --name mem-1 --content", panel=panel)(show)


def lineage(
    invocation: Invocation,
    record_id: RecordId = None,
    name: Name = None,
    scope: Scope = "",
    direction: Annotated[Way, typer.Option("--direction", help="Which way to walk.")] = Way.DOWNSTREAM,
    depth: Annotated[int | None, typer.Option("--depth", min=1, help="How many steps at most.")] = None,
    edge: Annotated[
        list[EdgeType] | None,
        typer.Option("--edge", help="An edge type to follow; all derivation by default.", case_sensitive=False, metavar="TYPE"),
    ] = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="A kind to show; all by default.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Walk through what was deleted, too.")] = False,
    counts: Annotated[bool, typer.Option("--counts", help="Numbers for each depth and kind instead.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=_ROWS_MAX, help="How many to show at most.")] = 500,
) -> None:
    """Show what came of a record as a tree, and whether that is all of it."""
    reference = Reference(record_id, name, scope)
    from service.cli.walking import Selection, answer_counts, answer_tree  # noqa: PLC0415 - heavy; only when it runs

    with invocation.caller() as (application, caller):
        selection = Selection(
            identity=reference.identity(application, caller),
            direction=direction.value,
            depth_max=depth,
            edge_types=frozenset(edge) if edge else None,
            kinds=frozenset(kind) if kind else None,
            include_deleted=deleted,
        )
        answer = answer_counts if counts else answer_tree
        document, shown = answer(application, caller, selection, limit)
    invocation.screen.answer(document, *shown)


def show(
    invocation: Invocation,
    record_id: RecordId = None,
    name: Name = None,
    scope: Scope = "",
    content: Annotated[bool, typer.Option("--content", help="Show its content as well.")] = False,
) -> None:
    """Show a record's envelope, or what is left of it after its deletion."""
    reference = Reference(record_id, name, scope)
    from graph.records.read import TombstoneView, read_content, read_record  # noqa: PLC0415 - heavy

    with invocation.caller() as (application, caller):
        identity = reference.identity(application, caller)
        view = read_record(application.database, caller, identity)
        if isinstance(view, TombstoneView):
            shown = {"recordId": identity, "deletedAt": moment(view.deleted_at), "reasonCode": view.reason_code}
            parts: list[RenderableType] = [Text("Deleted; this is all that is left.", style="bold")]
            document: dict[str, object] = {**shown, "policyRef": view.policy_ref, "deleted": True}
            invocation.screen.answer(document, *parts, fields({**shown, "policyRef": view.policy_ref}))
            return
        document = {**view.envelope, "eligible": view.eligible, "ineligibleBecause": list(view.ineligible_because)}
        if content:
            document["content"] = read_content(application.database, caller, identity)
    invocation.screen.answer(document, fields(document))
