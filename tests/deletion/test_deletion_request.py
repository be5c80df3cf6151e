"""Filing: who may, for what exactly, once; and that repeats, races and killed workers come to one end."""

from __future__ import annotations

import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from pydantic import ValidationError

from graph.access import Caller
from graph.clock import ManualClock
from graph.deletion.deletions import Deletions
from graph.deletion.model import DeletionInput
from graph.errors import Conflict, InvalidInput, NotAuthorized, NotFound
from graph.vocabulary import Role
from service.bootstrap import Application
from tests.support.deletion import (
    FOREIGNER,
    by_ids,
    delete,
    edges,
    family,
    files_of,
    fresh_key,
    nodes,
    outcomes_of,
    register,
    tombstones,
    with_copy,
    with_roles,
    work,
)
from tests.support.records import OTHER_TENANT, derived, record

UNKNOWN = "00000000-0000-7000-8000-000000000000"


def _subject(**subject) -> DeletionInput:
    return DeletionInput.model_validate({"subject": subject})


def _file(application: Application, caller: Caller, request: DeletionInput, key: str | None = None):
    return application.deletions.file(request, caller, key or fresh_key())


@pytest.mark.req("DEL-03", "DEL-05")
def test_a_request_is_durable_before_anything_is_removed(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    before = nodes(application.database, "(n:Identity)")
    filed = _file(application, caller, by_ids(r))
    assert nodes(application.database, "(n:Identity)") == before
    assert (filed.state, filed.complete, filed.scope) == ("RECEIVED", False, (r,))
    assert application.deletions.unfinished() == [filed.request_id]
    restarted = replace(application)
    work(restarted)
    assert restarted.deletions.view(filed.request_id, caller).state == "COMPLETED"


@pytest.mark.req("DEL-27", "DEL-03")
def test_the_scope_is_an_explicit_list_fixed_when_the_request_was_filed(application: Application, caller: Caller):
    mine = register(application, caller, *(record(f"m{n}", principalId="tech-17") for n in range(3)))
    register(application, caller, record("other-person", principalId="tech-18"))
    register(application, caller, record("set", principalId="tech-17", kind="dataset"))
    filed = _file(application, caller, _subject(principalId="tech-17", kinds=["document"]))
    (later,) = register(application, caller, record("later", principalId="tech-17"))
    assert filed.scope == tuple(sorted(mine))
    application.deletions.advance(filed.request_id)
    assert tombstones(application.database) == set(mine)
    assert later not in tombstones(application.database)


@pytest.mark.req("DEL-03", "DEL-27")
def test_everything_of_a_source_of_the_named_kinds_is_one_way_to_say_it(application: Application, caller: Caller):
    mine = register(application, caller, *(record(f"m{n}", sourceId="inventory-service") for n in range(2)))
    register(application, caller, record("elsewhere"))
    filed = _file(application, caller, _subject(sourceId="inventory-service", kinds=["document"]))
    assert filed.scope == tuple(sorted(mine))


@pytest.mark.req("DEL-03")
@pytest.mark.parametrize(
    "subject",
    [
        {},
        {"principalId": "tech-17"},
        {"sourceId": "manual-repository"},
        {"principalId": "nobody", "kinds": ["document"]},
        {"recordIds": [UNKNOWN], "principalId": "tech-17", "kinds": ["document"]},
        {"kinds": ["document"]},
    ],
    ids=["nothing", "all-of-a-person", "all-of-a-source", "matches-nothing", "two-ways", "kinds-alone"],
)
def test_a_vague_subject_is_refused(application: Application, caller: Caller, subject):
    register(application, caller, record("r", principalId="tech-17"))
    for call in (
        lambda: _file(application, caller, _subject(**subject)),
        lambda: application.deletions.preview(_subject(**subject), caller),
    ):
        with pytest.raises(InvalidInput) as refused:
            call()
        assert refused.value.code == "SCOPE_INEXACT"
    assert nodes(application.database, "(n:Request)") == []


@pytest.mark.req("DEL-03")
@pytest.mark.parametrize(
    "stated",
    [
        {"subject": {"recordIds": []}},
        {"subject": {"recordIds": [UNKNOWN], "tenant": "tenant-b"}},
        {"subject": {"recordIds": [UNKNOWN]}, "reasonCode": "he asked nicely"},
        {"subject": {"recordIds": [UNKNOWN] * 10_001}},
    ],
)
def test_a_malformed_request_does_not_even_parse(stated):
    with pytest.raises(ValidationError):
        DeletionInput.model_validate(stated)


@pytest.mark.req("DEL-04")
@pytest.mark.parametrize("role", sorted(set(Role) - {Role.PRIVACY, Role.SOURCE_OWNER}))
def test_a_role_without_a_grant_learns_nothing(application: Application, caller: Caller, role):
    (r,) = register(application, caller, record("r"))
    answers = set()
    for identity in (r, UNKNOWN):
        with pytest.raises(NotAuthorized) as refused:
            _file(application, with_roles(role), by_ids(identity))
        answers.add((str(refused.value), refused.value.code, str(refused.value.details)))
    assert len(answers) == 1
    assert answers.pop()[1] == "REQUESTER_UNAUTHORIZED"


@pytest.mark.req("DEL-04")
def test_foreign_and_unknown_ids_get_one_answer(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    (gone,) = register(application, caller, record("gone"))
    delete(application, caller, gone)
    before = nodes(application.database)
    answers = set()
    for request in (by_ids(r), by_ids(UNKNOWN), by_ids(gone), by_ids(r, UNKNOWN), _subject(names=[{"name": "r"}])):
        for call in (
            lambda request=request: _file(application, FOREIGNER, request),
            lambda request=request: application.deletions.preview(request, FOREIGNER),
        ):
            with pytest.raises(NotAuthorized) as refused:
                call()
            answers.add((str(refused.value), refused.value.code, str(refused.value.details)))
    assert len(answers) == 1
    assert nodes(application.database) == before


@pytest.mark.req("DEL-04")
def test_who_has_no_grant_cannot_find_out_whether_a_person_has_records(application: Application, caller: Caller):
    """AMB-21 for subjects that are no ids: same answer for a person with records and for one without."""
    register(application, caller, record("r", principalId="tech-17"))
    answers = set()
    for person in ("tech-17", "nobody"):
        with pytest.raises((NotAuthorized, InvalidInput)) as refused:
            _file(application, with_roles(Role.PRODUCER), _subject(principalId=person, kinds=["document"]))
        answers.add((str(refused.value), refused.value.code))
    assert {code for _, code in answers} == {"REQUESTER_UNAUTHORIZED"}
    assert len(answers) == 1


@pytest.mark.req("DEL-04")
def test_a_source_owner_reaches_its_kinds_only(application: Application, caller: Caller):
    owner = with_roles(Role.SOURCE_OWNER)
    preference = record(
        "p", **{"class": "preference"}, kind="user_preference", principalId="tech-17",
        confirmedAt="2026-03-01T00:00:00Z", expiresAt="2027-01-01T00:00:00Z", retentionClass="preference_term",
    )  # fmt: skip
    document, wish = register(application, caller, record("d"), preference)
    for identities in ((wish,), (document, wish)):
        with pytest.raises(NotAuthorized) as refused:
            _file(application, owner, by_ids(*identities))
        assert refused.value.code == "REQUESTER_UNAUTHORIZED"
    view = application.deletions.advance(_file(application, owner, by_ids(document)).request_id)
    assert view.state == "COMPLETED"
    assert tombstones(application.database) == {document}


@pytest.mark.req("DEL-04")
def test_no_other_tenant_sees_a_request(application: Application, caller: Caller):
    (r,) = register(application, caller, record("r"))
    view = delete(application, caller, r)
    answers = set()
    for request_id in (view.request_id, UNKNOWN):
        for call in (
            application.deletions.view,
            application.deletions.outcomes,
            application.deletions.receipt,
            application.deletions.retry,
        ):
            with pytest.raises(NotFound) as refused:
                call(request_id, FOREIGNER)
            answers.add((str(refused.value), refused.value.code))
    assert len(answers) == 1


@pytest.mark.req("DEL-04")
def test_authority_is_judged_when_the_deletion_runs(application: Application, caller: Caller):
    """Grants are revoked between filing and run: rejected, nothing removed, and a later filing works."""
    (r,) = register(application, caller, record("r"))
    filed = _file(application, with_roles(Role.PRIVACY), by_ids(r), "first")
    without = replace(application.policy, grants={})
    revoked = replace(application, policy=without)
    view = revoked.deletions.advance(filed.request_id)
    assert (view.state, view.complete, view.reason) == ("REJECTED", False, "REQUESTER_UNAUTHORIZED")
    assert tombstones(application.database) == set()
    with pytest.raises(Conflict):
        application.deletions.receipt(filed.request_id, caller)
    assert application.deletions.advance(filed.request_id).state == "REJECTED"
    again = _file(application, caller, by_ids(r), "second")
    assert again.request_id != filed.request_id
    assert application.deletions.advance(again.request_id).state == "COMPLETED"


@pytest.mark.req("DEL-22", "DEL-03")
def test_a_hostile_neighbour_with_a_look_alike_name_changes_nothing(application: Application, caller: Caller):
    """D24."""
    (victim,) = register(application, caller, record("user-42"))
    lookalikes = [
        "User_42",
        "user_42",
        "USER-42",
        "user-42 ",
        " user-42",
        "user\u201142",
        "user-42\u200b",
        "user-4\uff12",
    ]
    others = register(application, caller, *(record(name) for name in lookalikes))
    view = application.deletions.advance(_file(application, caller, _subject(names=[{"name": "user-42"}])).request_id)
    assert view.state == "COMPLETED"
    assert tombstones(application.database) == {victim}
    assert victim not in others


@pytest.mark.req("DEL-03", "DEL-04")
def test_a_name_has_one_canonical_form_and_a_mismatch_is_an_error(application: Application, caller: Caller):
    """D26: composed and decomposed are one name; case and blanks are not, and never match nothing silently."""
    composed = unicodedata.normalize("NFC", "Ána@Example.com")
    decomposed = unicodedata.normalize("NFD", "Ána@Example.com")
    assert composed != decomposed
    (identity,) = register(application, caller, record(composed))
    for name in ("ána@example.com", f"{composed} ", composed.upper()):
        with pytest.raises(NotAuthorized) as refused:
            _file(application, caller, _subject(names=[{"name": name}]))
        assert refused.value.code == "REQUESTER_UNAUTHORIZED"
    filed = _file(application, caller, _subject(names=[{"name": decomposed}]))
    assert filed.scope == (identity,)
    assert _file(application, caller, _subject(names=[{"name": composed}])).request_id == filed.request_id


@pytest.mark.req("DEL-03", "DEL-04")
def test_a_principal_is_found_in_every_unicode_form_of_its_name(application: Application, caller: Caller):
    composed, decomposed = (unicodedata.normalize(form, "Ána") for form in ("NFC", "NFD"))
    assert composed != decomposed
    (identity,) = register(application, caller, record("r", principalId=decomposed))
    filed = _file(application, caller, _subject(principalId=composed, kinds=["document"]))
    assert filed.scope == (identity,)


@pytest.mark.req("DEL-22")
def test_a_name_means_its_own_scope_and_tenant(application: Application, caller: Caller):
    one, two = register(application, caller, record("r", scope="one"), record("r", scope="two"))
    foreign = application.registrar.register([record("r", scope="one", tenantId=OTHER_TENANT)], FOREIGNER)[0]
    filed = _file(application, caller, _subject(names=[{"name": "r", "scope": "one"}]))
    application.deletions.advance(filed.request_id)
    assert filed.scope == (one,)
    assert tombstones(application.database) == {one}
    assert foreign.identity not in {one, two}


@pytest.mark.req("DEL-11", "FIX-6-03", "FIX-6-11")
def test_the_same_request_after_completion_says_the_same_again(
    application: Application, caller: Caller, clock: ManualClock
):
    """D10: three times, with its own key and with others, and by advancing it again."""
    ids = family(application, caller, {"r": (), "s": ("r",)})
    request = by_ids(ids["r"])
    first = application.deletions.advance(_file(application, caller, request, "once").request_id)
    receipt = application.deletions.receipt(first.request_id, caller)
    outcomes = outcomes_of(application, caller, first.request_id)
    before = nodes(application.database, "(n) WHERE NOT n:IdempotencyKey AND NOT n:WorkShard")
    for key in ("once", "twice", "thrice"):
        clock.advance(3_600)
        again = _file(application, caller, request, key)
        assert again == first
        assert application.deletions.advance(again.request_id) == first
        work(application)
        assert application.deletions.receipt(again.request_id, caller) == receipt
    assert outcomes_of(application, caller, first.request_id) == outcomes
    assert nodes(application.database, "(n) WHERE NOT n:IdempotencyKey AND NOT n:WorkShard") == before


@pytest.mark.req("DEL-11")
def test_one_key_is_for_one_body(application: Application, caller: Caller):
    a, b = register(application, caller, record("a"), record("b"))
    _file(application, caller, by_ids(a), "once")
    for other in (by_ids(b), by_ids(a, b), by_ids(a, reasonCode="AUTHORIZED_PROCESS")):
        with pytest.raises(Conflict) as refused:
            _file(application, caller, other, "once")
        assert refused.value.code == "IDEMPOTENCY_KEY_REUSED"
    foreign = application.registrar.register([record("a", tenantId=OTHER_TENANT)], FOREIGNER)[0]
    assert _file(application, FOREIGNER, by_ids(foreign.identity), "once").scope == (foreign.identity,)


@pytest.mark.req("DEL-12", "TMB-08", "FIX-6-07", "DEL-11")
@pytest.mark.parametrize("keys", [1, 20], ids=["one-key", "twenty-keys"])
def test_twenty_filings_and_twenty_runs_at_once_make_one_of_everything(
    application: Application, caller: Caller, keys: int
):
    ids = family(application, caller, {"r": (), "s": ("r",), "t": ("s", "r")})
    request = by_ids(ids["r"])
    with ThreadPoolExecutor(20) as pool:
        filed = list(pool.map(lambda n: _file(application, caller, request, f"race-{n % keys}"), range(20)))
        (request_id,) = {view.request_id for view in filed}
        list(pool.map(lambda _: application.deletions.advance(request_id), range(20)))
        receipts = set(pool.map(lambda _: application.deletions.receipt(request_id, caller), range(20)))
    assert len(receipts) == 1
    assert application.deletions.view(request_id, caller).state == "COMPLETED"
    assert tombstones(application.database) == set(ids.values())
    found = outcomes_of(application, caller, request_id)
    assert Counter((item.identity, item.store) for item in found) == {(i, "graph"): 1 for i in ids.values()}
    assert len(nodes(application.database, "(n:Request)")) == 1


@pytest.mark.req("DEL-12", "DEL-22")
def test_overlapping_requests_at_once_both_account_for_all_that_they_reach(application: Application, caller: Caller):
    ids = family(
        application,
        caller,
        {"a": (), "b": (), "c": (), "ab": ("a", "b"), "bc": ("b", "c"), "abc": ("ab", "bc"), "free": ()},
    )
    scopes = [("a", "b"), ("b", "c"), ("a",), ("c",), ("b",), ("a", "b", "c")]
    filed = [_file(application, caller, by_ids(*(ids[name] for name in scope))) for scope in scopes]
    with ThreadPoolExecutor(12) as pool:
        views = list(pool.map(application.deletions.advance, [view.request_id for view in filed] * 2))
    assert {view.state for view in views} == {"COMPLETED"}
    assert tombstones(application.database) == {ids[name] for name in ids if name != "free"}
    reached = {"a": {"a", "ab", "abc"}, "b": {"b", "ab", "bc", "abc"}, "c": {"c", "bc", "abc"}}
    for scope, view in zip(scopes, filed, strict=True):
        found = outcomes_of(application, caller, view.request_id)
        wanted = set().union(*(reached[name] for name in scope))
        assert sorted(item.identity for item in found) == sorted(ids[name] for name in wanted)


@pytest.mark.req("DEL-14")
def test_while_it_runs_nothing_calls_it_complete(application: Application, caller: Caller):
    (r,) = register(application, caller, with_copy("r"))
    files_of(application).write("r.bin", b"a copy")
    filed = _file(application, caller, by_ids(r))
    running = application.deletions.advance(filed.request_id)
    for view in (filed, running):
        assert not view.complete
        assert "COMPLETE" not in view.state
        with pytest.raises(Conflict) as refused:
            application.deletions.receipt(view.request_id, caller)
        assert refused.value.code == "STATE_CONFLICT"
    assert [(item.store, item.outcome, item.state) for item in sorted(
        outcomes_of(application, caller, filed.request_id), key=lambda item: item.store
    )] == [("files", None, "pending"), ("graph", "deleted", "settled")]  # fmt: skip


def test_progress_counts_up_to_all(application: Application, caller: Caller):
    ids = family(application, caller, {"r": (), "s": ("r",), "t": ("s",)})
    told: list[tuple[int, int]] = []
    filed = _file(application, caller, by_ids(ids["r"]))
    application.deletions.advance(filed.request_id, lambda done, total: told.append((done, total)))
    assert (told[0], told[-1]) == ((1, 1), (2, 2)), "the subject first, then the two that came of it"
    assert all(done <= total for done, total in told)


def test_requests_share_no_state_between_applications(application: Application):
    assert isinstance(application.deletions, Deletions)
    assert edges(application.database) == []


@pytest.mark.req("DEL-22")
def test_a_derivative_of_another_requests_scope_is_not_touched(application: Application, caller: Caller):
    a, b = register(application, caller, record("a"), record("b"))
    of_b = register(application, caller, derived("of-b", "b"))
    delete(application, caller, a)
    assert tombstones(application.database) == {a}
    assert nodes(application.database, "(n:Record {fence: 'x'})") == []
    assert {b, *of_b}.isdisjoint(tombstones(application.database))
