"""`sequela policy`: what the bundle says, before anything runs under it; and `sequela check`: whether the graph agrees."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.text import Text

from graph.errors import PolicyInvalid
from service.cli.checking import repair_lines, report_document, report_lines
from service.cli.exits import ExitCode
from service.cli.invocation import Invocation, command, load_settings
from service.cli.tables import fields

app = typer.Typer(help="The policy bundle.", no_args_is_help=True)


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    root.add_typer(app, name="policy", rich_help_panel="Examine")
    command(root, "check", example="sequela check", acts=False, looks=True, panel="Examine")(check)


@command(app, "check", example="sequela policy check my-policy", acts=False)
def check_policy(
    invocation: Invocation,
    folder: Annotated[
        Path | None, typer.Argument(exists=True, file_okay=False, help="The bundle; that of the settings by default.")
    ] = None,
) -> None:
    """Load a bundle and name every fault with its file and cell; exit code 1 where there are any."""
    from graph.policy.loader import load_policy  # noqa: PLC0415 - heavy; only when the command runs

    chosen = folder or load_settings().policy_folder
    try:
        policy = load_policy(chosen)
    except PolicyInvalid as error:
        _answer_faults(invocation, error)
        return
    document = {
        "policyId": policy.policy_id,
        "digest": policy.digest,
        "kinds": len(policy.kinds),
        "edges": len(policy.edges),
        "stores": len(policy.stores),
        "owners": len(policy.owners),
        "purposes": sorted(policy.purposes),
        "faults": [],
    }
    invocation.screen.answer(document, Text("The bundle loads.", style="green"), fields(document))


def _answer_faults(invocation: Invocation, error: PolicyInvalid) -> None:
    faults = error.details.get("faults")
    named = [str(fault) for fault in cast("list[object]", faults)] if isinstance(faults, list) else [error.message]
    noun = "fault" if len(named) == 1 else "faults"
    told = Text(f"The bundle does not load: {len(named)} {noun}.", style="bold red")
    invocation.screen.answer({"faults": named}, *(Text(fault) for fault in named), told)
    invocation.end(ExitCode.NO)


def check(
    invocation: Invocation,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Mend first what is safe: leases that ran out, requests that wait for nothing, fences of no deletion.",
        ),
    ] = False,
) -> None:
    """Hold the live graph against every invariant and name each offender; exit code 1 where there are any."""
    from graph.database.checker import check as check_graph  # noqa: PLC0415 - heavy; only when the command runs
    from graph.database.journaling import journal_findings  # noqa: PLC0415
    from graph.database.repairs import repair  # noqa: PLC0415

    with invocation.application() as application, invocation.screen.counting("Checking") as told:
        database, policy, now = application.database, application.policy, application.clock.now()
        repairs = repair(database, policy, now=now, progress=told) if fix else ()
        journal = partial(journal_findings, database, application.journal)
        report = check_graph(database, policy, now=now, progress=told, extra=(journal,))
    invocation.screen.answer(report_document(report, repairs), *repair_lines(repairs), *report_lines(report))
    if not report.clean:
        invocation.end(ExitCode.NO)
