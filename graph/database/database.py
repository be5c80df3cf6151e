"""Sessions and the one retry owner between the domain and Neo4j."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, LiteralString, Protocol, TypeVar, cast

import neo4j
from neo4j import exceptions as driver_errors
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from graph.database.catalogue import Catalogue, Literal, Query
from graph.database.rows import Row
from graph.errors import NotReady, OutcomeUnknown, Oversized, QueryInvalid, Unavailable
from graph.failpoints import Failpoints, NoFailpoints
from graph.vocabulary import ReasonCode

T = TypeVar("T")

# Retried although the driver calls them final: a concurrent deletion moved a node under a running statement; the server
# ended a transaction while it waited for a lock.
_CODES_RETRIED_ALSO: Final = frozenset(
    {"Neo.ClientError.Statement.EntityNotFound", "Neo.ClientError.Transaction.LockClientStopped"}
)
# Final although the driver calls it transient: the same statement will need the same memory again.
_CODES_FINAL: Final = frozenset({"Neo.TransientError.General.MemoryPoolOutOfMemoryError"})
# The server itself cannot go on, as on a full disk: it has to be restarted, and our statement is not at fault.
_SERVER_FAULTS: Final = "Neo.DatabaseError.Transaction."
# It could not end writing down a transaction: whether that is there shows once it has recovered.
_CODES_UNKNOWN: Final = frozenset(
    {"Neo.DatabaseError.Transaction.TransactionLogError", "Neo.DatabaseError.Transaction.TransactionCommitFailed"}
)
# How long a call waits for a check that another one runs.
_GUARD_SECONDS: Final = 1.0
_NOT_SAID: Final = "the database did not say whether the write took effect"
CONSTRAINT_CODE: Final = "Neo.ClientError.Schema.ConstraintValidationFailed"
TRANSACTION_TIMEOUT_CODES: Final = frozenset(
    {
        "Neo.ClientError.Transaction.TransactionTimedOut",
        "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
    }
)


@dataclass(frozen=True)
class RetryPolicy:
    """How long a statement is tried again: random exponential waits within a total time, all in seconds.

    Attributes:
        wait_seconds_min: the first wait is up to twice this.
        wait_seconds_max: no wait is longer.
        total_seconds: after this no further try begins.
        transaction_seconds: the server ends a transaction that is older and frees what it locked, so that a writer that
            froze keeps nobody waiting, and a statement that would never end does not keep the server busy.
    """

    wait_seconds_min: float = 0.02
    wait_seconds_max: float = 1.0
    total_seconds: float = 30.0
    transaction_seconds: float = 120.0


class ConstraintViolated(Exception):
    """A uniqueness constraint refused the write; the caller knows what that means."""


class StatementTimedOut(Exception):
    """The statement did not end within its time limit; the caller says so, and never answers short."""


class Statements(Protocol):
    """Runs catalogue queries inside one transaction."""

    def run(self, name: str, /, **params: object) -> list[Row]:
        """Run the query of that name with exactly its declared parameters."""
        ...


class Database:
    """The graph behind its catalogue of queries.

    **Every write must be idempotent by a key that it checks** (an identity, a request's key, an outcome's id): a commit
    whose answer was lost is repeated, and the repeat has to find what the first one did.
    """

    def __init__(
        self,
        driver: neo4j.Driver,
        catalogue: Catalogue,
        retry: RetryPolicy | None = None,
        failpoints: Failpoints | None = None,
        *,
        database: str = "neo4j",
    ) -> None:
        self._driver = driver
        self._catalogue = catalogue
        self._retry = retry or RetryPolicy()
        self._failpoints = failpoints or NoFailpoints()
        self._database = database
        self._bookmarks = neo4j.GraphDatabase.bookmark_manager()
        self._guard: Guard | None = None

    @property
    def catalogue(self) -> Catalogue:
        """The queries that this database runs."""
        return self._catalogue

    def read(
        self,
        name: str,
        /,
        *,
        literals: Mapping[str, Literal] | None = None,
        timeout: float | None = None,
        **params: object,
    ) -> list[Row]:
        """Run a reading query.

        Args:
            name: the query's name in the catalogue.
            literals: whole numbers and edge types that are written into its text.
            timeout: seconds after which the server gives up and `StatementTimedOut` is raised; without one it gives up
                after those of the policy.
            params: exactly the declared parameters.
        """
        text = self._text(name, writes=False, params=params, literals=literals)
        limit = self._retry.transaction_seconds if timeout is None else timeout
        query = neo4j.Query(_literal(text), timeout=limit)
        return self._retried(lambda: self._run(neo4j.READ_ACCESS, query, params), timed=timeout is not None)

    def write(self, name: str, /, **params: object) -> list[Row]:
        """Run a writing query as a transaction of its own."""
        text = self._text(name, writes=True, params=params)
        return self._retried(lambda: self._committed(name, text, params))

    def transact(self, name: str, steps: Callable[[Statements], T]) -> T:
        """Run `steps` in one transaction; they may run several times, and only the last run counts.

        Args:
            name: of the transaction, for its failpoints.
            steps: run the statements; the commit follows their return.
        """
        return self._retried(lambda: self._transact(name, steps))

    def guarded(self, check: Callable[[], None]) -> None:
        """Have `check` run once after every lost connection, before anything else is asked or written.

        A database cannot be replaced by an older copy without its connections being lost; see `service.runtime`.
        """
        self._guard = Guard(check)

    def unguarded(self) -> Database:
        """The same database for what the guard itself does."""
        return Database(self._driver, self._catalogue, self._retry, self._failpoints, database=self._database)

    def bookmarks(self) -> list[str]:
        """What this database has seen, for a reader elsewhere to wait for."""
        return sorted(self._bookmarks.get_bookmarks())

    def administer(self, text: str, **params: object) -> list[Row]:
        """Run schema or procedure text that is no query of the catalogue; for `graph.database` alone."""
        return self._retried(lambda: self._run(neo4j.WRITE_ACCESS, neo4j.Query(_literal(text)), params))

    def close(self) -> None:
        """Close the connections."""
        self._driver.close()

    def _session(self, access: str) -> neo4j.Session:
        return self._driver.session(  # pyright: ignore[reportUnknownMemberType] - the driver types its options loosely
            database=self._database,
            default_access_mode=access,
            bookmark_manager=self._bookmarks,
            fetch_size=1_000,
        )

    def _run(self, access: str, query: neo4j.Query, params: Mapping[str, object]) -> list[Row]:
        with self._session(access) as session:
            return _rows(session.run(query, dict(params)))

    def _committed(self, name: str, text: str, params: Mapping[str, object]) -> list[Row]:
        self._failpoints.reached(f"{name}.before_commit")
        query = neo4j.Query(_literal(text), timeout=self._retry.transaction_seconds)
        rows = self._run(neo4j.WRITE_ACCESS, query, params)
        self._failpoints.reached(f"{name}.after_commit")
        return rows

    def _transact(self, name: str, steps: Callable[[Statements], T]) -> T:
        limit = self._retry.transaction_seconds
        with self._session(neo4j.WRITE_ACCESS) as session, session.begin_transaction(timeout=limit) as transaction:
            result = steps(_TransactionStatements(self, transaction))
            self._failpoints.reached(f"{name}.before_commit")
            transaction.commit()
        self._failpoints.reached(f"{name}.after_commit")
        return result

    def _text(
        self,
        name: str,
        *,
        writes: bool | None,
        params: Mapping[str, object],
        literals: Mapping[str, Literal] | None = None,
    ) -> str:
        query = self._catalogue[name]
        if writes is not None and query.writes != writes:
            raise QueryInvalid(f"{name} is declared as {query.header['access']}")
        _check_params(query, params)
        return query.with_literals(literals or {})

    def statement_text(self, name: str, params: Mapping[str, object]) -> str:
        """The text of a query for use inside a transaction, its parameters checked."""
        return self._text(name, writes=None, params=params)

    def _retried(self, call: Callable[[], T], *, timed: bool = False) -> T:
        """The answer of a call that is repeated; `timed` where its caller asked for a time limit and is told of it."""
        retrying = Retrying(
            retry=retry_if_exception(_may_retry if timed else _may_retry_late),
            wait=wait_random_exponential(multiplier=self._retry.wait_seconds_min, max=self._retry.wait_seconds_max),
            stop=stop_after_delay(self._retry.total_seconds),
            retry_error_callback=_give_up,
            reraise=False,
        )
        try:
            return retrying(call if self._guard is None else self._guard.over(call))
        except driver_errors.ConstraintError as error:
            raise ConstraintViolated from error
        except driver_errors.AuthError as error:
            raise Unavailable("the database refused the credentials", code=ReasonCode.SERVICE_UNAVAILABLE) from error
        except driver_errors.Neo4jError as error:
            if error.code in TRANSACTION_TIMEOUT_CODES:
                raise StatementTimedOut from error
            if error.code in _CODES_FINAL:
                raise Oversized(
                    "the statement needs more memory than the server allows it",
                    code=ReasonCode.LIMIT_EXCEEDED,
                    details={"limit": "db.memory.transaction.max"},
                ) from error
            if error.code.startswith(_SERVER_FAULTS):
                raise _server_fault(error.code) from error
            raise


class Guard:
    """Runs a check after a lost connection, once, before the next call; calls meanwhile are told to come back."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._lost = False
        self._checking = threading.Lock()

    def over(self, call: Callable[[], T]) -> Callable[[], T]:
        """The call behind the guard."""

        def guarded() -> T:
            if self._lost:
                self._look()
            try:
                return call()
            except (driver_errors.ServiceUnavailable, driver_errors.SessionExpired):
                self._lost = True
                raise

        return guarded

    def _look(self) -> None:
        if not self._checking.acquire(timeout=_GUARD_SECONDS):
            raise NotReady("the database is being compared with its journal", code=ReasonCode.SERVICE_NOT_READY)
        try:
            if self._lost:
                self._check()
                self._lost = False
        finally:
            self._checking.release()


class _TransactionStatements:
    def __init__(self, database: Database, transaction: neo4j.Transaction) -> None:
        self._database = database
        self._transaction = transaction

    def run(self, name: str, /, **params: object) -> list[Row]:
        text = self._database.statement_text(name, params)
        return _rows(self._transaction.run(_literal(text), dict(params)))


def open_database(
    uri: str,
    user: str,
    password: str,
    catalogue: Catalogue,
    retry: RetryPolicy | None = None,
    failpoints: Failpoints | None = None,
) -> Database:
    """Connect to a server; nothing is sent before the first query.

    Args:
        uri: `bolt://` or `neo4j://` with host and port.
        user: the user's name.
        password: the user's password.
        catalogue: the queries that may run.
        retry: how long statements are tried again.
        failpoints: told before and after each commit.
    """
    driver = neo4j.GraphDatabase.driver(  # pyright: ignore[reportUnknownMemberType] - as above
        uri,
        auth=(user, password),
        connection_acquisition_timeout=10.0,
        connection_timeout=5.0,
        max_transaction_retry_time=0.0,
        telemetry_disabled=True,
        notifications_min_severity="OFF",
        user_agent="sequela",
    )
    return Database(driver, catalogue, retry, failpoints)


def _literal(text: str) -> LiteralString:
    # The driver asks for literals so that nobody builds queries from input; ours come from checked files alone.
    return cast("LiteralString", text)


def _rows(result: neo4j.Result) -> list[Row]:
    # Not record.data(): it walks and copies every nested value, which costs more than the query for large lists.
    return [
        Row(dict(zip(result.keys(), cast("tuple[object, ...]", record.values()), strict=True))) for record in result
    ]


def _check_params(query: Query, params: Mapping[str, object]) -> None:
    if set(params) != set(query.params):
        raise QueryInvalid(f"{query.name} takes {sorted(query.params)}, not {sorted(params)}")


def _may_retry(error: BaseException) -> bool:
    if not isinstance(error, driver_errors.DriverError | driver_errors.Neo4jError):
        return False
    code = error.code if isinstance(error, driver_errors.Neo4jError) else None
    if code in _CODES_FINAL:
        return False
    # A lost answer to a commit is repeated too: every write finds its own earlier effect by its key.
    return error.is_retryable() or code in _CODES_RETRIED_ALSO or isinstance(error, driver_errors.IncompleteCommit)


def _may_retry_late(error: BaseException) -> bool:
    """As `_may_retry`; also where the server ended what waited too long for a lock, or held one for too long."""
    return _may_retry(error) or (
        isinstance(error, driver_errors.Neo4jError) and error.code in TRANSACTION_TIMEOUT_CODES
    )


def _server_fault(code: str) -> Unavailable | OutcomeUnknown:
    if code in _CODES_UNKNOWN:
        return OutcomeUnknown(_NOT_SAID, code=ReasonCode.OUTCOME_UNKNOWN)
    return Unavailable("the database has to be restarted: see its own log", code=ReasonCode.SERVICE_UNAVAILABLE)


def _give_up(state: RetryCallState) -> object:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, driver_errors.IncompleteCommit):
        raise OutcomeUnknown(_NOT_SAID, code=ReasonCode.OUTCOME_UNKNOWN) from error
    raise Unavailable("the database does not answer", code=ReasonCode.SERVICE_UNAVAILABLE) from error
