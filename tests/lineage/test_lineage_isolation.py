"""What a caller may not see is not there, stops the walk, and leaves no trace but one opaque mark."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from graph.access import Caller
from graph.database.catalogue import Catalogue
from graph.database.database import Database
from graph.errors import NotFound
from graph.lineage.lineage import Lineage
from graph.lineage.model import Direction
from graph.vocabulary import EdgeType, Role
from tests.support.graphs import HIDDEN
from tests.support.records import PURPOSE, TENANT

DOWN, UP, BOTH = Direction.DOWNSTREAM, Direction.UPSTREAM, Direction.BOTH
ORDINARY = Caller(TENANT, "tech-17", frozenset({Role.PRODUCER}), PURPOSE)
QUARANTINED = {"state": "quarantined"}
WAYS = {**HIDDEN, "state": QUARANTINED}


def shown(answer) -> str:
    """Everything that an answer says, as one text."""
    return json.dumps(asdict(answer), sort_keys=True, default=str)


@pytest.mark.req("API-01")
@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("direction", [DOWN, UP])
def test_a_hidden_step_stops_the_walk_with_an_opaque_mark(lineage, graphs, way, direction):
    graphs.records(["root", "near", "visible-beyond"])
    graphs.records(["hidden"], **WAYS[way])
    edges = [
        ("near", "SUMMARIZED_FROM", "root"),
        ("hidden", "CACHED_FROM", "near"),
        ("visible-beyond", "CACHED_FROM", "hidden"),
    ]
    graphs.edges(edges if direction is DOWN else [(source, edge, derivative) for derivative, edge, source in edges])
    page = lineage.walk(ORDINARY, "root", direction=direction)
    assert [(item.identity, item.leads_to_withheld) for item in page.items] == [("near", True)]
    assert page.receipt.withheld
    assert not page.receipt.complete
    assert page.receipt.limits_met == ()
    assert page.next_cursor is None
    assert "hidden" not in shown(page)
    assert "beyond" not in shown(page).replace("leads_to", "")


@pytest.mark.req("API-01")
@pytest.mark.parametrize("way", sorted(WAYS))
def test_one_hidden_child_and_fifty_give_the_same_bytes(lineage, graphs, bare, way):
    edges = ["CACHED_FROM", "SUMMARIZED_FROM", "EMBEDDED_FROM"]
    answers: list[list[str]] = []
    graphs.load([("visible", "SUMMARIZED_FROM", "root")])
    for first, last in ((0, 1), (1, 50)):
        names = [f"hidden-{number}" for number in range(first, last)]
        graphs.records(names, **{"kind": "embedding", **WAYS[way]})
        graphs.edges([(name, edges[number % 3], "root") for number, name in enumerate(names)])
        graphs.edges([(name, "SUMMARIZED_FROM", "visible") for name in names[:20]])
        answers.append(
            [
                shown(bare(lineage.walk(ORDINARY, "root", direction=BOTH))),
                shown(bare(lineage.walk(ORDINARY, "root", direction=DOWN, depth_max=1))),
                shown(bare(lineage.counts(ORDINARY, "root", direction=BOTH))),
                shown(bare(lineage.routes(ORDINARY, "root", "visible"))),
                shown(bare(lineage.history(ORDINARY, "root"))),
                shown(bare(lineage.origins(ORDINARY, "visible"))),
            ]
        )
    assert answers[0] == answers[1]
    assert "hidden" not in "".join(answers[0])


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_root_that_is_hidden_is_like_one_that_does_not_exist(lineage, graphs, way):
    graphs.records(["root"], **WAYS[way])
    graphs.records(["child"])
    graphs.edges([("child", "SUMMARIZED_FROM", "root")])
    questions = [
        lambda identity: lineage.walk(ORDINARY, identity, direction=DOWN, include_deleted=True),
        lambda identity: lineage.counts(ORDINARY, identity, direction=DOWN),
        lambda identity: lineage.routes(ORDINARY, identity, "child"),
        lambda identity: lineage.routes(ORDINARY, "child", identity),
        lambda identity: lineage.history(ORDINARY, identity),
        lambda identity: lineage.origins(ORDINARY, identity),
        lambda identity: lineage.operations(ORDINARY, identity),
        lambda identity: lineage.approvals(ORDINARY, identity),
    ]
    for ask in questions:
        told = []
        for identity in ("root", "nobody"):
            with pytest.raises(NotFound) as caught:
                ask(identity)
            told.append((caught.value.message, caught.value.code, caught.value.details))
        assert told[0] == told[1]


def test_a_way_around_what_is_hidden_is_found_at_its_own_length(lineage, graphs):
    graphs.records(["root", "a", "b", "target"])
    graphs.records(["hidden"], **HIDDEN["tenant"])
    graphs.edges(
        [
            ("hidden", "CACHED_FROM", "root"),
            ("target", "CACHED_FROM", "hidden"),
            ("a", "SUMMARIZED_FROM", "root"),
            ("b", "SUMMARIZED_FROM", "a"),
            ("target", "SUMMARIZED_FROM", "b"),
        ]
    )
    page = lineage.walk(ORDINARY, "root", direction=DOWN)
    assert {item.identity: item.depth for item in page.items} == {"a": 1, "b": 2, "target": 3}
    assert [(step.edge, step.identity) for step in page.items[2].via] == [("SUMMARIZED_FROM", "b")]
    assert lineage.routes(ORDINARY, "root", "target").count == 1


def test_shared_scopes_are_seen_and_other_tenants_beside_them_are_not(lineage, graphs, caller):
    graphs.records(["manual"], tenantId="shared-sources")
    graphs.records(["ours"])
    graphs.records(["theirs"], tenantId="tenant-b")
    graphs.edges([("ours", "SUMMARIZED_FROM", "manual"), ("theirs", "SUMMARIZED_FROM", "manual")])
    page = lineage.walk(caller, "manual", direction=DOWN)
    assert [item.identity for item in page.items] == ["ours"]
    assert page.receipt.withheld
    with pytest.raises(NotFound):
        lineage.walk(replace(caller, shared_scopes=frozenset()), "manual", direction=DOWN)


def test_each_role_sees_the_states_that_are_its_own(lineage, graphs):
    graphs.records(["root", "active"], permissions=["principal:tech-17"])
    for state in ("superseded", "quarantined", "invalidated", "retained"):
        graphs.records([state], state=state, permissions=["principal:tech-17"])
    graphs.edges(
        [
            (state, "SUMMARIZED_FROM", "root")
            for state in ("active", "superseded", "quarantined", "invalidated", "retained")
        ]
    )
    for role, states in (
        (Role.PRODUCER, {"active", "superseded"}),
        (Role.REVIEWER, {"active", "superseded", "quarantined"}),
        (Role.AUDITOR, {"active", "superseded", "quarantined", "invalidated"}),
    ):
        page = lineage.walk(replace(ORDINARY, roles=frozenset({role})), "root", direction=DOWN)
        assert {item.state for item in page.items} == states
        assert page.receipt.withheld


def test_a_fenced_record_is_shown_as_being_deleted(lineage, graphs, caller):
    graphs.load([("child", "SUMMARIZED_FROM", "root"), ("grandchild", "SUMMARIZED_FROM", "child")])
    graphs.change("child", fence="request-1")
    page = lineage.walk(caller, "root", direction=DOWN)
    assert [(item.identity, item.state, item.deleted) for item in page.items] == [
        ("child", "being_deleted", False),
        ("grandchild", "active", False),
    ]


@pytest.mark.parametrize(("by", "seen"), [(TENANT, True), ("tenant-b", False), ("shared-sources", False)])
def test_tombstones_are_shown_to_the_tenant_whose_deletion_left_them(lineage, graphs, caller, by, seen):
    graphs.load([("gone", "SUMMARIZED_FROM", "root"), ("beyond", "SUMMARIZED_FROM", "gone")])
    graphs.delete(["gone"], by=by)
    page = lineage.walk(caller, "root", direction=DOWN, include_deleted=True)
    assert {item.identity for item in page.items} == ({"gone", "beyond"} if seen else set())
    assert page.receipt.withheld != seen
    assert not lineage.walk(caller, "root", direction=DOWN).receipt.withheld


BROKEN = {
    "tenant": ("tenantId IN $tenants", "tenantId IN $tenants + ['tenant-b']"),
    "purpose": ("$purpose IN ", "size($purpose) > 0 OR $purpose IN "),
    "permission": ("any(", "size($grants) > 0 OR any("),
    "state": (".state IN $states", ".state IN $states + ['quarantined']"),
}


@pytest.mark.parametrize("way", sorted(BROKEN))
def test_what_a_broken_query_lets_through_is_still_not_shown(application, graphs, way):
    sound, broken = BROKEN[way]
    queries = application.database.catalogue.queries
    changed = Catalogue({query.name: replace(query, text=query.text.replace(sound, broken)) for query in queries})
    database = Database(application.database._driver, changed)
    lineage = Lineage(database, application.policy, application.clock, 30.0)
    graphs.records(["root", "child", "older"])
    graphs.records(["hidden-1", "hidden-2"], **WAYS[way])
    graphs.edges(
        [
            ("child", "SUMMARIZED_FROM", "root"),
            ("hidden-1", "SUMMARIZED_FROM", "root"),
            ("child", "SUMMARIZED_FROM", "hidden-1"),
            ("hidden-2", "SUMMARIZED_FROM", "child"),
            ("child", "SUPERSEDES", "older"),
            ("hidden-2", "SUPERSEDES", "child"),
            ("child", "APPROVED_BY", "hidden-2"),
        ]
    )
    database.administer(
        "MATCH (n:Identity {identity: 'child'}), (m:Identity) WHERE m.identity IN ['root', 'hidden-1'] "
        "MERGE (n)-[:PRODUCED_BY]->(o:Operation {operationId: 'o', type: 'import', at: 1}) MERGE (o)-[:USED]->(m)"
    )
    page = lineage.walk(ORDINARY, "root", direction=DOWN)
    assert [item.identity for item in page.items] == ["child"]
    assert page.receipt.withheld
    operations = lineage.operations(ORDINARY, "child")
    assert [one.used for one in operations.items] == [("root",)]
    answers = [
        page,
        operations,
        lineage.routes(ORDINARY, "root", "child"),
        lineage.history(ORDINARY, "child"),
        lineage.origins(ORDINARY, "child"),
        lineage.approvals(ORDINARY, "child"),
    ]
    assert "hidden" not in "".join(map(shown, answers))
    assert lineage.routes(ORDINARY, "root", "child").count == 1


def test_breaking_the_queries_really_opens_them(application, graphs):
    """The control of the test above: what it changes is what isolates."""
    sound, broken = BROKEN["tenant"]
    query = application.database.catalogue["expand_downstream"]
    assert query.text.count(sound) == 6
    changed = Catalogue({"expand_downstream": replace(query, text=query.text.replace(sound, broken))})
    graphs.records(["root"])
    graphs.records(["hidden"], **HIDDEN["tenant"])
    graphs.edges([("hidden", "SUMMARIZED_FROM", "root")])
    row = Database(application.database._driver, changed).read(
        "expand_downstream",
        literals={"levels": 5, "edgeTypes": [EdgeType.SUMMARIZED_FROM]},
        identity="root",
        depthMax=5,
        listed=True,
        includeDeleted=False,
        rowsMax=0,
        followed=["SUMMARIZED_FROM"],
        tenantId=TENANT,
        tenants=ORDINARY.tenants,
        purpose=PURPOSE,
        grants=ORDINARY.grants,
        states=ORDINARY.states,
    )[0]
    assert [group.texts("identities") for group in row.rows("groups")] == [["hidden"]]
