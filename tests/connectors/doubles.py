"""Stores that break their promise, built over a real connector; named for what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from graph.vocabulary import DerivativeOutcome
from service.connectors.port import Connector, StoreUnavailable

T = TypeVar("T")


@dataclass
class LyingConnector:
    """Says of each deletion what it is told to say, and touches nothing."""

    real: Connector
    claim: str = DerivativeOutcome.DELETED

    def delete(self, locator: str) -> str:  # noqa: ARG002 - it touches nothing
        return self.claim

    def is_present(self, locator: str) -> bool:
        return self.real.is_present(locator)


@dataclass
class ThrowingConnector:
    """Raises at the n-th of its calls, deletions and verifications counted together, before or after its effect."""

    real: Connector
    at: int
    after: bool = False
    error: Callable[[], Exception] = field(default=lambda: StoreUnavailable("out of order"))
    calls: int = 0

    def delete(self, locator: str) -> str:
        return self._call(lambda: self.real.delete(locator))

    def is_present(self, locator: str) -> bool:
        return self._call(lambda: self.real.is_present(locator))

    def _call(self, effect: Callable[[], T]) -> T:
        self.calls += 1
        if self.calls != self.at:
            return effect()
        if self.after:
            effect()
        raise self.error()
