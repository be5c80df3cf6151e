"""Named places around each effect and commit where a test ends, stops or fails the process; off unless switched on."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from graph.errors import InvalidInput, Unavailable
from graph.vocabulary import ReasonCode

_SIGNALS: Final = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
_ACTIONS: Final = (*_SIGNALS, "fail")


class Failpoints(Protocol):
    """Is told of each place as it is reached."""

    def reached(self, name: str) -> None:
        """The place of that name is reached now."""
        ...


class NoFailpoints:
    """Nothing happens anywhere."""

    def reached(self, name: str) -> None:
        """Nothing happens."""


@dataclass(frozen=True)
class _Switch:
    action: str
    visit: int


class SwitchedFailpoints:
    """Acts at the chosen visit of each chosen place.

    Args:
        switches: what to do where; see `failpoints_from_text`.
    """

    def __init__(self, switches: Mapping[str, _Switch]) -> None:
        self._switches = dict(switches)
        self._visits: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reached(self, name: str) -> None:
        """Count the visit, and act if it is the chosen one.

        Raises:
            Unavailable: the action is `fail`.
        """
        switch = self._switches.get(name)
        if switch is None:
            return
        with self._lock:
            self._visits[name] += 1
            chosen = self._visits[name] == switch.visit
        if not chosen:
            return
        if switch.action == "fail":
            raise Unavailable(f"the failpoint {name} was switched on", code=ReasonCode.SERVICE_UNAVAILABLE)
        os.kill(os.getpid(), _SIGNALS[switch.action])


def failpoints_from_text(text: str) -> Failpoints:
    """Read `NAME=ACTION` or `NAME=ACTION@VISIT`, separated by commas; the action is kill, stop or fail.

    Raises:
        InvalidInput: the text is something else (`MALFORMED_INPUT`).
    """
    if not text.strip():
        return NoFailpoints()
    return SwitchedFailpoints(dict(_switch(part.strip()) for part in text.split(",")))


def _switch(text: str) -> tuple[str, _Switch]:
    name, equals, rest = text.partition("=")
    action, at, visit = rest.partition("@")
    counted = visit.isdecimal() and int(visit) >= 1 if at else True
    if not name or not equals or action not in _ACTIONS or not counted:
        raise InvalidInput("a failpoint is NAME=kill, stop or fail, with @VISIT", code=ReasonCode.MALFORMED_INPUT)
    return name, _Switch(action, int(visit) if at else 1)
