"""The serving process: says where it is, does the work of deletions by itself, ends in order."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from graph.clock import SystemClock
from graph.errors import Unavailable
from graph.ids import SystemIds
from graph.vocabulary import Role
from service.api.server import _listening, serve
from service.auth import create_key
from tests.support.records import PURPOSE, TENANT, stated

PROGRAM = """
from service.api.server import serve
from service.runtime import running_application
from service.settings import Settings

settings = Settings()
with running_application(settings) as application:
    serve(application, settings.host, settings.port)
print("ended in order")
"""


@pytest.fixture
def process(database, neo4j_server, tmp_path: Path) -> Generator[subprocess.Popen[str]]:
    settings = {
        "SEQUELA_NEO4J_URI": neo4j_server.uri,
        "SEQUELA_NEO4J_USER": neo4j_server.user,
        "SEQUELA_NEO4J_PASSWORD": neo4j_server.password,
        "SEQUELA_HOME": str(tmp_path),
        "SEQUELA_PORT": "0",
    }
    running = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield running
    running.kill()
    running.communicate()


def test_a_served_deletion_is_carried_out_and_the_process_ends_in_order(process, database):
    announced = process.stderr.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+", announced)
    assert address, announced
    assert f"{address[0]}/docs" in announced
    _, key = create_key(
        database,
        SystemIds(),
        SystemClock(),
        tenant_id=TENANT,
        roles=set(Role),
        principal_id="tech-17",
        purposes={PURPOSE},
    )
    headers = {
        "Authorization": f"Bearer {key}",
        "Sequela-Tenant": TENANT,
        "Sequela-Purpose": PURPOSE,
        "Idempotency-Key": "k1",
    }
    with httpx2.Client(base_url=address[0], headers=headers, timeout=60) as client:
        assert client.get("/health/ready").status_code == 200
        assert client.get("/docs").status_code == 200
        identity = client.post("/v1/records", json=stated("canary-name", content="canary")).json()["recordId"]
        filed = client.post("/v1/deletions", json={"subject": {"recordIds": [identity]}})
        deadline = time.monotonic() + 60
        while "complete" not in (status := client.get(filed.headers["Location"]).json()):
            assert time.monotonic() < deadline
            threading.Event().wait(0.05)
        assert status["state"] == "COMPLETED"
        assert client.get(f"/v1/records/{identity}").status_code == 410
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "ended in order\n")
    assert {json.loads(line)["event"] for line in err.splitlines()} == {"request"}
    assert "canary" not in err


def test_an_address_that_is_taken_is_said_to_be(application):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=f"127.0.0.1:{port} cannot be listened on"):
            serve(application, "127.0.0.1", port)


def test_answers_are_sent_without_waiting_for_receipts():
    with _listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()) as client:
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert client.fileno() > 0
