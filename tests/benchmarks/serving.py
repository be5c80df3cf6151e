"""Upward lineage over HTTP, against the raw query plus an empty endpoint of the same kind of server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from graph.access import Caller
from graph.vocabulary import Role
from service.auth import create_key
from service.bootstrap import Application
from tests.benchmarks.measure import Measurement, measure_turns
from tests.support.records import derived, record

DEPTH = 5
RUNS = 200
_RAW = (
    "MATCH p = (:Identity {identity: $leaf})-[:SUMMARIZED_FROM*1..5]->(d:Identity) "
    "WITH d, min(length(p)) AS depth RETURN depth, collect(d.identity) AS ids ORDER BY depth"
)
_EMPTY = """
import socket, sys
import uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.get("/empty")
def empty() -> dict[str, str]:
    return {"status": "ok"}
listener = socket.create_server(("127.0.0.1", 0))
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print(f"http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[listener])
"""
_SERVE = "from service.cli.main import main; main()"


def run_serving(application: Application, caller: Caller) -> Iterator[str]:
    """Five levels up from a leaf with two sources at each level, asked for over one kept connection."""
    leaf = _ladder(application, caller)
    _, key = create_key(
        application.database,
        application.ids,
        application.clock,
        tenant_id=caller.tenant_id,
        roles=frozenset(Role),
        principal_id=caller.principal_id,
        purposes=[caller.purpose],
    )
    headers = {
        "Authorization": f"Bearer {key}",
        "Sequela-Tenant": caller.tenant_id,
        "Sequela-Purpose": caller.purpose,
    }
    with _serving(application) as ours, _process([sys.executable, "-c", _EMPTY]) as bare, httpx2.Client() as client:
        path = f"{ours}/v1/records/{leaf}/lineage?direction=upstream&depth={DEPTH}"

        def asked(_: int) -> None:
            assert client.get(path, headers=headers, timeout=30).status_code == 200

        def empty(_: int) -> None:
            assert client.get(f"{bare}/empty", timeout=30).status_code == 200

        def raw(_: int) -> None:
            application.database.administer(_RAW, leaf=leaf)

        for _ in range(20):
            measure_turns([asked, empty, raw], 1)
        http, query, endpoint = measure_turns([asked, raw, empty], RUNS)
    limit = Measurement("raw", tuple(a + b for a, b in zip(query.seconds, endpoint.seconds, strict=True)))
    yield (
        f"| lineage up, depth {DEPTH}, over HTTP | {http} | {limit} (query {query.median * 1_000:.1f}, empty endpoint "
        f"{endpoint.median * 1_000:.1f}) | {http.median / limit.median:.2f} |"
    )


def _ladder(application: Application, caller: Caller) -> str:
    below: tuple[str, ...] = ()
    leaf = ""
    for level in range(DEPTH + 1):
        names = (f"serving-{level}-a", f"serving-{level}-b")
        rows = [derived(name, *below) if below else record(name) for name in names]
        leaf = application.registrar.register(rows, caller)[0].identity
        below = names
    return leaf


@contextmanager
def _serving(application: Application) -> Iterator[str]:
    """`sequela serve` in a process of its own, on the same database and home."""
    settings = application.settings
    more = {
        "SEQUELA_HOME": str(settings.home),
        "SEQUELA_NEO4J_URI": str(settings.neo4j_uri),
        "SEQUELA_NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
    }
    with _process([sys.executable, "-c", _SERVE, "serve", "--port", "0"], more) as address:
        yield address


@contextmanager
def _process(command: list[str], more: dict[str, str] | None = None) -> Iterator[str]:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command,
        env={**os.environ, **(more or {})},
        cwd=root,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as started:
        try:
            assert started.stderr is not None
            found = None
            while found is None:
                line = started.stderr.readline()
                assert line, "the process ended"
                found = re.search(r"http://[0-9.]+:\d+", line)
            yield found[0]
        finally:
            started.terminate()
