"""The plans of this room's queries on the real server, with data in it."""

from __future__ import annotations

import pytest

from graph.database.catalogue import default_query_folder, load_catalogue
from graph.lineage.model import DEFAULT_EDGES

QUERIES = [query for query in load_catalogue(default_query_folder()).queries if query.capability == "lineage"]


def operators(plan) -> list[str]:
    return [
        plan["operatorType"].split("@")[0],
        *(name for child in plan.get("children", []) for name in operators(child)),
    ]


# At one level the planner writes a plain expansion, which the edges of one record bound.
@pytest.mark.parametrize("levels", [2, 7, 1_000_000_001])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_each_query_plans_as_it_declares(application, graphs, query, levels):
    graphs.load([("b", "SUMMARIZED_FROM", "a"), ("c", "SUPERSEDES", "b"), ("c", "APPROVED_BY", "a")])
    graphs.delete(["b"])
    literals = {"levels": levels, "edgeTypes": DEFAULT_EDGES}
    text = query.with_literals({name: literals[name] for name in query.literals})
    with application.database._driver.session() as session:
        plan = session.run("EXPLAIN " + text, dict.fromkeys(query.params)).consume().plan
    found = operators(plan)
    assert [wanted for wanted in query.plan_operators if wanted not in found] == []
    assert [name for name in found if "Scan" in name or "Cartesian" in name or name == "VarLengthExpand(All)"] == []
