"""Where a command writes: answers on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console, RenderableType
from rich.text import Text

from service.cli.exits import ExitCode, Failure

# Without a terminal nobody reads line by line, and an id that is cut in two is found by no search.
_WIDTH_WITHOUT_TERMINAL: Final = 160

Progress = Callable[[int, int], None]


class Screen:
    """The two streams of one command.

    Args:
        as_json: answers are JSON for machines instead of tables and trees for people.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.out = _console(sys.stdout)
        self.err = _console(sys.stderr)

    def answer(self, value: object, *shown: RenderableType) -> None:
        """Give the answer: `value` to a machine, `shown` to a person."""
        if self.as_json:
            self.out.file.write(f"{json.dumps(value, indent=2, ensure_ascii=False)}\n")
            return
        for part in shown:
            self.out.print(part, highlight=False)

    def line(self, value: object) -> None:
        """Give one part of an answer that is too long to hold: one JSON document a line."""
        self.out.file.write(f"{json.dumps(value, ensure_ascii=False)}\n")

    def say(self, message: str, style: str = "dim") -> None:
        """Tell the person something beside the answer."""
        self.err.print(Text(message, style=style), soft_wrap=True)

    def fail(self, failure: Failure) -> ExitCode:
        """Tell why there is no answer; returns how the command ends."""
        if self.as_json:
            self.answer({"error": error_document(failure)})
        self.err.print(Text.assemble(("error: ", "bold red"), failure.line), soft_wrap=True)
        return failure.exit_code

    @contextmanager
    def progress(self, what: str) -> Generator[Progress]:
        """Show a bar for long work, on a terminal alone; the function that is yielded takes done and total."""
        if not self.err.is_terminal:
            yield lambda _done, _total: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415 - costs a tenth of --help
        from rich.progress import Progress as Bar  # noqa: PLC0415

        with Bar(TextColumn(what), BarColumn(), MofNCompleteColumn(), console=self.err, transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def counting(self, what: str) -> Generator[Callable[[str, int], None]]:
        """Show what is counted just now, on a terminal alone; the function that is yielded takes a name and a number."""
        if not self.err.is_terminal:
            yield lambda _name, _number: None
            return
        with self.err.status(what) as status:
            yield lambda name, number: status.update(f"{what}: {number:,} {name}")


def error_document(failure: Failure) -> Mapping[str, object]:
    """A failure for a machine."""
    return {
        "message": failure.message,
        "code": failure.code,
        "nextStep": failure.next_step,
        "details": dict(failure.details),
        "exitCode": int(failure.exit_code),
    }


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else _WIDTH_WITHOUT_TERMINAL
    return Console(file=stream, width=width, emoji=False)
