"""Names and sizes: one rule for writing, resolving and deleting, and each limit seen from both sides."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from graph.deletion.model import DeletionInput
from graph.envelope import (
    CONTENT_BYTES_MAX,
    CONTENT_DEPTH_MAX,
    LIST_MAX,
    SOURCES_MAX,
    STATE_VERSION_MAX,
    STORES_MAX,
    TEXT_MAX,
    RecordInput,
)
from graph.errors import Oversized, Refused
from graph.records.register import BATCH_ROWS_MAX
from graph.vocabulary import Role
from tests.support.graph import copies
from tests.support.kinds import of_class
from tests.support.records import derived, record, stated

NAMES = [
    "s3://h:9000/x",
    "123",
    "a:b:c",
    "a/b?c#d%2F",
    'it\'s "quoted" `so` \\ and $so {too}',
    "two\nlines\r\nand\ttabs",
    "trailing ",
    "trailing",
    " leading",
    "case",
    "Case",
    "../../etc",
    "MATCH (n) DETACH DELETE n",
    "\u202eright to left",
    "name \N{GRINNING FACE}",
    "x" * 3_000,
    "y" * 4_096,
]
COMPOSED, DECOMPOSED = "\u00c1na@Example.com", "A\u0301na@Example.com"


def test_every_name_is_met_again_exactly(room):
    identities = room.many(*(record(name, content=name) for name in NAMES))
    keys = room.application.keys
    assert len(set(identities)) == len(NAMES)
    assert [keys.identity("tenant-a", name) for name in NAMES] == identities
    assert [room.read(identity).envelope["name"] for identity in identities] == NAMES
    assert [room.content(identity) for identity in identities] == NAMES
    again = room.all(*(record(name, content=name) for name in NAMES))
    assert [(result.status, result.identity) for result in again] == [("unchanged", each) for each in identities]
    children = room.many(*(derived(f"child of {number}", name) for number, name in enumerate(NAMES)))
    shown = [room.read(child).envelope["sources"][0]["recordId"] for child in children]
    assert shown == identities
    assert room.delete(names=[{"name": name} for name in NAMES]) == "COMPLETED"
    left = room.cypher(
        "MATCH (n:Tombstone) WHERE n.identity IN $all RETURN count(n) AS left", all=identities + children
    )
    assert left[0].number("left") == 2 * len(NAMES)


def test_one_name_in_two_spellings_is_one_record(room):
    one = room.one(record(COMPOSED, content=1))
    again = room.all(record(DECOMPOSED, content=1))[0]
    assert (again.status, again.identity) == ("unchanged", one)
    assert room.verdict(record(DECOMPOSED, content=2)) == ("refused", "RECORD_IMMUTABLE")
    child = room.one(derived("child", DECOMPOSED))
    assert room.read(child).envelope["sources"][0]["recordId"] == one
    assert room.verdict(derived("child", COMPOSED)) == ("unchanged", None)
    assert room.delete(names=[{"name": DECOMPOSED}]) == "COMPLETED"
    assert (
        room.verdicts(record(COMPOSED, content=1), record(DECOMPOSED, content=1))
        == [("refused", "TOMBSTONE_BLOCKED")] * 2
    )


def test_what_only_looks_alike_is_another_record(room):
    looks = ["User_42", "user-42", "user_42", "user-42 ", "\u0443ser-42"]
    identities = room.many(*(record(name) for name in looks))
    assert room.delete(names=[{"name": "user-42"}]) == "COMPLETED"
    assert [room.read(identity).eligible for identity in (identities[0], *identities[2:])] == [True] * 4


def test_scopes_keep_names_apart(room):
    one, two = room.many(record("r", scope="left"), record("r", scope="right"))
    near = record("near", scope="left", sources=[{"name": "r", "edge": "OBSERVED_FROM"}])
    far = record("far", scope="left", sources=[{"name": "r", "scope": "right", "edge": "OBSERVED_FROM"}])
    sources = [room.read(identity).envelope["sources"][0]["recordId"] for identity in room.many(near, far)]
    assert (one != two, sources) == (True, [one, two])


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "MALFORMED_INPUT"),
        ("nul\0", "NAME_NOT_ENCODABLE"),
        ("half \ud83d", "NAME_NOT_ENCODABLE"),
        ("z" * 4_097, "LIMIT_EXCEEDED"),
    ],
    ids=["empty", "nul", "half a character", "too long"],
)
def test_a_name_that_breaks_the_rule_is_refused_on_every_path(room, name, code):
    assert room.verdict(record(name)) == ("refused", code)
    assert room.verdict(derived("child", name)) == ("refused", code)
    with pytest.raises(Refused) as told:
        room.application.keys.identity("tenant-a", name)
    assert told.value.code == code
    with pytest.raises(Refused) as told:
        DeletionInput.model_validate({"subject": {"names": [{"name": name}]}})
    assert told.value.code == code


def test_a_name_is_measured_after_composing(room):
    longest = "e\u0301" * 4_096
    assert len(longest) == 8_192
    assert room.verdicts(record(longest), record(longest + "e")) == [("created", None), ("refused", "LIMIT_EXCEEDED")]


@pytest.mark.parametrize("field", ["principalId", "supersedes", "taskId"])
def test_a_field_cannot_hold_nul(room, field):
    result = room.all(record("r", **{field: "a\0b"}))[0]
    assert (result.status, result.code, result.details["field"]) == ("refused", "NAME_NOT_ENCODABLE", field)


def test_a_locator_is_kept_as_it_is(room):
    place = f"folder/{DECOMPOSED}"
    room.one(record("r", stores=[{"storeId": "files", "locator": place}]))
    rows = room.cypher("MATCH (:Record)-[e:STORED_IN]->(s:Store) RETURN e.locator AS locator, s.storeId AS store")
    assert [(row.text("locator"), row.text("store")) for row in rows] == [(f"tenant-a/{place}", "files")]
    unknown = record("s", stores=[{"storeId": "no-such-store", "locator": "x"}])
    unencodable = record("s", stores=[{"storeId": "files", "locator": "a\0"}])
    assert room.verdicts(unknown, unencodable) == [("refused", "STORE_UNREGISTERED"), ("refused", "NAME_NOT_ENCODABLE")]


# Limit, what is as large as it allows, and what is one too many.
TEXT_LIMITS = [
    ("taskId", "t" * TEXT_MAX, "t" * (TEXT_MAX + 1)),
    ("scope", "s" * TEXT_MAX, "s" * (TEXT_MAX + 1)),
    ("permissions", [f"role:{n}" for n in range(LIST_MAX)], [f"role:{n}" for n in range(LIST_MAX + 1)]),
    ("permissions", ["r" * TEXT_MAX], ["r" * (TEXT_MAX + 1)]),
    (
        "stores",
        [{"storeId": "files", "locator": f"{n}"} for n in range(STORES_MAX)],
        [{"storeId": "files", "locator": f"{n}"} for n in range(STORES_MAX + 1)],
    ),
    (
        "stores",
        [{"storeId": "files", "locator": "l" * 4_096}],
        [{"storeId": "files", "locator": "l" * 4_097}],
    ),
    ("operation", {"type": "import", "operationId": "o" * 512}, {"type": "import", "operationId": "o" * 513}),
]


@pytest.mark.parametrize(("field", "most", "more"), TEXT_LIMITS, ids=range(len(TEXT_LIMITS)))
def test_the_form_has_limits(room, field, most, more):
    room.one(record("r", **{field: most}))
    with pytest.raises(ValidationError):
        RecordInput.model_validate(stated("r", **{field: more}))


def test_a_state_version_has_a_limit(room):
    room.one(of_class("r", "workflow_state", stateVersion=STATE_VERSION_MAX))
    for wrong in (STATE_VERSION_MAX + 1, 10**5_000, -1):
        with pytest.raises(ValidationError):
            of_class("r", "workflow_state", stateVersion=wrong)


def nested(depth: int) -> object:
    content: object = "the bottom"
    for level in range(depth):
        content = [content] if level % 2 else {"in": content}
    return content


def test_content_has_a_depth(room):
    identity = room.one(record("r", content=nested(CONTENT_DEPTH_MAX)))
    assert room.content(identity) == nested(CONTENT_DEPTH_MAX)
    for depth in (CONTENT_DEPTH_MAX + 1, 300, 100_000):
        with pytest.raises(Oversized) as told:
            record("r", content=nested(depth))
        assert (told.value.code, told.value.details) == ("LIMIT_EXCEEDED", {"limit": "CONTENT_DEPTH_MAX", "max": 64})


@pytest.mark.parametrize("filling", ["a", "\u00e9", "\N{GRINNING FACE}"])
def test_content_has_a_size_in_bytes(room, filling):
    width = len(filling.encode())
    most = filling * ((CONTENT_BYTES_MAX - 2) // width)
    verdicts = room.verdicts(record("most", content=most), record("more", content=most + filling))
    assert verdicts == [("created", None), ("refused", "LIMIT_EXCEEDED")]


CONTENTS = [
    None,
    True,
    0,
    12_345_678_901_234_567_890,
    -(10**4_000),
    1.5e300,
    "",
    "a\0b \u00e9 \N{GRINNING FACE} \u2028",
    [],
    {"b": 1, "a": [None, {"": "empty key"}]},
]


def test_content_comes_back_as_it_was(room):
    identities = room.many(*(record(f"r{n}", content=content) for n, content in enumerate(CONTENTS)))
    assert [room.content(identity) for identity in identities] == CONTENTS
    assert list(room.content(identities[-1])) == ["b", "a"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (math.nan, "MALFORMED_INPUT"),
        ([math.inf], "MALFORMED_INPUT"),
        (10**5_000, "MALFORMED_INPUT"),
        ("half \ud83d", "NAME_NOT_ENCODABLE"),
        ({"half \ud83d": 1}, "NAME_NOT_ENCODABLE"),
    ],
    ids=["nan", "infinity", "endless number", "half a character", "half a character in a key"],
)
def test_content_that_has_no_form_is_refused(room, content, code):
    result = room.all(record("r", content=content))[0]
    assert (result.status, result.code, result.details["field"]) == ("refused", code, "content")


@pytest.mark.parametrize(
    "instant",
    [
        "yesterday",
        "2026-03-02",
        "2026-03-02T09:00:00",
        "0999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
    ],
)
def test_an_instant_that_cannot_be_shown_is_refused(room, instant):
    result = room.all(record("r", observedAt=instant))[0]
    assert (result.status, result.code, result.details["field"]) == ("refused", "MALFORMED_INPUT", "observedAt")


def test_instants_at_both_ends_are_shown(room):
    room.one(record("r", observedAt="1000-01-01T00:00:00Z", expiresAt="9999-12-31T23:59:59.999999Z"))
    envelope = room.read(room.application.keys.identity("tenant-a", "r")).envelope
    assert (envelope["observedAt"], envelope["expiresAt"]) == (
        "1000-01-01T00:00:00.000000Z",
        "9999-12-31T23:59:59.999999Z",
    )


def test_a_record_has_ten_thousand_sources_and_no_more(room):
    parents = copies(room, room.one(record("parent")), SOURCES_MAX)
    sources = [{"recordId": parent, "edge": "INFERRED_FROM"} for parent in parents]
    most = derived("most", sources=sources)
    more = derived("more", sources=[*sources, {"name": "parent", "edge": "INFERRED_FROM"}])
    results = room.all(most, more)
    assert [result.status for result in results] == ["created", "refused"]
    assert (results[1].code, results[1].details["limit"]) == ("LIMIT_EXCEEDED", "SOURCES_MAX")
    drawn = room.cypher("MATCH ()-[e:INFERRED_FROM]->() RETURN count(e) AS edges")
    assert drawn[0].number("edges") == 10_000


def test_a_call_has_a_limit(room):
    with pytest.raises(Oversized) as told:
        room.all(*([record("r")] * (BATCH_ROWS_MAX + 1)))
    assert (told.value.code, told.value.details["limit"]) == ("LIMIT_EXCEEDED", "BATCH_ROWS_MAX")


def test_registering_takes_the_role(room):
    with pytest.raises(Refused) as told:
        room.acting_as(roles=frozenset({Role.REVIEWER, Role.AUDITOR})).all(record("r"))
    assert (told.value.code, told.value.details) == ("ROLE_REQUIRED", {"roles": ["producer"]})
