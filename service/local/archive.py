"""Class archives: the loaded classes of one run, mapped by the next, which then starts in about half the time.

An archive is valid for one build of Java and one set of jars, so it lies beside the jars under the build's key and
is shared by all homes of the user. The first server that is stopped cleanly leaves it.
"""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from service.local.java import Java
from service.local.paths import Home, exclusive

_DUMP_SECONDS = 120


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """Flags for a start, and the unfinished archive that the run will leave, if it makes one."""

    flags: tuple[str, ...]
    training: Path | None


def prepare(folder: Path, java: Java, home: Home) -> ClassArchive:
    """Use the archive where there is one; otherwise have this run make it.

    Args:
        folder: the folder of the set of jars.
        java: the runtime that will start the server.
        home: whose server it is; each home trains into a file of its own.
    """
    place = folder / "archive"
    base = _base_archive(place, java)
    finished = place / f"{java.key}.jsa"
    if finished.exists():
        return ClassArchive((f"-XX:SharedArchiveFile={f'{base}:' if base else ''}{finished}",), None)
    place.mkdir(exist_ok=True)
    trainer = hashlib.sha256(str(home.root).encode()).hexdigest()[:12]
    training = place / f"{java.key}.{trainer}.part"
    training.unlink(missing_ok=True)  # a killed run's rest must not pass for the archive of this one
    flags = (f"-XX:ArchiveClassesAtExit={training}", *((f"-XX:SharedArchiveFile={base}",) if base else ()))
    return ClassArchive(flags, training)


def finish(training: Path, *, clean: bool) -> None:
    """Put a training run's archive in its place if the run ended by itself; a killed one may be cut off."""
    if clean and training.exists():
        key = training.name.split(".", 1)[0]
        training.replace(training.with_name(f"{key}.jsa"))
    training.unlink(missing_ok=True)


def _base_archive(place: Path, java: Java) -> Path | None:
    """The archive of Java's own classes that trimmed runtimes lack and that the server's archive builds upon."""
    if java.has_base_archive:
        return None
    base = place / f"{java.key}.base.jsa"
    with exclusive(place / "lock"):
        if not base.exists():
            unfinished = base.with_suffix(".part")
            subprocess.run(  # noqa: S603 - the found Java with fixed flags
                [java.executable, "-Xshare:dump", f"-XX:SharedArchiveFile={unfinished}", "-XX:+UseG1GC"],
                capture_output=True,
                timeout=_DUMP_SECONDS,
                check=False,
            )
            if unfinished.exists():
                unfinished.replace(base)
    return base if base.exists() else None
