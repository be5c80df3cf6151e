"""The account of a tenant as a PROV-JSON document: what was made when, by which work, of what, and what became of it.

Every record is an entity under its opaque identity, its operation an activity; generation and use have their times, and
every deletion is an invalidation with its request and its time. There is no content in it and no name, so that it may
leave the house, and a validator of PROV-CONSTRAINTS can find a use after an invalidation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from graph.access import Caller
from graph.clock import instant_to_text
from graph.database.database import Database
from graph.errors import Oversized
from graph.lineage.exchange import Entry, Joint, Work, account_pages
from graph.vocabulary import EdgeType, ReasonCode
from service.formats.prov_export import ProvExport
from service.formats.prov_names import Labels
from service.formats.prov_write import Container, document_of

ENTRIES_MAX: Final = 500_000


def export_account(database: Database, caller: Caller) -> ProvExport:
    """Write the account of everything that the caller may see and that deletions of the tenant ended.

    Raises:
        Oversized: more than `ENTRIES_MAX` records and tombstones (`LIMIT_EXCEEDED`).
    """
    top = Container(Labels())
    top.use_own_prefixes()
    writer = _Writer(top)
    withheld = False
    for entries, page_withheld in account_pages(database, caller):
        withheld |= page_withheld
        for entry in entries:
            writer.write(entry)
    return ProvExport(document_of(top, {}), writer.living, writer.ended, withheld)


class _Writer:
    """Writes entry after entry."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._activities: set[str] = set()
        self._used: set[tuple[str, str, int | None]] = set()
        self.living = 0
        self.ended = 0

    def write(self, entry: Entry) -> None:
        """One record, or what is left of it."""
        if self.living + self.ended >= ENTRIES_MAX:
            raise Oversized(
                "there is too much for one document",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "ENTRIES_MAX", "max": ENTRIES_MAX},
            )
        if entry.ended is None:
            self.living += 1
            kind = self._container.own_type(entry.kind or "record")
            self._container.add("entity", self._container.identity(entry.identity), {"prov:type": kind})
        else:
            self.ended += 1
            self._container.add_ended(entry.ended)
        for work in entry.work:
            self._generated(entry, work)
        for source in entry.sources:
            self._derived(source, entry.work)

    def _generated(self, entry: Entry, work: Work) -> None:
        activity = self._activity(work)
        at = _made_at(entry, work)
        body = {"prov:entity": self._container.identity(entry.identity), "prov:activity": activity}
        self._container.add_unnamed("wasGeneratedBy", {**body, **_timed(at)})
        for source in entry.sources:
            use = (work.operation_id, source.parent, at)
            if source.edge is not EdgeType.SUPERSEDES and use not in self._used:
                self._used.add(use)
                used = {"prov:activity": activity, "prov:entity": self._container.identity(source.parent)}
                self._container.add_unnamed("used", {**used, **_timed(at)})

    def _activity(self, work: Work) -> str:
        label = self._container.identity(work.operation_id)
        if work.operation_id not in self._activities:
            self._activities.add(work.operation_id)
            self._container.add("activity", label, {"prov:type": self._container.own_type(work.type)})
        return label

    def _derived(self, source: Joint, work: tuple[Work, ...]) -> None:
        body: dict[str, JsonValue] = {
            "prov:generatedEntity": self._container.identity(source.child),
            "prov:usedEntity": self._container.identity(source.parent),
        }
        if source.edge is EdgeType.SUPERSEDES:
            body["prov:type"] = {"$": "prov:Revision", "type": "prov:QUALIFIED_NAME"}
        else:
            body["prov:type"] = self._container.own_type(source.edge.value)
            if len(work) == 1:
                body["prov:activity"] = self._container.identity(work[0].operation_id)
        self._container.add_unnamed("wasDerivedFrom", body)


def _made_at(entry: Entry, work: Work) -> int | None:
    """When a record was made: as it says, else when its work was, unless that made others at other times."""
    if entry.recorded_at is not None:
        return entry.recorded_at
    return None if work.is_shared else work.at


def _timed(at: int | None) -> Mapping[str, JsonValue]:
    return {} if at is None else {"prov:time": instant_to_text(at)}
