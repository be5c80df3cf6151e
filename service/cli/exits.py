"""How a command ends, told to whatever started it, and what a person reads when it could not do its work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from graph.errors import Conflict, Refused, SequelaError
from graph.vocabulary import ReasonCode


class ExitCode(IntEnum):
    """What the exit code of every command means."""

    OK = 0
    NO = 1
    USAGE = 2
    REFUSED = 3
    UNAVAILABLE = 4
    UNFINISHED = 5
    INTERRUPTED = 130


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.OK: "done",
    ExitCode.NO: "no, or findings",
    ExitCode.USAGE: "usage",
    ExitCode.REFUSED: "refused with a reason code",
    ExitCode.UNAVAILABLE: "not available",
    ExitCode.UNFINISHED: "unfinished, or closed with failures that an owner has",
    ExitCode.INTERRUPTED: "interrupted",
}

_SEE_MORE: Final = "Try another --tenant or --purpose; what these may not see is not there for them."
_NEXT_STEPS: Final[Mapping[ReasonCode, str]] = {
    ReasonCode.NOT_FOUND: _SEE_MORE,
    ReasonCode.SOURCE_NOT_FOUND: _SEE_MORE,
    ReasonCode.SERVICE_UNAVAILABLE: "See `sequela db status`, or the server that SEQUELA_NEO4J_URI names.",
    ReasonCode.DELETED_RECORD: "Add --deleted to walk on from what is left of it.",
    ReasonCode.POLICY_INVALID: "`sequela policy check` lists every fault with its cell.",
    ReasonCode.PREVIEW_STALE: "The graph has moved on; look at the preview again with `sequela delete ... --preview`.",
    ReasonCode.TOMBSTONE_BLOCKED: "A deleted record does not come back; something new takes a new name.",
    ReasonCode.SOURCE_FENCED: "What it hangs on is being deleted; leave it out.",
    ReasonCode.REQUESTER_UNAUTHORIZED: "Look at the ids and at --tenant; grants stand in the policy's eligibility.yaml.",
    ReasonCode.STATE_CONFLICT: "See how far it is with `sequela outcomes REQUEST`, or try again.",
}


@dataclass(frozen=True)
class Failure:
    """Why a command could not do its work.

    Attributes:
        exit_code: how the command ends.
        message: one sentence.
        code: the stable reason code, where there is one.
        next_step: what the person can do now, where that is known.
        details: ids and names of limits; never content.
    """

    exit_code: ExitCode
    message: str
    code: str | None
    next_step: str | None
    details: Mapping[str, object]

    @property
    def line(self) -> str:
        """Message, code and next step on one line."""
        code = f" [{self.code}]" if self.code else ""
        step = f" {self.next_step}" if self.next_step else ""
        return f"{_sentence(self.message)}{code}{step}"


def failure_of(error: SequelaError) -> Failure:
    """How an error of the domain ends a command; where the address to serve on is what lacks, it says so itself."""
    code = error.code
    return Failure(
        exit_code=_exit_code(error),
        message=error.message,
        code=code.value if code else None,
        next_step=None if code is None or "port" in error.details else _NEXT_STEPS.get(code),
        details=error.details,
    )


def _exit_code(error: SequelaError) -> ExitCode:
    if isinstance(error, Conflict) and error.code is ReasonCode.STATE_CONFLICT:
        return ExitCode.UNFINISHED
    return ExitCode.REFUSED if isinstance(error, Refused) else ExitCode.UNAVAILABLE


def _sentence(message: str) -> str:
    text = message[:1].upper() + message[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
