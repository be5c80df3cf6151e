"""The server's jars: a locked list, fetched once, checked by SHA-256 at every start."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol, cast

from graph.errors import LocalServerError
from service.local.paths import exclusive
from service.local.progress import Reporter

MIRROR_VARIABLE = "SEQUELA_MAVEN_MIRROR"
LOCK_FILE = Path(__file__).with_name("jars.lock")
INSTALL_HINT = "pip install 'sequela[local]'"

_THREADS = 12
_CHUNK_BYTES = 256 * 1024
_TIMEOUT_SECONDS = 30
_ATTEMPTS = 3
_PAUSE_SECONDS = 1
_CLIENT_ERRORS = range(400, 500)
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429})
_COORDINATE_PARTS = (3, 4)
_LINE = re.compile(r"(?P<coordinate>\S+)\s+(?P<sha256>[0-9a-f]{64})\s+(?P<size>[1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of the locked list."""

    group: str
    artifact: str
    classifier: str | None
    version: str
    sha256: str
    size_bytes: int

    @property
    def coordinate(self) -> str:
        """group:artifact[:classifier]:version."""
        return ":".join(part for part in (self.group, self.artifact, self.classifier, self.version) if part)

    @property
    def file_name(self) -> str:
        """The name in the class path folder; unique within a list."""
        return "-".join(part for part in (self.artifact, self.version, self.classifier) if part) + ".jar"


def parse_coordinate(coordinate: str, sha256: str = "", size_bytes: int = 0) -> Jar:
    """Read group:artifact[:classifier]:version.

    Raises:
        LocalServerError: it is not of that form.
    """
    parts = coordinate.split(":")
    if len(parts) not in _COORDINATE_PARTS or not all(parts):
        raise LocalServerError(f"{coordinate!r} does not name a jar.")
    classifier = parts[2] if len(parts) == max(_COORDINATE_PARTS) else None
    return Jar(parts[0], parts[1], classifier, parts[-1], sha256, size_bytes)


def parse_line(line: str) -> Jar:
    """Read `coordinate  sha256  size`.

    Raises:
        LocalServerError: the line is not of that form.
    """
    found = _LINE.fullmatch(line.strip())
    if not found:
        raise LocalServerError(f"The locked list of jars has a line that cannot be read: {line!r}")
    return parse_coordinate(found["coordinate"], found["sha256"], int(found["size"]))


def read_lock(path: Path = LOCK_FILE) -> tuple[Jar, ...]:
    """Read a locked list.

    Raises:
        LocalServerError: the list is missing, empty, malformed, or two of its jars would share a file name.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise LocalServerError(f"The locked list of jars cannot be read: {path.name}") from error
    jars = tuple(parse_line(line) for line in lines if line.strip() and not line.startswith("#"))
    names = [jar.file_name for jar in jars]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not jars:
        raise LocalServerError(f"The locked list of jars is empty or names a file twice: {', '.join(twice) or 'empty'}")
    return jars


def folder_name(jars: Sequence[Jar]) -> str:
    """A name for the set: another list never mixes its jars into the same class path."""
    digest = hashlib.sha256("\n".join(f"{jar.coordinate} {jar.sha256}" for jar in jars).encode())
    return f"neo4j-{digest.hexdigest()[:16]}"


class Source(Protocol):
    """Where jars come from."""

    def read(self, jar: Jar) -> Iterable[bytes]:
        """The bytes of the jar; any exception means that it could not be had."""
        ...


class _Response(Protocol):
    """The part of an HTTP response that is used here."""

    def iter_content(self, chunk_size: int) -> Iterable[bytes]: ...
    def close(self) -> None: ...


class MavenSource:
    """The public repository that `maven-artifact` knows, or the mirror that the environment names."""

    def __init__(self) -> None:
        try:
            from maven_artifact import Artifact, Downloader  # noqa: PLC0415 - an optional part, needed for downloads only
        except ImportError as error:
            raise LocalServerError(f"Fetching the Neo4j server needs one more package: {INSTALL_HINT}") from error
        mirror = os.environ.get(MIRROR_VARIABLE)
        self._downloader = Downloader(mirror) if mirror else Downloader()
        self._artifact = Artifact

    def read(self, jar: Jar) -> Iterable[bytes]:
        """Request the jar; the downloader's own `download` is not used because it prints and checks MD5 only."""
        artifact = self._artifact(jar.group, jar.artifact, jar.version, jar.classifier, "jar")
        response = cast(
            "_Response",
            self._downloader.requestor.request(  # pyright: ignore[reportUnknownMemberType] - the package has no types
                artifact.uri(self._downloader.resolver.base), _refuse, stream=True, timeout=_TIMEOUT_SECONDS
            ),
        )
        try:
            yield from response.iter_content(_CHUNK_BYTES)
        finally:
            response.close()


def _refuse(_address: str, error: Exception) -> NoReturn:
    """Close what came with a refusal: the downloader would leave its connection open."""
    response = getattr(error, "response", None)
    if response is not None:
        response.close()
    raise error


class _Stopped(Exception):
    """The fetch is being given up: another thread failed or the user interrupted."""


def _is_good(folder: Path, jar: Jar) -> bool:
    path = folder / jar.file_name
    try:
        if path.stat().st_size != jar.size_bytes:
            return False
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest() == jar.sha256
    except FileNotFoundError:
        return False


def missing(folder: Path, jars: Sequence[Jar]) -> list[Jar]:
    """The jars that are not there or whose bytes are not the locked ones."""
    with ThreadPoolExecutor(_THREADS) as pool:
        good = list(pool.map(partial(_is_good, folder), jars))
    return [jar for jar, is_good in zip(jars, good, strict=True) if not is_good]


class _Fetch:
    """One run of downloads into a folder."""

    def __init__(self, folder: Path, source: Source, advance: Callable[[int], None]) -> None:
        self._folder = folder
        self._source = source
        self._advance = advance
        self._stopped = threading.Event()

    def run(self, wanted: Sequence[Jar]) -> None:
        pool = ThreadPoolExecutor(_THREADS)
        try:
            futures = [pool.submit(self._one, jar) for jar in wanted]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failures = [error for future in done if (error := future.exception())]
        finally:
            self._stopped.set()
            pool.shutdown(wait=True, cancel_futures=True)
        for error in failures:
            if not isinstance(error, _Stopped):
                raise error

    def _one(self, jar: Jar) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._download(jar)
            except (LocalServerError, _Stopped):
                raise
            except Exception as error:  # the client may raise anything; its text may hold a mirror's password
                if attempt == _ATTEMPTS or _is_permanent(error):
                    message = f"{jar.coordinate} could not be fetched: {_describe(error)}."
                    raise LocalServerError(f"{message} The jars that have arrived are kept; try again.") from error
                if self._stopped.wait(attempt * _PAUSE_SECONDS):
                    raise _Stopped from error
            else:
                return

    def _download(self, jar: Jar) -> None:
        descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=f"{jar.file_name}.", suffix=".part")
        unfinished = Path(name)
        counted = 0
        try:
            with os.fdopen(descriptor, "wb") as handle:
                for chunk in self._chunks(jar):
                    handle.write(chunk)
                    counted += len(chunk)
                    self._advance(len(chunk))
            unfinished.replace(self._folder / jar.file_name)
        except BaseException:
            self._advance(-counted)
            unfinished.unlink(missing_ok=True)
            raise

    def _chunks(self, jar: Jar) -> Iterator[bytes]:
        """The bytes of the jar; ends in an error where the sum is wrong or the fetch has been given up."""
        digest = hashlib.sha256()
        for chunk in self._source.read(jar):
            if self._stopped.is_set():
                raise _Stopped
            digest.update(chunk)
            yield chunk
        if digest.hexdigest() != jar.sha256:
            raise LocalServerError(
                f"{jar.coordinate} was delivered with the wrong SHA-256 sum: {digest.hexdigest()} instead of "
                f"{jar.sha256}. It was not kept.",
                details={"artifact": jar.coordinate},
            )


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _is_permanent(error: Exception) -> bool:
    status = _status(error)
    return status in _CLIENT_ERRORS and status not in _WORTH_ANOTHER_TRY


def _describe(error: Exception) -> str:
    status = _status(error)
    return f"HTTP status {status}" if status else type(error).__name__


def fetch(cache: Path, jars: Sequence[Jar], reporter: Reporter, source: Source | None = None) -> Path:
    """Make sure that every jar of the list is in the cache with the locked sum.

    Only what is missing or damaged is fetched, so an interrupted fetch goes on where it stopped, and a complete
    cache needs no network. One process fetches at a time; the others wait and find the work done.

    Args:
        cache: the user's cache folder.
        jars: the locked list.
        reporter: told of a download, never of a complete cache.
        source: where to fetch from; by default the public Maven repository or its mirror.

    Returns:
        The folder of the set; its jars lie in `lib`.

    Raises:
        LocalServerError: an artifact cannot be had, or the source delivers another sum for it.
    """
    folder = cache / folder_name(jars)
    library = folder / "lib"
    if not missing(library, jars):
        return folder
    with exclusive(folder / "lock"):
        library.mkdir(exist_ok=True)
        _sweep(folder)
        if wanted := missing(library, jars):
            size_bytes = sum(jar.size_bytes for jar in wanted)
            with reporter.downloading(size_bytes) as advance:
                _Fetch(library, source or MavenSource(), advance).run(wanted)
    return folder


def _sweep(folder: Path) -> None:
    """Remove what a killed fetch left, and class archives: they are void once a jar has changed."""
    for pattern in ("lib/*.part", "archive/*.jsa"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
