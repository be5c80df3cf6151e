"""`sequela import`: records from files of other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from service.cli.exits import ExitCode
from service.cli.invocation import Invocation, command


class Format(StrEnum):
    """What a file holds."""

    NDJSON = "ndjson"
    PROV_JSON = "prov-json"


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    command(root, "import", example="sequela import records.ndjson", panel="Add")(import_file)


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
    """Import records; exit code 1 where some were refused.

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
