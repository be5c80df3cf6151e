"""What an attempt at a copy in a store comes to: only a reading of the store makes an outcome, never an answer alone."""

from __future__ import annotations

import json

import pytest

from graph.access import Caller
from service.bootstrap import Application
from service.connectors.port import StoreUnavailable
from tests.support.deletion import (
    answering,
    by_ids,
    delete,
    family,
    faulty,
    files_of,
    fresh_key,
    outcome_table,
    outcomes_of,
    register,
    unavailable,
    with_copy,
    work,
)
from tests.support.records import record

LOCATOR = "deep/er/copy.bin"


def _deleted_with_copy(application: Application, caller: Caller, *, there: bool = True) -> tuple[str, str]:
    """A deletion of a record with one copy that waits for a worker: (request id, identity)."""
    (identity,) = register(application, caller, with_copy("r", locator=LOCATOR))
    if there:
        files_of(application).write(LOCATOR, b"a copy")
    return delete(application, caller, identity).request_id, identity


def _of_store(application: Application, caller: Caller, request_id: str):
    (found,) = [item for item in outcomes_of(application, caller, request_id) if item.store != "graph"]
    return found


@pytest.mark.req("DEL-01", "DEL-14", "DEL-06", "VER-03")
def test_a_copy_goes_and_only_then_is_the_request_complete(application: Application, caller: Caller):
    request_id, identity = _deleted_with_copy(application, caller)
    running = application.deletions.view(request_id, caller)
    assert (running.state, running.complete, running.pending) == ("PROPAGATING", False, 1)
    assert outcome_table(application, caller, request_id) == {(identity, "graph"): "deleted", (identity, "files"): None}
    assert files_of(application).has(LOCATOR)

    work(application)

    assert not files_of(application).has(LOCATOR)
    found = _of_store(application, caller, request_id)
    assert (found.outcome, found.state, found.basis, found.attempts) == ("deleted", "settled", "store_answer", 1)
    ended = application.deletions.view(request_id, caller)
    assert (ended.state, ended.complete, ended.pending) == ("COMPLETED", True, 0)


@pytest.mark.req("DEL-25")
def test_absent_before_any_attempt_is_not_found(application: Application, caller: Caller):
    request_id, _ = _deleted_with_copy(application, caller, there=False)
    work(application)
    found = _of_store(application, caller, request_id)
    assert (found.outcome, found.basis) == ("not_found", "absent_before_any_attempt")
    view = application.deletions.view(request_id, caller)
    assert view.counts == {
        "deleted": 1,
        "invalidated": 0,
        "not_found": 1,
        "retained_under_exception": 0,
        "failed": 0,
    }


@pytest.mark.req("DEL-25")
def test_absent_after_an_attempt_that_nobody_heard_of_is_deleted(application: Application, caller: Caller):
    request_id, _ = _deleted_with_copy(application, caller)
    ledger = application.work
    (due,), lease = _claimed(application)
    assert ledger.begin(lease, [due])
    files_of(application).remove(LOCATOR)  # the effect happened, and then the worker died

    work(application, lease.holder)

    found = _of_store(application, caller, request_id)
    assert (found.outcome, found.basis, found.attempts) == ("deleted", "absent_after_started_attempt", 2)


def _claimed(application: Application):
    """What is due, with the lease on its shard."""
    for shard in range(application.settings.shards):
        lease = application.work.claim("files", shard, "worker-1")
        assert lease is not None
        due = application.work.due(lease.store_id, lease.shard)
        if due:
            return due, lease
    raise AssertionError("nothing is due")


@pytest.mark.req("DEL-25")
def test_an_effect_whose_answer_was_lost_is_found_done_the_next_time(application: Application, caller: Caller, clock):
    request_id, _ = _deleted_with_copy(application, caller)

    def lost(locator: str) -> object:
        files_of(application).remove(locator)
        raise StoreUnavailable("the connection broke")

    broken, _ = faulty(application, lost)
    work(broken)
    assert _of_store(application, caller, request_id).outcome == "failed"
    clock.advance(5)
    work(application)
    found = _of_store(application, caller, request_id)
    assert (found.outcome, found.basis) == ("deleted", "absent_after_started_attempt")
    assert found.history == ("failed",)


class Surprise(Exception):
    """Something that no connector should raise."""


def _surprise(_locator: str) -> object:
    raise Surprise


@pytest.mark.req("DEL-06", "DEL-25", "VER-03", "EXC-02", "DEL-09")
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (answering("deleted"), "VERIFICATION_FAILED"),
        (answering("not_found"), "VERIFICATION_FAILED"),
        (answering(None), "VERIFICATION_FAILED"),
        (answering("DELETED"), "VERIFICATION_FAILED"),
        (answering(True), "VERIFICATION_FAILED"),
        (answering({"status": "deleted"}), "VERIFICATION_FAILED"),
        (answering(["deleted"]), "VERIFICATION_FAILED"),
        (answering("retained_under_exception"), "EXCEPTION_NOT_AUTHORIZED"),
        (unavailable, "STORE_UNAVAILABLE"),
        (_surprise, "STORE_UNAVAILABLE"),
    ],
    ids=["lies", "denies", "none", "shouts", "truth", "mapping", "list", "keeps", "down", "surprise"],
)
def test_a_store_that_misbehaves_fails_whatever_it_says(application: Application, caller: Caller, fault, reason):
    """D06 is the first of them."""
    request_id, identity = _deleted_with_copy(application, caller)
    broken, store = faulty(application, fault)
    work(broken)
    found = _of_store(application, caller, request_id)
    assert (found.outcome, found.state, found.reason) == ("failed", "retrying", reason)
    assert store.attempts == 1
    view = application.deletions.view(request_id, caller)
    assert (view.state, view.complete) == ("RETRYING", False)
    assert outcome_table(application, caller, request_id)[identity, "graph"] == "deleted"
    assert files_of(application).has(LOCATOR)


@pytest.mark.req("DEL-06", "VER-03", "EXC-02")
@pytest.mark.parametrize("claim", [None, "done", ["deleted"], "retained_under_exception"])
def test_an_answer_that_is_none_fails_even_where_the_copy_is_gone(application: Application, caller: Caller, claim):
    request_id, _ = _deleted_with_copy(application, caller, there=False)
    broken, _ = faulty(application, answering(claim))
    work(broken)
    assert _of_store(application, caller, request_id).outcome == "failed"


@pytest.mark.req("DEL-25", "VER-03")
def test_a_store_that_cannot_be_read_back_proves_nothing(application: Application, caller: Caller):
    request_id, _ = _deleted_with_copy(application, caller)
    blind, _ = faulty(application, files_of(application).remove, blind=True)
    work(blind)
    found = _of_store(application, caller, request_id)
    assert (found.outcome, found.reason) == ("failed", "STORE_UNAVAILABLE")


@pytest.mark.req("DEL-25")
def test_a_store_that_is_not_mounted_is_no_absence(application: Application, caller: Caller):
    request_id, _ = _deleted_with_copy(application, caller)
    root = application.settings.files_store_root
    root.rename(root.with_name("unplugged"))
    root.mkdir()
    work(application)
    assert _of_store(application, caller, request_id).outcome == "failed"


@pytest.mark.req("DEL-06", "DEL-07", "EXC-01", "EXC-04", "DEL-17")
def test_a_store_without_a_connector_fails_at_once_and_has_its_owner(application: Application, caller: Caller):
    (identity,) = register(
        application, caller, record("r", stores=[{"storeId": "vector_index", "locator": "vector 12"}])
    )
    view = delete(application, caller, identity)
    found = _of_store(application, caller, view.request_id)
    assert (found.outcome, found.state, found.reason, found.owner_id) == (
        "failed",
        "owned",
        "STORE_UNAVAILABLE",
        "platform-owner",
    )
    assert (view.state, view.complete, view.owned_failures) == ("CLOSED_WITH_OWNED_FAILURES", False, 1)
    assert application.policy.owner(found.owner_id).queue == "store-failures"
    (entry,) = application.holds.exceptions(caller).items
    assert (entry.request_id, entry.identity, entry.store, entry.reason, entry.authority, entry.owner_id) == (
        view.request_id,
        identity,
        "vector_index",
        "STORE_UNAVAILABLE",
        "stores/vector_index",
        "platform-owner",
    )
    assert (entry.policy_ref, entry.state) == ("field-service@1.0.0", "open")


@pytest.mark.req("DEL-09", "DEL-14", "DEL-17")
def test_one_store_of_five_fails_and_only_it_is_failed(application: Application, caller: Caller, clock):
    """D07: the third of five copies times out; the same request ends later, though its record is long gone."""
    names = [f"copy{number}" for number in range(5)]
    (root,) = register(application, caller, record("r"))
    copies = register(application, caller, *(with_copy(name, "r") for name in names))
    for name in names:
        files_of(application).write(f"{name}.bin", b"a copy")
    view = delete(application, caller, root)

    def third_is_down(locator: str) -> object:
        if locator == "copy2.bin":
            raise StoreUnavailable("timed out")
        return files_of(application).remove(locator)

    broken, _ = faulty(application, third_is_down)
    work(broken)
    table = outcome_table(application, caller, view.request_id)
    assert {identity: table[identity, "files"] for identity in copies} == {
        identity: "failed" if identity == copies[2] else "deleted" for identity in copies
    }
    running = application.deletions.view(view.request_id, caller)
    assert (running.state, running.complete, running.counts["failed"], running.counts["deleted"]) == (
        "RETRYING",
        False,
        1,
        10,
    )
    again = application.deletions.retry(view.request_id, caller)
    assert again.request_id == view.request_id
    work(application)
    ended = application.deletions.view(view.request_id, caller)
    assert (ended.state, ended.counts["failed"], ended.counts["deleted"]) == ("COMPLETED", 0, 11)


@pytest.mark.req("DEL-21", "DEL-09", "VER-03")
def test_a_cached_prompt_that_keeps_the_text_means_that_the_deletion_failed(application: Application, caller: Caller):
    """Out of the index and still in the prompt cache: hidden is not deleted."""
    memory, prompt, index = register(
        application,
        caller,
        record("memory", content="prefers short answers"),
        with_copy("prompt", "memory", edge="CACHED_FROM", kind="cache_entry", retentionClass="derived_copy"),
        with_copy("index", "memory", edge="EMBEDDED_FROM", kind="search_index_entry", retentionClass="derived_copy"),
    )
    files_of(application).write("prompt.bin", b"the technician prefers short answers")
    files_of(application).write("index.bin", b"vector")
    view = delete(application, caller, memory)

    def index_alone(locator: str) -> object:
        return "deleted" if locator == "prompt.bin" else files_of(application).remove(locator)

    broken, _ = faulty(application, index_alone)
    work(broken)
    assert outcome_table(application, caller, view.request_id) == {
        (memory, "graph"): "deleted",
        (prompt, "graph"): "deleted",
        (index, "graph"): "deleted",
        (prompt, "files"): "failed",
        (index, "files"): "deleted",
    }
    assert not application.deletions.view(view.request_id, caller).complete


@pytest.mark.req("VER-01")
def test_a_paraphrase_is_found_by_its_id_where_a_search_for_the_text_finds_nothing(
    application: Application, caller: Caller
):
    root, paraphrase = register(
        application,
        caller,
        record("r", content="prefers short answers"),
        with_copy("p", "r", content="likes it brief"),
    )
    files_of(application).write("p.bin", b"likes it brief")
    view = delete(application, caller, root)
    broken, _ = faulty(application, answering("deleted"))
    work(broken)
    text = (application.settings.files_store_root / "tenant-a" / "p.bin").read_bytes()
    assert b"short" not in text
    assert outcome_table(application, caller, view.request_id)[paraphrase, "files"] == "failed"
    verifier = application.database.catalogue["mark_outcomes_verified"]
    assert verifier.params == ("requestId", "ownerId", "at")


@pytest.mark.req("DEL-06", "DEL-12")
def test_two_requests_for_one_copy_both_say_what_became_of_it(application: Application, caller: Caller):
    """One attempt at the copy is read back once, and is the outcome of both."""
    ids = family(application, caller, {"a": (), "b": ()})
    (copy,) = register(application, caller, with_copy("c", "a", "b", edge="CACHED_FROM", **CACHE))
    files_of(application).write("c.bin", b"a copy")
    views = [
        application.deletions.advance(application.deletions.file(by_ids(ids[name]), caller, fresh_key()).request_id)
        for name in ("a", "b")
    ]
    work(application)
    found = [_of_store(application, caller, view.request_id) for view in views]
    assert [item.identity for item in found] == [copy, copy]
    assert sorted((item.outcome, item.basis) for item in found) == [
        ("deleted", "store_answer"),
        ("deleted", "store_answer"),
    ]


CACHE = {"kind": "cache_entry", "retentionClass": "derived_copy"}


@pytest.mark.req("DEL-07", "DEL-06")
def test_two_copies_in_one_store_make_one_outcome_that_needs_both(application: Application, caller: Caller, clock):
    stores = [{"storeId": "files", "locator": "one.bin"}, {"storeId": "files", "locator": "two.bin"}]
    (identity,) = register(application, caller, record("r", stores=stores))
    for locator in ("one.bin", "two.bin"):
        files_of(application).write(locator, b"a copy")
    view = delete(application, caller, identity)

    def second_is_down(locator: str) -> object:
        if locator == "two.bin":
            raise StoreUnavailable
        return files_of(application).remove(locator)

    broken, _ = faulty(application, second_is_down)
    work(broken)
    assert outcome_table(application, caller, view.request_id)[identity, "files"] == "failed"
    clock.advance(5)
    work(application)
    assert outcome_table(application, caller, view.request_id)[identity, "files"] == "deleted"


@pytest.mark.req("DEL-06", "DEL-07")
def test_a_record_that_names_the_graph_itself_as_its_store_can_still_be_deleted(
    application: Application, caller: Caller
):
    """Such a store is either refused at the door or no obstacle: two outcomes for one place can never both be written."""
    stated = [record("r", stores=[{"storeId": "graph", "locator": "node 1"}]), record("plain")]
    results = application.registrar.register(stated, caller)
    views = [delete(application, caller, result.identity) for result in results if result.status != "refused"]
    assert [view.state for view in views] == ["COMPLETED"] * len(views)
    assert views


@pytest.mark.req("DEL-06")
@pytest.mark.parametrize(
    ("locator", "place"),
    [
        ("tenant-a/../../outside.bin", "outside.bin"),
        ("../outside.bin", "outside.bin"),
        ("tenant-a/../tenant-b/theirs.bin", "files/tenant-b/theirs.bin"),
    ],
)
def test_a_locator_that_leaves_its_folder_is_never_followed(application: Application, caller: Caller, locator, place):
    """No such locator passes the door; one that got into the graph past it still leads nowhere."""
    outside = application.settings.files_store_root.parent / place
    outside.parent.mkdir(exist_ok=True)
    outside.write_bytes(b"not ours")
    (identity,) = register(application, caller, with_copy("r"))
    application.database.administer("MATCH (:Record)-[e:STORED_IN]->() SET e.locator = $locator", locator=locator)
    view = delete(application, caller, identity)
    work(application)
    assert outside.exists()
    assert outcome_table(application, caller, view.request_id)[identity, "files"] == "failed"


@pytest.mark.req("DEL-16", "TMB-10", "VER-02")
def test_what_a_connector_says_in_its_error_is_not_logged(application: Application, caller: Caller, capfd, caplog):
    request_id, _ = _deleted_with_copy(application, caller)

    def talkative(locator: str) -> object:
        raise Surprise(f"cannot delete Canary-9 at {locator}")

    broken, _ = faulty(application, talkative)
    work(broken)
    out, err = capfd.readouterr()
    written = out + err + caplog.text
    assert "Canary-9" not in written
    assert LOCATOR not in written
    assert json.dumps(_of_store(application, caller, request_id).reason) == '"STORE_UNAVAILABLE"'
