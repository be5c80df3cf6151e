"""Ways around the gate: somebody else's key, a record that is not shown, a cursor that nobody gave out."""

from __future__ import annotations

import base64

import pytest

from graph.vocabulary import Role
from tests.support.deletion import delete, hold
from tests.support.records import OTHER_TENANT, stated

UNKNOWN = "00000000-0000-8000-8000-000000000000"
GARBLED = ["zzzz", "AAAA", "0", "é", "\x00", "~", "x" * 4_096, base64.urlsafe_b64encode(b"[1,2]").decode()]


def subject(*identities: str) -> dict[str, object]:
    return {"subject": {"recordIds": list(identities)}}


@pytest.mark.req("DEL-04")
@pytest.mark.parametrize("role", [Role.PRODUCER, Role.REVIEWER, Role.AUDITOR])
@pytest.mark.parametrize("ended", [False, True], ids=["before its run", "after its end"])
def test_a_repeat_under_the_key_of_who_may_delete_is_refused_to_who_may_not(api, api_for, application, role, ended):
    identity = api.register(stated("r", content="secret"))
    body = subject(identity)
    filed = api.post("/v1/deletions", body, key="theirs").json()
    if ended:
        application.deletions.advance(filed["requestId"])
    other = api_for(roles={role}, principal_id="somebody")
    for key in ("theirs", "my-own-key"):
        refused = other.post("/v1/deletions", body, key=key)
        assert (refused.status_code, refused.json()["code"]) == (403, "REQUESTER_UNAUTHORIZED"), key
        assert filed["requestId"] not in refused.text
    again = api.post("/v1/deletions", body, key="theirs")
    assert (again.status_code, again.json()["requestId"]) == (202, filed["requestId"])


@pytest.mark.req("DEL-04")
def test_a_repeat_of_a_hold_is_refused_to_who_may_not_hold(api, api_for):
    body = {
        "recordIds": [api.register(stated("r"))],
        "exceptionType": "legal_hold",
        "authority": "order 12/2026",
        "policyRef": "exceptions/legal_hold",
        "contact": "mailto:legal@fieldops.example",
        "reviewAt": "2026-05-31T00:00:00Z",
    }
    held = api.post("/v1/holds", body, key="theirs").json()
    refused = api_for(roles={Role.PRODUCER}).post("/v1/holds", body, key="theirs")
    assert (refused.status_code, refused.json()["code"]) == (403, "ROLE_REQUIRED")
    assert held["holdId"] not in refused.text


@pytest.fixture
def hidden(api, api_for):
    """Somebody with a grant on nothing, a record that only its principal sees, and one of the caller's own."""
    other = api_for(roles={Role.PRODUCER}, principal_id="somebody")
    secret = api.register(stated("secret", permissions=["principal:tech-17"]))
    own = other.register(stated("own", permissions=["role:producer"]))
    assert other.get(f"/v1/records/{secret}").status_code == 404
    return other, secret, own


def test_what_is_not_shown_is_joined_with_nothing(hidden, api):
    other, secret, own = hidden
    for at, target in ((secret, own), (own, secret)):
        answers = []
        for identity in (secret, UNKNOWN):
            path, end = (identity, target) if at == secret else (at, identity)
            answer = other.post(f"/v1/records/{path}/relations", {"edge": "CONTRADICTS", "target": end})
            assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
            answers.append(answer.text.replace(identity, "ID"))
        assert answers[0] == answers[1]
    assert api.get(f"/v1/records/{secret}").json()["envelope"]["conflicts"] == []


def test_nothing_is_made_of_what_is_not_shown(hidden):
    other, secret, _ = hidden
    made = {
        "derivationType": "computed",
        "inferenceMethod": "t",
        "trust": "unreviewed_derived",
        "permissions": ["role:producer"],
    }
    answers = []
    for number, identity in enumerate((secret, UNKNOWN)):
        sources = [{"recordId": identity, "edge": "SUMMARIZED_FROM"}]
        answer = other.post("/v1/records", stated(f"made {number}", sources=sources, **made))
        assert answer.json()["code"] == "SOURCE_NOT_FOUND"
        problem = {key: value for key, value in answer.json().items() if key not in {"details", "instance", "recordId"}}
        answers.append((answer.status_code, problem, sorted(answer.json()["details"])))
    assert answers[0] == answers[1]


@pytest.fixture
def listings(api, application, caller):
    """Two deletions of held records: the addresses of their outcomes, and of the exception ledger."""
    identities = [[api.register(stated(f"r{turn}/{number}")) for number in range(3)] for turn in range(2)]
    for some in identities:
        hold(application, caller, *some)
    requests = [delete(application, caller, *some).request_id for some in identities]
    return [f"/v1/deletions/{request_id}/outcomes" for request_id in requests] + ["/v1/exceptions"]


@pytest.mark.parametrize("cursor", GARBLED, ids=range(len(GARBLED)))
def test_a_cursor_that_nobody_gave_out_is_refused(api, listings, cursor):
    for path in listings:
        refused = api.get(path, cursor=cursor)
        assert (refused.status_code, refused.json()["code"]) == (422, "CURSOR_INVALID"), path


def test_a_cursor_is_good_for_its_own_listing_alone(api, api_for, listings):
    cursors = {path: api.get(path, pageSize=1).json()["nextCursor"] for path in listings}
    assert len(set(cursors.values())) == 3
    for path in listings:
        for other, cursor in cursors.items():
            answer = api.get(path, pageSize=1, cursor=cursor)
            if other == path:
                assert (answer.status_code, len(answer.json()["items"])) == (200, 1)
            else:
                assert (answer.status_code, answer.json()["code"]) == (422, "CURSOR_INVALID")
    foreign = api_for(OTHER_TENANT).get("/v1/exceptions", cursor=cursors["/v1/exceptions"])
    assert (foreign.status_code, foreign.json()["code"]) == (422, "CURSOR_INVALID")


def test_a_cursor_is_no_id_of_an_entry(api, listings):
    for path, field in ((listings[0], "outcomeId"), (listings[2], "exceptionId")):
        for item in api.get(path).json()["items"]:
            refused = api.get(path, cursor=item[field])
            assert (refused.status_code, refused.json()["code"]) == (422, "CURSOR_INVALID")


def test_a_changed_cursor_is_refused(api, listings):
    for path in listings:
        cursor = api.get(path, pageSize=1).json()["nextCursor"]
        for changed in (cursor[:-1], cursor + "A", cursor[:-2] + ("AA" if cursor[-2:] != "AA" else "BB"), cursor[::-1]):
            refused = api.get(path, cursor=changed)
            assert (refused.status_code, refused.json()["code"]) == (422, "CURSOR_INVALID"), changed
