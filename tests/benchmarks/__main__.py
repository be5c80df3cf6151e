"""`python3 -m tests.benchmarks [NAME …]`: ours and the raw driver side by side in one run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from graph.access import Caller
from graph.vocabulary import Role
from service.bootstrap import Application
from tests.benchmarks.closure import run_closure
from tests.benchmarks.delete import run_delete
from tests.benchmarks.million import run_million
from tests.benchmarks.peers import run_peers
from tests.benchmarks.register import run_register
from tests.benchmarks.serving import run_serving
from tests.benchmarks.setting import application_at, server_home
from tests.benchmarks.starting import run_starting

BENCHMARKS: dict[str, Callable[[Application, Caller], Iterator[str]]] = {
    "closure": run_closure,
    "register": run_register,
    "delete": run_delete,
    "serving": run_serving,
    "starting": run_starting,
    "peers": run_peers,
    "million": run_million,
}
# Run where they are named, since they take minutes.
LONG = ("peers", "million")
HEADING = "| work | ours, median (spread) | raw driver | ratio | PostgreSQL |\n|---|---|---|---|---|\n"


def main(names: list[str]) -> int:
    chosen = names or [name for name in BENCHMARKS if name not in LONG]
    unknown = sorted(set(chosen) - set(BENCHMARKS))
    if unknown:
        sys.stderr.write(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    caller = Caller("tenant-a", "bench", frozenset(Role), "maintenance")
    heap = "2g" if "million" in chosen else "1g"
    with server_home(heap) as home, application_at(home) as application:
        sys.stdout.write(HEADING)
        for name in chosen:
            for line in BENCHMARKS[name](application, caller):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
