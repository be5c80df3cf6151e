"""A process of the service: connected, prepared, and caught up with the journal before anything is answered."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import partial
from typing import Final

from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import RetryPolicy, open_database
from graph.deletion.restore import Replayed
from graph.failpoints import failpoints_from_text
from service.bootstrap import Application, build_application
from service.local.server import LocalServer
from service.settings import Settings
from service.telemetry import event_log
from service.workers.worker import Worker

# How often the stores are gone through at a catch-up; what still fails then is retried by the workers as always.
DRAINS_MAX: Final = 20


def catch_up(application: Application) -> Replayed:
    """Go through what the database lacks of its journal, in the graph and then in the stores (TMB-06).

    Raises:
        Unavailable: the database does not answer.
    """
    replayed = application.restorer.catch_up(partial(_sweep, application))
    events = event_log(application.clock)
    for request_id in replayed.stuck:
        events.error("request_not_advanced", deletionId=request_id)
    if replayed.entries:
        events.warning("journal_applied", entries=replayed.entries, removed=replayed.removed)
    return replayed


def _sweep(application: Application) -> None:
    worker = Worker(application, f"catch-up-{application.ids.new()}")
    for _ in range(DRAINS_MAX):
        if not worker.drain_stores():
            return


@contextmanager
def running_application(settings: Settings, *, local: LocalServer | None = None) -> Generator[Application]:
    """An application on the server of the settings, prepared; closed at the end.

    Args:
        settings: with `neo4j_uri` that server is used; otherwise `local`, or the private server of the home folder,
            is started where it does not run and left as it was found.
        local: the private server to use.
    """
    if settings.neo4j_uri is not None:
        with _application_at(
            settings, settings.neo4j_uri, settings.neo4j_user, settings.neo4j_password.get_secret_value()
        ) as application:
            yield application
        return
    server = local or LocalServer(settings.home, heap=settings.neo4j_heap)
    was_running = server.status().running
    connection = server.start(owned=not was_running)
    try:
        with _application_at(settings, connection.uri, connection.user, connection.password) as application:
            yield application
    finally:
        if not was_running:
            server.stop()


@contextmanager
def _application_at(settings: Settings, uri: str, user: str, password: str) -> Generator[Application]:
    retry = RetryPolicy(total_seconds=settings.retry_total_seconds, transaction_seconds=settings.transaction_seconds)
    failpoints = failpoints_from_text(settings.failpoints)
    opened = open_database(uri, user, password, load_catalogue(default_query_folder()), retry, failpoints)
    with closing(opened) as database, closing(build_application(settings, database)) as application:
        application.prepare()
        catch_up(application)
        guard(application)
        yield application


def guard(application: Application) -> None:
    """Compare again whenever the connection was lost: the database may have been replaced by an older copy meanwhile."""
    bare = application.over(application.database.unguarded())

    def compared() -> None:
        bare.prepare()
        catch_up(bare)

    application.database.guarded(compared)
