"""Reading for a caller within a time limit: what all questions about lineage share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from graph.access import Caller
from graph.database.catalogue import Literal
from graph.database.database import Database, StatementTimedOut
from graph.database.rows import Row
from graph.errors import NotFound, Oversized
from graph.ids import is_encodable
from graph.lineage.model import CompletenessReceipt, Limit
from graph.lineage.rules import Sight, sight_of
from graph.vocabulary import ReasonCode


@dataclass(frozen=True)
class Reader:
    """The graph as one caller may see it.

    Attributes:
        database: the graph.
        as_of: the instant before the first read, microseconds UTC; what was committed by then is in the answer.
        timeout_seconds: the time limit of each statement.
        caller: who asks.
        include_deleted: whether to show the tombstones that the caller's tenant left.
    """

    database: Database
    as_of: int
    timeout_seconds: float
    caller: Caller
    include_deleted: bool = False

    @cached_property
    def sight(self) -> Sight:
        """What the caller may be shown."""
        return sight_of(self.caller, include_deleted=self.include_deleted)

    def one(
        self, name: str, identity: str, /, *, literals: Mapping[str, Literal] | None = None, **params: object
    ) -> Row:
        """The one row that a query of this room answers about an identity; a single round trip.

        Raises:
            NotFound: no such record for this caller (`NOT_FOUND`), or its own tenant deleted it and deleted ones were
                not asked for (`DELETED_RECORD`).
            Oversized: the time limit passed (`LIMIT_EXCEEDED`, naming it), or the server lacks the memory.
        """
        named = [identity, *(value for value in params.values() if isinstance(value, str))]
        if not all(map(is_encodable, named)):
            raise _missing()
        rows = self._read(name, {"identity": identity, **params}, literals)
        if not rows:
            raise _missing()
        if rows[0].truth("isTombstone") and not self.include_deleted:
            raise NotFound("this record was deleted; ask for deleted ones too", code=ReasonCode.DELETED_RECORD)
        return rows[0]

    def some(self, name: str, /, **params: object) -> Row:
        """The one row that a query of this room answers about identities that were found; raises `Oversized` as `one`."""
        return self._read(name, params)[0]

    def receipt(
        self,
        *,
        nodes: int,
        edges: int,
        deepest: int,
        limits: tuple[Limit, ...] = (),
        withheld: bool,
        cycle: bool = False,
        more_follow: bool = False,
    ) -> CompletenessReceipt:
        """The receipt of an answer that was read just now."""
        return CompletenessReceipt(
            nodes_visited=nodes,
            edges_visited=edges,
            depth_deepest=deepest,
            limits_met=tuple(limit.value for limit in limits),
            withheld=withheld,
            cycle=cycle,
            more_follow=more_follow,
            as_of=self.as_of,
            bookmarks=tuple(self.database.bookmarks()),
        )

    def _read(
        self, name: str, params: Mapping[str, object], literals: Mapping[str, Literal] | None = None
    ) -> list[Row]:
        seen = {
            "tenantId": self.caller.tenant_id,
            "tenants": self.caller.tenants,
            "purpose": self.caller.purpose,
            "grants": self.caller.grants,
            "states": self.caller.states,
            "includeDeleted": self.include_deleted,
        }
        try:
            return self.database.read(name, literals=literals, timeout=self.timeout_seconds, **params, **seen)
        except StatementTimedOut as error:
            raise Oversized(
                "the answer was not found within the time limit; ask for less depth or fewer edge types",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": Limit.TIME.value, "max": self.timeout_seconds},
            ) from error


def _missing() -> NotFound:
    return NotFound("no such record", code=ReasonCode.NOT_FOUND)
