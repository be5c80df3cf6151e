"""Which stores can be worked on from here: the connections file, and the pairing of each store with its root."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, cast

import yaml
from pydantic import ValidationError

from graph.database.database import Database
from graph.errors import NotReady
from graph.ids import Ids
from graph.policy.model import Policy
from graph.vocabulary import GRAPH_STORE, ReasonCode
from service.connectors.clients import client_library
from service.connectors.port import Claim, Connection, Connector, StoreProfile, StoreUnavailable

# By the name in the policy and in the connections file: the module, and the extra that brings its client, if it needs one.
CONNECTORS: Final[Mapping[str, tuple[str, str]]] = {
    "files": ("service.connectors.files", ""),
    "http": ("service.connectors.http", "http"),
    "pgvector": ("service.connectors.pgvector", "postgres"),
    "postgres": ("service.connectors.postgres", "postgres"),
    "qdrant": ("service.connectors.qdrant", "qdrant"),
    "redis": ("service.connectors.redis", "redis"),
    "s3": ("service.connectors.s3", "s3"),
}
CONNECTIONS_BYTES_MAX: Final = 1_000_000


class _Module(Protocol):
    Connection: type[Connection]


def read_connections(path: Path) -> dict[str, Connection]:
    """The connections of a file: a mapping from the policy's store ids to how each is reached.

    Raises:
        NotReady: the file cannot be read, or an entry is not one; each fault is named with its place, and no value is.
    """
    try:
        if path.stat().st_size > CONNECTIONS_BYTES_MAX:
            raise _unusable(f"has more than {CONNECTIONS_BYTES_MAX} bytes")
        read = cast("object", yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise _unusable(f"cannot be read ({type(error).__name__})") from None
    if not isinstance(read, dict):
        raise _unusable("is no mapping from store ids to connections")
    entries = cast("dict[object, object]", read)
    return {str(store_id): _connection(str(store_id), entry) for store_id, entry in entries.items()}


def _connection(store_id: str, entry: object) -> Connection:
    kind = cast("dict[object, object]", entry).get("connector") if isinstance(entry, dict) else None
    if kind not in CONNECTORS:
        raise _unusable(f"{store_id}.connector is none of: {', '.join(sorted(CONNECTORS))}")
    name, extra = CONNECTORS[str(kind)]
    module = cast("_Module", cast("object", client_library(name, extra)))
    try:
        return module.Connection.model_validate(entry)
    except ValidationError as error:
        faults = "; ".join(f"{store_id}.{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise _unusable(faults) from None


def check_connections(connections: Mapping[str, Connection], policy: Policy) -> None:
    """The policy says what deletes in a store, the connections how it is reached; both must tell of the same stores.

    Raises:
        NotReady: a store of one is not in the other, or not with the same connector.
    """
    said = {store.id: store.connector for store in policy.stores.values() if store.id != GRAPH_STORE}
    here = {store_id: getattr(connection, "connector", None) for store_id, connection in connections.items()}
    missing = sorted(store_id for store_id, kind in said.items() if kind is not None and store_id not in here)
    if missing:
        raise NotReady(
            f"the policy has connectors that are not here, for: {', '.join(missing)}", code=ReasonCode.SERVICE_NOT_READY
        )
    odd = sorted(store_id for store_id, kind in here.items() if said.get(store_id) != kind)
    if odd:
        raise NotReady(
            f"the connections have stores that the policy gives to no such connector: {', '.join(odd)}",
            code=ReasonCode.SERVICE_NOT_READY,
        )


class PairedConnector:
    """A store and the root that it was first used with. The first call pairs them; until that worked nothing is done.

    The graph remembers the root's id. A store that cannot be reached at the start is paired whenever it comes back, and
    one that was paired before and bears another id, or none, is never taken for the same.
    """

    def __init__(self, store_id: str, connection: Connection, database: Database, ids: Ids) -> None:
        self._store_id = store_id
        self._connection = connection
        self._database = database
        self._ids = ids
        self._pairing = threading.Lock()
        self._is_paired = False
        # One at a time: some stores, an embedded engine say, are open only once.
        self._open = connection.open(None)

    @property
    def profile(self) -> StoreProfile:
        """What the store can do."""
        return self._open.profile

    def pair(self) -> Connector:
        """The connector to the store with its root.

        Raises:
            StoreUnavailable: the store did not answer, or bears no id.
        """
        with self._pairing:
            if not self._is_paired:
                root_id = self._known_root() or self._first_root()
                self._open.close()
                self._open = self._connection.open(root_id)
                self._is_paired = True
            return self._open

    def _known_root(self) -> str | None:
        return self._database.read("get_store_root", storeId=self._store_id)[0].text_or_none("rootId")

    def _first_root(self) -> str:
        self._open.create(self._ids.new())
        found = self._open.root_id()
        if found is None:
            raise StoreUnavailable("the store bears no id, and could not be given one")
        kept = self._database.write("merge_store_root", storeId=self._store_id, rootId=found)[0]
        return kept.text("rootId")

    def root_id(self) -> str | None:
        """See `Connector`."""
        return self.pair().root_id()

    def create(self, root_id: str) -> None:
        """See `Connector`."""
        self.pair().create(root_id)

    def write(self, locator: str, data: bytes) -> None:
        """See `Connector`."""
        self.pair().write(locator, data)

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        """See `Connector`."""
        return self.pair().delete(locators)

    def present(self, locators: Sequence[str]) -> list[bool]:
        """See `Connector`."""
        return self.pair().present(locators)

    def purge(self) -> None:
        """See `Connector`."""
        self.pair().purge()

    def locators(self) -> Iterator[str]:
        """See `Connector`."""
        return self.pair().locators()

    def close(self) -> None:
        """See `Connector`."""
        self._open.close()


def pair_if_there(connector: Connector) -> None:
    """Pair a store that answers; one that does not is paired when it does."""
    if isinstance(connector, PairedConnector):
        with suppress(StoreUnavailable):
            connector.pair()


def _unusable(what: str) -> NotReady:
    return NotReady(f"the connections file {what}", code=ReasonCode.SERVICE_NOT_READY)
