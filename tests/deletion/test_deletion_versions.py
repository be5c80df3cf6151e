"""A new version that stands in quarantine is reached by the deletion of what it was to replace."""

from __future__ import annotations

import pytest

from graph.access import Caller
from graph.database.checker import check
from service.bootstrap import Application
from tests.support.deletion import CANARY, delete, everything, graph_outcomes, properties_of, register, tombstones
from tests.support.records import derived, record

CORRECTED = {"content": {"text": f"{CANARY}, corrected"}, "ownerId": None}


def _quarantined(application: Application, caller: Caller, stated) -> str:
    (result,) = application.registrar.register([stated], caller)
    assert (result.status, result.code) == ("quarantined", "MISSING_OWNER")
    return result.identity


@pytest.mark.req("DEL-01", "DEL-03")
def test_a_version_in_quarantine_goes_with_the_one_that_it_was_to_replace(application: Application, caller: Caller):
    (older,) = register(application, caller, record("v1", content={"text": CANARY}))
    newer = _quarantined(application, caller, record("v2", supersedes=older, **CORRECTED))
    assert properties_of(application.database, older)["state"] == "active"
    view = delete(application, caller, older)
    assert view.state == "COMPLETED"
    assert graph_outcomes(application, caller, view.request_id) == {older: "deleted", newer: "deleted"}
    assert tombstones(application.database) == {older, newer}
    assert CANARY not in everything(application.database)
    assert not check(application.database, application.policy).findings


@pytest.mark.req("DEL-01", "DEL-03")
def test_so_does_one_with_a_source_of_its_own_besides(application: Application, caller: Caller):
    older, _ = register(application, caller, record("v1", content={"text": CANARY}), record("other"))
    newer = _quarantined(application, caller, derived("v2", "other", supersedes=older, **CORRECTED))
    view = delete(application, caller, older)
    assert view.state == "COMPLETED"
    assert graph_outcomes(application, caller, view.request_id)[newer] in {"deleted", "invalidated"}
    assert CANARY not in everything(application.database)


@pytest.mark.req("DEL-01", "DEL-03")
def test_a_chain_of_versions_takes_the_one_in_quarantine_along(application: Application, caller: Caller):
    (first,) = register(application, caller, record("v1"))
    (second,) = register(application, caller, record("v2", supersedes=first))
    third = _quarantined(application, caller, record("v3", supersedes=second, **CORRECTED))
    assert delete(application, caller, first).state == "COMPLETED"
    assert tombstones(application.database) == {first, second, third}
    assert CANARY not in everything(application.database)


@pytest.mark.req("TMB-03")
def test_nothing_is_put_in_quarantine_behind_a_deleted_version(application: Application, caller: Caller):
    (older,) = register(application, caller, record("v1"))
    delete(application, caller, older)
    (result,) = application.registrar.register([record("v2", supersedes=older, **CORRECTED)], caller)
    assert (result.status, result.code) == ("refused", "TOMBSTONE_BLOCKED")
    assert CANARY not in everything(application.database)


def test_a_version_whose_successor_was_deleted_gets_another_one(application, caller):
    older, source = register(application, caller, record("v1"), record("source"))
    register(application, caller, derived("v2", "source", supersedes=older))
    fork = application.registrar.register([record("v2b", supersedes=older)], caller)[0]
    assert (fork.status, fork.code) == ("refused", "SUPERSESSION_FORK")
    delete(application, caller, source)
    (third,) = register(application, caller, record("v3", supersedes=older))
    again = application.registrar.register([record("v4", supersedes=older)], caller)[0]
    assert (again.status, again.code) == ("refused", "SUPERSESSION_FORK")
    assert check(application.database, application.policy).findings == ()
    register(application, caller, record("v4", supersedes=third))
