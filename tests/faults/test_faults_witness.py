from __future__ import annotations

import pytest

from tests.support.deletion import delete, outcomes_of, register
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
