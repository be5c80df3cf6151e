"""What the records room takes and gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import cast

from pydantic import JsonValue

from graph.access import Caller
from graph.database.rows import Row
from graph.envelope import Fault
from graph.vocabulary import EdgeType, ReasonCode


class RegisterStatus(StrEnum):
    """What became of one record that was to be registered."""

    CREATED = "created"
    QUARANTINED = "quarantined"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True)
class RegisterResult:
    """The verdict on one record; `details` name fields and ids, never content."""

    status: RegisterStatus
    identity: str
    code: ReasonCode | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class Link:
    """One edge from a new record to an existing one."""

    identity: str
    edge: EdgeType


@dataclass(frozen=True)
class Draft:
    """A record that passed admission and waits for the graph: what will be stored, and what it hangs on.

    `may_repeat` says whether its identity comes from a name or a key, so that the record may be there already.
    """

    index: int
    identity: str
    may_repeat: bool
    record_class: str
    kind: str
    state: str
    properties: Mapping[str, object]
    envelope: Mapping[str, JsonValue]
    links: tuple[Link, ...]
    supersedes: str | None
    stores: tuple[Mapping[str, str], ...]
    operation: Mapping[str, object]
    faults: tuple[Fault, ...]

    @cached_property
    def touches(self) -> frozenset[str]:
        """Every existing identity that the record hangs on."""
        touched = frozenset([link.identity for link in self.links])
        return touched | {self.supersedes} if self.supersedes else touched

    @cached_property
    def claims(self) -> frozenset[str]:
        """What no two records of one transaction may share: identity, version succeeded, places of copies."""
        places = {f"{store['storeId']} {store['locator']}" for store in self.stores}
        return frozenset({self.identity, self.supersedes or self.identity} | places)


@dataclass(frozen=True)
class Known:
    """What the graph knows of one identity. `deleted_by` are the tenants whose requests account for a tombstone.

    `succeeded` says that a later version of it is there; `judged_whole` that its envelope was found whole and holds only
    what decisions about derivatives read.
    """

    identity: str
    is_tombstone: bool
    fenced: bool = False
    tenant_id: str = ""
    record_class: str = ""
    kind: str = ""
    state: str = ""
    succeeded: bool = True
    purposes: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    observed_at: int | None = None
    expires_at: int | None = None
    envelope: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    deleted_by: frozenset[str] = frozenset()
    judged_whole: bool = False

    def is_known_to(self, caller: Caller) -> bool:
        """Whether a caller may learn that this identity is, or was, there: by tenant, and while it lives by audience."""
        if self.is_tombstone:
            return not self.deleted_by.isdisjoint(caller.tenants)
        in_audience = caller.purpose in self.purposes and not self.permissions.isdisjoint(caller.grants)
        return self.tenant_id in caller.tenants and in_audience

    @property
    def version(self) -> int:
        """Its place in the chain of versions."""
        value = self.envelope.get("version")
        return value if isinstance(value, int) else 1

    @cached_property
    def origins(self) -> frozenset[str]:
        """The kinds of origin at the roots of what it was derived from."""
        value = self.envelope.get("origins")
        return frozenset(str(item) for item in value) if isinstance(value, list) else frozenset()


def known_from_row(row: Row) -> Known:
    """Read what the graph says of an identity; what somebody removed in the database itself is blank (ENV-01)."""
    if row.truth("isTombstone"):
        return Known(row.text("identity"), is_tombstone=True, deleted_by=_texts(row, "deletedBy"))
    return Known(
        identity=row.text("identity"),
        is_tombstone=False,
        fenced=row.truth("fenced"),
        tenant_id=row.text_or_none("tenantId") or "",
        record_class=row.text_or_none("class") or "",
        kind=row.text_or_none("kind") or "",
        state=row.text_or_none("state") or "",
        purposes=_texts(row, "purposes"),
        permissions=_texts(row, "permissions"),
        observed_at=row.number_or_none("observedAt"),
        expires_at=row.number_or_none("expiresAt"),
        envelope=_envelope(row.text_or_none("envelope")),
    )


def _texts(row: Row, key: str) -> frozenset[str]:
    return frozenset[str]() if row.is_null(key) else frozenset(row.texts(key))


def _envelope(text: str | None) -> dict[str, JsonValue]:
    try:
        parsed: object = json.loads(text or "{}")
    except ValueError:
        return {}
    return cast("dict[str, JsonValue]", parsed) if isinstance(parsed, dict) else {}
