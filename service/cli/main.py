"""`sequela`: the command line.

Imports here cost time in every call, `--help` included, so what is heavy is imported where a command needs it.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

from service.cli.commands import database, deletion, demo, exchange, holds, keys, lineage, policy, service, stores
from service.cli.exits import MEANINGS

_EXIT_CODES: Final = ", ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items())

app = typer.Typer(
    name="sequela",
    help="What follows from a record, and what becomes of each of it when the record is deleted.",
    epilog=f"Begin with `sequela demo`. Every command takes --json and --help. Exit codes: {_EXIT_CODES}.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - only for this

        typer.echo(f"sequela {version('sequela')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    del version


demo.add_to(app)
lineage.add_to(app)
deletion.add_to(app)
holds.add_to(app)
exchange.add_to(app)
policy.add_to(app)
service.add_to(app)
stores.add_to(app)
database.add_to(app)
keys.add_to(app)


def main() -> None:
    """Run the command line."""
    app()
