"""What is remembered of records that others hang on, so that most registrations write without a look-up before.

A memory may be stale, so it only ever leads to a trial: `create_records` compares every fact that a decision rested on
with the record, under its lock, and creates nothing where one differs. Then the registration looks, and decides again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from graph.database.rows import Row
from graph.records.model import Known, known_from_row
from graph.records.stored import lacking_fields
from graph.vocabulary import RecordState

# Some 3 KB each: about 25 MB where it is full.
FACTS_MAX: Final = 8_192
_TEXTS: Final = ("identity", "tenantId", "class", "kind", "state", "envelope")
_LISTS: Final = ("purposes", "permissions")
_NUMBERS: Final = ("observedAt", "expiresAt")
_FIELDS: Final = (*_TEXTS, *_LISTS, *_NUMBERS)
_LIVE: Final = frozenset({RecordState.ACTIVE.value, RecordState.SUPERSEDED.value})
# Of the envelope, what decisions about derivatives read; the whole text is kept to be compared.
_ENVELOPE_READ: Final = ("version", "origins", "trust")


@dataclass(frozen=True)
class Fact:
    """What was known of one record: to decide by, and to be compared under its lock."""

    known: Known
    compared: Mapping[str, object]


class FactMemory:
    """The records that were last seen or made here, at most `FACTS_MAX`; the longest unused go first."""

    def __init__(self, facts_max: int = FACTS_MAX) -> None:
        self._facts: OrderedDict[str, Fact | Mapping[str, object]] = OrderedDict()
        self._facts_max = facts_max
        self._lock = threading.Lock()

    def among(self, identities: Iterable[str]) -> dict[str, Fact]:
        """The facts about those of `identities` that are remembered, live and whole."""
        with self._lock:
            found = {identity: self._fact(identity) for identity in identities if identity in self._facts}
        return {identity: fact for identity, fact in found.items() if fact is not None}

    def remember(self, records: Iterable[Mapping[str, object]]) -> None:
        """Remember records by their properties, as they were written or read."""
        with self._lock:
            for properties in records:
                identity = str(properties["identity"])
                self._facts[identity] = {field: properties.get(field) for field in _FIELDS}
                self._facts.move_to_end(identity)
            while len(self._facts) > self._facts_max:
                self._facts.popitem(last=False)

    def forget(self, identities: Iterable[str]) -> None:
        """Look these up the next time."""
        with self._lock:
            for identity in identities:
                self._facts.pop(identity, None)

    def _fact(self, identity: str) -> Fact | None:
        """The fact of a remembered identity; what cannot be trusted is forgotten."""
        held = self._facts[identity]
        fact = held if isinstance(held, Fact) else _fact_of(held)
        if fact is None:
            del self._facts[identity]
            return None
        self._facts[identity] = fact
        self._facts.move_to_end(identity)
        return fact


def properties_of(row: Row) -> dict[str, object]:
    """The remembered properties of a record that `list_identities` told."""
    return {
        **{field: row.text_or_none(field) for field in _TEXTS},
        **{field: None if row.is_null(field) else row.texts(field) for field in _LISTS},
        **{field: row.number_or_none(field) for field in _NUMBERS},
    }


def _fact_of(compared: Mapping[str, object]) -> Fact | None:
    known = known_from_row(Row({**compared, "isTombstone": False, "fenced": False}))
    if known.state not in _LIVE or lacking_fields(known):
        return None
    read = {field: known.envelope[field] for field in _ENVELOPE_READ if field in known.envelope}
    return Fact(replace(known, envelope=read, judged_whole=True), compared)
