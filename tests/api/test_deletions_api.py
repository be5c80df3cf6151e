"""Deletions over HTTP: filed, followed, counted, and never called complete before they are."""

from __future__ import annotations

import json

import pytest

from graph.vocabulary import Role
from tests.support.records import OTHER_TENANT, stated

UNKNOWN = "00000000-0000-8000-8000-000000000000"


@pytest.fixture
def chain(api) -> list[str]:
    """A record, a summary of it, and a summary of that."""
    derived = {"derivationType": "computed", "inferenceMethod": "test", "trust": "unreviewed_derived"}
    return [
        api.register(stated("r0", content="canary-0")),
        api.register(stated("r1", content="canary-1", sources=[{"name": "r0", "edge": "SUMMARIZED_FROM"}], **derived)),
        api.register(stated("r2", content="canary-2", sources=[{"name": "r1", "edge": "SUMMARIZED_FROM"}], **derived)),
    ]


def subject(*identities: str) -> dict[str, object]:
    return {"subject": {"recordIds": list(identities)}}


@pytest.mark.req("API-02")
def test_a_deletion_is_filed_followed_and_proven(api, application, chain):
    filed = api.post("/v1/deletions", subject(chain[0]))
    assert filed.status_code == 202
    request_id = filed.json()["requestId"]
    assert filed.headers["Location"] == f"/v1/deletions/{request_id}"
    assert (filed.json()["state"], filed.json()["scope"]) == ("RECEIVED", [chain[0]])
    assert api.get(f"/v1/records/{chain[0]}").status_code == 200

    application.deletions.advance(request_id)
    status = api.get(f"/v1/deletions/{request_id}").json()
    assert (status["state"], status["complete"], status["pending"]) == ("COMPLETED", True, 0)
    assert status["counts"] == {
        "deleted": 3,
        "invalidated": 0,
        "not_found": 0,
        "retained_under_exception": 0,
        "failed": 0,
    }
    items = api.get(f"/v1/deletions/{request_id}/outcomes").json()["items"]
    assert sorted((item["recordId"], item["depth"], item["outcome"]) for item in items) == sorted(
        (identity, depth, "deleted") for depth, identity in enumerate(chain)
    )
    receipt = api.get(f"/v1/deletions/{request_id}/receipt")
    assert receipt.status_code == 200
    assert receipt.headers["Content-Type"] == "application/json"
    assert receipt.content == api.get(f"/v1/deletions/{request_id}/receipt").content
    assert "canary" not in receipt.text + json.dumps(items)


@pytest.mark.req("DEL-19")
def test_the_receipt_says_where_its_reach_ends(api, application, chain):
    request_id = api.post("/v1/deletions", subject(chain[0])).json()["requestId"]
    application.deletions.advance(request_id)
    text = api.get(f"/v1/deletions/{request_id}/receipt").text
    assert "no proof of erasure anywhere else" in text
    for store in application.policy.stores_out_of_boundary:
        assert store in text


@pytest.mark.req("DEL-14", "NEG-15")
def test_nothing_is_called_complete_before_the_end(api, application):
    derived = {"derivationType": "computed", "inferenceMethod": "test", "trust": "unreviewed_derived"}
    root = api.register(stated("r0"))
    api.register(
        stated(
            "r1",
            sources=[{"name": "r0", "edge": "EMBEDDED_FROM"}],
            stores=[{"storeId": "files", "locator": "r1.bin"}],
            **derived,
        )
    )
    filed = api.post("/v1/deletions", subject(root))
    request_id = filed.json()["requestId"]
    application.deletions.advance(request_id)
    running = api.get(f"/v1/deletions/{request_id}")
    assert running.json()["state"] == "PROPAGATING"
    assert running.json()["pending"] >= 1
    outcomes = api.get(f"/v1/deletions/{request_id}/outcomes")
    assert {item["state"] for item in outcomes.json()["items"]} >= {"pending", "settled"}
    for response in (filed, running, outcomes):
        assert "complete" not in response.text.lower()
    receipt = api.get(f"/v1/deletions/{request_id}/receipt")
    assert (receipt.status_code, receipt.json()["code"]) == (409, "STATE_CONFLICT")
    assert "complete" not in receipt.text.lower()


@pytest.mark.req("DEL-11")
def test_a_repeat_after_the_end_gives_the_same_result(api, application, chain):
    first = api.post("/v1/deletions", subject(chain[0]), key="k1")
    request_id = first.json()["requestId"]
    application.deletions.advance(request_id)
    ended = api.get(f"/v1/deletions/{request_id}")
    again = [api.post("/v1/deletions", subject(chain[0]), key="k1") for _ in range(2)]
    again.append(api.post("/v1/deletions", subject(chain[0]), key="k2"))
    retried = api.post(f"/v1/deletions/{request_id}/retry", None)
    application.deletions.advance(request_id)
    for response in (*again, retried):
        assert (response.status_code, response.json()) == (202, ended.json())
    assert api.get(f"/v1/deletions/{request_id}").content == ended.content


def test_a_key_used_for_another_request_is_refused(api, chain):
    assert api.post("/v1/deletions", subject(chain[0]), key="k1").status_code == 202
    response = api.post("/v1/deletions", subject(chain[1]), key="k1")
    assert (response.status_code, response.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")


def test_a_preview_changes_nothing_and_its_digest_binds(api, application, chain):
    preview = api.post("/v1/deletions/preview", subject(chain[0]))
    assert preview.status_code == 200
    shown = preview.json()
    assert [item["recordId"] for item in sorted(shown["items"], key=lambda item: item["depth"])] == chain
    assert (shown["itemsOmitted"], shown["scope"]) == (0, [chain[0]])
    assert api.get(f"/v1/records/{chain[0]}").status_code == 200
    assert api.post("/v1/deletions/preview", subject(chain[0])).json()["digest"] == shown["digest"]
    api.register(stated("r9", sources=[{"name": "r0", "edge": "OBSERVED_FROM"}]))
    stale = api.post("/v1/deletions", subject(chain[0]) | {"expectedDigest": shown["digest"]})
    assert (stale.status_code, stale.json()["code"]) == (409, "PREVIEW_STALE")
    fresh = api.post("/v1/deletions/preview", subject(chain[0])).json()["digest"]
    assert api.post("/v1/deletions", subject(chain[0]) | {"expectedDigest": fresh}).status_code == 202


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "MALFORMED_INPUT"),
        ({"subject": {}}, 422, "SCOPE_INEXACT"),
        ({"subject": {"principalId": "tech-17"}}, 422, "SCOPE_INEXACT"),
        ({"subject": {"recordIds": []}}, 422, "MALFORMED_INPUT"),
        ({"subject": {"recordIds": ["x"], "names": [{"name": "y"}]}}, 422, "SCOPE_INEXACT"),
        ({"subject": {"recordIds": ["x"]}, "reasonCode": "because"}, 422, "MALFORMED_INPUT"),
    ],
)
def test_a_request_that_is_not_exact_is_refused(api, body, status, code):
    response = api.post("/v1/deletions", body)
    assert (response.status_code, response.json()["code"]) == (status, code)


@pytest.mark.req("DEL-04")
@pytest.mark.parametrize("path", ["/v1/deletions", "/v1/deletions/preview"])
def test_what_exists_elsewhere_and_what_does_not_are_refused_alike(api, api_for, path):
    foreign = api_for(OTHER_TENANT).register(stated("r1", tenantId=OTHER_TENANT))
    answers = [api.post(path, subject(identity)) for identity in (UNKNOWN, foreign)]
    assert {(answer.status_code, answer.content) for answer in answers} == {(403, answers[0].content)}
    assert answers[0].json()["code"] == "REQUESTER_UNAUTHORIZED"


@pytest.mark.parametrize("role", [Role.PRODUCER, Role.REVIEWER, Role.AUDITOR, Role.OPERATOR])
def test_roles_without_a_grant_may_not_delete(api, api_for, chain, role):
    response = api_for(roles={role}).post("/v1/deletions", subject(chain[0]))
    assert response.status_code == 403
    assert api.get(f"/v1/records/{chain[0]}").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "/outcomes"), ("GET", "/receipt"), ("POST", "/retry")],
)
def test_a_request_of_another_tenant_is_not_there(api, api_for, chain, method, path):
    request_id = api.post("/v1/deletions", subject(chain[0])).json()["requestId"]
    other = api_for(OTHER_TENANT)
    answers = [
        other.client.request(method, f"/v1/deletions/{wanted}{path}", headers={**other.headers, "Idempotency-Key": "k"})
        for wanted in (request_id, UNKNOWN)
    ]
    assert {(answer.status_code, answer.content) for answer in answers} == {(404, answers[0].content)}


def test_outcomes_come_in_pages_without_a_gap(api, application):
    root = api.register(stated("r0"))
    for number in range(1, 6):
        api.register(stated(f"r{number}", sources=[{"name": "r0", "edge": "OBSERVED_FROM"}]))
    request_id = api.post("/v1/deletions", subject(root)).json()["requestId"]
    application.deletions.advance(request_id)
    whole = api.get(f"/v1/deletions/{request_id}/outcomes").json()
    assert (len(whole["items"]), whole["nextCursor"]) == (6, None)
    paged, cursor = [], {}
    while cursor is not None:
        page = api.get(f"/v1/deletions/{request_id}/outcomes", pageSize=4, **cursor).json()
        paged += page["items"]
        cursor = {"cursor": page["nextCursor"]} if page["nextCursor"] else None
    assert paged == whole["items"]


@pytest.mark.parametrize("size", [0, 1_001])
def test_a_page_has_bounds(api, chain, size):
    request_id = api.post("/v1/deletions", subject(chain[0])).json()["requestId"]
    response = api.get(f"/v1/deletions/{request_id}/outcomes", pageSize=size)
    assert (response.status_code, response.json()["details"]["faults"][0]["path"]) == (422, "query.pageSize")
