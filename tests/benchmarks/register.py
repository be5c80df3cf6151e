"""Registering under the fence, against the driver writing the same rows with the same lock and re-read, and PostgreSQL."""

from __future__ import annotations

import gc
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg

from graph.access import Caller
from graph.envelope import RecordInput
from graph.records.draft import Drafter, completed
from graph.records.lookup import known_among
from service.bootstrap import Application
from tests.benchmarks.measure import Measurement, measure_pairs, row
from tests.benchmarks.postgres import postgres_server
from tests.support.records import derived, record

PARENTS = 2_000
SINGLES = 300
BATCH_RUNS = 7
CLIENTS = 16
CALLS_A_CLIENT = 40
CLIENT_RUNS = 5

RAW = (
    "UNWIND $locks AS id MATCH (p:Identity {identity: id}) SET p:Identity WITH count(p) AS locked "
    "UNWIND $rows AS row CALL (row) { UNWIND row.links AS link MATCH (p:Identity {identity: link.identity}) "
    "WHERE p:Record AND p.fence IS NULL RETURN count(p) AS free } WITH row WHERE free = size(row.links) "
    "CREATE (c:Identity:Record) SET c = row.properties CREATE (o:Operation) SET o = row.operation "
    "CREATE (c)-[:PRODUCED_BY]->(o) "
    "WITH c, o, row UNWIND row.links AS link MATCH (p:Identity {identity: link.identity}) "
    "CREATE (c)-[:SUMMARIZED_FROM]->(p) CREATE (o)-[:USED]->(p) RETURN count(*) AS edges"
)
_TABLES = """
CREATE TABLE record (identity text PRIMARY KEY, tenant text, fence text, properties jsonb);
CREATE TABLE edge (child text, parent text, type text, PRIMARY KEY (child, parent, type));
CREATE INDEX ON edge (parent);
"""


def run_register(application: Application, caller: Caller) -> Iterator[str]:
    """One record with two sources (remembered ones and unknown ones), batches of 1,000, and 16 clients at once."""
    parents = load_parents(application, caller)
    picks = random.Random(3)
    for size, runs in ((1, SINGLES), (1_000, BATCH_RUNS)):
        yield row(f"register {size:,} with two sources each", *_measured(application, caller, parents, size, runs))
    forgetful = replace(application)
    cold = _measured(
        application, caller, parents, 1, SINGLES, before=lambda: forgetful.registrar._facts.forget(parents)
    )
    yield row("register 1 with two sources, neither remembered", *cold)
    yield from _clients(application, caller, parents, picks)


def _measured(
    application: Application,
    caller: Caller,
    parents: list[str],
    size: int,
    runs: int,
    before: Callable[[], None] = lambda: None,
) -> tuple[Measurement, ...]:
    """By turns, inputs and rows being made beforehand; no collection of garbage has to walk over these."""
    picks = random.Random(size)
    warm = 200 if size == 1 else 3
    inputs = [[derived_from(picks.sample(parents, 2)) for _ in range(size)] for _ in range(runs + warm)]
    rows = [raw_rows(application, caller, parents, picks, size) for _ in range(runs + warm)]

    def ours(number: int) -> None:
        before()
        results = application.registrar.register(inputs[number], caller)
        assert all(result.status == "created" for result in results)

    def raw(number: int) -> None:
        write_raw(application, rows[number])

    for number in range(runs, runs + warm):
        ours(number)
        raw(number)
    gc.freeze()
    return measure_pairs(ours, raw, runs)


def load_parents(application: Application, caller: Caller) -> list[str]:
    records = [record(f"benchmark-parent-{number}", content="c" * 200) for number in range(PARENTS)]
    batches = [records[start : start + 1_000] for start in range(0, PARENTS, 1_000)]
    return [result.identity for batch in batches for result in application.registrar.register(batch, caller)]


def derived_from(parents: list[str]) -> RecordInput:
    sources = [{"recordId": parent, "edge": "SUMMARIZED_FROM"} for parent in parents]
    return derived(None, sources=sources, permissions=["role:producer"], content="c" * 200)


def raw_rows(
    application: Application, caller: Caller, parents: list[str], picks: random.Random, size: int
) -> list[Mapping[str, object]]:
    """The rows that registering would write: the same properties, operation and edges."""
    drafter = Drafter(caller, application.policy, application.keys, application.ids, application.clock.now())
    drafts = [drafter.draft(number, derived_from(picks.sample(parents, 2))) for number in range(size)]
    known = known_among(application.database, frozenset().union(*(draft.touches for draft in drafts)))
    return [completed(draft, known) for draft in drafts]


def write_raw(application: Application, rows: list[Mapping[str, object]]) -> None:
    locks = sorted({link["identity"] for item in rows for link in item["links"]})
    application.database.administer(RAW, rows=rows, locks=locks)


def _clients(application: Application, caller: Caller, parents: list[str], picks: random.Random) -> Iterator[str]:
    """Calls of one record each by 16 clients at once; the time of all of them, and of PostgreSQL's transactions."""
    total = CLIENTS * CALLS_A_CLIENT
    with postgres_server() as address, ThreadPoolExecutor(CLIENTS) as pool:
        connections = [psycopg.connect(address) for _ in range(CLIENTS)]
        _postgres_tables(connections[0], parents)
        work = [
            [
                [derived_from(picks.sample(parents, 2)) for _ in range(CALLS_A_CLIENT)],
                raw_rows(application, caller, parents, picks, CALLS_A_CLIENT),
            ]
            for _ in range(CLIENTS * (CLIENT_RUNS + 1) * 2)
        ]
        gc.freeze()
        seconds: dict[str, list[float]] = {"ours": [], "postgres": [], "raw": []}
        for run in range(CLIENT_RUNS + 1):
            slots = work[run * CLIENTS : (run + 1) * CLIENTS]
            others = work[(run + CLIENT_RUNS + 1) * CLIENTS : (run + CLIENT_RUNS + 2) * CLIENTS]
            timed = {
                "ours": _together(pool, lambda slot, slots=slots: _ours(application, caller, slots[slot][0])),
                "postgres": _together(pool, lambda slot, slots=slots: _postgres(connections[slot], slots[slot][1])),
                "raw": _together(
                    pool, lambda slot, others=others: [write_raw(application, [one]) for one in others[slot][1]]
                ),
            }
            if run:
                for name, value in timed.items():
                    seconds[name].append(value)
        for connection in connections:
            connection.close()
    ours = Measurement("ours", tuple(seconds["ours"]))
    yield row(f"{total} calls by 16 clients, against the driver", ours, Measurement("raw", tuple(seconds["raw"])))
    postgres = Measurement("postgres", tuple(seconds["postgres"]))
    rates = [f"{total / statistics.median(seconds[name]):,.0f}/s" for name in ("ours", "postgres")]
    yield row(f"{total} calls by 16 clients, against PostgreSQL ({rates[0]} and {rates[1]})", ours, postgres)


def _together(pool: ThreadPoolExecutor, act: Callable[[int], object]) -> float:
    """Seconds until all clients are through, from when all are ready."""
    barrier = threading.Barrier(CLIENTS + 1, timeout=60)

    def client(slot: int) -> None:
        barrier.wait()
        act(slot)

    calls = [pool.submit(client, slot) for slot in range(CLIENTS)]
    barrier.wait()
    start = time.perf_counter()
    for call in calls:
        call.result()
    return time.perf_counter() - start


def _ours(application: Application, caller: Caller, inputs: list[RecordInput]) -> None:
    for item in inputs:
        assert application.registrar.register([item], caller)[0].status == "created"


def _postgres_tables(connection: psycopg.Connection, parents: list[str]) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(_TABLES)
        cursor.executemany(
            "INSERT INTO record VALUES (%s, 'tenant-a', NULL, '{}')", [(identity,) for identity in parents]
        )


def _postgres(connection: psycopg.Connection, rows: list[Mapping[str, object]]) -> None:
    """BEGIN; SELECT the parents FOR SHARE; INSERT the record; INSERT its edges; COMMIT."""
    for item in rows:
        properties = psycopg.types.json.Jsonb(item["properties"])
        sources = sorted(link["identity"] for link in item["links"])
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM (SELECT 1 FROM record WHERE identity = ANY(%s) AND fence IS NULL "
                "ORDER BY identity FOR SHARE) AS free",
                (sources,),
            )
            assert cursor.fetchone() == (len(sources),)
            cursor.execute("INSERT INTO record VALUES (%s, 'tenant-a', NULL, %s)", (item["identity"], properties))
            for parent in sources:
                cursor.execute("INSERT INTO edge VALUES (%s, %s, 'SUMMARIZED_FROM')", (item["identity"], parent))
