"""Client libraries of stores: extras of this package, looked for when a store is opened and not before."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from graph.errors import NotReady
from graph.vocabulary import ReasonCode


def client_library(module: str, extra: str) -> ModuleType:
    """A client library, by the name of its module.

    Raises:
        NotReady: it is not installed (`SERVICE_NOT_READY`).
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise NotReady(
            f"the client of this store is not installed: pip install 'sequela[{extra}]'",
            code=ReasonCode.SERVICE_NOT_READY,
        ) from error
