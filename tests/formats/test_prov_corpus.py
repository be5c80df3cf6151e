"""The published PROV-JSON documents of the `prov` package, imported and exported one by one; `prov` itself is the oracle."""

from __future__ import annotations

import importlib.resources
import json
import warnings
from collections import Counter

import pytest
from prov.constants import PROV
from prov.model import ProvDocument, ProvElement, ProvMention, ProvRelation
from prov.tests import examples

from service.formats.prov_export import export_prov_document
from service.formats.prov_json import ProvEnvelope, import_prov_document, prov_statements, read_prov_json
from tests.support.prov_graph import edges_of, nodes_of
from tests.support.records import READERS, TENANT

CORPUS = importlib.resources.files("prov.tests")
READABLE = sorted(path.name for path in CORPUS.joinpath("json").iterdir() if path.name.endswith(".json"))
EDGES = {
    "Generation": "PROV_GENERATED_BY",
    "Usage": "PROV_USED",
    "Communication": "PROV_INFORMED_BY",
    "Start": "PROV_STARTED_BY",
    "End": "PROV_ENDED_BY",
    "Invalidation": "PROV_INVALIDATED_BY",
    "Attribution": "PROV_ATTRIBUTED_TO",
    "Association": "PROV_ASSOCIATED_WITH",
    "Delegation": "PROV_ACTED_ON_BEHALF_OF",
    "Influence": "PROV_INFLUENCED_BY",
    "Specialization": "PROV_SPECIALIZATION_OF",
    "Alternate": "PROV_ALTERNATE_OF",
    "Membership": "PROV_HAD_MEMBER",
    "Mention": "PROV_MENTION_OF",
}


DEFAULTS = ProvEnvelope(
    owner_id="platform-owner",
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


def edges_by_the_oracle(document: ProvDocument) -> set[tuple[str, str, str]]:
    """Every relation with both ends: (child, edge, parent), each end as bundle and name."""
    found: set[tuple[str, str, str]] = set()
    for container in [document, *document.bundles]:
        bundle = container.identifier.uri if container.is_bundle() else ""
        for relation in container.get_records(ProvRelation):
            child, parent = (value for _, value in relation.formal_attributes[:2])
            if child is not None and parent is not None:
                place = bundle
                if isinstance(relation, ProvMention):
                    named = relation.formal_attributes[2][1]
                    place = next((one.identifier.uri for one in document.bundles if one.identifier == named), bundle)
                found.add((f"{bundle} {child.uri}", _edge(relation), f"{place} {parent.uri}"))
    return found


def _edge(relation: ProvRelation) -> str:
    name = relation.get_type().localpart
    if name != "Derivation":
        return EDGES[name]
    return "OBSERVED_FROM" if PROV["PrimarySource"] in relation.get_asserted_types() else "PROJECTED_FROM"


def elements_by_the_oracle(document: ProvDocument) -> Counter[str]:
    return Counter(
        element.get_type().localpart.lower()
        for container in [document, *document.bundles]
        for element in container.get_records(ProvElement)
    )


def test_all_the_published_documents_are_found():
    assert len(READABLE) == 398


def check_round_trip(application, caller, name: str, data: bytes) -> None:
    """Import a document, export it again and compare both, and the graph between them, with what the oracle reads."""
    expected = by_the_oracle(data)
    report = import_prov_document(read_prov_json(data), application.registrar, caller, scope=name, defaults=DEFAULTS)
    key = application.keys.lookup(TENANT, "sourceId", f"prov-json:{name}")
    nodes, edges = nodes_of(application.database, key), edges_of(application.database, key)
    assert report.as_json()["refused"] == [], name
    assert report.records.as_json()["counts"] == {
        "created": len(nodes),
        "quarantined": 0,
        "unchanged": 0,
        "refused": 0,
    }, name
    export = export_prov_document(application.database, application.keys, caller, scope=name)
    assert export.as_json() == {"records": len(nodes), "ended": 0, "withheld": False}
    found = by_the_oracle(json.dumps(export.document).encode())
    # Its equality takes a relation without an id for one with any; only both ways together it is strict.
    assert found == expected, name
    assert expected == found, name
    full = {
        node["identity"]: f"{node['content'].get('bundle', '')} {node['envelope']['name']}"
        for node in nodes
        if node["kind"] != "prov_statement"
    }
    drawn = {(full[child], edge, full[parent]) for child, edge, parent in edges if child in full}
    assert drawn == edges_by_the_oracle(expected), name
    statements = [one.type for node in nodes for one in prov_statements(node["content"])]
    elements = Counter(one for one in statements if one in ("entity", "activity", "agent"))
    assert elements == elements_by_the_oracle(expected), name


def test_every_published_document_comes_back_as_it_was(application, caller):
    for name in READABLE:
        check_round_trip(application, caller, name, CORPUS.joinpath("json", name).read_bytes())


@pytest.mark.parametrize("name", sorted(name for name, _ in examples.tests))
def test_the_examples_of_the_oracle_come_back_as_they_were(application, caller, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = dict(examples.tests)[name]().serialize(format="json")
    check_round_trip(application, caller, name, text.encode())
