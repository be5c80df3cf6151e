"""The files store: a directory of files, one a copy. Deletion is an unlink that is on the disk before it is answered.

Verification lists the folder anew instead of asking for the file by its name. What stays is declared in the inventory:
freed blocks of the disk, snapshots of the volume.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from graph.errors import InvalidInput
from graph.vocabulary import DerivativeOutcome, ReasonCode
from service.connectors.port import StoreUnavailable


MARKER: Final = ".sequela-store"


class FilesConnector:
    """Copies as files below one root folder.

    A locator is a relative path with `/` between its parts; it never leaves the root, neither by `..` nor through a
    symbolic link. The root holds a marker file: a folder without it is the mount point of a disk that is not mounted, or
    somebody else's, and says nothing about copies.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def create(self) -> None:
        """Make the root with its marker where there is nothing yet; a folder that exists is left as it is."""
        if not self._root.exists():
            self._root.mkdir(mode=0o700, parents=True)
            (self._root / MARKER).touch()

    def write(self, locator: str, data: bytes) -> None:
        """Put a copy there, whole or not at all, and on the disk before it is answered."""
        parts = _parts(locator)
        self._root_checked()
        folder = self._root.joinpath(*parts[:-1])
        folder.mkdir(parents=True, exist_ok=True)
        with self._folder(parts[:-1]) as descriptor:
            draft = f".{parts[-1]}.{os.getpid()}.draft"
            file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600, dir_fd=descriptor)
            with os.fdopen(file, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(draft, parts[-1], src_dir_fd=descriptor, dst_dir_fd=descriptor)
            os.fsync(descriptor)

    def delete(self, locator: str) -> str:
        """Unlink the file and wait until the disk has it.

        Raises:
            StoreUnavailable: the root is not there, or the file system answers with an error.
        """
        parts = _parts(locator)
        try:
            with self._folder(parts[:-1]) as descriptor:
                os.unlink(parts[-1], dir_fd=descriptor)
                os.fsync(descriptor)
        except FileNotFoundError:
            self._root_checked()
            return DerivativeOutcome.NOT_FOUND
        except OSError as error:
            raise StoreUnavailable("the file system refused") from error
        return DerivativeOutcome.DELETED

    def is_present(self, locator: str) -> bool:
        """List each folder on the way anew and look for the name among the entries.

        Raises:
            StoreUnavailable: the root is not there, or a folder cannot be listed.
        """
        parts = _parts(locator)
        self._root_checked()
        folder = self._root
        for part in parts[:-1]:
            entry = _entry(folder, part)
            if entry is None:
                return False
            folder = folder / part
        return _entry(folder, parts[-1]) is not None

    def _root_checked(self) -> None:
        """A root that is gone (not mounted, say) is no proof that its files are."""
        try:
            is_marked = stat.S_ISREG((self._root / MARKER).lstat().st_mode)
        except OSError as error:
            raise StoreUnavailable(f"the root folder is not there, or has no {MARKER}") from error
        if not is_marked:
            raise StoreUnavailable(f"the root's {MARKER} is not a file")

    @contextmanager
    def _folder(self, parts: tuple[str, ...]) -> Generator[int]:
        """A descriptor of the folder, reached part by part without following a link."""
        descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts:
                deeper = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            os.close(descriptor)


def _entry(folder: Path, name: str) -> os.DirEntry[str] | None:
    try:
        with os.scandir(folder) as entries:
            return next((entry for entry in entries if entry.name == name), None)
    except OSError as error:
        raise StoreUnavailable("a folder cannot be listed") from error


def _parts(locator: str) -> tuple[str, ...]:
    path = PurePosixPath(locator)
    if path.is_absolute() or not path.parts or any(part in {".", ".."} for part in path.parts) or "\0" in locator:
        raise InvalidInput("a locator is a relative path without ..", code=ReasonCode.MALFORMED_INPUT)
    return path.parts
