"""Streams of records: a verdict a line, bounded memory, repeats that change nothing."""

from __future__ import annotations

import dataclasses
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from graph import errors
from graph.records.register import Registrar
from graph.vocabulary import ReasonCode, Role
from tests.support.records import stated

BLANKS = (b" " * 9_999 + b"\n") * 10


def post(api, content, key="k1"):
    headers = {**api.headers, "Idempotency-Key": key, "Content-Type": "application/x-ndjson"}
    return api.client.post("/v1/records:batch", content=content, headers=headers)


def verdicts(response):
    assert response.status_code == 200, response.text
    assert response.headers["Content-Type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in response.text.splitlines()]


def lines_of(*bodies) -> bytes:
    return b"".join(json.dumps(body).encode() + b"\n" for body in bodies)


def test_each_line_gets_its_verdict_in_order(api):
    content = (
        lines_of(stated("r1", content="canary-1"))
        + b'{"name": "canary-2", \n'
        + lines_of(stated("r1", content="canary-1"), stated("r1", content="canary-3"), stated("r2", ownerId=None))
        + json.dumps(stated("r3", sources=[{"name": "r1", "edge": "OBSERVED_FROM"}])).encode()
    )
    response = post(api, content)
    assert [(one["line"], one["status"], one["code"]) for one in verdicts(response)] == [
        (1, "created", None),
        (2, "refused", "MALFORMED_INPUT"),
        (3, "unchanged", None),
        (4, "refused", "RECORD_IMMUTABLE"),
        (5, "quarantined", "MISSING_OWNER"),
        (6, "created", None),
    ]
    assert "canary" not in response.text


def test_three_thousand_lines_stream_in_and_a_repeat_changes_nothing(api):
    bodies = [json.dumps(stated(f"r{number}" if number % 2 else None)).encode() + b"\n" for number in range(3_000)]

    def stream() -> Iterator[bytes]:
        # Chunks that end in the middle of lines.
        whole = b"".join(bodies)
        for start in range(0, len(whole), 10_007):
            yield whole[start : start + 10_007]

    first = verdicts(post(api, stream()))
    assert [one["line"] for one in first] == list(range(1, 3_001))
    assert {one["status"] for one in first} == {"created"}
    again = verdicts(post(api, stream()))
    assert {one["status"] for one in again} == {"unchanged"}
    assert [one["recordId"] for one in again] == [one["recordId"] for one in first]


def test_memory_does_not_grow_with_the_stream(api, address):
    # Every line is refused by itself: what is measured is the stream, not the graph.
    piece = (b"x" * 9_999 + b"\n") * 10

    def peak(pieces: int) -> int:
        tracemalloc.start()
        try:
            with socket.create_connection(address, timeout=60) as client:
                client.sendall(head_of(api, "Transfer-Encoding: chunked"))
                for _ in range(pieces):
                    client.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                client.sendall(b"0\r\n\r\n")
                assert client.recv(64).startswith(b"HTTP/1.1 200 ")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)
    few, many = peak(10), peak(75)
    assert many < few + 3_000_000, (few, many)


def head_of(api, *more: str) -> bytes:
    headers = {**api.headers, "Idempotency-Key": "k1", "Host": "x", "Content-Type": "application/x-ndjson"}
    lines = ["POST /v1/records:batch HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def test_a_stream_that_ends_early_registers_whole_lines_alone(api, address, log_lines, application):
    whole, half = lines_of(*(stated(f"r{number}") for number in range(500))), b'{"name": "canary'
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(head_of(api, "Content-Length: 5000000") + whole + half)
    wait_for(lambda: log_lines() and log_lines()[-1]["event"] == "request")
    line = log_lines()[-1]
    assert (line["status"], line["exception"]) == (None, "ClientDisconnect")
    rows = application.database.administer("MATCH (n:Record) RETURN count(n) AS total")
    assert rows[0].number("total") == 500


def test_a_stream_that_stands_still_is_ended(api, app, address):
    app.state.limits = dataclasses.replace(app.state.limits, chunk_seconds_max=0.05)
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(head_of(api, "Content-Length: 1000") + b"{")
        answer = b""
        while piece := client.recv(4_096):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"limit":"chunk_seconds_max"' in answer


def wait_for(condition) -> None:
    """Until another thread has written its line."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_an_endless_line_is_refused_without_being_kept(api):
    answers = verdicts(post(api, (b"x" * 100_000 for _ in range(60))))
    assert [(one["status"], one["code"]) for one in answers] == [("refused", "LIMIT_EXCEEDED")]


def test_a_stream_over_its_limit_is_a_problem(api):
    response = post(api, (BLANKS for _ in range(81)))
    assert (response.status_code, response.json()["code"]) == (413, "LIMIT_EXCEEDED")
    assert response.json()["details"] == {"limit": "batch_bytes_max", "max": 8_000_000}
    assert post(api, (BLANKS for _ in range(80))).status_code == 200


def test_an_empty_stream_has_no_verdicts(api):
    assert verdicts(post(api, b"")) == []


def test_a_database_that_goes_away_half_way_is_a_problem_and_a_repeat_finishes(api, monkeypatch):
    content = lines_of(*(stated(f"r{number}") for number in range(1_000)))
    register, calls = Registrar.register, []

    def twice(self, records, caller, *, repeat_keys=()):
        calls.append(records)
        if len(calls) == 2:
            raise errors.Unavailable("the database does not answer", code=ReasonCode.SERVICE_UNAVAILABLE)
        return register(self, records, caller, repeat_keys=repeat_keys)

    monkeypatch.setattr(Registrar, "register", twice)
    response = post(api, content)
    assert (response.status_code, response.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    again = verdicts(post(api, content))
    assert [one["status"] for one in again] == ["unchanged"] * 500 + ["created"] * 500


def test_only_producers_may(api_for):
    response = post(api_for(roles={Role.REVIEWER}), lines_of(stated("r1")))
    assert (response.status_code, response.json()["code"]) == (403, "ROLE_REQUIRED")


@pytest.mark.req("TMB-04")
def test_a_stale_export_is_blocked_where_it_was_deleted(api, application):
    bodies = [stated(f"r{number}", content=f"canary-{number}") for number in range(3)]
    identity = api.register(bodies[1])
    filed = api.post("/v1/deletions", {"subject": {"recordIds": [identity]}})
    application.deletions.advance(filed.json()["requestId"])
    response = post(api, lines_of(*bodies))
    assert [(one["status"], one["code"], one["recordId"] == identity) for one in verdicts(response)] == [
        ("created", None, False),
        ("refused", "TOMBSTONE_BLOCKED", True),
        ("created", None, False),
    ]
    assert "canary" not in response.text
