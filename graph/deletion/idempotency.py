"""What an idempotency key of a tenant was used for."""

from __future__ import annotations

from graph.database.database import Database
from graph.errors import Conflict
from graph.vocabulary import ReasonCode


def result_under_key(database: Database, tenant_id: str, key: str, fingerprint: str) -> str | None:
    """The id that the first call with this key came to, or none where the key is new.

    Args:
        database: the graph.
        tenant_id: keys of one tenant are no one else's.
        key: the caller's key.
        fingerprint: of the request that is made now.

    Raises:
        Conflict: the key was used for another request (`IDEMPOTENCY_KEY_REUSED`).
    """
    rows = database.read("get_idempotency_key", tenantId=tenant_id, key=key)
    if not rows:
        return None
    if rows[0].text("fingerprint") != fingerprint:
        raise key_reused()
    return rows[0].text_or_none("result")


def key_reused() -> Conflict:
    """The answer where a key comes with another request than its first one."""
    return Conflict("this idempotency key was used for another request", code=ReasonCode.IDEMPOTENCY_KEY_REUSED)
