"""Fixture 6: an admitted preference memory with an embedding and a cached context projection is deleted.

Every way back that the catalogue names is tried: late job, replay, stale import, old summary, new id. The layers are named
in the assertions: D1 the deletion itself, D2 the tombstone at registration, D3 the copies in stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from graph.access import Caller
from graph.clock import ManualClock
from graph.errors import NotFound
from graph.records.read import TombstoneView, read_content, read_record
from graph.vocabulary import Role
from service.bootstrap import Application
from tests.support.deletion import (
    answering,
    by_ids,
    delete,
    everything,
    faulty,
    files_of,
    fresh_key,
    hold,
    nodes,
    outcome_table,
    outcomes_of,
    register,
    tombstones,
    unavailable,
    with_copy,
    with_roles,
    work,
)
from tests.support.records import derived, record

TEXT = "prefers-Canary concise explanations"
PARAPHRASE = "likes-Canary it brief"
COPY = {"retentionClass": "derived_copy"}
MEMORY: Mapping[str, Any] = {
    "class": "memory",
    "kind": "cross_run_memory",
    "principalId": "tech-17",
    "taskFamily": "part-replacement",
    "confidence": "verified_statement",
    "expiresAt": "2026-08-01T00:00:00Z",
    "retentionClass": "memory_term",
    "content": {"text": TEXT},
}
SETTINGS: Mapping[str, Any] = {
    "class": "preference",
    "kind": "user_preference",
    "principalId": "tech-17",
    "confirmedAt": "2026-03-01T00:00:00Z",
    "expiresAt": "2027-01-01T00:00:00Z",
    "retentionClass": "preference_term",
    "content": {"text": TEXT},
}
VIEW: Mapping[str, Any] = {
    "class": "context",
    "kind": "context_view",
    "runId": "run-1",
    "assemblerVersion": "1",
    "expiresAt": "2026-03-02T10:00:00Z",
    "retentionClass": "call_view",
}


def _preference() -> Any:
    return record("preference", **SETTINGS)


def _embedding(name: str = "embedding") -> Any:
    return with_copy(name, "memory", edge="EMBEDDED_FROM", kind="embedding", **COPY)


def _base(application: Application, caller: Caller) -> dict[str, str]:
    """The preference, the memory made of it, and what was derived from the memory, with the copies in their store."""
    names = ("preference", "memory", "embedding", "cache", "summary", "view")
    identities = register(
        application,
        caller,
        _preference(),
        derived("memory", "preference", edge="PROPOSED_FROM", **MEMORY),
        _embedding(),
        with_copy("cache", "memory", edge="CACHED_FROM", kind="cache_entry", content=TEXT, **COPY),
        derived("summary", "memory", kind="summary", content={"text": PARAPHRASE}),
        derived("view", "memory", edge="PROJECTED_FROM", content=TEXT, **VIEW),
    )
    files_of(application).write("embedding.bin", b"0.1 0.7 0.2")
    files_of(application).write("cache.bin", TEXT.encode())
    return dict(zip(names, identities, strict=True))


def _assert_gone(application: Application, ids: Mapping[str, str]) -> None:
    assert tombstones(application.database) == set(ids.values())
    left = everything(application.database)
    assert TEXT not in left
    assert PARAPHRASE not in left
    assert list(application.settings.files_store_root.rglob("*.bin")) == []


@pytest.mark.req("FIX-6-01", "DEL-01", "DEL-26")
def test_01_deletion_takes_the_memory_and_all_that_was_made_of_it(application: Application, caller: Caller):
    ids = _base(application, caller)
    for reader in (caller, with_roles(Role.REVIEWER)):
        assert read_content(application.database, reader, ids["memory"]) == {"text": TEXT}
    view = delete(application, caller, ids["preference"])
    work(application)
    table = outcome_table(application, caller, view.request_id)
    assert table == {(identity, "graph"): "deleted" for identity in ids.values()} | {
        (ids["embedding"], "files"): "deleted",
        (ids["cache"], "files"): "deleted",
    }
    assert application.deletions.view(view.request_id, caller).state == "COMPLETED"
    _assert_gone(application, ids)
    # The same run, a run of another day, the way by the vector and the way by the summary.
    for reader in (caller, with_roles(Role.REVIEWER, Role.AUDITOR)):
        for name in ("memory", "embedding", "summary", "view"):
            with pytest.raises(NotFound):
                read_content(application.database, reader, ids[name])
            shown = read_record(application.database, reader, ids[name])
            assert isinstance(shown, TombstoneView)


@pytest.mark.req("FIX-6-02", "TMB-03")
def test_02_an_embedding_job_that_waited_with_the_old_value_is_blocked(application: Application, caller: Caller):
    ids = _base(application, caller)
    late = _embedding("late-embedding")
    view = delete(application, caller, ids["preference"])
    work(application)
    for job in (late, _embedding()):
        (result,) = application.registrar.register([job], caller)
        assert (result.status, result.code) == ("refused", "TOMBSTONE_BLOCKED")
    assert application.deletions.view(view.request_id, caller).state == "COMPLETED"
    _assert_gone(application, ids)


@pytest.mark.req("FIX-6-03", "DEL-11")
def test_03_a_replay_of_the_request_meets_the_completed_one(application: Application, caller: Caller):
    ids = _base(application, caller)
    request = by_ids(ids["preference"])
    first = application.deletions.file(request, caller, "replayed")
    application.deletions.advance(first.request_id)
    work(application)
    ended = application.deletions.view(first.request_id, caller)
    assert ended.state == "COMPLETED"
    before = nodes(application.database)
    assert application.deletions.file(request, caller, "replayed") == ended
    assert application.deletions.advance(first.request_id) == ended
    assert nodes(application.database) == before


@pytest.mark.req("FIX-6-04", "DEL-16")
def test_04_a_cache_that_is_down_is_failed_retried_and_owned_at_the_deadline(
    application: Application, caller: Caller, clock: ManualClock
):
    ids = _base(application, caller)
    view = delete(application, caller, ids["preference"])
    down, store = faulty(application, _cache_fails(application, unavailable))
    work(down)
    assert application.deletions.view(view.request_id, caller).state == "RETRYING"
    assert _cache(application, caller, view.request_id, ids) == ("failed", "retrying", "STORE_UNAVAILABLE", None)
    for seconds in (5, 30, 300):
        clock.advance(seconds)
        work(down)
    assert store.attempts == 1 + 4
    clock.advance(86_400)
    work(down)
    assert _cache(application, caller, view.request_id, ids) == (
        "failed",
        "owned",
        "DEADLINE_EXPIRED",
        "platform-owner",
    )
    closed = application.deletions.view(view.request_id, caller)
    assert (closed.state, closed.complete) == ("CLOSED_WITH_OWNED_FAILURES", False)


def _cache_fails(application: Application, fault: Any) -> Any:
    real = files_of(application)
    return lambda locator: fault(locator) if locator == "cache.bin" else real.remove(locator)


def _cache(application: Application, caller: Caller, request_id: str, ids: Mapping[str, str]) -> tuple[Any, ...]:
    (found,) = [
        item
        for item in outcomes_of(application, caller, request_id)
        if (item.identity, item.store) == (ids["cache"], "files")
    ]
    return found.outcome, found.state, found.reason, found.owner_id


@pytest.mark.req("FIX-6-05", "DEL-10", "DEL-17")
def test_05_an_audit_artifact_under_hold_is_kept_and_says_so(application: Application, caller: Caller):
    ids = _base(application, caller)
    hold(application, caller, ids["summary"])
    view = delete(application, caller, ids["preference"])
    work(application)
    ended = application.deletions.view(view.request_id, caller)
    assert (ended.state, ended.counts["retained_under_exception"], ended.counts["deleted"]) == (
        "COMPLETED_WITH_EXCEPTIONS",
        1,
        7,
    )
    (entry,) = application.holds.exceptions(caller).items
    assert (entry.identity, entry.authority) == (ids["summary"], "order 12/2026")
    with pytest.raises(NotFound):
        read_content(application.database, with_roles(Role.REVIEWER, Role.PRODUCER), ids["summary"])


@pytest.mark.req("FIX-6-06", "DEL-09")
def test_06_vector_gone_and_cache_not_is_no_completion(application: Application, caller: Caller):
    ids = _base(application, caller)
    view = delete(application, caller, ids["preference"])
    down, _ = faulty(application, _cache_fails(application, unavailable))
    work(down)
    table = outcome_table(application, caller, view.request_id)
    assert (table[ids["embedding"], "files"], table[ids["cache"], "files"]) == ("deleted", "failed")
    assert not application.deletions.view(view.request_id, caller).complete


@pytest.mark.req("FIX-6-07", "DEL-12")
def test_07_two_racing_requests_come_to_one_tombstone_and_one_result(application: Application, caller: Caller):
    ids = _base(application, caller)

    def race(_turn: int) -> str:
        filed = application.deletions.file(by_ids(ids["preference"]), caller, fresh_key())
        application.deletions.advance(filed.request_id)
        return filed.request_id

    with ThreadPoolExecutor(2) as pool:
        (request_id,) = set(pool.map(race, range(2)))
    work(application)
    assert application.deletions.view(request_id, caller).state == "COMPLETED"
    _assert_gone(application, ids)


@pytest.mark.req("FIX-6-09", "TMB-04")
def test_09_a_stale_export_brings_back_none_of_it(application: Application, caller: Caller):
    ids = _base(application, caller)
    delete(application, caller, ids["preference"])
    work(application)
    export = [record("unrelated-1"), _preference(), derived("memory", "preference", edge="PROPOSED_FROM", **MEMORY)]
    results = application.registrar.register([*export, record("unrelated-2")], caller)
    assert [(result.status, result.code) for result in results] == [
        ("created", None),
        ("refused", "TOMBSTONE_BLOCKED"),
        ("refused", "TOMBSTONE_BLOCKED"),
        ("created", None),
    ]
    assert [result.identity for result in results[1:3]] == [ids["preference"], ids["memory"]]
    _assert_gone(application, ids)


@pytest.mark.req("FIX-6-10", "TMB-09", "DEL-26")
def test_10_an_old_summary_cannot_bring_it_into_a_later_run(application: Application, caller: Caller):
    ids = _base(application, caller)
    view = delete(application, caller, ids["preference"])
    work(application)
    assert outcome_table(application, caller, view.request_id)[ids["summary"], "graph"] == "deleted"
    again = {"content": {"text": PARAPHRASE}, "kind": "summary", "runId": "run-2"}
    for source in ({"recordId": ids["summary"]}, {"name": "summary"}, {"recordId": ids["memory"]}):
        new_id = derived(None, sources=[{**source, "edge": "SUMMARIZED_FROM"}], **again)
        (result,) = application.registrar.register([new_id], caller)
        assert (result.status, result.code) == ("refused", "TOMBSTONE_BLOCKED")
    _assert_gone(application, ids)


@pytest.mark.req("FIX-6-11", "DEL-11")
def test_11_a_retry_after_completion_changes_nothing(application: Application, caller: Caller, clock: ManualClock):
    ids = _base(application, caller)
    view = delete(application, caller, ids["preference"])
    work(application)
    receipt = application.deletions.receipt(view.request_id, caller)
    clock.advance(86_400)
    assert application.deletions.retry(view.request_id, caller).state == "COMPLETED"
    work(application)
    assert application.deletions.receipt(view.request_id, caller) == receipt
    assert TEXT not in receipt.decode()
    _assert_gone(application, ids)


@pytest.mark.req("FIX-6-12", "DEL-21", "VER-03")
def test_12_a_cached_prompt_that_keeps_the_text_is_a_failed_deletion(application: Application, caller: Caller):
    ids = _base(application, caller)
    view = delete(application, caller, ids["preference"])
    lying, _ = faulty(application, _cache_fails(application, answering("deleted")))
    work(lying)
    assert TEXT.encode() in (application.settings.files_store_root / "tenant-a" / "cache.bin").read_bytes()
    assert _cache(application, caller, view.request_id, ids) == ("failed", "retrying", "VERIFICATION_FAILED", None)
    assert not application.deletions.view(view.request_id, caller).complete


@pytest.mark.req("FIX-6-13", "DEL-16")
def test_13_a_cache_that_recovers_after_its_owner_was_named_finishes_and_the_history_stays(
    application: Application, caller: Caller, clock: ManualClock
):
    ids = _base(application, caller)
    view = delete(application, caller, ids["preference"])
    down, _ = faulty(application, _cache_fails(application, unavailable))
    work(down)
    clock.advance(86_400)
    work(down)
    assert application.deletions.view(view.request_id, caller).state == "CLOSED_WITH_OWNED_FAILURES"
    clock.advance(1_800)
    work(application)
    assert application.deletions.view(view.request_id, caller).state == "COMPLETED"
    assert _cache(application, caller, view.request_id, ids) == ("deleted", "settled", None, None)
    (found,) = [item for item in outcomes_of(application, caller, view.request_id) if item.history]
    assert found.history == ("failed",)
    _assert_gone(application, ids)
