"""Where the room keeps things: one cache for each user, one home for each project."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CACHE_VARIABLE = "SEQUELA_CACHE"
HOME_VARIABLE = "SEQUELA_HOME"


def cache_folder() -> Path:
    """The folder of downloads and class archives, shared by all projects of this user."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "sequela"


def home_folder() -> Path:
    """The folder of this project's database; by default a hidden one in the current directory."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else Path.cwd() / ".sequela"


@contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Hold a lock file, waiting for whoever holds it; the system frees it when its holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True)
class Home:
    """The folders and files of one private server."""

    root: Path

    @property
    def configuration(self) -> Path:
        """The folder of neo4j.conf."""
        return self.root / "conf"

    @property
    def data(self) -> Path:
        """The folder of the store and its transaction logs."""
        return self.root / "data"

    @property
    def logs(self) -> Path:
        """The folder of the server's logs."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """The folder of what is true only while a server runs or a command works."""
        return self.root / "run"

    @property
    def console(self) -> Path:
        """What the server's process last printed."""
        return self.logs / "console.log"

    @property
    def record(self) -> Path:
        """Which process serves this home."""
        return self.run / "server.json"

    def create(self) -> None:
        """Make the folders, closed to other users, and keep them out of version control."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        for folder in (self.configuration, self.data, self.logs, self.run):
            folder.mkdir(mode=0o700, exist_ok=True)
        ignored = self.root / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", encoding="utf-8")

    def password(self) -> str:
        """The password of the database user, made at the first call."""
        path = self.configuration / "password"
        if not path.exists():
            # No dash at its front, which the server would take for an option.
            write_private(path, secrets.token_hex(24))
        return path.read_text(encoding="utf-8").strip()

    @contextmanager
    def changing(self) -> Generator[None]:
        """Be the only one that starts, stops, dumps or loads here."""
        self.create()
        with exclusive(self.run / "lock"):
            yield
