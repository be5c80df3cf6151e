"""The one retry owner: what is tried again, what is not, and what is said when an answer was lost."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

import pytest
from neo4j.exceptions import Neo4jError

from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import ConstraintViolated, RetryPolicy, StatementTimedOut, open_database
from graph.errors import OutcomeUnknown, Oversized, Unavailable
from graph.records.register import Registrar
from tests.support.proxy import cutting_proxy
from tests.support.records import derived, record

PATIENT = RetryPolicy(total_seconds=20.0)
IMPATIENT = RetryPolicy(total_seconds=0.0)
# In how many places one call's conversation is cut, spread over its length.
CUTS = 12


@pytest.fixture
def proxy(neo4j_server):
    address = urlsplit(neo4j_server.uri)
    with cutting_proxy(address.hostname, address.port) as proxy:
        yield proxy


@pytest.fixture
def through(proxy, neo4j_server):
    """Databases that reach the real server through the proxy."""
    opened = []

    def open_with(retry):
        uri = f"bolt://127.0.0.1:{proxy.port}"
        catalogue = load_catalogue(default_query_folder())
        opened.append(open_database(uri, neo4j_server.user, neo4j_server.password, catalogue, retry))
        return opened[-1]

    yield open_with
    for database in opened:
        database.close()


def registrar_on(database, application):
    return Registrar(database, application.policy, application.keys, application.clock, application.ids)


def count(database, identity):
    rows = database.administer("MATCH (n:Record {identity: $identity}) RETURN count(n) AS number", identity=identity)
    return rows[0].number("number")


def conversation(proxy, direction, call):
    """How many bytes one call sends in a direction on a connection that is open already."""
    before = proxy.passed[direction]
    call()
    return proxy.passed[direction] - before


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_registration_whose_connection_is_cut_anywhere_ends_as_one_record(
    application, caller, proxy, through, direction
):
    database = through(PATIENT)
    registrar_on(database, application).register([record("parent")], caller)

    def registered(name):
        # One that remembers nothing of the parent: it looks first, and then writes.
        return registrar_on(database, application).register([derived(name, "parent")], caller)

    length = conversation(proxy, direction, lambda: registered(f"note-{direction}-whole"))
    seen = set()
    places = [length * part // CUTS for part in range(CUTS)]
    for after in places:
        proxy.cut(direction, after)
        result = registered(f"note-{direction}-{after:05}")[0]
        seen.add(result.status.value)
        assert count(application.database, result.identity) == 1
    assert proxy.cuts == len(places)
    # `unchanged`: the repeat met what the first try had made before its answer was lost. `created`: it had made nothing.
    assert seen == ({"created", "unchanged"} if direction == "down" else {"created"})


def test_a_lost_answer_is_never_called_success_or_failure(application, proxy, through):
    """Without a second try: what is `Unavailable` did not happen, what may have happened is `OutcomeUnknown`."""
    database = through(IMPATIENT)

    def write(name):
        return database.transact(
            "write",
            lambda statements: statements.run(
                "merge_policy", policyId=name, digest="d", ownerId="platform-owner", at=1, stores=[]
            ),
        )

    def happened(name):
        rows = application.database.read("list_policies")
        return name in {row.text("policyId") for row in rows}

    write("warm")
    said = {}
    for direction in ("up", "down"):
        length = conversation(proxy, direction, lambda: write(f"policy-{direction}-whole"))  # noqa: B023 - called at once
        # The end of the conversation is where the commit and its answer are; one more place lies well before it.
        for after in [length // 2, *range(length - 64, length, 8), length - 5, length - 3, length - 1]:
            name = f"policy-{direction}-{after:05}"
            proxy.cut(direction, after)
            try:
                write(name)
                answer = "done"
            except OutcomeUnknown:
                answer = "unknown"
            except Unavailable:
                answer = "unavailable"
            said.setdefault(answer, set()).add(happened(name))
            if answer != "done":
                write("warm")
    assert said["unavailable"] == {False}
    assert said["unknown"] == {True, False}
    assert said.get("done", {True}) == {True}


def test_a_dead_server_is_said_to_be_unavailable_and_nothing_is_lost(application, caller, proxy, through):
    registrar = registrar_on(through(RetryPolicy(total_seconds=0.2)), application)
    registrar.register([record("before")], caller)
    proxy.refuse(refusing=True)
    with pytest.raises(Unavailable):
        registrar.register([record("meanwhile")], caller)
    proxy.refuse(refusing=False)
    results = registrar.register([record("meanwhile"), record("before")], caller)
    assert [result.status.value for result in results] == ["created", "unchanged"]
    assert count(application.database, results[0].identity) == 1


def test_waits_between_tries_grow_to_a_limit_and_no_two_clients_keep_time(proxy, through, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waits.append)
    database = through(RetryPolicy(wait_seconds_min=0.02, wait_seconds_max=0.5, total_seconds=1.0))
    proxy.refuse(refusing=True)
    with pytest.raises(Unavailable):
        database.read("list_policies")
    assert len(waits) >= 8
    # Random, each below a limit that doubles from one to the next.
    assert all(0 <= wait <= min(0.02 * 2 ** min(place, 5), 0.5) for place, wait in enumerate(waits))
    assert len(set(waits)) == len(waits)
    assert max(waits) > 0.1


def test_a_server_that_comes_back_in_time_is_not_noticed(application, caller, proxy, through):
    registrar = registrar_on(through(PATIENT), application)
    registrar.register([record("before")], caller)
    proxy.refuse(refusing=True)
    threading.Timer(0.3, proxy.refuse, kwargs={"refusing": False}).start()
    assert registrar.register([record("meanwhile")], caller)[0].status == "created"


def test_deadlocked_transactions_both_succeed(application):
    application.database.write(
        "merge_policy",
        policyId="p",
        digest="d",
        ownerId="o",
        at=1,
        stores=[{"storeId": "left", "ownerId": "nobody"}, {"storeId": "right", "ownerId": "nobody"}],
    )
    both_hold_one = threading.Barrier(2, timeout=20)
    tries = {"left": 0, "right": 0}

    def take(first, second):
        def steps(statements):
            tries[first] += 1
            for store in (first, second):
                statements.run(
                    "merge_policy",
                    policyId=first,
                    digest="d",
                    ownerId="o",
                    at=1,
                    stores=[{"storeId": store, "ownerId": first}],
                )
                if store == first and tries[first] == 1:
                    both_hold_one.wait()

        application.database.transact("steps", steps)

    other = threading.Thread(target=take, args=("right", "left"))
    other.start()
    take("left", "right")
    other.join(timeout=30)
    assert not other.is_alive()
    assert sum(tries.values()) > 2
    assert {row.text("policyId") for row in application.database.read("list_policies")} >= {"left", "right"}


def _marked(statements, number):
    stores = [{"storeId": "wanted by both", "ownerId": f"owner-{number}"}]
    statements.run("merge_policy", policyId=f"policy-{number}", digest="d", ownerId="o", at=number, stores=stores)


@pytest.fixture
def frozen(application, neo4j_server):
    """A writer that stands still in its first transaction, with a lock, until it is let go on."""
    catalogue = load_catalogue(default_query_folder())
    address = (neo4j_server.uri, neo4j_server.user, neo4j_server.password)
    database = open_database(*address, catalogue, RetryPolicy(total_seconds=60.0, transaction_seconds=1.0))
    stands, goes_on, tries = threading.Event(), threading.Event(), []

    def steps(statements):
        _marked(statements, 1)
        tries.append(1)
        if len(tries) == 1:
            stands.set()
            goes_on.wait(60)

    writer = threading.Thread(target=database.transact, args=("frozen", steps))
    writer.start()
    assert stands.wait(30)
    yield tries
    goes_on.set()
    writer.join(60)
    assert not writer.is_alive()
    assert len(tries) == 2
    names = {row.text("policyId") for row in application.database.read("list_policies")}
    assert names >= {"policy-1"}
    database.close()


def test_a_writer_that_froze_with_a_lock_keeps_nobody_waiting_and_writes_once_it_goes_on(application, frozen):
    application.database.transact("other", lambda statements: _marked(statements, 2))
    assert {row.text("policyId") for row in application.database.read("list_policies")} >= {"policy-2"}
    assert len(frozen) == 1, "it stands still"


def test_what_waits_too_long_for_a_lock_is_unavailable_and_has_written_nothing(application, neo4j_server, through):
    impatient = through(RetryPolicy(total_seconds=0.0, transaction_seconds=1.0))

    def holding(statements):
        _marked(statements, 1)
        with pytest.raises(Unavailable):
            impatient.transact("waiting", lambda inner: _marked(inner, 2))

    application.database.transact("holding", holding)
    names = {row.text("policyId") for row in application.database.read("list_policies")}
    assert "policy-1" in names
    assert "policy-2" not in names


def test_a_statement_that_needs_too_much_memory_is_not_tried_again(application):
    with pytest.raises(Oversized) as caught:
        application.database.administer("UNWIND range(1, 100000000) AS i RETURN count(DISTINCT i) AS number")
    cause = caught.value.__cause__
    assert isinstance(cause, Neo4jError)
    assert cause.code == "Neo.TransientError.General.MemoryPoolOutOfMemoryError"
    assert cause.is_retryable(), "the driver would try it again"


def test_a_statement_past_its_time_limit_says_so(application, through):
    # Ten thousand edges, each between two records that hundreds of readers share: seconds of comparing.
    application.database.administer(
        "UNWIND range(1, 100) AS i"
        " CREATE (:Identity:Record {identity: 'child-' + toString(i), state: 'active', purposes: [],"
        " permissions: [p IN range(1, 400) | toString(p)]}),"
        " (:Identity:Record {identity: 'parent-' + toString(i), state: 'active', purposes: [],"
        " permissions: [p IN range(400, 1, -1) | toString(p)] + ['1']})"
    )
    application.database.administer(
        "MATCH (c:Record) WHERE c.identity STARTS WITH 'child-' MATCH (p:Record) WHERE p.identity STARTS WITH 'parent-'"
        " CREATE (c)-[:CACHED_FROM]->(p)"
    )
    with pytest.raises(StatementTimedOut):
        application.database.read("list_wide_audiences", timeout=0.001, after="", rowsMax=1_000)
    # Whoever names no limit of its own is told the same as where the database does not answer.
    with pytest.raises(Unavailable):
        through(RetryPolicy(total_seconds=0.0, transaction_seconds=0.001)).read(
            "list_wide_audiences", after="", rowsMax=1_000
        )


def test_a_second_node_of_one_identity_is_refused_by_the_database(application):
    application.database.administer("CREATE (:Identity:Tombstone {identity: 'gone'})")
    with pytest.raises(ConstraintViolated):
        application.database.administer("CREATE (:Identity:Record {identity: 'gone'})")
