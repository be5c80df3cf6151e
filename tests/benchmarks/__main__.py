"""`python3 -m tests.benchmarks [NAME ...]`: ours and the raw driver side by side in one run."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from graph.access import Caller
from graph.clock import SystemClock
from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import open_database
from graph.ids import IdentityKeys, SystemIds
from graph.policy.loader import default_policy_folder, load_policy
from graph.vocabulary import Role
from service.bootstrap import Application
from service.local.server import LocalServer
from service.settings import Settings
from tests.benchmarks.closure import run_closure
from tests.benchmarks.delete import run_delete
from tests.benchmarks.ndjson import run_ndjson
from tests.benchmarks.register import run_register
from tests.benchmarks.unknown import run_unknown

BENCHMARKS: dict[str, Callable[[Application, Caller], Iterator[str]]] = {
    "closure": run_closure,
    "register": run_register,
    "ndjson": run_ndjson,
    "unknown": run_unknown,
    "delete": run_delete,
}


@contextmanager
def _application() -> Iterator[Application]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with LocalServer(home / "neo4j", heap="1g", page_cache="512m") as server:
            connection = server.connection()
            database = open_database(
                connection.uri, connection.user, connection.password, load_catalogue(default_query_folder())
            )
            settings = Settings(home=home)
            policy = load_policy(default_policy_folder())
            keys = IdentityKeys(b"b" * 32)
            application = Application(settings, database, policy, keys, SystemClock(), SystemIds())
            application.prepare()
            yield application
            database.close()


def main(names: list[str]) -> int:
    chosen = names or list(BENCHMARKS)
    unknown = sorted(set(chosen) - set(BENCHMARKS))
    if unknown:
        sys.stderr.write(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    caller = Caller("tenant-a", "bench", frozenset(Role), "maintenance")
    with _application() as application:
        sys.stdout.write("| work | ours, median (spread) | raw driver | ratio |\n|---|---|---|---|\n")
        for name in chosen:
            for line in BENCHMARKS[name](application, caller):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
