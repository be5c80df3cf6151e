"""The one place where the parts are put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from graph.clock import Clock, SystemClock
from graph.database.database import Database
from graph.database.journal import FileJournal
from graph.database.journaling import pair_journal
from graph.database.schema import apply_schema
from graph.deletion.deletions import Deletions
from graph.deletion.holds import Holds
from graph.deletion.restore import Restorer
from graph.errors import NotReady
from graph.failpoints import Failpoints, failpoints_from_text
from graph.ids import IdentityKeys, Ids, SystemIds
from graph.lineage.lineage import Lineage
from graph.policy.loader import load_policy
from graph.policy.model import Policy
from graph.propagation.settle import Settler
from graph.propagation.stores import Stores
from graph.propagation.work import Work
from graph.records.register import Registrar
from graph.vocabulary import ReasonCode
from service.connectors.files import Connection as FilesConnection
from service.connectors.port import Connection, Connector
from service.connectors.registry import PairedConnector, check_connections, pair_if_there, read_connections
from service.keys import check_identity_keys, load_identity_keys
from service.settings import Settings

FILES_STORE: Final = "files"


@dataclass(frozen=True)
class Application:
    """Everything that a surface needs, built from one set of settings."""

    settings: Settings
    database: Database
    policy: Policy
    keys: IdentityKeys
    clock: Clock
    ids: Ids

    @cached_property
    def failpoints(self) -> Failpoints:
        """Where a test has this process end, stop or fail."""
        return failpoints_from_text(self.settings.failpoints)

    def over(self, database: Database) -> Application:
        """The same application on another way to its database; visits of failpoints are counted on."""
        other = replace(self, database=database)
        other.__dict__["failpoints"] = self.failpoints
        return other

    def close(self) -> None:
        """Let go of the stores that were opened; the database belongs to whoever opened it."""
        opened: Mapping[str, Connector] = self.__dict__.get("connectors", {})
        for connector in opened.values():
            connector.close()

    @cached_property
    def journal(self) -> FileJournal:
        """What outlives a restore of the database."""
        return FileJournal(self.settings.journal_path, self.failpoints)

    @cached_property
    def restorer(self) -> Restorer:
        """Brings the database up to its journal."""
        return Restorer(self.database, self.journal, self.deletions, self.clock)

    @cached_property
    def registrar(self) -> Registrar:
        """Registers records."""
        return Registrar(self.database, self.policy, self.keys, self.clock, self.ids)

    @cached_property
    def lineage(self) -> Lineage:
        """Answers where records come from and what came of them."""
        return Lineage(self.database, self.policy, self.clock, self.settings.walk_timeout_seconds)

    @cached_property
    def deletions(self) -> Deletions:
        """Files, runs and accounts for deletions."""
        settler = Settler(self.database, self.policy, self.clock, self.journal, self.settings.shards)
        return Deletions(self.database, self.policy, self.keys, self.clock, self.ids, self.journal, settler)

    @cached_property
    def holds(self) -> Holds:
        """Places and releases holds."""
        return Holds(self.database, self.policy, self.keys, self.clock, self.journal)

    @cached_property
    def work(self) -> Work:
        """The ledger of work in stores."""
        return Work(self.database, self.policy, self.clock, self.ids, self.settings.lease_seconds)

    @cached_property
    def stores(self) -> Stores:
        """What the graph knows of the stores."""
        return Stores(self.database, self.policy, self.clock)

    @cached_property
    def connections(self) -> Mapping[str, Connection]:
        """How each store with a connector is reached: the files store, and those of the connections file."""
        files = {FILES_STORE: FilesConnection(root=self.settings.files_store_root)}
        path = self.settings.connections_file
        return files if path is None else files | read_connections(path)

    @cached_property
    def connectors(self) -> Mapping[str, Connector]:
        """The stores that can be worked on from here, by id; each is paired with its root when it is first used."""
        return {
            store_id: PairedConnector(store_id, connection, self.database, self.ids)
            for store_id, connection in self.connections.items()
        }

    def prepare(self) -> None:
        """Bring the database to the state that this code needs: schema, identity key, policy, stores and journal.

        Entries that the database lacks are not gone through yet: `service.runtime.catch_up` does that.

        Raises:
            NotReady: the connections do not go with the policy, or the database belongs to another version or another
                identity key, knows another policy bundle under this one's name and version, or does not go with the
                journal (see `pair_journal`).
        """
        check_connections(self.connections, self.policy)
        apply_schema(self.database, self.clock)
        check_identity_keys(self.database, self.keys)
        self._record_policy()
        self._pair_stores()
        pair_journal(self.database, self.journal, self.ids, self.clock)

    def _pair_stores(self) -> None:
        """Remember which root each store has. One that does not answer now is paired when it is first worked on."""
        for connector in self.connectors.values():
            pair_if_there(connector)

    def _record_policy(self) -> None:
        held = self.database.write(
            "merge_policy",
            policyId=self.policy.policy_id,
            digest=self.policy.digest,
            ownerId=self.policy.header.owner_id,
            at=self.clock.now(),
            stores=[{"storeId": store.id, "ownerId": store.owner_id} for store in self.policy.stores.values()],
        )[0].text("digest")
        if held != self.policy.digest:
            raise NotReady(
                f"the database knows another bundle as {self.policy.policy_id}: give a changed bundle a new version",
                code=ReasonCode.SERVICE_NOT_READY,
            )


def build_application(settings: Settings, database: Database) -> Application:
    """Put an application together around an open database."""
    return Application(
        settings=settings,
        database=database,
        policy=load_policy(settings.policy_folder),
        keys=load_identity_keys(settings.identity_key_file),
        clock=SystemClock(),
        ids=SystemIds(),
    )
