"""What the graph knows of the stores: what is left to do in each, and which places in it are registered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from graph.clock import Clock
from graph.database.database import Database
from graph.database.rows import Row
from graph.policy.model import Policy
from graph.records.lookup import registered_among
from graph.vocabulary import GRAPH_STORE

LOCATOR_ROWS: Final = 1_000


@dataclass(frozen=True)
class StoreStatus:
    """A store of the policy, and what is left to do in it. Instants are whole microseconds UTC.

    Args:
        store_id: the store.
        connector: what deletes there; none where nothing does.
        owner_id: who answers for what fails there.
        pending: outcomes that were not attempted yet.
        retrying: outcomes that failed and are tried again before their deadline.
        owned: failures past their deadline, which are tried again and have their owner.
        due: how many of them all are due now.
        oldest_due_at: since when the oldest is.
        verified_at: when a deletion there was last verified.
        residue: what stays there after a deletion, by the policy.
    """

    store_id: str
    connector: str | None
    owner_id: str
    pending: int
    retrying: int
    owned: int
    due: int
    oldest_due_at: int | None
    verified_at: int | None
    residue: tuple[str, ...]


@dataclass(frozen=True)
class Stores:
    """The stores of the policy, as the graph knows them."""

    database: Database
    policy: Policy
    clock: Clock

    def status(self) -> list[StoreStatus]:
        """Every store that a worker can be asked to delete in, or nobody can; by id."""
        ids = sorted(set(self.policy.stores) - {GRAPH_STORE})
        rows = self.database.read("list_stores_status", storeIds=ids, now=self.clock.now())[0].rows("stores")
        return [self._status(row) for row in rows]

    def registered(self, store_id: str, locators: Sequence[str]) -> frozenset[str]:
        """Of these locators, those that are registered in the store."""
        places = [(store_id, locator) for locator in locators]
        return frozenset(locator for _, locator in registered_among(self.database, places))

    def pages(self, store_id: str) -> Iterator[list[str]]:
        """All locators that are registered in the store, in pages of at most `LOCATOR_ROWS`."""
        after = ""
        while True:
            rows = self.database.read("list_locators", storeId=store_id, after=after, rowsMax=LOCATOR_ROWS)
            page = rows[0].texts("locators")
            if page:
                yield list(page)
            if len(page) < LOCATOR_ROWS:
                return
            after = page[-1]

    def _status(self, row: Row) -> StoreStatus:
        store = self.policy.store(row.text("storeId"))
        return StoreStatus(
            store_id=store.id,
            connector=store.connector,
            owner_id=store.owner_id,
            pending=row.number("pending"),
            retrying=row.number("retrying"),
            owned=row.number("owned"),
            due=row.number("due"),
            oldest_due_at=row.number_or_none("oldestDueAt"),
            verified_at=row.number_or_none("verifiedAt"),
            residue=store.residue,
        )
