"""What is remembered of sources saves a look-up and never admits what the graph refuses; concurrent calls share a write."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from graph.database.database import ConstraintViolated, Database
from graph.errors import Unavailable
from graph.records.commit import Committer, Registration
from graph.records.facts import FactMemory
from tests.support.records import derived, record


class CountingDatabase(Database):
    """A real database that notes which queries ran."""

    def __init__(self, database: Database) -> None:
        super().__init__(database._driver, database.catalogue, database._retry)
        self.ran: list[str] = []

    def read(self, name, /, **params):
        self.ran.append(name)
        return super().read(name, **params)

    def write(self, name, /, **params):
        self.ran.append(name)
        return super().write(name, **params)


class HeldDatabase:
    """Lets the first write wait until it is told to go on; answers every row as created, or fails as it is told to."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.sizes: list[int] = []
        self._fault = fault
        self._lock = threading.Lock()

    def write(self, _name, /, **params):
        with self._lock:
            self.sizes.append(len(params["rows"]))
            is_early = len(self.sizes) <= 2
        if is_early:
            self.begun.set()
            assert self.go_on.wait(30)
        if len(params["rows"]) > 1 and self._fault is not None:
            raise self._fault
        return [Answer([row["index"] for row in params["rows"]])]


class Answer:
    def __init__(self, indices: list[int]) -> None:
        self._indices = indices

    def numbers(self, _key: str) -> list[int]:
        return self._indices


def counted(room):
    database = CountingDatabase(room.application.database)
    application = replace(room.application, database=database)
    return replace(room, application=application), database


def test_a_record_with_remembered_sources_takes_one_round_trip(room):
    room, database = counted(room)
    room.many(record("a"), record("b"))
    database.ran.clear()
    room.one(derived("c", "a", "b"))
    assert database.ran == ["create_records"]


def test_a_record_with_unknown_sources_takes_two_round_trips(room):
    room.many(record("a"), record("b"))
    fresh, database = counted(room)
    fresh.one(derived("c", "a", "b"))
    assert database.ran == ["list_identities", "create_records"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("SET n.fence = 'q'", "SOURCE_FENCED"),
        ("SET n.state = 'quarantined'", "QUARANTINED_RECORD"),
        ("SET n.state = 'invalidated'", "SOURCE_NOT_ELIGIBLE"),
        ("SET n.permissions = ['role:auditor']", "AUDIENCE_WIDENING"),
        ("SET n.purposes = ['training']", "SOURCE_NOT_FOUND"),
        ("SET n.tenantId = 'tenant-b'", "SOURCE_NOT_FOUND"),
        ("REMOVE n.envelope", "SOURCE_NOT_ELIGIBLE"),
        ("SET n.envelope = replace(n.envelope, 'untrusted_text', 'wellknown_text')", "SOURCE_NOT_ELIGIBLE"),
        ("DETACH DELETE n", "SOURCE_NOT_FOUND"),
    ],
)
def test_what_changed_since_it_was_remembered_is_judged_anew(room, change, code):
    source = room.one(record("a"))
    room.one(derived("b", "a"))
    room.cypher(f"MATCH (n:Identity {{identity: $identity}}) {change}", identity=source)
    assert room.verdict(derived("c", "a")) == ("refused", code)


def test_a_deleted_source_is_refused_although_it_is_remembered(room):
    room.one(record("a"))
    room.delete(names=[{"name": "a"}])
    assert room.verdict(derived("b", "a")) == ("refused", "TOMBSTONE_BLOCKED")


def test_a_repeat_and_another_record_of_the_name_are_told_apart_although_nothing_is_looked_up_first(room):
    room.one(record("a"))
    room.one(derived("b", "a"))
    assert room.verdict(derived("b", "a")) == ("unchanged", None)
    assert room.verdict(derived("b", "a", producerVersion="2")) == ("refused", "RECORD_IMMUTABLE")


def test_the_memory_of_facts_has_a_limit():
    memory = FactMemory(facts_max=2)
    memory.remember({"identity": name} for name in ("a", "b", "c"))
    assert sorted(memory._facts) == ["b", "c"]


def test_many_callers_at_once_get_their_own_verdicts(room, neighbour):
    room.many(*(record(f"s{number}") for number in range(4)))
    rooms = [room if slot % 3 else neighbour for slot in range(24)]
    with ThreadPoolExecutor(12) as pool:
        calls = [
            pool.submit(one.verdict, derived(f"d{slot // 2}", f"s{slot % 4 // 2}", tenantId=one.caller.tenant_id))
            for slot, one in enumerate(rooms)
        ]
        verdicts = [call.result() for call in calls]
    assert {verdict for slot, verdict in enumerate(verdicts) if slot % 3 == 0} == {("refused", "SOURCE_NOT_FOUND")}
    own = [verdict for slot, verdict in enumerate(verdicts) if slot % 3]
    assert set(own) <= {("created", None), ("unchanged", None), ("refused", "RECORD_IMMUTABLE")}
    rows = room.cypher("MATCH (n:Record)-[:SUMMARIZED_FROM]->() RETURN count(DISTINCT n) AS made")
    assert rows[0].number("made") == own.count(("created", None))


def _registration(name: str) -> Registration:
    return Registration([{"index": 0}], frozenset({name}), [], frozenset({name}))


def _queued(database: HeldDatabase, names: list[str]) -> tuple[Committer, list]:
    """Two writers that are held, and the rest in the queue behind them."""
    committer = Committer(database)
    pool = ThreadPoolExecutor(len(names))
    calls = [pool.submit(committer.create, _registration(name)) for name in names]
    assert database.begun.wait(30)
    while len(committer._waiting) < len(names) - 2:
        threading.Event().wait(0.001)
    database.go_on.set()
    pool.shutdown()
    return committer, calls


def test_what_waits_together_is_written_together():
    database = HeldDatabase()
    _, calls = _queued(database, ["a", "b", "c", "d", "e", "f"])
    assert [call.result() for call in calls] == [frozenset({0})] * 6
    assert sum(database.sizes) == 6
    assert len(database.sizes) < 6


def test_what_claims_the_same_is_never_written_together():
    database = HeldDatabase()
    _, calls = _queued(database, ["a"] * 6)
    assert [call.result() for call in calls] == [frozenset({0})] * 6
    assert database.sizes == [1] * 6


def test_a_group_that_fails_goes_one_by_one():
    database = HeldDatabase(ConstraintViolated())
    _, calls = _queued(database, ["a", "b", "c", "d", "e"])
    assert [call.result() for call in calls] == [frozenset({0})] * 5


def test_all_of_a_group_learn_that_the_database_is_away():
    database = HeldDatabase(Unavailable("away"))
    committer, calls = _queued(database, ["a", "b", "c", "d", "e"])
    faults = [call.exception() for call in calls]
    assert {type(fault) for fault in faults} == {Unavailable, type(None)}
    assert committer._writers == 0
