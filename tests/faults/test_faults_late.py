from __future__ import annotations

import pytest

from tests.faults.late import CHANNELS, write_late

WRITES = 1_000


@pytest.mark.req("TMB-03", "TMB-06", "DEL-13", "VER-05")
def test_nothing_that_was_deleted_comes_back_by_any_channel(application, caller):
    late = write_late(application, caller, WRITES)
    assert late.alive == []
    assert set(late.tried) == {*CHANNELS, "restore of the whole graph"}
    assert sum(late.tried.values()) == WRITES + 1
    assert set(late.said) == {"TOMBSTONE_BLOCKED", "refused by the constraint"}
