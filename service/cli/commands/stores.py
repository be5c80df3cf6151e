"""`sequela stores`: the stores that copies can be in, what is left to do there, and whether they hold what they should."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from graph.errors import Unavailable
from graph.vocabulary import ReasonCode
from service.cli.documents import document_of
from service.cli.exits import ExitCode
from service.cli.invocation import Invocation, command
from service.cli.tables import cell, grid, moment

if TYPE_CHECKING:
    from graph.propagation.stores import StoreStatus
    from service.bootstrap import Application
    from service.connectors.port import Connector
    from service.connectors.reconcile import Gap, Reconciliation

_NAME = Annotated[str, typer.Argument(metavar="STORE", help="The store's id in the policy.")]

app = typer.Typer(help="The stores that copies can be in.", no_args_is_help=True)


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    root.add_typer(app, name="stores", rich_help_panel="Run")


@command(app, "list", example="sequela stores list --json", acts=False, looks=True)
def list_stores(invocation: Invocation) -> None:
    """List each store with what is left to do there, its last verified deletion, its owner and its residue."""
    with invocation.application() as application:
        found = application.stores.status()
    documents = [_document(one) for one in found]
    invocation.screen.answer({"stores": documents}, _table(found))


@command(app, "reconcile", example="sequela stores reconcile files", acts=False, looks=True)
def reconcile(invocation: Invocation, store: _NAME) -> None:
    """Compare a store with what is registered in it; exit code 1 where they differ."""
    from service.connectors.reconcile import reconcile as compare  # noqa: PLC0415 - only when the command runs

    with invocation.application() as application, _answering():
        found = compare(store, _connector(application, store), application.stores)
    document = {**document_of(found), "agrees": found.agrees}
    invocation.screen.answer(document, Group(*_lines(found)))
    if not found.agrees:
        invocation.end(ExitCode.NO)


@command(app, "purge", example="sequela stores purge files", acts=False, looks=True)
def purge(invocation: Invocation, store: _NAME) -> None:
    """Have what was deleted leave a store's files, as far as it can be told to; exit code 1 where it cannot."""
    from service.connectors.port import PurgeKind  # noqa: PLC0415 - only when the command runs

    with invocation.application() as application, _answering():
        connector = _connector(application, store)
        connector.purge()
        profile = connector.profile
    is_done = profile.purge is PurgeKind.SYNCHRONOUS
    told = "It was purged; what stays:" if is_done else "It cannot be told to purge; what stays:"
    lines = [Text(told, style="green" if is_done else "yellow"), *(Text(f"  {one}") for one in profile.residue)]
    document = {"storeId": store, "purge": profile.purge.value, "purged": is_done, "residue": list(profile.residue)}
    invocation.screen.answer(document, Group(*lines))
    if not is_done:
        invocation.end(ExitCode.NO)


@command(app, "test", example="sequela stores test files", acts=False, looks=True)
def test(invocation: Invocation, store: _NAME) -> None:
    """Run every promise of a connector on a store, below a folder of its own; exit code 1 where one is broken."""
    from service.connectors.conformance import (  # noqa: PLC0415 - only when the command runs
        CONFORMANCE_CASES,
        OwnAccess,
        PromiseBroken,
        StoreUnderTest,
    )

    broken: dict[str, str | None] = {}
    with invocation.application() as application, _answering():
        connector = _connector(application, store)
        tested = StoreUnderTest(connector, OwnAccess(connector), "")
        for case in CONFORMANCE_CASES:
            try:
                case(replace(tested, folder=f"conformance-{application.ids.new()}"))
            except PromiseBroken as found:
                broken[case.__name__] = str(found)
            else:
                broken[case.__name__] = None
    table = grid("promise", "kept", "what was seen")
    for name, seen in broken.items():
        told = ("no", seen) if seen else ("yes", None)
        table.add_row(*(cell(value) for value in (name.replace("_", " "), *told)))
    cases = [{"promise": name, "kept": seen is None, "seen": seen} for name, seen in broken.items()]
    invocation.screen.answer({"storeId": store, "cases": cases}, table)
    if any(broken.values()):
        invocation.end(ExitCode.NO)


@contextmanager
def _answering() -> Generator[None]:
    """A store that does not answer ends a command like a database that does not."""
    from service.connectors.port import StoreUnavailable  # noqa: PLC0415 - only when the command runs

    try:
        yield
    except StoreUnavailable as error:
        raise Unavailable(f"the store does not answer: {error}", code=ReasonCode.STORE_UNAVAILABLE) from error


def _connector(application: Application, store_id: str) -> Connector:
    connector = application.connectors.get(store_id)
    if connector is None:
        known = ", ".join(sorted(application.connectors))
        raise typer.BadParameter(f"'{store_id}' is no store that can be reached from here: {known}.")
    return connector


def _document(status: StoreStatus) -> dict[str, object]:
    instants = {"oldestDueAt": status.oldest_due_at, "verifiedAt": status.verified_at}
    told = {name: None if at is None else moment(at) for name, at in instants.items()}
    return {**document_of(status), **told}


def _table(found: list[StoreStatus]) -> RenderableType:
    table = grid(
        "store", "connector", "pending #", "retrying #", "owned #", "due #", "last verified", "owner", "residue"
    )
    for one in found:
        numbers = (one.pending, one.retrying, one.owned, one.due)
        verified = None if one.verified_at is None else moment(one.verified_at)
        shown = (
            one.store_id,
            one.connector or "none",
            *numbers,
            verified,
            one.owner_id,
            ", ".join(one.residue) or None,
        )
        table.add_row(*(cell(value) for value in shown))
    return table


def _lines(found: Reconciliation) -> Iterator[RenderableType]:
    held = f"{found.held:,} held" if found.is_enumerable else "what it holds cannot be listed"
    yield Text(f"{found.store_id}: {found.registered:,} registered, {held}.")
    yield from _gap("in the store and registered by nobody: no deletion reaches it", found.unregistered)
    yield from _gap("registered and not in the store", found.missing)
    if found.agrees:
        yield Text("Both know the same.", style="green")


def _gap(what: str, gap: Gap) -> Iterator[RenderableType]:
    if gap.count:
        yield Text(f"{gap.count:,} {what}:", style="bold red")
        yield from (Text(f"  {locator}") for locator in gap.locators)
        if more := gap.count - len(gap.locators):
            yield Text(f"  and {more:,} more")
