"""Reading an imported PROV document back out of the graph, into a document that the `prov` package can read.

It shares no code with the importer but `prov_statements`, which it is there to try.
"""

from __future__ import annotations

import json
from typing import Any

from prov.model import ProvDocument

from graph.database.database import Database
from service.formats.prov_json import prov_statements

# The same table as the importer's, written down a second time.
ENDS = {
    "PROV_GENERATED_BY": ("wasGeneratedBy", "prov:entity", "prov:activity"),
    "PROV_USED": ("used", "prov:activity", "prov:entity"),
    "PROV_INFORMED_BY": ("wasInformedBy", "prov:informed", "prov:informant"),
    "PROV_STARTED_BY": ("wasStartedBy", "prov:activity", "prov:trigger"),
    "PROV_ENDED_BY": ("wasEndedBy", "prov:activity", "prov:trigger"),
    "PROV_INVALIDATED_BY": ("wasInvalidatedBy", "prov:entity", "prov:activity"),
    "PROJECTED_FROM": ("wasDerivedFrom", "prov:generatedEntity", "prov:usedEntity"),
    "OBSERVED_FROM": ("wasDerivedFrom", "prov:generatedEntity", "prov:usedEntity"),
    "PROV_ATTRIBUTED_TO": ("wasAttributedTo", "prov:entity", "prov:agent"),
    "PROV_ASSOCIATED_WITH": ("wasAssociatedWith", "prov:activity", "prov:agent"),
    "PROV_ACTED_ON_BEHALF_OF": ("actedOnBehalfOf", "prov:delegate", "prov:responsible"),
    "PROV_INFLUENCED_BY": ("wasInfluencedBy", "prov:influencee", "prov:influencer"),
    "PROV_SPECIALIZATION_OF": ("specializationOf", "prov:specificEntity", "prov:generalEntity"),
    "PROV_ALTERNATE_OF": ("alternateOf", "prov:alternate1", "prov:alternate2"),
    "PROV_HAD_MEMBER": ("hadMember", "prov:collection", "prov:entity"),
    "PROV_MENTION_OF": ("mentionOf", "prov:specificEntity", "prov:generalEntity"),
}

Triple = tuple[str, str, str]
Key = tuple[str, str]


def nodes_of(database: Database, source_key: str) -> list[dict[str, Any]]:
    """The records of one import: identity, kind, envelope, content."""
    rows = database.administer(
        "MATCH (n:Record {sourceKey: $key}) RETURN n.identity AS identity, n.kind AS kind, n.envelope AS envelope,"
        " n.content AS content",
        key=source_key,
    )
    return [
        {
            "identity": row.text("identity"),
            "kind": row.text("kind"),
            "envelope": json.loads(row.text("envelope")),
            "content": json.loads(row.text("content")),
        }
        for row in rows
    ]


def edges_of(database: Database, source_key: str) -> list[Triple]:
    """The edges between records of one import, as (child, type, parent)."""
    rows = database.administer(
        "MATCH (n:Record {sourceKey: $key})-[e]->(m:Record) RETURN n.identity AS child, type(e) AS edge,"
        " m.identity AS parent",
        key=source_key,
    )
    return [(row.text("child"), row.text("edge"), row.text("parent")) for row in rows]


def rebuilt(nodes: list[dict[str, Any]], edges: list[Triple]) -> ProvDocument:
    """The document that records and edges amount to.

    Every name is written in full, under a prefix that holds all of it but its last character. An edge that a kept
    statement says as well is left to the statement.
    """
    document: dict[str, Any] = {"bundle": {}}
    full: dict[str, Key] = {}
    said: set[tuple[str, Key, Key]] = set()
    for node in nodes:
        statements = prov_statements(node["content"])
        bundle = node["content"].get("bundle", "")
        if node["kind"] != "prov_statement":
            full[node["identity"]] = (bundle, node["envelope"]["name"])
        for statement in statements:
            _write(document, bundle, statement.type, statement.id, dict(statement.attributes), dict(statement.prefix))
            said |= _pairs(statement)
    for number, (child, edge, parent) in enumerate(edges):
        if child in full and parent in full:
            relation, start, end = ENDS[edge]
            if (relation, full[child], full[parent]) not in said:
                prefix: dict[str, str] = {}
                body = {start: _short(full[child][1], prefix), end: _short(full[parent][1], prefix)}
                _write(document, full[child][0], relation, f"_:edge{number}", body, prefix)
    return ProvDocument.deserialize(content=json.dumps(document), format="json")


def _write(document: Any, bundle: str, group: str, label: str, body: Any, prefix: dict[str, str]) -> None:
    place = document
    if bundle:
        holder: dict[str, str] = {}
        place = document["bundle"].setdefault(_short(bundle, holder), {})
        place.setdefault("prefix", {}).update(holder)
    known = place.setdefault("prefix", {})
    for key, iri in prefix.items():
        assert known.setdefault(key, iri) == iri, f"prefix {key} means two things"
    place.setdefault(group, {}).setdefault(label, []).append(body)


def _pairs(statement: Any) -> set[tuple[str, Key, Key]]:
    pairs: set[tuple[str, Key, Key]] = set()
    for relation, start, end in {ends for ends in ENDS.values() if ends[0] == statement.type}:
        children, parents = statement.attributes.get(start, []), statement.attributes.get(end, [])
        for child in [children] if isinstance(children, str) else children:
            for parent in [parents] if isinstance(parents, str) else parents:
                place = statement.bundle or ""
                start_key = (place, _long(child, statement.prefix))
                if relation == "mentionOf" and "prov:bundle" in statement.attributes:
                    place = _long(statement.attributes["prov:bundle"], statement.prefix)
                pairs |= {
                    (relation, start_key, (where, _long(parent, statement.prefix))) for where in (place, start_key[0])
                }
    return pairs


def _long(name: str, prefix: Any) -> str:
    head, colon, local = name.partition(":")
    if not colon:
        return prefix.get("default", "") + name
    return prefix[head] + local if head in prefix else name


def _short(iri: str, prefix: dict[str, str]) -> str:
    if iri.startswith("_:"):
        return iri
    key = "ns" + iri[:-1].encode().hex()
    prefix[key] = iri[:-1]
    return f"{key}:{iri[-1]}"
