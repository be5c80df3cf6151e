"""Refusals: each error has its status, and none repeats what was sent."""

from __future__ import annotations

import inspect
import json

import pytest

from graph import errors
from graph.records.model import RegisterResult, RegisterStatus
from graph.vocabulary import ReasonCode
from service.api.problems import STATUS_BY_ERROR, error_response, verdict_error
from tests.api.conftest import SMALL
from tests.support.records import stated

CANARY = "canary-4711"
EXPECTED = {
    "SequelaError": 500,
    "Refused": 409,
    "InvalidInput": 422,
    "NotAuthenticated": 401,
    "NotAuthorized": 403,
    "NotFound": 404,
    "Conflict": 409,
    "Blocked": 409,
    "Oversized": 413,
    "Unavailable": 503,
    "OutcomeUnknown": 503,
    "NotReady": 503,
    "PolicyInvalid": 500,
    "QueryInvalid": 500,
    "LocalServerError": 500,
}
TREE = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SequelaError)]


@pytest.mark.req("API-06")
@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_error_of_the_tree_has_its_status(kind):
    assert kind in STATUS_BY_ERROR, f"service/api/problems.py gives {kind.__name__} no status of its own"
    response = error_response(kind("a sentence", code=ReasonCode.STATE_CONFLICT))
    document = json.loads(response.body)
    assert response.status_code == document["status"] == EXPECTED[kind.__name__]
    assert response.media_type == "application/problem+json"
    assert set(document) == {"type", "title", "status", "code", "detail", "details"}
    assert (document["detail"] == "a sentence") is (response.status_code != 500)


@pytest.mark.parametrize("kind", [errors.Unavailable, errors.OutcomeUnknown, errors.NotReady])
def test_what_may_be_tried_again_says_when(kind):
    assert error_response(kind("a sentence")).headers["Retry-After"] == "5"


@pytest.mark.parametrize("code", ["NOT_FOUND", "REQUESTER_UNAUTHORIZED"])
def test_codes_that_hide_existence_carry_no_detail(code):
    kind = errors.NotFound if code == "NOT_FOUND" else errors.NotAuthorized
    bare = error_response(kind("one", code=ReasonCode(code)))
    told = error_response(kind("one", code=ReasonCode(code), details={"recordId": "x"}))
    assert bare.body == told.body


def test_details_that_have_no_json_form_are_told_by_their_type():
    response = error_response(errors.Conflict("x", code=ReasonCode.STATE_CONFLICT, details={"thing": object()}))
    assert json.loads(response.body)["details"] == {"thing": "object"}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("TOMBSTONE_BLOCKED", errors.Blocked),
        ("SUPERSESSION_FORK", errors.Conflict),
        ("SOURCE_NOT_FOUND", errors.NotFound),
        ("AUDIENCE_WIDENING", errors.NotAuthorized),
        ("LIMIT_EXCEEDED", errors.Oversized),
        ("UNKNOWN_KIND", errors.InvalidInput),
    ],
)
def test_a_refused_verdict_is_the_error_that_a_call_would_raise(code, kind):
    result = RegisterResult(RegisterStatus.REFUSED, "id", ReasonCode(code), {"message": "why", "sourceId": "s"})
    error = verdict_error(result)
    assert (type(error), error.message, error.details) == (kind, "why", {"sourceId": "s"})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({CANARY: 1}, {"path": "body.*", "reason": "extra_forbidden"}),
        ({"kind": {CANARY: 1}}, {"path": "body.kind", "reason": "string_type"}),
        ({"kind": CANARY + "x" * 512}, {"path": "body.kind", "reason": "string_too_long", "max_length": 512}),
        ({"operation": {"type": CANARY}}, {"path": "body.operation.type", "reason": "enum"}),
        ({"sources": [{"name": CANARY}]}, {"path": "body.sources.0.edge", "reason": "missing"}),
        ({"stateVersion": -1}, {"path": "body.stateVersion", "reason": "greater_than_equal", "ge": 0}),
    ],
)
@pytest.mark.req("API-06")
def test_an_invalid_body_is_told_by_paths_without_values(api, changes, fault):
    response = api.post("/v1/records", stated("r1") | changes)
    assert (response.status_code, response.json()["code"]) == (422, "MALFORMED_INPUT")
    faults = response.json()["details"]["faults"]
    assert [{key: one[key] for key in fault} for one in faults] == [fault]
    assert CANARY not in response.text


def test_a_field_of_a_closed_list_is_told_what_would_do(api):
    response = api.post("/v1/records", stated("r1") | {"operation": {"type": CANARY}})
    assert "'tool_call'" in response.json()["details"]["faults"][0]["expected"]


def test_many_faults_are_counted_and_not_all_told(api):
    body = stated("r1") | {"sources": [{} for _ in range(60)]}
    details = api.post("/v1/records", body).json()["details"]
    assert (len(details["faults"]), details["faultsOmitted"]) == (50, 10)


@pytest.mark.parametrize(
    ("body", "details"),
    [
        (b'{"a": 1', {"line": 1, "column": 8, "problem": "',' or '}' expected"}),
        (b'{"kind": "a",\n "kind": "b"}', {"line": 2, "column": 2, "problem": "duplicate key"}),
        (b'{"content": NaN}', {"line": 1, "column": 13, "problem": "naN and infinities are no JSON"}),
        (b"[" * 200, {"line": 1, "column": 101, "problem": "nested too deeply"}),
        (b'{"content": "\\ud800"}', {"line": 1, "column": 13}),
        (b'{"content": ' + b"1" * 5_000 + b"}", {"line": 1, "column": 13, "problem": "a number is too long"}),
        (b"\xff\xfe", {"line": 1, "column": 1, "problem": "no UTF-8"}),
    ],
)
def test_a_body_that_is_no_strict_json_is_told_where(api, body, details):
    headers = {**api.headers, "Idempotency-Key": "k", "Content-Type": "application/json"}
    response = api.client.post("/v1/records", content=body, headers=headers)
    assert (response.status_code, response.json()["code"]) == (422, "MALFORMED_INPUT")
    shown = response.json()["details"]
    assert {key: shown[key] for key in details} == details or details["problem"].lower() in shown["problem"].lower()


@pytest.mark.parametrize("media_type", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_of_another_media_type_is_not_read_as_json(api, media_type):
    headers = {**api.headers, "Idempotency-Key": "k"} | ({"Content-Type": media_type} if media_type else {})
    response = api.client.post("/v1/records", content=json.dumps(stated(CANARY)).encode(), headers=headers)
    assert (response.status_code, response.json()["code"]) == (422, "MALFORMED_INPUT")
    assert CANARY not in response.text


def test_a_body_is_taken_up_to_its_limit_and_refused_beyond(api):
    headers = {**api.headers, "Idempotency-Key": "k", "Content-Type": "application/json"}
    body = json.dumps(stated("r1")).encode()
    largest = body + b" " * (SMALL.body_bytes_max - len(body))
    assert api.client.post("/v1/records", content=largest, headers=headers).status_code == 201
    for over in (largest + b" ", iter([largest, b" "])):
        response = api.client.post("/v1/records", content=over, headers=headers)
        assert (response.status_code, response.json()["code"]) == (413, "LIMIT_EXCEEDED")
        assert response.json()["details"] == {"limit": "body_bytes_max", "max": 20_000}


MISSING = [
    ("GET", f"/{CANARY}", 404, "NOT_FOUND"),
    ("GET", "/v1/records", 405, "METHOD_NOT_ALLOWED"),
    ("DELETE", "/v1/records/x", 405, "METHOD_NOT_ALLOWED"),
    ("PUT", "/v1/deletions", 405, "METHOD_NOT_ALLOWED"),
    ("OPTIONS", "/v1/deletions", 405, "METHOD_NOT_ALLOWED"),
    ("POST", "/health/live", 405, "METHOD_NOT_ALLOWED"),
    ("GET", "/v1/records/x/", 404, "NOT_FOUND"),
]


def test_addresses_and_methods_that_are_not_there_are_problems_too(client):
    for method, path, status, code in MISSING:
        response = client.request(method, path, follow_redirects=False)
        assert (response.status_code, response.json()["code"]) == (status, code), path
        assert response.headers["Content-Type"] == "application/problem+json"
        assert CANARY not in response.text
        assert ("Allow" in response.headers) is (status == 405)


def test_head_is_answered_by_a_head_alone(client):
    response = client.head("/health/live")
    assert response.status_code == 405
    assert response.headers["Content-Type"] == "application/problem+json"


def test_an_exception_that_nobody_foresaw_tells_nothing(api, application, log_lines, caplog):
    identity = api.register(stated("r1"))
    application.database.administer(
        "MATCH (n:Identity {identity: $id}) SET n.observedAt = $broken", id=identity, broken=CANARY
    )
    response = api.get(f"/v1/records/{identity}", q=CANARY)
    assert (response.status_code, response.json()["code"]) == (500, "INTERNAL_FAULT")
    assert CANARY not in response.text
    line = log_lines()[-1]
    assert (line["level"], line["exception"]) == ("error", "TypeError")
    assert (line["status"], line["route"]) == (500, "/v1/records/{record_id}")
    assert line["location"].startswith("graph.database.rows:")
    assert CANARY not in json.dumps(line)
    assert caplog.text == ""


def test_a_database_that_is_away_is_said_to_be(api, application, monkeypatch):
    def gone(*_args: object, **_params: object) -> None:
        raise errors.Unavailable("the database does not answer", code=ReasonCode.SERVICE_UNAVAILABLE)

    monkeypatch.setattr(type(application.registrar), "register", gone)
    response = api.post("/v1/records", stated("r1"))
    assert (response.status_code, response.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert response.headers["Retry-After"] == "5"
