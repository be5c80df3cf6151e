"""The Redis store, which is Valkey's too: keys below a prefix in one database of one server; a cluster is refused.

Verification asks each key for its type, in another transaction and on whatever connection is free: the server has no index
beside the one table of its keys, so there is no deeper path but reading all of them, and TYPE answers for every kind alike
without counting as a use.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, Literal, Protocol, cast

from pydantic import Field
from redis.backoff import NoBackoff
from redis.connection import (
    BlockingConnectionPool,
    parse_url,  # pyright: ignore[reportUnknownVariableType] - it has no types
)
from redis.exceptions import NoPermissionError, RedisError, ResponseError
from redis.retry import Retry

from graph.errors import InvalidInput, NotReady
from graph.vocabulary import ReasonCode, VerificationLevel
from service.connectors import port
from service.connectors.port import (
    MARKER,
    Claim,
    PurgeKind,
    ReadConsistency,
    StoreProfile,
    StoreUnavailable,
    batch_checked,
    is_name,
    root_checked,
)
from service.connectors.secrets import secret

POOL_SIZE: Final = 8
PAGE_KEYS: Final = 1_000
LOOK_SECONDS: Final = 0.02
PROFILE: Final = StoreProfile(
    addressing="a key below the prefix",
    batch_max=1_000,
    read=ReadConsistency.STRONG,
    purge=PurgeKind.SYNCHRONOUS,
    level=VerificationLevel.LOGICALLY_ABSENT,
    residue=(
        "snapshot files (RDB), until an operator has the next one written",
        "memory of the server, until it is used again",
        "the server's slow log, where it kept commands",
        "replicas, and copies of the append-only file",
    ),
    is_enumerable=True,
)
_Command = tuple[bytes | str | int, ...]


class Connection(port.Connection):
    """How a server is reached."""

    connector: Literal["redis"]
    url_variable: Annotated[
        str,
        Field(
            alias="urlVariable",
            description="The environment variable with the URL, which ends in the database's number: redis://host:6379/0.",
        ),
    ]
    prefix: Annotated[str, Field(description="What all keys of this store begin with; no part of a locator.")] = ""
    waits_for_disk: Annotated[
        bool,
        Field(
            alias="waitsForDisk",
            description="Whether an effect is answered only when the append-only file is on the disk, where there is one. "
            "Otherwise a machine that fails can bring back what was deleted in its last second.",
        ),
    ] = True
    purge_seconds: Annotated[
        float, Field(alias="purgeSeconds", ge=1, le=86_400, description="How long a purge (BGREWRITEAOF) may take.")
    ] = 600.0

    def open(self, root_id: str | None) -> RedisConnector:
        """A connector to the server; nothing is sent yet."""
        return RedisConnector(self, root_id)


class _Wire(Protocol):
    """One connection to the server, with which commands are sent together and none is repeated."""

    def pack_commands(self, commands: Sequence[_Command]) -> list[bytes]: ...

    def send_packed_command(self, command: list[bytes]) -> None: ...

    def read_response(self) -> object: ...

    def disconnect(self) -> None: ...


class _Pool(Protocol):
    """A bounded number of wires."""

    def get_connection(self) -> _Wire: ...

    def release(self, connection: _Wire) -> None: ...

    def disconnect(self) -> None: ...


class RedisConnector:
    """Copies as keys of any type.

    The store's id is a key of its own below the prefix, watched by the transaction of every effect and read in that of every
    reading: a server that was emptied or replaced proves nothing. Nor does a replica, or a cluster, where keys move.
    """

    profile: StoreProfile = PROFILE

    def __init__(self, connection: Connection, root_id: str | None = None) -> None:
        self._settings = connection
        self._root_id = root_id
        self._prefix = connection.prefix.encode()
        self._marker = self._prefix + MARKER.encode()
        self._pool = _pool(connection)

    def root_id(self) -> str | None:
        """The id that the server bears below the prefix, or none.

        Raises:
            StoreUnavailable: the server did not answer.
        """
        with self._wire() as wire:
            return _root(_sound(_exchange(wire, ("GET", self._marker))[0]))

    def create(self, root_id: str) -> None:
        """Leave the id where there is none.

        Raises:
            StoreUnavailable: the server did not answer, or does not take it.
        """
        with self._wire() as wire:
            _sound(_exchange(wire, ("SET", self._marker, root_id, "NX"))[0])

    def write(self, locator: str, data: bytes) -> None:
        """Put the content at a key, in the place of whatever was there.

        Raises:
            InvalidInput: no key, or the store's own (`MALFORMED_INPUT`).
            StoreUnavailable: the server did not answer, or it is another store.
        """
        if not self._is_locator(locator):
            raise InvalidInput("a key is text without NUL, and not empty", code=ReasonCode.MALFORMED_INPUT)
        with self._wire() as wire:
            for reply in self._done(wire, [("SET", self._key(locator), data)]):
                _sound(reply)

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        """Unlink the keys in one transaction. Not DEL: that holds up everybody else for as long as a large value takes.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the server did not answer, or it is another store; all may be gone, or none.
        """
        batch_checked(locators, self.profile.batch_max)
        keys = [self._key(locator) for locator in locators if self._is_locator(locator)]
        with self._wire() as wire:
            replies = iter(self._done(wire, [("UNLINK", key) for key in keys]))
        return [_claim(next(replies)) if self._is_locator(locator) else Claim.MALFORMED for locator in locators]

    def present(self, locators: Sequence[str]) -> list[bool]:
        """Ask each key for its type.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the server did not answer, or it is another store.
        """
        batch_checked(locators, self.profile.batch_max)
        keys = [self._key(locator) for locator in locators if self._is_locator(locator)]
        types = iter(self._read([("TYPE", key) for key in keys]))
        return [self._is_locator(locator) and next(types) != b"none" for locator in locators]

    def purge(self) -> None:
        """Have the append-only file written anew, where there is one, and wait for its end.

        Raises:
            StoreUnavailable: the server did not answer, or not in time, or could not do it.
        """
        end = time.monotonic() + self._settings.purge_seconds
        with self._wire() as wire:
            # One that was under way may have begun before the deletion.
            facts = _idle(wire, end)
            if facts.get("aof_enabled") != "1":
                return
            _sound(_exchange(wire, ("BGREWRITEAOF",))[0])
            if _idle(wire, end).get("aof_last_bgrewrite_status") != "ok":
                raise StoreUnavailable("the append-only file could not be written anew")

    def locators(self) -> Iterator[str]:
        """All keys below the prefix, a page at a time, some perhaps twice; those that are no text cannot be locators.

        Raises:
            StoreUnavailable: the server did not answer, or it is another store.
        """
        pattern = re.sub(rb"([*?\[\]\\^-])", rb"\\\1", self._prefix) + b"*"
        cursor = b"0"
        while True:
            (reply,) = self._read([("SCAN", cursor, "MATCH", pattern, "COUNT", PAGE_KEYS)])
            cursor, keys = cast("tuple[bytes, list[bytes]]", reply)
            for key in keys:
                locator = key[len(self._prefix) :].decode(errors="surrogateescape")
                if self._is_locator(locator):
                    yield locator
            if cursor == b"0":
                return

    def close(self) -> None:
        """Let go of connections."""
        self._pool.disconnect()

    def _is_locator(self, locator: str) -> bool:
        return is_name(locator) and locator != MARKER

    def _key(self, locator: str) -> bytes:
        return self._prefix + locator.encode()

    def _done(self, wire: _Wire, effects: list[_Command]) -> list[object]:
        """The replies to effects that are carried out together or not at all, on the right store alone.

        Where the role may not touch some of the keys, those are answered with the error and the others carried out.
        """
        appends = self._checked(*_exchange(wire, ("WATCH", self._marker), ("GET", self._marker), ("INFO",))[1:])
        commands: list[_Command] = [("MULTI",), *effects, ("EXEC",)]
        if appends and self._settings.waits_for_disk:
            # A little less than the client waits.
            commands.append(("WAITAOF", 1, 0, max(1, int(self._settings.timeout_seconds * 900))))
        replies = _exchange(wire, *commands)
        queued = replies[1 : len(effects) + 1]
        allowed = [one for one, reply in zip(effects, queued, strict=True) if not isinstance(reply, NoPermissionError)]
        if len(allowed) < len(effects):
            rest = iter(self._done(wire, allowed))
            return [reply if isinstance(reply, NoPermissionError) else next(rest) for reply in queued]
        results = _sound(replies[len(effects) + 1])
        if results is None:
            raise StoreUnavailable("the store's id changed meanwhile; nothing was done")
        if len(commands) > len(effects) + 2 and cast("list[int]", _sound(replies[-1]))[0] < 1:
            raise StoreUnavailable("the server did not have it on its disk in time")
        return cast("list[object]", results)

    def _read(self, questions: list[_Command]) -> list[object]:
        """The replies to questions that the right store answered."""
        with self._wire() as wire:
            replies = _exchange(wire, ("MULTI",), ("GET", self._marker), ("INFO",), *questions, ("EXEC",))
            root, info, *answers = cast("list[object]", _sound(replies[-1]))
            self._checked(root, info)
            return [_sound(answer) for answer in answers]

    def _checked(self, root: object, info: object) -> bool:
        """Whether the server has an append-only file; refuses what is not the store."""
        facts = _facts(info)
        if facts.get("role") != "master":
            raise StoreUnavailable("the server is a replica, which may lag behind")
        if facts.get("cluster_enabled") != "0":
            raise StoreUnavailable("the server is part of a cluster, which this connector does not know")
        root_checked(_root(root), self._root_id)
        return facts.get("aof_enabled") == "1"

    @contextmanager
    def _wire(self) -> Generator[_Wire]:
        """A connection for one call; one that an error left in the middle of something is given up."""
        try:
            wire = self._pool.get_connection()
            try:
                yield wire
            except BaseException:
                wire.disconnect()
                raise
            finally:
                self._pool.release(wire)
        except (RedisError, OSError) as error:
            # Its text can quote keys and addresses.
            raise StoreUnavailable(f"the server refused or did not answer ({type(error).__name__})") from None


def _pool(settings: Connection) -> _Pool:
    try:
        options = cast("dict[str, Any]", parse_url(secret(settings.url_variable)))
    except ValueError:
        raise NotReady(f"{settings.url_variable} is no URL", code=ReasonCode.SERVICE_NOT_READY) from None
    seconds = settings.timeout_seconds
    # Ours come last: a URL can carry any option.
    options |= {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_timeout": False,
        "retry_on_error": [],
        "health_check_interval": 0,
        "decode_responses": False,
        "protocol": 2,
        "max_connections": POOL_SIZE,
        "timeout": seconds,
    }
    return cast("_Pool", BlockingConnectionPool(**options))


def _exchange(wire: _Wire, *commands: _Command) -> list[object]:
    """Send commands together; an error that answers one of them stands in its place."""
    wire.send_packed_command(wire.pack_commands(commands))
    replies: list[object] = []
    for _ in commands:
        try:
            replies.append(wire.read_response())
        except ResponseError as error:
            replies.append(error)
    return replies


def _sound(reply: object) -> object:
    if isinstance(reply, ResponseError):
        raise reply
    return reply


def _root(held: object) -> str | None:
    return held.decode(errors="replace") if isinstance(held, bytes) else None


def _claim(reply: object) -> Claim:
    if isinstance(reply, ResponseError):
        return Claim.FAILED
    return Claim.DELETED if reply else Claim.NOT_FOUND


def _facts(info: object) -> dict[str, str]:
    text = cast("bytes", _sound(info)).decode(errors="replace")
    return {name: value for name, colon, value in (line.partition(":") for line in text.splitlines()) if colon}


def _idle(wire: _Wire, end: float) -> dict[str, str]:
    """What the server says of its files when it is not writing the append-only file anew."""
    while True:
        facts = _facts(_exchange(wire, ("INFO", "persistence"))[0])
        if facts.get("aof_rewrite_in_progress") != "1" and facts.get("aof_rewrite_scheduled") != "1":
            return facts
        if time.monotonic() > end:
            raise StoreUnavailable("the append-only file was not written anew in time")
        time.sleep(LOOK_SECONDS)
