"""The published contract: kept as a file, true of what is answered, and readable."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from graph.vocabulary import ReasonCode
from service.api.access import Limits
from service.api.app import create_app

GOLDEN = Path(__file__).with_name("openapi.json")
REGENERATE = "SEQUELA_WRITE_CONTRACT=1 python3 -m pytest tests/api/test_contract.py -k golden"
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@schemathesis.serializer("application/x-ndjson")
def ndjson_as_it_is(_context: object, value: str) -> bytes:
    return value.encode(errors="replace")


@pytest.fixture
def contract(client) -> dict:
    return client.get("/openapi.json").json()


def test_the_contract_is_the_golden_file(contract):
    text = json.dumps(contract, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("SEQUELA_WRITE_CONTRACT"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), f"the contract changed; if that is meant: {REGENERATE}"


@pytest.mark.req("API-06")
def test_every_reason_code_is_published(contract):
    schemas = contract["components"]["schemas"]
    assert schemas["Problem"]["properties"]["code"]["$ref"].endswith("/ReasonCode")
    assert schemas["ReasonCode"]["enum"] == [code.value for code in ReasonCode]


def test_every_operation_says_how_it_refuses(contract):
    for path, operations in contract["paths"].items():
        for verb, operation in operations.items():
            refusals = {status for status in operation["responses"] if status >= "400"}
            expected = {"500"} if path.startswith("/health") else {"401", "403", "422", "500", "503"}
            assert refusals >= expected or path == "/health/live", f"{verb} {path}"
            for status in refusals:
                (media_type,) = operation["responses"][status]["content"]
                assert media_type == "application/problem+json", f"{verb} {path} {status}"
            assert operation.get("description"), f"{verb} {path} has no description"


def test_calls_that_change_something_take_a_key(contract):
    keyed = {
        f"{verb} {path}"
        for path, operations in contract["paths"].items()
        for verb, operation in operations.items()
        if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", []))
    }
    assert keyed == {
        "post /v1/records",
        "post /v1/records:batch",
        "post /v1/records/{record_id}/relations",
        "post /v1/deletions",
        "post /v1/deletions/{request_id}/retry",
        "post /v1/holds",
        "post /v1/holds/{hold_id}/release",
    }


def test_no_address_holds_a_name(contract):
    parameters = {
        parameter["name"]
        for operations in contract["paths"].values()
        for operation in operations.values()
        for parameter in operation.get("parameters", [])
        if parameter["in"] in {"path", "query"}
    }
    assert parameters == {
        *("record_id", "request_id", "hold_id", "to", "cursor", "pageSize"),
        *("direction", "depth", "edge", "kind", "includeDeleted", "counts"),
    }


def test_the_page_for_people_lists_every_operation_and_loads_nothing(client, contract):
    response = client.get("/docs")
    assert response.status_code == 200
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert "<script" not in response.text
    assert not re.search(r"(src|href)=['\"]?(https?:)?//", response.text)
    for path in contract["paths"]:
        assert f"<code>{path}</code>" in response.text
    assert "<code id=TOMBSTONE_BLOCKED>" in response.text
    assert "$ref" not in response.text
    assert "`" not in response.text
    for name in re.findall(r"href='#shape-(\w+)'", response.text):
        assert f"id='shape-{name}'" in response.text
    assert "href='#shape-RecordInput'" in response.text


def test_the_bare_address_leads_to_the_page(client):
    answer = client.get("/", follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (307, "/docs")


def test_whatever_is_sent_is_answered_as_published(application, api):
    app = create_app(application, limits=Limits(body_bytes_max=65_536, batch_bytes_max=65_536))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    tried: set[str] = set()

    def conforms(case: Case) -> None:
        tried.add(f"{case.method} {case.path}")
        case.headers = {**(case.headers or {}), **api.headers}
        case.call_and_validate(checks=CHECKS)

    for operation in schema.get_all_operations():
        FEW(given(case=operation.ok().as_strategy())(conforms))()
    assert len(tried) == 20


FEW = settings(
    max_examples=6,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
