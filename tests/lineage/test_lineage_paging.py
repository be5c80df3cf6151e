"""Pages: complete, free of duplicates while others write, filtered before they are cut, and bound to their selection."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import replace

import pytest

from graph.errors import InvalidInput
from graph.lineage.model import Direction, LineagePage
from graph.vocabulary import EdgeType, ReasonCode, Role
from tests.support.graphs import chain

DOWN, UP, BOTH = Direction.DOWNSTREAM, Direction.UPSTREAM, Direction.BOTH


def pages(lineage, caller, identity, *, after_page=lambda: None, **asked) -> list[LineagePage]:
    found = [lineage.walk(caller, identity, **asked)]
    while found[-1].next_cursor is not None:
        after_page()
        found.append(lineage.walk(caller, identity, cursor=found[-1].next_cursor, **asked))
    return found


def identities(found: list[LineagePage]) -> list[str]:
    return [item.identity for page in found for item in page.items]


def test_l10_three_pages_of_two_hundred_and_fifty(lineage, graphs, caller):
    graphs.hub("hub", 250)
    found = pages(lineage, caller, "hub", direction=DOWN, page_size=100)
    assert [len(page.items) for page in found] == [100, 100, 50]
    assert set(identities(found)) == {f"hub-{number}" for number in range(1, 251)}
    assert [(page.receipt.more_follow, page.receipt.complete) for page in found] == [
        (True, False),
        (True, False),
        (False, True),
    ]
    assert {page.receipt.nodes_visited for page in found} == {250}


def test_a_page_that_is_exactly_full_is_the_last(lineage, graphs, caller):
    graphs.hub("hub", 20)
    found = pages(lineage, caller, "hub", direction=DOWN, page_size=10)
    assert [len(page.items) for page in found] == [10, 10]


def test_l10_a_child_that_comes_between_two_pages_moves_nothing(lineage, graphs, caller):
    graphs.hub("hub", 250)
    numbers = iter(range(100))

    def insert():
        number = next(numbers)
        graphs.load(
            [
                (f"0-early-{number}", "CACHED_FROM", f"0-elsewhere-{number}"),
                (f"zz-late-{number}", "CACHED_FROM", f"zz-elsewhere-{number}"),
            ]
        )
        graphs.edges([(f"0-early-{number}", "CACHED_FROM", "hub"), (f"zz-late-{number}", "CACHED_FROM", "hub")])

    found = identities(pages(lineage, caller, "hub", direction=DOWN, page_size=100, after_page=insert))
    assert len(found) == len(set(found))
    assert set(found) - {f"hub-{number}" for number in range(1, 251)} == {"zz-late-0", "zz-late-1"}
    assert {f"hub-{number}" for number in range(1, 251)} <= set(found)


def test_pages_are_whole_while_others_write(lineage, graphs, caller):
    graphs.hub("hub", 600)
    stop, started = threading.Event(), threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            graphs.records([f"hub-{number % 600 + 1}-x{number}"])
            graphs.edges([(f"hub-{number % 600 + 1}-x{number}", "CACHED_FROM", "hub")])
            started.set()
            number += 7

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert started.wait(30)
        found = identities(pages(lineage, caller, "hub", direction=DOWN, page_size=50))
    finally:
        stop.set()
        writer.join()
    assert len(found) == len(set(found))
    assert {f"hub-{number}" for number in range(1, 601)} <= set(found)


def test_l25_the_three_that_are_wanted_are_on_the_first_page(lineage, graphs, caller):
    graphs.hub("hub", 500)
    graphs.records(["z-1", "z-2", "z-3"], kind="dataset")
    graphs.edges([(f"z-{number}", "CACHED_FROM", "hub") for number in (1, 2, 3)])
    page = lineage.walk(caller, "hub", direction=DOWN, page_size=50, kinds={"dataset"})
    assert [item.identity for item in page.items] == ["z-1", "z-2", "z-3"]
    assert page.next_cursor is None
    assert page.receipt.complete
    assert page.receipt.nodes_visited == 503
    assert lineage.counts(caller, "hub", direction=DOWN, kinds={"dataset"}).by_kind == {"dataset": 3}
    assert lineage.counts(caller, "hub", direction=DOWN).by_kind == {"document": 500, "dataset": 3}


def test_a_filter_does_not_stop_the_walk(lineage, graphs, caller):
    graphs.load(chain("c", 3))
    graphs.change("c-3", kind="dataset")
    page = lineage.walk(caller, "c-0", direction=DOWN, kinds={"dataset"})
    assert [(item.identity, item.depth, [step.identity for step in item.via]) for item in page.items] == [
        ("c-3", 3, ["c-2"])
    ]


@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 100])
def test_both_directions_are_paged_one_after_the_other(lineage, graphs, caller, page_size):
    graphs.load(chain("c", 6))
    found = pages(lineage, caller, "c-3", direction=BOTH, page_size=page_size)
    assert [(item.direction, item.identity, item.depth) for page in found for item in page.items] == [
        (DOWN, "c-4", 1),
        (DOWN, "c-5", 2),
        (DOWN, "c-6", 3),
        (UP, "c-0", 3),
        (UP, "c-1", 2),
        (UP, "c-2", 1),
    ]
    assert {page.receipt.nodes_visited for page in found} == {6}


def test_what_goes_away_between_pages_leaves_the_rest_whole(lineage, graphs, caller):
    graphs.hub("hub", 30)
    first = lineage.walk(caller, "hub", direction=DOWN, page_size=10)
    graphs.delete([first.items[-1].identity, first.items[3].identity])
    second = lineage.walk(caller, "hub", direction=DOWN, page_size=20, cursor=first.next_cursor)
    assert len(second.items) == 20
    assert set(identities([first, second])) == {f"hub-{number}" for number in range(1, 31)}


@pytest.fixture
def cursor(lineage, graphs, caller) -> str:
    graphs.load(chain("c", 6))
    found = lineage.walk(caller, "c-0", direction=DOWN, page_size=2).next_cursor
    assert found is not None
    return found


def refused(lineage, caller, cursor, identity="c-0", **asked):
    with pytest.raises(InvalidInput) as caught:
        lineage.walk(caller, identity, cursor=cursor, **{"direction": DOWN, **asked})
    assert caught.value.code is ReasonCode.CURSOR_INVALID


@pytest.mark.parametrize(
    "asked",
    [
        {"identity": "c-1"},
        {"direction": UP},
        {"direction": BOTH},
        {"depth_max": 3},
        {"edge_types": {EdgeType.SUMMARIZED_FROM}},
        {"kinds": {"document"}},
        {"include_deleted": True},
    ],
)
def test_a_cursor_serves_its_own_selection_alone(lineage, caller, cursor, asked):
    refused(lineage, caller, cursor, **asked)
    assert len(lineage.walk(caller, "c-0", direction=DOWN, page_size=4, cursor=cursor).items) == 4


@pytest.mark.parametrize(
    "change",
    [{"roles": frozenset({Role.PRODUCER})}, {"principal_id": "tech-18"}, {"shared_scopes": frozenset()}],
)
def test_a_cursor_serves_a_caller_who_sees_the_same(lineage, caller, cursor, change):
    refused(lineage, replace(caller, **change), cursor)


def test_a_cursor_that_was_tampered_with_is_refused(lineage, caller, cursor):
    check, direction, identity = json.loads(base64.urlsafe_b64decode(cursor))
    assert (direction, identity) == ("downstream", "c-2")

    def encoded(body) -> str:
        return base64.urlsafe_b64encode(json.dumps(body).encode()).decode()

    forged = [
        encoded([check, direction, "c-4"]),
        encoded([check, "upstream", identity]),
        encoded([check[::-1], direction, identity]),
        encoded([check, direction]),
        encoded([check, direction, 2]),
        encoded([check, direction, [identity]]),
        encoded({"check": check}),
        encoded(None),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        cursor[:-5],
        cursor + "A",
        "",
        "%%%",
        "ä",
        "\ud800",
    ]
    for one in forged:
        refused(lineage, caller, one)
    for place in range(len(cursor)):
        refused(lineage, caller, cursor[:place] + ("B" if cursor[place] == "A" else "A") + cursor[place + 1 :])
