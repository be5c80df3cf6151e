"""The pgvector store on a real server."""

from __future__ import annotations

import json
import struct
from collections.abc import Generator

import pytest

from graph.errors import InvalidInput
from service.connectors.conformance import CONFORMANCE_CASES, StoreUnderTest
from service.connectors.port import Claim, StoreUnavailable
from tests.connectors.outages import FOLDER, OUTAGE_CASES
from tests.connectors.servers import postgres_server
from tests.connectors.tables import Rows, table

__all__ = ["postgres_server"]

COLUMNS = "id text PRIMARY KEY, content vector(3), other int DEFAULT 7"
# Of their own in all the files of the server, as four bytes each.
CANARY = [7731.25, -1377.5, 3177.125]


class Vectors(Rows):
    """What is put there is always the same vector."""

    def put(self, locator: str, data: bytes) -> None:
        del data
        super().put(locator, str([1, 2, 3]))  # type: ignore[arg-type] - the server reads it


class Writing:
    """A connector whose content is what a vector's column takes, whatever a case writes."""

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def write(self, locator: str, _data: bytes) -> None:
        self._real.write(locator, json.dumps([1, 2, 3]).encode())


@pytest.fixture
def vectors(postgres_server, monkeypatch) -> Generator[Vectors]:
    with table(postgres_server, monkeypatch, "pgvector", COLUMNS, Vectors) as rows:
        rows.run("CREATE INDEX near ON store.copies USING hnsw (content vector_l2_ops)")
        rows.index = "near"
        yield rows


def nearest(vectors: Vectors, to: list[float], number: int = 5) -> list[str]:
    """The keys that the index answers with."""
    with vectors.raw.transaction():
        vectors.run("SET LOCAL enable_seqscan = off")
        vectors.run("SET LOCAL enable_sort = off")
        query = "SELECT id FROM store.copies ORDER BY content <-> %s::vector LIMIT %s"
        (plan,) = vectors.run(f"EXPLAIN (FORMAT JSON) {query}", str(to), number)[0]
        assert "near" in json.dumps(plan)
        return [key for (key,) in vectors.run(query, str(to), number)]


@pytest.mark.parametrize("case", CONFORMANCE_CASES)
def test_it_keeps_the_promises_of_a_connector(case, vectors):
    case(StoreUnderTest(Writing(vectors.connector), vectors, FOLDER))


@pytest.mark.parametrize("case", OUTAGE_CASES)
def test_it_keeps_the_promises_of_a_connector_without_its_store(case, vectors):
    vectors.connector = Writing(vectors.connector)
    case(vectors)


def test_no_search_answers_a_deleted_vector_before_and_after_the_purge(vectors):
    for number in range(200):
        vectors.connector.write(f"v-{number}", json.dumps([number, 0, 0]).encode())
    gone = [f"v-{number}" for number in range(200) if number % 2]
    kept_before = vectors.run("SELECT * FROM store.copies WHERE NOT id = ANY(%s) ORDER BY id", gone)
    assert nearest(vectors, [51, 0, 0], 3)[0] == "v-51"
    assert vectors.connector.delete(gone) == [Claim.DELETED] * 100
    for purged in (False, True):
        if purged:
            vectors.connector.purge()
        for number in range(1, 200, 20):
            found = nearest(vectors, [number, 0, 0])
            assert found
            assert not set(found) & set(gone)
        assert set(nearest(vectors, [51, 0, 0], 2)) == {"v-50", "v-52"}
    assert vectors.connector.present(gone) == [False] * 100
    assert vectors.run("SELECT * FROM store.copies ORDER BY id") == kept_before


def test_an_index_that_lost_a_vector_does_not_hide_it(vectors):
    vectors.connector.write("copy", b"[1, 2, 3]")
    vectors.run("DROP INDEX store.near")
    assert vectors.connector.present(["copy"]) == [True]


def test_what_stays_on_the_disk_is_what_the_profile_says(vectors):
    marker = struct.pack("<3f", *CANARY)
    vectors.connector.write("gone", json.dumps(CANARY).encode())
    for number in range(20):
        vectors.connector.write(f"kept-{number}", json.dumps([number, 1, 1]).encode())
    assert vectors.connector.delete(["gone"]) == [Claim.DELETED]
    assert {"table", "index", "log"} <= vectors.on_disk(marker)
    vectors.connector.purge()
    # The vacuum overwrites the vector in the graph; the page of the table may keep it in its free space.
    assert {"log"} <= vectors.on_disk(marker) <= {"table", "statistics", "log"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        b"{}",
        b"[]",
        b"[true]",
        b'["1"]',
        b"[NaN]",
        b"[1e999]",
        b"[null]",
        b"\xff",
        b"[1" + b"0" * 400 + b"]",
    ],
)
def test_what_is_no_vector_is_not_written(vectors, data):
    with pytest.raises(InvalidInput):
        vectors.connector.write("copy", data)
    assert not vectors.has("copy")


def test_a_vector_of_another_size_is_not_written(vectors):
    with pytest.raises(StoreUnavailable, match="22000"):
        vectors.connector.write("copy", b"[1, 2]")
    assert not vectors.has("copy")
