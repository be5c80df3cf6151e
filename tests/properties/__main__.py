"""`python3 -m tests.properties --examples N`: the state machine for as long as one likes."""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from graph.clock import SystemClock
from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import Database, open_database
from graph.database.schema import apply_schema
from graph.policy.loader import default_policy_folder, load_policy
from service.local.server import LocalServer
from tests.properties.running import run


@contextmanager
def _database() -> Generator[Database]:
    """The server of the environment, whose data is deleted, or a private one."""
    uri = os.environ.get("SEQUELA_NEO4J_URI")
    catalogue = load_catalogue(default_query_folder())
    if uri:
        user, password = os.environ.get("SEQUELA_NEO4J_USER", "neo4j"), os.environ.get("SEQUELA_NEO4J_PASSWORD", "")
        yield open_database(uri, user, password, catalogue)
        return
    with tempfile.TemporaryDirectory() as folder, LocalServer(Path(folder), heap="1g", page_cache="256m") as server:
        given = server.connection()
        yield open_database(given.uri, given.user, given.password, catalogue)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.properties", description=__doc__)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--no-shrink", action="store_true", help="show the first failing example as it was found")
    chosen = parser.parse_args()
    with _database() as database:
        apply_schema(database, SystemClock())
        run(
            database,
            load_policy(default_policy_folder()),
            examples=chosen.examples,
            steps=chosen.steps,
            seed=chosen.seed,
            shrinks=not chosen.no_shrink,
        )
        database.close()


if __name__ == "__main__":
    main()
