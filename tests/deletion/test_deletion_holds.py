"""Holds: what they keep, what they do not, and that the deletion goes on when they end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.access import Caller
from graph.clock import ManualClock, instant_from_text
from graph.errors import Conflict, InvalidInput, NotAuthorized, NotFound
from graph.records.read import read_content
from graph.vocabulary import Role
from service.bootstrap import Application
from tests.support.deletion import (
    CANARY,
    FOREIGNER,
    abandoned,
    by_ids,
    delete,
    everything,
    family,
    faulty,
    files_of,
    fresh_key,
    graph_outcomes,
    hold,
    nodes,
    outcome_table,
    outcomes_of,
    properties_of,
    register,
    tombstones,
    unavailable,
    with_copy,
    with_roles,
    work,
)
from tests.support.records import derived, record


@pytest.mark.req("DEL-10", "DEL-17", "EXC-01", "DEL-22")
def test_a_held_root_stays_and_what_came_of_it_goes(application: Application, caller: Caller):
    """AMB-35, F-34: no tombstone claims that the held content is gone."""
    ids = family(application, caller, {"r": (), "s": ("r",)})
    hold(application, caller, ids["r"])
    view = delete(application, caller, ids["r"])
    assert (view.state, view.complete) == ("COMPLETED_WITH_EXCEPTIONS", True)
    assert graph_outcomes(application, caller, view.request_id) == {
        ids["r"]: "retained_under_exception",
        ids["s"]: "deleted",
    }
    assert view.counts == {
        "deleted": 1,
        "invalidated": 0,
        "not_found": 0,
        "retained_under_exception": 1,
        "failed": 0,
    }
    assert tombstones(application.database) == {ids["s"]}
    (entry,) = application.holds.exceptions(caller).items
    assert (entry.identity, entry.request_id, entry.store, entry.reason) == (
        ids["r"],
        view.request_id,
        "graph",
        "legal_hold",
    )
    assert (entry.authority, entry.policy_ref, entry.owner_id, entry.state) == (
        "order 12/2026",
        "exceptions/legal_hold",
        "legal-owner",
        "open",
    )
    assert entry.review_at == instant_from_text("2026-05-31T00:00:00Z")


@pytest.mark.req("DEL-10", "DEL-18")
def test_a_held_derivative_stays_and_its_siblings_and_descendants_go(application: Application, caller: Caller):
    ids = family(application, caller, {"r": (), "held": ("r",), "sibling": ("r",), "below": ("held",)})
    hold(application, caller, ids["held"])
    view = delete(application, caller, ids["r"])
    assert graph_outcomes(application, caller, view.request_id) == {
        ids["r"]: "deleted",
        ids["held"]: "retained_under_exception",
        ids["sibling"]: "deleted",
        ids["below"]: "deleted",
    }
    assert view.state == "COMPLETED_WITH_EXCEPTIONS"
    assert abandoned(application.database) == []


@pytest.mark.req("DEL-10")
def test_holds_on_root_and_derivative_each_keep_their_own(application: Application, caller: Caller):
    ids = family(application, caller, {"r": (), "s": ("r",), "t": ("s",)})
    hold(application, caller, ids["r"])
    on_s = hold(application, caller, ids["s"])
    view = delete(application, caller, ids["r"])
    assert tombstones(application.database) == {ids["t"]}
    application.holds.release(on_s.hold_id, caller)
    work(application)
    assert tombstones(application.database) == {ids["s"], ids["t"]}
    assert application.deletions.view(view.request_id, caller).state == "COMPLETED_WITH_EXCEPTIONS"


@pytest.mark.req("EXC-06", "DEL-10")
def test_a_release_ends_the_deletion_without_a_new_request(application: Application, caller: Caller, clock):
    ids = family(application, caller, {"r": (), "s": ("r",)})
    held = hold(application, caller, ids["s"])
    view = delete(application, caller, ids["r"])
    kept_receipt = application.deletions.receipt(view.request_id, caller)
    clock.advance(60)
    released = application.holds.release(held.hold_id, caller)
    assert (released.state, released.released_at) == ("released", clock.now())
    assert application.deletions.unfinished() == [view.request_id]
    work(application)
    ended = application.deletions.view(view.request_id, caller)
    assert (ended.state, ended.counts["deleted"], ended.counts["retained_under_exception"]) == ("COMPLETED", 2, 0)
    (found,) = [item for item in outcomes_of(application, caller, view.request_id) if item.identity == ids["s"]]
    assert (found.outcome, found.history) == ("deleted", ("retained_under_exception",))
    assert application.deletions.receipt(view.request_id, caller) != kept_receipt
    assert [entry.state for entry in application.holds.exceptions(caller).items] == ["ended"]


@pytest.mark.req("EXC-06", "DEL-10")
def test_releasing_one_of_two_holds_keeps_the_record_and_the_ledger_names_the_other(
    application: Application, caller: Caller
):
    (r,) = register(application, caller, record("r"))
    first = hold(application, caller, r, authority="order 1")
    second = hold(application, caller, r, authority="order 2", reviewAt="2026-05-31T08:00:00Z")
    view = delete(application, caller, r)
    application.holds.release(first.hold_id, caller)
    work(application)
    assert tombstones(application.database) == set()
    assert application.deletions.view(view.request_id, caller).state == "COMPLETED_WITH_EXCEPTIONS"
    assert [(entry.authority, entry.state) for entry in application.holds.exceptions(caller).items] == [
        ("order 2", "open")
    ]
    application.holds.release(second.hold_id, caller)
    work(application)
    assert tombstones(application.database) == {r}
    assert application.deletions.view(view.request_id, caller).state == "COMPLETED"


@pytest.mark.req("EXC-06")
def test_a_release_resumes_every_request_that_met_the_record(application: Application, caller: Caller):
    ids = family(application, caller, {"a": (), "b": (), "s": ("a", "b")})
    held = hold(application, caller, ids["s"])
    views = [delete(application, caller, ids[name]) for name in ("a", "b")]
    application.holds.release(held.hold_id, caller)
    work(application)
    assert [application.deletions.view(view.request_id, caller).state for view in views] == ["COMPLETED"] * 2
    assert tombstones(application.database) == set(ids.values())


@pytest.mark.req("EXC-06")
def test_released_twice_is_released_once(application: Application, caller: Caller, clock: ManualClock):
    (r,) = register(application, caller, record("r"))
    held = hold(application, caller, r)
    first = application.holds.release(held.hold_id, caller)
    clock.advance(60)
    assert application.holds.release(held.hold_id, caller) == first


@pytest.mark.req("DEL-10", "EXC-06")
def test_a_held_record_keeps_its_copies_until_the_release(application: Application, caller: Caller):
    (r,) = register(application, caller, with_copy("r"))
    files_of(application).write("r.bin", b"a copy")
    held = hold(application, caller, r)
    view = delete(application, caller, r)
    work(application)
    assert outcome_table(application, caller, view.request_id) == {
        (r, "graph"): "retained_under_exception",
        (r, "files"): "retained_under_exception",
    }
    assert files_of(application).has("r.bin")
    application.holds.release(held.hold_id, caller)
    work(application)
    assert not files_of(application).has("r.bin")
    assert application.deletions.view(view.request_id, caller).state == "COMPLETED"


@pytest.mark.req("DEL-10")
def test_a_hold_placed_between_filing_and_run_is_read_by_the_run(application: Application, caller: Caller):
    ids = family(application, caller, {"r": (), "s": ("r",)})
    filed = application.deletions.file(by_ids(ids["r"]), caller, fresh_key())
    hold(application, caller, ids["r"], ids["s"])
    view = application.deletions.advance(filed.request_id)
    assert (view.state, view.counts["retained_under_exception"]) == ("COMPLETED_WITH_EXCEPTIONS", 2)


@pytest.mark.req("DEL-10")
def test_a_hold_placed_while_a_store_is_being_retried_stops_what_is_left_to_remove(
    application: Application, caller: Caller, clock: ManualClock
):
    """D20: the shell is still a record; from the return of `place` on no removal passes over it, its copies included."""
    a, _ = register(application, caller, record("a"), record("b"))
    (s,) = register(application, caller, with_copy("s", "a", "b"))
    files_of(application).write("s.bin", b"a copy")
    delete(application, caller, a)
    broken, _ = faulty(application, unavailable)
    work(broken)
    try:
        hold(application, caller, s)
    except (NotFound, Conflict):
        return
    clock.advance(3_600)
    work(application)
    assert files_of(application).has("s.bin")


@pytest.mark.req("DEL-10", "EXC-02")
def test_a_hold_comes_too_late_for_what_is_gone(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    delete(application, caller, r)
    with pytest.raises(NotFound):
        hold(application, caller, r)
    assert nodes(application.database, "(n:Hold)") == []


@pytest.mark.req("DEL-04", "EXC-02")
def test_a_foreign_record_and_an_unknown_one_cannot_be_told_apart(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    answers = []
    for identity in (r, "00000000-0000-7000-8000-000000000000"):
        with pytest.raises(NotFound) as refused:
            hold(application, FOREIGNER, identity)
        answers.append((str(refused.value), refused.value.code, refused.value.details))
    assert answers[0] == answers[1]
    assert nodes(application.database, "(n:Hold)") == nodes(application.database, "(n:IdempotencyKey)") == []


@pytest.mark.req("EXC-02")
def test_all_of_the_named_records_are_held_or_none(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    with pytest.raises(NotFound):
        hold(application, caller, r, "00000000-0000-7000-8000-000000000000")
    assert delete(application, caller, r).state == "COMPLETED"


@pytest.mark.req("EXC-01", "EXC-02")
@pytest.mark.parametrize(
    ("changes", "error", "code"),
    [
        ({"exceptionType": "because_i_say_so"}, NotAuthorized, "EXCEPTION_NOT_AUTHORIZED"),
        ({"authority": ""}, NotAuthorized, "EXCEPTION_NOT_AUTHORIZED"),
        ({"authority": " \t"}, NotAuthorized, "EXCEPTION_NOT_AUTHORIZED"),
        ({"policyRef": " "}, NotAuthorized, "EXCEPTION_NOT_AUTHORIZED"),
        ({"policyRef": "case-12"}, NotAuthorized, "EXCEPTION_NOT_AUTHORIZED"),
        ({"policyRef": "exceptions/incident_hold"}, NotAuthorized, "EXCEPTION_NOT_AUTHORIZED"),
        ({"policyRef": "field-service@0.0.9"}, NotAuthorized, "EXCEPTION_NOT_AUTHORIZED"),
        ({"contact": ""}, NotAuthorized, "EXCEPTION_NOT_AUTHORIZED"),
        ({"reviewAt": "2026-03-02T08:59:59Z"}, InvalidInput, "MALFORMED_INPUT"),
        ({"reviewAt": "2026-03-02T09:00:00Z"}, InvalidInput, "MALFORMED_INPUT"),
        ({"reviewAt": "2026-05-31T00:00:00"}, InvalidInput, "MALFORMED_INPUT"),
        ({"reviewAt": "never"}, InvalidInput, "MALFORMED_INPUT"),
        ({"reviewAt": "2026-05-31T09:00:00.000001Z"}, InvalidInput, "LIMIT_EXCEEDED"),
        ({"reviewAt": "9999-12-31T00:00:00Z"}, InvalidInput, "LIMIT_EXCEEDED"),
    ],
)
def test_a_hold_without_its_ground_is_refused_and_keeps_nothing(
    application: Application, caller: Caller, changes, error, code
):
    (r,) = register(application, caller, record("r"))
    with pytest.raises(error) as refused:
        hold(application, caller, r, **changes)
    assert refused.value.code == code
    assert delete(application, caller, r).state == "COMPLETED"


@pytest.mark.req("EXC-02")
@pytest.mark.parametrize("role", sorted(set(Role) - {Role.PRIVACY}))
def test_only_the_privacy_role_places_and_releases(application: Application, caller: Caller, role):
    (r,) = register(application, caller, record("r"))
    held = hold(application, caller, r)
    with pytest.raises(NotAuthorized) as placing:
        hold(application, with_roles(role), r)
    with pytest.raises(NotAuthorized) as releasing:
        application.holds.release(held.hold_id, with_roles(role))
    assert placing.value.code == releasing.value.code == "ROLE_REQUIRED"
    with pytest.raises(NotFound):
        application.holds.release(held.hold_id, FOREIGNER)
    assert application.holds.view(held.hold_id, caller).state == "active"


@pytest.mark.req("EXC-02")
def test_a_repeat_of_a_hold_meets_it_and_another_under_its_key_is_refused(
    application: Application, caller: Caller, clock: ManualClock
):
    a, b = register(application, caller, record("a"), record("b"))
    first = hold(application, caller, a, key="once")
    clock.advance(5)
    assert hold(application, caller, a, key="once") == first
    for other in (lambda: hold(application, caller, b, key="once"), lambda: _filed(application, caller, a, "once")):
        with pytest.raises(Conflict) as refused:
            other()
        assert refused.value.code == "IDEMPOTENCY_KEY_REUSED"
    assert len(nodes(application.database, "(n:Hold)")) == 1
    assert delete(application, caller, b).state == "COMPLETED"


def _filed(application: Application, caller: Caller, identity: str, key: str) -> object:
    return application.deletions.file(by_ids(identity), caller, key)


@pytest.mark.req("DEL-11")
def test_a_repeat_of_a_hold_meets_it_even_when_its_record_has_gone_since(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    held = hold(application, caller, r, key="once")
    application.holds.release(held.hold_id, caller)
    delete(application, caller, r)
    again = hold(application, caller, r, key="once")
    assert (again.hold_id, again.state) == (held.hold_id, "released")


class _Overtaken:
    """The database as it is, but the first transaction comes after everything that somebody else does meanwhile."""

    def __init__(self, database, meanwhile):
        self._database, self._meanwhile = database, [meanwhile]

    def __getattr__(self, name):
        return getattr(self._database, name)

    def transact(self, name, steps):
        while self._meanwhile:
            self._meanwhile.pop()()
        return self._database.transact(name, steps)


@pytest.mark.req("DEL-11")
def test_a_call_that_stood_still_while_it_was_made_elsewhere_is_answered(application: Application, caller: Caller):
    """A process that stopped for long: its hold was placed and released by a repeat, and the record has gone."""
    (r,) = register(application, caller, record("r"))
    placed = []

    def meanwhile():
        placed.append(hold(application, caller, r, key="once").hold_id)
        application.holds.release(placed[0], caller)
        delete(application, caller, r)

    late = replace(application, database=_Overtaken(application.database, meanwhile))
    again = hold(late, caller, r, key="once")
    assert [again.hold_id] == placed
    assert again.state == "released"


@pytest.mark.req("FIX-6-05")
def test_what_is_kept_under_a_hold_serves_an_auditor_alone(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r", content=CANARY))
    hold(application, caller, r)
    producer = with_roles(Role.PRODUCER, Role.REVIEWER)
    assert read_content(application.database, producer, r) == CANARY
    delete(application, caller, r)
    for role in set(Role) - {Role.AUDITOR}:
        with pytest.raises(NotFound):
            read_content(application.database, with_roles(role), r)
    assert read_content(application.database, with_roles(Role.AUDITOR, purpose="audit"), r) == CANARY
    with pytest.raises(NotFound):
        read_content(application.database, FOREIGNER, r)


@pytest.mark.req("DEL-10")
def test_nothing_new_can_be_made_of_what_is_kept(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    hold(application, caller, r)
    delete(application, caller, r)
    results = application.registrar.register([derived("late", "r"), record("next", supersedes=r), record("r")], caller)
    assert [result.code for result in results] == ["SOURCE_FENCED", "SOURCE_FENCED", "HOLD_ACTIVE"]


@pytest.mark.req("DEL-17", "EXC-01")
def test_a_kind_that_must_stay_is_kept_by_rule_also_after_a_hold_on_it_ends(application: Application, caller: Caller):
    """AMB-45: the ledger then names the rule, and the request does not come back to it for ever."""
    state = {"class": "workflow_state", "kind": "approval", "runId": "run-1", "stateVersion": 1}
    (r,) = register(application, caller, record("approval", **state, retentionClass="effect_audit"))
    held = hold(application, caller, r)
    view = delete(application, caller, r)
    application.holds.release(held.hold_id, caller)
    work(application)
    assert tombstones(application.database) == set()
    ended = application.deletions.view(view.request_id, caller)
    assert (ended.state, ended.counts["retained_under_exception"]) == ("COMPLETED_WITH_EXCEPTIONS", 1)
    assert [(entry.reason, entry.authority, entry.state) for entry in application.holds.exceptions(caller).items] == [
        ("effect_audit", "eligibility/effects_stay", "open")
    ]


@pytest.mark.req("EXC-06")
def test_a_released_record_with_another_source_is_invalidated_not_deleted(application: Application, caller: Caller):
    a, b, s = register(application, caller, record("a"), record("b"), derived("s", "a", "b", content={"text": CANARY}))
    held = hold(application, caller, s)
    view = delete(application, caller, a)
    application.holds.release(held.hold_id, caller)
    work(application)
    assert graph_outcomes(application, caller, view.request_id) == {a: "deleted", s: "invalidated"}
    assert properties_of(application.database, s)["state"] == "invalidated"
    assert properties_of(application.database, b)["state"] == "active"
    assert CANARY not in everything(application.database)


@pytest.mark.req("EXC-01")
def test_the_ledger_pages_without_gap_or_repeat_and_keeps_to_the_tenant(application: Application, caller: Caller):
    identities = register(application, caller, *(record(f"r{number}") for number in range(7)))
    hold(application, caller, *identities)
    delete(application, caller, *identities)
    seen, cursor = [], None
    while True:
        page = application.holds.exceptions(caller, page_size=3, cursor=cursor)
        seen += [entry.identity for entry in page.items]
        if page.complete:
            break
        cursor = page.next_cursor
    assert sorted(seen) == sorted(identities)
    assert application.holds.exceptions(FOREIGNER).items == ()
    for size in (0, 10_001):
        with pytest.raises(InvalidInput):
            application.holds.exceptions(caller, page_size=size)


@pytest.mark.req("EXC-01")
@pytest.mark.parametrize(
    "changes",
    [
        {"reviewAt": "2026-05-31T09:00:00Z"},
        {"policyRef": "field-service@1.0.0"},
        {"policyRef": "exceptions/incident_hold", "exceptionType": "incident_hold", "reviewAt": "2026-04-01T09:00:00Z"},
    ],
)
def test_a_hold_is_reviewed_within_the_days_of_its_type_and_names_what_declares_it(
    application: Application, caller: Caller, changes
):
    """Legal holds are reviewed within 90 days and incident holds within 30, to the instant."""
    (r,) = register(application, caller, record("r"))
    assert hold(application, caller, r, **changes).state == "active"


def test_a_review_that_lies_too_far_says_how_far_it_may(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    with pytest.raises(InvalidInput) as refused:
        hold(application, caller, r, reviewAt="2027-01-01T00:00:00Z")
    assert refused.value.details == {"limit": "reviewDays", "max": 90}
