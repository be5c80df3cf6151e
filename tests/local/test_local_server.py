"""The real server, in homes of its own. Starts are dear: each test does much with few."""

import os
import signal
import socket
import stat
import subprocess
import sys

import neo4j
import psutil
import pytest

from graph.errors import LocalServerError
from service.local import ports
from service.local.jars import MIRROR_VARIABLE

OWNER = """
import sys, threading
from pathlib import Path
from service.local.server import LocalServer
server = LocalServer(Path(sys.argv[1]), heap="512m", page_cache="32m", quick_compiler=True)
thread = threading.Thread(target=server.start, kwargs={"owned": True})
thread.start()
thread.join()
print(server.status().pid, flush=True)
sys.stdin.read()
"""


def ask(connection, query):
    credentials = (connection.user, connection.password)
    with neo4j.GraphDatabase.driver(connection.uri, auth=credentials) as driver:
        return [record.values()[0] for record in driver.execute_query(query).records]


def ends(pid, seconds=30):
    """Whether the process is gone, or goes within the time."""
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return True
    gone, _ = psutil.wait_procs([process], timeout=seconds)
    return bool(gone) or process.status() == psutil.STATUS_ZOMBIE


def listening_addresses(pid):
    return {link.laddr.ip for link in psutil.Process(pid).net_connections("tcp") if link.status == psutil.CONN_LISTEN}


def test_two_homes_run_side_by_side_without_a_network(make_server, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closing:
        dead = closing.getsockname()[1]
    monkeypatch.setenv(MIRROR_VARIABLE, f"http://127.0.0.1:{dead}")
    first, second = make_server("first"), make_server("second")
    assert not first.status().running
    one, other = first.start(), second.start()
    assert one.uri != other.uri
    assert one.password != other.password
    assert one.password not in repr(one)
    ask(one, "CREATE (:Mark)")
    assert ask(one, "MATCH (n) RETURN count(n)") == [1]
    assert ask(other, "MATCH (n) RETURN count(n)") == [0]
    with pytest.raises(neo4j.exceptions.AuthError):
        ask(type(one)(one.uri, one.user, other.password), "RETURN 1")

    status = first.status()
    assert (status.running, status.listening, status.uri, status.owner) == (True, True, one.uri, None)
    assert listening_addresses(status.pid) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert one.password not in " ".join(psutil.Process(status.pid).cmdline())

    again = make_server("first")
    assert again.start(owned=True) == one
    assert again.status().pid == status.pid
    with again:
        pass
    assert first.status().running, "leaving a context must not stop a server that it found running"

    assert first.stop()
    assert ends(status.pid, 0)
    assert not first.status().running
    assert not first.stop()
    assert second.status().running
    with pytest.raises(LocalServerError):
        first.connection()


def test_a_dump_brings_back_what_it_held_and_a_damaged_one_changes_nothing(make_server, told, tmp_path):
    server = make_server(reporter=told)
    dump = tmp_path / "state.dump"
    with pytest.raises(LocalServerError, match="no database"):
        server.dump(dump)
    with server:
        ask(server.connection(), "CREATE (:Mark {name: 'kept'})")
        server.dump(dump)
        assert any("started again" in sentence for sentence in told.said)
        assert server.status().owner == os.getpid()
        ask(server.connection(), "MATCH (n:Mark) SET n.name = 'changed'")
    held = dump.read_bytes()
    with pytest.raises(LocalServerError, match="is there already"):
        server.dump(dump)
    assert dump.read_bytes() == held

    damaged = tmp_path / "damaged.dump"
    damaged.write_bytes(held[: len(held) // 2])
    foreign = tmp_path / "foreign.dump"
    foreign.write_bytes(b"PK" + held)
    server.load(dump)
    for wrong in (damaged, foreign, tmp_path / "absent.dump"):
        with pytest.raises(LocalServerError):
            server.load(wrong)
    with server:
        assert ask(server.connection(), "MATCH (n:Mark) RETURN n.name") == ["kept"]
    server.dump(dump, force=True)
    assert dump.read_bytes() != held
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.dump", "foreign.dump", "home", "state.dump"]


def test_a_killed_owner_leaves_no_server_and_a_killed_server_is_recovered(make_server, tmp_path):
    command = [sys.executable, "-c", OWNER, str(tmp_path / "home")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        pid = int(owner.stdout.readline())
        server = make_server()
        assert server.status().owner == owner.pid
        with pytest.raises(LocalServerError, match=f"belongs to process {owner.pid}"):
            server.dump(tmp_path / "state.dump")
        assert psutil.pid_exists(pid)
        owner.send_signal(signal.SIGKILL)
    assert ends(pid)
    assert not server.status().running

    ask(server.start(owned=True), "CREATE (:Mark)")
    pid = server.status().pid
    server._owned.guard.kill()
    assert ends(pid), "the kernel ends the server when its guard is killed"

    server.dump(tmp_path / "state.dump")
    assert (tmp_path / "state.dump").exists()


def test_a_taken_port_is_named_with_its_holder_and_nothing_is_started(make_server):
    server = make_server()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with server._home.changing():
            (server.path / "conf" / "port").write_text(str(port))
        with pytest.raises(LocalServerError, match=f"Port {port} is taken by process {os.getpid()}"):
            server.start()
    assert not server.status().running


def test_a_server_that_does_not_come_up_says_why_and_leaves_nothing(make_server):
    server = make_server(settings={"no.such.setting": "1"})
    with pytest.raises(LocalServerError, match=r"no\.such\.setting"):
        server.start(owned=True)
    assert not server.status().running
    assert ports.is_free(int((server.path / "conf" / "port").read_text()))
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o700
