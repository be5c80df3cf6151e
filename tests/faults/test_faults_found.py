"""What the kill matrix found, each as a test of its own."""

from __future__ import annotations

import pytest

from graph.failpoints import NoFailpoints
from tests.support.deletion import Killed, by_ids, delete, fresh_key, outcomes_of, register
from tests.support.records import TENANT, record


@pytest.mark.req("DEL-11")
def test_what_was_asked_for_has_no_witness_whichever_version_goes_first(application, caller):
    """Found by the kill matrix: a version that was settled after the one before it named that one as its witness."""
    (older,) = register(application, caller, record("r0"))
    (newer,) = register(application, caller, record("r", supersedes=application.keys.identity(TENANT, "r0")))
    application.database.administer("MATCH (n:Identity {identity: $older}) SET n.fence = 'earlier'", older=older)
    view = delete(application, caller, newer, older)
    found = outcomes_of(application, caller, view.request_id)
    assert {(item.identity, item.depth, item.witness_edge) for item in found} == {(older, 0, None), (newer, 0, None)}


class _Dying:
    """Failpoints at which the process ends."""

    def __init__(self, name):
        self._name = name

    def reached(self, name):
        if name == self._name:
            raise Killed


@pytest.mark.req("EXC-01", "DEL-07")
@pytest.mark.parametrize("place", ["verify.before_commit", "verify.after_commit"])
def test_a_failure_that_the_reading_back_found_has_its_entry_whatever_happened_in_between(application, caller, place):
    """The failure was once written in a transaction of its own, and a kill after it lost the entry."""
    (root,) = register(application, caller, record("root"))
    filed = application.deletions.file(by_ids(root), caller, fresh_key()).request_id
    application.database._failpoints = _Dying("mark_request_finished.before_commit")
    try:
        with pytest.raises(Killed):
            application.deletions.advance(filed)
        application.database.administer("MATCH (n:Identity {identity: $root}) SET n.content = 'again'", root=root)
        application.database._failpoints = _Dying(place)
        with pytest.raises(Killed):
            application.deletions.conclude(filed)
    finally:
        application.database._failpoints = NoFailpoints()
    application.deletions.conclude(filed)
    assert application.deletions.view(filed, caller).state == "CLOSED_WITH_OWNED_FAILURES"
    assert [entry.reason for entry in application.holds.exceptions(caller).items] == ["VERIFICATION_FAILED"]
