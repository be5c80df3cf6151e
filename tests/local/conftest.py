"""Homes that are always cleaned up, and a repository on loopback with small artifacts."""

import hashlib
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from service.local import jars
from service.local.jars import Jar
from service.local.server import LocalServer


@pytest.fixture
def make_server(tmp_path):
    """Servers that are small, start quickly and are stopped whatever the test did."""
    made = []

    def make(name="home", **options):
        server = LocalServer(tmp_path / name, heap="512m", page_cache="32m", quick_compiler=True, **options)
        made.append(server)
        return server

    yield make
    for server in made:
        server.stop()


class Told:
    """A reporter that keeps what it was told."""

    def __init__(self):
        self.said = []
        self.announced_bytes = []
        self.arrived_bytes = 0
        self._lock = threading.Lock()

    def say(self, message):
        self.said.append(message)

    def downloading(self, size_bytes):
        self.announced_bytes.append(size_bytes)
        return self

    def __enter__(self):
        return self._advance

    def __exit__(self, *ending):
        return None

    def _advance(self, new_bytes):
        with self._lock:
            self.arrived_bytes += new_bytes


@pytest.fixture
def told():
    return Told()


class Mirror(ThreadingHTTPServer):
    """Serves artifacts by path, counts requests, and can fail or hang where a test wants it to."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answer)
        self.bodies = {}
        self.failures = {}
        self.gated = set()
        self.gate = threading.Event()
        self.waiting = threading.Event()
        self.asked_twice = threading.Event()
        self.requests = Counter()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, name, body, classifier=None):
        """Publish an artifact and return its line of the locked list."""
        jar = Jar("org.example", name, classifier, "1.0", hashlib.sha256(body).hexdigest(), len(body))
        self.bodies[path_of(jar)] = body
        return jar


def path_of(jar):
    return f"/org/example/{jar.artifact}/{jar.version}/{jar.file_name}"


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        mirror = self.server
        mirror.requests[self.path] += 1
        failures = mirror.failures.get(self.path, [])
        status = failures.pop(0) if failures else 200
        body = mirror.bodies[self.path] if status == 200 else b"refused"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        half = len(body) // 2
        self.wfile.write(body[:half])
        if self.path in mirror.gated:
            self.wfile.flush()
            mirror.waiting.set()
            if mirror.requests[self.path] > 1:
                mirror.asked_twice.set()
            mirror.gate.wait(60)
        try:
            self.wfile.write(body[half:])
        except OSError:
            self.close_connection = True

    def log_message(self, *_words):
        return


@pytest.fixture
def mirror(monkeypatch):
    with Mirror() as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv(jars.MIRROR_VARIABLE, serving.address)
        monkeypatch.setattr(jars, "_PAUSE_SECONDS", 0)
        yield serving
        serving.gate.set()
        serving.shutdown()
        thread.join()


@pytest.fixture
def artifacts(mirror):
    """Five small artifacts, one of them with a classifier."""
    plain = [mirror.add(f"part{number}", bytes([number]) * 4_000) for number in range(4)]
    return [*plain, mirror.add("native", b"machine code" * 300, classifier="linux-x86_64")]


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def write_list(tmp_path):
    """Write a locked list for a child process to read."""

    def write(wanted) -> Path:
        path = tmp_path / "jars.lock"
        path.write_text("".join(f"{jar.coordinate}  {jar.sha256}  {jar.size_bytes}\n" for jar in wanted))
        return path

    return write
