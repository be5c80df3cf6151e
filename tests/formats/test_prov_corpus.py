"""The published PROV-JSON documents of the `prov` package, imported one by one; `prov` itself is the oracle."""

from __future__ import annotations

import importlib.resources
import json
import warnings

import pytest
from prov.model import ProvDocument

from graph.errors import InvalidInput
from service.formats.prov_json import ProvEnvelope, import_prov_document, read_prov_json
from tests.support.prov_graph import edges_of, nodes_of, rebuilt
from tests.support.records import READERS, TENANT

CORPUS = importlib.resources.files("prov.tests")
READABLE = sorted(path.name for path in CORPUS.joinpath("json").iterdir() if path.name.endswith(".json"))
# Where the fault is: line, column and path, read off the files by eye.
MALFORMED = {
    "bad_bundle_shape.json": (2, 5, "bundle"),
    "bad_prefix_map.json": (2, 5, "prefix"),
    "bad_record_content.json": (2, 16, "entity.*"),
    "bad_record_shape.json": (3, 5, "entity"),
    "bad_typed_literal.json": (4, 19, "entity.*.*"),
    "empty.json": (1, 1, None),
    "not_json.json": (1, 2, None),
    "top_level_list.json": (1, 1, ""),
    "top_level_scalar.json": (1, 1, ""),
    "unknown_record_type.json": (2, 5, "*"),
}
ELEMENT_KINDS = {"Entity": "entity", "Activity": "activity", "Agent": "agent"}


def defaults(source: str) -> ProvEnvelope:
    return ProvEnvelope(
        owner_id="platform-owner",
        source_id=source,
        observed_at="2026-03-02T08:00:00Z",
        permissions=tuple(READERS),
        purpose=("maintenance", "lineage_review"),
        producer_id="prov-import",
        producer_version="1",
    )


def by_the_oracle(data: bytes) -> ProvDocument:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ProvDocument.deserialize(content=data.decode(), format="json")


def containers(document: ProvDocument):
    return [document, *document.bundles]


def test_all_the_published_documents_are_found():
    assert len(READABLE) == 398


def test_every_published_document_is_imported_without_loss(application, caller):
    seen = 0
    for name in READABLE:
        data = CORPUS.joinpath("json", name).read_bytes()
        expected = by_the_oracle(data)
        report = import_prov_document(
            read_prov_json(data), application.registrar, caller, scope=name, defaults=defaults(name)
        )
        key = application.keys.lookup(TENANT, "sourceId", name)
        nodes, edges = nodes_of(application.database, key), edges_of(application.database, key)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = rebuilt(nodes, edges)
        assert report.as_json()["refused"] == [], name
        assert report.records.as_json()["counts"] == {
            "created": len(nodes),
            "quarantined": 0,
            "unchanged": 0,
            "refused": 0,
        }, name
        assert got == expected, name
        seen += 1
    assert seen == 398


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_a_malformed_document_is_refused_with_its_position(name):
    with pytest.raises(InvalidInput) as refusal:
        read_prov_json(CORPUS.joinpath("malformed", name).read_bytes())
    details = refusal.value.details
    assert refusal.value.code == "MALFORMED_INPUT"
    assert (details["line"], details["column"], details.get("path")) == MALFORMED[name]


def test_every_malformed_document_is_in_the_table():
    found = {path.name for path in CORPUS.joinpath("malformed").iterdir() if path.name.endswith(".json")}
    assert found == set(MALFORMED)


def test_json_is_used(tmp_path):
    assert json.loads("1") == 1
