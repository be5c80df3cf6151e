"""Stores that break their promise, built over a real connector; named for what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from service.connectors.port import Claim, Connector, StoreProfile, StoreUnavailable

T = TypeVar("T")


@dataclass
class Passing:
    """Passes everything on to a real connector; the others differ from it in one thing."""

    real: Connector

    @property
    def profile(self) -> StoreProfile:
        return self.real.profile

    def root_id(self) -> str | None:
        return self.real.root_id()

    def create(self, root_id: str) -> None:
        self.real.create(root_id)

    def write(self, locator: str, data: bytes) -> None:
        self.real.write(locator, data)

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        return self.real.delete(locators)

    def present(self, locators: Sequence[str]) -> list[bool]:
        return self.real.present(locators)

    def purge(self) -> None:
        self.real.purge()

    def locators(self) -> Iterator[str]:
        return self.real.locators()

    def close(self) -> None:
        self.real.close()


@dataclass
class LyingConnector(Passing):
    """Says of each deletion what it is told to say, and touches nothing."""

    claim: object = Claim.DELETED

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        return [self.claim for _ in locators]  # type: ignore[misc] - a lie


@dataclass
class ThrowingConnector(Passing):
    """Raises at the n-th of its calls, deletions and verifications counted together, before or after its effect."""

    at: int = 1
    after: bool = False
    error: Callable[[], Exception] = field(default=lambda: StoreUnavailable("out of order"))
    calls: int = 0

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        return self._call(lambda: self.real.delete(locators))

    def present(self, locators: Sequence[str]) -> list[bool]:
        return self._call(lambda: self.real.present(locators))

    def _call(self, effect: Callable[[], T]) -> T:
        self.calls += 1
        if self.calls != self.at:
            return effect()
        if self.after:
            effect()
        raise self.error()
