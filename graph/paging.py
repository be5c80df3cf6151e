"""Cursors of listings that are ordered by an id: opaque, and good for one listing alone."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from graph.errors import InvalidInput
from graph.vocabulary import ReasonCode

_CHECK_CHARACTERS: Final = 16


def cursor_after(listing: str, last_id: str) -> str:
    """A cursor for what follows `last_id` in a listing.

    Args:
        listing: names the listing, such as a request id; a cursor of another one is refused.
        last_id: the last id that was shown.
    """
    return base64.urlsafe_b64encode(f"{_check(listing, last_id)}{last_id}".encode()).decode()


def id_before(listing: str, cursor: str | None) -> str:
    """The id after which a listing goes on; empty where it begins.

    Raises:
        InvalidInput: not a cursor of this listing (`CURSOR_INVALID`).
    """
    if cursor is None:
        return ""
    try:
        text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except ValueError:
        text = ""
    last_id = text[_CHECK_CHARACTERS:]
    if not last_id or cursor_after(listing, last_id) != cursor:
        raise InvalidInput("this cursor is not one of this listing", code=ReasonCode.CURSOR_INVALID)
    return last_id


def _check(listing: str, last_id: str) -> str:
    return hashlib.sha256(f"{listing}\n{last_id}".encode()).hexdigest()[:_CHECK_CHARACTERS]
