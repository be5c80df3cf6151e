"""A connection cut during each kind of call, with one try: the answer is lost with the effect there, and without it.

Whoever repeats the call, and goes on, comes to the end of the run in which nothing was cut: one effect, and not two.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import RetryPolicy, open_database
from graph.errors import OutcomeUnknown, Unavailable
from service.bootstrap import Application
from tests.faults.ending import difference, ending
from tests.faults.expected import ABSENT_BY_THEN, REOPENED, SECOND_ATTEMPT
from tests.faults.stories import CALLER, new_home, request_states, review_at, world
from tests.support.deletion import by_ids, hold, work
from tests.support.proxy import cutting_proxy
from tests.support.records import TENANT

ONCE = RetryPolicy(total_seconds=0.0)
Step = Callable[[Application], object]


def _named(application: Application, name: str) -> str:
    return application.keys.identity(TENANT, name)


def _file(application: Application) -> object:
    return application.deletions.file(by_ids(_named(application, "r"), _named(application, "r0")), CALLER, "delete")


def _advance(application: Application) -> None:
    for row in application.database.administer("MATCH (q:Request) RETURN q.requestId AS id"):
        application.deletions.advance(row.text("id"))


def _conclude(application: Application) -> None:
    for row in application.database.administer("MATCH (q:Request) RETURN q.requestId AS id"):
        application.deletions.conclude(row.text("id"))


def _hold(application: Application) -> object:
    return hold(application, CALLER, _named(application, "held"), key="hold", reviewAt=review_at(application))


def _release(application: Application) -> None:
    for row in application.database.administer("MATCH (h:Hold) RETURN h.holdId AS id"):
        application.holds.release(row.text("id"), CALLER)


def _register(application: Application) -> object:
    return application.registrar.register(world(application), CALLER)


def _worked(application: Application) -> None:
    """All of the stores' work, so that nothing is left but the conclusion."""
    from service.workers.worker import Worker  # noqa: PLC0415 - heavy

    silent = replace(application)
    silent.__dict__["deletions"] = _Silent(silent.deletions)
    Worker(silent, "worker-1").drain_stores()


class _Silent:
    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def conclude(self, request_id):
        """Not yet."""


# The calls of a deletion in their order, and a query that says whether a call had its effect.
STEPS: dict[str, tuple[Step, str]] = {
    "register": (_register, "RETURN COUNT { (:Record) } > 0 AS done"),
    "hold": (_hold, "RETURN COUNT { (:Hold) } > 0 AS done"),
    "file": (_file, "RETURN COUNT { (:Request) } > 0 AS done"),
    "settle": (_advance, "RETURN COUNT { (:Outcome) } > 0 AS done"),
    "work": (_worked, "RETURN COUNT { (a:Attempt) WHERE a.finishedAt IS NOT NULL } > 0 AS done"),
    "conclude": (_conclude, "RETURN COUNT { (q:Request) WHERE q.receipt IS NOT NULL } > 0 AS done"),
    "release": (_release, "RETURN COUNT { (h:Hold {state: 'released'}) } > 0 AS done"),
}


def _told(application: Application, home, cut: str = "", through: Callable[[Application], object] | None = None):
    """One run on an empty graph; `through` makes the call `cut`, and answers whether it had its effect."""
    application.database.administer("MATCH (n) WHERE NOT n:SchemaVersion DETACH DELETE n")
    new_home(home)
    fresh = replace(application, settings=application.settings.model_copy(update={"home": home, "shards": 1}))
    fresh.prepare()
    seen = None
    for name, (step, _) in STEPS.items():
        if name == cut and through is not None:
            seen = through(fresh)
        step(fresh)
    work(fresh)
    return seen, ending(fresh.database, home)


@pytest.fixture
def through(neo4j_server):
    """A proxy that cuts, and a database that tries once through it."""
    address = urlsplit(neo4j_server.uri)
    with cutting_proxy(address.hostname, address.port) as proxy:
        database = open_database(
            f"bolt://127.0.0.1:{proxy.port}",
            neo4j_server.user,
            neo4j_server.password,
            load_catalogue(default_query_folder()),
            ONCE,
        )
        yield proxy, database
        database.close()


def _connected(database) -> None:
    """With a connection that works: the first one after a cut may be a dead one of the pool."""
    for _ in range(3):
        with suppress(Unavailable):
            database.administer("RETURN 1 AS one")
            return
    raise AssertionError("no connection comes to be")


@pytest.mark.req("DEL-03", "DEL-11", "DEL-14")
@pytest.mark.parametrize("cut", STEPS)
def test_a_call_whose_connection_was_cut_is_repeated_to_the_same_end(application, through, tmp_path, cut):
    proxy, database = through
    step, asked = STEPS[cut]
    seen: set[bool] = set()
    # Where the answer to an attempt's beginning is lost, nobody knows of that attempt, and another one is made.
    may_differ = (*REOPENED, *(SECOND_ATTEMPT + ABSENT_BY_THEN if cut == "work" else ()))

    def whole(fresh):
        _connected(database)
        before = dict(proxy.passed)
        step(replace(fresh, database=database))
        return {direction: proxy.passed[direction] - before[direction] for direction in ("up", "down")}

    def broken(direction, after, fresh):
        _connected(database)
        cuts = proxy.cuts
        proxy.cut(direction, after)
        with suppress(Unavailable, OutcomeUnknown):
            step(replace(fresh, database=database))
        # A conversation is a little longer or shorter each time; one that ended before the place was not cut.
        if proxy.cuts > cuts:
            seen.add(application.database.administer(asked)[0].truth("done"))

    lengths, free = _told(application, tmp_path / "free", cut, whole)
    for direction, length in lengths.items():
        for after in (20, length // 2, length - 3):
            home = tmp_path / f"{direction}-{after}"
            _, end = _told(application, home, cut, lambda fresh, d=direction, a=after: broken(d, a, fresh))
            found = [line for line in difference(free, end) if not any(re.fullmatch(one, line) for one in may_differ)]
            assert found == [], f"{cut} cut {direction} after {after} of {length} bytes"
            assert set(request_states(application.database)) == {"CLOSED_WITH_OWNED_FAILURES"}
    assert seen == {True, False}
