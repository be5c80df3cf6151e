"""A marker in everything that a producer states, deleted through the running service, and then looked for everywhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from graph.vocabulary import Role
from service.api.app import create_app
from service.api.server import _Server
from service.auth import create_key
from service.bootstrap import Application
from service.local.server import LocalServer
from service.telemetry import event_log
from service.workers.worker import WorkerThreads
from tests.support.deletion import everything, placed
from tests.support.processes import until
from tests.support.records import PURPOSE, TENANT, stated

MARKER = "Canary7731Zq"
FORMS = {"UTF-8": MARKER.encode(), "UTF-16": MARKER.encode("utf-16-le")}
RECORDS = 20
DONE = ("COMPLETED", "COMPLETED_WITH_EXCEPTIONS", "CLOSED_WITH_OWNED_FAILURES")


@contextmanager
def serving(application: Application, log: Path) -> Iterator[httpx2.Client]:
    """The application behind a real socket, with its worker threads, and a client with a key of every role."""
    _, key = create_key(
        application.database,
        application.ids,
        application.clock,
        tenant_id=TENANT,
        roles=tuple(Role),
        principal_id="tech-17",
        purposes=(PURPOSE,),
    )
    started, addresses = threading.Event(), list[str]()

    def announced(line: str) -> None:
        addresses.append(line.split()[3].rstrip(";"))
        started.set()

    from service.api.server import _announcement, _listening  # noqa: PLC0415 - as the command does it

    with log.open("w") as stream, _listening("127.0.0.1", 0) as listener:
        app = create_app(application, log=event_log(application.clock, stream))
        config = uvicorn.Config(app, log_config=None, access_log=False)
        server = _Server(config, _announcement(listener), announced)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        workers = WorkerThreads(application, 2)
        thread.start()
        workers.start()
        assert started.wait(60)
        headers = {"Authorization": f"Bearer {key}", "Sequela-Tenant": TENANT, "Sequela-Purpose": PURPOSE}
        try:
            with httpx2.Client(base_url=addresses[0], headers=headers, timeout=60) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()
            workers.stop()


def delete_marked(application: Application, client: httpx2.Client, number: int = RECORDS) -> dict[str, str]:
    """Register marked records with marked copies, and delete them through the service; ids to ask for."""
    files = application.connectors["files"]
    records: list[str] = []
    for index in range(number):
        locator = f"{MARKER}-{index}.bin"
        files.write(placed(locator), f"{MARKER} {index}".encode())  # pyright: ignore[reportAttributeAccessIssue]
        body = stated(
            f"{MARKER}-name-{index}",
            content={"text": f"{MARKER} says {index}", MARKER: MARKER},
            principalId=f"{MARKER}-person-{index}",
            sourceId=f"{MARKER}-source",
            stores=[{"storeId": "files", "locator": locator}],
        )
        response = client.post("/v1/records", json=body, headers={"Idempotency-Key": f"record-{index}"})
        assert response.status_code == 201, response.text
        records.append(response.json()["recordId"])
    body = {"subject": {"names": [{"name": f"{MARKER}-name-{index}"} for index in range(number)]}}
    filed = client.post("/v1/deletions", json=body, headers={"Idempotency-Key": f"{MARKER}-key"})
    assert filed.status_code in {200, 201, 202}, filed.text
    request_id = filed.json()["requestId"]
    assert until(lambda: client.get(f"/v1/deletions/{request_id}").json()["state"] in DONE, 120)
    return {"record": records[0], "request": request_id}


def answers(client: httpx2.Client, ids: Mapping[str, str]) -> dict[str, str]:
    """What every GET route of the service answers about what was deleted, by path."""
    document: dict[str, Any] = client.get("/openapi.json").json()
    found: dict[str, str] = {}
    for path, methods in document["paths"].items():
        if "get" not in methods:
            continue
        which = ids["request" if "/deletions/" in path else "record"]
        asked = path
        while "{" in asked:
            asked = asked[: asked.index("{")] + which + asked[asked.index("}") + 1 :]
        needed = [one for one in methods["get"].get("parameters", []) if one["in"] == "query" and one.get("required")]
        response = client.get(asked, params={one["name"]: which for one in needed})
        found[path] = f"{response.text} {dict(response.headers)}"
    return found


def places(application: Application, log: Path, said: Mapping[str, str]) -> dict[str, int]:
    """How often the marker is in each place that it must not be in."""
    root = application.settings.files_store_root
    texts = {
        "logs": log.read_text(),
        "journal": application.journal.path.read_text(),
        "graph, receipts, ledger and idempotency keys": everything(application.database),
        "names of files": json.dumps([str(path) for path in root.rglob("*")]),
        "files": "".join(path.read_text(errors="replace") for path in root.rglob("*") if path.is_file()),
        "API answers": json.dumps(dict(said)),
    }
    return {place: text.count(MARKER) for place, text in texts.items()}


def residue(folder: Path) -> dict[str, dict[str, int]]:
    """How often each form of the marker is in the files of a folder, by kind of file."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        counts = {form: data.count(marker) for form, marker in FORMS.items()}
        kind = "transaction log" if "transaction.db" in path.name else path.name
        if any(counts.values()):
            before = found.setdefault(kind, dict.fromkeys(FORMS, 0))
            found[kind] = {form: before[form] + counts[form] for form in FORMS}
    return found


def measured(server: LocalServer, application: Application, folder: Path) -> Iterator[str]:
    """Delete, look everywhere, stop the server cleanly, and count what is left in its files and in a dump of them."""
    with serving(application, folder / "log") as client:
        said = answers(client, delete_marked(application, client))
    for place, count in places(application, folder / "log", said).items():
        yield f"{place}: {count}"
    yield f"GET routes asked: {len(said)}"
    application.database.close()
    server.stop()
    yield f"files of the stopped server: {residue(server.path / 'data') or 'none'}"
    (folder / "dumps").mkdir()
    server.dump(folder / "dumps" / "neo4j.dump")
    yield f"dump, as it is (compressed): {residue(folder / 'dumps') or 'none'}"
