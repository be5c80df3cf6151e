"""A stream of NDJSON over HTTP, against the driver writing the same rows in batches of the same size by as many threads."""

from __future__ import annotations

import gc
import json
import random
import socket
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import httpx2
import psutil
import uvicorn

from graph.access import Caller
from graph.vocabulary import Role
from service.api.app import create_app
from service.auth import create_key
from service.bootstrap import Application
from tests.benchmarks.measure import measure_pairs, row
from tests.benchmarks.register import load_parents, raw_rows, write_raw
from tests.support.records import stated

LINES = 5_000
BATCH_ROWS = 500
RUNS = 5
# As many as register the batches of one stream.
WRITERS = 2
STREAM_LINES = 100_000
_MEGABYTE = 1_048_576


def run_ndjson(application: Application, caller: Caller) -> Iterator[str]:
    """Lines with two sources each: their time, and what a long stream does to the memory of the service."""
    parents = load_parents(application, replace(caller, principal_id="bench"))
    picks = random.Random(11)
    with _served(application, caller) as post, ThreadPoolExecutor(WRITERS) as writers:
        streams = [_lines(parents, picks, LINES) for _ in range(RUNS + 1)]
        rows = [raw_rows(application, caller, parents, picks, LINES) for _ in range(RUNS + 1)]

        def ours(number: int) -> None:
            assert post(iter([streams[number]]), f"run-{number}") == LINES

        def raw(number: int) -> None:
            batches = [rows[number][start : start + BATCH_ROWS] for start in range(0, LINES, BATCH_ROWS)]
            list(writers.map(lambda batch: write_raw(application, batch), batches))

        ours(RUNS)
        raw(RUNS)
        gc.freeze()
        yield row(f"{LINES:,} NDJSON lines over HTTP", *measure_pairs(ours, raw, RUNS))
        yield _memory_line(post, parents, picks)


def _memory_line(post, parents: list[str], picks: random.Random) -> str:
    process = psutil.Process()
    before = process.memory_info().rss / _MEGABYTE
    highest = before

    def chunks() -> Iterator[bytes]:
        nonlocal highest
        for _ in range(0, STREAM_LINES, LINES):
            highest = max(highest, process.memory_info().rss / _MEGABYTE)
            yield _lines(parents, picks, LINES)

    assert post(chunks(), "long") == STREAM_LINES
    return (
        f"| memory over a stream of {STREAM_LINES:,} lines | {before:,.0f} MB before, {highest:,.0f} MB at most | | |"
    )


def _lines(parents: list[str], picks: random.Random, count: int) -> bytes:
    changes = {
        "permissions": ["role:producer"],
        "derivationType": "computed",
        "inferenceMethod": "test",
        "trust": "unreviewed_derived",
        "content": "c" * 200,
    }
    bodies = [
        stated(
            None,
            **changes,
            sources=[{"recordId": parent, "edge": "SUMMARIZED_FROM"} for parent in picks.sample(parents, 2)],
        )
        for _ in range(count)
    ]
    return b"".join(json.dumps(body).encode() + b"\n" for body in bodies)


@contextmanager
def _served(application: Application, caller: Caller) -> Generator:
    """Sends a stream to the API on a real socket and answers how many records it created."""
    _, key = create_key(
        application.database,
        application.ids,
        application.clock,
        tenant_id=caller.tenant_id,
        roles=frozenset(Role),
        principal_id=caller.principal_id,
        purposes=[caller.purpose],
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(application), log_config=None, access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        host, port = listener.getsockname()
        with httpx2.Client(base_url=f"http://{host}:{port}", timeout=600) as client:

            def post(content: Iterator[bytes], name: str) -> int:
                headers = {
                    "Authorization": f"Bearer {key}",
                    "Sequela-Tenant": caller.tenant_id,
                    "Sequela-Purpose": caller.purpose,
                    "Idempotency-Key": name,
                    "Content-Type": "application/x-ndjson",
                }
                response = client.post("/v1/records:batch", content=content, headers=headers)
                assert response.status_code == 200, response.text
                return response.text.count('"created"')

            yield post
        server.should_exit = True
        thread.join()
