"""Holds over HTTP, and the ledger of what stayed."""

from __future__ import annotations

import pytest

from graph.vocabulary import Role
from tests.support.records import OTHER_TENANT, stated


def hold(*identities: str, **changes: object) -> dict[str, object]:
    return {
        "recordIds": list(identities),
        "exceptionType": "legal_hold",
        "authority": "court order 7",
        "policyRef": "exceptions/legal_hold",
        "contact": "legal@example.org",
        "reviewAt": "2026-05-31T00:00:00Z",
    } | changes


@pytest.mark.req("DEL-17")
def test_what_is_held_is_counted_by_itself_and_goes_after_the_release(api, application):
    identity = api.register(stated("r1"))
    placed = api.post("/v1/holds", hold(identity))
    assert placed.status_code == 201
    assert (placed.json()["state"], placed.json()["recordIds"]) == ("active", [identity])
    assert placed.json()["reviewAt"] == "2026-05-31T00:00:00.000000Z"

    request_id = api.post("/v1/deletions", {"subject": {"recordIds": [identity]}}).json()["requestId"]
    application.deletions.advance(request_id)
    status = api.get(f"/v1/deletions/{request_id}").json()
    assert status["state"] == "COMPLETED_WITH_EXCEPTIONS"
    assert (status["counts"]["deleted"], status["counts"]["retained_under_exception"]) == (0, 1)
    entries = api.get("/v1/exceptions").json()["items"]
    assert [(entry["recordId"], entry["requestId"], entry["authority"]) for entry in entries] == [
        (identity, request_id, "court order 7")
    ]

    hold_id = placed.json()["holdId"]
    released = api.post(f"/v1/holds/{hold_id}/release", None)
    assert (released.status_code, released.json()["state"]) == (200, "released")
    assert api.post(f"/v1/holds/{hold_id}/release", None).json() == released.json()
    application.deletions.advance(request_id)
    assert api.get(f"/v1/deletions/{request_id}").json()["counts"]["deleted"] == 1


def test_a_repeat_places_no_second_hold(api):
    identity = api.register(stated("r1"))
    first = api.post("/v1/holds", hold(identity), key="k1")
    again = api.post("/v1/holds", hold(identity), key="k1")
    assert (again.status_code, again.json()) == (201, first.json())
    other = api.post("/v1/holds", hold(identity, authority="another"), key="k1")
    assert (other.status_code, other.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"exceptionType": "because"}, 403, "EXCEPTION_NOT_AUTHORIZED"),
        ({"authority": " "}, 403, "EXCEPTION_NOT_AUTHORIZED"),
        ({"reviewAt": "2020-01-01T00:00:00Z"}, 422, "MALFORMED_INPUT"),
        ({"reviewAt": "soon"}, 422, "MALFORMED_INPUT"),
        ({"recordIds": []}, 422, "MALFORMED_INPUT"),
        ({"recordIds": ["x"]}, 404, "NOT_FOUND"),
    ],
)
def test_a_hold_without_authority_or_object_is_refused(api, changes, status, code):
    response = api.post("/v1/holds", hold(api.register(stated("r1"))) | changes)
    assert (response.status_code, response.json()["code"]) == (status, code)


def test_holds_are_for_the_privacy_role_and_for_the_own_tenant(api, api_for):
    identity = api.register(stated("r1"))
    refused = api_for(roles={Role.PRODUCER}).post("/v1/holds", hold(identity))
    assert (refused.status_code, refused.json()["code"]) == (403, "ROLE_REQUIRED")
    hold_id = api.post("/v1/holds", hold(identity)).json()["holdId"]
    other = api_for(OTHER_TENANT)
    assert other.post("/v1/holds", hold(identity)).status_code == 404
    foreign, missing = other.post(f"/v1/holds/{hold_id}/release", None), other.post("/v1/holds/x/release", None)
    assert (foreign.status_code, foreign.content) == (404, missing.content)
    assert other.get("/v1/exceptions").json() == {"items": [], "nextCursor": None}
