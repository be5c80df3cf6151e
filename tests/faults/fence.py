"""The fence race of `tests/races` at its full number of rounds."""

from __future__ import annotations

from collections.abc import Iterator

from graph.access import Caller
from service.bootstrap import Application
from tests.races.test_fence import _fencer, _race, _roots

ROUNDS = 5_000


def run_fence(application: Application, caller: Caller, rounds: int = ROUNDS) -> Iterator[str]:
    """Half of the rounds on sparse nodes, half on dense ones."""
    for dense in (False, True):
        roots = _roots(application, caller, rounds // 2, dense=dense)
        tally = _race(application.registrar, caller, roots, _fencer(application))
        kind = "dense" if dense else "sparse"
        yield f"{len(roots)} rounds, {kind}: {tally.created} created, {tally.refused} refused, {tally.escaped} escaped"
        application.database.administer(
            "MATCH (n) WHERE n:Record OR n:Padding OR n:Operation CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 100 ROWS"
        )
