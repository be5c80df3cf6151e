"""What a caller may not see is not there on any path that writes: no edge to it, no source of it, no sign that it was."""

from __future__ import annotations

import pytest

from graph.access import Caller
from graph.errors import NotFound, Refused
from graph.records.read import read_record
from graph.records.relate import Relation, relate
from graph.vocabulary import EdgeType, Role
from tests.support.records import TENANT, derived, record

UNKNOWN = "00000000-0000-8000-8000-000000000000"
# Somebody of the tenant, who may register, with the records of everybody but not this one; and one with another purpose.
OUTSIDERS = {
    "no grant": (Caller(TENANT, "somebody", frozenset({Role.PRODUCER}), "maintenance"), ["principal:tech-17"]),
    "another purpose": (Caller(TENANT, "tech-17", frozenset({Role.PRODUCER}), "audit"), ["role:producer"]),
}


@pytest.fixture(params=sorted(OUTSIDERS))
def outsider(room, request):
    """A caller, a record that is hidden from that caller, and one of the caller's own."""
    caller, permissions = OUTSIDERS[request.param]
    acting = type(room)(room.application, caller)
    hidden = room.one(record("hidden", permissions=permissions, purpose=["maintenance"]))
    own = acting.one(record("own", permissions=["role:producer"], purpose=["maintenance", "audit"]))
    with pytest.raises(NotFound):
        read_record(room.application.database, caller, hidden)
    return acting, hidden, own


def told(call, identity):
    """The refusal of a call, with the id that it was about left out."""
    with pytest.raises(Refused) as refused:
        call(identity)
    details = {key: "ID" if value == identity else value for key, value in refused.value.details.items()}
    return type(refused.value), str(refused.value), refused.value.code, details


@pytest.mark.parametrize("edge", [EdgeType.CONTRADICTS, EdgeType.VERIFIES])
@pytest.mark.parametrize("outwards", [True, False], ids=["from it", "to it"])
def test_a_relation_with_it_is_refused_as_with_nothing(outsider, edge, outwards):
    acting, hidden, own = outsider

    def draw(identity):
        ends = (identity, own) if outwards else (own, identity)
        relate(acting.application.database, acting.application.policy, acting.caller, Relation(ends[0], edge, ends[1]))

    answer = told(draw, hidden)
    assert answer == told(draw, UNKNOWN)
    assert answer[2] == "NOT_FOUND"
    drawn = acting.cypher("MATCH (:Identity)-[e:CONTRADICTS|VERIFIES]->() RETURN count(e) AS edges")
    assert drawn[0].number("edges") == 0


def verdict(acting, stated):
    result = acting.all(stated)[0]
    return result.status.value, result.code


@pytest.mark.parametrize("permissions", [["role:producer"], ["principal:tech-17"]], ids=["wide", "narrow"])
@pytest.mark.parametrize("by_name", [True, False])
def test_what_is_made_of_it_is_refused_as_if_of_nothing(outsider, permissions, by_name):
    acting, hidden, _ = outsider
    more = {"permissions": permissions, "purpose": ["maintenance", "audit"]}
    names = {"name": "hidden"}, {"name": "no such name"}
    ids = {"recordId": hidden}, {"recordId": UNKNOWN}
    verdicts = [
        verdict(acting, derived(f"made {number}", sources=[{**source, "edge": "SUMMARIZED_FROM"}], **more))
        for number, source in enumerate(names if by_name else ids)
    ]
    assert verdicts == [("refused", "SOURCE_NOT_FOUND")] * 2


def test_a_version_after_it_is_refused_as_after_nothing(outsider):
    acting, hidden, _ = outsider
    verdicts = [
        verdict(acting, record(f"next {older}", supersedes=older, permissions=["role:producer"]))
        for older in (hidden, UNKNOWN)
    ]
    assert verdicts == [("refused", "SOURCE_NOT_FOUND")] * 2


def test_who_may_see_it_may_join_it_and_make_something_of_it(room):
    one, two = room.many(record("one"), record("two"))
    relate(room.application.database, room.application.policy, room.caller, Relation(one, EdgeType.CONTRADICTS, two))
    assert room.read(one).envelope["conflicts"] == [two]
    assert room.verdicts(derived("made", "one"), record("next", supersedes=two)) == [("created", None)] * 2
