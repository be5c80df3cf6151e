"""The HTTP store against a real HTTP server of a user's, honest and otherwise."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from pydantic import ValidationError

from graph.errors import InvalidInput, NotReady
from service.connectors.conformance import CONFORMANCE_CASES
from service.connectors.http import ANSWER_BYTES_MAX, Connection
from service.connectors.port import Claim, Connector, ReadConsistency, StoreUnavailable
from tests.connectors.http_store import HttpStore, send
from tests.connectors.outages import OUTAGE_CASES, broken_by_a_liar, under_test
from tests.support.proxy import CuttingProxy

KEY = b"a key of thirty-two bytes, or so"
SECRET = "whsec_" + base64.b64encode(KEY).decode()


@dataclass
class Http:
    """The store behind a proxy that can be shut."""

    store: HttpStore
    proxy: CuttingProxy
    opened: list[Connector] = field(default_factory=list)

    @property
    def connector(self) -> Connector:
        """The one that was opened last."""
        return self.opened[-1]

    def open(self, **settings: object) -> Connector:
        base = f"http://127.0.0.1:{self.proxy.port}/copies/"
        given = {"connector": "http", "baseUrl": base, "secretVariable": "STORE_SECRET", "isEnumerable": True}
        self.opened.append(Connection.model_validate(given | settings).open("root-1"))
        return self.connector

    def put(self, locator: str, data: bytes) -> None:
        self.store.put(locator, data)

    def has(self, locator: str) -> bool:
        return self.store.path(locator).exists()

    def break_off(self) -> None:
        self.proxy.refuse(refusing=True)

    def mend(self) -> None:
        self.proxy.refuse(refusing=False)

    def replace(self, root_id: str | None) -> None:
        root = self.store.folder / "root"
        root.unlink(missing_ok=True)
        if root_id is not None:
            root.write_text(root_id)


@pytest.fixture
def http(tmp_path, monkeypatch) -> Generator[Http]:
    monkeypatch.setenv("STORE_SECRET", SECRET)
    folder = tmp_path / "http"
    folder.mkdir()
    store = HttpStore(folder, KEY)
    proxy = CuttingProxy("127.0.0.1", store.port)
    made = Http(store, proxy)
    made.open().create("root-1")
    yield made
    for connector in made.opened:
        connector.close()
    proxy.close()
    store.close()


@pytest.mark.parametrize("case", CONFORMANCE_CASES)
def test_it_keeps_the_promises_of_a_connector(case, http):
    case(under_test(http))


@pytest.mark.parametrize("case", OUTAGE_CASES)
def test_it_keeps_the_promises_of_a_connector_without_its_store(case, http):
    case(http)


def test_a_connector_that_deletes_nothing_does_not_pass(http):
    caught = broken_by_a_liar(http)
    assert len(caught) >= 8


def is_unavailable(http: Http) -> str:
    """Neither call says anything of copies; what it was called with is not in the message."""
    http.put("canary", b"data")
    messages = []
    for call in (http.connector.delete, http.connector.present):
        with pytest.raises(StoreUnavailable) as error:
            call(["canary", "other"])
        messages.append(str(error.value))
        assert error.value.__cause__ is None
    assert "canary" not in "".join(messages)
    return " ".join(messages)


ANSWERS = {
    "one flag for a batch": {"claims": ["deleted"], "present": [False]},
    "a boolean for all": {"claims": "deleted", "present": False},
    "one more": {"claims": ["deleted"] * 3, "present": [False] * 3},
    "none": {"claims": [], "present": []},
    "numbers": {"claims": [1, 1], "present": [0, 0]},
    "text for booleans": {"claims": [True, True], "present": ["false", "false"]},
    "nothing in it": {"claims": [None, None], "present": [None, None]},
    "unknown claims": {"claims": ["deleted", "gone"], "present": [False, "gone"]},
    "another case": {"claims": ["DELETED", "Deleted"], "present": ["False", "FALSE"]},
    "a number too large": {"claims": [10**30, 0], "present": [10**30, 0]},
}


@pytest.mark.parametrize("what", sorted(ANSWERS))
def test_an_answer_that_is_not_exactly_one_says_nothing(http, what):
    http.store.faults |= {
        "delete": lambda _honest, _request: {"claims": ANSWERS[what]["claims"]},
        "present": lambda _honest, _request: {"present": ANSWERS[what]["present"]},
    }
    is_unavailable(http)


RAW = {
    "accepted": lambda call: send(call, 202, b'{"claims":["deleted","deleted"],"present":[false,false]}'),
    "no content": lambda call: send(call, 204, b""),
    "a redirection": lambda call: send(call, 307, b"", location="/copies/elsewhere"),
    "another redirection": lambda call: send(call, 301, b"{}", location="/copies/elsewhere"),
    "an error": lambda call: send(call, 500, b'{"claims":["deleted","deleted"],"present":[false,false]}'),
    "forbidden": lambda call: send(call, 403, b"{}"),
    "a page": lambda call: send(call, 200, b"<html>", "text/html"),
    "text": lambda call: send(call, 200, b'{"claims":["deleted","deleted"]}', "text/plain"),
    "no JSON": lambda call: send(call, 200, b"{"),
    "nothing": lambda call: send(call, 200, b""),
    "a list": lambda call: send(call, 200, b"[true,true]"),
    "more than was asked": lambda call: send(call, 200, b'{"claims":["deleted","deleted"],"and":1}'),
    "no UTF-8": lambda call: send(call, 200, b'{"claims":["\xff","deleted"]}'),
    "huge": lambda call: send(call, 200, b" " * (ANSWER_BYTES_MAX + 1)),
    "packed": lambda call: send(call, 200, b"{}", **{"content-encoding": "gzip"}),
    "deep": lambda call: send(call, 200, b"[" * 100_000),
}


@pytest.mark.parametrize("what", sorted(RAW))
def test_whatever_else_comes_back_says_nothing(http, what):
    def broken_off(call) -> None:
        # A client that has seen enough hangs up.
        with contextlib.suppress(OSError):
            RAW[what](call)

    fault = {"delete": lambda _honest, _request: broken_off, "present": lambda _honest, _request: broken_off}
    http.store.faults |= fault
    is_unavailable(http)
    assert "/copies/elsewhere" not in http.store.calls


def test_an_answer_of_just_the_largest_size_is_taken(http):
    def padded(call) -> None:
        answer = b'{"present":[true]}'
        send(call, 200, answer + b" " * (ANSWER_BYTES_MAX - len(answer)))

    http.store.faults["present"] = lambda _honest, _request: padded
    assert http.open(timeoutSeconds=30).present(["copy"]) == [True]


def test_a_store_that_trickles_or_hangs_is_given_up_in_time(http):
    def trickles(call) -> None:
        call.send_response(200)
        call.send_header("content-type", "application/json")
        call.end_headers()
        with contextlib.suppress(OSError):
            while not http.store.released.wait(0.05):
                call.wfile.write(b" ")

    def hangs(_call) -> None:
        http.store.released.wait()

    http.open(timeoutSeconds=0.3)
    for fault in (trickles, hangs):
        http.store.faults |= dict.fromkeys(("delete", "present"), lambda _honest, _request, fault=fault: fault)
        is_unavailable(http)


def test_a_liar_is_found_out_on_the_other_route(http):
    http.store.faults["delete"] = lambda _honest, request: {"claims": ["deleted"] * len(request["locators"])}
    http.put("copy", b"data")
    assert http.connector.delete(["copy"]) == [Claim.DELETED]
    assert http.connector.present(["copy"]) == [True]


def test_a_half_done_deletion_is_answered_copy_by_copy(http):
    def half(_honest, request) -> object:
        for locator in request["locators"][::2]:
            http.store.path(locator).unlink()
        return {"claims": ["deleted", "failed"] * (len(request["locators"]) // 2)}

    names = ["a", "b", "c", "d"]
    for name in names:
        http.put(name, b"data")
    http.store.faults["delete"] = half
    assert http.connector.delete(names) == [Claim.DELETED, Claim.FAILED] * 2
    assert http.connector.present(names) == [False, True, False, True]


def test_a_store_of_the_users_may_keep_a_copy_or_not_know_a_locator(http):
    http.store.faults["delete"] = lambda _honest, _request: {"claims": ["retained_under_exception", "malformed"]}
    assert http.connector.delete(["a", "b"]) == [Claim.KEPT, Claim.MALFORMED]
    http.store.faults["write"] = lambda _honest, _request: {"written": False}
    with pytest.raises(InvalidInput):
        http.connector.write("a", b"data")


def test_a_reply_lost_after_the_effect_says_nothing_and_the_next_try_finishes(http):
    def lost(honest, _request) -> object:
        honest()
        return lambda call: call.connection.close()

    http.put("copy", b"data")
    http.store.faults["delete"] = lost
    with pytest.raises(StoreUnavailable):
        http.connector.delete(["copy"])
    assert not http.has("copy")
    http.store.faults.clear()
    assert http.connector.delete(["copy"]) == [Claim.NOT_FOUND]


def test_an_answer_that_comes_late_is_not_the_answer_to_the_next_call(http):
    late = threading.Event()

    def waits(honest, _request) -> object:
        late.wait()
        return honest()

    http.open(timeoutSeconds=0.3)
    http.put("copy", b"data")
    http.store.faults["present"] = waits
    with pytest.raises(StoreUnavailable):
        http.connector.present(["copy"])
    http.store.faults.clear()
    late.set()
    assert http.connector.present(["never-there", "copy"]) == [False, True]


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_connection_that_ends_at_any_byte_says_nothing(http, direction):
    sizes = http.proxy.passed.copy()
    http.put("copy", b"data")
    http.connector.delete(["copy"])
    length = http.proxy.passed[direction] - sizes[direction]
    outcomes = set()
    for after in range(0, length * 9 // 10, max(1, length // 40)):
        http.put("copy", b"data")
        http.proxy.cut(direction, after)
        with pytest.raises(StoreUnavailable):
            http.connector.delete(["copy"])
        outcomes.add(http.has("copy"))
        http.connector.delete(["copy"])
        assert http.connector.present(["copy"]) == [False]
    assert outcomes == {True, False}


def test_every_call_is_signed_and_bears_no_name_in_its_address(http):
    connector = http.connector
    connector.write("canary \u00e9", b"data")
    assert http.store.data("canary \u00e9") == b"data"
    list(connector.locators())
    connector.delete(["canary \u00e9"])
    connector.present(["canary \u00e9"])
    connector.purge()
    routes = {"root", "write", "list", "delete", "present", "purge"}
    assert set(http.store.calls) == {f"/copies/{route}" for route in routes}
    assert http.store.unsigned == 0


def test_another_secret_opens_nothing(http, monkeypatch):
    monkeypatch.setenv("STORE_SECRET", "whsec_" + base64.b64encode(KEY[::-1]).decode())
    http.open()
    is_unavailable(http)
    assert http.store.unsigned == 2


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_%%%", base64.b64encode(b"short").decode()])
def test_a_secret_that_is_none_is_named_by_its_variable(http, monkeypatch, text):
    monkeypatch.setenv("STORE_SECRET", text)
    with pytest.raises(NotReady, match="STORE_SECRET"):
        http.open()


def test_a_list_that_does_not_go_on_or_breaks_off_is_no_list(http):
    for number in range(12):
        http.put(f"copy-{number}", b"data")
    assert len(set(http.connector.locators())) == 12
    http.store.faults["list"] = lambda _honest, _request: {"locators": ["a"], "cursor": "same"}
    with pytest.raises(StoreUnavailable):
        list(http.connector.locators())
    http.store.faults["list"] = lambda honest, request: {} if request["cursor"] else honest()
    with pytest.raises(StoreUnavailable):
        list(http.connector.locators())


def test_a_store_that_cannot_list_is_not_asked_and_says_so(http):
    connector = http.open(isEnumerable=False, isStrong=True)
    http.put("copy", b"data")
    assert list(connector.locators()) == []
    assert not connector.profile.is_enumerable
    assert connector.profile.read is ReadConsistency.STRONG
    assert "/copies/list" not in http.store.calls


def test_other_tenants_copies_are_the_same_byte_for_byte(http):
    for name in ("tenant-b/x", "Tenant-a/x", "tenant-a/x ", "tenant-a/X"):
        http.put(name, name.encode())
    http.put("tenant-a/x", b"mine")
    assert http.connector.delete(["tenant-a/x"]) == [Claim.DELETED]
    for name in ("tenant-b/x", "Tenant-a/x", "tenant-a/x ", "tenant-a/X"):
        assert http.store.data(name) == name.encode()


def test_several_threads_share_a_connector(http):
    names = [f"copy-{number}" for number in range(60)]
    for name in names:
        http.put(name, b"data")
    with ThreadPoolExecutor(6) as pool:
        claims = list(pool.map(lambda name: http.connector.delete([name])[0], names))
    assert claims == [Claim.DELETED] * len(names)


@pytest.mark.parametrize(
    "address", ["", "ftp://example.org/", "http://example.org/?a=1", "http://example.org/#a", "//x"]
)
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ValidationError):
        Connection.model_validate({"connector": "http", "baseUrl": address, "secretVariable": "S"})


def test_the_signature_is_the_one_that_standard_webhooks_say(http):
    """The worked example of the specification's reference libraries."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    connector = http.open()
    connector._key = key
    connector._ids = type("OneId", (), {"new": lambda _self: "msg_p5jXN8AQM9LWM0D4loKWxJek"})()
    connector._clock = type("OneTime", (), {"now": lambda _self: 1_614_265_330_000_000})()
    signed = connector._signed(json.dumps({"test": 2432232314}).encode())
    assert signed["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
