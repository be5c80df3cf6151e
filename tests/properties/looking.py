"""What is really there: the graph read past the product, and every way in which the product lets somebody read."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graph.access import Caller
from graph.database.database import Database
from graph.errors import Refused
from graph.lineage.model import Direction
from graph.records.read import read_content, read_record
from service.bootstrap import Application
from tests.properties.model import RETAINED, Model, Node, Request
from tests.support.deletion import by_ids

TOMBSTONE_PROPERTIES = {"identity", "deletedAt", "reasonCode", "policyRef"}


@dataclass(frozen=True)
class Seen:
    """One reading of the whole graph; records by identity, outcomes by (request, identity, store)."""

    labels: dict[str, set[str]]
    properties: dict[str, dict[str, Any]]
    requests: dict[tuple[str, ...], dict[str, Any]]
    outcomes: dict[str, dict[tuple[str, str], list[str | None]]]
    relations: set[tuple[str, str]]
    text: str


def look(database: Database) -> Seen:
    """Read everything there is."""
    nodes = [
        (set(row.texts("labels")), dict(row.mapping("p")))
        for row in database.administer("MATCH (n) RETURN labels(n) AS labels, properties(n) AS p")
    ]
    edges = database.administer(
        "MATCH (a)-[e]->(b) RETURN type(e) AS type, properties(e) AS p, a.identity AS start, b.identity AS end,"
        " a.requestId AS request, b.outcomeId AS outcome"
    )
    of_request: dict[str, dict[tuple[str, str], list[str | None]]] = {}
    by_id = {properties["outcomeId"]: properties for labels, properties in nodes if "Outcome" in labels}
    for row in edges:
        if row.text("type") == "HAS_OUTCOME":
            found = by_id[row.text("outcome")]
            places = of_request.setdefault(row.text("request"), {})
            places.setdefault((found["identity"], found["store"]), []).append(found.get("outcome"))
    identified = [(labels, properties) for labels, properties in nodes if "Identity" in labels]
    return Seen(
        labels={properties["identity"]: labels for labels, properties in identified},
        properties={properties["identity"]: properties for _, properties in identified},
        requests={tuple(properties["scope"]): properties for labels, properties in nodes if "Request" in labels},
        outcomes=of_request,
        relations={(row.text("start"), row.text("end")) for row in edges if row.text("type") == "CONTRADICTS"},
        text=json.dumps([[properties for _, properties in nodes], [dict(row.mapping("p")) for row in edges]]),
    )


def compared(seen: Seen, model: Model, identity_of: dict[str, str]) -> None:
    """Hold what is there against the model: records, relations, requests and outcomes."""
    world = model.world
    assert set(seen.labels) == {identity_of[name] for name in world.nodes}
    for name, node in world.nodes.items():
        _record_compared(name, node, seen.labels[identity_of[name]], seen.properties[identity_of[name]])
        assert not (node.is_empty and name in seen.text), f"{name} is {node.state} and still told of"
    assert seen.relations == {(identity_of[start], identity_of[end]) for start, end in world.relations}
    scopes = {tuple(sorted(identity_of[name] for name in scope)): request for scope, request in world.requests.items()}
    assert set(seen.requests) == set(scopes)
    for scope, request in scopes.items():
        stored = seen.requests[scope]
        _request_compared(request, stored, seen.outcomes.get(stored["requestId"], {}), model, identity_of)


def _record_compared(name: str, node: Node, labels: set[str], properties: dict[str, Any]) -> None:
    if node.state == "gone":
        assert labels == {"Identity", "Tombstone"}, name
        assert set(properties) == TOMBSTONE_PROPERTIES, name
        return
    assert labels == {"Identity", "Record"}, name
    assert (properties["state"], "fence" in properties) == (node.state, node.fenced), name
    content = json.loads(properties["content"]) if "content" in properties else None
    assert content == (None if node.state == "invalidated" else content_of(name)), name


def _request_compared(
    request: Request, stored: dict[str, Any], outcomes: dict, model: Model, identity_of: dict[str, str]
) -> None:
    assert all(len(found) == 1 for found in outcomes.values()), "two outcomes for one place"
    in_graph = {identity: found[0] for (identity, store), found in outcomes.items() if store == "graph"}
    assert in_graph == {identity_of[name]: outcome for name, (outcome, _) in request.outcomes.items()}
    exceptions = any(outcome == RETAINED for outcome, _ in request.outcomes.values())
    ended = "COMPLETED_WITH_EXCEPTIONS" if exceptions else "COMPLETED"
    terminal = stored["state"] in {"COMPLETED", "COMPLETED_WITH_EXCEPTIONS", "CLOSED_WITH_OWNED_FAILURES"}
    assert terminal == request.ended, stored["state"]
    if not terminal:
        return
    assert stored["state"] == ended
    for name, (outcome, _) in request.outcomes.items():
        copies = outcomes.get((identity_of[name], "files"))
        if copies is not None:
            assert copies[0] in ({RETAINED} if outcome == RETAINED else {"deleted", "not_found"}), name


def content_of(name: str) -> dict[str, str]:
    return {"text": f"What {name} says."}


Way = Callable[[Application, Caller, str], object]


def _walk(direction: Direction, *, deleted: bool) -> Way:
    return lambda application, caller, identity: application.lineage.walk(
        caller, identity, direction=direction, include_deleted=deleted
    )


def _preview(application: Application, caller: Caller, identity: str) -> object:
    return application.deletions.preview(by_ids(identity), caller)


# Every way in which somebody reads about one record.
WAYS: list[Way] = [
    lambda application, caller, identity: read_record(application.database, caller, identity),
    lambda application, caller, identity: read_content(application.database, caller, identity),
    *(_walk(direction, deleted=deleted) for direction in Direction for deleted in (False, True)),
    _preview,
    lambda application, caller, identity: application.lineage.history(caller, identity, include_deleted=True),
    lambda application, caller, identity: application.lineage.counts(caller, identity, direction=Direction.BOTH),
    lambda application, caller, identity: application.lineage.origins(caller, identity),
    lambda application, caller, identity: application.lineage.operations(caller, identity),
    lambda application, caller, identity: application.lineage.approvals(caller, identity),
]


def answers(application: Application, caller: Caller, identity: str, ways: Sequence[Way]) -> list[str]:
    """What these ways of reading answer about an identity, each as one text; a refusal is none."""
    told: list[str] = []
    for way in ways:
        with contextlib.suppress(Refused):
            told.append(repr(way(application, caller, identity)))
    return told


def shown_below(application: Application, caller: Caller, identity: str) -> set[str]:
    """The identities that an ordinary walk shows, both ways."""
    page = application.lineage.walk(caller, identity, direction=Direction.BOTH, page_size=1_000)
    assert page.next_cursor is None
    return {item.identity for item in page.items}
