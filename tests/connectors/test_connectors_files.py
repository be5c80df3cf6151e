"""The files store on a real file system."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from graph.errors import InvalidInput
from service.connectors.conformance import CONFORMANCE_CASES
from service.connectors.files import MARKER, FilesConnector
from service.connectors.port import Claim, StoreUnavailable
from tests.connectors.doubles import LyingConnector, ThrowingConnector
from tests.connectors.outages import OUTAGE_CASES, broken_by_a_liar, under_test

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
        return FilesConnector(self.root, "root-1")

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

    def replace(self, root_id: str | None) -> None:
        marker = self.root / MARKER
        marker.unlink(missing_ok=True)
        if root_id is not None:
            marker.write_text(root_id)


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
    case(under_test(files))


@pytest.mark.parametrize("case", OUTAGE_CASES)
def test_it_keeps_the_promises_of_a_connector_without_its_store(case, files):
    case(files)


@pytest.mark.parametrize("locator", OUTSIDE)
def test_what_leaves_the_root_means_nothing(files, locator):
    files.put("kept", b"data")
    assert files.connector.delete([locator, "kept"]) == [Claim.MALFORMED, Claim.DELETED]
    assert files.connector.present([locator]) == [False]


def test_a_connector_that_deletes_nothing_does_not_pass(files):
    caught = broken_by_a_liar(files)
    assert "deletes_and_verifies" in caught
    assert len(caught) >= 8


@pytest.mark.parametrize("locator", OUTSIDE)
def test_nothing_is_written_outside_of_the_root(files, locator):
    with pytest.raises(InvalidInput):
        files.connector.write(locator, b"data")
    assert names_in(files.root) == [MARKER]


def test_a_folder_that_is_a_link_is_not_followed(files, outside):
    (files.root / "link").symlink_to(outside, target_is_directory=True)
    connector = files.connector
    assert connector.delete(["link/file"]) == [Claim.FAILED]
    assert connector.present(["link/file"]) == [True]
    for locator in ("link/file", "link/deeper/file"):
        with pytest.raises(StoreUnavailable):
            connector.write(locator, b"new")
    assert names_in(outside) == ["file"]
    assert (outside / "file").read_bytes() == b"stays"


def test_a_file_that_is_a_link_is_not_called_deleted(files, outside):
    (files.root / "link").symlink_to(outside / "file")
    assert files.connector.delete(["link"]) == [Claim.FAILED]
    assert files.connector.present(["link"]) == [True]
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
        for call in (files.connector.delete, files.connector.present):
            with pytest.raises(StoreUnavailable):
                call([locator])
    with pytest.raises(StoreUnavailable):
        files.connector.write("new", b"data")
    if "marker" in what:
        assert files.has("copy")


def test_a_root_that_is_there_is_not_claimed(tmp_path):
    (tmp_path / "root").mkdir()
    FilesConnector(tmp_path / "root").create("root-1")
    with pytest.raises(StoreUnavailable):
        FilesConnector(tmp_path / "root").delete(["copy"])


def test_a_folder_where_a_file_should_be_is_no_absent_file(files):
    files.put("folder/file", b"data")
    assert files.connector.delete(["folder"]) == [Claim.FAILED]
    assert files.connector.present(["folder"]) == [True]
    assert files.has("folder/file")


def test_below_a_file_there_is_nothing(files):
    files.put("folder", b"data")
    assert files.connector.delete(["folder/file"]) == [Claim.NOT_FOUND]
    assert files.connector.present(["folder/file"]) == [False]
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
    assert files.connector.present(["folder/copy"]) == [True]
    assert files.connector.delete(["folder/copy"]) == [Claim.DELETED]
    assert names_in(files.root / "folder") == ["other"]


def test_a_liar_is_found_out_by_the_verification(files):
    files.put("copy", b"data")
    liar = LyingConnector(files.connector)
    assert liar.delete(["copy"]) == [Claim.DELETED]
    assert liar.present(["copy"]) == [True]


@pytest.mark.parametrize(("after", "is_left"), [(False, True), (True, False)])
def test_a_failure_falls_before_or_after_the_effect(files, after, is_left):
    files.put("copy", b"data")
    failing = ThrowingConnector(files.connector, at=2, after=after)
    assert failing.delete(["never-there"]) == [Claim.NOT_FOUND]
    with pytest.raises(StoreUnavailable):
        failing.delete(["copy"])
    assert failing.present(["copy"]) == [is_left]
