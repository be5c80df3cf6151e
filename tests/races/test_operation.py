"""What an operation says of its producer goes with its last output, also where the last two go at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from graph.access import Caller
from graph.database.checker import check
from graph.database.database import Database
from graph.database.rows import Row
from service.bootstrap import Application
from tests.support.deletion import CANARY, by_ids, delete, everything, fresh_key, hold, register, tombstones
from tests.support.records import record

MADE = {
    "operation": {"operationId": "op-1", "type": "import"},
    "inferenceMethod": f"{CANARY}-method",
    "producerId": f"{CANARY}-producer",
    "producerVersion": f"{CANARY}-version",
}


class Watched:
    """The real database; `then` is called once, inside the transaction, behind the statement of that name."""

    def __init__(self, real: Database, name: str, then: Callable[[], object]) -> None:
        self._real = real
        self._name = name
        self._then = then
        self._done = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def transact(self, name: str, steps: Callable[[Any], Any]) -> Any:
        return self._real.transact(name, lambda statements: steps(_Statements(self, statements)))

    def ran(self, name: str) -> None:
        if name == self._name and not self._done:
            self._done = True
            self._then()


class _Statements:
    def __init__(self, database: Watched, real: Any) -> None:
        self._database = database
        self._real = real

    def run(self, name: str, /, **params: Any) -> list[Row]:
        rows = self._real.run(name, **params)
        self._database.ran(name)
        return rows


def _watched(application: Application, name: str, then: Callable[[], object]) -> Application:
    database: Any = Watched(application.database, name, then)
    return replace(application, database=database)


def _is_blocked(database: Database) -> bool:
    """Whether some transaction of the server waits for another's lock."""
    rows = database.administer("SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status")
    return bool(rows)


def _both_before_either_commits(application: Application, name: str, first: str, second: str) -> None:
    """Advance two requests so that each has run the statement, or waits for the other's lock, before one commits."""
    ran = Event()
    with ThreadPoolExecutor(1) as pool:

        def start_the_other() -> None:
            other = _watched(application, name, ran.set)
            running.append(pool.submit(other.deletions.advance, second))
            while not (ran.wait(0.02) or running[0].done() or _is_blocked(application.database)):
                pass

        running: list[Any] = []
        _watched(application, name, start_the_other).deletions.advance(first)
        running[0].result()


def _operations(application: Application) -> list[dict[str, object]]:
    rows = application.database.administer("MATCH (o:Operation) RETURN properties(o) AS p")
    return [dict(row.mapping("p")) for row in rows]


def _filed(application: Application, caller: Caller, identity: str) -> str:
    return application.deletions.file(by_ids(identity), caller, fresh_key()).request_id


def test_two_requests_for_the_last_two_outputs_leave_nothing_of_the_producer(application: Application, caller: Caller):
    one, two = register(application, caller, record("one", **MADE), record("two", **MADE))
    first, second = _filed(application, caller, one), _filed(application, caller, two)
    _both_before_either_commits(application, "create_tombstones", first, second)
    _nothing_is_left(application, one, two)


def test_two_released_holds_on_the_last_two_outputs_leave_nothing_of_the_producer(
    application: Application, caller: Caller
):
    one, two = register(application, caller, record("one", **MADE), record("two", **MADE))
    holds = [hold(application, caller, identity).hold_id for identity in (one, two)]
    first, second = (delete(application, caller, identity).request_id for identity in (one, two))
    for hold_id in holds:
        application.holds.release(hold_id, caller)
    _both_before_either_commits(application, "mark_outcomes_resumed", first, second)
    _nothing_is_left(application, one, two)


def _nothing_is_left(application: Application, *identities: str) -> None:
    assert tombstones(application.database) == set(identities)
    (left,) = _operations(application)
    assert {name for name in left if name in {"method", "producerId", "producerVersion"}} == set()
    assert CANARY not in everything(application.database)
    assert not check(application.database, application.policy).findings


def test_an_operation_that_still_has_an_output_keeps_what_it_says(application: Application, caller: Caller):
    one, _ = register(application, caller, record("one", **MADE), record("two", **MADE))
    delete(application, caller, one)
    (kept,) = _operations(application)
    assert (kept["method"], kept["producerId"]) == (f"{CANARY}-method", f"{CANARY}-producer")


@pytest.mark.parametrize("field", ["method", "producerId", "producerVersion"])
def test_an_operation_that_outlived_its_outputs_and_still_talks_is_found(
    application: Application, caller: Caller, field
):
    (one,) = register(application, caller, record("one", **MADE))
    delete(application, caller, one)
    assert not check(application.database, application.policy).findings
    application.database.administer(f"MATCH (o:Operation) SET o.{field} = 'left'")
    found = check(application.database, application.policy).findings
    assert [finding.invariant.value for finding in found] == ["I6"]
