"""A real S3 server for a run of tests, on ports of its own, so that two runs can stand side by side."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import psutil
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.support.processes import until

ACCESS_KEY, SECRET_KEY = "test-key", "test-secret"
START_SECONDS = 90.0
TRIES = 3
BIN = Path(sys.executable).parent
# Everything that `weed mini` listens on. With a fixed port left among them a second run would not start.
WEED_PORTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
    "admin.port",
    "admin.port.grpc",
)
WEED_OFF = ("s3.port.iceberg", "s3.port.lance", "s3.port.https", "metricsPort")


@dataclass(frozen=True)
class S3Server:
    """A running server, and the plain way to it."""

    port: int
    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Any:
        return raw_client(self.url)

    @contextmanager
    def hanging(self) -> Generator[None]:
        """The server takes connections and answers nothing."""
        process = psutil.Process(self.process.pid)
        process.suspend()
        try:
            yield
        finally:
            process.resume()


def raw_client(url: str) -> Any:
    config = Config(
        s3={"addressing_style": "path"},
        retries={"total_max_attempts": 1},
        read_timeout=30,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return boto3.session.Session().client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=config,
    )


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _weed(folder: Path) -> tuple[list[str], int]:
    ports = dict(zip(WEED_PORTS, free_ports(len(WEED_PORTS)), strict=True)) | dict.fromkeys(WEED_OFF, 0)
    fixed = ("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-webdav=false", "-admin.ui=false")
    return [
        str(BIN / "weed"),
        "mini",
        f"-dir={folder}",
        *fixed,
        *(f"-{name}={port}" for name, port in ports.items()),
    ], ports["s3.port"]


def _started(folder: Path) -> S3Server:
    """Start it; a port that somebody else took in between is no reason to give up."""
    for number in range(TRIES):
        home = folder / str(number)
        home.mkdir()
        command, port = _weed(home)
        environment = os.environ | {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "HOME": str(home),
        }
        with (folder / f"log-{number}").open("wb") as log:
            process = subprocess.Popen(command, env=environment, cwd=home, stdout=log, stderr=subprocess.STDOUT)
        server = S3Server(port, process, home)
        if until(lambda: process.poll() is not None or _answers(server), START_SECONDS) and process.poll() is None:  # noqa: B023 - called at once
            return server
        process.kill()
        process.wait()
    pytest.fail(f"SeaweedFS did not start in {TRIES} tries: {(folder / f'log-{number}').read_text()[-2000:]}")


def _answers(server: S3Server) -> bool:
    client = server.client()
    try:
        client.list_buckets()
    except (BotoCoreError, ClientError):
        return False
    finally:
        client.close()
    return True


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory) -> Generator[S3Server]:
    """SeaweedFS: its own storage, versions and object lock; keys are paths of folders there."""
    server = _started(tmp_path_factory.mktemp("seaweedfs"))
    try:
        yield server
    finally:
        server.process.terminate()
        try:
            server.process.wait(20)
        except subprocess.TimeoutExpired:
            server.process.kill()
            server.process.wait()
