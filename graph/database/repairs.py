"""What `sequela check --fix` mends: three things that are safe to mend by themselves, and nothing else.

A lease that ran out is given back, a request that waits for nothing is handed to the workers again, and a fence that
provably belongs to no deletion is lifted. Each is judged anew under the locks of what it changes, so it is right whoever
else writes meanwhile, and doing it again changes nothing. Everything else means that somebody wrote past the service:
mending that would hide who wrote, and could remove what is wanted as evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from graph.database.checker import FINDINGS_LISTED_MAX, Progress
from graph.database.checker_lists import TERMINAL_STATES, affected_params
from graph.database.database import Database
from graph.database.pages import pages
from graph.policy.model import Policy
from graph.vocabulary import DeletionState

# A fence is safe to lift only once those that it hangs on are lifted: so many steps of a chain in one call.
FENCE_ROUNDS_MAX: Final = 50
_WORKING_STATES: Final = sorted(state.value for state in DeletionState if state.value not in TERMINAL_STATES)


@dataclass(frozen=True)
class Repair:
    """What was mended in one way: how often, and the first `FINDINGS_LISTED_MAX` ids."""

    what: str
    count: int
    identities: tuple[str, ...]


def repair(
    database: Database, policy: Policy, *, now: int, progress: Progress | None = None, batch_rows: int = 5_000
) -> tuple[Repair, ...]:
    """Mend what is safe to mend; the ways in which nothing was there to mend are left out.

    Args:
        database: the graph.
        policy: says along which edges a deletion goes.
        now: the present instant, past which a lease has run out.
        progress: told after each page what is mended and how many of it were.
        batch_rows: identities in a page.

    Raises:
        Unavailable: the database does not answer.
    """
    mender = _Mender(database, policy, progress, batch_rows)
    repairs = (
        _told("leases given back", database.write("mark_leases_released", now=now)[0].texts("released")),
        _told("requests handed to the workers again", mender.unwait()),
        _told("fences lifted", mender.lift()),
    )
    return tuple(one for one in repairs if one.count)


def _told(what: str, identities: list[str]) -> Repair:
    return Repair(what, len(identities), tuple(sorted(identities)[:FINDINGS_LISTED_MAX]))


class _Mender:
    def __init__(self, database: Database, policy: Policy, progress: Progress | None, batch_rows: int) -> None:
        self._database = database
        self._affected = affected_params(policy)
        self._progress = progress
        self._batch_rows = batch_rows

    def unwait(self) -> list[str]:
        unwaited: list[str] = []
        for page in pages(self._database, "list_requests_idle", self._batch_rows):
            if idle := page.texts("idle"):
                rows = self._database.write("mark_requests_unwaited", requestIds=sorted(idle))
                unwaited += rows[0].texts("unwaited")
            self._tell("requests", len(unwaited))
        return unwaited

    def lift(self) -> list[str]:
        lifted: list[str] = []
        for _ in range(FENCE_ROUNDS_MAX):
            fresh = self._lift_once()
            if not fresh:
                break
            lifted += fresh
        return lifted

    def _lift_once(self) -> list[str]:
        lifted: list[str] = []
        for page in pages(self._database, "list_fences_untouched", self._batch_rows, **self._affected):
            if untouched := page.texts("untouched"):
                rows = self._database.write(
                    "mark_fences_lifted",
                    identities=sorted(untouched),
                    workingStates=_WORKING_STATES,
                    **self._affected,
                )
                lifted += rows[0].texts("lifted")
            self._tell("fences", len(lifted))
        return lifted

    def _tell(self, what: str, count: int) -> None:
        if self._progress:
            self._progress(what, count)
