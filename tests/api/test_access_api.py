"""Who gets in, and what the others are told."""

from __future__ import annotations

import pytest

from graph.errors import InvalidInput, NotFound
from graph.vocabulary import Role
from service.auth import create_key, list_keys, revoke_key
from tests.support.records import OTHER_TENANT, PURPOSE, TENANT, stated

KNOWN = "00000000-0000-8000-8000-000000000000"
GATED = [
    ("GET", f"/v1/records/{KNOWN}"),
    ("GET", f"/v1/records/{KNOWN}/content"),
    ("GET", f"/v1/records/{KNOWN}/lineage"),
    ("GET", f"/v1/records/{KNOWN}/routes"),
    ("GET", f"/v1/records/{KNOWN}/history"),
    ("POST", "/v1/records"),
    ("POST", "/v1/records:batch"),
    ("POST", "/v1/records:resolve"),
    ("POST", f"/v1/records/{KNOWN}/relations"),
    ("POST", "/v1/deletions"),
    ("POST", "/v1/deletions/preview"),
    ("GET", f"/v1/deletions/{KNOWN}"),
    ("GET", f"/v1/deletions/{KNOWN}/outcomes"),
    ("GET", f"/v1/deletions/{KNOWN}/receipt"),
    ("POST", f"/v1/deletions/{KNOWN}/retry"),
    ("POST", "/v1/holds"),
    ("POST", f"/v1/holds/{KNOWN}/release"),
    ("GET", "/v1/exceptions"),
]


def test_the_table_of_gated_operations_is_whole(client):
    paths = client.get("/openapi.json").json()["paths"]
    published = {(verb.upper(), path) for path, verbs in paths.items() for verb in verbs}
    template = {(verb, path.replace(KNOWN, "{record_id}" if "/records" in path else "{}")) for verb, path in GATED}
    shown = {
        (verb, path.replace("{request_id}", "{}").replace("{hold_id}", "{}"))
        for verb, path in published
        if not path.startswith("/health")
    }
    assert shown == template


@pytest.mark.req("DEL-04")
def test_nobody_gets_past_the_gate_without_a_key(client):
    for method, path in GATED:
        response = client.request(method, path, content=b"{not json", headers={"Content-Type": "application/json"})
        assert response.status_code == 401, path
        assert response.json()["code"] == "REQUESTER_UNAUTHENTICATED"
        assert response.headers["WWW-Authenticate"].startswith("Bearer")
        assert response.headers["Content-Type"] == "application/problem+json"


def test_every_wrong_key_gets_the_same_answer(api):
    wrong = [
        "",
        "Bearer",
        "Bearer x",
        "Basic dGVjaDp4",
        f"Bearer sqk_{KNOWN}_{'0' * 64}",
        f"Bearer sqk_{KNOWN}_{'0' * 63}",
        f"Bearer sqk_{KNOWN}_{'0' * 64} ",
        f"Bearer sqk_{'é' * 36}_{'0' * 64}",
    ]
    path = f"/v1/records/{KNOWN}"
    bare = api.client.get(path, headers={"Sequela-Tenant": TENANT})
    for authorization in wrong:
        headers = {**api.headers, "Authorization": authorization.encode("latin-1")}
        response = api.client.get(path, headers=headers)
        assert (response.status_code, response.content) == (401, bare.content), authorization


def test_a_right_id_with_another_secret_is_unknown(api):
    key = api.headers["Authorization"]
    last = "0" if key[-1] != "0" else "1"
    assert (
        api.client.get("/v1/exceptions", headers={**api.headers, "Authorization": key[:-1] + last}).status_code == 401
    )
    assert api.get("/v1/exceptions").status_code == 200


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"Sequela-Tenant": None}, 422, "ACTIVE_TENANT_REQUIRED"),
        ({"Sequela-Tenant": ""}, 422, "ACTIVE_TENANT_REQUIRED"),
        ({"Sequela-Tenant": OTHER_TENANT}, 403, "REQUESTER_UNAUTHORIZED"),
        ({"Sequela-Tenant": "no such tenant"}, 403, "REQUESTER_UNAUTHORIZED"),
        ({"Sequela-Purpose": None}, 422, "MISSING_PURPOSE"),
        ({"Sequela-Purpose": ""}, 422, "MISSING_PURPOSE"),
        ({"Sequela-Purpose": "evaluation"}, 403, "OUTSIDE_PURPOSE"),
    ],
)
def test_every_call_names_its_tenant_and_purpose(api, changes, status, code):
    headers = {name: value for name, value in (api.headers | changes).items() if value is not None}
    response = api.client.get("/v1/exceptions", headers=headers)
    assert (response.status_code, response.json()["code"]) == (status, code)


def test_a_foreign_tenant_and_one_that_does_not_exist_give_the_same_bytes(api, api_for):
    api_for(OTHER_TENANT)
    foreign = api.client.get("/v1/exceptions", headers=api.headers | {"Sequela-Tenant": OTHER_TENANT})
    missing = api.client.get("/v1/exceptions", headers=api.headers | {"Sequela-Tenant": "tenant-z"})
    assert foreign.content == missing.content


def test_a_revoked_key_is_out_from_the_next_call_on(api, application):
    assert api.get("/v1/exceptions").status_code == 200
    key_id = api.headers["Authorization"].split("_")[1]
    since = revoke_key(application.database, application.clock, key_id)
    assert api.get("/v1/exceptions").status_code == 401
    application.clock.advance(60)
    assert revoke_key(application.database, application.clock, key_id) == since


def test_revoking_what_is_not_there_says_so(application):
    with pytest.raises(NotFound):
        revoke_key(application.database, application.clock, KNOWN)


def test_the_database_holds_no_secret(application):
    key_id, key = create_key(
        application.database,
        application.ids,
        application.clock,
        tenant_id=TENANT,
        roles={Role.PRIVACY},
        principal_id="tech-17",
        purposes={PURPOSE},
    )
    secret = key.removeprefix(f"sqk_{key_id}_")
    assert len(bytes.fromhex(secret)) == 32
    rows = application.database.administer("MATCH (k:ApiKey {keyId: $id}) RETURN properties(k) AS stored", id=key_id)
    stored = rows[0].mapping("stored")
    assert set(stored) == {"keyId", "secretHash", "tenantId", "roles", "principalId", "purposes", "createdAt"}
    assert secret not in str(stored)


@pytest.mark.parametrize(
    "blank", [{"roles": set()}, {"purposes": set()}, {"tenant_id": ""}, {"principal_id": ""}, {"purposes": {""}}]
)
def test_a_key_needs_all_its_parts(application, blank):
    parts = {"tenant_id": TENANT, "roles": {Role.PRIVACY}, "principal_id": "tech-17", "purposes": {PURPOSE}}
    with pytest.raises(InvalidInput):
        create_key(application.database, application.ids, application.clock, **(parts | blank))


def test_keys_are_listed_without_secrets_and_with_their_end(application, api_for):
    for tenant_id in ("tenant-a", "tenant-b"):
        api_for(tenant_id, roles={Role.REVIEWER})
    first = next(iter(list_keys(application.database)))
    revoke_key(application.database, application.clock, first.key_id)
    listed = list(list_keys(application.database))
    assert [(key.tenant_id, key.revoked_at is None) for key in listed] == [("tenant-a", False), ("tenant-b", True)]
    assert listed[0].roles == {Role.REVIEWER}


def test_roles_are_those_of_the_key(api_for):
    reader = api_for(roles={Role.REVIEWER})
    response = reader.post("/v1/records", stated("r1"))
    assert (response.status_code, response.json()["code"]) == (403, "ROLE_REQUIRED")
    assert response.json()["details"] == {"roles": ["producer"]}


@pytest.mark.parametrize("key", [None, "", "k" * 256])
def test_a_call_that_changes_something_needs_an_idempotency_key(api, key):
    headers = api.headers if key is None else {**api.headers, "Idempotency-Key": key}
    for method, path in GATED:
        if method == "GET" or path.endswith(("resolve", "preview")):
            continue
        response = api.client.post(path, json=stated("r1"), headers=headers)
        assert (response.status_code, response.json()["code"]) == (422, "IDEMPOTENCY_KEY_REQUIRED"), path


def test_an_idempotency_key_of_the_longest_length_is_taken(api):
    assert api.post("/v1/records", stated("r1"), key="k" * 255).status_code == 201
