"""API keys: who a caller of the service is, for which tenant, in which roles, for which purposes.

A key is `sqk_<key id>_<secret>`. The secret has 256 random bits and is shown once; the database holds its SHA-256,
which is enough for a secret that nobody can guess. Nothing is cached: a key is read with every call (one keyed
look-up), so a revocation counts from the next call on, on every process.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from graph.access import Caller
from graph.clock import Clock
from graph.database.database import Database
from graph.database.rows import Row
from graph.errors import InvalidInput, NotAuthenticated, NotAuthorized, NotFound
from graph.ids import Ids, name_checked
from graph.vocabulary import ReasonCode, Role

SECRET_BYTES: Final = 32
_PAGE_ROWS: Final = 500
_HEADER = re.compile(r"^bearer +sqk_(?P<key_id>[0-9a-f-]{36})_(?P<secret>[0-9a-f]{64})$", re.IGNORECASE)
# What an unknown key is compared with, so that it costs what a known one costs.
_NO_HASH: Final = "0" * 64


@dataclass(frozen=True)
class KeyView:
    """A key as it is listed: everything but its secret. Instants are microseconds UTC."""

    key_id: str
    tenant_id: str
    roles: frozenset[Role]
    principal_id: str
    purposes: frozenset[str]
    created_at: int
    revoked_at: int | None


def create_key(
    database: Database,
    ids: Ids,
    clock: Clock,
    *,
    tenant_id: str,
    roles: Collection[Role],
    principal_id: str,
    purposes: Collection[str],
) -> tuple[str, str]:
    """Make a key and answer its id and the whole key; the key is shown this once and never again.

    Args:
        database: the graph.
        ids: makes the key's id.
        clock: says when it was made.
        tenant_id: the one tenant that it acts in.
        roles: what it may do, at least one.
        principal_id: who acts with it.
        purposes: what it may act for, at least one.

    Raises:
        InvalidInput: something is blank (`MALFORMED_INPUT`).
    """
    if not roles or not purposes:
        raise InvalidInput("a key has at least one role and one purpose", code=ReasonCode.MALFORMED_INPUT)
    key_id, secret = ids.new(), secrets.token_hex(SECRET_BYTES)
    database.write(
        "merge_api_key",
        keyId=key_id,
        secretHash=_hash(secret),
        tenantId=name_checked(tenant_id),
        roles=sorted(roles),
        principalId=name_checked(principal_id),
        purposes=sorted(name_checked(purpose) for purpose in purposes),
        at=clock.now(),
    )
    return key_id, f"sqk_{key_id}_{secret}"


def revoke_key(database: Database, clock: Clock, key_id: str) -> int:
    """Revoke a key from the next call on; answers since when it is revoked (microseconds UTC).

    Raises:
        NotFound: there is no such key.
    """
    rows = database.write("mark_api_key_revoked", keyId=key_id, at=clock.now())
    if not rows:
        raise NotFound("no such key", code=ReasonCode.NOT_FOUND)
    return rows[0].number("revokedAt")


def list_keys(database: Database) -> Iterator[KeyView]:
    """Every key, oldest first, revoked ones included."""
    after = ""
    while rows := database.read("list_api_keys", after=after, rowsMax=_PAGE_ROWS):
        yield from map(_view, rows)
        after = rows[-1].text("keyId")


def authenticate(
    database: Database,
    shared_scopes: frozenset[str],
    *,
    authorization: str | None,
    tenant_id: str | None,
    purpose: str | None,
) -> Caller:
    """The caller that a request's headers stand for.

    Args:
        database: the graph.
        shared_scopes: the tenants whose records every tenant may read.
        authorization: `Bearer <key>`.
        tenant_id: the tenant to act in; the key's own.
        purpose: what the call is for; one of the key's.

    Raises:
        NotAuthenticated: no key, a malformed, unknown or revoked one; the answer does not tell which.
        InvalidInput: no tenant (`ACTIVE_TENANT_REQUIRED`) or no purpose (`MISSING_PURPOSE`).
        NotAuthorized: another tenant (`REQUESTER_UNAUTHORIZED`) or another purpose (`OUTSIDE_PURPOSE`).
    """
    key = _key_of(database, authorization)
    if not tenant_id:
        raise InvalidInput("every call names its tenant", code=ReasonCode.ACTIVE_TENANT_REQUIRED)
    if not purpose:
        raise InvalidInput("every call names its purpose", code=ReasonCode.MISSING_PURPOSE)
    if tenant_id != key.text("tenantId"):
        raise NotAuthorized("that tenant is not the caller's", code=ReasonCode.REQUESTER_UNAUTHORIZED)
    if purpose not in key.texts("purposes"):
        raise NotAuthorized("the key is not for that purpose", code=ReasonCode.OUTSIDE_PURPOSE)
    return Caller(
        tenant_id=tenant_id,
        principal_id=key.text("principalId"),
        roles=frozenset(map(Role, key.texts("roles"))),
        purpose=purpose,
        shared_scopes=shared_scopes,
    )


def _key_of(database: Database, authorization: str | None) -> Row:
    matched = _HEADER.match(authorization or "")
    rows = database.read("get_api_key", keyId=matched["key_id"]) if matched else []
    given = _hash(matched["secret"] if matched else "")
    held = rows[0].text("secretHash") if rows else _NO_HASH
    if not hmac.compare_digest(given, held):
        raise NotAuthenticated("a valid API key is needed", code=ReasonCode.REQUESTER_UNAUTHENTICATED)
    return rows[0]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _view(row: Row) -> KeyView:
    return KeyView(
        key_id=row.text("keyId"),
        tenant_id=row.text("tenantId"),
        roles=frozenset(map(Role, row.texts("roles"))),
        principal_id=row.text("principalId"),
        purposes=frozenset(row.texts("purposes")),
        created_at=row.number("createdAt"),
        revoked_at=row.number_or_none("revokedAt"),
    )
