"""Sets the store aside while a dump is loaded, so that a damaged dump or a crash costs nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

from service.local.config import DATABASE
from service.local.paths import Home


class StoreAside:
    """The previous store of a home, under one of three names that say how far a load has come.

    `moving` holds what has been moved so far and still belongs in its place; `before-load` is complete, and whatever
    stands in its place is the unfinished result of a load; `replaced` is no longer needed. Every step between them
    is one renaming, so a crash at any point leaves a state that `restore` can tell.
    """

    def __init__(self, home: Home) -> None:
        self._moving = home.run / "moving"
        self._complete = home.run / "before-load"
        self._replaced = home.run / "replaced"
        self._folders = {name: home.data / name / DATABASE for name in ("databases", "transactions")}

    def take(self) -> None:
        """Move the store out of the way."""
        self._moving.mkdir()
        for name, folder in self._folders.items():
            if folder.exists():
                folder.rename(self._moving / name)
        self._moving.rename(self._complete)

    def restore(self) -> None:
        """Undo a load that failed or was interrupted; does nothing where there was none."""
        if self._complete.exists():
            for folder in self._folders.values():
                _remove(folder)
            self._complete.rename(self._moving)
        for name, folder in self._folders.items():
            if (self._moving / name).exists():
                (self._moving / name).rename(folder)
        _remove(self._moving)
        _remove(self._replaced)

    def discard(self) -> None:
        """Remove the previous store: the load is complete."""
        self._complete.rename(self._replaced)
        _remove(self._replaced)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
