"""Identities: opaque, and never a caller's choice.

What has no name gets a UUIDv7. A name that a caller brings becomes a UUIDv8 by HMAC-SHA-256 under the tenant's identity
key, so the same name always meets the same record or tombstone, two tenants never meet, and nobody without the key can
compute or guess it (TMB-07).

One rule for names, on every path: **a name is a sequence of 1 to 4,096 Unicode scalar values, compared after
normalisation to NFC and otherwise exactly**. Case, blanks, colons, slashes, quotes and line breaks all count. NUL and
lone surrogates cannot be stored by every store that we speak to; they are refused (`NAME_NOT_ENCODABLE`).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
import uuid
from functools import lru_cache
from typing import Final, NewType, Protocol

import uuid_utils

from graph.errors import InvalidInput, Oversized
from graph.vocabulary import ReasonCode

Identity = NewType("Identity", str)
TenantId = NewType("TenantId", str)
RequestId = NewType("RequestId", str)

NAME_CHARACTERS_MAX: Final = 4_096
IDENTITY_KEY_BYTES: Final = 32
# Keys of tenants that are kept at hand.
TENANT_KEYS_MAX: Final = 1_024
_UNENCODABLE: Final = re.compile("[\0\ud800-\udfff]")


class Ids(Protocol):
    """Makes new opaque ids."""

    def new(self) -> str:
        """A new id, later than the ones before it where the implementation can tell."""
        ...


class SystemIds:
    """Ids of the real world: UUIDv7, which sort by time."""

    def new(self) -> str:
        """A new UUIDv7."""
        return str(uuid_utils.uuid7())


def is_encodable(text: str) -> bool:
    """Whether a text can be sent or written at all: half a surrogate pair cannot, and names nothing."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain(text: str) -> bool:
    """Whether a text, or any part of it, is a name as it stands: ASCII is its own canonical form."""
    return len(text) <= NAME_CHARACTERS_MAX and text.isascii() and "\0" not in text


def name_checked(name: str) -> str:
    """Return the canonical (NFC) form of a name, or refuse it.

    Raises:
        InvalidInput: empty, NUL or a lone surrogate (`MALFORMED_INPUT`, `NAME_NOT_ENCODABLE`).
        Oversized: longer than `NAME_CHARACTERS_MAX` after normalisation (`LIMIT_EXCEEDED`).
    """
    if name and is_plain(name):
        return name
    if not name:
        raise InvalidInput("a name has at least one character", code=ReasonCode.MALFORMED_INPUT)
    if _UNENCODABLE.search(name):
        raise InvalidInput("a name cannot hold NUL or a lone surrogate", code=ReasonCode.NAME_NOT_ENCODABLE)
    canonical = unicodedata.normalize("NFC", name)
    if len(canonical) > NAME_CHARACTERS_MAX:
        raise Oversized(
            f"a name has at most {NAME_CHARACTERS_MAX} characters",
            code=ReasonCode.LIMIT_EXCEEDED,
            details={"limit": "NAME_CHARACTERS_MAX", "max": NAME_CHARACTERS_MAX},
        )
    return canonical


class IdentityKeys:
    """Keyed hashes for one installation: names to identities, persons and sources to lookup keys.

    Args:
        root_key: at least 32 secret bytes; whoever has them can compute identities from names.
    """

    def __init__(self, root_key: bytes) -> None:
        if len(root_key) < IDENTITY_KEY_BYTES:
            raise ValueError(f"the identity key needs at least {IDENTITY_KEY_BYTES} bytes")
        self._root_key = root_key
        self._tenant_key = lru_cache(maxsize=TENANT_KEYS_MAX)(self._tenant_key_of)

    def identity(self, tenant_id: str, name: str, *, scope: str = "") -> Identity:
        """The identity of a name in a tenant; `scope` keeps the names of separate collections apart."""
        digest = self._digest(tenant_id, "identity", name_checked(scope) if scope else "", name_checked(name))
        return Identity(str(_uuid8(digest)))

    def lookup(self, tenant_id: str, field: str, value: str) -> str:
        """A keyed hash by which records of one person or source are found without storing who or what it is."""
        return self._digest(tenant_id, "lookup", field, value).hex()[:32]

    def fingerprint(self, tenant_id: str, data: bytes) -> str:
        """A keyed fingerprint of a request body: tells a repeat from another request, and tells nobody else anything."""
        return self._digest(tenant_id, "fingerprint", hashlib.sha256(data).hexdigest()).hex()[:32]

    def check_value(self) -> str:
        """A value to keep in the graph, by which a wrong identity key is noticed at start."""
        return self._digest("", "check").hex()[:32]

    def _digest(self, tenant_id: str, *parts: str) -> bytes:
        message = b"".join(len(data).to_bytes(8, "big") + data for data in (part.encode() for part in parts))
        return hmac.digest(self._tenant_key(tenant_id), message, "sha256")

    def _tenant_key_of(self, tenant_id: str) -> bytes:
        return hmac.digest(self._root_key, tenant_id.encode(), "sha256")


def derived_id(*parts: str) -> str:
    """An id that the same opaque parts always give (outcomes, exceptions): a repeat meets itself. Not for names."""
    message = b"".join(len(data).to_bytes(8, "big") + data for data in (part.encode() for part in parts))
    return str(_uuid8(hashlib.sha256(message).digest()))


def _uuid8(digest: bytes) -> uuid.UUID:
    raw = int.from_bytes(digest[:16], "big")
    raw &= ~(0xF << 76) & ~(0x3 << 62)
    return uuid.UUID(int=raw | (0x8 << 76) | (0x2 << 62))
