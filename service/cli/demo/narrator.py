"""Tells the demo to a person, a heading and a few plain sentences at a time; a machine gets one document at the end."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from service.cli.screen import Screen


class Narrator:
    """Writes where the command's screen has people read: on standard output, or with --json on standard error."""

    def __init__(self, screen: Screen) -> None:
        self._console = screen.err if screen.as_json else screen.out
        self._headings = 0

    def heading(self, title: str) -> None:
        """Begin a part of the story."""
        self._headings += 1
        self._console.print()
        self._console.print(Text.assemble((f"{self._headings}  ", "bold cyan"), (title, "bold")))

    def say(self, *sentences: str) -> None:
        """Say something in plain sentences."""
        self._console.print(Padding(Text(" ".join(sentences)), (0, 0, 0, 3), expand=False))

    def command(self, line: str) -> None:
        """Give a line to copy: it stays one line however narrow the screen is."""
        self._console.print(Text(f"   {line}", style="cyan"), soft_wrap=True)

    def show(self, *parts: RenderableType) -> None:
        """Show tables, trees and the like."""
        for part in parts:
            self._console.print(Padding(part, (0, 0, 0, 3), expand=False), highlight=False)
