"""What a derivative store has to offer: the deletion of a copy, and a reading by another path than the deletion."""

from __future__ import annotations

from typing import Protocol


class StoreUnavailable(Exception):
    """The store did not answer, or not in time; nothing is known of the effect."""


class Connector(Protocol):
    """Deletes copies in one store. Its own retries are off: the ledger owns the schedule."""

    def delete(self, locator: str) -> str:
        """Remove the copy at `locator` for good and answer `deleted`, or `not_found` where there was none.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        ...

    def is_present(self, locator: str) -> bool:
        """Whether the store still has a copy at `locator`, read from the store by another path than `delete` took.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        ...
