"""Every query, planned by the real server."""

from __future__ import annotations

import re

import neo4j
import pytest

from graph.database.catalogue import default_query_folder, load_catalogue
from graph.vocabulary import DERIVATION_EDGES, EdgeType

QUERIES = load_catalogue(default_query_folder()).queries
# Reading everything is sometimes the job; then the header says so.
SCANS = ("AllNodesScan", "NodeByLabelScan", "DirectedAllRelationshipsScan", "UndirectedAllRelationshipsScan")
TYPE = re.compile(r"(\w+) (STRING|INTEGER|FLOAT|BOOLEAN|MAP|LIST)")
SAMPLES = {"STRING": "x", "INTEGER": 3, "FLOAT": 1.0, "BOOLEAN": True, "MAP": {}, "LIST": []}


@pytest.fixture(scope="module")
def driver(neo4j_server):
    with neo4j.GraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:
        yield driver


def steps(plan):
    yield plan
    for child in plan.get("children", ()):
        yield from steps(child)


def operator(plan):
    return plan["operatorType"].split("@")[0]


def multiplies(plan):
    """Whether a product has a side that may have more than one row."""
    sides = ("NodeUniqueIndexSeek", "Filter", "Argument")
    return operator(plan) == "CartesianProduct" and not all(
        operator(below).startswith((*sides, "CartesianProduct")) for below in steps(plan)
    )


def explained(driver, query):
    """The columns, the plan and the server's remarks."""
    params = {name: SAMPLES[kind] for name, kind in TYPE.findall(query.header["params"])}
    assert set(params) == set(query.params), f"{query.name}: give each parameter a type of {sorted(SAMPLES)}"
    text = query.with_literals(
        {name: [*DERIVATION_EDGES, EdgeType.SUPERSEDES] if name == "edgeTypes" else 3 for name in query.literals}
    )
    with driver.session() as session:
        result = session.run(f"EXPLAIN {text}", params)
        columns = result.keys()
        summary = result.consume()
        return columns, summary.plan, summary.gql_status_objects


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_the_plan_is_the_declared_one(application, driver, query):
    columns, plan, remarks = explained(driver, query)
    found = [operator(step) for step in steps(plan)]
    missing = [wanted for wanted in query.plan_operators if not any(one.startswith(wanted) for one in found)]
    assert not missing, f"{query.name}: the plan lacks {missing}; it has {found}"
    scans = {one for one in found if one.startswith(SCANS)}
    undeclared = {scan for scan in scans if not any(scan.startswith(wanted) for wanted in query.plan_operators)}
    assert not undeclared, f"{query.name}: seek by an index, or declare {undeclared} under plan"
    assert not any(multiplies(step) for step in steps(plan)), f"{query.name}: join the patterns: {found}"
    deprecated = [one.status_description for one in remarks if "DEPRECATION" in (one.raw_classification or "")]
    assert not deprecated, f"{query.name}: {deprecated}"
    declared = [part.split()[0] for part in re.sub(r"<[^>]*>+", "", query.header["returns"]).split(",")]
    assert columns == declared, f"{query.name}: write the columns {columns} under returns, with their types"
