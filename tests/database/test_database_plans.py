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


WALKS = [query for query in QUERIES if re.search(r"-\[[^\]]*\*", query.text)]


@pytest.mark.req("DEL-08")
@pytest.mark.parametrize("nodes", [5, 50])
@pytest.mark.parametrize("edge", ["SUPERSEDES", "SUMMARIZED_FROM", "PROV_SPECIALIZATION_OF"])
def test_no_walk_starts_at_both_of_its_ends_however_dense_the_graph_is(application, driver, policy, edge, nodes):
    """From both ends it would go through every path between them: on a clique of fifty, for ever.

    The planner does so where a label lets it look the far end up and the numbers say that there are many paths.
    """
    application.database.administer(
        "UNWIND range(1, $nodes) AS i CREATE (:Identity:Record {identity: 'n' + i})", nodes=nodes
    )
    application.database.administer(f"MATCH (a:Identity), (b:Identity) WHERE a <> b CREATE (a)-[:{edge}]->(b)")
    application.database.administer("CALL db.clearQueryCaches()")
    types = sorted(policy.deletion_edges)
    found: dict[str, list[str]] = {}
    for query in WALKS:
        params = {
            name: ["n1"] if name == "identities" else SAMPLES[kind]
            for name, kind in TYPE.findall(query.header["params"])
        }
        for levels in (2, 3, 1_000_000_001):
            text = query.with_literals({name: types if name == "edgeTypes" else levels for name in query.literals})
            with driver.session() as session:
                plan = session.run(f"EXPLAIN {text}", params).consume().plan
            expansions = [operator(step) for step in steps(plan) if operator(step).startswith("VarLengthExpand")]
            assert expansions, query.name
            found[f"{query.name} {levels}"] = [one for one in expansions if "Pruning" not in one]
    assert {name: walks for name, walks in found.items() if walks} == {}
    assert len(found) >= 24
