"""The PostgreSQL store: rows by key. Each locator of a deletion has an answer of its own, and one transaction carries them.

A locator is the text of the key column, byte for byte, whatever the column's collation calls equal. Verification reads the
table itself in a session of its own, not the index by which the row was found: an index that misses a row (a broken one, or
one sorted by an older collation) would hide it from the deletion and from the verification alike.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

import sqlalchemy as sa
from psycopg import sql
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.exc import DBAPIError

from graph.errors import InvalidInput
from graph.vocabulary import ReasonCode, VerificationLevel
from service.connectors.port import (
    Claim,
    PurgeKind,
    ReadConsistency,
    StoreProfile,
    StoreUnavailable,
    batch_checked,
    is_name,
    root_checked,
)
from service.connectors.postgres_session import TableConnection, alone, open_engine, set_locally, sqlstate, told

ROOT_TABLE: Final = "sequela_root"
PAGE_ROWS: Final = 1_000
PROFILE: Final = StoreProfile(
    addressing="the text of a row's key column",
    batch_max=1_000,
    read=ReadConsistency.STRONG,
    purge=PurgeKind.SYNCHRONOUS,
    level=VerificationLevel.LOGICALLY_ABSENT,
    residue=(
        "free space inside the pages of the table and its indexes, until it is used again",
        "statistics of the planner, until they are vacuumed and their space is used again",
        "the table's files, until the next checkpoint",
        "the write-ahead log, until it is recycled, and its archive",
        "row versions that an older transaction can still see",
        "what the table's own triggers copied",
        "the server's log, where it logs statements or refusals",
        "replicas and base backups",
    ),
    is_enumerable=True,
)
# In these, byte for byte equal is equal. char(n) pads with blanks, citext ignores case, others have several spellings.
_KEY_TYPES: Final = ("text", "character varying")
_BYTES_TYPES: Final = ("bytea",)
_TEXT_TYPES: Final = ("text", "character varying")
# Ordinary and partitioned tables. A view may hide rows; what is behind a foreign table is another store.
_TABLE_KINDS: Final = ("r", "p")
# Classes of errors that can be about one row: what a constraint, a trigger, a rule or a lock objects to. What is about
# all of them meets the reading afterwards as well.
_REFUSALS: Final = ("0A", "09", "21", "22", "23", "27", "2F", "38", "39", "42", "44", "55", "P0")
_LIMITS: Final = {
    # Rows that a policy hides are an error and not absent.
    "row_security": "off",
    # Shares of the time that the client waits, so that the server tells which limit it was.
    "statement_timeout": 0.8,
    "lock_timeout": 0.4,
}
# No index, and no partition left out because of where a key should be.
_BY_THE_TABLE: Final = {
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_bitmapscan": "off",
    "enable_partition_pruning": "off",
}


class Connection(TableConnection):
    """How a table is reached."""

    connector: Literal["postgres"]

    def open(self, root_id: str | None) -> PostgresConnector:
        """A connector to the table; nothing is sent yet."""
        return PostgresConnector(self, root_id)


class PostgresConnector:
    """Copies as rows of one table.

    The store's id is a row of `sequela_root` in the same schema, under the table's name, and is read in the transaction of
    every effect and every reading. A standby, a role that a policy hides rows from, a view, and a key column whose equality
    is not that of bytes prove nothing and are refused.
    """

    profile: StoreProfile = PROFILE
    _text_types: tuple[str, ...] = _TEXT_TYPES
    _bytes_types: tuple[str, ...] = _BYTES_TYPES

    def __init__(self, connection: TableConnection, root_id: str | None = None) -> None:
        self._settings = connection
        self._root_id = root_id
        schema = connection.schema_name
        self._key = sa.column(connection.key_column, sa.Text())
        # Named where something is written alone.
        self._content = sa.column(connection.content_column or "", _Plain())
        self._table = sa.table(connection.table, self._key, self._content, schema=schema)
        self._roots = sa.Table(
            ROOT_TABLE,
            sa.MetaData(),
            sa.Column("table_name", sa.Text(), primary_key=True),
            sa.Column("root_id", sa.Text(), nullable=False),
            schema=schema,
        )
        self._effects = open_engine(connection)
        # Verification never asks the session that deleted.
        self._readings = open_engine(connection)

    def root_id(self) -> str | None:
        """The id in the root table, or none.

        Raises:
            StoreUnavailable: the server did not answer.
        """
        with self._limited(self._readings) as connection:
            if not self._has_roots(connection):
                return None
            return connection.scalar(self._root_query())

    def create(self, root_id: str) -> None:
        """Leave the id in the root table, which is made where there is none.

        Raises:
            StoreUnavailable: the server did not answer, or the role may not make a table in the schema.
        """
        with self._limited(self._effects) as connection:
            if not self._has_roots(connection):
                self._roots.create(connection, checkfirst=False)
            row = {"table_name": self._settings.table, "root_id": root_id}
            connection.execute(insert(self._roots).values(row).on_conflict_do_nothing())

    def write(self, locator: str, data: bytes) -> None:
        """Put the content of the row at a key, which is made where there is none.

        Raises:
            InvalidInput: no key, or content that the column cannot hold (`MALFORMED_INPUT`).
            StoreUnavailable: the server did not answer, it is another store, or the connection names no content column.
        """
        if not is_name(locator):
            raise InvalidInput("a key is text without NUL, and not empty", code=ReasonCode.MALFORMED_INPUT)
        with self._transaction(self._effects) as (connection, content_type):
            row = {self._key: locator, self._content: self._value(data, content_type)}
            update = sa.update(self._table).where(self._is_one_of([locator])).values(row).returning(self._key)
            # Not `ON CONFLICT DO UPDATE`: that needs a unique key, and takes what only its collation calls equal.
            addition = insert(self._table).values(row).on_conflict_do_nothing().returning(self._key)
            written = connection.scalars(update).all() or connection.scalars(addition).all()
            if set(written) != {locator}:
                # A varchar(n) drops blanks at the end, a trigger changes or skips rows, another key is in the way.
                raise StoreUnavailable("the table did not take the key as it is")

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        """Delete the rows at each key in one transaction; those that a constraint or trigger keeps hold back no other.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the server did not answer, or it is another store; all rows may be gone, or none.
        """
        batch_checked(locators, self.profile.batch_max)
        names = [*dict.fromkeys(locator for locator in locators if is_name(locator))]
        with self._transaction(self._effects) as (connection, _):
            gone, refused = self._removed(connection, names)
            left = set(connection.scalars(sa.select(self._key).where(self._is_one_of(names))))
        claims: list[Claim] = []
        for locator in locators:
            claims.append(_claim(locator, gone, left, refused))
            gone.discard(locator)
        return claims

    def present(self, locators: Sequence[str]) -> list[bool]:
        """Read the whole table for the keys, in another session and by no index (unless the connection says so).

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the server did not answer, not all of it could be read in time, or it is another store.
        """
        batch_checked(locators, self.profile.batch_max)
        names = [locator for locator in locators if is_name(locator)]
        by_scan = self._settings.verification == "scan"
        wanted = self._is_exactly_one_of(names) if by_scan else self._is_one_of(names)
        with self._transaction(self._readings) as (connection, _):
            if by_scan:
                set_locally(connection, _BY_THE_TABLE)
            found = set(connection.scalars(sa.select(self._key).where(wanted).distinct()))
        return [locator in found for locator in locators]

    def purge(self) -> None:
        """VACUUM with all indexes: takes what is dead out of them and out of the pages; analyses, for statistics hold keys.

        Raises:
            StoreUnavailable: the server did not answer in time, or the role may not vacuum the table.
        """
        with alone(self._effects, self._settings.purge_seconds) as raw:
            warnings: list[str] = []
            raw.add_notice_handler(lambda notice: warnings.append(notice.severity_nonlocalized or ""))
            raw.execute(sql.SQL("VACUUM (INDEX_CLEANUP ON, ANALYZE) {}").format(self._name(self._settings.table)))
            if "WARNING" in warnings:
                # Without the right to do it, the command only warns.
                raise StoreUnavailable(
                    "the table was left out of VACUUM: its owner, or a role with MAINTAIN, may do it"
                )

    def locators(self) -> Iterator[str]:
        """All keys, by a cursor of the server, a page at a time.

        Raises:
            StoreUnavailable: the server did not answer, or it is another store.
        """
        with self._transaction(self._readings) as (connection, _):
            set_locally(connection, _BY_THE_TABLE)
            query = sa.select(self._key).where(self._key.is_not(None))
            for key in connection.scalars(query, execution_options={"yield_per": PAGE_ROWS}):
                if is_name(key):
                    yield key

    def close(self) -> None:
        """Let go of connections."""
        self._effects.dispose()
        self._readings.dispose()

    def _removed(self, connection: sa.Connection, names: list[str]) -> tuple[set[str], set[str]]:
        """Which keys were deleted, and which ones the server would not delete."""
        # What is deferred would come up at the commit, against all of them.
        connection.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))
        try:
            return self._deleted(connection, names), set()
        except DBAPIError as error:
            if not sqlstate(error).startswith(_REFUSALS):
                raise
        return self._removed_one_by_one(connection, names)

    def _removed_one_by_one(self, connection: sa.Connection, names: list[str]) -> tuple[set[str], set[str]]:
        end = time.monotonic() + self._settings.timeout_seconds
        gone, refused = set[str](), set[str]()
        # Together they have waited for a lock as long as may be.
        set_locally(connection, {"lock_timeout": "1ms"})
        for name in names:
            # What there is no time for is tried again like what was refused; the others are done by then.
            if time.monotonic() > end:
                refused.add(name)
                continue
            try:
                gone |= self._deleted(connection, [name])
            except DBAPIError as error:
                if not sqlstate(error).startswith(_REFUSALS):
                    raise
                refused.add(name)
        return gone, refused

    def _deleted(self, connection: sa.Connection, names: list[str]) -> set[str]:
        with connection.begin_nested():
            return set(connection.scalars(sa.delete(self._table).where(self._is_one_of(names)).returning(self._key)))

    def _is_one_of(self, names: list[str]) -> sa.ColumnElement[bool]:
        """By the column's own equality, which its index serves, and exactly."""
        return sa.and_(self._key == sa.any_(_texts(names)), self._is_exactly_one_of(names))

    def _is_exactly_one_of(self, names: list[str]) -> sa.ColumnElement[bool]:
        return sa.collate(self._key, "C") == sa.any_(_texts(names))

    def _value(self, data: bytes, content_type: str | None) -> object:
        if content_type in self._bytes_types:
            return data
        if content_type not in self._text_types:
            raise StoreUnavailable("the connection names no contentColumn of a type that can be written")
        text = data.decode(errors="replace")
        if "\0" in text or text.encode() != data:
            raise InvalidInput("the content column holds text", code=ReasonCode.MALFORMED_INPUT)
        return text

    @contextmanager
    def _limited(self, engine: sa.Engine) -> Generator[sa.Connection]:
        """A transaction with limits of time, in which no policy hides rows and a commit is on the disk."""
        milliseconds = self._settings.timeout_seconds * 1_000
        with told(), engine.connect() as connection, connection.begin():
            set_locally(
                connection,
                {
                    name: value if isinstance(value, str) else f"{max(1, int(value * milliseconds))}ms"
                    for name, value in _LIMITS.items()
                },
            )
            yield connection

    @contextmanager
    def _transaction(self, engine: sa.Engine) -> Generator[tuple[sa.Connection, str | None]]:
        """A transaction on a table that can be trusted, and the type of its content column."""
        with self._limited(engine) as connection:
            yield connection, self._checked(connection)

    def _checked(self, connection: sa.Connection) -> str | None:
        if not self._has_roots(connection):
            raise StoreUnavailable(f"the schema has no table {ROOT_TABLE}")
        facts = connection.execute(self._facts_query()).one()
        root_checked(facts.root_id, self._root_id)
        if facts.is_standby:
            raise StoreUnavailable("the server is a standby, which may lag behind")
        if facts.kind not in _TABLE_KINDS:
            raise StoreUnavailable("there is no such table; views and foreign tables are none")
        if facts.key_type not in _KEY_TYPES:
            raise StoreUnavailable(f"the key column is not of type {' or '.join(_KEY_TYPES)}, or not there")
        if facts.encoding != "UTF8":
            raise StoreUnavailable("the database is not encoded in UTF-8: not every locator can be asked for")
        return facts.content_type

    def _facts_query(self) -> sa.Select[*tuple[Any, ...]]:
        relation = sa.func.to_regclass(self._name(self._settings.table).as_string(None))
        kind = (
            sa.select(sa.literal_column("relkind::text", sa.Text()))
            .select_from(sa.text("pg_class"))
            .where(sa.literal_column("oid") == relation)
        )
        return sa.select(
            self._root_query().scalar_subquery().label("root_id"),
            sa.func.pg_is_in_recovery().label("is_standby"),
            sa.func.current_setting("server_encoding").label("encoding"),
            kind.scalar_subquery().label("kind"),
            _type_of(relation, self._settings.key_column).label("key_type"),
            _type_of(relation, self._settings.content_column).label("content_type"),
        )

    def _root_query(self) -> sa.Select[str]:
        return sa.select(self._roots.c.root_id).where(self._roots.c.table_name == self._settings.table)

    def _has_roots(self, connection: sa.Connection) -> bool:
        return connection.scalar(sa.select(sa.func.to_regclass(self._name(ROOT_TABLE).as_string(None)))) is not None

    def _name(self, table: str) -> sql.Identifier:
        return sql.Identifier(self._settings.schema_name, table)


class _Plain(sa.types.UserDefinedType[object]):
    """A value that is sent as it is: the server reads it as the column's own type."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "unknown"


def _texts(names: list[str]) -> sa.BindParameter[Sequence[str]]:
    return sa.bindparam(None, names, ARRAY(sa.Text()))


def _type_of(relation: sa.ColumnElement[Any], column: str | None) -> sa.ScalarSelect[Any]:
    """The name of a column's type as the catalogue has it, without length."""
    query = sa.select(sa.literal_column("atttypid::regtype::text", sa.Text())).select_from(sa.text("pg_attribute"))
    is_column = sa.literal_column("attname::text", sa.Text()) == column
    return query.where(
        sa.literal_column("attrelid") == relation, is_column, sa.text("NOT attisdropped")
    ).scalar_subquery()


def _claim(locator: str, gone: set[str], left: set[str], refused: set[str]) -> Claim:
    if not is_name(locator):
        return Claim.MALFORMED
    if locator in refused:
        return Claim.FAILED
    # A trigger that skips a row, or puts it back: no error, and it is still there.
    if locator in left:
        return Claim.KEPT
    return Claim.DELETED if locator in gone else Claim.NOT_FOUND
