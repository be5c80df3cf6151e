"""The tombstone journal as a file: chained, durable, whole or cut back, and never silently wrong."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from graph.database.journal import FileJournal
from graph.errors import NotReady, Unavailable
from graph.vocabulary import JournalEntryKind

REMOVED = JournalEntryKind.CONTENT_REMOVED


def opened(path: Path) -> FileJournal:
    journal = FileJournal(path)
    if not journal.exists():
        journal.create("journal-1", 1)
    return journal


def filled(path: Path, number: int) -> FileJournal:
    journal = opened(path)
    for at in range(number):
        journal.append(REMOVED, at, {"delete": [f"id-{at}"]})
    return journal


def entries(journal: FileJournal) -> list[tuple[int, str, object]]:
    return [(entry.position.sequence, entry.kind.value, dict(entry.body)) for entry in journal.after(0)]


def test_each_line_seals_the_lines_before_it(tmp_path):
    filled(tmp_path / "j", 2)
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    assert [json.loads(line) for line in lines] == [
        {"previous": "0" * 64, "sequence": 1, "kind": "opened", "at": 1, "body": {"journalId": "journal-1"}},
        {
            "previous": hashlib.sha256(lines[0]).hexdigest(),
            "sequence": 2,
            "kind": "content_removed",
            "at": 0,
            "body": {"delete": ["id-0"]},
        },
        {
            "previous": hashlib.sha256(lines[1]).hexdigest(),
            "sequence": 3,
            "kind": "content_removed",
            "at": 1,
            "body": {"delete": ["id-1"]},
        },
    ]


def test_what_was_appended_is_read_again_by_another_process(tmp_path):
    journal = filled(tmp_path / "j", 3)
    assert entries(FileJournal(tmp_path / "j")) == entries(journal)
    assert FileJournal(tmp_path / "j").head() == journal.head()
    assert [entry.position.sequence for entry in journal.after(2)] == [3, 4]
    assert list(journal.after(4)) == []
    assert FileJournal(tmp_path / "j").journal_id == "journal-1"


def test_two_that_write_take_turns(tmp_path):
    opened(tmp_path / "j")
    writers = [FileJournal(tmp_path / "j") for _ in range(4)]

    def write(number):
        for at in range(25):
            writers[number].append(REMOVED, at, {"by": number})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = entries(FileJournal(tmp_path / "j"))
    assert [sequence for sequence, _, _ in found] == list(range(1, 102))
    assert sorted(str(body) for _, _, body in found[1:]) == sorted(str({"by": n}) for n in range(4) for _ in range(25))
    assert {writer.head() for writer in writers} == {FileJournal(tmp_path / "j").head()}


def test_a_journal_that_another_process_keeps_is_unavailable_until_it_lets_go(tmp_path):
    journal = filled(tmp_path / "j", 1)
    waiting = FileJournal(tmp_path / "j", lock_seconds=0.2)
    with (tmp_path / "j").open("rb") as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        for call in (waiting.head, lambda: waiting.append(REMOVED, 9, {}), lambda: list(waiting.after(0))):
            with pytest.raises(Unavailable) as refused:
                call()
            assert refused.value.code == "JOURNAL_UNAVAILABLE"
    assert waiting.append(REMOVED, 9, {}).sequence == 3
    assert journal.head().sequence == 3


def test_the_file_is_its_owners_alone_and_made_once(tmp_path):
    opened(tmp_path / "deep" / "j")
    FileJournal(tmp_path / "deep" / "j").create("journal-2", 5)
    assert FileJournal(tmp_path / "deep" / "j").journal_id == "journal-1"
    assert (tmp_path / "deep" / "j").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["j"]


@pytest.mark.parametrize("kept", range(1, 40, 7))
def test_a_last_line_that_was_not_finished_is_taken_off(tmp_path, kept):
    filled(tmp_path / "j", 2)
    whole = (tmp_path / "j").read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    (tmp_path / "j").write_bytes(whole[: -len(last) + kept])
    journal = FileJournal(tmp_path / "j")
    assert journal.head().sequence == 2
    journal.append(REMOVED, 9, {"delete": []})
    assert entries(FileJournal(tmp_path / "j"))[-1] == (3, "content_removed", {"delete": []})


def every_flip(data: bytes):
    return [data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :] for index in range(0, len(data), 11)]


def test_a_changed_byte_in_any_sealed_line_is_noticed(tmp_path):
    filled(tmp_path / "j", 3)
    whole = (tmp_path / "j").read_bytes()
    sealed = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    flips = every_flip(whole[:sealed])
    assert len(flips) > 30
    for flipped in flips:
        (tmp_path / "j").write_bytes(flipped + whole[sealed:])
        with pytest.raises(NotReady) as refused:
            FileJournal(tmp_path / "j").digest_at(1)
        assert refused.value.code == "JOURNAL_BROKEN"


def test_a_line_that_is_dropped_or_put_between_or_moved_is_noticed(tmp_path):
    filled(tmp_path / "j", 4)
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    wrong = [
        lines[:2] + lines[3:],
        [*lines[:3], lines[2], *lines[3:]],
        [lines[0], lines[2], lines[1], *lines[3:]],
        lines[1:],
        [*lines[:2], b"{}\n", *lines[2:]],
        [b"\n"],
        [],
    ]
    for number, changed in enumerate(wrong):
        (tmp_path / "j").write_bytes(b"".join(changed))
        with pytest.raises(NotReady) as refused:
            FileJournal(tmp_path / "j").head()
        assert (number, refused.value.code) == (number, "JOURNAL_BROKEN")
        assert set(refused.value.details) == {"line"}


def test_a_file_that_goes_or_shrinks_under_a_process_stops_it(tmp_path):
    journal = filled(tmp_path / "j", 2)
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    (tmp_path / "j").write_bytes(b"".join(lines[:2]))
    with pytest.raises(NotReady) as refused:
        journal.append(REMOVED, 1, {})
    assert refused.value.code == "JOURNAL_BROKEN"
    (tmp_path / "j").unlink()
    with pytest.raises(NotReady) as refused:
        journal.append(REMOVED, 1, {})
    assert refused.value.code == "JOURNAL_MISSING"


LIMITED = """
import resource, signal, sys
from pathlib import Path
from graph.database.journal import FileJournal
from graph.errors import Unavailable
from graph.vocabulary import JournalEntryKind
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
journal = FileJournal(path)
journal.head()
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, resource.RLIM_INFINITY))
try:
    journal.append(JournalEntryKind.CONTENT_REMOVED, 1, {"delete": ["x" * 500]})
except Unavailable as error:
    print(error.code)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(journal.append(JournalEntryKind.CONTENT_REMOVED, 2, {"delete": ["y"]}).sequence)
"""


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path):
    """The limit on the size of files refuses the second half of a write, as a full disk does."""
    filled(tmp_path / "j", 1)
    said = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "j")], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["JOURNAL_UNAVAILABLE", "3"]
    assert [body for _, _, body in entries(FileJournal(tmp_path / "j"))][1:] == [
        {"delete": ["id-0"]},
        {"delete": ["y"]},
    ]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_sync_that_fails_is_no_entry(tmp_path, monkeypatch):
    journal = filled(tmp_path / "j", 1)
    before = (tmp_path / "j").read_bytes()
    real, failed = os.fsync, []

    def failing(descriptor):
        if not failed:
            failed.append(descriptor)
            raise OSError(errno.EIO, "input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(Unavailable) as refused:
        journal.append(REMOVED, 1, {"delete": ["lost"]})
    assert refused.value.code == "JOURNAL_UNAVAILABLE"
    assert (tmp_path / "j").read_bytes() == before
    assert journal.append(REMOVED, 1, {}).sequence == 3
