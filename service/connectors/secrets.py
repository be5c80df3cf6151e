"""Secrets of stores: named in the connections file, and read from the environment when a store is opened."""

from __future__ import annotations

import os

from graph.errors import NotReady
from graph.vocabulary import ReasonCode


def secret(name: str) -> str:
    """The value of an environment variable that a connection names.

    Raises:
        NotReady: it is not set (`SERVICE_NOT_READY`).
    """
    value = os.environ.get(name)
    if value is None:
        raise NotReady(
            f"the environment has no {name}, which a store's connection names", code=ReasonCode.SERVICE_NOT_READY
        )
    return value
