"""What outlives a restore: the graph as an older dump would leave it, beside a journal that knows more.

A dump is taken here by copying the graph out and in again; `tests/local` does it with the server's own dump and load.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.database.checker import check
from graph.database.journaling import applied_in, is_behind, pair_journal
from graph.errors import NotReady, Refused
from graph.records.read import read_content
from graph.vocabulary import JournalEntryKind, Role
from service.runtime import catch_up
from tests.support.deletion import (
    CANARY,
    by_ids,
    delete,
    everything,
    family,
    files_of,
    fresh_key,
    graph_outcomes,
    hold,
    labels_of,
    nodes,
    properties_of,
    register,
    tombstones,
    with_copy,
    with_roles,
    work,
)
from tests.support.graph_copy import load_graph, take_graph
from tests.support.records import derived, record

CHAIN = {"root": [], "summary": ["root"], "of-summary": ["summary"], "other": []}


def restored(application, taken):
    """The same installation after a restore of the database: the journal and the stores are as they were."""
    load_graph(application.database, taken)
    again = replace(application)
    again.prepare()
    return again


@pytest.mark.req("TMB-06", "DEL-13")
def test_a_restored_graph_is_deleted_again_before_it_is_read(application, caller):
    known = family(application, caller, CHAIN)
    taken = take_graph(application.database)
    view = delete(application, caller, known["root"])
    before = graph_outcomes(application, caller, view.request_id)
    gone = properties_of(application.database, known["root"])
    again = restored(application, taken)
    assert is_behind(again.database, again.journal)
    assert "Record" in labels_of(again.database, known["root"])
    replayed = catch_up(again)
    assert (replayed.removed, replayed.stuck) == (0, ())
    assert not is_behind(again.database, again.journal)
    assert tombstones(again.database) == {known["root"], known["summary"], known["of-summary"]}
    assert graph_outcomes(again, caller, view.request_id) == before
    assert again.deletions.view(view.request_id, caller).state == "COMPLETED"
    assert properties_of(again.database, known["root"]) == gone
    assert "Record" in labels_of(again.database, known["other"])
    assert catch_up(again).entries == 0


@pytest.mark.req("TMB-06")
def test_what_the_restored_graph_never_had_gets_its_tombstone(application, caller):
    (root,) = register(application, caller, record("root"))
    taken = take_graph(application.database)
    (late,) = register(application, caller, derived("late", "root"))
    view = delete(application, caller, root)
    again = restored(application, taken)
    catch_up(again)
    assert tombstones(again.database) == {root, late}
    assert graph_outcomes(again, caller, view.request_id) == {root: "deleted", late: "deleted"}
    assert check(again.database, again.policy).findings == ()
    (result,) = again.registrar.register([derived("late", "root")], caller)
    assert (result.status, result.code) == ("refused", "TOMBSTONE_BLOCKED")


@pytest.mark.req("TMB-06", "FIX-6-08")
def test_old_copies_in_a_store_are_swept_before_reading(application, caller):
    known = register(application, caller, record("root"), with_copy("copy", "root"))
    files = files_of(application)
    files.write("copy.bin", CANARY.encode())
    taken = take_graph(application.database)
    view = delete(application, caller, known[0])
    work(application)
    assert not files.has("copy.bin")
    files.write("copy.bin", CANARY.encode())
    again = restored(application, taken)
    catch_up(again)
    assert not files.has("copy.bin")
    assert again.deletions.view(view.request_id, caller).state == "COMPLETED"
    for identity in known:
        with pytest.raises(Refused):
            read_content(again.database, caller, identity)


def test_a_hold_and_its_release_come_back(application, caller):
    known = family(application, caller, CHAIN)
    taken = take_graph(application.database)
    placed = hold(application, caller, known["summary"])
    view = delete(application, caller, known["root"])
    kept = take_graph(application.database)
    again = restored(application, taken)
    catch_up(again)
    assert graph_outcomes(again, caller, view.request_id)[known["summary"]] == "retained_under_exception"
    assert again.holds.view(placed.hold_id, caller).state == "active"
    assert tombstones(again.database) == {known["root"], known["of-summary"]}
    load_graph(again.database, kept)
    again.prepare()
    again.holds.release(placed.hold_id, caller)
    again.deletions.advance(view.request_id)
    last = restored(again, taken)
    catch_up(last)
    assert tombstones(last.database) == {known["root"], known["summary"], known["of-summary"]}
    assert last.holds.view(placed.hold_id, caller).state == "released"


def test_a_request_that_was_filed_is_not_lost(application, caller):
    known = family(application, caller, CHAIN)
    taken = take_graph(application.database)
    filed = application.deletions.file(by_ids(known["root"]), caller, fresh_key())
    again = restored(application, taken)
    catch_up(again)
    assert again.deletions.view(filed.request_id, caller).state == "COMPLETED"
    met = again.deletions.file(by_ids(known["root"]), caller, fresh_key())
    assert met.request_id == filed.request_id


def test_an_emptied_database_learns_its_tombstones(application, caller):
    known = family(application, caller, CHAIN)
    delete(application, caller, known["root"])
    again = restored(application, ([], []))
    catch_up(again)
    assert tombstones(again.database) == {known["root"], known["summary"], known["of-summary"]}
    results = again.registrar.register([record("root"), record("other")], caller)
    assert [result.code for result in results] == ["TOMBSTONE_BLOCKED", None]


def test_the_mark_moves_with_each_commit(application, caller):
    known = family(application, caller, CHAIN)
    for name in ("root", "other"):
        delete(application, caller, known[name])
        assert applied_in(application.database).position == application.journal.head()
    hold_on = register(application, caller, record("held"))
    placed = hold(application, caller, *hold_on)
    application.holds.release(placed.hold_id, caller)
    assert applied_in(application.database).position == application.journal.head()


@pytest.mark.req("TMB-02")
def test_the_journal_has_no_content_and_no_names(application, caller):
    stated = record(f"{CANARY}-name", content={"text": CANARY}, principalId=f"{CANARY}-person")
    (identity,) = register(application, caller, stated)
    delete(application, caller, identity)
    text = application.journal.path.read_text()
    assert CANARY not in text
    assert identity in text
    assert CANARY not in everything(application.database)


def stopped(application):
    with pytest.raises(NotReady) as refused:
        pair_journal(application.database, replace(application).journal, application.ids, application.clock)
    return refused.value.code


def test_a_journal_that_is_missing_stops_the_start(application, caller):
    delete(application, caller, *register(application, caller, record("r")))
    application.journal.path.unlink()
    assert stopped(application) == "JOURNAL_MISSING"
    assert not application.journal.path.exists()


def test_a_journal_that_ends_too_early_stops_the_start(application, caller):
    delete(application, caller, *register(application, caller, record("r")))
    lines = application.journal.path.read_bytes().splitlines(keepends=True)
    application.journal.path.write_bytes(b"".join(lines[:-1]))
    assert stopped(application) == "JOURNAL_BEHIND"


def test_a_broken_journal_stops_the_start(application, caller):
    delete(application, caller, *register(application, caller, record("r")))
    text = application.journal.path.read_bytes()
    application.journal.path.write_bytes(text.replace(b"request_filed", b"request_fiLed"))
    assert stopped(application) == "JOURNAL_BROKEN"


def test_the_journal_of_another_database_stops_the_start(application, caller, tmp_path):
    other = replace(application, settings=application.settings.model_copy(update={"home": tmp_path / "other"}))
    other.journal.create("another", 1)
    assert stopped(other) == "JOURNAL_FOREIGN"


def test_another_past_of_the_same_journal_stops_the_start(application, caller):
    first, second = register(application, caller, record("first"), record("second"))
    copied = application.journal.path.read_bytes()
    delete(application, caller, first)
    length = application.journal.head().sequence
    application.journal.path.write_bytes(copied)
    fork = replace(application)
    while fork.journal.head().sequence < length:
        fork.journal.append(JournalEntryKind.REQUEST_REJECTED, 1, {"requestId": second})
    assert stopped(application) == "JOURNAL_FOREIGN"


def test_nodes_of_the_mark_are_one(application):
    application.prepare()
    assert len(nodes(application.database, "(n:Journal)")) == 1


def test_a_graph_that_is_older_than_its_journal_hands_on_its_tombstones(application, caller):
    application.database.administer("MATCH (j:Journal) DELETE j")
    known = family(application, caller, CHAIN)
    taken = take_graph(application.database)
    application.prepare()
    delete(application, caller, known["root"])
    application.database.administer("MATCH (j:Journal) DELETE j")
    application.journal.path.unlink()
    upgraded = replace(application)
    upgraded.prepare()
    again = restored(upgraded, taken)
    catch_up(again)
    assert tombstones(again.database) == {known["root"], known["summary"], known["of-summary"]}


@pytest.mark.parametrize(("removes", "state"), [(False, "REJECTED"), (True, "COMPLETED")])
def test_authority_is_judged_at_the_run_unless_something_was_removed(application, caller, removes, state):
    """The roles of the requester are taken away in the journal's copy, as a policy that no longer grants them would."""
    known = family(application, caller, CHAIN)
    taken = take_graph(application.database)
    requester = with_roles(Role.SOURCE_OWNER, Role.PRIVACY)
    filed = application.deletions.file(by_ids(known["root"]), requester, fresh_key())
    body = dict(next(one for one in application.journal.after(0) if one.kind == "request_filed").body["request"])
    application.journal.path.unlink()
    again = replace(application)
    again.journal.create(applied_in(application.database).journal_id, 1)
    filed_again = {"request": {**body, "requesterRoles": ["auditor"]}}
    again.journal.append(JournalEntryKind.REQUEST_FILED, 2, filed_again)
    if removes:
        removal = {"requestId": filed.request_id, "reasonCode": "PRINCIPAL_REQUEST", "policyRef": "field-service@1.0.0"}
        again.journal.append(JournalEntryKind.CONTENT_REMOVED, 3, {**removal, "delete": [], "invalidate": []})
    load_graph(application.database, taken)
    again.restorer.catch_up()
    assert again.deletions.view(filed.request_id, caller).state == state


@pytest.mark.req("TMB-06", "DEL-13")
@pytest.mark.parametrize("runs", [False, True], ids=["filed", "removed"])
def test_a_request_for_what_the_restored_graph_never_had_ends_with_its_tombstone(application, caller, runs):
    """Filed after the dump for a record that is younger than the dump, whether it had run or not."""
    (old,) = register(application, caller, record("old"))
    taken = take_graph(application.database)
    (young,) = register(application, caller, record("young"))
    filed = application.deletions.file(by_ids(old, young), caller, fresh_key())
    if runs:
        application.deletions.advance(filed.request_id)
    again = restored(application, taken)
    catch_up(again)
    assert again.deletions.view(filed.request_id, caller).state == "COMPLETED"
    assert graph_outcomes(again, caller, filed.request_id) == {old: "deleted", young: "deleted"}
    assert tombstones(again.database) == {old, young}
    assert check(again.database, again.policy).findings == ()
    (result,) = again.registrar.register([record("young")], caller)
    assert (result.status, result.code) == ("refused", "TOMBSTONE_BLOCKED")
    last = restored(again, taken)
    catch_up(last)
    assert tombstones(last.database) == {old, young}
