from __future__ import annotations

from collections import Counter

import pytest

from tests.faults.canary import answers, delete_marked, places, serving


@pytest.mark.req("TMB-02", "DEL-05")
def test_what_was_deleted_is_in_no_place_that_outlives_it(application, tmp_path):
    log = tmp_path / "log"
    with serving(application, log) as client:
        said = answers(client, delete_marked(application, client, 3))
    assert Counter(places(application, log, said).values()) == {0: 6}
    assert len(said) > 10
