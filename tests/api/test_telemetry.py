"""The log holds what is on the list of fields and nothing else."""

from __future__ import annotations

import io
import json
import logging

import pytest
import structlog

from graph.clock import ManualClock, instant_from_text
from graph.errors import Conflict
from graph.vocabulary import ReasonCode
from service.telemetry import FIELDS_ALLOWED, event_log, exception_fields, log_everything_to
from tests.support.records import stated

CANARY = "canary-4711"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(instant_from_text("2026-03-02T09:00:00Z"))


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_only_listed_fields_come_through(clock):
    stream = io.StringIO()
    event_log(clock, stream).info("request", status=200, content=CANARY, name=CANARY)
    assert lines(stream) == [{"event": "request", "status": 200, "level": "info", "at": "2026-03-02T09:00:00.000000Z"}]


@pytest.mark.parametrize("field", ["content", "name", "path", "query", "url", "body", "message", "envelope", "locator"])
def test_no_field_for_content_is_listed(field):
    assert field not in FIELDS_ALLOWED


def refuse() -> None:
    raise Conflict(CANARY, code=ReasonCode.STATE_CONFLICT, details={"x": CANARY})


def test_an_exception_is_told_without_its_message():
    with pytest.raises(Conflict) as raised:
        refuse()
    fields = exception_fields(raised.value)
    assert (fields["exception"], fields["code"]) == ("Conflict", "STATE_CONFLICT")
    assert str(fields["location"]).startswith("tests.api.test_telemetry:")
    assert CANARY not in str(fields)


def test_what_libraries_say_is_told_without_their_sentences(clock):
    stream = io.StringIO()
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        log_everything_to(clock, stream)
        logging.getLogger("some.library").warning("took %s", CANARY)
        logging.getLogger("some.library").info("took %s", CANARY)
        try:
            refuse()
        except Conflict:
            logging.getLogger("some.library").exception("failed on %s", CANARY)
            structlog.get_logger("a.module").exception("connector_failed", storeId="files", locator=CANARY)
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        structlog.reset_defaults()
    told = [(line["event"], line["level"], line.get("logger"), line.get("exception")) for line in lines(stream)]
    assert told == [
        ("library", "warning", "some.library", None),
        ("library", "error", "some.library", "Conflict"),
        ("connector_failed", "error", None, "Conflict"),
    ]
    assert CANARY not in stream.getvalue()


@pytest.mark.req("OBS-01")
def test_a_whole_life_leaves_no_content_in_the_log(api, application, logged, log_lines, caplog):
    caplog.set_level(logging.WARNING)
    body = stated(CANARY, content={CANARY: CANARY}, sourceId=CANARY, principalId=CANARY, scope=CANARY)
    identity = api.register(body)
    api.get(f"/v1/records/{identity}/content")
    api.get(f"/v1/records/{CANARY}", cursor=CANARY)
    api.post("/v1/records", body | {"content": CANARY})
    api.post("/v1/records", body | {CANARY: CANARY})
    api.post("/v1/records:resolve", {"name": CANARY})
    api.client.get(f"/{CANARY}")
    api.client.get("/v1/exceptions", headers={"Authorization": f"Bearer {CANARY}", "Sequela-Tenant": CANARY})
    filed = api.post("/v1/deletions", {"subject": {"names": [{"name": CANARY, "scope": CANARY}]}}, key=CANARY)
    application.deletions.advance(filed.json()["requestId"])
    api.post("/v1/records", body)
    assert CANARY not in logged.getvalue()
    assert CANARY not in caplog.text
    assert {key for line in log_lines() for key in line} <= {
        *("event", "level", "at", "requestId", "method", "route", "status", "code", "duration_ms")
    }


def test_each_call_has_one_line_with_the_template_of_its_route(api, log_lines, clock, application):
    response = api.get("/v1/records/some-id", anything="else")
    line = log_lines()[-1]
    assert line == {
        "event": "request",
        "level": "info",
        "at": "2026-03-02T09:00:00.000000Z",
        "requestId": response.headers["Sequela-Request-Id"],
        "method": "GET",
        "route": "/v1/records/{record_id}",
        "status": 404,
        "code": "NOT_FOUND",
        "duration_ms": 0.0,
    }


def test_request_ids_are_ours(api):
    sent = {**api.headers, "Sequela-Request-Id": "theirs", "X-Request-Id": "theirs"}
    ids = {api.client.get("/v1/exceptions", headers=sent).headers["Sequela-Request-Id"] for _ in range(2)}
    assert len(ids) == 2
    assert "theirs" not in ids
