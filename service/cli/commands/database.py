"""`sequela db`: the private server of the home folder, and the schema of whichever server is used."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from service.cli.exits import ExitCode
from service.cli.invocation import Invocation, command, load_settings
from service.cli.tables import cell, fields, grid

if TYPE_CHECKING:
    from service.local.server import LocalServer, Status

_DUMP = Annotated[Path, typer.Argument(metavar="FILE", help="The dump.")]

app = typer.Typer(help="The private Neo4j server of the home folder (SEQUELA_HOME).", no_args_is_help=True)


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    root.add_typer(app, name="db", rich_help_panel="Run")


@command(app, "start", example="sequela db start", acts=False)
def start(invocation: Invocation) -> None:
    """Start the server and leave it running."""
    server = _server(invocation)
    connection = server.start()
    status = server.status()
    invocation.screen.answer(_document(status), f"Neo4j answers at {connection.uri} (process {status.pid}).")


@command(app, "stop", example="sequela db stop", acts=False)
def stop(invocation: Invocation) -> None:
    """Stop the server."""
    was_running = _server(invocation).stop()
    told = "Neo4j has stopped." if was_running else "Neo4j was not running."
    invocation.screen.answer({"stopped": was_running}, told)


@command(app, "status", example="sequela db status --json", acts=False)
def status(invocation: Invocation) -> None:
    """Say whether the server runs; exit code 1 where it does not."""
    found = _server(invocation).status()
    document = _document(found)
    invocation.screen.answer(document, fields(document))
    if not found.running:
        invocation.end(ExitCode.NO)


@command(app, "dump", example="sequela db dump monday.dump", acts=False)
def dump(
    invocation: Invocation,
    file: _DUMP,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write the database to a file, and the tombstone journal beside it; a running server pauses for it."""
    if file.exists() and not force:
        raise typer.BadParameter(f"{file} is there already; --force replaces it.")
    from service.local.beside import keep_journal  # noqa: PLC0415 - heavy; only when the command runs

    _server(invocation).dump(file, force=force)
    size_bytes = file.stat().st_size
    journal = keep_journal(load_settings().journal_path, file)
    told = f"Wrote {file} ({size_bytes:,} bytes){', and the journal beside it' if journal else ''}."
    document = {"file": str(file), "sizeBytes": size_bytes, "journal": str(journal) if journal else None}
    invocation.screen.answer(document, told)


@command(app, "load", example="sequela db load monday.dump", acts=False)
def load(invocation: Invocation, file: _DUMP) -> None:
    """Replace the database by a dump; what was deleted after it is deleted again at the next start."""
    from service.local.beside import return_journal  # noqa: PLC0415 - heavy; only when the command runs

    return_journal(load_settings().journal_path, file)
    _server(invocation).load(file)
    told = f"The database is the one of {file} now; the next command first deletes again what was deleted after it."
    invocation.screen.answer({"file": str(file)}, told)


@command(app, "path", example="cd $(sequela db path)", acts=False)
def path(invocation: Invocation) -> None:
    """Print the home folder."""
    home = str(load_settings().home.expanduser().absolute())
    if invocation.screen.as_json:
        invocation.screen.answer({"path": home})
    else:
        typer.echo(home)


@command(app, "schema", example="sequela db schema --check", acts=False)
def schema(
    invocation: Invocation,
    check: Annotated[bool, typer.Option("--check", help="Only look; exit code 1 where steps are missing.")] = False,
) -> None:
    """Bring the schema of the database up to date and list its steps."""
    from graph.clock import SystemClock  # noqa: PLC0415 - heavy; only when the command runs
    from graph.database.schema import apply_schema, missing_schema, schema_steps  # noqa: PLC0415
    from service.cli.connecting import open_server  # noqa: PLC0415

    with open_server(invocation) as database:
        applied = [] if check else apply_schema(database, SystemClock())
        missing = missing_schema(database)
    table = grid("step", "state")
    for step in schema_steps():
        state = "missing" if step.name in missing else "applied now" if step.name in applied else "applied"
        table.add_row(cell(step.name), Text(state, style="red" if state == "missing" else ""))
    document = {"steps": [step.name for step in schema_steps()], "applied": applied, "missing": missing}
    invocation.screen.answer(document, table)
    if missing:
        invocation.end(ExitCode.NO)


@command(app, "journal", example="sequela db journal --json", acts=False)
def journal(
    invocation: Invocation,
    renew: Annotated[
        bool, typer.Option("--renew", help="Begin a new journal where the old one is lost for good.")
    ] = False,
) -> None:
    """Say how the tombstone journal stands to the database; exit code 1 where they do not go together."""
    from graph.clock import SystemClock  # noqa: PLC0415 - heavy; only when the command runs
    from graph.database.journal import FileJournal  # noqa: PLC0415
    from graph.database.journaling import applied_in, check_pairing, renew_journal  # noqa: PLC0415
    from graph.errors import NotReady  # noqa: PLC0415
    from graph.ids import SystemIds  # noqa: PLC0415
    from service.cli.connecting import open_server  # noqa: PLC0415

    there, fault = FileJournal(load_settings().journal_path), None
    if renew and there.exists():
        raise typer.BadParameter(f"{there.path} is there: move it away before a new one is begun.")
    with open_server(invocation) as database:
        if renew:
            renew_journal(database, there, SystemIds(), SystemClock())
        applied = applied_in(database)
    try:
        if applied is not None:
            check_pairing(applied, there)
        entries = there.head().sequence
    except NotReady as error:
        fault, entries = error, None
    document = {
        "file": str(there.path),
        "entries": entries,
        "applied": applied.position.sequence if applied else None,
        "fault": fault.code if fault else None,
    }
    invocation.screen.answer(document, fields(document))
    if fault is not None:
        invocation.screen.say(f"{fault.message}.")
        invocation.end(ExitCode.NO)


def _server(invocation: Invocation) -> LocalServer:
    settings = load_settings()
    if settings.neo4j_uri is not None:
        invocation.screen.say("SEQUELA_NEO4J_URI is set: other commands use that server, not this private one.")
    return invocation.local_server(settings)


def _document(status: Status) -> dict[str, object]:
    document = asdict(status)
    return {**document, "home": os.fspath(status.home)}
