"""The tombstone journal: what must outlive a restore of the database, in a file beside it (design 3.5).

A line is one entry: JSON that begins with the SHA-256 of the line before it, so that no entry can be changed, dropped or
put between without the chain showing it. A line is on the disk before the transaction that it tells of commits, so the
journal is never behind the graph. It holds ids, instants, reason codes and policy references, and no content. A last
line that was not written whole belongs to no committed transaction: it is passed over, and the next one takes its place.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from pydantic import JsonValue

from graph.errors import NotReady, Unavailable
from graph.failpoints import Failpoints, NoFailpoints
from graph.vocabulary import JournalEntryKind, ReasonCode

NO_DIGEST: Final = "0" * 64
_COMPARED_BYTES: Final = 1 << 20
# A turn takes milliseconds; who keeps the file for longer stands still, and nobody can take it away from a living process.
LOCK_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.002
_LINE: Final = re.compile(rb'\{"previous":"([0-9a-f]{64})","sequence":([1-9][0-9]{0,17}),"kind":"([a-z_]+)",')


@dataclass(frozen=True)
class Position:
    """The place of an entry: its number, from 1, and the SHA-256 of its line, which seals all lines before it."""

    sequence: int
    digest: str


START: Final = Position(0, NO_DIGEST)


@dataclass(frozen=True)
class Entry:
    """One entry as it was read."""

    position: Position
    kind: JournalEntryKind
    at: int
    body: Mapping[str, JsonValue]


class FileJournal:
    """The journal in one file, shared by the processes of one machine.

    Args:
        path: the file; `create` makes it.
        failpoints: told before and after each append.
        lock_seconds: how long another process may keep the file before a call here gives up.
    """

    def __init__(self, path: Path, failpoints: Failpoints | None = None, *, lock_seconds: float = LOCK_SECONDS) -> None:
        self._path = path
        self._lock_seconds = lock_seconds
        self._failpoints = failpoints or NoFailpoints()
        self._lock = threading.RLock()
        self._head = START
        self._size = 0
        self._journal_id: str | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def journal_id(self) -> str:
        """The id that pairs the journal with its graph.

        Raises:
            NotReady: there is no journal (`JOURNAL_MISSING`), or it is broken (`JOURNAL_BROKEN`).
        """
        if self._journal_id is None:
            self.head()
        return cast("str", self._journal_id)

    def exists(self) -> bool:
        """Whether the file is there."""
        return self._path.exists()

    def create(self, journal_id: str, at: int, past: Iterable[Mapping[str, JsonValue]] = ()) -> None:
        """Make the file, whole or not at all, unless one is there.

        Args:
            journal_id: a new id.
            at: the instant.
            past: bodies of removals that came before there was a journal.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._path.with_name(f"{self._path.name}.{journal_id}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            line = _line(START, JournalEntryKind.OPENED, at, {"journalId": journal_id})
            file.write(line)
            for sequence, body in enumerate(past, start=1):
                before = Position(sequence, hashlib.sha256(line).hexdigest())
                line = _line(before, JournalEntryKind.CONTENT_REMOVED, at, body)
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, self._path)
        except FileExistsError:
            pass  # Another process was first; that one's journal counts.
        finally:
            draft.unlink()
        _sync_folder(self._path.parent)

    def head(self) -> Position:
        """The place of the last entry, entries of other processes included; what is new is checked."""
        with self._opened() as file:
            self._refresh(file)
            return self._head

    def digest_at(self, sequence: int) -> str | None:
        """The digest of the entry of that number, the whole chain checked on the way; none where it is not there.

        Raises:
            NotReady: the chain is broken (`JOURNAL_BROKEN`, with the line), or the file is not there (`JOURNAL_MISSING`).
        """
        with self._opened() as file:
            self._refresh(file)
            file.seek(0)
            position, found = START, START.digest if sequence == 0 else None
            for line in _lines(file, self._size):
                position = _checked(line, position)
                if position.sequence == sequence:
                    found = position.digest
            return found

    def append(self, kind: JournalEntryKind, at: int, body: Mapping[str, JsonValue]) -> Position:
        """Add an entry; when this returns, it is on the disk.

        Args:
            kind: what it tells of.
            at: the instant.
            body: ids, codes and instants, never content.

        Raises:
            Unavailable: it cannot be written, and the file is as it was (`JOURNAL_UNAVAILABLE`).
            NotReady: the file is gone, or was changed by something else (`JOURNAL_MISSING`, `JOURNAL_BROKEN`).
        """
        self._failpoints.reached("journal.before_append")
        with self._opened() as file:
            self._refresh(file)
            line = _line(self._head, kind, at, body)
            self._write(file, line)
            self._size += len(line)
            self._head = Position(self._head.sequence + 1, hashlib.sha256(line).hexdigest())
            head = self._head
        self._failpoints.reached("journal.after_append")
        return head

    def after(self, sequence: int) -> Iterator[Entry]:
        """The entries behind that number, in order; those that are added meanwhile are not among them."""
        with self._opened() as file:
            self._refresh(file)
            size = self._size
        position = START
        with self._path.open("rb") as file:
            for line in _lines(file, size):
                position = _checked(line, position)
                if position.sequence > sequence:
                    yield _entry(line, position)

    @contextmanager
    def _opened(self) -> Generator[BinaryIO]:
        """The file, locked against other threads and processes."""
        with self._lock:
            try:
                file = self._path.open("r+b")
            except FileNotFoundError:
                raise NotReady(
                    "the tombstone journal is not there: put it back, or deleted records may return unseen",
                    code=ReasonCode.JOURNAL_MISSING,
                ) from None
            except OSError as error:
                raise _unavailable(error) from error
            with file:
                self._take(file)
                yield file

    def _take(self, file: BinaryIO) -> None:
        """Lock the file against other processes; closing it lets it go."""
        deadline = time.monotonic() + self._lock_seconds
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Unavailable(
                        "another process keeps the tombstone journal locked: let it go on, or end it",
                        code=ReasonCode.JOURNAL_UNAVAILABLE,
                    ) from None
                time.sleep(_LOOK_SECONDS)
            else:
                return

    def _refresh(self, file: BinaryIO) -> None:
        """Take in what others added; a last line that was never finished is passed over, and written over later."""
        size = os.fstat(file.fileno()).st_size
        if size < self._size:
            raise _broken(self._head.sequence)
        file.seek(self._size)
        head = self._head
        for line in _lines(file, size):
            if not line.endswith(b"\n"):
                break
            head = _checked(line, head)
            if head.sequence == 1:
                self._journal_id = _id_in(_entry(line, head))
            self._size += len(line)
            self._head = head
        if self._journal_id is None:
            raise _broken(1)

    def _write(self, file: BinaryIO, line: bytes) -> None:
        try:
            os.ftruncate(file.fileno(), self._size)
            written = 0
            while written < len(line):  # past the file object, which would keep what a full disk refused for later
                written += os.pwrite(file.fileno(), line[written:], self._size + written)
            os.fsync(file.fileno())
        except OSError as error:
            # Nothing of a line that may not be on the disk stays: its transaction will not commit.
            self._cut(file, self._size)
            raise _unavailable(error) from error

    def _cut(self, file: BinaryIO, size: int) -> None:
        try:
            os.ftruncate(file.fileno(), size)
            os.fsync(file.fileno())
        except OSError as error:
            raise _unavailable(error) from error


def whole_journal(path: Path, other: Path) -> Path:
    """Of two journals of which one has everything that the other has, the one that has more.

    Raises:
        NotReady: each has what the other lacks, so that they are different pasts (`JOURNAL_FOREIGN`).
    """
    shorter, longer = sorted((path, other), key=lambda one: one.stat().st_size)
    with shorter.open("rb") as less, longer.open("rb") as more:
        while mine := less.read(_COMPARED_BYTES):
            if more.read(len(mine)) != mine:
                raise NotReady(
                    "the journal beside the dump and the one that is here tell different pasts",
                    code=ReasonCode.JOURNAL_FOREIGN,
                )
    return longer


def _line(before: Position, kind: JournalEntryKind, at: int, body: Mapping[str, JsonValue]) -> bytes:
    entry = {
        "previous": before.digest,
        "sequence": before.sequence + 1,
        "kind": kind.value,
        "at": at,
        "body": dict(body),
    }
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def _lines(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The lines from here to `size`."""
    while file.tell() < size:
        yield file.readline(size - file.tell())


def _checked(line: bytes, before: Position) -> Position:
    """The place of a line that follows `before`."""
    found = _LINE.match(line)
    number = before.sequence + 1
    if found is None or found[1].decode() != before.digest or int(found[2]) != number or not line.endswith(b"}\n"):
        raise _broken(number)
    return Position(number, hashlib.sha256(line).hexdigest())


def _entry(line: bytes, position: Position) -> Entry:
    try:
        parsed = cast("dict[str, JsonValue]", json.loads(line))
        body, at, kind = parsed["body"], parsed["at"], JournalEntryKind(str(parsed["kind"]))
    except (ValueError, KeyError):
        raise _broken(position.sequence) from None
    if not isinstance(body, dict) or not isinstance(at, int):
        raise _broken(position.sequence)
    return Entry(position, kind, at, body)


def _id_in(opened: Entry) -> str:
    journal_id = opened.body.get("journalId")
    if opened.kind is not JournalEntryKind.OPENED or not isinstance(journal_id, str):
        raise _broken(1)
    return journal_id


def _broken(line: int) -> NotReady:
    return NotReady(
        f"the tombstone journal is broken at line {line}: put back the file as it was written",
        code=ReasonCode.JOURNAL_BROKEN,
        details={"line": line},
    )


def _unavailable(error: OSError) -> Unavailable:
    return Unavailable(
        f"the tombstone journal cannot be written: {os.strerror(error.errno or 0)}",
        code=ReasonCode.JOURNAL_UNAVAILABLE,
    )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
