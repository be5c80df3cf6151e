"""The one place where the parts are put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from graph.propagation.work import Work
from graph.records.register import Registrar
from graph.vocabulary import GRAPH_STORE, ReasonCode
from service.connectors.files import FilesConnector
from service.connectors.port import Connector
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
    def connectors(self) -> Mapping[str, Connector]:
        """The stores that can be worked on from here, by id."""
        return {FILES_STORE: FilesConnector(self.settings.files_store_root, self._files_root_id())}

    def prepare(self) -> None:
        """Bring the database to the state that this code needs: schema, identity key, policy, stores and journal.

        Entries that the database lacks are not gone through yet: `service.runtime.catch_up` does that.

        Raises:
            NotReady: the database belongs to another version or another identity key, knows another policy bundle under
                this one's name and version, or does not go with the journal (see `pair_journal`).
        """
        self._check_connectors()
        apply_schema(self.database, self.clock)
        check_identity_keys(self.database, self.keys)
        self._record_policy()
        self._pair_files_root()
        pair_journal(self.database, self.journal, self.ids, self.clock)

    def _check_connectors(self) -> None:
        """Copies in a store that the policy gives to a connector that is not here would wait for ever."""
        here = {GRAPH_STORE, FILES_STORE}
        missing = sorted(
            store.id for store in self.policy.stores.values() if store.connector is not None and store.id not in here
        )
        if missing:
            raise NotReady(
                f"the policy has connectors that are not here, for: {', '.join(missing)}",
                code=ReasonCode.SERVICE_NOT_READY,
            )

    def _pair_files_root(self) -> None:
        """Remember which root the files store has, and make one only where there never was one.

        An empty folder in the place of a root that is gone would make every copy look deleted.
        """
        files = FilesConnector(self.settings.files_store_root)
        if self._files_root_id() is None:
            files.create(self.ids.new())
            if (root_id := files.root_id()) is not None:
                self.database.write("merge_store_root", storeId=FILES_STORE, rootId=root_id)

    def _files_root_id(self) -> str | None:
        return self.database.read("get_store_root", storeId=FILES_STORE)[0].text_or_none("rootId")

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
