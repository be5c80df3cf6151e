"""Running the state machine, from a test and from the command line."""

from __future__ import annotations

import sys

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import run_state_machine_as_test

from graph.database.database import Database
from graph.policy.model import Policy
from tests.properties.machine import LifeCycle, Tally


def run(database: Database, policy: Policy, *, examples: int, steps: int, seed: int, shrinks: bool = True) -> Tally:
    """Run so many examples of at most so many steps; a failing one is made small and raised."""
    tally = Tally()

    def machine() -> LifeCycle:
        return LifeCycle(database, policy, tally)

    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    sys.stdout.write(f"state machine: seed {seed}\n")
    try:
        run_state_machine_as_test(seeded(seed)(machine), settings=profile)
    finally:
        sys.stdout.write(f"state machine: {tally}\n")
    return tally
