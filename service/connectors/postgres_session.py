"""How a table of PostgreSQL is reached: sessions with its server, bounded in number and time, and with one kind of error."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final, Literal, NoReturn, TypeVar, cast

import psycopg
import sqlalchemy as sa
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus
from pydantic import Field
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from graph.errors import NotReady
from graph.vocabulary import ReasonCode
from service.connectors import port
from service.connectors.port import StoreUnavailable
from service.connectors.secrets import secret

RV = TypeVar("RV")

POOL_SIZE: Final = 4


class TableConnection(port.Connection):
    """How a table is reached; each kind of store that is one adds its own name."""

    url_variable: Annotated[
        str,
        Field(alias="urlVariable", description="The environment variable with the URL: postgresql://user:…@host/db."),
    ]
    schema_name: Annotated[str, Field(alias="schema", description="The schema of the table.")] = "public"
    table: Annotated[str, Field(min_length=1, description="The table, without its schema.")]
    key_column: Annotated[
        str, Field(alias="keyColumn", min_length=1, description="The column of locators, of type text or varchar.")
    ]
    content_column: Annotated[
        str | None,
        Field(
            alias="contentColumn", description="The column that a copy's content is written to; nothing else needs it."
        ),
    ] = None
    verification: Annotated[
        Literal["scan", "index"],
        Field(
            description="Whether a deletion is verified by the table itself, or, where that is too large to be read whole "
            "within the timeout, by its index; a broken index then goes unnoticed."
        ),
    ] = "scan"
    purge_seconds: Annotated[
        float, Field(alias="purgeSeconds", ge=1, le=86_400, description="How long a purge (VACUUM) may take.")
    ] = 600.0


class TimedConnection(psycopg.Connection[Any]):
    """A connection that does not wait for ever: libpq has no limit of its own for a server that stands still."""

    answer_seconds: float = 60.0

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for the answer to one statement."""
        try:
            return super().wait(gen, interval, self.answer_seconds if timeout is None else timeout)
        except psycopg.OperationalError:
            # Without an answer nothing is known of the statement, and nothing more can be said on this connection.
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.pgconn.finish()
            raise


def open_engine(settings: TableConnection) -> sa.Engine:
    """A bounded pool that neither asks whether a connection still lives nor tries anything again."""
    try:
        url = sa.make_url(secret(settings.url_variable)).set(drivername="postgresql+psycopg")
    except ArgumentError:
        raise NotReady(f"{settings.url_variable} is no URL", code=ReasonCode.SERVICE_NOT_READY) from None
    engine = sa.create_engine(
        url,
        pool_size=POOL_SIZE,
        max_overflow=0,
        pool_timeout=settings.timeout_seconds,
        pool_use_lifo=True,
        isolation_level="READ COMMITTED",
        use_native_hstore=False,
        hide_parameters=True,
        connect_args={
            # The driver takes no less than two seconds.
            "connect_timeout": max(2, math.ceil(settings.timeout_seconds)),
            "client_encoding": "utf8",
            # Statements prepared by name do not survive a pooler between here and the server.
            "prepare_threshold": None,
            "application_name": "sequela",
        },
    )

    def connect(_dialect: object, _record: object, _arguments: object, parameters: dict[str, Any]) -> TimedConnection:
        connection = TimedConnection.connect(**parameters)
        connection.answer_seconds = settings.timeout_seconds
        return connection

    event.listen(engine, "do_connect", connect)
    return engine


@contextmanager
def told() -> Generator[None]:
    """Errors of the client as the port's, without their texts, which quote keys and addresses."""
    try:
        yield
    except (SQLAlchemyError, psycopg.Error) as error:
        _give_up(error)


@contextmanager
def alone(engine: sa.Engine, answer_seconds: float) -> Generator[TimedConnection]:
    """A connection outside of the pool and of any transaction, for what takes longer than the rest."""
    with told():
        lent = engine.raw_connection()
        raw = cast("TimedConnection", lent.driver_connection)
        lent.detach()
        with raw:
            raw.rollback()
            raw.autocommit = True
            raw.answer_seconds = answer_seconds
            yield raw


def _give_up(error: Exception) -> NoReturn:
    state = sqlstate(error)
    what = f"refused with SQLSTATE {state}" if state else "did not answer"
    raise StoreUnavailable(f"PostgreSQL {what}") from None


def sqlstate(error: Exception) -> str:
    """The code that the server gave an error, or nothing where it gave none."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    return getattr(origin, "sqlstate", None) or ""


def set_locally(connection: sa.Connection, values: Mapping[str, str]) -> None:
    """Settings for the rest of the transaction. A commit that is answered is on the disk, whatever the server's default."""
    commit = sa.func.current_setting("synchronous_commit")
    durable = sa.case((commit == "off", "on"), else_=commit)
    connection.execute(
        sa.select(
            sa.func.set_config("synchronous_commit", durable, True),
            *(sa.func.set_config(name, value, True) for name, value in values.items()),
        )
    )
