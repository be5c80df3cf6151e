"""`python3 -m tests.benchmarks [NAME …]`: ours and the raw driver side by side in one run."""

from __future__ import annotations

import importlib
import sys

from graph.access import Caller
from graph.vocabulary import Role
from tests.benchmarks.setting import application_at, server_home

NAMES = ("closure", "register", "ndjson", "unknown", "delete", "drain", "serving", "starting", "peers", "million")
# Run where they are named, since they take minutes.
LONG = ("peers", "million")
HEADING = "| work | ours, median (spread) | raw driver | ratio | PostgreSQL |\n|---|---|---|---|---|\n"


def main(names: list[str]) -> int:
    chosen = names or [name for name in NAMES if name not in LONG]
    unknown = sorted(set(chosen) - set(NAMES))
    if unknown:
        sys.stderr.write(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}\n")
        return 2
    caller = Caller("tenant-a", "bench", frozenset(Role), "maintenance")
    sys.stdout.write(HEADING)
    for name in chosen:
        # Each on a server of its own: what one leaves behind would slow the next.
        with server_home("2g" if name == "million" else "1g") as home, application_at(home) as application:
            run = getattr(importlib.import_module(f"tests.benchmarks.{name}"), f"run_{name}")
            for line in run(application, caller):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
