"""Who asks, for what, and what that lets them see."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from graph.errors import NotAuthorized
from graph.vocabulary import ReasonCode, RecordState, Role

# Roles that may look at what is held back from ordinary use.
_STATES_BY_ROLE = {
    Role.REVIEWER: frozenset({RecordState.ACTIVE, RecordState.SUPERSEDED, RecordState.QUARANTINED}),
    # What is kept under an exception is no state to be listed: it is shown one by one, for the purpose of the exception.
    Role.AUDITOR: frozenset(RecordState) - {RecordState.RETAINED},
}
_STATES_ORDINARY = frozenset({RecordState.ACTIVE, RecordState.SUPERSEDED})


@dataclass(frozen=True)
class Caller:
    """An authenticated identity acting in one tenant for one purpose.

    `shared_scopes` are the tenants whose records every tenant may read and derive from.
    """

    tenant_id: str
    principal_id: str
    roles: frozenset[Role]
    purpose: str
    shared_scopes: frozenset[str] = field(default_factory=frozenset[str])

    @cached_property
    def grants(self) -> list[str]:
        """The permission tokens that this caller holds."""
        return sorted({f"principal:{self.principal_id}", *(f"role:{role}" for role in self.roles)})

    @cached_property
    def tenants(self) -> list[str]:
        """The tenants whose records this caller may be shown."""
        return sorted({self.tenant_id, *self.shared_scopes})

    @cached_property
    def states(self) -> list[str]:
        """The record states that this caller may be shown."""
        seen = _STATES_ORDINARY.union(*(_STATES_BY_ROLE.get(role, frozenset()) for role in self.roles))
        return sorted(seen)

    def demand(self, *roles: Role) -> None:
        """Refuse a caller who has none of `roles`.

        Raises:
            NotAuthorized: `ROLE_REQUIRED`, with the roles that would do.
        """
        if not self.roles.intersection(roles):
            raise NotAuthorized(
                "this needs another role", code=ReasonCode.ROLE_REQUIRED, details={"roles": sorted(roles)}
            )


@lru_cache(maxsize=4_096)
def audience_of(tenant_id: str, kind: str, permissions: tuple[str, ...], purposes: tuple[str, ...]) -> int:
    """A number, the same for all living records of one kind that serve the same callers: 63 bits of SHA-256.

    A walk reads it from each record and looks at whom it serves once for each number, in place of once for each record.
    """
    told = json.dumps([tenant_id, kind, sorted(permissions), sorted(purposes)])
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8]) >> 1
