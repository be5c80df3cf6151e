"""`sequela demo`: the whole of it in half a minute, on a fresh machine."""

from __future__ import annotations

from typing import Annotated

import typer

from service.cli.exits import ExitCode
from service.cli.invocation import Invocation, command, load_settings


def add_to(root: typer.Typer) -> None:
    """Add this command to the command line."""
    command(root, "demo", example="sequela demo --keep", acts=False, panel="Begin here")(demo)


def demo(
    invocation: Invocation,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the database running to look around.")] = False,
    clean: Annotated[bool, typer.Option("--clean", help="Remove what the last run left, and end.")] = False,
) -> None:
    """Register a small world, delete one preference, and see what becomes of everything made of it.

    It has a database of its own, in the folder demo of the home folder. Each run begins anew and removes what the run
    before it left.
    """
    from service.cli.demo.stage import clean as clean_up  # noqa: PLC0415 - heavy; only when the command runs
    from service.cli.demo.stage import demo_settings, staged  # noqa: PLC0415
    from service.cli.demo.story import open_demo, play  # noqa: PLC0415

    if keep and clean:
        raise typer.BadParameter("Give --keep or --clean, not both.")
    settings = demo_settings(load_settings())
    if clean:
        removed = clean_up(invocation, settings)
        told = f"Removed {removed}." if removed else "There is nothing to remove."
        invocation.screen.answer({"removed": str(removed) if removed else None}, told)
        return
    with staged(invocation, settings, keep=keep) as application:
        document = play(open_demo(invocation.screen, application), keep=keep)
    if invocation.screen.as_json:
        invocation.screen.answer(document)
    if not document["clean"]:
        invocation.end(ExitCode.NO)
