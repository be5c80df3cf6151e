"""The API on the real application: a client that speaks for one key, and everything that was logged."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from graph.vocabulary import Role
from service.api.access import Limits
from service.api.app import create_app
from service.api.server import _Server
from service.auth import create_key
from service.bootstrap import Application
from service.telemetry import event_log
from tests.support.records import PURPOSE, TENANT

SMALL = Limits(body_bytes_max=20_000, batch_bytes_max=8_000_000, chunk_seconds_max=30.0)


@dataclass
class Api:
    """Speaks to the API with one key, for one tenant and purpose."""

    client: TestClient
    headers: dict[str, str]
    keys_used: int = 0

    def get(self, path: str, **query: Any) -> httpx2.Response:
        return self.client.get(path, params=query, headers=self.headers)

    def post(self, path: str, body: Any, key: str | None = None) -> httpx2.Response:
        self.keys_used += 1
        headers = {**self.headers, "Idempotency-Key": key or f"test-{id(self)}-{self.keys_used}"}
        return self.client.post(path, json=body, headers=headers)

    def register(self, body: dict[str, Any]) -> str:
        response = self.post("/v1/records", body)
        assert response.status_code == 201, response.text
        return response.json()["recordId"]


@pytest.fixture
def logged() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log_lines(logged) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [json.loads(line) for line in logged.getvalue().splitlines()]


@pytest.fixture
def app(application: Application, logged) -> FastAPI:
    return create_app(application, log=event_log(application.clock, logged), limits=SMALL)


@pytest.fixture
def client(app: FastAPI) -> Generator[TestClient]:
    with TestClient(app) as client:
        yield client


@pytest.fixture
def address(app: FastAPI) -> Generator[tuple[str, int]]:
    """The same application behind a real server on a real socket, for what a test client in memory cannot show."""
    started = threading.Event()
    config = uvicorn.Config(app, log_config=None, access_log=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = _Server(config, "", lambda _: started.set())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        assert started.wait(30)
        yield listener.getsockname()
        server.should_exit = True
        thread.join()


@pytest.fixture
def api_for(application: Application, client: TestClient) -> Callable[..., Api]:
    """Makes a client with a key of its own."""

    def make(
        tenant_id: str = TENANT,
        roles: Collection[Role] = tuple(Role),
        principal_id: str = "tech-17",
        purposes: Collection[str] = (PURPOSE,),
    ) -> Api:
        _, key = create_key(
            application.database,
            application.ids,
            application.clock,
            tenant_id=tenant_id,
            roles=roles,
            principal_id=principal_id,
            purposes=purposes,
        )
        purpose = min(purposes)
        return Api(client, {"Authorization": f"Bearer {key}", "Sequela-Tenant": tenant_id, "Sequela-Purpose": purpose})

    return make


@pytest.fixture
def api(api_for) -> Api:
    return api_for()
