"""Fixtures that every room's tests share: one real Neo4j server a run, an empty graph for each test."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graph.access import Caller
from graph.clock import ManualClock, instant_from_text
from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import Database, RetryPolicy, open_database
from graph.ids import IdentityKeys, SystemIds
from graph.policy.loader import default_policy_folder, load_policy
from graph.vocabulary import Role
from service.bootstrap import Application
from service.settings import Settings
from tests.support.records import TENANT

if TYPE_CHECKING:
    from graph.policy.model import Policy

START = instant_from_text("2026-03-02T09:00:00Z")
ALL_ROLES = frozenset(Role)


@dataclass(frozen=True)
class ServerAddress:
    uri: str
    user: str
    password: str


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory) -> Generator[ServerAddress]:
    """A real server: a given one, else the private one, else a container; without any of them the run fails."""
    uri = os.environ.get("SEQUELA_NEO4J_URI")
    if uri:
        yield ServerAddress(
            uri, os.environ.get("SEQUELA_NEO4J_USER", "neo4j"), os.environ.get("SEQUELA_NEO4J_PASSWORD", "")
        )
        return
    try:
        from service.local.server import LocalServer  # noqa: PLC0415 - only where no server is given
    except ImportError:
        yield from _container()
        return
    home = tmp_path_factory.mktemp("neo4j")
    with LocalServer(home, heap="1g", page_cache="256m") as server:
        connection = server.connection()
        yield ServerAddress(connection.uri, connection.user, connection.password)


def _container() -> Generator[ServerAddress]:
    from testcontainers.neo4j import Neo4jContainer  # noqa: PLC0415 - only where nothing else is there

    with Neo4jContainer("neo4j:5.26.30-community") as container:
        yield ServerAddress(container.get_connection_url(), container.username, container.password)


@pytest.fixture(scope="session")
def policy() -> Policy:
    return load_policy(default_policy_folder())


@pytest.fixture(scope="session")
def shared_database(neo4j_server: ServerAddress) -> Generator[Database]:
    database = open_database(
        neo4j_server.uri,
        neo4j_server.user,
        neo4j_server.password,
        load_catalogue(default_query_folder()),
        RetryPolicy(total_seconds=30.0),
    )
    yield database
    database.close()


def _empty(database: Database) -> None:
    database.administer("MATCH ()-[e]->() CALL (e) { DELETE e } IN TRANSACTIONS OF 20000 ROWS")
    database.administer("MATCH (n) WHERE NOT n:SchemaVersion CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS")
    database.administer("MATCH (n:SchemaVersion {step: 'identity_key'}) DELETE n")


@pytest.fixture
def database(shared_database: Database) -> Generator[Database]:
    # Before the test as well: a run that was killed leaves its graph, whose journal is gone.
    _empty(shared_database)
    yield shared_database
    _empty(shared_database)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def application(database: Database, policy: Policy, clock: ManualClock, tmp_path: Path) -> Application:
    """An application on an empty graph, with a clock that moves only when told to."""
    built = Application(
        settings=Settings(home=tmp_path / "home"),
        database=database,
        policy=policy,
        keys=IdentityKeys(b"k" * 32),
        clock=clock,
        ids=SystemIds(),
    )
    built.prepare()
    return built


@pytest.fixture
def caller() -> Caller:
    """Somebody of the tenant with every role."""
    return Caller(TENANT, "tech-17", ALL_ROLES, "maintenance", frozenset({"shared-sources"}))
