"""When a started server is ready: it listens, it answers a query, and it is still the one that was started."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from neo4j import GraphDatabase
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from graph.errors import LocalServerError
from service.local.config import DATABASE

_LOOK_SECONDS = 0.1
_CONNECT_SECONDS = 1.0
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Connection:
    """What a driver needs to reach the server."""

    uri: str
    user: str
    password: str = field(repr=False)


def listens(port: int) -> bool:
    """Whether anything accepts connections on the loopback port."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_SECONDS):
            return True
    except OSError:
        return False


def answers(connection: Connection) -> bool:
    """Whether one query comes back.

    The query runs without the driver's own retries: their growing pauses would be added to the start.

    Raises:
        LocalServerError: the server does not accept the password of this home.
    """
    try:
        with (
            GraphDatabase.driver(  # pyright: ignore[reportUnknownMemberType] - the driver's options have no types
                connection.uri,
                auth=(connection.user, connection.password),
                max_transaction_retry_time=0,
                connection_timeout=_ANSWER_SECONDS,
                connection_acquisition_timeout=_ANSWER_SECONDS,
            ) as driver,
            driver.session(database=DATABASE) as session,  # pyright: ignore[reportUnknownMemberType]
        ):
            session.run("RETURN 1").consume()
    except AuthError as error:
        raise LocalServerError("The private Neo4j server does not accept the password kept in its home.") from error
    except (DriverError, Neo4jError):
        return False
    return True


def wait_until_ready(connection: Connection, port: int, is_alive: Callable[[], bool], limit_seconds: float) -> bool:
    """Wait for the server.

    Args:
        connection: how to query it.
        port: where it will listen.
        is_alive: whether the started process still exists; asked after the query too, so that an answer from
            another server is never taken for this one's.
        limit_seconds: how long to wait.

    Returns:
        False where the process has ended or the time is over.
    """
    deadline = time.monotonic() + limit_seconds
    while is_alive() and time.monotonic() < deadline:
        if listens(port) and answers(connection):
            return is_alive()
        time.sleep(_LOOK_SECONDS)
    return False
