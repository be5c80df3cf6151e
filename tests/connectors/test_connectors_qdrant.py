"""The Qdrant store on the engine that its client embeds. No server of it is run here."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import uuid
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from qdrant_client import QdrantClient, models

from service.connectors.conformance import CONFORMANCE_CASES
from service.connectors.port import Claim, PurgeKind, StoreUnavailable
from service.connectors.qdrant import PAGE_POINTS, PROFILE, ROOT_POINT, Connection, QdrantConnector, point_id
from tests.connectors.object_servers import free_ports
from tests.connectors.outages import OUTAGE_CASES, broken_by_a_liar, under_test

VECTOR = [0.1, 0.2, 0.3, 0.4]


@dataclass
class Qdrant:
    """A collection in an embedded engine, which one client at a time may have open."""

    folder: Path
    connector: QdrantConnector

    @property
    def client(self) -> Any:
        return self.connector._client

    def put(self, locator: str, data: bytes, id_: str | None = None) -> None:
        payload = {"locator": locator, "text": data.decode()}
        self.client.upsert("copies", [models.PointStruct(id=id_ or point_id(locator), vector=VECTOR, payload=payload)])

    def has(self, locator: str) -> bool:
        points, _ = self.client.scroll("copies", limit=100_000)
        return any((point.payload or {}).get("locator") == locator for point in points)

    def break_off(self) -> None:
        self.client.close()

    def mend(self) -> None:
        self.connector._client = QdrantClient(path=str(self.folder), force_disable_check_same_thread=True)

    def replace(self, root_id: str | None) -> None:
        self.client.delete("copies", models.PointIdsList(points=[ROOT_POINT]))
        if root_id is not None:
            payload = {"sequelaStore": root_id}
            self.client.upsert("copies", [models.PointStruct(id=ROOT_POINT, vector=VECTOR, payload=payload)])


@pytest.fixture
def qdrant(tmp_path) -> Generator[Qdrant]:
    given = {"connector": "qdrant", "collection": "copies", "path": str(tmp_path / "engine")}
    store = Qdrant(tmp_path / "engine", Connection.model_validate(given).open("root-1"))
    store.client.create_collection("copies", models.VectorParams(size=4, distance=models.Distance.COSINE))
    store.connector.create("root-1")
    yield store
    store.connector.close()


@pytest.mark.parametrize("case", CONFORMANCE_CASES)
def test_it_keeps_the_promises_of_a_connector(case, qdrant):
    case(under_test(qdrant))


@pytest.mark.parametrize("case", OUTAGE_CASES)
def test_it_keeps_the_promises_of_a_connector_without_its_store(case, qdrant):
    case(qdrant)


def test_a_connector_that_deletes_nothing_does_not_pass(qdrant):
    caught = broken_by_a_liar(qdrant)
    assert len(caught) >= 8


def test_all_points_of_a_copy_go_whatever_their_ids(qdrant):
    for _ in range(PAGE_POINTS + 5):
        qdrant.put("copy", b"chunk", str(uuid.uuid4()))
    qdrant.put("copy-2", b"stays", str(uuid.uuid4()))
    assert qdrant.connector.delete(["copy"]) == [Claim.DELETED]
    assert qdrant.connector.present(["copy", "copy-2"]) == [False, True]
    assert not qdrant.has("copy")


def test_a_point_that_lost_its_payload_is_still_seen(qdrant):
    qdrant.put("copy", b"data")
    qdrant.client.clear_payload("copies", [point_id("copy")])
    assert qdrant.connector.present(["copy"]) == [True]
    assert qdrant.connector.delete(["copy"]) == [Claim.DELETED]
    assert qdrant.connector.present(["copy"]) == [False]


def test_the_mark_of_the_store_is_out_of_reach(qdrant):
    assert qdrant.connector.delete([ROOT_POINT, "sequelaStore", "root-1"]) == [Claim.NOT_FOUND] * 3
    assert qdrant.connector.root_id() == "root-1"


def test_other_tenants_points_are_the_same(qdrant):
    for name in ("tenant-b/x", "Tenant-a/x", "tenant-a/x ", "tenant-a/X"):
        qdrant.put(name, name.encode())
    qdrant.put("tenant-a/x", b"mine")
    before, _ = qdrant.client.scroll("copies", limit=100, with_vectors=True)
    qdrant.connector.delete(["tenant-a/x"])
    after, _ = qdrant.client.scroll("copies", limit=100, with_vectors=True)
    assert after == [point for point in before if point.id != point_id("tenant-a/x")]


def test_a_change_that_was_only_taken_note_of_is_not_done(qdrant, monkeypatch):
    """As a server answers that did not wait: the engine's own answer, with its status changed."""
    real = qdrant.client.delete

    def noted(*args: object, **more: object) -> object:
        assert more == {"wait": True}
        return real(*args, **more).model_copy(update={"status": models.UpdateStatus.ACKNOWLEDGED})

    qdrant.put("copy", b"data")
    monkeypatch.setattr(qdrant.client, "delete", noted)
    with pytest.raises(StoreUnavailable):
        qdrant.connector.delete(["copy"])


def test_several_threads_share_a_connector(qdrant):
    names = [f"copy-{number}" for number in range(40)]
    for name in names:
        qdrant.put(name, b"data")
    with ThreadPoolExecutor(4) as pool:
        claims = list(pool.map(lambda name: qdrant.connector.delete([name])[0], names))
    assert claims == [Claim.DELETED] * len(names)


def test_a_collection_that_is_not_there_is_unavailable(qdrant):
    qdrant.client.delete_collection("copies")
    for call in (qdrant.connector.root_id, lambda: qdrant.connector.present(["canary"])):
        with pytest.raises(StoreUnavailable) as error:
            call()
        assert "canary" not in str(error.value)


def test_a_server_that_is_not_there_or_hangs_is_unavailable():
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        for port in (*free_ports(1), hanging.getsockname()[1]):
            given = {"connector": "qdrant", "collection": "copies", "url": f"http://127.0.0.1:{port}"}
            connector = Connection.model_validate(given | {"timeoutSeconds": 0.5}).open("root-1")
            for call in (connector.delete, connector.present):
                with pytest.raises(StoreUnavailable):
                    call(["copy"])
            connector.close()


@pytest.mark.parametrize("places", [{}, {"url": "http://example.org", "path": "y"}, {"url": "x"}])
def test_a_connection_leads_to_one_place(places):
    with pytest.raises(ValidationError):
        Connection.model_validate({"connector": "qdrant", "collection": "copies"} | places)


def files_with(folder: Path, text: bytes) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()}


def test_what_stays_in_the_engines_files_is_what_the_profile_declares(qdrant):
    canaries = (b"canary-of-the-vector-store", b"canary-in-the-locator")
    qdrant.put(canaries[1].decode(), canaries[0])
    assert [files_with(qdrant.folder, canary) for canary in canaries] == [{"storage.sqlite"}] * 2
    assert qdrant.connector.delete([canaries[1].decode()]) == [Claim.DELETED]
    qdrant.connector.purge()
    with contextlib.closing(sqlite3.connect(":memory:")) as engine:
        (overwrites,) = engine.execute("PRAGMA secure_delete").fetchone()
    left = set() if overwrites else {"storage.sqlite"}
    assert [files_with(qdrant.folder, canary) for canary in canaries] == [left] * 2
    assert PROFILE.purge is PurgeKind.OPERATOR
    assert "freed pages of an embedded engine's file, unless its SQLite overwrites them" in PROFILE.residue
