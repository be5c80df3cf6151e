"""A database that is replaced by an older copy under a running service: nothing of what it brings back is answered."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import RetryPolicy, open_database
from graph.database.journaling import applied_in, is_behind, journal_findings, journaled
from graph.errors import NotReady
from graph.records.read import RecordView, TombstoneView, read_record
from graph.vocabulary import JournalEntryKind
from service.runtime import catch_up, guard
from service.workers.worker import Worker
from tests.support.deletion import delete, family, tombstones
from tests.support.graph_copy import load_graph, take_graph
from tests.support.proxy import cutting_proxy

CHAIN = {"root": [], "summary": ["root"]}


@pytest.fixture
def proxy(neo4j_server):
    address = urlsplit(neo4j_server.uri)
    with cutting_proxy(address.hostname, address.port) as proxy:
        yield proxy


@pytest.fixture
def running(application, proxy, neo4j_server):
    """The same installation, as a service that reaches its server through the proxy and is guarded."""
    uri, catalogue = f"bolt://127.0.0.1:{proxy.port}", load_catalogue(default_query_folder())
    database = open_database(uri, neo4j_server.user, neo4j_server.password, catalogue, RetryPolicy(total_seconds=20.0))
    service = replace(application, database=database)
    guard(service)
    yield service
    database.close()


@pytest.mark.req("TMB-06")
def test_the_first_read_after_a_lost_connection_meets_the_journal(application, running, proxy, caller):
    known = family(application, caller, CHAIN)
    taken = take_graph(application.database)
    delete(application, caller, known["root"])
    assert isinstance(read_record(running.database, caller, known["root"]), TombstoneView)
    load_graph(application.database, taken)
    proxy.cut("down", 1)
    assert isinstance(read_record(running.database, caller, known["root"]), TombstoneView)
    assert proxy.cuts == 1
    assert tombstones(application.database) == set(known.values())
    assert not is_behind(application.database, application.journal)


def test_without_the_guard_the_old_copy_is_read(application, running, proxy, caller):
    known = family(application, caller, CHAIN)
    taken = take_graph(application.database)
    delete(application, caller, known["root"])
    load_graph(application.database, taken)
    proxy.cut("down", 1)
    assert isinstance(read_record(running.database.unguarded(), caller, known["root"]), RecordView)


def test_a_journal_that_went_with_the_connection_stops_every_answer(application, running, proxy, caller):
    known = family(application, caller, CHAIN)
    delete(application, caller, known["root"])
    application.journal.path.unlink()
    proxy.cut("down", 1)
    for _ in range(2):
        with pytest.raises(NotReady) as refused:
            read_record(running.database, caller, known["root"])
        assert refused.value.code == "JOURNAL_MISSING"


def test_an_entry_whose_transaction_was_rolled_back_is_gone_through_by_the_next_worker(application, caller):
    known = family(application, caller, CHAIN)
    delete(application, caller, known["root"])

    def lost(statements):
        body = {"requestId": "never-committed"}
        journaled(statements, application.journal, JournalEntryKind.REQUEST_REJECTED, 1, body)
        raise NotReady("the transaction ends here")

    with pytest.raises(NotReady):
        application.database.transact("lost", lost)
    assert is_behind(application.database, application.journal)
    Worker(application, "worker-1").run_once()
    assert applied_in(application.database).position == application.journal.head()
    assert catch_up(application).entries == 0


def findings(application):
    found = journal_findings(application.database, application.journal)
    return [(one.invariant.value, one.message) for one in found]


def test_the_checker_names_a_journal_that_is_ahead_or_gone(application, caller):
    """I11: the mark of the graph is the head of the journal."""
    known = family(application, caller, CHAIN)
    delete(application, caller, known["root"])
    assert findings(application) == []
    application.journal.append(JournalEntryKind.REQUEST_REJECTED, 1, {"requestId": "never-committed"})
    assert findings(application) == [("I11", "1 entries of the journal are not applied")]
    application.journal.path.unlink()
    assert [code for code, _ in findings(application)] == ["I11"]
    application.database.administer("MATCH (j:Journal) DELETE j")
    assert findings(application) == [("I11", "the graph was never paired with a journal")]
