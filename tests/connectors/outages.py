"""What every connector promises of a store that is not there, or is another one than it was: cases that need a store of ours.

A connector's tests give a `Server` for its store, and run `CONFORMANCE_CASES` and `OUTAGE_CASES` on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

import pytest

from graph.errors import InvalidInput
from service.connectors.conformance import CONFORMANCE_CASES, PromiseBroken, StoreUnderTest
from service.connectors.port import Claim, Connector, StoreUnavailable
from tests.connectors.doubles import LyingConnector

FOLDER: Final = "tenant-a"


class Server(Protocol):
    """A real store that a test may break."""

    @property
    def connector(self) -> Connector:
        """A connector that was given the id `root-1`, which the store bears."""
        ...

    def put(self, locator: str, data: bytes) -> None:
        """Put a copy there by another way than the connector."""
        ...

    def has(self, locator: str) -> bool:
        """Whether the copy is there, by another way than the connector."""
        ...

    def break_off(self) -> None:
        """Make the store out of reach."""
        ...

    def mend(self) -> None:
        """Bring the store back, with everything that was in it."""
        ...

    def replace(self, root_id: str | None) -> None:
        """Have the store bear another id, or none; the copies in it stay."""
        ...


def under_test(server: Server) -> StoreUnderTest:
    """What the conformance cases run on."""
    return StoreUnderTest(server.connector, server, FOLDER)


def broken_by_a_liar(server: Server) -> list[str]:
    """The promises that a connector breaks which says that it deletes, and does not."""
    store = under_test(server)
    liar = replace(store, connector=LyingConnector(store.connector))
    broken: list[str] = []
    for case in CONFORMANCE_CASES:
        try:
            case(liar)
        except (PromiseBroken, InvalidInput):
            broken.append(case.__name__)
    return broken


def never_takes_silence_for_absence(server: Server) -> None:
    """A store out of reach is an error for what it holds and for what it does not; afterwards everything is there."""
    server.put("tenant-a/kept", b"data")
    connector = server.connector
    server.break_off()
    for locator in ("tenant-a/kept", "tenant-a/never-there"):
        _is_unavailable(connector, locator)
    server.mend()
    assert connector.present(["tenant-a/kept"]) == [True]
    assert connector.delete(["tenant-a/kept"]) == [Claim.DELETED]


def takes_no_other_store_for_its_own(server: Server) -> None:
    """A store that bears another id, or none, says nothing about copies, and nothing is done to it."""
    for root_id in ("root-2", None):
        server.put("tenant-a/kept", b"data")
        server.replace(root_id)
        assert server.connector.root_id() == root_id
        for locator in ("tenant-a/kept", "tenant-a/never-there"):
            _is_unavailable(server.connector, locator)
        server.replace("root-1")
        assert server.has("tenant-a/kept")


def _is_unavailable(connector: Connector, locator: str) -> None:
    calls = (
        lambda: connector.delete([locator]),
        lambda: connector.present([locator]),
        lambda: connector.write(locator, b"other"),
        lambda: list(connector.locators()) or pytest.fail("nothing was listed, as if nothing were there"),
    )
    for call in calls:
        with pytest.raises(StoreUnavailable):
            call()


OUTAGE_CASES: Final[tuple[Callable[[Server], None], ...]] = (
    never_takes_silence_for_absence,
    takes_no_other_store_for_its_own,
)
