"""The Qdrant store: points of one collection, each with the locator of its copy in the payload field `locator`.

The connector's own points have an id made from the locator; points that others wrote (the chunks of one text, say) have
any id and the same field. Deletion names ids, verification filters by the payload: the index of ids and the one of
payloads are two, and only the first has been known to answer before it was done (qdrant/qdrant#8354).

Our tests run the engine that the client embeds (`path`), which shares the client's interface and not the server's storage.
No Qdrant server was run: what a server keeps in segments and log until it optimises is declared from its documentation.
"""

from __future__ import annotations

import base64
import math
import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, Final, Literal, Self, cast

from pydantic import Field, model_validator

from graph.errors import InvalidInput
from graph.vocabulary import ReasonCode, VerificationLevel
from service.connectors import port
from service.connectors.clients import answered, client_library
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
from service.connectors.secrets import secret

LOCATOR_FIELD: Final = "locator"
ROOT_FIELD: Final = "sequelaStore"
DATA_FIELD: Final = "data"
PAGE_POINTS: Final = 1_000
PAGES_MAX: Final = 100_000
_NAMESPACE: Final = uuid.UUID("5e90e1a0-0000-5000-8000-000000000001")
# In a namespace of its own, so that no locator has this id.
ROOT_POINT: Final = str(uuid.uuid5(uuid.UUID("5e90e1a0-0000-5000-8000-000000000002"), ROOT_FIELD))
PROFILE: Final = StoreProfile(
    addressing="the payload field locator of points in one collection",
    batch_max=100,
    read=ReadConsistency.STRONG,
    purge=PurgeKind.OPERATOR,
    level=VerificationLevel.LOGICALLY_ABSENT,
    residue=(
        "payloads and vectors in segments that the server has not optimised yet",
        "the server's write-ahead log",
        "freed pages of an embedded engine's file, unless its SQLite overwrites them",
        "snapshots of the collection",
    ),
    is_enumerable=True,
)


class Connection(port.Connection):
    """How a collection is reached: at the address of a server, or in the folder of an embedded engine."""

    connector: Literal["qdrant"]
    collection: str = Field(min_length=1, max_length=255, description="Name of the collection; it has to be there.")
    url: str | None = Field(None, pattern=r"^https?://", description="Address of a server.")
    path: str | None = Field(
        None, min_length=1, description="Folder of an embedded engine: for trials, one process at a time."
    )
    api_key_variable: str | None = Field(
        None, alias="apiKeyVariable", description="Environment variable with the server's API key."
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.url is None) == (self.path is None):
            message = "give either url or path"
            raise ValueError(message)
        return self

    def open(self, root_id: str | None) -> QdrantConnector:
        """A connector to the collection; no server is asked yet."""
        return QdrantConnector(self, root_id)


class QdrantConnector:
    """Copies as points. The point `ROOT_POINT` bears the store's id, and no locator reaches it."""

    def __init__(self, connection: Connection, root_id: str | None = None) -> None:
        self._collection = connection.collection
        self._root_id = root_id
        self._models: Any = client_library("qdrant_client.models", "qdrant")
        # The embedded engine is not made for several threads.
        self._lock = nullcontext() if connection.path is None else threading.RLock()
        with answered():
            self._client = _client(connection)

    @property
    def profile(self) -> StoreProfile:
        """What a collection can do."""
        return PROFILE

    def root_id(self) -> str | None:
        """The id that the point of the store bears, or none where there is no such point.

        Raises:
            StoreUnavailable: the server did not answer, or has no such collection.
        """
        for point in self._points(self._models.Filter(must=[self._models.HasIdCondition(has_id=[ROOT_POINT])])):
            return str(_payload(point).get(ROOT_FIELD))
        return None

    def create(self, root_id: str) -> None:
        """Leave the id in a collection that bears none.

        Raises:
            StoreUnavailable: the server did not answer, or has no such collection.
        """
        if self.root_id() is None:
            self._put(ROOT_POINT, {ROOT_FIELD: root_id})

    def write(self, locator: str, data: bytes) -> None:
        """Put a point there that bears the data, and no vector.

        Raises:
            InvalidInput: no locator (`MALFORMED_INPUT`).
            StoreUnavailable: the server did not answer, or it is another store.
        """
        if not is_name(locator):
            raise InvalidInput("a locator is a text without NUL", code=ReasonCode.MALFORMED_INPUT)
        self._root_checked()
        self._put(point_id(locator), {LOCATOR_FIELD: locator, DATA_FIELD: base64.b64encode(data).decode()})

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        """Look for the points of each locator and remove them by their ids, and wait until that is done.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the server did not answer, or it is another store.
        """
        batch_checked(locators, PROFILE.batch_max)
        self._root_checked()
        found = self._found(locators)
        ids = sorted({id_ for ids in found.values() for id_ in ids})
        for start in range(0, len(ids), PAGE_POINTS):
            selector = self._models.PointIdsList(points=ids[start : start + PAGE_POINTS])
            self._done(lambda selector=selector: self._client.delete(self._collection, selector, wait=True))
        # Once more: a store that was exchanged in between makes everything look absent.
        self._root_checked()
        return [
            Claim.MALFORMED if not is_name(locator) else Claim.DELETED if found[locator] else Claim.NOT_FOUND
            for locator in locators
        ]

    def present(self, locators: Sequence[str]) -> list[bool]:
        """Filter by the payload, and by the id for a point whose payload was taken away.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the server did not answer, or it is another store.
        """
        batch_checked(locators, PROFILE.batch_max)
        self._root_checked()
        found = self._found(locators)
        return [bool(found.get(locator)) for locator in locators]

    def purge(self) -> None:
        """Nothing: when a server optimises its segments is its own and its operator's business."""

    def locators(self) -> Iterator[str]:
        """The locators in the payloads of all points.

        Raises:
            StoreUnavailable: the server did not answer, or it is another store.
        """
        self._root_checked()
        for point in self._points(None):
            yield from _locators_of(point)

    def close(self) -> None:
        """Close the connections, or the embedded engine."""
        with self._lock:
            self._client.close()

    def _found(self, locators: Collection[str]) -> dict[str, list[str]]:
        """The ids of the points of each locator that means something."""
        found: dict[str, list[str]] = {locator: [] for locator in locators if is_name(locator)}
        if not found:
            return found
        own = {point_id(locator): locator for locator in found}
        models = self._models
        match = models.FieldCondition(key=LOCATOR_FIELD, match=models.MatchAny(any=list(found)))
        for point in self._points(models.Filter(should=[match, models.HasIdCondition(has_id=list(own))])):
            # The text itself decides: an index of the server's may fold what it matches.
            for locator in {*_locators_of(point), own.get(str(point.id), "")} & found.keys():
                found[locator].append(point.id)
        return found

    def _points(self, chosen: object) -> Iterator[Any]:
        """The points that a filter chooses, page by page."""
        offset: object = None
        for _ in range(PAGES_MAX):
            with answered(), self._lock:
                page, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=chosen,
                    limit=PAGE_POINTS,
                    offset=offset,
                    with_payload=[LOCATOR_FIELD, ROOT_FIELD],
                    with_vectors=False,
                    # One replica that lags would show what another has removed, or hide what it still has.
                    consistency=self._models.ReadConsistencyType.ALL,
                )
            yield from page
            if offset is None:
                return
        raise StoreUnavailable(f"the collection has more than {PAGES_MAX} pages")

    def _put(self, id_: str, payload: dict[str, str]) -> None:
        point = self._models.PointStruct(id=id_, vector={}, payload=payload)
        self._done(lambda: self._client.upsert(self._collection, [point], wait=True))

    def _done(self, call: Callable[[], Any]) -> None:
        """A change that is done; one that was only taken note of is not."""
        with answered(), self._lock:
            status = call().status
        if status != self._models.UpdateStatus.COMPLETED:
            raise StoreUnavailable("the server took note of the change and has not done it")

    def _root_checked(self) -> None:
        """An empty or foreign collection is no proof of anything."""
        root_checked(self.root_id(), self._root_id)


def point_id(locator: str) -> str:
    """The id of the connector's own point of a locator."""
    return str(uuid.uuid5(_NAMESPACE, locator))


def _payload(point: Any) -> dict[str, object]:  # noqa: ANN401 - a record of the client's, which is loaded at run time
    return point.payload or {}


def _locators_of(point: object) -> list[str]:
    value = _payload(point).get(LOCATOR_FIELD)
    # A payload may list several values, and a filter matches any of them.
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]


def _client(connection: Connection) -> Any:  # noqa: ANN401 - as above
    client: Any = client_library("qdrant_client", "qdrant").QdrantClient
    if connection.path is not None:
        return client(path=connection.path, force_disable_check_same_thread=True)
    key = None if connection.api_key_variable is None else secret(connection.api_key_variable)
    seconds = math.ceil(connection.timeout_seconds)
    return client(url=connection.url, api_key=key, timeout=seconds, check_compatibility=False)
