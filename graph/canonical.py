"""Canonical JSON (RFC 8785): the same value always gives the same bytes."""

from __future__ import annotations

from typing import cast

import rfc8785
from pydantic import JsonValue


def canonical_json(value: object) -> bytes:
    """The canonical bytes of a JSON value.

    Raises:
        rfc8785.CanonicalizationError: the value has no canonical form, such as an integer beyond 2^53.
    """
    return rfc8785.dumps(cast("dict[str, JsonValue]", value))
