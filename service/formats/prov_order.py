"""What a document says of time against the order of PROV: nothing is used, or made of something, after its end.

The rules are those of PROV-CONSTRAINTS on the life of an entity: generation precedes invalidation, each usage lies between
the two, and a trigger is there while it starts or ends something. Times are compared only where both have a zone or both
have none; a time that is no `xsd:dateTime` of the calendar is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from service.formats.json_text import Path
from service.formats.prov_model import DERIVATION, PROV_NAMESPACE, Namespaces, ProvDocument, ProvName, Statement

LATE_EVENTS_MAX: Final = 100


class OrderRule(StrEnum):
    """What may not come after the invalidation of an entity."""

    GENERATED = "generation_precedes_invalidation"
    USED = "use_precedes_invalidation"
    TRIGGERED = "trigger_precedes_invalidation"
    DERIVED = "derivation_precedes_invalidation"


@dataclass(frozen=True)
class LateEvent:
    """A statement that breaks a rule, and where it stands; what it speaks of is not repeated."""

    rule: OrderRule
    line: int
    column: int
    path: str

    def as_json(self) -> dict[str, object]:
        """The form that reports carry."""
        return {"rule": self.rule.value, "line": self.line, "column": self.column, "path": self.path}


@dataclass(frozen=True)
class _Event:
    """Something that happened to an entity, or with it, at a time."""

    entity: ProvName
    at: datetime
    rule: OrderRule
    path: Path


def late_events(document: ProvDocument) -> tuple[LateEvent, ...]:
    """The first `LATE_EVENTS_MAX` statements that break a rule, in the order of the document.

    A derivation counts by the usage that it names, else by the start of its activity, else by the generation of what was
    derived, which is the last instant at which it can have been under way.
    """
    times = _Times(document)
    found = [(event.path, event.rule) for event in times.events() if times.breaks(event)]
    places = [
        (rule, document.text.position(path), document.place(path)["path"]) for path, rule in found[:LATE_EVENTS_MAX]
    ]
    return tuple(LateEvent(rule, line, column, str(path)) for rule, (line, column), path in places)


class _Times:
    """The instants of one document."""

    def __init__(self, document: ProvDocument) -> None:
        self._document = document
        self._starts: dict[ProvName, datetime] = {}
        self._generated: dict[ProvName, list[datetime]] = {}
        self._ended: dict[ProvName, list[datetime]] = {}
        self._by_name: dict[tuple[str, ProvName], datetime] = {}
        for statement in document.elements:
            if (start := _time(statement, "startTime")) is not None:
                self._starts[statement.name] = start
        for statement in document.relations:
            at = _time(statement, "time")
            if at is None:
                continue
            self._by_name[statement.type, statement.name] = at
            for kept, group in ((self._generated, "wasGeneratedBy"), (self._ended, "wasInvalidatedBy")):
                if statement.type == group:
                    for entity in statement.end("entity"):
                        kept.setdefault(entity, []).append(at)

    def events(self) -> Iterator[_Event]:
        """What has to lie before the end of an entity."""
        for statement in self._document.relations:
            at = _time(statement, "time")
            match statement.type:
                case "wasGeneratedBy":
                    yield from _events(statement, "entity", at, OrderRule.GENERATED)
                case "used":
                    at = at or self._start(statement, "activity")
                    yield from _events(statement, "entity", at, OrderRule.USED)
                case "wasStartedBy" | "wasEndedBy":
                    yield from _events(statement, "trigger", at, OrderRule.TRIGGERED)
                case _ if statement.type == DERIVATION:
                    yield from _events(statement, "usedEntity", self._derived_at(statement), OrderRule.DERIVED)
                case _:
                    pass

    def breaks(self, event: _Event) -> bool:
        """Whether an event comes after the end of its entity, all known ends before it."""
        ends = self._ended.get(event.entity, [])
        return any(_is_later(event.at, end) for end in ends)

    def _derived_at(self, statement: Statement) -> datetime | None:
        for name in statement.end("usage"):
            if (at := self._by_name.get(("used", name))) is not None:
                return at
        if (start := self._start(statement, "activity")) is not None:
            return start
        made = [at for name in statement.end("generatedEntity") for at in self._generated.get(name, ())]
        return made[0] if made else None

    def _start(self, statement: Statement, attribute: str) -> datetime | None:
        return next((self._starts[name] for name in statement.end(attribute) if name in self._starts), None)


def _events(statement: Statement, attribute: str, at: datetime | None, rule: OrderRule) -> Iterator[_Event]:
    if at is not None:
        for entity in statement.end(attribute):
            yield _Event(entity, at, rule, statement.path)


def _is_later(one: datetime, other: datetime) -> bool:
    return (one.tzinfo is None) == (other.tzinfo is None) and one > other


def _time(statement: Statement, word: str) -> datetime | None:
    prefixes = Namespaces({prefix: str(iri) for prefix, iri in statement.prefixes.items()})
    for key, value in statement.attributes.items():
        if prefixes.expanded(key) == PROV_NAMESPACE + word:
            return _instant(value)
    return None


def _instant(value: JsonValue) -> datetime | None:
    item = value[0] if isinstance(value, list) and value else value
    text = item.get("$") if isinstance(item, Mapping) else item
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
