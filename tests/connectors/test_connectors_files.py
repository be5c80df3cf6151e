"""The files store on a real file system."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from graph.errors import InvalidInput
from service.connectors.files import MARKER, FilesConnector
from service.connectors.port import StoreUnavailable
from tests.connectors.conformance import CONFORMANCE_CASES
from tests.connectors.doubles import LyingConnector, ThrowingConnector

OUTSIDE = [
    "",
    "/",
    "/etc/passwd",
    "..",
    "../x",
    "a/../../x",
    "a/..",
    ".",
    "nul\0",
    "half \ud83d",
    MARKER,
    f"./{MARKER}",
]


@dataclass
class Files:
    """A root folder, and the plain way to what is in it."""

    root: Path

    @property
    def connector(self) -> FilesConnector:
        return FilesConnector(self.root)

    def put(self, locator: str, data: bytes) -> None:
        path = self.root / locator
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def has(self, locator: str) -> bool:
        return (self.root / locator).exists()

    def break_off(self) -> None:
        self.root.rename(self.root.with_name("elsewhere"))

    def mend(self) -> None:
        self.root.with_name("elsewhere").rename(self.root)

    def malformed(self) -> tuple[str, ...]:
        return tuple(OUTSIDE)


@pytest.fixture
def files(tmp_path) -> Files:
    store = Files(tmp_path / "root")
    store.connector.create("root-1")
    return store


@pytest.fixture
def outside(tmp_path) -> Path:
    """A folder beside the root, with a file that has to stay."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_bytes(b"stays")
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("case", CONFORMANCE_CASES)
def test_it_keeps_the_promises_of_a_connector(case, files):
    case(files)


@pytest.mark.parametrize("locator", OUTSIDE)
def test_nothing_is_written_outside_of_the_root(files, locator):
    with pytest.raises(InvalidInput):
        files.connector.write(locator, b"data")
    assert names_in(files.root) == [MARKER]


def test_a_folder_that_is_a_link_is_not_followed(files, outside):
    (files.root / "link").symlink_to(outside, target_is_directory=True)
    connector = files.connector
    attempts = (
        lambda: connector.delete("link/file"),
        lambda: connector.is_present("link/file"),
        lambda: connector.write("link/file", b"new"),
        lambda: connector.write("link/deeper/file", b"new"),
    )
    for attempt in attempts:
        with pytest.raises(StoreUnavailable):
            attempt()
    assert names_in(outside) == ["file"]
    assert (outside / "file").read_bytes() == b"stays"


def test_a_file_that_is_a_link_is_not_called_deleted(files, outside):
    (files.root / "link").symlink_to(outside / "file")
    with pytest.raises(StoreUnavailable):
        files.connector.delete("link")
    assert files.connector.is_present("link")
    assert (outside / "file").read_bytes() == b"stays"


def test_writing_replaces_a_link_and_not_what_it_leads_to(files, outside):
    (files.root / "link").symlink_to(outside / "file")
    files.connector.write("link", b"new")
    assert ((files.root / "link").read_bytes(), (outside / "file").read_bytes()) == (b"new", b"stays")


@pytest.mark.parametrize("what", ["no root", "no marker", "marker is a folder", "marker is a link", "root is a file"])
def test_a_root_that_is_not_the_store_says_nothing_about_copies(files, what):
    files.put("copy", b"data")
    marker = files.root / MARKER
    if what == "no root":
        files.break_off()
    elif what == "root is a file":
        shutil.rmtree(files.root)
        files.root.write_bytes(b"")
    else:
        marker.unlink()
    if what == "marker is a folder":
        marker.mkdir()
    elif what == "marker is a link":
        marker.symlink_to("copy")
    for locator in ("copy", "never-there", "no/such/folder"):
        for call in (files.connector.delete, files.connector.is_present):
            with pytest.raises(StoreUnavailable):
                call(locator)
    with pytest.raises(StoreUnavailable):
        files.connector.write("new", b"data")
    if "marker" in what:
        assert files.has("copy")


def test_a_root_that_is_there_is_not_claimed(tmp_path):
    (tmp_path / "root").mkdir()
    FilesConnector(tmp_path / "root").create("root-1")
    with pytest.raises(StoreUnavailable):
        FilesConnector(tmp_path / "root").delete("copy")


def test_a_folder_where_a_file_should_be_is_no_absent_file(files):
    files.put("folder/file", b"data")
    with pytest.raises(StoreUnavailable):
        files.connector.delete("folder")
    assert files.connector.is_present("folder")
    assert files.has("folder/file")


def test_a_file_where_a_folder_should_be_is_no_absent_file(files):
    files.put("folder", b"data")
    for call in (files.connector.delete, files.connector.is_present):
        with pytest.raises(StoreUnavailable):
            call("folder/file")
    with pytest.raises(StoreUnavailable):
        files.connector.write("folder/file", b"data")


def test_a_name_that_the_file_system_refuses_is_an_error(files):
    with pytest.raises(StoreUnavailable):
        files.connector.write("n" * 300, b"data")
    assert names_in(files.root) == [MARKER]


def test_a_written_copy_is_whole_or_not_there(files):
    files.connector.write("folder/copy", b"first")
    files.connector.write("folder/copy", b"second")
    assert (files.root / "folder" / "copy").read_bytes() == b"second"
    assert names_in(files.root / "folder") == ["copy"]


def test_writers_of_one_copy_do_not_mix(files):
    texts = [bytes([65 + number]) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(lambda text: files.connector.write("copy", text), texts))
    assert (files.root / "copy").read_bytes() in texts
    assert names_in(files.root) == [MARKER, "copy"]


def test_a_writer_that_fails_leaves_no_draft(files, monkeypatch):
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    files.put("folder/copy", b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreUnavailable):
        files.connector.write("folder/copy", b"new")
    assert names_in(files.root / "folder") == ["copy"]
    assert (files.root / "folder" / "copy").read_bytes() == b"old"


def test_a_draft_that_a_killed_writer_left_goes_with_the_copy(files, monkeypatch):
    def killed(*_args: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            files.connector.write("folder/copy", b"content")
    files.connector.write("folder/other", b"other")
    left = [entry for entry in names_in(files.root / "folder") if entry != "other"]
    assert len(left) == 1
    assert (files.root / "folder" / left[0]).read_bytes() == b"content"
    assert files.connector.is_present("folder/copy")
    assert files.connector.delete("folder/copy") == "deleted"
    assert names_in(files.root / "folder") == ["other"]


def test_a_liar_is_found_out_by_the_verification(files):
    files.put("copy", b"data")
    liar = LyingConnector(files.connector)
    assert liar.delete("copy") == "deleted"
    assert liar.is_present("copy")


@pytest.mark.parametrize(("after", "is_left"), [(False, True), (True, False)])
def test_a_failure_falls_before_or_after_the_effect(files, after, is_left):
    files.put("copy", b"data")
    failing = ThrowingConnector(files.connector, at=2, after=after)
    assert failing.delete("never-there") == "not_found"
    with pytest.raises(StoreUnavailable):
        failing.delete("copy")
    assert failing.is_present("copy") is is_left
