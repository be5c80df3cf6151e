"""Large and awkward closures: hubs, chains, diamonds, cliques, several deletions at once, and a writer at the tip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import count
from threading import Event
from typing import Any

import pytest

from graph.access import Caller
from graph.deletion.model import RequestView
from graph.propagation import closure as walking
from graph.propagation import settle as settling
from graph.propagation.reach import Reach
from service.bootstrap import Application
from tests.benchmarks.graphs import chain, hub, layers, load_nodes, load_pairs, node, root, tree
from tests.support.deletion import (
    DyingDatabase,
    Killed,
    by_ids,
    closure,
    delete,
    family,
    fresh_key,
    outcomes_of,
    register,
    tombstones,
)
from tests.support.interleaved import interleaved
from tests.support.records import derived, record

HUB = 20_000
GATE_ROUNDS = 4


def _total(application: Application, label: str) -> int:
    return application.database.administer(f"MATCH (n:{label}) RETURN count(n) AS total")[0].number("total")


def _depths(application: Application, caller: Caller, view: RequestView) -> dict[str, int]:
    return {item.identity: item.depth for item in outcomes_of(application, caller, view.request_id, 10_000)}


@pytest.mark.req("DEL-08", "DEL-06")
def test_a_hub_with_many_children_goes_as_a_whole(application: Application, caller: Caller):
    """D30."""
    start = load_pairs(application.database, hub(HUB, "h"), "h")
    view = delete(application, caller, start)
    assert (view.state, view.counts["deleted"]) == ("COMPLETED", HUB + 1)
    assert (_total(application, "Tombstone"), _total(application, "Record")) == (HUB + 1, 0)


@pytest.mark.req("DEL-08")
def test_a_chain_of_a_thousand_goes_to_its_end(application: Application, caller: Caller):
    start = load_pairs(application.database, chain(1_000, "c"), "c")
    view = delete(application, caller, start)
    expected = {start: 0} | {node("c", number): number for number in range(1, 1_001)}
    assert _depths(application, caller, view) == expected


@pytest.mark.req("DEL-08", "DEL-23")
def test_layers_full_of_diamonds_take_each_node_once(application: Application, caller: Caller):
    pairs = list(layers(20, 100, 5, "l"))
    start = load_pairs(application.database, pairs, "l")
    view = delete(application, caller, start)
    expected = closure(pairs, [start])
    assert _depths(application, caller, view) == expected
    assert view.counts["deleted"] == len(expected) > 1_900


@pytest.mark.req("DEL-08")
def test_a_clique_gives_one_outcome_a_node(application: Application, caller: Caller):
    """L46: 50 nodes, 2,450 edges of a followed relation."""
    names = [node("k", number) for number in range(50)]
    load_nodes(application.database, names)
    application.database.administer(
        "MATCH (a:Identity), (b:Identity) WHERE a <> b CREATE (a)-[:PROV_SPECIALIZATION_OF]->(b)"
    )
    view = delete(application, caller, names[0])
    assert _depths(application, caller, view) == {name: min(1, index) for index, name in enumerate(names)}


@pytest.mark.req("DEL-06", "DEL-08")
@pytest.mark.parametrize("children", [10, 11, 100, 101, 10_001])
def test_no_page_is_the_last_one_by_accident(application: Application, caller: Caller, children):
    """D33."""
    start = load_pairs(application.database, hub(children, "p"), "p")
    view = delete(application, caller, start)
    assert view.counts["deleted"] == children + 1
    assert len(outcomes_of(application, caller, view.request_id, 10_000)) == children + 1


def _at_once(application: Application, *requests: str) -> list[RequestView]:
    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(application.deletions.advance, requests))


@pytest.mark.req("DEL-12")
def test_four_deletions_of_one_hub_end_alike(application: Application, caller: Caller):
    """D30: one request, and four workers that carry it at once."""
    start = load_pairs(application.database, hub(1_000, "h"), "h")
    filed = [application.deletions.file(by_ids(start), caller, fresh_key()).request_id for _ in range(4)]
    assert len(set(filed)) == 1
    views = _at_once(application, *filed)
    assert [(view.state, view.counts["deleted"]) for view in views] == [("COMPLETED", 1_001)] * 4
    assert _total(application, "Outcome") == 1_001


@pytest.mark.req("DEL-12", "DEL-08")
def test_four_sources_of_the_same_thousand_are_deleted_at_once(application: Application, caller: Caller):
    names = [node("s", number) for number in range(4)]
    children = [node("d", number) for number in range(1_000)]
    load_nodes(application.database, [*names, *children])
    application.database.administer(
        "MATCH (c:Identity) WHERE c.identity IN $children MATCH (p:Identity) WHERE p.identity IN $names "
        "CREATE (c)-[:SUMMARIZED_FROM]->(p)",
        children=children,
        names=names,
    )
    filed = [application.deletions.file(by_ids(name), caller, fresh_key()).request_id for name in names]
    views = _at_once(application, *filed)
    assert [view.state for view in views] == ["COMPLETED"] * 4
    assert [sum(view.counts.values()) for view in views] == [1_001] * 4
    assert tombstones(application.database) == {*names, *children}


@pytest.mark.req("DEL-12", "DEL-11")
def test_one_large_scope_asked_for_twice_has_one_request_and_one_receipt(application: Application, caller: Caller):
    """D12."""
    names = [node("t", number) for number in range(5_000)]
    load_nodes(application.database, names)

    def ask(_: int) -> tuple[str, bytes]:
        filed = application.deletions.file(by_ids(*names), caller, fresh_key())
        view = application.deletions.advance(filed.request_id)
        assert (view.state, view.counts["deleted"]) == ("COMPLETED", 5_000)
        return view.request_id, application.deletions.receipt(view.request_id, caller)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, range(2))
    assert first == second
    assert _total(application, "Outcome") == 5_000


@pytest.mark.req("DEL-12", "DEL-06")
def test_one_target_that_went_in_between_is_told_by_itself(application: Application, caller: Caller, monkeypatch):
    """L22: 100 outcomes, and another request has made one target a tombstone since the walk."""
    monkeypatch.setattr(settling, "WRITERS", 1)
    start = load_pairs(application.database, hub(99, "b"), "b")
    gone = node("b", 50)
    filed = application.deletions.file(by_ids(start), caller, fresh_key())
    changed, database = interleaved(application, lambda: delete(application, caller, gone))
    database._here = _before_the_second_batch()
    view = changed.deletions.advance(filed.request_id)
    bases = Counter(item.basis for item in outcomes_of(application, caller, view.request_id))
    assert (view.state, view.counts["deleted"]) == ("COMPLETED", 100)
    assert bases == {"settled_by_this_request": 99, "settled_by_another_request": 1}


def _before_the_second_batch() -> Callable[[int, str], bool]:
    batches = count(1)
    return lambda _, name: name == "transact" and next(batches) == 2


@pytest.mark.req("DEL-14", "DEL-03")
def test_progress_is_seen_and_a_killed_run_goes_on_from_what_is_committed(
    application: Application, caller: Caller, monkeypatch
):
    monkeypatch.setattr(settling, "SETTLE_ROWS", 100)
    # One writer: of two, the other one may have settled the rest by the time that this one dies.
    monkeypatch.setattr(settling, "WRITERS", 1)
    start = load_pairs(application.database, tree(600, "g"), "g")
    filed = application.deletions.file(by_ids(start), caller, fresh_key()).request_id
    # The subject's batch and its move, then the walk, the fence and the walk again come first.
    dying: Any = DyingDatabase(application.database, 22, after=True)
    with suppress(Killed):
        replace(application, database=dying).deletions.advance(filed)
    half = application.deletions.view(filed, caller)
    assert half.state == "PROPAGATING"
    assert 1 < half.counts["deleted"] < 601
    told: list[tuple[int, int]] = []
    view = application.deletions.advance(filed, lambda done, total: told.append((done, total)))
    assert (view.state, view.counts["deleted"]) == ("COMPLETED", 601)
    assert told[-1] == (601 - half.counts["deleted"], 601 - half.counts["deleted"])
    assert len(told) > 1
    assert _total(application, "Outcome") == 601


class _OneLinkAhead:
    """The real database; a writer adds a link to its chain after each walk, so that the fence always comes too late."""

    def __init__(self, application: Application, caller: Caller) -> None:
        self._application = application
        self._caller = caller
        self.grown = register(application, caller, record("n0"), derived("n1", "n0"))
        self.refused: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._application.database, name)

    def read(self, name: str, /, **params: Any) -> Any:
        found = self._application.database.read(name, **params)
        if name == "expand_affected" and self.refused is None:
            number = len(self.grown)
            link = derived(f"n{number}", f"n{number - 1}")
            (result,) = self._application.registrar.register([link], self._caller)
            if result.status == "created":
                self.grown.append(result.identity)
            else:
                self.refused = result.code
        return found


@pytest.mark.req("DEL-24", "DEL-08")
def test_a_writer_who_is_always_one_link_ahead_is_stopped(application: Application, caller: Caller, monkeypatch):
    monkeypatch.setattr(walking, "FENCE_ROUNDS_MAX", GATE_ROUNDS)
    ahead: Any = _OneLinkAhead(application, caller)
    types = application.policy.deletion_edges
    found, closed = walking.fence_closure(ahead, "q-1", ahead.grown[:1], types)
    assert closed
    assert set(found) == set(ahead.grown)
    assert ahead.refused == "SOURCE_FENCED"


@pytest.mark.req("DEL-24")
def test_without_the_gate_that_writer_is_never_stopped(application: Application, caller: Caller, monkeypatch):
    """The control of the test above."""
    monkeypatch.setattr(walking, "FENCE_ROUNDS_MAX", GATE_ROUNDS)
    monkeypatch.setattr(
        walking, "_fence_beyond", lambda database, request_id, tip, _: walking.fence(database, request_id, tip)
    )
    ahead: Any = _OneLinkAhead(application, caller)
    _, closed = walking.fence_closure(ahead, "q-1", ahead.grown[:1], application.policy.deletion_edges)
    assert not closed
    assert ahead.refused is None


@pytest.mark.req("DEL-24", "DEL-08")
def test_writers_who_extend_for_ever_are_stopped_and_all_they_wrote_goes(application: Application, caller: Caller):
    names = [f"w{number}" for number in range(3)]
    ids = family(application, caller, {"r": ()} | dict.fromkeys(names, ("r",)))
    started = Event()

    def extend(name: str) -> list[str]:
        grown: list[str] = []
        last = name
        for number in count():
            (result,) = application.registrar.register([derived(f"{name}-{number}", last)], caller)
            if result.status != "created":
                return grown
            grown.append(result.identity)
            last = f"{name}-{number}"
            if number > 2:
                started.set()
        raise AssertionError

    with ThreadPoolExecutor(len(names)) as pool:
        writing = [pool.submit(extend, name) for name in names]
        assert started.wait(60)
        view = delete(application, caller, ids["r"])
        grown = [identity for writer in writing for identity in writer.result(timeout=60)]
    assert view.state == "COMPLETED"
    assert tombstones(application.database) == {*ids.values(), *grown}


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_reach_is_a_mapping_in_order_and_its_pieces_leave_nothing_out(size):
    reach = Reach.of(["b"], [(1, ["c", "a"]), (2, ["b", "d"])])
    assert dict(reach) == {"a": 1, "b": 0, "c": 1, "d": 2}
    assert [dict(piece) for piece in reach.pieces(4)] == [dict(reach)]
    assert {k: v for piece in reach.pieces(size) for k, v in piece.items()} == dict(reach)
    assert dict(reach.without(["b", "d"])) == {"a": 1, "c": 1}
    assert dict(reach.only(["d", "a"])) == {"a": 1, "d": 2}
    assert "aa" not in reach
    assert root("x") not in reach
