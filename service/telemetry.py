"""Logs: one JSON object a line, made of fields on a list. What is not on the list is not written, whoever passes it.

No content, no names, no bodies, no raw paths or queries, no exception messages: an exception is told by its type, its
reason code and the place in the code. `event_log` makes a log; `log_everything_to` makes it the only one of a process,
for module loggers of structlog and for what libraries write through `logging`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping, Sequence
from types import TracebackType
from typing import Final, Protocol, TextIO, cast

import structlog
from structlog.typing import Processor

from graph.clock import Clock, instant_to_text
from graph.errors import SequelaError

Field = str | int | float | bool | None

# Ids of our own, codes out of closed lists, counts and durations.
FIELDS_ALLOWED: Final = frozenset(
    {
        *("event", "level", "at", "requestId", "method", "route", "status", "code", "duration_ms"),
        *("exception", "location", "logger", "deletionId", "recordId", "outcomeId", "storeId", "keyId", "holdId"),
        *("units", "requests", "outcomes", "attempts", "lines", "created", "unchanged", "quarantined", "refused"),
        *("host", "port", "workers", "shard", "state", "entries", "removed"),
    }
)
_OWN_PACKAGES: Final = ("graph.", "service.")


class EventLog(Protocol):
    """Writes events; only the fields of `FIELDS_ALLOWED` come through."""

    def info(self, event: str, /, **fields: Field) -> None:
        """Something that was expected happened."""
        ...

    def warning(self, event: str, /, **fields: Field) -> None:
        """Something was refused or has to be repeated."""
        ...

    def error(self, event: str, /, **fields: Field) -> None:
        """Something that somebody has to look at."""
        ...


def event_log(clock: Clock, stream: TextIO | None = None) -> EventLog:
    """A log that writes JSON lines.

    Args:
        clock: stamps each line.
        stream: where lines go; standard error where not given.
    """
    log = structlog.wrap_logger(
        structlog.WriteLogger(stream or sys.stderr),
        processors=_processors(clock),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    return cast("EventLog", log)


def log_everything_to(clock: Clock, stream: TextIO | None = None) -> EventLog:
    """Make one log the only log of this process: for module loggers and for libraries. For processes that serve."""
    structlog.configure(
        processors=_processors(clock),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    log = event_log(clock, stream)
    logging.basicConfig(level=logging.WARNING, handlers=[_LibraryHandler(log)], force=True)
    return log


def _processors(clock: Clock) -> Sequence[Processor]:
    def stamped(_logger: object, _method: str, event: MutableMapping[str, object]) -> MutableMapping[str, object]:
        event["at"] = instant_to_text(clock.now())
        return event

    return [structlog.processors.add_log_level, stamped, _allowed, structlog.processors.JSONRenderer()]


def _allowed(_logger: object, _method: str, event: MutableMapping[str, object]) -> MutableMapping[str, object]:
    given = event.get("exc_info")
    error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None
    told = exception_fields(error) if error else {}
    return {**{key: value for key, value in event.items() if key in FIELDS_ALLOWED}, **told}


def exception_fields(error: BaseException) -> dict[str, Field]:
    """What may be told of an exception: its type, its code and where it came from; never its message."""
    code = error.code if isinstance(error, SequelaError) else None
    return {"exception": type(error).__name__, "code": code, "location": _location(error.__traceback__)}


def _location(trace: TracebackType | None) -> str | None:
    """Module and line of the deepest frame of our own code, or of the deepest frame there is."""
    last = own = None
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        last = f"{module}:{trace.tb_lineno}"
        own = last if module.startswith(_OWN_PACKAGES) else own
        trace = trace.tb_next
    return own or last


class _LibraryHandler(logging.Handler):
    """Takes what libraries log: who, how loud and where in their code; their sentences may hold anything and go."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(level=logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record without its text."""
        error = record.exc_info[1] if record.exc_info else None
        fields: dict[str, Field] = {"logger": record.name, "location": f"{record.module}:{record.lineno}"}
        write = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        write("library", **(fields | (exception_fields(error) if error else {})))
