"""One deletion of a million derivatives: time, and the memory of its process and of the server."""

from __future__ import annotations

import time
from collections.abc import Iterator

from graph.access import Caller
from graph.database.checker import check
from service.bootstrap import Application
from tests.benchmarks.deleter import delete_apart
from tests.benchmarks.graphs import load_tree

SIZE = 1_000_000


def run_million(application: Application, _: Caller) -> Iterator[str]:
    """Outside the test suite; takes minutes and a heap of 2 GB."""
    start = time.perf_counter()
    root = load_tree(application.database, SIZE, "million")
    loaded = time.perf_counter() - start
    taken = delete_apart(application, root)
    yield (
        f"| delete with {SIZE:,} derivatives (loaded in {loaded:,.0f} s) | {taken.seconds:,.0f} s, "
        f"service {taken.process_mb:,.0f} MB, server {taken.server_mb:,.0f} MB | | | |"
    )
    start = time.perf_counter()
    report = check(application.database, application.policy, now=application.clock.now())
    said = "clean" if report.clean else dict(report.counts)
    yield f"| check of that graph | {time.perf_counter() - start:,.0f} s: {said} | | | |"
