"""Reconciliation: what a store holds and nobody registered, and what is registered and not there.

What nobody registered is reached by no deletion: it has to be registered by who wrote it, or removed by the store's owner.
A difference counts only when a second look at both sides finds it again, since writers go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from graph.propagation.closure import chunks
from graph.propagation.stores import LOCATOR_ROWS, Stores
from service.connectors.port import Connector

LISTED_MAX: Final = 1_000


@dataclass
class Gap:
    """Locators on one side alone: all are counted, the first `LISTED_MAX` are listed."""

    count: int = 0
    locators: list[str] = field(default_factory=list[str])

    def add(self, locators: Iterable[str]) -> None:
        """Count these, and list them while there is room."""
        for locator in locators:
            self.count += 1
            if len(self.locators) < LISTED_MAX:
                self.locators.append(locator)


@dataclass(frozen=True)
class Reconciliation:
    """What came of comparing a store with the graph.

    Args:
        store_id: the store.
        is_enumerable: whether the store could list what it holds; without that only `missing` was looked for.
        held: how many locators it listed.
        registered: how many are registered.
        unregistered: held and not registered.
        missing: registered and not there.
    """

    store_id: str
    is_enumerable: bool
    held: int
    registered: int
    unregistered: Gap
    missing: Gap

    @property
    def agrees(self) -> bool:
        """Whether both sides know the same, as far as the store can tell."""
        return self.unregistered.count == self.missing.count == 0


def reconcile(store_id: str, connector: Connector, stores: Stores) -> Reconciliation:
    """Compare a store with the graph, in pages.

    Raises:
        StoreUnavailable: the store did not answer, or is another one than it was.
        Unavailable: the database does not answer.
    """
    unregistered, missing = Gap(), Gap()
    held = registered = 0
    for page in _pages(connector.locators()):
        held += len(page)
        unregistered.add(_unregistered(store_id, connector, stores, page))
    for page in stores.pages(store_id):
        registered += len(page)
        missing.add(_missing(store_id, connector, stores, page))
    return Reconciliation(store_id, connector.profile.is_enumerable, held, registered, unregistered, missing)


def _unregistered(store_id: str, connector: Connector, stores: Stores, page: Sequence[str]) -> list[str]:
    known = stores.registered(store_id, page)
    there = list(_present(connector, [one for one in page if one not in known]))
    known = stores.registered(store_id, there)
    return [one for one in there if one not in known]


def _missing(store_id: str, connector: Connector, stores: Stores, page: Sequence[str]) -> list[str]:
    there = set(_present(connector, page))
    known = stores.registered(store_id, [one for one in page if one not in there])
    there = set(_present(connector, sorted(known)))
    return sorted(known - there)


def _present(connector: Connector, locators: Sequence[str]) -> Iterator[str]:
    for part in chunks(locators, connector.profile.batch_max):
        yield from (one for one, present in zip(part, connector.present(part), strict=True) if present)


def _pages(locators: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(locators)
    while page := list(islice(iterator, LOCATOR_ROWS)):
        yield page
