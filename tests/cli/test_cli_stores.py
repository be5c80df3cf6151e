"""`sequela stores`: what is left to do, whether both sides agree, and whether a store keeps what a connector promises."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(sequela) -> Path:
    """The root folder of the files store, with one copy that nobody registered."""
    assert sequela("stores", "list").code == 0
    folder = Path(sequela.environment["SEQUELA_HOME"]) / "files"
    (folder / "tenant-a").mkdir()
    (folder / "tenant-a" / "stray.bin").write_bytes(b"a copy")
    return folder


def test_stores_are_listed(sequela, root):
    stores = {one["storeId"]: one for one in sequela("stores", "list", "--json").document["stores"]}
    assert (stores["files"]["connector"], stores["files"]["pending"], stores["files"]["verifiedAt"]) == (
        "files",
        0,
        None,
    )
    assert stores["backups"]["connector"] is None
    assert "files" in sequela("stores", "list").out


def test_a_copy_that_nobody_registered_is_found(sequela, root):
    found = sequela("stores", "reconcile", "files", "--json")
    assert (found.code, found.document["unregistered"]) == (1, {"count": 1, "locators": ["tenant-a/stray.bin"]})
    assert "tenant-a/stray.bin" in sequela("stores", "reconcile", "files").out
    (root / "tenant-a" / "stray.bin").unlink()
    assert sequela("stores", "reconcile", "files").code == 0


def test_a_store_is_tested_and_left_as_it_was(sequela, root):
    before = sorted(path.name for path in root.rglob("*.bin"))
    found = sequela("stores", "test", "files", "--json")
    assert (found.code, {one["kept"] for one in found.document["cases"]}) == (0, {True})
    assert len(found.document["cases"]) >= 12
    assert [path for path in root.rglob("*") if path.is_file() and "conformance" in str(path)] == []
    assert sorted(path.name for path in root.rglob("*.bin")) == before


def test_a_store_that_is_not_there_is_not_available(sequela, root):
    root.rename(root.with_name("elsewhere"))
    for action in ("reconcile", "test"):
        ended = sequela("stores", action, "files")
        assert ended.code == 4
        assert "STORE_UNAVAILABLE" in ended.err


def test_an_unknown_store_is_a_wrong_call(sequela, root):
    ended = sequela("stores", "reconcile", "backups")
    assert ended.code == 2
    assert "files" in ended.err


def test_a_store_that_cannot_purge_says_what_stays(sequela, root):
    ended = sequela("stores", "purge", "files", "--json")
    assert (ended.code, ended.document["purged"]) == (1, False)
    assert ended.document["residue"] == ["freed blocks of the disk", "snapshots of the volume"]
    assert (root / "tenant-a" / "stray.bin").exists()
