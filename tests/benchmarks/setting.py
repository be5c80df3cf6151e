"""A private server for a run, and an application on it, in this process or in another one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph.clock import SystemClock
from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import open_database
from graph.ids import SystemIds
from graph.policy.loader import default_policy_folder, load_policy
from service.bootstrap import Application
from service.keys import load_identity_keys
from service.local.server import LocalServer
from service.settings import Settings

_CONNECTION = "connection.json"


@contextmanager
def server_home(heap: str) -> Iterator[Path]:
    """A folder with a running server in it and the file that says how to reach it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with LocalServer(home / "neo4j", heap=heap, page_cache="512m") as server:
            found = server.connection()
            home.joinpath(_CONNECTION).write_text(json.dumps([found.uri, found.user, found.password]), encoding="utf-8")
            yield home


@contextmanager
def application_at(home: Path) -> Iterator[Application]:
    """An application on the server of that folder."""
    uri, user, password = json.loads(home.joinpath(_CONNECTION).read_text(encoding="utf-8"))
    database = open_database(uri, user, password, load_catalogue(default_query_folder()))
    settings = Settings(home=home, neo4j_uri=uri, neo4j_user=user, neo4j_password=password)
    policy, keys = load_policy(default_policy_folder()), load_identity_keys(settings.identity_key_file)
    application = Application(settings, database, policy, keys, SystemClock(), SystemIds())
    application.prepare()
    yield application
    database.close()
