"""Lineage over HTTP: walks, numbers, routes and versions, each with how whole it is."""

from __future__ import annotations

import pytest

from tests.support.records import OTHER_TENANT, stated

UNKNOWN = "00000000-0000-8000-8000-000000000000"
DERIVED = {"derivationType": "computed", "inferenceMethod": "test", "trust": "unreviewed_derived"}


@pytest.fixture
def diamond(api) -> dict[str, str]:
    """a <- b, a <- c, b <- d, c <- d."""
    parents = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
    return {
        name: api.register(
            stated(
                name,
                content=f"canary-{name}",
                sources=[{"name": parent, "edge": "SUMMARIZED_FROM"} for parent in above],
                **(DERIVED if above else {}),
            )
        )
        for name, above in parents.items()
    }


def test_what_came_of_a_record(api, diamond):
    response = api.get(f"/v1/records/{diamond['a']}/lineage")
    assert response.status_code == 200
    items = {item["recordId"]: item for item in response.json()["items"]}
    assert {identity: item["depth"] for identity, item in items.items()} == {
        diamond["b"]: 1,
        diamond["c"]: 1,
        diamond["d"]: 2,
    }
    assert items[diamond["d"]]["via"] == sorted(
        ({"edge": "SUMMARIZED_FROM", "recordId": diamond[name]} for name in "bc"), key=lambda step: step["recordId"]
    )
    assert items[diamond["b"]]["class"] == "artifact"
    receipt = response.json()["receipt"]
    assert (receipt["complete"], receipt["withheld"], receipt["nodesVisited"]) == (True, False, 3)
    assert receipt["asOf"] == "2026-03-02T09:00:00.000000Z"
    assert "canary" not in response.text


def test_what_a_record_came_from_and_both(api, diamond):
    upstream = api.get(f"/v1/records/{diamond['d']}/lineage", direction="upstream").json()["items"]
    assert {item["recordId"] for item in upstream} == {diamond["a"], diamond["b"], diamond["c"]}
    both = api.get(f"/v1/records/{diamond['b']}/lineage", direction="both").json()["items"]
    assert {(item["recordId"], item["direction"]) for item in both} == {
        (diamond["d"], "downstream"),
        (diamond["a"], "upstream"),
    }


def test_depth_edges_and_kinds_choose(api, diamond):
    path = f"/v1/records/{diamond['a']}/lineage"
    near = api.get(path, depth=1).json()
    assert {item["recordId"] for item in near["items"]} == {diamond["b"], diamond["c"]}
    assert near["receipt"]["limitsMet"] == ["depth_max"]
    assert near["receipt"]["complete"] is False
    assert api.get(path, edge=["EMBEDDED_FROM", "CACHED_FROM"]).json()["items"] == []
    assert len(api.get(path, edge=["EMBEDDED_FROM", "SUMMARIZED_FROM"]).json()["items"]) == 3
    assert api.get(path, kind="summary").json()["items"] == []
    assert len(api.get(path, kind=["summary", "document"]).json()["items"]) == 3


def test_numbers_alone(api, diamond):
    counts = api.get(f"/v1/records/{diamond['a']}/lineage", counts="only").json()
    assert counts["total"] == 3
    assert [(level["depth"], level["kind"], level["total"]) for level in counts["levels"]] == [
        (1, "document", 2),
        (2, "document", 1),
    ]
    assert counts["receipt"]["complete"] is True


def test_pages_follow_one_another(api, diamond):
    path = f"/v1/records/{diamond['a']}/lineage"
    first = api.get(path, pageSize=2).json()
    assert (len(first["items"]), first["receipt"]["moreFollow"]) == (2, True)
    second = api.get(path, pageSize=2, cursor=first["nextCursor"]).json()
    assert (len(second["items"]), second["nextCursor"]) == (1, None)
    assert len({item["recordId"] for item in first["items"] + second["items"]}) == 3
    other = api.get(path, pageSize=2, depth=1, cursor=first["nextCursor"])
    assert (other.status_code, other.json()["code"]) == (422, "CURSOR_INVALID")


def test_the_skeleton_of_what_was_deleted_answers_on_request(api, diamond, application):
    request = api.post("/v1/deletions", {"subject": {"recordIds": [diamond["b"]]}}).json()["requestId"]
    application.deletions.advance(request)
    path = f"/v1/records/{diamond['a']}/lineage"
    assert {item["recordId"] for item in api.get(path).json()["items"]} >= {diamond["c"]}
    assert diamond["b"] not in {item["recordId"] for item in api.get(path).json()["items"]}
    shown = {item["recordId"]: item for item in api.get(path, includeDeleted=True).json()["items"]}
    assert (shown[diamond["b"]]["deleted"], shown[diamond["b"]]["kind"]) == (True, None)
    gone = api.get(f"/v1/records/{diamond['b']}/lineage")
    assert (gone.status_code, gone.json()["code"]) == (404, "DELETED_RECORD")


def test_routes_are_counted_with_witnesses(api, diamond):
    answer = api.get(f"/v1/records/{diamond['a']}/routes", to=diamond["d"]).json()
    assert (answer["count"], answer["atLeast"]) == (2, False)
    assert [steps[-1] for steps in answer["witnesses"]] == [{"edge": "SUMMARIZED_FROM", "recordId": diamond["d"]}]


def test_versions_come_oldest_first(api):
    first = api.register(stated("v1"))
    second = api.register(stated("v2", supersedes=first))
    versions = api.get(f"/v1/records/{first}/history").json()["versions"]
    assert [(one["recordId"], one["version"], one["isCurrent"]) for one in versions] == [
        (first, 1, False),
        (second, 2, True),
    ]


@pytest.mark.parametrize(
    ("question", "query"),
    [("lineage", {}), ("lineage", {"counts": "only"}), ("routes", {"to": UNKNOWN}), ("history", {})],
)
def test_a_foreign_root_and_an_unknown_one_are_the_same_bytes(api, api_for, diamond, question, query):
    other = api_for(OTHER_TENANT)
    answers = [other.get(f"/v1/records/{root}/{question}", **query) for root in (diamond["a"], UNKNOWN)]
    assert {(answer.status_code, answer.content) for answer in answers} == {(404, answers[0].content)}


NONSENSE = [
    ({"direction": "sideways"}, "query.direction"),
    ({"depth": -1}, "query.depth"),
    ({"edge": "canary"}, "query.edge.0"),
    ({"pageSize": 0}, "query.pageSize"),
    ({"pageSize": 10_001}, "query.pageSize"),
    ({"counts": "canary"}, "query.counts"),
    ({"includeDeleted": "canary"}, "query.includeDeleted"),
]


def test_what_makes_no_sense_is_told_where(api):
    root = api.register(stated("a"))
    for query, path in NONSENSE:
        response = api.get(f"/v1/records/{root}/lineage", **query)
        assert (response.status_code, response.json()["details"]["faults"][0]["path"]) == (422, path)
        assert "canary" not in response.text


def test_kinds_and_edges_that_no_walk_knows_are_refused(api):
    root = api.register(stated("a"))
    for query, code in [({"kind": "canary"}, "UNKNOWN_KIND"), ({"edge": "APPROVED_BY"}, "UNKNOWN_EDGE_TYPE")]:
        response = api.get(f"/v1/records/{root}/lineage", **query)
        assert (response.status_code, response.json()["code"]) == (422, code)
        assert "canary" not in response.text
