"""A table of a real PostgreSQL server, with a connector to it and a raw way beside that."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from service.connectors import pgvector, postgres
from service.connectors.postgres import PostgresConnector
from tests.connectors.servers import HOST, PostgresServer, count_in_files
from tests.support.proxy import CuttingProxy, cutting_proxy

URL = "SEQUELA_TEST_POSTGRES_URL"
CONNECTIONS = {"postgres": postgres.Connection, "pgvector": pgvector.Connection}


@dataclass
class Rows:
    """A table, the raw way to it, and a proxy that the connector goes through."""

    server: PostgresServer
    proxy: CuttingProxy
    raw: psycopg.Connection[Any]
    monkeypatch: pytest.MonkeyPatch
    kind: str
    index: str = "copies_pkey"

    def __post_init__(self) -> None:
        self.connector = self.other(timeout_seconds=5)
        self.connector.create("root-1")

    def run(self, statement: str, *values: object) -> list[Any]:
        cursor = self.raw.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def put(self, locator: str, data: bytes) -> None:
        text = "INSERT INTO store.copies (id, content) VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET content = %s"
        self.run(text, locator, data, data)

    def has(self, locator: str) -> bool:
        return bool(self.run('SELECT 1 FROM store.copies WHERE id COLLATE "C" = %s', locator))

    def break_off(self) -> None:
        self.proxy.refuse(refusing=True)

    def mend(self) -> None:
        self.proxy.refuse(refusing=False)

    def replace(self, root_id: str | None) -> None:
        self.run("DELETE FROM store.sequela_root")
        if root_id is not None:
            self.run("INSERT INTO store.sequela_root VALUES ('copies', %s)", root_id)

    def other(self, user: str = "postgres", **changes: object) -> PostgresConnector:
        """A connector that differs from the usual one."""
        self.monkeypatch.setenv(URL, self.server.url(self.proxy.port, user=user))
        settings = {
            "table": "copies",
            "key_column": "id",
            "content_column": "content",
            "timeout_seconds": 1.0,
            **changes,
        }
        kind = CONNECTIONS[self.kind]
        return kind(connector=self.kind, url_variable=URL, schema_name="store", **settings).open("root-1")

    def on_disk(self, marker: bytes) -> set[str]:
        """Where on the disk a marker is, once the server has written its pages there."""
        self.run("CHECKPOINT")
        relations = {"table": "store.copies", "index": f"store.{self.index}", "statistics": "pg_statistic"}
        paths = {self.run("SELECT pg_relation_filepath(%s)", name)[0][0]: what for what, name in relations.items()}
        found = count_in_files(self.server.folder, marker)
        return {"log" if path.startswith("pg_wal/") else paths.get(path, path) for path in found}


@contextmanager
def table(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch, kind: str, columns: str, made: type[Rows] = Rows
) -> Generator[Rows]:
    with cutting_proxy(HOST, server.port) as proxy, psycopg.connect(server.url(), autocommit=True) as raw:
        raw.execute("CREATE EXTENSION IF NOT EXISTS vector")
        raw.execute("DROP SCHEMA IF EXISTS store CASCADE")
        raw.execute("CREATE SCHEMA store")
        raw.execute(f"CREATE TABLE store.copies ({columns})")
        rows = made(server, proxy, raw, monkeypatch, kind)
        yield rows
        rows.connector.close()
