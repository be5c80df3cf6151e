"""Several records in one call, the same call again, and calls at the same moment."""

from __future__ import annotations

import random
import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from pydantic import ValidationError

import graph.envelope
import graph.records
from graph.database.database import ConstraintViolated
from graph.envelope import RecordInput
from graph.records.model import RegisterStatus
from tests.support.deletion import hold
from tests.support.records import derived, record, stated

TREE = [record("root"), derived("a", "root"), derived("b", "root"), derived("c", "a", "b"), derived("d", "c", "root")]


@pytest.mark.parametrize("seed", range(4))
def test_records_of_one_call_name_one_another_in_any_order(room, seed):
    shuffled = random.Random(seed).sample(TREE, k=len(TREE))
    results = room.all(*shuffled)
    assert [result.status for result in results] == ["created"] * 5
    keys = room.application.keys
    assert [result.identity for result in results] == [keys.identity("tenant-a", str(item.name)) for item in shuffled]


def test_the_first_of_two_with_one_name_counts(room):
    room.one(record("other"))
    waits = [derived("r", "late", content=1), record("r", content=2), record("late")]
    same = [record("s", content=1), record("s", content=1), record("s", content=2)]
    assert room.verdicts(*waits, *same) == [
        ("created", None),
        ("refused", "RECORD_IMMUTABLE"),
        ("created", None),
        ("created", None),
        ("unchanged", None),
        ("refused", "RECORD_IMMUTABLE"),
    ]
    assert room.content(room.application.keys.identity("tenant-a", "r")) == 1


def test_what_hangs_on_a_refused_record_has_its_own_refusal(room):
    results = room.all(
        record("bad", kind="no_such_kind"),
        record("held", ownerId=None),
        derived("of bad", "bad"),
        derived("of held", "held"),
        derived("of of bad", "of bad"),
        record("good"),
    )
    assert [(result.status, result.code) for result in results] == [
        ("refused", "UNKNOWN_KIND"),
        ("quarantined", "MISSING_OWNER"),
        ("refused", "SOURCE_NOT_FOUND"),
        ("refused", "QUARANTINED_RECORD"),
        ("refused", "SOURCE_NOT_FOUND"),
        ("created", None),
    ]
    assert results[4].details["sourceId"] == results[2].identity


def test_each_cycle_of_a_call_is_named_and_the_rest_goes_through(room):
    results = room.all(
        derived("a", "b"),
        derived("b", "c"),
        derived("c", "a"),
        derived("x", "y"),
        derived("y", "x"),
        derived("self", "self"),
        derived("on a cycle", "a"),
        record("apart"),
    )
    codes = [result.code for result in results]
    assert codes == ["DERIVATION_CYCLE"] * 6 + ["SOURCE_NOT_FOUND", None]
    a, b, c, x, y, own, *_ = [result.identity for result in results]
    cycles = [result.details["cycle"] for result in results[:6]]
    assert [set(cycle) for cycle in cycles] == [{a, b, c}] * 3 + [{x, y}] * 2 + [{own}]
    following = dict(zip([a, b, c, x, y, own], [b, c, a, y, x, own], strict=True))
    for cycle in cycles:
        assert cycle[0] == cycle[-1]
        assert [following[step] for step in cycle[:-1]] == cycle[1:]
    assert room.cypher("MATCH (n:Record) RETURN count(n) AS records")[0].number("records") == 1


@pytest.mark.parametrize("together", [True, False])
def test_a_version_has_one_successor(room, together):
    older = room.one(record("v1"))
    rivals = [record(f"v2/{number}", supersedes=older) for number in range(4)]
    verdicts = room.verdicts(*rivals) if together else [room.verdict(rival) for rival in rivals]
    assert verdicts == [("created", None), *[("refused", "SUPERSESSION_FORK")] * 3]


@pytest.mark.parametrize("first_waits_for", ["another", "its rival"])
def test_the_first_of_two_rivals_wins_though_it_has_to_wait(room, first_waits_for):
    """Found by the state machine: what hangs on more of the call came later, and lost to a rival behind it."""
    older = room.one(record("v1"))
    first = derived("first", "second" if first_waits_for == "its rival" else "b", supersedes=older)
    call = [first, derived("b", "a"), derived("second", "a", supersedes=older), record("a")]
    refused = ("refused", "SUPERSESSION_FORK")
    right = [("created", None), ("created", None), refused, ("created", None)]
    if first_waits_for == "its rival":
        right[0], right[2] = refused, ("created", None)
    assert room.verdicts(*call) == right


def test_versions_of_one_call_form_a_chain(room):
    one = room.one(record("v1"))
    two = room.application.keys.identity("tenant-a", "v2")
    three = room.application.keys.identity("tenant-a", "v3")
    chain = [record("v4", supersedes=three), record("v3", supersedes=two), record("v2", supersedes=one)]
    identities = room.many(*chain)
    assert [room.read(identity).envelope["version"] for identity in (one, *reversed(identities))] == [1, 2, 3, 4]


def test_a_version_is_of_the_kind_of_the_one_before(room):
    older = room.one(record("v1"))
    other_kind = record("v2", kind="dataset", supersedes=older)
    missing = record("v2", supersedes="00000000-0000-8000-8000-000000000000")
    assert room.verdicts(other_kind, missing) == [
        ("refused", "EDGE_ENDS_NOT_ALLOWED"),
        ("refused", "SOURCE_NOT_FOUND"),
    ]


def test_the_same_call_again_changes_nothing(room):
    first, again = room.all(*TREE), room.all(*TREE)
    assert [result.status for result in (*first, *again)] == ["created"] * 5 + ["unchanged"] * 5
    assert [result.identity for result in first] == [result.identity for result in again]
    counts = room.cypher("MATCH (n) WHERE n:Record OR n:Operation RETURN count(n) AS nodes, COUNT { ()-->() } AS edges")
    assert counts[0].number("nodes") == 10
    # Six derivations, each used by its operation as well, and an operation for each record.
    assert counts[0].number("edges") == 6 + 6 + 5


@pytest.mark.parametrize(
    "changes",
    [
        {"content": 2},
        {"ownerId": "domain-owner"},
        {"trust": "authoritative_for_field"},
        {"sources": [{"name": "root", "edge": "OBSERVED_FROM"}]},
        {"stores": [{"storeId": "files", "locator": "x"}]},
        {"operation": {"type": "import"}},
        {"ownerId": None},
    ],
)
def test_anything_else_under_the_same_name_is_refused(room, changes):
    room.many(record("root"), record("r", content=1))
    assert room.verdict(record("r", **{"content": 1, **changes})) == ("refused", "RECORD_IMMUTABLE")


def test_the_order_of_sources_and_how_they_are_named_make_no_difference(room):
    ids = room.many(record("one"), record("two"))
    by_name = [{"name": name, "edge": "SUMMARIZED_FROM"} for name in ("one", "two")]
    by_id = [{"recordId": identity, "edge": "SUMMARIZED_FROM"} for identity in reversed(ids)]
    twice = [*by_name, *by_id]
    verdicts = room.verdicts(*(derived("r", sources=sources) for sources in (by_name, by_id, twice)))
    assert verdicts == [("created", None), ("unchanged", None), ("unchanged", None)]


def test_a_repeat_of_what_is_in_quarantine_says_so_again(room):
    first, again = (room.all(record("r", ownerId=None))[0] for _ in range(2))
    assert (first.status, again.status) == (RegisterStatus.QUARANTINED, RegisterStatus.UNCHANGED)
    assert (first.code, first.details) == (again.code, again.details)


def test_a_record_without_a_name_is_met_by_its_key(room):
    nameless = record(None, content=1)
    first = room.all(nameless, nameless, nameless, repeat_keys=["k1", "k2"])
    again = room.all(nameless, record(None, content=2), nameless, repeat_keys=["k1", "k2"])
    assert [result.status for result in first] == ["created"] * 3
    assert [result.status for result in again] == ["unchanged", "refused", "created"]
    assert again[1].code == "RECORD_IMMUTABLE"
    assert len({result.identity for result in (*first, *again)}) == 4


def test_no_name_meets_a_record_without_one(room):
    room.all(record(None, content=1), repeat_keys=["k1"])
    for scope in ("\x1frepeat", "repeatKey", ""):
        assert room.verdict(record("k1", scope=scope)) == ("created", None)


@pytest.mark.req("TMB-07")
def test_an_identity_carries_nothing_of_the_record(room):
    room.one(record("root"))
    named = room.many(record("ana@example.com", content="secret"), record("ana@example.org", content="secret"))
    nameless = [room.all(record(None, content="secret"))[0].identity for _ in range(2)]
    versions = [uuid.UUID(identity).version for identity in (*named, *nameless)]
    assert versions == [8, 8, 7, 7]
    assert len({*named, *nameless}) == 4
    other_keys = type(room.application.keys)(b"q" * 32)
    assert other_keys.identity("tenant-a", "ana@example.com") != named[0]
    for chosen in ("ana-example-com", named[0]):
        with pytest.raises(ValidationError, match="extra_forbidden"):
            RecordInput.model_validate(stated("r", recordId=chosen))


@pytest.mark.req("TMB-04", "TMB-09")
def test_what_was_deleted_does_not_come_back(room):
    export = [record("one"), record("two"), derived("summary", "one")]
    one, two, summary = room.many(*export)
    assert room.delete(recordIds=[one]) == "COMPLETED"
    results = room.all(*export)
    assert [(result.status, result.code, result.identity) for result in results] == [
        ("refused", "TOMBSTONE_BLOCKED", one),
        ("unchanged", None, two),
        ("refused", "TOMBSTONE_BLOCKED", summary),
    ]
    retold = record("retold", sources=[{"recordId": summary, "edge": "OBSERVED_FROM"}])
    held = record("held", sources=[{"recordId": one, "edge": "OBSERVED_FROM"}], ownerId=None)
    newer = record("newer", supersedes=one)
    assert room.verdicts(retold, held, newer) == [("refused", "TOMBSTONE_BLOCKED")] * 3
    for identity in (one, summary):
        with pytest.raises(ConstraintViolated):
            room.cypher("CREATE (:Identity:Record {identity: $id})", id=identity)


def test_what_was_deleted_but_for_a_hold_is_not_there_to_be_told_again(room):
    told = record("r", content=1)
    hold(room.application, room.caller, room.one(told))
    assert room.verdict(told) == ("unchanged", None)
    assert room.delete(names=[{"name": "r"}]) == "COMPLETED_WITH_EXCEPTIONS"
    assert room.verdicts(told, record("r", content=2)) == [("refused", "HOLD_ACTIVE")] * 2


def at_once(room, *calls):
    """The verdicts of calls that start at the same moment."""
    barrier = Barrier(len(calls), timeout=60)

    def call(records):
        barrier.wait()
        return room.all(*records)

    with ThreadPoolExecutor(len(calls)) as pool:
        return [result for results in pool.map(call, calls) for result in results]


def test_fifty_at_once_add_fifty_derivatives(room):
    parent = room.one(record("parent"))
    results = at_once(room, *([derived(f"child {number}", "parent")] for number in range(50)))
    assert [result.status for result in results] == ["created"] * 50
    edges = room.cypher(
        "MATCH (n:Identity {identity: $id})<-[e:SUMMARIZED_FROM]-() RETURN count(e) AS edges", id=parent
    )
    assert edges[0].number("edges") == 50
    assert len(room.read(parent).envelope["downstreamRefs"]) == 50


def test_twenty_at_once_make_one_successor(room):
    older = room.one(record("v1"))
    results = at_once(room, *([record(f"v2/{number}", supersedes=older)] for number in range(20)))
    assert sorted((result.status, str(result.code)) for result in results) == [
        ("created", "None"),
        *[("refused", "SUPERSESSION_FORK")] * 19,
    ]


def test_twenty_at_once_make_one_record_of_one_name(room):
    room.one(record("parent"))
    results = at_once(room, *([derived("r", "parent", content=1)] for _ in range(20)))
    # The answer to a commit may be lost and the repeat finds the record there, so at most one says `created`.
    statuses = sorted(result.status for result in results)
    assert statuses in (["created", *["unchanged"] * 19], ["unchanged"] * 20)
    assert len({result.identity for result in results}) == 1
    edges = room.cypher("MATCH ()-[e:SUMMARIZED_FROM]->() RETURN count(e) AS edges")
    assert edges[0].number("edges") == 1


def test_two_rivals_for_one_name_leave_one_whole_record(room):
    results = at_once(room, *([record("r", content=number)] for number in range(12)))
    assert sorted((result.status, str(result.code)) for result in results) == [
        ("created", "None"),
        *[("refused", "RECORD_IMMUTABLE")] * 11,
    ]
    winner = next(number for number, result in enumerate(results) if result.status == "created")
    assert room.content(results[winner].identity) == winner


def test_what_keeps_changing_is_given_up_with_a_code(room, monkeypatch):
    write = room.application.database.write

    def losing(name, /, **params):
        if name == "create_records":
            raise ConstraintViolated
        return write(name, **params)

    monkeypatch.setattr(room.application.database, "write", losing)
    assert room.verdict(record("r")) == ("refused", "STATE_CONFLICT")


def test_every_status_and_code_of_the_room_stands_in_these_tests():
    """What the room can answer, told from its source, is somewhere expected of it."""
    sources = [Path(graph.envelope.__file__), *Path(graph.records.__file__).parent.glob("*.py")]
    codes = {
        code for path in sources for code in re.findall(r"ReasonCode\.([A-Z_]+)", path.read_text(encoding="utf-8"))
    }
    tests = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert {word for word in {*codes, *RegisterStatus} if f'"{word}' not in tests} == set()
    assert codes >= {"AUTHORITY_CLAIM", "CLASS_MOVEMENT_FORBIDDEN", "UNKNOWN_EDGE_TYPE"}
