"""The life cycle of records against a model of dictionaries; `python3 -m tests.properties` runs it for longer."""

from __future__ import annotations

import pytest

from tests.properties.running import run

EXAMPLES = 25
STEPS = 30
SEED = 4


@pytest.mark.req("TMB-06", "DEL-13")
def test_the_service_does_what_the_model_says(database, policy):
    tally = run(database, policy, examples=EXAMPLES, steps=STEPS, seed=SEED)
    assert tally.deaths > 0
    assert tally.loads > 0
