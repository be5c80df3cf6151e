"""Taking a graph out and putting it back, as a dump and a load would, without stopping the server."""

from __future__ import annotations

from typing import Any

from graph.database.database import Database

Taken = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def take_graph(database: Database) -> Taken:
    """Every node with labels and properties, and every edge between them; the schema stays where it is."""
    nodes = database.administer(
        "MATCH (n) WHERE NOT n:SchemaVersion"
        " RETURN collect({key: elementId(n), labels: labels(n), properties: properties(n)}) AS nodes"
    )
    edges = database.administer(
        "MATCH (a)-[e]->(b) RETURN collect({a: elementId(a), b: elementId(b), type: type(e), properties: properties(e)})"
        " AS edges"
    )
    return (
        [dict(row._values) for row in nodes[0].rows("nodes")],
        [dict(row._values) for row in edges[0].rows("edges")],
    )


def load_graph(database: Database, taken: Taken) -> None:
    """Replace what is there by what was taken."""
    nodes, edges = taken
    database.administer("MATCH (n) WHERE NOT n:SchemaVersion DETACH DELETE n")
    database.administer(
        "UNWIND $nodes AS node CREATE (n:$(node.labels)) SET n = node.properties SET n.copiedFrom = node.key",
        nodes=nodes,
    )
    database.administer(
        "UNWIND $edges AS edge MATCH (a {copiedFrom: edge.a}), (b {copiedFrom: edge.b})"
        " CREATE (a)-[e:$(edge.type)]->(b) SET e = edge.properties",
        edges=edges,
    )
    database.administer("MATCH (n) REMOVE n.copiedFrom")
