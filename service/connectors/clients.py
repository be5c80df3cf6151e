"""Client libraries of stores: extras of this package, looked for when a store is opened, and their errors."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from graph.errors import NotReady
from graph.vocabulary import ReasonCode
from service.connectors.port import StoreUnavailable


def client_library(module: str, extra: str) -> ModuleType:
    """A module that comes with an extra or needs what comes with it.

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


@contextmanager
def answered() -> Generator[None]:
    """Whatever a client raises means that its store did not answer; messages bear keys and are not passed on."""
    try:
        yield
    except (StoreUnavailable, NotReady):
        raise
    except Exception as error:  # noqa: BLE001 - a client raises errors of several libraries, and ValueError
        raise StoreUnavailable(f"the store did not answer: {type(error).__name__}") from None
