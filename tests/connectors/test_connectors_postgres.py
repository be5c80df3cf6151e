"""The PostgreSQL store on a real server."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from service.connectors.conformance import CONFORMANCE_CASES
from service.connectors.port import Claim, StoreUnavailable
from service.connectors.postgres import Connection
from tests.connectors.outages import OUTAGE_CASES, under_test
from tests.connectors.servers import frozen, postgres_server
from tests.connectors.tables import URL, Rows, table
from tests.support.processes import until

__all__ = ["postgres_server"]

COLUMNS = "id text PRIMARY KEY, content bytea, other int DEFAULT 7"


@pytest.fixture
def rows(postgres_server, monkeypatch) -> Generator[Rows]:
    with table(postgres_server, monkeypatch, "postgres", COLUMNS) as rows:
        yield rows


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


def test_what_stays_on_the_disk_is_what_the_profile_says(rows):
    key, content = b"Canary7731Key", b"Canary7731Content"
    for number in range(60):
        rows.put(f"{key.decode() if number % 2 else 'kept'}-{number}", content if number % 2 else b"kept")
    rows.run("ANALYZE store.copies")
    gone = [f"{key.decode()}-{number}" for number in range(60) if number % 2]
    assert rows.connector.delete(gone) == [Claim.DELETED] * 30
    assert rows.on_disk(content) == {"table", "statistics", "log"}
    assert rows.on_disk(key) == {"table", "index", "statistics", "log"}
    rows.connector.purge()
    # What stays is moved together in its page, and what was there before is then the free space of the page.
    assert {"table", "log"} <= rows.on_disk(content) <= {"table", "statistics", "log"}
    assert {"index", "log"} <= rows.on_disk(key) <= {"table", "index", "statistics", "log"}
    assert rows.run("SELECT count(*) FROM pg_stats WHERE histogram_bounds::text LIKE '%%Canary7731%%'") == [(0,)]
    rows.run("DELETE FROM store.copies")
    rows.connector.purge()
    # A table without rows gives its pages back; its index keeps them.
    assert {"log"} <= rows.on_disk(content) <= {"statistics", "log"}
    assert {"index", "log"} <= rows.on_disk(key) <= {"index", "statistics", "log"}
