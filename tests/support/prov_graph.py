"""Looking at the records and edges of an imported PROV document past the product."""

from __future__ import annotations

import json
from typing import Any

from graph.database.database import Database

Triple = tuple[str, str, str]


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
