"""`sequela import` and `sequela export`: records from files of other tools, and documents for them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from service.cli.exits import ExitCode
from service.cli.invocation import AFTER_DEMO, Invocation, command

export_app = typer.Typer(help="Documents for other tools.", no_args_is_help=True)


class Format(StrEnum):
    """What a file holds."""

    NDJSON = "ndjson"
    PROV_JSON = "prov-json"


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    command(root, "import", example="sequela import records.ndjson", panel="Add")(import_file)
    root.add_typer(export_app, name="export", rich_help_panel="Look")


def import_file(
    invocation: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file; - for standard input.")],
    form: Annotated[Format, typer.Option("--format", help="What it holds.")] = Format.NDJSON,
    scope: Annotated[
        str | None, typer.Option("--scope", help="Keeps the names of this PROV document apart from others'.")
    ] = None,
    observed_at: Annotated[
        str | None, typer.Option("--observed-at", help="When the PROV document was seen; the file's date by default.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Lets nameless NDJSON records of a repeated import meet themselves.")
    ] = None,
) -> None:
    """Import records; exit code 1 where some were refused, or times of a PROV document are out of order.

    service/formats/README.md shows a whole line of NDJSON to copy, explains its fields, and says what becomes of PROV-JSON.
    A line says what the record is, begins like {"name": "note-1", "class": "artifact", "kind": "document", ...} and leaves
    out none of the fields that its class demands.

    With --json there is one line for each record of an NDJSON file, and one for the whole at the end.
    """
    if str(file) != "-" and not file.is_file():
        raise typer.BadParameter(f"There is no file {file}.")
    if form is Format.PROV_JSON and key is not None:
        raise typer.BadParameter("--key is for NDJSON: everything in a PROV document has a name.")
    if form is Format.NDJSON and (scope or observed_at):
        raise typer.BadParameter("--scope and --observed-at are for PROV-JSON: NDJSON records state their own.")
    from service.cli.importing import import_ndjson, import_prov_json  # noqa: PLC0415 - heavy; only when it runs

    with invocation.caller() as (application, caller):
        if form is Format.NDJSON:
            all_taken = import_ndjson(invocation.screen, application, caller, file, key)
        else:
            all_taken = import_prov_json(invocation.screen, application, caller, file, scope or "", observed_at)
    if not all_taken:
        invocation.end(ExitCode.NO)


_OUT = Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; - for standard output.")]


@command(export_app, "prov", example=f"sequela export prov chart.json --scope published{AFTER_DEMO}", looks=True)
def export_prov(
    invocation: Invocation,
    file: _OUT,
    scope: Annotated[str, typer.Option("--scope", help="The scope that the documents were imported under.")] = "",
) -> None:
    """Write what was imported as PROV-JSON; exit code 1 where that is not all, or nothing.

    What was deleted since is said to be invalidated, by its id, the request and the time.
    """
    from service.cli.exporting import write_export  # noqa: PLC0415 - heavy; only when it runs
    from service.formats.prov_export import export_prov_document  # noqa: PLC0415

    with invocation.caller() as (application, caller):
        export = export_prov_document(application.database, application.keys, caller, scope=scope)
    if not write_export(invocation.screen, export, file):
        invocation.end(ExitCode.NO)


@command(export_app, "account", example="sequela export account account.json", looks=True)
def export_account(invocation: Invocation, file: _OUT) -> None:
    """Write what was made when, of what, and when it was deleted, as PROV-JSON; exit code 1 where that is not all.

    It holds ids, kinds and times of the whole tenant, and no names and no content.
    """
    from service.cli.exporting import write_export  # noqa: PLC0415 - heavy; only when it runs
    from service.formats.prov_account import export_account as account_of  # noqa: PLC0415

    with invocation.caller() as (application, caller):
        export = account_of(application.database, caller)
    if not write_export(invocation.screen, export, file):
        invocation.end(ExitCode.NO)
