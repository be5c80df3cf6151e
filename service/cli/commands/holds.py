"""`sequela hold`: what may not be deleted for now, on whose authority."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from service.cli.documents import document_of
from service.cli.invocation import Invocation, command
from service.cli.parsing import parsed
from service.cli.tables import cell, fields, grid, moment

if TYPE_CHECKING:
    from graph.access import Caller
    from graph.deletion.model import ExceptionView
    from service.bootstrap import Application

PAGE_ROWS: Final = 1_000

app = typer.Typer(help="Holds: what may not be deleted for now.", no_args_is_help=True)


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    root.add_typer(app, name="hold", rich_help_panel="Delete")


@command(
    app,
    "place",
    example="sequela hold place ID --type legal_hold --authority 'Order 12' --policy-ref exceptions/legal_hold "
    "--contact mailto:legal@fieldops.example --review-at 2027-01-31T00:00:00Z",
    looks=True,
)
def place(
    invocation: Invocation,
    record_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The records to hold.")],
    exception_type: Annotated[str, typer.Option("--type", help="A type of the policy's exceptions.yaml.")],
    authority: Annotated[str, typer.Option("--authority", help="The order or duty that it rests on.")],
    policy_ref: Annotated[
        str,
        typer.Option("--policy-ref", help="What declares it: the policy's id, or exceptions/ and the type."),
    ],
    contact: Annotated[str, typer.Option("--contact", help="Who answers for it.")],
    review_at: Annotated[str, typer.Option("--review-at", help="When it is reviewed: RFC 3339 with a zone.")],
) -> None:
    """Hold records: deletions leave them, and say so, until the release."""
    from graph.deletion.model import HoldInput  # noqa: PLC0415 - heavy; only when the command runs

    given = {
        "recordIds": record_ids,
        "exceptionType": exception_type,
        "authority": authority,
        "policyRef": policy_ref,
        "contact": contact,
        "reviewAt": review_at,
    }
    hold_input = parsed(HoldInput, given)
    with invocation.caller() as (application, caller):
        types = sorted(application.policy.exception_types)
        if exception_type not in types:
            raise typer.BadParameter(f"'{exception_type}' is none of the policy's: {', '.join(types)}.")
        hold = application.holds.place(hold_input, caller, application.ids.new())
    document = document_of(hold)
    invocation.screen.answer(document, fields(document))


@command(app, "release", example="sequela hold release 0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81", looks=True)
def release(
    invocation: Invocation, hold_id: Annotated[str, typer.Argument(metavar="HOLD", help="The hold's id.")]
) -> None:
    """Release a hold; what it kept from a deletion is then deleted."""
    with invocation.caller() as (application, caller):
        before = application.holds.view(hold_id, caller).released_at
        hold = application.holds.release(hold_id, caller)
    if before is not None:
        invocation.screen.say(f"It was released before, {moment(before)}; nothing has changed.", style="yellow")
    document = document_of(hold)
    invocation.screen.answer(document, fields(document))


@command(app, "list", example="sequela hold list --json", looks=True)
def list_all(invocation: Invocation) -> None:
    """List the exception ledger: what stayed in spite of a deletion, why, and who answers for it."""
    with invocation.caller() as (application, caller):
        entries = list(_entries(application, caller))
    table = grid("derivative", "store", "reason", "authority", "owner", "review", "state")
    for entry in entries:
        shown = (entry.identity, entry.store, entry.reason, entry.authority, entry.owner_id, moment(entry.review_at))
        table.add_row(*(cell(value) for value in shown), cell(entry.state))
    invocation.screen.answer([document_of(entry) for entry in entries], table if entries else "The ledger is empty.")


def _entries(application: Application, caller: Caller) -> Iterator[ExceptionView]:
    cursor: str | None = None
    while True:
        page = application.holds.exceptions(caller, page_size=PAGE_ROWS, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return
