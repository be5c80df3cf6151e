"""Time as a port. Instants are integer microseconds since 1970-01-01 UTC everywhere inside; RFC 3339 at the edges."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from graph.errors import InvalidInput
from graph.vocabulary import ReasonCode

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> int:
        """The present instant in microseconds UTC."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> int:
        """The present instant in microseconds UTC."""
        return time.time_ns() // 1_000


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        """The instant that was last set."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`; a negative number moves back."""
        self._now += round(seconds * SECOND)


def instant_from_text(text: str) -> int:
    """Read an RFC 3339 instant; one without a zone is refused, since it names no instant.

    Raises:
        InvalidInput: not an instant, or no zone (`MALFORMED_INPUT`).
    """
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput("not an RFC 3339 instant", code=ReasonCode.MALFORMED_INPUT) from None
    if parsed.tzinfo is None:
        raise InvalidInput("an instant needs a zone, such as Z or +02:00", code=ReasonCode.MALFORMED_INPUT)
    return (parsed - _EPOCH) // _MICROSECOND


def instant_to_text(instant: int) -> str:
    """Write an instant as RFC 3339 in UTC with microseconds."""
    moment = _EPOCH + timedelta(microseconds=instant)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
