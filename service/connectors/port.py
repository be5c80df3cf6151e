"""What a derivative store has to offer: deletion copy by copy, a reading by another path, a purge, and what stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

from graph.errors import InvalidInput
from graph.ids import is_encodable
from graph.vocabulary import DerivativeOutcome, ReasonCode, VerificationLevel

# The name under which a store whose places have names bears its root id.
MARKER: Final = ".sequela-store"


class StoreUnavailable(Exception):
    """The store did not answer, or not in time; nothing is known of the effect."""


class Claim(StrEnum):
    """What a store says of the deletion of one copy. The reading afterwards decides, never this."""

    DELETED = DerivativeOutcome.DELETED
    NOT_FOUND = DerivativeOutcome.NOT_FOUND
    # A lock of the store's own keeps it; without an entry in the ledger that is a failure (EXC-02).
    KEPT = DerivativeOutcome.RETAINED_UNDER_EXCEPTION
    # The store refused this one copy, and perhaps not the others of the call.
    FAILED = DerivativeOutcome.FAILED
    # The locator cannot mean anything in this store.
    MALFORMED = "malformed"


class PurgeKind(StrEnum):
    """How what was deleted leaves the store's files."""

    NONE = "none"
    SYNCHRONOUS = "synchronous"
    OPERATOR = "operator"


class ReadConsistency(StrEnum):
    """What the verifying read sees: every effect that was answered before it, or only what has been propagated."""

    STRONG = "strong"
    EVENTUAL = "eventual"


@dataclass(frozen=True)
class StoreProfile:
    """What a kind of store can do, and what it leaves behind.

    Args:
        addressing: what a locator is there, in a few words.
        batch_max: how many locators one call takes at most.
        read: what the verifying read sees.
        purge: how what was deleted leaves the store's files.
        level: the highest verification level that the reading reaches.
        residue: what stays after deletion and purge, each in a few words.
        is_enumerable: whether `locators` can list what the store holds.
    """

    addressing: str
    batch_max: int
    read: ReadConsistency
    purge: PurgeKind
    level: VerificationLevel
    residue: tuple[str, ...]
    is_enumerable: bool


class Connection(BaseModel):
    """How one store is reached: one entry of the connections file. Secrets are given as names of environment variables.

    Each connector's module has one of its own called `Connection`, with a `connector: Literal[...]` and what it needs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    timeout_seconds: Annotated[float, Field(alias="timeoutSeconds", ge=0.05, le=60)] = 5.0

    def open(self, root_id: str | None) -> Connector:
        """A connector to the store; nothing is sent yet. `root_id` is the id that the store was first used with."""
        raise NotImplementedError


class Connector(Protocol):
    """Deletes copies in one store. Its own retries are off: the ledger owns the schedule. Safe in several threads.

    A store bears a root id, left there when it was first used. A connector that was given one proves nothing from a store
    without it or with another: an empty or foreign store in the place of the right one makes everything look deleted.
    """

    @property
    def profile(self) -> StoreProfile:
        """What this store can do."""
        ...

    def root_id(self) -> str | None:
        """The id that the store bears, or none where it was never used from here.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        ...

    def create(self, root_id: str) -> None:
        """Leave the id in a store that bears none; one that bears an id keeps it.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        ...

    def write(self, locator: str, data: bytes) -> None:
        """Put a copy there, whole or not at all, and durable before it is answered.

        Raises:
            InvalidInput: the locator cannot mean anything in this store (`MALFORMED_INPUT`).
            StoreUnavailable: the store did not answer, or it is another one.
        """
        ...

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        """Remove the copies at `locators`, all versions and parts of each, and answer for each in the order given.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the store did not answer, or it is another one; some may be gone.
        """
        ...

    def present(self, locators: Sequence[str]) -> list[bool]:
        """Whether the store still has anything of each copy, read by another path than `delete` took.

        A locator that cannot mean anything is not there.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the store did not answer, or it is another one.
        """
        ...

    def purge(self) -> None:
        """Have what was deleted leave the store's files, as far as `profile.purge` goes; nothing where that is nowhere.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        ...

    def locators(self) -> Iterator[str]:
        """All locators that the store holds, in no order, some perhaps twice; nothing where it is not enumerable.

        Raises:
            StoreUnavailable: the store did not answer, or it is another one.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


def batch_checked(locators: Sequence[str], batch_max: int) -> None:
    """Refuse a call for more copies than a store takes at once.

    Raises:
        InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
    """
    if len(locators) > batch_max:
        raise InvalidInput(
            f"this store takes {batch_max} locators at once",
            code=ReasonCode.LIMIT_EXCEEDED,
            details={"limit": "batch_max", "max": batch_max},
        )


def is_name(locator: str) -> bool:
    """Whether a text can be a key anywhere: not empty, encodable, without NUL."""
    return bool(locator) and "\0" not in locator and is_encodable(locator)


def root_checked(found: str | None, expected: str | None) -> None:
    """Refuse a store that bears no id, or another one than it bore when it was first used, where that is known.

    Raises:
        StoreUnavailable: it is not the store.
    """
    if found is None or (expected is not None and found != expected):
        raise StoreUnavailable("this is not the store that was first used, or it was emptied")
