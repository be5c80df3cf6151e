"""When a request has ended: all outcomes there, read back, and every failure somebody's."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.access import Caller
from graph.database.catalogue import Catalogue, Query
from graph.database.database import Database
from graph.deletion.model import RequestView
from graph.deletion.rules import terminal_state
from graph.vocabulary import DeletionState
from service.bootstrap import Application
from tests.support.deletion import (
    by_ids,
    delete,
    everything,
    family,
    faulty,
    files_of,
    fresh_key,
    hold,
    labels_of,
    outcomes_of,
    register,
    tombstones,
    unavailable,
    with_copy,
    work,
)
from tests.support.records import derived, record

FIVE = ("deleted", "invalidated", "not_found", "retained_under_exception", "failed")
# What one outcome can be: without an answer, answered, failed and still being tried, failed and owned.
ONE = st.sampled_from(["none", "deleted", "invalidated", "not_found", "retained_under_exception", "unowned", "owned"])


def _view(outcomes: list[str]) -> RequestView:
    counts = {name: outcomes.count(name) for name in FIVE}
    counts["failed"] = outcomes.count("unowned") + outcomes.count("owned")
    return RequestView(
        request_id="q",
        tenant_id="t",
        state=DeletionState.PROPAGATING,
        scope=("a",),
        reason_code="PRINCIPAL_REQUEST",
        policy_id="p",
        received_at=0,
        finished_at=None,
        counts=counts,
        pending=outcomes.count("none") + outcomes.count("unowned"),
        owned_failures=outcomes.count("owned"),
    )


@pytest.mark.req("DEL-07", "EXC-04")
@given(st.lists(ONE, max_size=12))
@settings(max_examples=1_000, deadline=None)
def test_a_request_has_ended_exactly_if_all_is_answered_and_every_failure_is_owned(outcomes: list[str]):
    state = terminal_state(_view(outcomes))
    assert (state is not None) == ("none" not in outcomes and "unowned" not in outcomes)
    if state is None:
        return
    assert (state == "CLOSED_WITH_OWNED_FAILURES") == ("owned" in outcomes)
    assert (state == "COMPLETED") == (not {"owned", "retained_under_exception"} & set(outcomes))
    complete = replace(_view(outcomes), state=state).complete
    assert complete == ("owned" not in outcomes)


@pytest.mark.req("DEL-07", "EXC-04")
def test_a_failure_that_is_neither_owned_nor_waiting_ends_nothing():
    view = _view(["deleted"])
    assert terminal_state(replace(view, counts=view.counts | {"failed": 1})) is None


@pytest.mark.req("DEL-07", "DEL-09", "DEL-10", "DEL-17", "FIX-6-06")
@pytest.mark.parametrize(
    ("ways", "state"),
    [
        (("gone", "absent"), "COMPLETED"),
        (("gone", "held"), "COMPLETED_WITH_EXCEPTIONS"),
        (("gone", "ownerless"), "CLOSED_WITH_OWNED_FAILURES"),
        (("held", "ownerless"), "CLOSED_WITH_OWNED_FAILURES"),
        (("gone", "down"), "RETRYING"),
        (("held", "down"), "RETRYING"),
        (("ownerless", "down"), "RETRYING"),
        (("gone", "held", "ownerless", "absent", "down"), "RETRYING"),
        (("gone", "held", "ownerless", "absent"), "CLOSED_WITH_OWNED_FAILURES"),
    ],
    ids="-".join,
)
def test_in_the_graph_the_worst_of_the_derivatives_decides(application: Application, caller: Caller, ways, state):
    (root,) = register(application, caller, record("r"))
    for way in ways:
        stores = [{"storeId": "vector_index" if way == "ownerless" else "files", "locator": f"{way}.bin"}]
        (identity,) = register(application, caller, derived(way, "r", stores=stores))
        if way != "absent":
            files_of(application).write(f"{way}.bin", b"a copy")
        if way == "held":
            hold(application, caller, identity)

    def fault(locator: str) -> object:
        return unavailable(locator) if locator == "down.bin" else files_of(application).remove(locator)

    request_id = delete(application, caller, root).request_id
    broken, _ = faulty(application, fault)
    work(broken)
    view = application.deletions.view(request_id, caller)
    assert view.state == state
    assert view.complete == state.startswith("COMPLETED")
    assert view.counts["failed"] == ("ownerless" in ways) + ("down" in ways)
    assert view.counts["not_found"] == ("absent" in ways)
    assert view.counts["retained_under_exception"] == 2 * ("held" in ways)
    owned = [
        item for item in outcomes_of(application, caller, request_id) if item.outcome == "failed" and item.owner_id
    ]
    assert len(owned) == view.owned_failures == ("ownerless" in ways)


def _with_query(application: Application, name: str, old: str, new: str) -> Application:
    """The same application with one query's text changed in a private copy of the catalogue."""
    real = application.database
    queries: dict[str, Query] = {query.name: query for query in real.catalogue.queries}
    assert old in queries[name].text
    queries[name] = replace(queries[name], text=queries[name].text.replace(old, new))
    return replace(application, database=Database(real._driver, Catalogue(queries), real._retry))


@pytest.mark.req("VER-04", "DEL-14")
def test_without_the_verifier_no_request_is_ever_complete(application: Application, caller: Caller, clock):
    """A write that succeeded is no evidence: with the reading back switched off nothing ends."""
    (r,) = register(application, caller, record("r"))
    blind = _with_query(application, "mark_outcomes_verified", "SET q.verifiedAt = $at\n", "")
    filed = blind.deletions.file(by_ids(r), caller, fresh_key())
    for _ in range(3):
        clock.advance(60)
        work(blind)
        view = blind.deletions.advance(filed.request_id)
        assert not view.complete
        assert view.state == "PROPAGATING"
    assert tombstones(application.database) == {r}
    work(application)
    assert application.deletions.view(filed.request_id, caller).state == "COMPLETED"


@pytest.mark.req("VER-04", "VER-03")
def test_a_reading_of_another_instant_does_not_count(application: Application, caller: Caller, clock):
    (r,) = register(application, caller, with_copy("r"))
    filed = application.deletions.file(by_ids(r), caller, fresh_key())
    application.deletions.advance(filed.request_id)
    application.database.administer("MATCH (q:Request) SET q.verifiedAt = $now", now=clock.now())
    clock.advance(1)
    blind = _with_query(application, "mark_outcomes_verified", "SET q.verifiedAt = $at\n", "")
    work(blind)
    assert not application.deletions.view(filed.request_id, caller).complete


def _tampered(application: Application, caller: Caller, tamper: str) -> tuple[str, dict[str, str]]:
    """A deletion whose graph part is settled and whose request still waits for a copy; then somebody writes past us."""
    a, b, root = register(application, caller, record("a"), record("b"), with_copy("root"))
    (shell,) = register(application, caller, derived("shell", "root", "a", content="old text"))
    view = delete(application, caller, root)
    assert view.state == "PROPAGATING"
    application.database.administer(tamper, root=root, shell=shell)
    work(application)
    return view.request_id, {"a": a, "b": b, "root": root, "shell": shell}


TAMPERINGS = {
    "content on the tombstone": "MATCH (n:Identity {identity: $root}) SET n.content = 'Old-Text-Again'",
    "a record again": "MATCH (n:Identity {identity: $root}) SET n:Record, n.content = 'Old-Text-Again' REMOVE n:Tombstone",
    "both labels": "MATCH (n:Identity {identity: $root}) SET n:Record",
    "content in the shell": "MATCH (n:Identity {identity: $shell}) SET n.content = 'Old-Text-Again'",
    "the shell serves": "MATCH (n:Identity {identity: $shell}) SET n.state = 'active'",
}


@pytest.mark.req("VER-03", "VER-04", "EXC-04", "DEL-07")
@pytest.mark.parametrize("tamper", TAMPERINGS.values(), ids=TAMPERINGS)
def test_what_was_put_back_before_the_end_is_found_and_is_somebodys(application: Application, caller: Caller, tamper):
    request_id, ids = _tampered(application, caller, tamper)
    view = application.deletions.view(request_id, caller)
    assert (view.state, view.complete, view.owned_failures) == ("CLOSED_WITH_OWNED_FAILURES", False, 1)
    (failed,) = [item for item in outcomes_of(application, caller, request_id) if item.outcome == "failed"]
    assert failed.identity == ids["root" if "$root" in tamper else "shell"]
    assert (failed.store, failed.reason, failed.owner_id) == ("graph", "VERIFICATION_FAILED", "platform-owner")
    assert failed.history == ("deleted",) if "$root" in tamper else ("invalidated",)
    (entry,) = application.holds.exceptions(caller).items
    assert (entry.identity, entry.reason, entry.owner_id) == (failed.identity, "VERIFICATION_FAILED", "platform-owner")
    assert "Old-Text-Again" not in application.deletions.receipt(request_id, caller).decode()


@pytest.mark.req("DEL-16", "VER-03")
@pytest.mark.parametrize("tamper", TAMPERINGS.values(), ids=TAMPERINGS)
def test_a_failed_reading_in_the_graph_can_be_retried_like_any_failure(
    application: Application, caller: Caller, clock, tamper
):
    """Filing again meets the same request, so a retry is the only way left to get rid of what came back."""
    request_id, _ = _tampered(application, caller, tamper)
    clock.advance(60)
    application.deletions.retry(request_id, caller)
    work(application)
    application.deletions.advance(request_id)
    assert "Old-Text-Again" not in everything(application.database)
    assert application.deletions.view(request_id, caller).state == "COMPLETED"


@pytest.mark.req("DEL-15")
def test_a_derivative_that_cannot_be_listed_keeps_the_request_open(application: Application, caller: Caller):
    """An operation says that it used the record, and no edge says what came of it."""
    ids = family(application, caller, {"r": (), "s": ("r",)})
    application.database.administer("MATCH ({identity: $s})-[e:SUMMARIZED_FROM]->() DELETE e", s=ids["s"])
    view = delete(application, caller, ids["r"])
    assert (view.state, view.complete, view.reason) == ("PROPAGATING", False, "DOWNSTREAM_NOT_ENUMERABLE")
    assert tombstones(application.database) == {ids["r"]}
    work(application)
    assert not application.deletions.view(view.request_id, caller).complete
    application.database.administer(
        "MATCH (s {identity: $s}), (r {identity: $r}) CREATE (s)-[:SUMMARIZED_FROM]->(r)", s=ids["s"], r=ids["r"]
    )
    work(application)
    ended = application.deletions.view(view.request_id, caller)
    assert (ended.state, ended.reason, ended.counts["deleted"]) == ("COMPLETED", None, 2)
    assert labels_of(application.database, ids["s"]) == ["Identity", "Tombstone"]


@pytest.mark.req("DEL-15")
def test_no_derivatives_at_all_is_a_complete_answer(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    view = delete(application, caller, r)
    assert (view.state, view.reason) == ("COMPLETED", None)


@pytest.mark.req("DEL-19", "DEL-17")
def test_every_receipt_says_where_its_reach_ends(application: Application, caller: Caller):
    (plain, held, failed) = register(
        application,
        caller,
        record("plain"),
        record("held"),
        record("failed", stores=[{"storeId": "vector_index", "locator": "v1"}]),
    )
    hold(application, caller, held)
    for identity, state in (
        (plain, "COMPLETED"),
        (held, "COMPLETED_WITH_EXCEPTIONS"),
        (failed, "CLOSED_WITH_OWNED_FAILURES"),
    ):
        view = delete(application, caller, identity)
        receipt = json.loads(application.deletions.receipt(view.request_id, caller))
        assert receipt["state"] == view.state == state
        assert receipt["complete"] == (state != "CLOSED_WITH_OWNED_FAILURES")
        assert "no proof of erasure anywhere else" in " ".join(receipt["boundary"].split())
        assert "copies that nobody registered as derivatives" in receipt["storesOutOfBoundary"]
        assert len(receipt["storesOutOfBoundary"]) == 5
        assert receipt["outcomes"] == dict(view.counts)
        assert set(receipt["outcomes"]) == set(FIVE)
        (graph,) = [store for store in receipt["stores"] if store["storeId"] == "graph"]
        assert graph["residue"] == ["neo4j_files"]
        owners = [failure["ownerId"] for failure in receipt["ownedFailures"]]
        assert owners == (["platform-owner"] if identity == failed else [])
