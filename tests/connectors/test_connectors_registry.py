"""The connections file, and what a store is paired with."""

from __future__ import annotations

import importlib
import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from graph.errors import NotReady
from service.connectors import port, registry
from service.connectors.files import Connection, FilesConnector
from service.connectors.port import StoreUnavailable
from service.connectors.registry import CONNECTORS, PairedConnector, check_connections, read_connections
from tests.connectors.doubles import Passing


def written(tmp_path, text: str | bytes):
    path = tmp_path / "connections.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_file_of_connections_is_read(tmp_path):
    path = written(tmp_path, "exports:\n  connector: files\n  root: /srv/exports\n  timeoutSeconds: 2\n")
    (connection,) = read_connections(path).values()
    assert isinstance(connection, Connection)
    assert (str(connection.root), connection.timeout_seconds) == ("/srv/exports", 2.0)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no mapping"),
        ("[]", "no mapping"),
        ("a: b: c", "cannot be read"),
        ("x: &x [*x, *x]", "x.connector is none of"),
        (b"\xff\xfe", "cannot be read"),
        ("exports: files", "exports.connector is none of"),
        ("exports: {connector: floppy}", "exports.connector is none of"),
        ("exports: {connector: files}", "exports.root"),
        ("exports: {connector: files, root: /x, rooot: /y}", "exports.rooot"),
        ("exports: {connector: files, root: /x, timeoutSeconds: 0}", "exports.timeoutSeconds"),
        ("exports: {connector: files, root: /x, timeoutSeconds: 61}", "exports.timeoutSeconds"),
        (b"#" * 1_000_001, "1000000 bytes"),
    ],
)
def test_a_faulty_file_stops_the_start_and_says_where(tmp_path, text, named):
    with pytest.raises(NotReady) as refused:
        read_connections(written(tmp_path, text))
    assert named in refused.value.message


@pytest.mark.parametrize("kind", sorted(CONNECTORS))
def test_every_connector_has_its_module_and_names_itself(kind):
    module = importlib.import_module(CONNECTORS[kind][0])
    assert issubclass(module.Connection, port.Connection)
    assert get_args(module.Connection.model_fields["connector"].annotation) == (kind,)
    assert module.PROFILE.batch_max >= 1
    assert module.PROFILE.addressing


def test_the_table_of_connectors_is_that_of_the_registry():
    text = Path(registry.__file__).with_name("README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(?: `(\w+)`)? \|", text, re.MULTILINE)
    assert dict(rows) == {kind: extra for kind, (_, extra) in CONNECTORS.items()}


def test_a_client_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(CONNECTORS, "s3", ("service.connectors.not_there", "s3"))
    with pytest.raises(NotReady) as refused:
        read_connections(written(tmp_path, "objects: {connector: s3}"))
    assert "sequela[s3]" in refused.value.message


def test_a_faulty_value_is_not_repeated(tmp_path):
    with pytest.raises(NotReady) as refused:
        read_connections(written(tmp_path, "exports: {connector: files, root: 7, secret: Canary-9}"))
    assert "Canary-9" not in refused.value.message


def test_a_file_that_is_not_there_stops_the_start(tmp_path):
    with pytest.raises(NotReady):
        read_connections(tmp_path / "none.yaml")


def test_policy_and_connections_tell_of_the_same_stores(policy, tmp_path):
    files = Connection(root=tmp_path)
    check_connections({"files": files}, policy)
    for connections, named in (({}, "files"), ({"files": files, "vector_index": files}, "vector_index")):
        with pytest.raises(NotReady) as refused:
            check_connections(connections, policy)
        assert named in refused.value.message
    other = dict(policy.stores) | {"files": policy.stores["files"].model_copy(update={"connector": "s3"})}
    with pytest.raises(NotReady):
        check_connections({"files": files}, replace(policy, stores=other))


@pytest.mark.req("DEL-25", "VER-03")
def test_a_store_that_does_not_answer_at_the_start_is_paired_when_it_does(application, tmp_path):
    """Meanwhile nothing is done to it, and nothing is said of its copies."""
    root = tmp_path / "mounted" / "later"
    root.parent.mkdir()
    root.mkdir()
    application.database.administer("MATCH (s:Store {storeId: 'files'}) REMOVE s.rootId")
    store = PairedConnector("files", Connection(root=root), application.database, application.ids)
    for call in (store.delete, store.present):
        with pytest.raises(StoreUnavailable):
            call(["tenant-a/copy"])
    root.rmdir()
    store.write("tenant-a/copy", b"a copy")
    assert store.present(["tenant-a/copy"]) == [True]
    again = PairedConnector("files", Connection(root=root), application.database, application.ids)
    assert again.present(["tenant-a/copy"]) == [True]
    root.rename(root.with_name("elsewhere"))
    FilesConnector(root).create("another")
    later = PairedConnector("files", Connection(root=root), application.database, application.ids)
    for paired in (store, later):
        with pytest.raises(StoreUnavailable):
            paired.present(["tenant-a/copy"])


@pytest.mark.req("DEL-25")
def test_a_store_that_only_one_client_may_open_is_paired_too(application, tmp_path):
    """The connector of before the pairing is closed before the one with the root is opened."""
    application.database.administer("MERGE (s:Store {storeId: 'summary_artifacts'}) REMOVE s.rootId")
    given = {"connector": "qdrant", "collection": "copies", "path": str(tmp_path / "engine")}
    connection = read_connections(written(tmp_path, json.dumps({"summary_artifacts": given})))["summary_artifacts"]
    made = connection.open(None)
    made._client.create_collection("copies", {})
    made.close()
    store = PairedConnector("summary_artifacts", connection, application.database, application.ids)
    store.write("tenant-a/copy", b"a copy")
    assert store.delete(["tenant-a/copy"]) == [port.Claim.DELETED]
    assert store.present(["tenant-a/copy"]) == [False]
    store.close()


def test_stores_are_let_go_of_at_the_end(application):
    closed: list[str] = []

    class Watched(Passing):
        def close(self) -> None:
            closed.append("files")

    with closing(replace(application)) as other:
        other.__dict__["connectors"] = {"files": Watched(application.connectors["files"])}
        assert closed == []
    assert closed == ["files"]
    replace(application).close()
    assert closed == ["files"]
