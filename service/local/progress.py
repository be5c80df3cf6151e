"""How long steps are told to whoever asked for them: this room prints nothing by itself."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


class Reporter(Protocol):
    """Receives what a long step is doing."""

    def say(self, message: str) -> None:
        """Tell one thing that has just begun or happened, as a sentence."""
        ...

    def downloading(self, size_bytes: int) -> AbstractContextManager[Callable[[int], None]]:
        """Open a download of that size; the function that is yielded takes the bytes that have newly arrived.

        The function is called from several threads at once.
        """
        ...


class SilentReporter:
    """Drops everything: for tests and for programs that show nothing."""

    def say(self, message: str) -> None:
        """Drop the sentence."""

    @contextmanager
    def downloading(self, size_bytes: int) -> Generator[Callable[[int], None]]:
        """Drop the counts."""
        del size_bytes
        yield lambda _new_bytes: None


class RichReporter:
    """Shows sentences and a download bar on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, message: str) -> None:
        """Print the sentence on a line of its own."""
        self._console.print(message, highlight=False, markup=False)

    @contextmanager
    def downloading(self, size_bytes: int) -> Generator[Callable[[int], None]]:
        """Show a bar for as long as the download is open."""
        columns = (
            TextColumn("Fetching Neo4j"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._console) as bar:
            task = bar.add_task("fetch", total=size_bytes)
            yield lambda new_bytes: bar.advance(task, new_bytes)
