"""A full disk under Neo4j: a limit on the size of its files refuses what a full disk refuses, and can be lifted again."""

from __future__ import annotations

import resource
import sys

import pytest

from graph.errors import OutcomeUnknown, Unavailable
from graph.vocabulary import Role
from service.runtime import running_application
from service.settings import Settings
from tests.support.deletion import by_ids, fresh_key, register, tombstones, with_roles, work
from tests.support.records import derived, record


@pytest.mark.req("DEL-03")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux changes the limits of another process")
def test_a_full_disk_under_the_database_loses_nothing_and_the_deletion_ends_after_a_restart(make_server):
    server, caller = make_server(), with_roles(*Role)
    settings = Settings(home=server.path, retry_total_seconds=1)
    server.start(owned=True)
    with running_application(settings, local=server) as application:
        known = register(application, caller, record("r"), derived("d", "r"))
        filed = application.deletions.file(by_ids(known[0]), caller, fresh_key()).request_id
        logs = server.path.glob("data/transactions/neo4j/neostore.transaction.db.*")
        full = max(log.stat().st_size for log in logs)
        resource.prlimit(server.status().pid, resource.RLIMIT_FSIZE, (full, resource.RLIM_INFINITY))
        with pytest.raises(OutcomeUnknown):
            application.deletions.advance(filed)
        for call in (
            lambda: application.deletions.view(filed, caller),
            lambda: register(application, caller, record("x")),
        ):
            with pytest.raises(Unavailable):
                call()
    server.stop()
    server.start(owned=True)
    with running_application(settings, local=server) as application:
        work(application)
        assert application.deletions.view(filed, caller).state == "COMPLETED"
        assert tombstones(application.database) == set(known)
