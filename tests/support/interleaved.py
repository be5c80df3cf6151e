"""Two callers in a chosen order: something else happens exactly before a named or counted call to the database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graph.database.database import Database
from graph.database.rows import Row
from service.bootstrap import Application


class Interleaved:
    """The real database; `act` happens once, before the call that `here` picks by its number (from 1) and its name.

    A transaction is one call, called `transact`: nothing comes in between its statements.
    """

    def __init__(self, real: Database, here: Callable[[int, str], bool], act: Callable[[], object]) -> None:
        self._real = real
        self._here = here
        self._act = act
        self.calls = 0
        self.acted = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def read(self, name: str, /, **params: Any) -> list[Row]:
        self._reached(name)
        return self._real.read(name, **params)

    def write(self, name: str, /, **params: Any) -> list[Row]:
        self._reached(name)
        return self._real.write(name, **params)

    def transact(self, name: str, steps: Callable[[Any], Any]) -> Any:
        self._reached("transact")
        return self._real.transact(name, steps)

    def _reached(self, name: str) -> None:
        self.calls += 1
        if not self.acted and self._here(self.calls, name):
            self.acted = True
            self._act()


def interleaved(
    application: Application, act: Callable[[], object], *, call: int | None = None, name: str | None = None
) -> tuple[Application, Interleaved]:
    """The same application, with `act` before its `call`-th call to the database, or before its first one called `name`."""
    database: Any = Interleaved(application.database, lambda number, called: number == call or called == name, act)
    return replace(application, database=database), database
