"""The files store: a directory of files, one a copy. Deletion is an unlink that is on the disk before it is answered.

Verification lists the folder anew instead of asking for the file by its name. What stays is declared in the inventory:
freed blocks of the disk, snapshots of the volume.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import Field

from graph.errors import InvalidInput
from graph.vocabulary import ReasonCode, VerificationLevel
from service.connectors import port
from service.connectors.port import (
    MARKER,
    Claim,
    PurgeKind,
    ReadConsistency,
    StoreProfile,
    StoreUnavailable,
    batch_checked,
    is_name,
)

_DRAFT: Final = ".sequela-draft-"
PROFILE: Final = StoreProfile(
    addressing="a relative path below the root folder",
    batch_max=100,
    read=ReadConsistency.STRONG,
    purge=PurgeKind.NONE,
    level=VerificationLevel.LOGICALLY_ABSENT,
    residue=("freed blocks of the disk", "snapshots of the volume"),
    is_enumerable=True,
)


class Connection(port.Connection):
    """A folder of files on this machine, or on a disk that is mounted here."""

    connector: Literal["files"] = "files"
    root: Annotated[Path, Field(description="The root folder; it is made where there is nothing yet.")]

    def open(self, root_id: str | None) -> FilesConnector:
        """See `port.Connection`."""
        return FilesConnector(self.root, root_id)


class FilesConnector:
    """Copies as files below one root folder.

    A locator is a relative path with `/` between its parts; it never leaves the root, neither by `..` nor through a
    symbolic link. The root holds a marker file with its id: a folder without it is the mount point of a disk that is not
    mounted, or somebody else's, and says nothing about copies; nor does a root with another id than the store was first
    used with.
    """

    def __init__(self, root: Path, root_id: str | None = None) -> None:
        self._root = root
        self._root_id = root_id

    @property
    def profile(self) -> StoreProfile:
        """What a folder of files can do."""
        return PROFILE

    def create(self, root_id: str) -> None:
        """Make the root with its marker where there is nothing yet; a folder that exists is left as it is."""
        if not self._root.exists():
            self._root.mkdir(mode=0o700, parents=True)
            (self._root / MARKER).write_text(root_id, encoding="ascii")

    def root_id(self) -> str | None:
        """The id in the root's marker, or none where there is no such root."""
        try:
            return (self._root / MARKER).read_text(encoding="ascii")
        except (OSError, ValueError):
            return None

    def write(self, locator: str, data: bytes) -> None:
        """Put a copy there, whole or not at all, and on the disk before it is answered.

        Raises:
            InvalidInput: no locator that stays below the root (`MALFORMED_INPUT`).
            StoreUnavailable: the root is not there, or the file system answers with an error.
        """
        *folders, name = _parts(locator)
        self._root_checked()
        draft = f"{_draft_prefix(name)}{os.getpid()}-{threading.get_ident()}"
        try:
            with self._folder(folders, make=True) as folder:
                _put(folder, draft, name, data)
                os.fsync(folder)
        except OSError as error:
            raise StoreUnavailable("the file system refused") from error

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        """Unlink each file, and drafts of it that a killed writer left, and wait until the disk has it.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the root is not there.
        """
        batch_checked(locators, PROFILE.batch_max)
        self._root_checked()
        claims = [self._delete(locator) for locator in locators]
        # Once more: a root that went away in between makes everything look absent.
        self._root_checked()
        return claims

    def present(self, locators: Sequence[str]) -> list[bool]:
        """List each folder on the way anew and look for the name among the entries.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the root is not there, or a folder cannot be listed.
        """
        batch_checked(locators, PROFILE.batch_max)
        self._root_checked()
        return [_is_locator(locator) and self._is_present(locator) for locator in locators]

    def purge(self) -> None:
        """Nothing: what a file system keeps of a file is out of its users' reach."""

    def locators(self) -> Iterator[str]:
        """All files below the root, drafts and the marker left out.

        Raises:
            StoreUnavailable: the root is not there, or a folder cannot be listed.
        """
        self._root_checked()
        waiting = [self._root]
        while waiting:
            for entry in _listed(waiting.pop()):
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif not entry.name.startswith(_DRAFT) and path != self._root / MARKER:
                    yield path.relative_to(self._root).as_posix()

    def close(self) -> None:
        """Nothing is held."""

    def _delete(self, locator: str) -> Claim:
        if not _is_locator(locator):
            return Claim.MALFORMED
        *folders, name = _parts(locator)
        try:
            with self._folder(folders) as folder:
                found = _entries(folder, name)
                # Unlinking a link would leave the content where it leads.
                if not all(_is_file(entry, folder) for entry in found):
                    return Claim.FAILED
                for entry in found:
                    os.unlink(entry, dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError:
            return Claim.NOT_FOUND
        except OSError:
            return Claim.FAILED
        return Claim.DELETED if found else Claim.NOT_FOUND

    def _is_present(self, locator: str) -> bool:
        *folders, name = _parts(locator)
        folder = self._root
        for part in folders:
            entry = next((entry for entry in _listed(folder) if entry.name == part), None)
            if entry is None or entry.is_file(follow_symlinks=False):
                return False
            if not entry.is_dir(follow_symlinks=False):
                # A link, say: what is behind it is not looked at, and not called absent.
                return True
            folder = folder / part
        return any(_belongs(entry.name, name) for entry in _listed(folder))

    def _root_checked(self) -> None:
        """A root that is gone (not mounted, say) is no proof that its files are."""
        try:
            is_marked = stat.S_ISREG((self._root / MARKER).lstat().st_mode)
        except OSError as error:
            raise StoreUnavailable(f"the root folder is not there, or has no {MARKER}") from error
        if self._root_id is not None and self.root_id() != self._root_id:
            raise StoreUnavailable("this is not the root that the store was first used with")
        if not is_marked:
            raise StoreUnavailable(f"the root's {MARKER} is not a file")

    @contextmanager
    def _folder(self, parts: list[str], *, make: bool = False) -> Generator[int]:
        """A descriptor of the folder, reached (and made, if asked) part by part without following a link."""
        descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts:
                if make:
                    _make_folder(part, descriptor)
                deeper = _deeper(part, descriptor)
                os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            os.close(descriptor)


def _deeper(part: str, parent: int) -> int:
    try:
        return os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except NotADirectoryError as error:
        if _is_file(part, parent):
            raise FileNotFoundError from error
        raise


def _is_file(entry: str, parent: int) -> bool:
    return stat.S_ISREG(os.stat(entry, dir_fd=parent, follow_symlinks=False).st_mode)


def _make_folder(name: str, parent: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)


def _put(folder: int, draft: str, name: str, data: bytes) -> None:
    """Write a draft and give it the name; a draft that came to nothing is taken away."""
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise


def _draft_prefix(name: str) -> str:
    """How drafts of a file are called: told from the name, and short enough however long that is."""
    return f"{_DRAFT}{hashlib.sha256(name.encode()).hexdigest()[:32]}-"


def _belongs(entry: str, name: str) -> bool:
    return entry == name or entry.startswith(_draft_prefix(name))


def _entries(folder: int, name: str) -> list[str]:
    return [entry for entry in os.listdir(folder) if _belongs(entry, name)]


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise StoreUnavailable("a folder cannot be listed") from error


def _is_locator(locator: str) -> bool:
    parts = PurePosixPath(locator).parts
    escapes = locator.startswith("/") or not parts or ".." in parts
    return is_name(locator) and not escapes and parts != (MARKER,)


def _parts(locator: str) -> tuple[str, ...]:
    if not _is_locator(locator):
        raise InvalidInput("a locator is a relative path below the root, without ..", code=ReasonCode.MALFORMED_INPUT)
    return PurePosixPath(locator).parts
