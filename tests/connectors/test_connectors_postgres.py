"""The PostgreSQL store on a real server."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from service.connectors.conformance import CONFORMANCE_CASES
from service.connectors.port import Claim, StoreUnavailable
from service.connectors.postgres import Connection, PostgresConnector
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


def trigger(rows: Rows, when: str, body: str) -> None:
    """Have `body` run for each row that is deleted and whose key starts with `odd`."""
    rows.run(
        f"CREATE FUNCTION store.odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;"
        f"CREATE TRIGGER odd {when} DELETE ON store.copies FOR EACH ROW WHEN (OLD.id LIKE 'odd%')"
        "EXECUTE FUNCTION store.odd()"
    )


@pytest.mark.parametrize("deferral", ["", "DEFERRABLE INITIALLY DEFERRED"])
def test_a_row_that_another_one_needs_holds_back_no_other(rows, deferral):
    rows.run(f"CREATE TABLE store.needing (id text REFERENCES store.copies {deferral})")
    for key in ("before", "needed", "after"):
        rows.put(key, b"data")
    rows.run("INSERT INTO store.needing VALUES ('needed')")
    keys = ["before", "needed", "never", "after"]
    assert rows.connector.delete(keys) == [Claim.DELETED, Claim.FAILED, Claim.NOT_FOUND, Claim.DELETED]
    assert rows.connector.present(keys) == [False, True, False, False]


@pytest.mark.parametrize(
    ("when", "body", "claim"),
    [
        ("BEFORE", "RETURN NULL;", Claim.KEPT),
        ("BEFORE", "UPDATE store.copies SET other = 0 WHERE id = OLD.id; RETURN NULL;", Claim.KEPT),
        ("AFTER", "INSERT INTO store.copies VALUES (OLD.*); RETURN NULL;", Claim.KEPT),
        ("BEFORE", "RAISE EXCEPTION 'not this one';", Claim.FAILED),
        ("BEFORE", "PERFORM 1 / 0; RETURN OLD;", Claim.FAILED),
        ("BEFORE", "PERFORM store.nothing(); RETURN OLD;", Claim.FAILED),
    ],
)
def test_a_row_that_a_trigger_keeps_is_not_called_deleted(rows, when, body, claim):
    trigger(rows, when, body)
    for key in ("even", "odd", "last"):
        rows.put(key, b"data")
    assert rows.connector.delete(["even", "odd", "last"]) == [Claim.DELETED, claim, Claim.DELETED]
    assert rows.connector.present(["even", "odd", "last"]) == [False, True, False]


def test_a_row_that_somebody_has_locked_holds_back_no_other(rows):
    for key in ("first", "locked", "last"):
        rows.put(key, b"data")
    connector = rows.other()
    with psycopg.connect(rows.server.url()) as writer:
        writer.execute("UPDATE store.copies SET other = 1 WHERE id = 'locked'")
        assert connector.delete(["first", "locked", "last"]) == [Claim.DELETED, Claim.FAILED, Claim.DELETED]
    assert connector.delete(["locked"]) == [Claim.DELETED]
    connector.close()


def test_rows_that_a_policy_hides_are_not_absent(rows):
    rows.put("hidden", b"data")
    rows.run(
        "DROP ROLE IF EXISTS limited; CREATE ROLE limited LOGIN; GRANT USAGE ON SCHEMA store TO limited;"
        "GRANT ALL ON ALL TABLES IN SCHEMA store TO limited; ALTER TABLE store.copies ENABLE ROW LEVEL SECURITY"
    )
    connector = rows.other(user="limited")
    for call in (connector.delete, connector.present):
        with pytest.raises(StoreUnavailable, match="42501"):
            call(["hidden"])
    with pytest.raises(StoreUnavailable, match="42501"):
        list(connector.locators())
    rows.run("ALTER TABLE store.copies DISABLE ROW LEVEL SECURITY")
    assert connector.present(["hidden"]) == [True]
    connector.close()
    rows.run("DROP OWNED BY limited; DROP ROLE limited")


@pytest.mark.parametrize("column", ["char(40)", "uuid", "bigint", "name", "bytea", "varchar(9)[]"])
def test_a_key_whose_equality_is_not_that_of_its_bytes_is_refused(rows, column):
    rows.run(f"ALTER TABLE store.copies ADD COLUMN odd {column}")
    connector = rows.other(key_column="odd")
    for call in (connector.delete, connector.present):
        with pytest.raises(StoreUnavailable, match="key column"):
            call(["never-there"])
    connector.close()


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_what_shows_only_some_of_the_rows_is_no_table(rows, kind):
    rows.put("kept", b"data")
    rows.run(f"CREATE {kind} store.shown AS TABLE store.copies")
    rows.run("INSERT INTO store.sequela_root VALUES ('shown', 'root-1')")
    connector = rows.other(table="shown")
    for call in (connector.delete, connector.present):
        with pytest.raises(StoreUnavailable, match="no such table"):
            call(["kept"])
    connector.close()


def test_all_rows_of_a_key_go_from_every_partition(rows):
    rows.run(
        "DROP TABLE store.copies; CREATE TABLE store.copies (id text, content bytea, other int) PARTITION BY LIST (other);"
        "CREATE TABLE store.one PARTITION OF store.copies FOR VALUES IN (1);"
        "CREATE TABLE store.two PARTITION OF store.copies DEFAULT;"
        "INSERT INTO store.copies VALUES ('twice', 'a', 1), ('twice', 'b', 2), ('other', 'c', 2)"
    )
    assert rows.connector.delete(["twice", "twice"]) == [Claim.DELETED, Claim.NOT_FOUND]
    assert rows.connector.present(["twice", "other"]) == [False, True]
    rows.connector.purge()


def test_a_row_that_a_broken_index_misses_is_seen_by_the_verification(rows):
    ready = "UPDATE pg_index SET indisready = %s WHERE indexrelid = 'store.copies_pkey'::regclass"
    rows.run("INSERT INTO store.copies SELECT 'filler-' || n FROM generate_series(1, 20000) n")
    rows.run("ANALYZE store.copies")
    rows.run(ready, False)
    with psycopg.connect(rows.server.url(), autocommit=True) as writer:
        writer.execute("INSERT INTO store.copies VALUES ('missed')")
    rows.run(ready, True)
    assert rows.connector.delete(["missed"]) == [Claim.NOT_FOUND]
    assert rows.connector.present(["missed"]) == [True]
    by_index = rows.other(verification="index")
    assert by_index.present(["missed"]) == [False]
    by_index.close()


@pytest.mark.parametrize("is_after", [False, True])
def test_a_connection_that_is_cut_says_nothing_of_the_effect(rows, is_after):
    rows.put("first", b"data")
    rows.put("copy", b"data")
    assert rows.connector.delete(["none"]) == [Claim.NOT_FOUND]
    before = rows.proxy.passed["down"]
    assert rows.connector.delete(["first"]) == [Claim.DELETED]
    whole = rows.proxy.passed["down"] - before
    # A byte is missing of the answer to the commit, or of the very first one. ("copy" is a byte shorter than "first".)
    rows.proxy.cut("down", whole - 3 if is_after else 0)
    with pytest.raises(StoreUnavailable):
        rows.connector.delete(["copy"])
    assert rows.proxy.cuts == 1
    assert until(lambda: rows.has("copy") is not is_after, 5)
    assert rows.connector.present(["copy"]) == [not is_after]
    assert rows.connector.delete(["copy"]) == [Claim.NOT_FOUND if is_after else Claim.DELETED]


@pytest.mark.parametrize("is_warm", [False, True])
def test_a_server_that_stands_still_does_not_hold_a_call_for_ever(rows, is_warm):
    rows.put("copy", b"data")
    connector = rows.other()
    if is_warm:
        assert connector.present(["copy"]) == [True]
    with frozen(rows.server.pid):
        for call in (connector.present, connector.delete):
            with pytest.raises(StoreUnavailable):
                call(["copy"])
    assert connector.present(["copy"]) in ([True], [False])
    connector.close()


def test_an_error_quotes_neither_key_nor_address(rows, monkeypatch):
    monkeypatch.setenv(URL, "postgresql://someone:hunter2@127.0.0.1:1/nowhere")
    nowhere = Connection(connector="postgres", url_variable=URL, table="copies", key_column="id").open("root-1")
    with pytest.raises(StoreUnavailable) as caught:
        nowhere.delete(["secret-key"])
    assert "hunter2" not in f"{caught.value!r}{caught.value.__cause__!r}"
    rows.run("CREATE UNIQUE INDEX ON store.copies (content)")
    rows.put("one", b"same")
    with pytest.raises(StoreUnavailable) as caught:
        rows.connector.write("secret-key", b"same")
    assert "secret-key" not in f"{caught.value!r}{caught.value.__cause__!r}"


def test_a_write_changes_nothing_else_of_a_row(rows):
    rows.run("INSERT INTO store.copies VALUES ('row', 'old', 99)")
    rows.connector.write("row", b"new")
    assert rows.run("SELECT * FROM store.copies") == [("row", b"new", 99)]


def test_a_key_that_the_column_would_shorten_is_not_written(rows):
    rows.run("ALTER TABLE store.copies ALTER id TYPE varchar(4)")
    with pytest.raises(StoreUnavailable, match="as it is"):
        rows.connector.write("four ", b"data")
    assert rows.run("SELECT * FROM store.copies") == []


def test_names_of_any_kind_are_quoted(rows):
    rows.raw.execute('CREATE TABLE store."we""ird %s; table" ("Key %" varchar, "Content" text)')
    connector = rows.other(table='we"ird %s; table', key_column="Key %", content_column="Content")
    connector.create("root-1")
    connector.write("key", b"text")
    assert connector.present(["key"]) == [True]
    assert connector.delete(["key"]) == [Claim.DELETED]
    connector.purge()
    connector.close()


def test_only_who_may_vacuum_can_purge(rows):
    rows.run(
        "DROP ROLE IF EXISTS limited; CREATE ROLE limited LOGIN; GRANT USAGE ON SCHEMA store TO limited;"
        "GRANT ALL ON ALL TABLES IN SCHEMA store TO limited; REVOKE MAINTAIN ON store.copies FROM limited"
    )
    connector = rows.other(user="limited")
    with pytest.raises(StoreUnavailable, match="VACUUM"):
        connector.purge()
    connector.close()
    rows.run("DROP OWNED BY limited; DROP ROLE limited")


def test_ten_thousand_keys_are_listed_and_deleted_from_several_threads(rows):
    keys = [f"key-{number}" for number in range(10_000)]
    rows.run("INSERT INTO store.copies SELECT 'key-' || n FROM generate_series(0, 9999) n")
    rows.put("bystander", b"stays")
    assert sorted(rows.connector.locators()) == sorted([*keys, "bystander"])
    parts = [keys[start : start + 500] for start in range(0, len(keys), 500)]
    with ThreadPoolExecutor(8) as pool:
        claims = [claim for answer in pool.map(rows.connector.delete, parts) for claim in answer]
    assert claims == [Claim.DELETED] * len(keys)
    assert rows.run("SELECT * FROM store.copies") == [("bystander", b"stays", 7)]
    assert list(rows.connector.locators()) == ["bystander"]


def on_disk(rows: Rows, marker: bytes) -> set[str]:
    """Where on the disk a marker is, once the server has written its pages there."""
    rows.run("CHECKPOINT")
    names = {
        rows.run("SELECT pg_relation_filepath(%s)", f"store.{name}")[0][0]: name for name in ("copies", "copies_pkey")
    }
    found = count_in_files(rows.server.folder, marker)
    return {"log" if path.startswith("pg_wal/") else names.get(path, path) for path in found}


def test_what_stays_on_the_disk_is_what_the_profile_says(rows):
    for number in range(60):
        rows.put(f"{'Canary7731Key' if number % 2 else 'kept'}-{number}", b"Canary7731Pg" if number % 2 else b"kept")
    rows.run("ANALYZE store.copies")
    gone = [f"Canary7731Key-{number}" for number in range(60) if number % 2]
    assert rows.connector.delete(gone) == [Claim.DELETED] * 30
    assert on_disk(rows, b"Canary7731Pg") >= {"copies", "log"}
    assert on_disk(rows, b"Canary7731Key") >= {"copies", "copies_pkey", "log"}
    rows.connector.purge()
    # Rows that stay are moved together in their page, and what was there before is the page's free space.
    assert on_disk(rows, b"Canary7731Pg") == {"copies", "log"}
    print(on_disk(rows, b"Canary7731Key"))
    assert rows.run("SELECT count(*) FROM pg_stats WHERE histogram_bounds::text LIKE '%%Canary7731Key%%'") == [(0,)]
    rows.run("DELETE FROM store.copies")
    rows.connector.purge()
    print(on_disk(rows, b"Canary7731Key"), on_disk(rows, b"Canary7731Pg"))
    assert 0
