"""`sequela delete`, `outcomes`, `retry` and `receipt`: from the preview of a deletion to the proof of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from graph.vocabulary import TombstoneReason
from service.cli.documents import document_of
from service.cli.exits import ExitCode
from service.cli.invocation import AFTER_DEMO, Invocation, command
from service.cli.outcomes import outcome_table, preview_lines, request_document, request_lines
from service.cli.parsing import parsed
from service.cli.tables import moment, outline

if TYPE_CHECKING:
    from graph.deletion.model import Preview, RequestView

_ANY: Final = "0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81"
_REASONS: Final = ", ".join(TombstoneReason)
_REQUEST = Annotated[str, typer.Argument(metavar="REQUEST", help="The request's id.")]


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    panel = "Delete"
    look = f"sequela delete --name manual/P-44/edition-3 --scope pump --preview{AFTER_DEMO}"
    command(root, "delete", example=look, looks=True, panel=panel)(delete)
    command(root, "outcomes", example=f"sequela outcomes {_ANY}", looks=True, panel=panel)(outcomes)
    command(root, "retry", example=f"sequela retry {_ANY}", looks=True, panel=panel)(retry)
    command(root, "receipt", example=f"sequela receipt {_ANY} --out receipt.json", looks=True, panel=panel)(receipt)


def delete(
    invocation: Invocation,
    record_ids: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="The records.")] = None,
    name: Annotated[list[str] | None, typer.Option("--name", help="A name that one was registered under.")] = None,
    scope: Annotated[str, typer.Option("--scope", help="The scope of the names.")] = "",
    principal: Annotated[str | None, typer.Option("--principal", help="All of this person; with --kind.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="All of this source; with --kind.")] = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="A kind of record.")] = None,
    reason: Annotated[
        TombstoneReason,
        typer.Option("--reason", metavar="CODE", help=f"One of {_REASONS}.", case_sensitive=False),
    ] = TombstoneReason.PRINCIPAL_REQUEST,
    preview: Annotated[bool, typer.Option("--preview", help="Show what would happen, and end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete records and everything made of them: preview, question, deletion, outcomes."""
    from graph.deletion.model import DeletionInput  # noqa: PLC0415 - heavy; only when the command runs
    from service.cli.deleting import finish  # noqa: PLC0415

    subject = _subject(record_ids, name, scope, principal, source, kind)
    asked = parsed(DeletionInput, {"subject": subject, "reasonCode": reason})
    if not preview and not yes and (invocation.screen.as_json or not sys.stdin.isatty()):
        raise typer.BadParameter("Nobody can be asked here: look with --preview, then say --yes.")
    with invocation.caller() as (application, caller):
        planned = application.deletions.preview(asked, caller)
        if preview:
            _answer_preview(invocation, planned)
            return
        if not yes:
            _ask(invocation, planned)
        bound = asked.model_copy(update={"expected_digest": planned.digest})
        asked_at = application.clock.now()
        filed = application.deletions.file(bound, caller, application.ids.new())
        if filed.received_at < asked_at:
            met = f"Its deletion was asked for before, {moment(filed.received_at)}: this is that request."
            invocation.screen.say(met, style="yellow")
        view = finish(application, caller, filed.request_id, invocation.screen)
    invocation.screen.answer(request_document(view), *request_lines(view))
    _end_as(invocation, view)


def outcomes(invocation: Invocation, request_id: _REQUEST) -> None:
    """Show a request and what became of each derivative; exit code 5 while it is not complete."""
    from service.cli.deleting import outcome_views  # noqa: PLC0415 - heavy; only when the command runs

    with invocation.caller() as (application, caller):
        view = application.deletions.view(request_id, caller)
        found = list(outcome_views(application, caller, request_id))
    document = {**request_document(view), "outcomes": [document_of(one) for one in found]}
    invocation.screen.answer(document, outcome_table(found), *request_lines(view))
    _end_as(invocation, view)


def retry(invocation: Invocation, request_id: _REQUEST) -> None:
    """Try at once what failed or waits; exit code 5 where something is still left."""
    from service.cli.deleting import finish  # noqa: PLC0415 - heavy; only when the command runs

    with invocation.caller() as (application, caller):
        application.deletions.retry(request_id, caller)
        view = finish(application, caller, request_id, invocation.screen)
    invocation.screen.answer(request_document(view), *request_lines(view))
    _end_as(invocation, view)


def receipt(
    invocation: Invocation,
    request_id: _REQUEST,
    out: Annotated[Path | None, typer.Option("--out", help="Write its exact bytes to a file.")] = None,
) -> None:
    """Show the receipt of a finished request; exit code 5 while it is not finished."""
    with invocation.caller() as (application, caller):
        data = application.deletions.receipt(request_id, caller)
    if out is not None:
        out.write_bytes(data)
        invocation.screen.answer({"file": str(out), "sizeBytes": len(data)}, f"Wrote {out} ({len(data)} bytes).")
        return
    document = json.loads(data)
    invocation.screen.answer(document, outline(document))


def _subject(
    record_ids: list[str] | None,
    names: list[str] | None,
    scope: str,
    principal: str | None,
    source: str | None,
    kinds: list[str] | None,
) -> dict[str, object]:
    ways: dict[str, object] = {
        "recordIds": record_ids,
        "names": [{"name": name, "scope": scope} for name in names or []],
        "principalId": principal,
        "sourceId": source,
    }
    given = {field: value for field, value in ways.items() if value}
    by_kind = "principalId" in given or "sourceId" in given
    if len(given) != 1 or by_kind != bool(kinds):
        raise typer.BadParameter("Give ids, or --name, or --principal with --kind, or --source with --kind.")
    return {**given, "kinds": kinds} if by_kind else given


def _answer_preview(invocation: Invocation, planned: Preview) -> None:
    invocation.screen.answer(document_of(planned), *preview_lines(planned))


def _ask(invocation: Invocation, planned: Preview) -> None:
    for part in preview_lines(planned):
        invocation.screen.err.print(part, highlight=False)
    if not typer.confirm("Delete?", err=True):
        invocation.screen.say("Nothing was deleted.")
        raise typer.Exit(ExitCode.NO)


def _end_as(invocation: Invocation, view: RequestView) -> None:
    if view.state == "REJECTED":
        invocation.end(ExitCode.REFUSED)
    if not view.complete:
        invocation.end(ExitCode.UNFINISHED)
