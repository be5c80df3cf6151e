import hashlib
import signal
import subprocess
import sys

import pytest

from graph.errors import LocalServerError
from service.local import jars
from service.local.jars import fetch, folder_name, missing, parse_line, read_lock
from service.local.lock import coordinates_of_jgo, coordinates_of_maven, measure
from service.local.progress import SilentReporter

SUM = "0" * 64
CHILD = """
import sys
from pathlib import Path
from service.local.jars import fetch, read_lock
from service.local.progress import SilentReporter
print("fetching", flush=True)
fetch(Path(sys.argv[1]), read_lock(Path(sys.argv[2])), SilentReporter())
"""


def quietly(cache, wanted, **options):
    return fetch(cache, wanted, SilentReporter(), **options)


class Recording:
    """The usual source, noting what it was asked for."""

    def __init__(self):
        self.asked = []
        self._source = jars.MavenSource()

    def read(self, jar):
        self.asked.append(jar.coordinate)
        return self._source.read(jar)


def child(cache, path):
    return subprocess.Popen([sys.executable, "-c", CHILD, str(cache), str(path)], stdout=subprocess.PIPE)


def request_counts(mirror):
    return sorted(mirror.requests.values())


def test_the_locked_list_names_one_whole_server_and_no_place_it_came_from():
    locked = read_lock()
    coordinates = {jar.coordinate for jar in locked}
    for root in ("org.neo4j.app:neo4j-server", "org.neo4j:neo4j", "org.neo4j:neo4j-import-tool"):
        assert f"{root}:5.26.30" in coordinates
    assert "org.neo4j:neo4j-record-storage-engine:5.26.30" in coordinates
    assert {jar.version for jar in locked if jar.group == "org.neo4j"} == {"5.26.30"}
    assert {jar.classifier for jar in locked} >= {None, "linux-x86_64", "osx-aarch_64"}
    text = jars.LOCK_FILE.read_text()
    assert "://" not in text
    assert "/" not in text


@pytest.mark.parametrize(
    "line",
    [
        f"org.example:part  {SUM}  10",
        f"org.example:part:extra:1.0:more  {SUM}  10",
        f"org.example::1.0  {SUM}  10",
        f"org.example:part:1.0  {SUM[1:]}  10",
        f"org.example:part:1.0  {SUM[1:]}G  10",
        f"org.example:part:1.0  {SUM}  0",
        f"org.example:part:1.0  {SUM}",
    ],
)
def test_a_malformed_line_is_refused(line):
    with pytest.raises(LocalServerError):
        parse_line(line)


def test_a_list_in_which_two_jars_share_a_file_name_is_refused(tmp_path):
    path = tmp_path / "jars.lock"
    path.write_text(f"org.first:part:1.0  {SUM}  10\norg.second:part:1.0  {SUM}  10\n")
    with pytest.raises(LocalServerError, match=r"part-1\.0\.jar"):
        read_lock(path)


@pytest.mark.parametrize("text", ["", "# only a comment\n", None])
def test_an_empty_or_missing_list_is_refused(tmp_path, text):
    path = tmp_path / "jars.lock"
    if text is not None:
        path.write_text(text)
    with pytest.raises(LocalServerError):
        read_lock(path)


def test_another_sum_gives_another_folder(artifacts):
    changed = [*artifacts[:-1], parse_line(f"{artifacts[-1].coordinate} {SUM} 10")]
    assert folder_name(changed) != folder_name(artifacts)


def test_every_jar_arrives_and_its_bytes_are_told(cache, mirror, artifacts, told):
    folder = fetch(cache, artifacts, told)
    assert {path.name for path in (folder / "lib").iterdir()} == {jar.file_name for jar in artifacts}
    assert told.announced_bytes == [sum(jar.size_bytes for jar in artifacts)]
    assert told.arrived_bytes == told.announced_bytes[0]
    assert request_counts(mirror) == [1] * len(artifacts)


def test_a_complete_cache_asks_nobody_and_reports_nothing(cache, mirror, artifacts, told):
    quietly(cache, artifacts)
    mirror.requests.clear()
    fetch(cache, artifacts, told)
    assert not mirror.requests
    assert not told.announced_bytes


def test_a_fetch_that_failed_goes_on_with_what_is_missing(cache, mirror, artifacts):
    lost = f"/org/example/part2/1.0/{artifacts[2].file_name}"
    quietly(cache, [jar for jar in artifacts if jar != artifacts[2]])
    folder = cache / folder_name(artifacts)
    (cache / folder_name([jar for jar in artifacts if jar != artifacts[2]])).rename(folder)
    mirror.requests.clear()
    mirror.failures[lost] = [404]
    with pytest.raises(LocalServerError, match=r"org\.example:part2:1\.0 .*404"):
        quietly(cache, artifacts)
    assert mirror.requests == {lost: 1}
    quietly(cache, artifacts)
    assert mirror.requests == {lost: 2}
    assert not missing(folder / "lib", artifacts)


def test_a_passing_fault_of_the_source_is_tried_again_within_the_limit(cache, mirror, artifacts):
    path = f"/org/example/part0/1.0/{artifacts[0].file_name}"
    mirror.failures[path] = [503, 503]
    quietly(cache, artifacts)
    assert mirror.requests[path] == 3


def test_a_lasting_fault_of_the_source_ends_in_an_error_that_names_the_artifact(cache, mirror, artifacts):
    path = f"/org/example/part0/1.0/{artifacts[0].file_name}"
    mirror.failures[path] = [503, 503, 503]
    with pytest.raises(LocalServerError, match=r"org\.example:part0:1\.0 .*503"):
        quietly(cache, artifacts)
    assert mirror.requests[path] == 3


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_a_damaged_jar_is_fetched_again_and_only_that_one(cache, mirror, artifacts, damage):
    folder = quietly(cache, artifacts)
    path = folder / "lib" / artifacts[1].file_name
    good = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(good[:-1] + b"\0" if damage == "flipped" else good[:-1])
    mirror.requests.clear()
    quietly(cache, artifacts)
    assert path.read_bytes() == good
    assert request_counts(mirror) == [1]


def test_class_archives_are_dropped_when_a_jar_was_replaced(cache, artifacts):
    folder = quietly(cache, artifacts)
    archive = folder / "archive" / "some.jsa"
    archive.parent.mkdir()
    archive.write_bytes(b"classes")
    quietly(cache, artifacts)
    assert archive.exists()
    (folder / "lib" / artifacts[0].file_name).unlink()
    quietly(cache, artifacts)
    assert not archive.exists()


def test_a_wrong_sum_is_an_error_that_names_the_artifact_and_nothing_is_kept(cache, mirror, artifacts):
    path = f"/org/example/part3/1.0/{artifacts[3].file_name}"
    mirror.bodies[path] = b"x" * artifacts[3].size_bytes
    with pytest.raises(LocalServerError, match="wrong SHA-256") as caught:
        quietly(cache, artifacts)
    assert caught.value.details == {"artifact": "org.example:part3:1.0"}
    library = cache / folder_name(artifacts) / "lib"
    assert not (library / artifacts[3].file_name).exists()
    assert not list(library.glob("*.part"))
    assert mirror.requests[path] == 1


def test_a_killed_fetch_leaves_whole_jars_and_the_next_one_fetches_the_rest(cache, mirror, artifacts, write_list):
    hanging = f"/org/example/part1/1.0/{artifacts[1].file_name}"
    mirror.gated.add(hanging)
    with child(cache, write_list(artifacts)) as process:
        assert mirror.waiting.wait(30)
        process.send_signal(signal.SIGKILL)
    folder = cache / folder_name(artifacts)
    whole = [path for path in (folder / "lib").iterdir() if path.suffix == ".jar"]
    sums = {jar.file_name: jar.sha256 for jar in artifacts}
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == sums[path.name] for path in whole)
    left = missing(folder / "lib", artifacts)
    assert artifacts[1] in left
    mirror.gated.clear()
    mirror.gate.set()
    source = Recording()
    quietly(cache, artifacts, source=source)
    assert sorted(source.asked) == sorted(jar.coordinate for jar in left)
    assert not list((folder / "lib").glob("*.part"))


def test_an_interrupt_ends_the_fetch_and_leaves_no_half_file(cache, artifacts):
    class Interrupted:
        def read(self, _jar):
            yield b"half"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quietly(cache, artifacts, source=Interrupted())
    assert not list((cache / folder_name(artifacts) / "lib").iterdir())


def test_two_processes_that_fetch_at_once_share_the_work(cache, mirror, artifacts, write_list):
    path = write_list(artifacts)
    mirror.gated.add(f"/org/example/part1/1.0/{artifacts[1].file_name}")
    with child(cache, path) as first:
        assert mirror.waiting.wait(30)
        with child(cache, path) as second:
            assert second.stdout.readline() == b"fetching\n"
            assert not mirror.asked_twice.wait(2), "the second process has to wait for the first"
            mirror.gate.set()
            assert second.wait(60) == 0
        assert first.wait(60) == 0
    assert request_counts(mirror) == [1] * len(artifacts)
    assert not missing(cache / folder_name(artifacts) / "lib", artifacts)


def test_without_the_optional_package_a_fetch_says_what_to_install(cache, artifacts, monkeypatch):
    monkeypatch.setitem(sys.modules, "maven_artifact", None)
    with pytest.raises(LocalServerError, match=r"pip install 'sequela\[local\]'"):
        quietly(cache, artifacts)


def test_a_jar_that_is_measured_gets_the_sum_and_size_of_its_bytes(mirror, artifacts):
    native = artifacts[-1]
    assert measure(native.coordinate, jars.MavenSource()) == native


def test_both_resolvers_are_read_alike():
    maven = """
The following files have been resolved:
   org.neo4j:neo4j-logging:jar:5.26.30:compile -- module org.neo4j.logging [auto]
   io.netty:netty-transport-native-epoll:jar:linux-x86_64:4.1.137.Final:compile
   org.neo4j:neo4j-consistency-check:jar:5.26.30:runtime
   org.example:only-for-tests:jar:1.0:test
"""
    jgo = """org.neo4j:neo4j:5.26.30
   org.neo4j:neo4j-logging:5.26.30
   io.netty:netty-transport-native-epoll:linux-x86_64:4.1.137.Final
   org.neo4j:neo4j-consistency-check:5.26.30:runtime
"""
    expected = [
        "org.neo4j:neo4j-logging:5.26.30",
        "io.netty:netty-transport-native-epoll:linux-x86_64:4.1.137.Final",
        "org.neo4j:neo4j-consistency-check:5.26.30",
    ]
    assert coordinates_of_maven(maven) == expected
    assert coordinates_of_jgo(jgo) == expected
