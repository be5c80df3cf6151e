"""The server's administration program: the first password, dump and load. It needs the server stopped."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from graph.errors import LocalServerError
from service.local.config import ADMIN_CLASS, DATABASE
from service.local.java import Java
from service.local.paths import Home, write_private
from service.local.store import StoreAside

# Dumps begin with one of these, by how they are compressed.
_DUMP_MARKS = (b"DZV1", b"DGV1")
_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+IgnoreUnrecognizedVMOptions", "-Dfile.encoding=UTF-8")
_OPENED = ("--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED")


@dataclass(frozen=True, slots=True)
class Admin:
    """Runs administration commands on one home."""

    home: Home
    java: Java
    library: Path

    def set_initial_password(self, password: str) -> None:
        """Set the password of a database that was never started.

        The command line of a process can be read by every user of the machine, so the words go through a file.
        """
        words = self.home.run / "words"
        write_private(words, f'{ADMIN_CLASS} dbms set-initial-password "{password}"\n')
        try:
            self._run([f"@{words}"], "set the first password")
        finally:
            words.unlink(missing_ok=True)

    def dump(self, target: Path) -> None:
        """Write the database to a file that appears whole or not at all."""
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as name:
            self._run([ADMIN_CLASS, "database", "dump", DATABASE, f"--to-path={name}"], "dump the database")
            made = Path(name) / f"{DATABASE}.dump"
            with made.open("rb") as handle:
                os.fsync(handle.fileno())
            made.replace(target)

    def load(self, source: Path) -> None:
        """Replace the database by a dump; where the dump turns out to be damaged, the database stays as it was."""
        aside = StoreAside(self.home)
        aside.take()
        try:
            command = [ADMIN_CLASS, "database", "load", DATABASE, "--from-stdin", "--overwrite-destination=true"]
            with source.open("rb") as handle:
                self._run(command, "load the dump", handle)
        except BaseException:
            aside.restore()
            raise
        aside.discard()

    def _run(self, arguments: Sequence[str], purpose: str, source: BinaryIO | None = None) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_")}
        environment |= {"NEO4J_HOME": str(self.home.root), "NEO4J_CONF": str(self.home.configuration)}
        answer = subprocess.run(  # noqa: S603 - the found Java and fixed words
            [self.java.executable, *_FLAGS, *_OPENED, "-cp", f"{self.library}/*", *arguments],
            env=environment,
            stdin=source or subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            said = (answer.stderr.strip() or answer.stdout.strip()).splitlines()
            raise LocalServerError(f"Neo4j could not {purpose}: {said[0] if said else 'it gave no reason'}")


def require_dump(path: Path) -> None:
    """Refuse a file that is no dump before anything is stopped or moved for it.

    Raises:
        LocalServerError: there is no such file, or it does not begin like a dump.
    """
    try:
        with path.open("rb") as handle:
            mark = handle.read(len(_DUMP_MARKS[0]))
    except OSError as error:
        raise LocalServerError(f"The dump {path} cannot be read.") from error
    if mark not in _DUMP_MARKS:
        raise LocalServerError(f"{path} is not a dump of a Neo4j database.")
