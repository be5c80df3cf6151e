"""A real dump, a real load, and `sequela serve` as a process: what was deleted in between is not served again.

The server starts once for the module; the processes of the service are given its address.
"""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from graph.database.journal import FileJournal
from graph.vocabulary import Role
from service.auth import create_key
from service.bootstrap import Application
from service.local.beside import keep_journal, return_journal
from service.local.server import LocalServer
from service.runtime import running_application
from service.settings import Settings
from tests.support.deletion import delete, files_of, nodes, register, with_copy, with_roles, work
from tests.support.records import PURPOSE, TENANT, derived, record

GONE, LIVING = "canary-of-the-gone", "canary-of-the-living"
UNAVAILABLE = 4
END_SECONDS = 120
# What the values of a parameter may be, where the contract gives no list.
PLAIN_VALUES = {"boolean": ["true", "false"], "integer": ["1"]}


@dataclass
class Installation:
    """A home with a dump from before a deletion, and what the deletion was of."""

    server: LocalServer
    settings: Settings
    dump: object
    secret: str
    request_id: str
    deleted: list
    living: str

    @property
    def environment(self):
        given = self.server.connection()
        return {
            **os.environ,
            "SEQUELA_HOME": str(self.settings.home),
            "SEQUELA_NEO4J_URI": given.uri,
            "SEQUELA_NEO4J_USER": given.user,
            "SEQUELA_NEO4J_PASSWORD": given.password,
        }

    @property
    def journal(self):
        return self.settings.journal_path

    @contextmanager
    def application(self):
        with running_application(self.settings, local=self.server) as running:
            yield running

    def put_back(self):
        """The dump into the server, and the deleted file into the store, as a careless restore leaves them."""
        return_journal(self.journal, self.dump)
        self.server.load(self.dump)
        self.old_file.parent.mkdir(parents=True, exist_ok=True)
        self.old_file.write_text(GONE)

    @property
    def old_file(self):
        return self.settings.files_store_root / TENANT / "copied.bin"

    @contextmanager
    def serving(self, **environment):
        """`sequela serve` at a free port; yields the process and the port."""
        with socket.create_server(("127.0.0.1", 0)) as closing:
            port = closing.getsockname()[1]
        command = [sys.executable, "-c", "from service.cli.main import main; main()", "serve", "--port", str(port)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, env={**self.environment, **environment}, **pipes) as process:
            try:
                yield process, port
            finally:
                process.kill()

    def get(self, port, path, **headers):
        """Status and body of one GET."""
        stated = {
            "Authorization": f"Bearer {self.secret}",
            "Sequela-Tenant": TENANT,
            "Sequela-Purpose": PURPOSE,
            **headers,
        }
        asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=stated)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - loopback
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("restore")
    settings = Settings(home=folder / "home", neo4j_heap="512m")
    with LocalServer(settings.home, heap="512m", page_cache="32m", quick_compiler=True) as server:
        caller = with_roles(*Role)
        with running_application(settings, local=server) as application:
            deleted, living, secret = _filled(application, caller)
        server.dump(folder / "monday.dump")
        keep_journal(settings.journal_path, folder / "monday.dump")
        with running_application(settings, local=server) as application:
            # One derivative more than the dump knows of.
            deleted += register(application, caller, derived("late", "summary", content={"text": GONE}))
            request_id = delete(application, caller, deleted[0]).request_id
            work(application)
            assert application.deletions.view(request_id, caller).state == "COMPLETED"
            assert not files_of(application).has("copied.bin")
        yield Installation(server, settings, folder / "monday.dump", secret, request_id, deleted, living)


def _filled(application: Application, caller):
    told = {"content": {"text": GONE}}
    deleted = register(
        application,
        caller,
        record("root", **told, principalId=GONE),
        derived("summary", "root", **told),
        with_copy("copied", "summary", **told),
    )
    files_of(application).write("copied.bin", GONE.encode())
    assert files_of(application).has("copied.bin")
    (living,) = register(application, caller, record("living", content={"text": LIVING}))
    key_id, secret = create_key(
        application.database,
        application.ids,
        application.clock,
        tenant_id=TENANT,
        roles=list(Role),
        principal_id=caller.principal_id,
        purposes=[PURPOSE, "audit"],
    )
    return deleted, living, secret if secret.startswith("sqk_") else f"sqk_{key_id}_{secret}"


def reading_paths(contract, known):
    """Every GET of the contract about what is known, with each value of each parameter, one parameter at a time."""
    for path, operations in contract["paths"].items():
        if "get" not in operations:
            continue
        parameters = operations["get"].get("parameters", [])
        demanded = [one for one in parameters if one["required"] and one["in"] in {"path", "query"}]
        for values in itertools.product(*(known[one["name"]] for one in demanded)):
            given = dict(zip((one["name"] for one in demanded), values, strict=True))
            filled, query = path, []
            for one in demanded:
                filled = filled.replace(f"{{{one['name']}}}", given[one["name"]])
                query += [f"{one['name']}={given[one['name']]}"] if one["in"] == "query" else []
            choices = [f"{one['name']}={value}" for one in parameters if one not in demanded for value in _values(one)]
            for choice in [None, *choices]:
                asked = "&".join([*query, *([choice] if choice else [])])
                yield f"{filled}?{asked}" if asked else filled


def _values(parameter):
    if parameter["in"] != "query" or parameter["name"] in {"cursor", "kind", "edge"}:
        return []
    schema = parameter["schema"]
    for one in [schema, *schema.get("anyOf", [])]:
        if "enum" in one or "const" in one:
            return one.get("enum") or [one["const"]]
        if one.get("type") in PLAIN_VALUES:
            return PLAIN_VALUES[one["type"]]
        if "$ref" in one:
            return ["downstream", "upstream", "both"]
    return []


def told_by_every_route(installation, port):
    """All that the service answers about what was deleted, and about what was not, path by path."""
    _, text = installation.get(port, "/openapi.json")
    ids = [*installation.deleted, installation.living]
    known = {"record_id": ids, "to": ids, "request_id": [installation.request_id]}
    told = {path: installation.get(port, path) for path in reading_paths(json.loads(text), known)}
    purposes = [f"/v1/records/{identity}/content" for identity in ids]
    for path in purposes:
        told[f"{path} for an audit"] = installation.get(port, path, **{"Sequela-Purpose": "audit"})
    return told


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def address_told(process):
    """Waits until the service says where it listens."""
    for line in process.stderr:
        if found := re.search(r"http://\S+?:(\d+)", line):
            return int(found[1])
    raise AssertionError("the service ended without listening")


def until_ready(installation, port):
    """The service answers 503 while it goes through the journal of what was put under it."""
    ends = time.monotonic() + END_SECONDS
    while (status := installation.get(port, "/health/ready")[0]) != 200:
        assert status == 503
        assert time.monotonic() < ends
        threading.Event().wait(0.1)


def nothing_returned(installation, port):
    told = told_by_every_route(installation, port)
    assert len(told) > 100
    leaks = [path for path, (_, body) in told.items() if GONE in body]
    assert not leaks
    for identity in installation.deleted:
        assert told[f"/v1/records/{identity}/content"][0] == 404
    assert LIVING in told[f"/v1/records/{installation.living}/content"][1]
    assert told["/health/ready"][0] == 200
    assert json.loads(told[f"/v1/deletions/{installation.request_id}"][1])["state"] == "COMPLETED"
    assert not installation.old_file.exists(), "the old copy is still in the store"


@pytest.mark.req("TMB-06", "DEL-13", "FIX-6-08")
def test_nothing_is_answered_before_the_journal_is_gone_through(installation):
    installation.put_back()
    with installation.serving(SEQUELA_FAILPOINTS="settle.before_commit=stop") as (process, port):
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it ended, or went on without deleting again"
        assert not listens(port)
        assert installation.old_file.exists()
        process.send_signal(signal.SIGCONT)
        assert address_told(process) == port
        nothing_returned(installation, port)


@pytest.mark.req("TMB-06", "DEL-13")
def test_a_restore_under_a_running_service_shows_nothing_again(installation):
    with installation.serving() as (process, port):
        address_told(process)
        assert installation.get(port, "/health/ready")[0] == 200
        installation.put_back()
        first = [installation.get(port, f"/v1/records/{one}/content") for one in installation.deleted]
        assert not [body for _, body in first if GONE in body]
        until_ready(installation, port)
        nothing_returned(installation, port)


def broken(lines):
    """One entry in the middle was changed after it was written."""
    middle = len(lines) // 2
    return [*lines[:middle], lines[middle].replace(b'"at":', b'"At":'), *lines[middle + 1 :]]


STOPS = {
    "JOURNAL_MISSING": lambda _lines: None,
    "JOURNAL_BROKEN": broken,
    "JOURNAL_BEHIND": lambda lines: lines[:-1],
    "JOURNAL_FOREIGN": None,
}


@pytest.mark.req("TMB-06")
@pytest.mark.parametrize("code", STOPS)
def test_a_journal_that_does_not_go_with_the_database_stops_the_start(installation, tmp_path, code):
    with installation.application() as application:
        before = nodes(application.database)
    whole = installation.journal.read_bytes()
    installation.journal.unlink()
    try:
        if (change := STOPS[code]) is None:
            FileJournal(installation.journal).create("another", 1)
        elif (lines := change(whole.splitlines(keepends=True))) is not None:
            installation.journal.write_bytes(b"".join(lines))
        with installation.serving() as (process, port):
            out, err = process.communicate(timeout=END_SECONDS)
        assert (process.returncode, out) == (UNAVAILABLE, "")
        assert f"[{code}]" in err
        assert "Traceback" not in err
        assert GONE not in err
        assert not listens(port)
    finally:
        installation.journal.write_bytes(whole)
    with installation.application() as application:
        assert nodes(application.database) == before
