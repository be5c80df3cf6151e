"""Makes the locked list of jars: `python -m service.local.lock 5.26.30`.

A resolver decides which jars belong together: Maven where it is installed, else `jgo`, which settles a few versions of
third-party jars differently. Each jar is then read once for its sum. The list holds coordinates, sums and sizes only,
so it does not tell where the jars came from.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

from graph.errors import LocalServerError
from service.local.jars import LOCK_FILE, Jar, MavenSource, Source, parse_coordinate, read_lock

ROOTS = ("org.neo4j.app:neo4j-server", "org.neo4j:neo4j", "org.neo4j:neo4j-import-tool")

_THREADS = 8
_MAVEN_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:list"
_MAVEN_LINE = re.compile(
    r"^ +(?P<group>[^: ]+):(?P<artifact>[^:]+):jar:(?P<classified>(?:[^:]+:)?[^:]+):(?:compile|runtime)(?: -- .*)?$"
)


def _pom(version: str) -> str:
    dependency = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
    wanted = "".join(dependency.format(*root.split(":"), version) for root in ROOTS)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>sequela</groupId><artifactId>local-server</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{wanted}</dependencies></project>"
    )


def coordinates_of_maven(answer: str) -> list[str]:
    """Read what `dependency:list` wrote: group:artifact:jar[:classifier]:version:scope."""
    found = (_MAVEN_LINE.match(line) for line in answer.splitlines())
    return [f"{match['group']}:{match['artifact']}:{match['classified']}" for match in found if match]


def coordinates_of_jgo(answer: str) -> list[str]:
    """Read what `jgo list` wrote: indented group:artifact[:classifier]:version[:scope] below the roots."""
    below_roots = (line.strip() for line in answer.splitlines() if line.startswith(" "))
    return [line.removesuffix(":compile").removesuffix(":runtime") for line in below_roots if line]


def _ask_maven(version: str) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pom.xml").write_text(_pom(version), encoding="utf-8")
        command = ["mvn", "-B", "-q", "-f", str(folder / "pom.xml"), _MAVEN_GOAL]
        command += ["-DincludeScope=runtime", f"-DoutputFile={folder / 'answer'}"]
        subprocess.run(command, check=True)  # noqa: S603 - fixed words and a version
        return coordinates_of_maven((folder / "answer").read_text(encoding="utf-8"))


def _ask_jgo(version: str) -> list[str]:
    endpoint = "+".join(f"{root}:{version}" for root in ROOTS)
    command = ["jgo", "--resolver", "python", "--color", "plain", "--wrap", "raw", "list", endpoint]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - fixed words and a version
    roots = [f"{root}:{version}" for root in ROOTS]
    return [*roots, *coordinates_of_jgo(answer.stdout)]


def resolve(version: str) -> list[str]:
    """The coordinates of all jars of a server of that version.

    Raises:
        LocalServerError: no resolver is installed, or it finds nothing.
    """
    for program, ask in (("mvn", _ask_maven), ("jgo", _ask_jgo)):
        if shutil.which(program):
            if coordinates := ask(version):
                return sorted(set(coordinates))
            raise LocalServerError(f"{program} found no jars for Neo4j {version}.")
    raise LocalServerError("Making the list needs a resolver: install Maven, or pip install 'jgo[cli]'.")


def measure(coordinate: str, source: Source) -> Jar:
    """Read a jar once for its sum and size."""
    unmeasured = parse_coordinate(coordinate)
    digest, size_bytes = hashlib.sha256(), 0
    for chunk in source.read(unmeasured):
        digest.update(chunk)
        size_bytes += len(chunk)
    return parse_coordinate(coordinate, digest.hexdigest(), size_bytes)


def write_lock(version: str, jars: Iterable[Jar], path: Path = LOCK_FILE) -> int:
    """Write the list, sorted, and read it back as a check.

    Returns:
        The number of jars.
    """
    lines = [f"# Neo4j {version} Community; made by: python -m service.local.lock {version}"]
    lines += ["# group:artifact[:classifier]:version  sha256  bytes"]
    lines += sorted(f"{jar.coordinate}  {jar.sha256}  {jar.size_bytes}" for jar in jars)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(read_lock(path))


def main() -> None:
    """Resolve the version that the command line names and write the list."""
    parser = argparse.ArgumentParser(description="Make the locked list of the Neo4j server's jars.")
    parser.add_argument("version", help="a version of Neo4j Community, such as 5.26.30")
    version = parser.parse_args().version
    source = MavenSource()
    with ThreadPoolExecutor(_THREADS) as pool:
        jars = list(pool.map(measure, resolve(version), repeat(source)))
    sys.stdout.write(f"{write_lock(version, jars)} jars locked.\n")


if __name__ == "__main__":
    main()
