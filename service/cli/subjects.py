"""Naming one record on the command line: by its id, or by the name that it was registered under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from graph.access import Caller
    from service.bootstrap import Application

RecordId = Annotated[str | None, typer.Argument(metavar="[ID]", help="The record's id.")]
Name = Annotated[str | None, typer.Option("--name", help="The name that it was registered under.")]
Scope = Annotated[str, typer.Option("--scope", help="The scope that the name was registered under.")]


@dataclass(frozen=True)
class Reference:
    """One record, given either way.

    Raises:
        typer.BadParameter: it was given both ways, or not at all.
    """

    record_id: str | None
    name: str | None
    scope: str

    def __post_init__(self) -> None:
        if (self.record_id is None) == (self.name is None):
            raise typer.BadParameter("Give either the ID of a record or its --name.")

    def identity(self, application: Application, caller: Caller) -> str:
        """Its identity in the caller's tenant.

        Raises:
            InvalidInput: what was given as a name is none.
        """
        if self.name is not None:
            return application.keys.identity(caller.tenant_id, self.name, scope=self.scope)
        return str(self.record_id)
