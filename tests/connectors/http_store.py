"""A small store of a user's own: a real HTTP server over a folder of files that checks signatures, and misbehaves if told."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PAGE = 5
SIGNED_SECONDS_MAX = 300


class HttpStore:
    """Keeps each copy as a file named by the digest of its locator. `answers` replaces what a route answers."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self.folder, self.key = folder, key
        # By route: what is done with (path through, request) instead of the honest answer.
        self.faults: dict[str, Callable[[Callable[[], object], Any], object]] = {}
        self.unsigned = 0
        self.calls: list[str] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                store.handle(self)

            do_GET = do_POST  # noqa: N815 - the name that the server looks for

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def path(self, locator: str) -> Path:
        return self.folder / hashlib.sha256(locator.encode()).hexdigest()

    def put(self, locator: str, data: bytes) -> None:
        name = base64.b64encode(locator.encode())
        self.path(locator).write_bytes(name + b"\n" + data)

    def data(self, locator: str) -> bytes:
        return self.path(locator).read_bytes().split(b"\n", 1)[1]

    def handle(self, call: BaseHTTPRequestHandler) -> None:
        body = call.rfile.read(int(call.headers.get("content-length") or 0))
        route = call.path.removeprefix("/copies/")
        self.calls.append(call.path)
        if not self._is_signed(call, body):
            self.unsigned += 1
            send(call, 401, b"{}")
            return
        request = json.loads(body or b"{}")

        def honest() -> object:
            with self._lock:
                return getattr(self, f"_{call.command.lower()}_{route}")(request)

        fault = self.faults.get(route)
        answer = fault(honest, request) if fault else honest()
        if callable(answer):
            answer(call)
        else:
            send(call, 200, json.dumps(answer).encode())

    def _is_signed(self, call: BaseHTTPRequestHandler, body: bytes) -> bool:
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        call_id, seconds, given = (call.headers.get(name, "") for name in names)
        signed = hmac.digest(self.key, f"{call_id}.{seconds}.".encode() + body, "sha256")
        right = "v1," + base64.b64encode(signed).decode()
        return (
            bool(call_id) and hmac.compare_digest(given, right) and abs(time.time() - int(seconds)) < SIGNED_SECONDS_MAX
        )

    def _post_delete(self, request: Any) -> object:
        found = [self.path(locator).exists() for locator in request["locators"]]
        for locator in request["locators"]:
            self.path(locator).unlink(missing_ok=True)
        return {"claims": ["deleted" if there else "not_found" for there in found]}

    def _post_present(self, request: Any) -> object:
        names = {path.name for path in self.folder.iterdir()}
        return {"present": [self.path(locator).name in names for locator in request["locators"]]}

    def _post_write(self, request: Any) -> object:
        self.put(request["locator"], base64.b64decode(request["data"]))
        return {"written": True}

    def _get_root(self, _request: Any) -> object:
        root = self.folder / "root"
        return {"rootId": root.read_text() if root.exists() else None}

    def _post_root(self, request: Any) -> object:
        root = self.folder / "root"
        if not root.exists():
            root.write_text(request["rootId"])
        return {"rootId": root.read_text()}

    def _post_list(self, request: Any) -> object:
        after = request["cursor"] or ""
        paths = sorted(path for path in self.folder.iterdir() if path.name > after and path.name != "root")
        names = [base64.b64decode(path.read_bytes().split(b"\n", 1)[0]).decode() for path in paths[:PAGE]]
        return {"locators": names, "cursor": paths[PAGE - 1].name if len(paths) > PAGE else None}

    def _post_purge(self, _request: Any) -> object:
        return {"purged": True}


def send(
    call: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json", **headers: str
) -> None:
    call.send_response(status)
    for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
        call.send_header(name, value)
    call.end_headers()
    call.wfile.write(body)
