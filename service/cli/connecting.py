"""A bare connection, for looking at a database that this version of the code may not be ready to use."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import Database, RetryPolicy, open_database
from service.cli.invocation import Invocation, load_settings
from service.local.probe import Connection


@contextmanager
def open_server(invocation: Invocation) -> Generator[Database]:
    """The database of the settings as it is: nothing is prepared, and the private server is left as it was found."""
    settings = load_settings()
    retry = RetryPolicy(total_seconds=settings.retry_total_seconds, transaction_seconds=settings.transaction_seconds)
    if settings.neo4j_uri is not None:
        password = settings.neo4j_password.get_secret_value()
        with _connected(Connection(settings.neo4j_uri, settings.neo4j_user, password), retry) as database:
            yield database
        return
    server = invocation.local_server(settings)
    was_running = server.status().running
    connection = server.start(owned=not was_running)
    try:
        with _connected(connection, retry) as database:
            yield database
    finally:
        if not was_running:
            server.stop()


@contextmanager
def _connected(connection: Connection, retry: RetryPolicy) -> Generator[Database]:
    catalogue = load_catalogue(default_query_folder())
    database = open_database(connection.uri, connection.user, connection.password, catalogue, retry)
    try:
        yield database
    finally:
        database.close()
