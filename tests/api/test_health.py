"""Live at once; ready only when the work can be done, and saying what is lacking."""

from __future__ import annotations

import dataclasses

import pytest
from fastapi.testclient import TestClient

from graph.ids import IdentityKeys
from service.api.app import create_app


def ready(application):
    with TestClient(create_app(application)) as client:
        assert client.get("/health/live").json() == {"status": "live"}
        return client.get("/health/ready")


def test_a_prepared_service_is_ready(client, application):
    assert client.get("/health/ready").json() == {"status": "ready", "policyId": application.policy.policy_id}


@pytest.fixture
def without_marks(application):
    """The database as it is before any schema step was marked."""
    database = application.database
    database.administer("MATCH (v:SchemaVersion) SET v:Aside REMOVE v:SchemaVersion")
    yield application
    database.administer("MATCH (v:SchemaVersion) DELETE v")
    database.administer("MATCH (v:Aside) SET v:SchemaVersion REMOVE v:Aside")


def test_a_database_without_schema_is_not_ready(without_marks):
    response = ready(without_marks)
    assert (response.status_code, response.json()["code"]) == (503, "SERVICE_NOT_READY")
    assert response.json()["details"] == {"lacking": ["schema", "identity_key"]}
    assert response.headers["Retry-After"] == "5"


def test_a_schema_of_another_version_is_not_ready(application):
    application.database.administer("CREATE (:SchemaVersion {step: '999_other', digest: 'x', appliedAt: 0})")
    try:
        assert ready(application).json()["details"] == {"lacking": ["schema"]}
    finally:
        application.database.administer("MATCH (v:SchemaVersion {step: '999_other'}) DELETE v")


def test_another_identity_key_is_not_ready(application):
    other = dataclasses.replace(application, keys=IdentityKeys(b"x" * 32))
    assert ready(other).json()["details"] == {"lacking": ["identity_key"]}


def test_a_policy_that_the_database_does_not_know_is_not_ready(application):
    application.database.administer("MATCH (p:Policy) DETACH DELETE p")
    assert ready(application).json()["details"] == {"lacking": ["policy"]}
