"""The PostgreSQL store on a real server."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

from service.connectors.conformance import CONFORMANCE_CASES
from service.connectors.port import Claim, StoreUnavailable
from service.connectors.postgres import PROFILE, Connection, PostgresConnector
from tests.connectors.outages import OUTAGE_CASES, under_test
from tests.connectors.servers import HOST, PostgresServer, count_in_files, frozen, postgres_server
from tests.support.processes import until
from tests.support.proxy import CuttingProxy, cutting_proxy

__all__ = ["postgres_server"]

URL = "SEQUELA_TEST_POSTGRES_URL"
COPIES = "CREATE TABLE store.copies (id text PRIMARY KEY, content bytea, other int DEFAULT 7)"


@dataclass
class Rows:
    """A table, the raw way to it, and a proxy that the connector goes through."""

    server: PostgresServer
    proxy: CuttingProxy
    raw: psycopg.Connection[Any]
    connector: PostgresConnector
    monkeypatch: pytest.MonkeyPatch

    def run(self, statement: str, *values: object) -> list[Any]:
        cursor = self.raw.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def put(self, locator: str, data: bytes) -> None:
        text = "INSERT INTO store.copies (id, content) VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET content = EXCLUDED.content"
        self.run(text, locator, data)

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
        return Connection(connector="postgres", url_variable=URL, schema_name="store", **settings).open("root-1")


@pytest.fixture
def rows(postgres_server, monkeypatch) -> Generator[Rows]:
    with (
        cutting_proxy(HOST, postgres_server.port) as proxy,
        psycopg.connect(postgres_server.url(), autocommit=True) as raw,
    ):
        raw.execute("DROP SCHEMA IF EXISTS store CASCADE")
        raw.execute("CREATE SCHEMA store")
        raw.execute(COPIES)
        monkeypatch.setenv(URL, postgres_server.url(proxy.port))
        settings = Connection(
            connector="postgres",
            url_variable=URL,
            schema_name="store",
            table="copies",
            key_column="id",
            content_column="content",
            timeout_seconds=5,
        )
        store = Rows(postgres_server, proxy, raw, settings.open("root-1"), monkeypatch)
        store.connector.create("root-1")
        yield store
        store.connector.close()


@pytest.mark.parametrize("case", CONFORMANCE_CASES)
def test_it_keeps_the_promises_of_a_connector(case, rows):
    case(under_test(rows))


@pytest.mark.parametrize("case", OUTAGE_CASES)
def test_it_keeps_the_promises_of_a_connector_without_its_store(case, rows):
    case(rows)
