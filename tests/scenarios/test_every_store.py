"""Many records in six real stores at once: one store is down, one lies, one record is held, and all of it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from graph.access import Caller
from graph.clock import ManualClock
from graph.database.checker import check
from service.bootstrap import Application
from service.connectors.port import Connector
from service.connectors.reconcile import reconcile
from tests.connectors.doubles import LyingConnector
from tests.connectors.servers import valkey_server
from tests.connectors.test_connectors_files import Files
from tests.connectors.test_connectors_http import http
from tests.connectors.test_connectors_pgvector import postgres_server, vectors
from tests.connectors.test_connectors_qdrant import qdrant
from tests.connectors.test_connectors_redis import keys
from tests.connectors.test_connectors_s3 import _credentials, seaweedfs, versioned
from tests.support.deletion import delete, hold, outcomes_of, register, tombstones, with_connectors, work
from tests.support.records import derived, record

__all__ = [
    "_credentials",
    "http",
    "keys",
    "postgres_server",
    "qdrant",
    "seaweedfs",
    "valkey_server",
    "vectors",
    "versioned",
]

# Which of the policy's stores is played by which.
KINDS = {
    "files": "files",
    "vector_index": "pgvector",
    "search_cache": "redis",
    "model_call_transcripts": "s3",
    "context_cache": "http",
    "summary_artifacts": "qdrant",
}
# `SEQUELA_SCENARIO_RECORDS=1000` shows it at its full size.
RECORDS = int(os.environ.get("SEQUELA_SCENARIO_RECORDS", "120"))
BYSTANDERS = 60
# Past the last deadline of all of these stores.
DAYS_SECONDS = 3 * 86_400


@dataclass
class World:
    """The application on all six stores, and each store by the policy's name for it."""

    application: Application
    stores: Mapping[str, Any]

    @property
    def connectors(self) -> dict[str, Connector]:
        return {store_id: store.connector for store_id, store in self.stores.items()}

    def put(self, names: Iterator[tuple[str, str]]) -> None:
        for store_id, locator in names:
            self.stores[store_id].put(locator, f"canary at {locator}".encode())


@pytest.fixture
def world(application: Application, tmp_path, vectors, keys, versioned, http, qdrant) -> World:
    files = Files(tmp_path / "files-root")
    files.connector.create("root-1")
    stores = dict(application.policy.stores)
    for store_id, kind in KINDS.items():
        stores[store_id] = stores[store_id].model_copy(update={"connector": kind})
    there = (files, vectors, keys, versioned, http, qdrant)
    other = replace(application, policy=replace(application.policy, stores=stores))
    return World(other, dict(zip(KINDS, there, strict=True)))


def places(prefix: str, number: int) -> list[tuple[str, str]]:
    """(store, locator) of each of so many records, every store in turn; the names are hard to tell apart."""
    ids = list(KINDS)
    return [(ids[index % len(ids)], f"tenant-a/{prefix}-{index}") for index in range(number)]


def records_at(prefix: str, parent: str, number: int) -> list[Any]:
    return [
        derived(f"{prefix}-{index}", parent, stores=[{"storeId": store, "locator": locator.removeprefix("tenant-a/")}])
        for index, (store, locator) in enumerate(places(prefix, number))
    ]


def registered(world: World, caller: Caller, prefix: str, number: int) -> tuple[str, list[str]]:
    (root,) = register(world.application, caller, record(f"{prefix}-root"))
    made = records_at(prefix, f"{prefix}-root", number)
    found = [
        one
        for start in range(0, number, 500)
        for one in register(world.application, caller, *made[start : start + 500])
    ]
    world.put(iter(places(prefix, number)))
    return root, found


def held_by(world: World, prefix: str, number: int) -> set[tuple[str, str]]:
    return {(store, locator) for store, locator in places(prefix, number) if world.stores[store].has(locator)}


def settled(world: World, caller: Caller, request_id: str) -> dict[str, set[str | None]]:
    """Store → the outcomes there."""
    found: dict[str, set[str | None]] = {}
    for one in outcomes_of(world.application, caller, request_id):
        found.setdefault(one.store, set()).add(one.outcome)
    return found


@pytest.mark.req("DEL-01", "DEL-06", "DEL-07", "DEL-16", "DEL-17", "VER-03", "EXC-01", "EXC-04")
def test_everything_ends_in_spite_of_a_store_that_is_down_one_that_lies_and_a_hold(
    world: World, caller: Caller, clock: ManualClock
):
    root, derivatives = registered(world, caller, "doomed", RECORDS)
    registered(world, caller, "doomed-1", BYSTANDERS)  # its names begin like those of the doomed
    before = held_by(world, "doomed-1", BYSTANDERS)
    kept = derivatives[0]
    placed = hold(world.application, caller, kept, reviewAt="2026-05-31T00:00:00Z")
    lying = LyingConnector(world.stores["vector_index"].connector)
    ill = with_connectors(world.application, **(world.connectors | {"vector_index": lying}))
    world.stores["search_cache"].break_off()

    request_id = delete(ill, caller, root).request_id
    work(ill)
    running = ill.deletions.view(request_id, caller)
    assert (running.state, running.complete) == ("RETRYING", False)
    clock.advance(DAYS_SECONDS)
    work(ill)

    ended = ill.deletions.view(request_id, caller)
    ill_stores = [store for store, _ in places("doomed", RECORDS) if store in {"vector_index", "search_cache"}]
    assert ended.state == "CLOSED_WITH_OWNED_FAILURES"
    assert ended.counts["failed"] == ended.owned_failures == len(ill_stores)
    assert settled(world, caller, request_id) == {
        "graph": {"deleted", "retained_under_exception"},
        "files": {"deleted", "retained_under_exception"},
        "vector_index": {"failed"},
        "search_cache": {"failed"},
        "model_call_transcripts": {"deleted"},
        "context_cache": {"deleted"},
        "summary_artifacts": {"deleted"},
    }
    first = ill.deletions.receipt(request_id, caller)

    world.stores["search_cache"].mend()
    world.application.holds.release(placed.hold_id, caller)
    well = with_connectors(world.application, **world.connectors)
    for _ in range(4):
        clock.advance(3_600)
        work(well)

    assert well.deletions.view(request_id, caller).state == "COMPLETED"
    assert well.deletions.receipt(request_id, caller) != first
    assert held_by(world, "doomed", RECORDS) == set()
    assert held_by(world, "doomed-1", BYSTANDERS) == before == set(places("doomed-1", BYSTANDERS))
    assert tombstones(world.application.database) == {root, *derivatives}
    assert check(world.application.database, world.application.policy).findings == ()
    for store_id, connector in world.connectors.items():
        assert reconcile(store_id, connector, world.application.stores).agrees, store_id
