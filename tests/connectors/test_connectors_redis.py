"""The Redis store on a real Valkey server."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import redis

from graph.errors import InvalidInput
from service.connectors.conformance import CONFORMANCE_CASES
from service.connectors.port import Claim, StoreUnavailable
from service.connectors.redis import MARKER, Connection, RedisConnector
from tests.connectors.outages import OUTAGE_CASES, under_test
from tests.connectors.servers import HOST, ValkeyServer, count_in_files, frozen, valkey_running, valkey_server
from tests.support.processes import until
from tests.support.proxy import CuttingProxy, cutting_proxy

__all__ = ["valkey_server"]

URL = "SEQUELA_TEST_REDIS_URL"
PREFIX = "sto*e[1]:"


@dataclass
class Keys:
    """A prefix in a server, the raw way to it, and a proxy that the connector goes through."""

    server: ValkeyServer
    proxy: CuttingProxy
    raw: redis.Redis
    connector: RedisConnector
    monkeypatch: pytest.MonkeyPatch

    def put(self, locator: str, data: bytes) -> None:
        self.raw.set(PREFIX + locator, data)

    def has(self, locator: str) -> bool:
        return bool(self.raw.exists(PREFIX + locator))

    def break_off(self) -> None:
        self.proxy.refuse(refusing=True)

    def mend(self) -> None:
        self.proxy.refuse(refusing=False)

    def replace(self, root_id: str | None) -> None:
        self.raw.delete(PREFIX + MARKER)
        if root_id is not None:
            self.raw.set(PREFIX + MARKER, root_id)

    def other(self, url: str | None = None, **changes: object) -> RedisConnector:
        """A connector that differs from the usual one."""
        self.monkeypatch.setenv(URL, url or self.server.url(self.proxy.port))
        settings = {"prefix": PREFIX, "timeout_seconds": 1.0, **changes}
        return Connection(connector="redis", url_variable=URL, **settings).open("root-1")


@pytest.fixture
def keys(valkey_server, monkeypatch) -> Generator[Keys]:
    with cutting_proxy(HOST, valkey_server.port) as proxy, redis.Redis(port=valkey_server.port) as raw:
        raw.flushall()
        monkeypatch.setenv(URL, valkey_server.url(proxy.port))
        connector = Connection(connector="redis", url_variable=URL, prefix=PREFIX).open("root-1")
        connector.create("root-1")
        yield Keys(valkey_server, proxy, raw, connector, monkeypatch)
        connector.close()


def dumped(raw: redis.Redis) -> dict[bytes, object]:
    """Everything that the server holds, as it would send it elsewhere."""
    return {key: raw.dump(key) for key in raw.scan_iter()}


@pytest.mark.parametrize("case", CONFORMANCE_CASES)
def test_it_keeps_the_promises_of_a_connector(case, keys):
    case(under_test(keys))


@pytest.mark.parametrize("case", OUTAGE_CASES)
def test_it_keeps_the_promises_of_a_connector_without_its_store(case, keys):
    case(keys)


def test_keys_of_every_type_go(keys):
    raw = keys.raw
    raw.set(PREFIX + "string", "a")
    raw.hset(PREFIX + "hash", "field", "a")
    raw.rpush(PREFIX + "list", "a")
    raw.sadd(PREFIX + "set", "a")
    raw.zadd(PREFIX + "sorted", {"a": 1})
    raw.xadd(PREFIX + "stream", {"field": "a"})
    raw.set(PREFIX + "mortal", "a", ex=1_000)
    raw.set(PREFIX + "empty", "")
    names = ["string", "hash", "list", "set", "sorted", "stream", "mortal", "empty"]
    assert sorted(keys.connector.locators()) == sorted(names)
    assert keys.connector.present(names) == [True] * len(names)
    assert keys.connector.delete(names) == [Claim.DELETED] * len(names)
    assert keys.connector.present(names) == [False] * len(names)
    assert list(keys.connector.locators()) == []


def test_a_key_whose_time_is_over_is_not_there(keys):
    keys.raw.set(PREFIX + "mortal", "a", px=1)
    assert until(lambda: not keys.has("mortal"), 5)
    assert keys.connector.present(["mortal"]) == [False]
    assert keys.connector.delete(["mortal"]) == [Claim.NOT_FOUND]


def test_what_belongs_to_others_stays_byte_for_byte(keys):
    others = ["stone[1]:copy", "sto*e[1]", "STO*E[1]:copy", "copy", "*", "sto*e1:copy", f"{PREFIX}copy "]
    for number, key in enumerate(others):
        keys.raw.hset(key, "field", number)
    redis.Redis(port=keys.server.port, db=3).set(PREFIX + "copy", "in another database")
    before = dumped(keys.raw)
    keys.put("copy", b"data")
    assert set(keys.connector.locators()) == {"copy", "copy "}
    assert keys.connector.delete(["copy", "copy", "*", "co?y"]) == [Claim.DELETED] + [Claim.NOT_FOUND] * 3
    assert dumped(keys.raw) == before
    with redis.Redis(port=keys.server.port, db=3) as third:
        assert third.get(PREFIX + "copy") == b"in another database"


def test_the_number_in_the_url_is_the_database(keys):
    third = keys.other(url=keys.server.url(database=3))
    keys.put("copy", b"data")
    with pytest.raises(StoreUnavailable):
        third.delete(["copy"])
    third.create("root-1")
    assert third.delete(["copy"]) == [Claim.NOT_FOUND]
    assert keys.has("copy")
    third.close()


def test_the_stores_own_key_is_no_locator(keys):
    assert keys.connector.delete([MARKER]) == [Claim.MALFORMED]
    assert keys.connector.present([MARKER]) == [False]
    with pytest.raises(InvalidInput):
        keys.connector.write(MARKER, b"root-2")
    assert keys.connector.root_id() == "root-1"


def test_keys_that_are_no_text_are_left_out_of_the_list(keys):
    keys.raw.set(PREFIX.encode() + b"\xff\xfe", b"data")
    keys.put("text", b"data")
    assert list(keys.connector.locators()) == ["text"]


def test_a_server_that_was_emptied_proves_nothing(keys):
    keys.put("copy", b"data")
    keys.raw.flushdb()
    for call in (keys.connector.delete, keys.connector.present):
        with pytest.raises(StoreUnavailable, match="emptied"):
            call(["copy"])


def test_an_id_that_changes_while_a_deletion_runs_stops_it(keys):
    """Another root moves in between the check and the effect: thousands of calls, none of which deletes from it."""
    stop = threading.Event()

    def replacing() -> None:
        with redis.Redis(port=keys.server.port) as raw:
            while not stop.is_set():
                with raw.pipeline() as pipe:
                    pipe.set(PREFIX + MARKER, "root-2").set(PREFIX + "copy", "of root-2").execute()
                assert raw.get(PREFIX + "copy") == b"of root-2"
                raw.set(PREFIX + MARKER, "root-1")

    answers: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        ran = pool.submit(replacing)
        while len(answers) < 500:
            try:
                answers.append(keys.connector.delete(["copy"])[0])
            except StoreUnavailable:
                answers.append("refused")
        stop.set()
        ran.result()
    assert "refused" in answers


def test_a_replica_and_a_cluster_are_refused(keys):
    with valkey_running("--replicaof", f"{HOST} {keys.server.port}") as replica:
        keys.put("copy", b"data")
        with redis.Redis(port=replica.port) as raw:
            assert until(lambda: raw.exists(PREFIX + "copy"), 30)
        connector = keys.other(url=replica.url())
        for call in (connector.delete, connector.present):
            with pytest.raises(StoreUnavailable, match="replica"):
                call(["copy"])
        connector.close()
    with valkey_running("--cluster-enabled", "yes") as cluster:
        connector = keys.other(url=cluster.url())
        with pytest.raises(StoreUnavailable, match="cluster"):
            connector.delete(["copy"])
        with pytest.raises(StoreUnavailable):
            connector.present(["copy"])
        connector.close()


def test_a_key_that_the_role_may_not_touch_holds_back_no_other(keys):
    keys.raw.execute_command("ACL", "SETUSER", "limited", "on", ">pw", "+@all", "~*:a*", "~*" + MARKER)
    connector = keys.other(url=keys.server.url().replace("redis://", "redis://limited:pw@"))
    for name in ("a1", "b1", "a2"):
        keys.put(name, b"data")
    assert connector.delete(["a1", "b1", "never", "a2"]) == [Claim.DELETED, Claim.FAILED, Claim.FAILED, Claim.DELETED]
    assert keys.connector.present(["a1", "b1", "a2"]) == [False, True, False]
    connector.close()


@pytest.mark.parametrize("is_after", [False, True])
def test_a_connection_that_is_cut_says_nothing_of_the_effect(keys, is_after):
    connector = keys.other(waits_for_disk=False)
    for name in ("first", "copyy"):
        keys.put(name, b"data")
    assert connector.delete(["nothing"]) == [Claim.NOT_FOUND]
    # The last 22 bytes are the replies to the transaction, which is sent at once; the first ones are that to WATCH.
    before = keys.proxy.passed["down"]
    assert connector.delete(["first"]) == [Claim.DELETED]
    whole = keys.proxy.passed["down"] - before
    keys.proxy.cut("down", whole - 12 if is_after else 0)
    with pytest.raises(StoreUnavailable):
        connector.delete(["copyy"])
    assert keys.proxy.cuts == 1
    assert until(lambda: keys.has("copyy") is not is_after, 5)
    assert connector.delete(["copyy"]) == [Claim.NOT_FOUND if is_after else Claim.DELETED]
    connector.close()


@pytest.mark.parametrize("is_warm", [False, True])
def test_a_server_that_stands_still_does_not_hold_a_call_for_ever(keys, is_warm):
    keys.put("copy", b"data")
    connector = keys.other()
    if is_warm:
        assert connector.present(["copy"]) == [True]
    with frozen(keys.server.pid):
        for call in (connector.present, connector.delete):
            with pytest.raises(StoreUnavailable):
                call(["copy"])
    # What was sent meanwhile is still carried out: the effect of a call without an answer is not known.
    assert connector.present(["copy"]) in ([True], [False])
    connector.close()


def test_a_server_that_cannot_write_is_an_error(keys):
    keys.put("kept", b"data")
    keys.raw.config_set("maxmemory", 1)
    with pytest.raises(StoreUnavailable):
        keys.connector.write("new", b"data")
    keys.raw.config_set("maxmemory", 0)
    assert keys.connector.present(["new", "kept"]) == [False, True]


def test_an_error_quotes_neither_key_nor_address(keys):
    nowhere = keys.other(url="redis://someone:hunter2@127.0.0.1:1/0")
    with pytest.raises(StoreUnavailable) as caught:
        nowhere.delete(["secret-key"])
    assert "hunter2" not in f"{caught.value!r}{caught.value.__cause__!r}"
    assert "127.0.0.1" not in str(caught.value)


def test_an_effect_is_on_the_disk_before_it_is_answered(keys):
    """Without a sync by the server the answer does not come."""
    keys.put("copy", b"data")
    keys.raw.config_set("appendfsync", "no")
    connector = keys.other(timeout_seconds=0.3)
    with pytest.raises(StoreUnavailable):
        connector.delete(["copy"])
    keys.raw.config_set("appendfsync", "always")
    connector.close()


def test_ten_thousand_keys_are_listed_and_deleted_from_several_threads(keys):
    names = [f"key-{number}" for number in range(10_000)]
    keys.raw.mset({PREFIX + name: b"data" for name in names} | {"bystander": b"stays"})
    assert set(keys.connector.locators()) == set(names)
    parts = [names[start : start + 500] for start in range(0, len(names), 500)]
    with ThreadPoolExecutor(16) as pool:
        claims = [claim for answer in pool.map(keys.connector.delete, parts) for claim in answer]
    assert claims == [Claim.DELETED] * len(names)
    assert list(keys.connector.locators()) == []
    assert keys.raw.get("bystander") == b"stays"


def test_what_stays_on_the_disk_is_what_the_profile_says(keys):
    marker, folder = b"Canary7731Rd", keys.server.folder
    for number in range(20):
        keys.put(f"{marker.decode()}-{number}", marker)
    keys.raw.save()
    gone = [f"{marker.decode()}-{number}" for number in range(20)]
    assert keys.connector.delete(gone) == [Claim.DELETED] * 20
    found = {path.partition("/")[0] for path in count_in_files(folder, marker)}
    assert found == {"appendonlydir", "dump.rdb"}
    keys.connector.purge()
    # The old file is unlinked by a thread of its own.
    assert until(lambda: set(count_in_files(folder, marker)) == {"dump.rdb"}, 10)
    keys.raw.save()
    assert count_in_files(folder, marker) == {}


def test_a_purge_waits_for_one_that_began_before(keys):
    marker, folder = b"Canary7731Rw", keys.server.folder
    keys.put("gone", marker)
    keys.raw.bgrewriteaof()
    assert keys.connector.delete(["gone"]) == [Claim.DELETED]
    keys.connector.purge()
    assert until(lambda: count_in_files(folder, marker) == {}, 10)
