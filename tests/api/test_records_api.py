"""Registering and reading over HTTP."""

from __future__ import annotations

import pytest

from graph.vocabulary import Role
from tests.support.records import OTHER_TENANT, stated

UNKNOWN = "00000000-0000-8000-8000-000000000000"


def test_a_record_is_created_and_met_again(api):
    first = api.post("/v1/records", stated("r1"))
    again = api.post("/v1/records", stated("r1"))
    assert (first.status_code, first.json()["status"]) == (201, "created")
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")
    assert first.json()["recordId"] == again.json()["recordId"]
    assert first.headers["Location"] == f"/v1/records/{first.json()['recordId']}"
    assert set(first.json()) == {"recordId", "status"}


def test_what_is_incomplete_is_kept_in_quarantine_with_reasons(api):
    response = api.post("/v1/records", stated("r1", ownerId=None, trust=None))
    assert response.status_code == 202
    assert response.json()["status"] == "quarantined"
    assert response.json()["quarantineReasons"] == [
        {"code": "MISSING_OWNER", "field": "ownerId"},
        {"code": "MISSING_TRUST_LABEL", "field": "trust"},
    ]


def test_the_idempotency_key_is_the_name_of_what_has_none(api):
    first = api.post("/v1/records", stated(None, content={"a": 1}), key="k1")
    again = api.post("/v1/records", stated(None, content={"a": 1}), key="k1")
    other = api.post("/v1/records", stated(None, content={"a": 1}), key="k2")
    assert [response.status_code for response in (first, again, other)] == [201, 200, 201]
    assert first.json()["recordId"] == again.json()["recordId"] != other.json()["recordId"]


def test_a_key_used_for_another_body_is_refused(api):
    assert api.post("/v1/records", stated(None, content=1), key="k1").status_code == 201
    response = api.post("/v1/records", stated(None, content=2), key="k1")
    assert (response.status_code, response.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")


def test_one_key_serves_two_tenants_apart(api, api_for):
    other = api_for(OTHER_TENANT)
    body = stated(None, content=1)
    mine = api.post("/v1/records", body, key="k1")
    theirs = other.post("/v1/records", body | {"tenantId": OTHER_TENANT}, key="k1")
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert mine.json()["recordId"] != theirs.json()["recordId"]


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"content": 2}, 409, "RECORD_IMMUTABLE"),
        ({"name": "r2", "kind": "no_such_kind"}, 422, "UNKNOWN_KIND"),
        ({"name": "r2", "observedAt": "yesterday"}, 422, "MALFORMED_INPUT"),
        ({"name": "r2", "observedAt": "2026-03-02T09:00:00"}, 422, "MALFORMED_INPUT"),
        ({"name": "r2\0"}, 422, "NAME_NOT_ENCODABLE"),
        ({"name": "n" * 4_097}, 413, "LIMIT_EXCEEDED"),
        ({"name": "r2", "tenantId": OTHER_TENANT}, 403, "REQUESTER_UNAUTHORIZED"),
        ({"name": "r2", "stores": [{"storeId": "no_such_store", "locator": "x"}]}, 422, "STORE_UNREGISTERED"),
        ({"name": "r2", "sources": [{"name": "r1", "edge": "PRODUCED_BY"}]}, 422, "EDGE_ENDS_NOT_ALLOWED"),
        ({"name": "r2", "sources": [{"name": "gone", "edge": "OBSERVED_FROM"}]}, 404, "SOURCE_NOT_FOUND"),
        ({"name": "r2", "sources": [{"name": "r2", "edge": "OBSERVED_FROM"}]}, 409, "DERIVATION_CYCLE"),
        ({"name": "r2", "sources": [{"name": "held", "edge": "OBSERVED_FROM"}]}, 409, "QUARANTINED_RECORD"),
        (
            {"name": "r2", "permissions": ["role:auditor"], "sources": [{"name": "r1", "edge": "OBSERVED_FROM"}]},
            403,
            "AUDIENCE_WIDENING",
        ),
    ],
)
def test_each_refusal_has_its_status(api, changes, status, code):
    api.register(stated("r1", content=1))
    api.post("/v1/records", stated("held", ownerId=None))
    response = api.post("/v1/records", stated("r1", content=1) | changes)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["Content-Type"] == "application/problem+json"


def test_the_envelope_is_shown_without_the_content(api):
    identity = api.register(stated("r1", content={"text": "the content"}))
    response = api.get(f"/v1/records/{identity}")
    assert response.status_code == 200
    shown = response.json()
    assert shown["envelope"]["name"] == "r1"
    assert (shown["eligible"], shown["ineligibleBecause"]) == (True, [])
    assert "the content" not in response.text
    assert response.headers["Cache-Control"] == "no-store"


def test_the_content_is_shown_where_it_is_asked_for(api):
    identity = api.register(stated("r1", content={"text": "the content"}))
    response = api.get(f"/v1/records/{identity}/content")
    assert response.json() == {"recordId": identity, "content": {"text": "the content"}}


@pytest.mark.parametrize("path", ["/v1/records/{}", "/v1/records/{}/content"])
def test_unknown_foreign_and_forbidden_are_the_same_bytes(api, api_for, path):
    foreign = api_for(OTHER_TENANT).register(stated("r1", tenantId=OTHER_TENANT))
    forbidden = api.register(stated("r2", permissions=["principal:somebody-else"]))
    other_purpose = api.register(stated("r3", purpose=["evaluation"]))
    answers = [api.get(path.format(wanted)) for wanted in (UNKNOWN, foreign, forbidden, other_purpose, "x")]
    assert {(answer.status_code, answer.content) for answer in answers} == {(404, answers[0].content)}
    assert answers[0].json()["code"] == "NOT_FOUND"


def test_a_name_is_resolved_without_standing_in_an_address(api, api_for):
    identity = api.register(stated("a/name: with 'quotes'", scope="s"))
    body = {"name": "a/name: with 'quotes'", "scope": "s"}
    assert api.post("/v1/records:resolve", body).json() == {"recordId": identity}
    assert api_for(OTHER_TENANT).post("/v1/records:resolve", body).json()["recordId"] != identity


def test_a_relation_is_drawn_once(api):
    one, two = api.register(stated("r1")), api.register(stated("r2"))
    answers = [api.post(f"/v1/records/{one}/relations", {"edge": "CONTRADICTS", "target": two}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == {"recordId": one, "edge": "CONTRADICTS", "target": two}
    assert api.get(f"/v1/records/{one}").json()["envelope"]["conflicts"] == [two]


@pytest.mark.parametrize(
    ("edge", "status", "code"),
    [
        ("SUMMARIZED_FROM", 422, "EDGE_ENDS_NOT_ALLOWED"),
        ("SUPERSEDES", 422, "EDGE_ENDS_NOT_ALLOWED"),
        ("HAS_OUTCOME", 422, "EDGE_ENDS_NOT_ALLOWED"),
        ("NO_SUCH_EDGE", 422, "MALFORMED_INPUT"),
    ],
)
def test_only_relations_are_drawn_between_what_exists(api, edge, status, code):
    one, two = api.register(stated("r1")), api.register(stated("r2"))
    response = api.post(f"/v1/records/{one}/relations", {"edge": edge, "target": two})
    assert (response.status_code, response.json()["code"]) == (status, code)


def test_a_relation_to_what_is_not_there_does_not_tell_why(api, api_for):
    one = api.register(stated("r1"))
    foreign = api_for(OTHER_TENANT).register(stated("r1", tenantId=OTHER_TENANT))
    answers = [
        api.post(f"/v1/records/{one}/relations", {"edge": "CONTRADICTS", "target": target})
        for target in (UNKNOWN, foreign)
    ]
    assert {(answer.status_code, answer.content) for answer in answers} == {(404, answers[0].content)}


@pytest.mark.req("TMB-10")
def test_a_deleted_record_answers_with_its_tombstone_alone(api, api_for, application):
    identity = api.register(stated("canary-name", content="canary-content", sourceId="canary-source"))
    filed = api.post("/v1/deletions", {"subject": {"recordIds": [identity]}})
    application.deletions.advance(filed.json()["requestId"])
    response = api.get(f"/v1/records/{identity}")
    assert response.status_code == 410
    assert response.json() == {
        "type": "/docs#DELETED_RECORD",
        "title": "Deleted record",
        "status": 410,
        "code": "DELETED_RECORD",
        "detail": "this record was deleted",
        "details": {
            "deletedAt": "2026-03-02T09:00:00.000000Z",
            "reasonCode": "PRINCIPAL_REQUEST",
            "policyRef": application.policy.policy_id,
        },
    }
    for other in (api.get(f"/v1/records/{identity}/content"), api_for(OTHER_TENANT).get(f"/v1/records/{identity}")):
        assert (other.status_code, other.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.req("TMB-10")
def test_what_comes_late_is_blocked_and_told_nothing(api, application):
    body = stated("canary-name", content="canary-content")
    identity = api.register(body)
    filed = api.post("/v1/deletions", {"subject": {"recordIds": [identity]}})
    application.deletions.advance(filed.json()["requestId"])
    late = api.post("/v1/records", body)
    derived = api.post(
        "/v1/records", stated("late", sources=[{"recordId": identity, "edge": "OBSERVED_FROM"}], content="other")
    )
    related = api.post(f"/v1/records/{identity}/relations", {"edge": "CONTRADICTS", "target": identity})
    for response in (late, derived, related):
        assert (response.status_code, response.json()["code"]) == (409, "TOMBSTONE_BLOCKED")
        assert "canary" not in response.text


def test_a_record_that_is_being_deleted_takes_no_derivative(api):
    identity = api.register(stated("r1"))
    api.client.app.state.application.database.administer(
        "MATCH (n:Identity {identity: $id}) SET n.fence = 'a-request'", id=identity
    )
    response = api.post("/v1/records", stated("r2", sources=[{"name": "r1", "edge": "OBSERVED_FROM"}]))
    assert (response.status_code, response.json()["code"]) == (409, "SOURCE_FENCED")


def test_a_producer_who_is_no_reviewer_does_not_see_quarantine(api_for):
    producer = api_for(roles={Role.PRODUCER})
    held = producer.post("/v1/records", stated("r1", ownerId=None)).json()["recordId"]
    assert producer.get(f"/v1/records/{held}").status_code == 404
    assert api_for(roles={Role.REVIEWER}).get(f"/v1/records/{held}").json()["ineligibleBecause"] == ["quarantined"]
