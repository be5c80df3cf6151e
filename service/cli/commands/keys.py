"""`sequela key`: the keys that machines call the API with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from graph.clock import instant_to_text
from graph.vocabulary import Role
from service.cli.documents import document_of
from service.cli.invocation import DEFAULT_TENANT, Invocation, command
from service.cli.tables import cell, fields, grid, moment

if TYPE_CHECKING:
    from service.auth import KeyView

_ROLES: Final = ", ".join(Role)

app = typer.Typer(help="Keys for the API.", no_args_is_help=True)


def add_to(root: typer.Typer) -> None:
    """Add these commands to the command line."""
    root.add_typer(app, name="key", rich_help_panel="Run")


@command(
    app,
    "create",
    example="sequela key create --role producer --tenant tenant-a --principal loader --purpose maintenance",
    acts=False,
)
def create(
    invocation: Invocation,
    role: Annotated[list[Role], typer.Option("--role", help=f"A role, several times for several: {_ROLES}.")],
    principal: Annotated[str, typer.Option("--principal", help="Who the key stands for.")],
    purpose: Annotated[list[str], typer.Option("--purpose", help="A purpose; give several times for several.")],
    tenant: Annotated[
        str, typer.Option("--tenant", envvar="SEQUELA_TENANT", help="The tenant that it opens.")
    ] = DEFAULT_TENANT,
) -> None:
    """Make a key; its secret is shown this once and stored nowhere."""
    from service.auth import create_key  # noqa: PLC0415 - heavy; only when the command runs

    with invocation.application() as application:
        unknown = sorted(set(purpose) - application.policy.purposes)
        if unknown:
            raise typer.BadParameter(f"The policy knows no purpose {', '.join(unknown)}.")
        key_id, secret = create_key(
            application.database,
            application.ids,
            application.clock,
            tenant_id=tenant,
            roles=role,
            principal_id=principal,
            purposes=purpose,
        )
    document = {"keyId": key_id, "secret": secret, "tenantId": tenant, "roles": list(role), "purposes": list(purpose)}
    warning = Text("Keep the secret now: it is stored nowhere and cannot be shown again.", style="yellow")
    invocation.screen.answer(document, fields(document), warning)


@command(app, "list", example="sequela key list", acts=False, looks=True)
def list_all(invocation: Invocation) -> None:
    """List the keys, revoked ones included, without their secrets."""
    from service.auth import list_keys  # noqa: PLC0415 - heavy; only when the command runs

    with invocation.application() as application:
        keys = list(list_keys(application.database))
    table = grid("key", "tenant", "principal", "roles", "purposes", "made", "revoked")
    for key in keys:
        table.add_row(*_cells(key))
    invocation.screen.answer([document_of(key) for key in keys], table if keys else "There are no keys.")


@command(app, "revoke", example="sequela key revoke 0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81", acts=False, looks=True)
def revoke(invocation: Invocation, key_id: Annotated[str, typer.Argument(metavar="KEY", help="The key's id.")]) -> None:
    """Revoke a key from the next call on."""
    from service.auth import revoke_key  # noqa: PLC0415 - heavy; only when the command runs

    with invocation.application() as application:
        revoked_at = instant_to_text(revoke_key(application.database, application.clock, key_id))
    invocation.screen.answer({"keyId": key_id, "revokedAt": revoked_at}, f"The key is revoked since {revoked_at}.")


def _cells(key: KeyView) -> list[Text]:
    revoked = None if key.revoked_at is None else moment(key.revoked_at)
    shown = (key.key_id, key.tenant_id, key.principal_id, sorted(key.roles), sorted(key.purposes))
    return [*(cell(value) for value in shown), cell(moment(key.created_at)), cell(revoked)]
