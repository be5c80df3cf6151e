"""Tables that keep words whole: where a screen is too narrow for the columns, a row becomes a paragraph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from graph.clock import instant_to_text

OUTCOME_STYLES: Final[Mapping[str, str]] = {
    "deleted": "green",
    "invalidated": "yellow",
    "not_found": "cyan",
    "retained_under_exception": "magenta",
    "failed": "bold red",
}
NOTHING: Final = "-"
# Columns whose cells are copied by people: they stay on one line.
_WHOLE: Final = frozenset({"record", "derivative", "hold", "request", "key", "outcome", "node", "step"})
_GAP: Final = 2


class Grid:
    """Rows of cells under names; as wide as the screen allows, and never with a word in two.

    Where the longest words of all columns do not fit side by side, columns that say nothing are left out, and where that
    is not enough each row is written as a paragraph of names and values.

    Args:
        columns: the names; numbers in columns whose name ends in # stand to the right.

    Attributes:
        caption: a line below all rows.
    """

    def __init__(self, *columns: str) -> None:
        self._columns = columns
        self._rows: list[tuple[Text, ...]] = []
        self.caption: str | None = None

    def add_row(self, *cells: Text) -> None:
        """Add a row: a cell for each column."""
        self._rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The rows in the form that fits."""
        shown = list(range(len(self._columns)))
        if not self._fits(shown, options.max_width):
            shown = [one for one in shown if any(row[one].plain != NOTHING for row in self._rows)]
        if self._fits(shown, options.max_width):
            yield self._table(shown, options.max_width)
        else:
            yield from self._paragraphs()
        if self.caption is not None:
            yield Text(self.caption, style="dim italic")

    def _fits(self, shown: Sequence[int], width: int) -> bool:
        return sum(self._least(one) for one in shown) + _gaps(shown) <= width

    def _table(self, shown: Sequence[int], width: int) -> Table:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for one, column_width in zip(shown, self._widths(shown, width - _gaps(shown)), strict=True):
            name = self._columns[one]
            justify = "right" if name.endswith("#") else "left"
            table.add_column(name.removesuffix("#"), justify=justify, width=column_width, overflow="fold")
            table.columns[-1].no_wrap = name in _WHOLE
        for row in self._rows:
            table.add_row(*(row[one] for one in shown))
        return table

    def _widths(self, shown: Sequence[int], width: int) -> list[int]:
        """What each column needs at least, and of what is left a share by how much more it would take."""
        least = [self._least(one) for one in shown]
        more = [self._most(one) - needed for one, needed in zip(shown, least, strict=True)]
        spare, wanted = width - sum(least), sum(more)
        if wanted <= spare:
            return [needed + want for needed, want in zip(least, more, strict=True)]
        return [needed + spare * want // wanted for needed, want in zip(least, more, strict=True)]

    def _least(self, column: int) -> int:
        if self._columns[column] in _WHOLE:
            return self._most(column)
        return max(cell_len(word) for text in self._texts(column) for word in text.split() or [""])

    def _most(self, column: int) -> int:
        return max(cell_len(line) for text in self._texts(column) for line in text.split("\n"))

    def _texts(self, column: int) -> list[str]:
        return [self._columns[column].removesuffix("#"), *(row[column].plain for row in self._rows)]

    def _paragraphs(self) -> RenderResult:
        for row in self._rows:
            parts = [
                Text.assemble((f"{name.removesuffix('#')} ", "dim"), text)
                for name, text in zip(self._columns, row, strict=True)
                if text.plain != NOTHING
            ]
            block = Table.grid(padding=(0, 1))
            block.add_column(no_wrap=True)
            block.add_column(overflow="fold")
            block.add_row(Text("-", style="dim"), Text("  ").join(parts))
            yield block


def grid(*columns: str) -> Grid:
    """An empty table with these columns; numbers in columns whose name ends in # stand to the right."""
    return Grid(*columns)


def _gaps(shown: Sequence[int]) -> int:
    return _GAP * max(0, len(shown) - 1)


def fields(document: Mapping[str, object]) -> Table:
    """Names and values, one a line; blanks are left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in document.items():
        if value not in (None, [], {}, ""):
            table.add_row(name, cell(value))
    return table


def outline(document: Mapping[str, object]) -> Table:
    """A nested document as names and values, one a line, what is inside something set below it."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _outlined(document, ""):
        table.add_row(name, value)
    return table


def _outlined(document: Mapping[str, object], indent: str) -> Iterator[tuple[str, Text]]:
    for name, value in document.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{name}", Text("")
            yield from _outlined(cast("Mapping[str, object]", value), f"{indent}  ")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in cast("list[object]", value)):
            for number, item in enumerate(cast("list[Mapping[str, object]]", value), 1):
                yield f"{indent}{name} {number}", Text("")
                yield from _outlined(item, f"{indent}  ")
        else:
            yield f"{indent}{name}", cell(None if value == [] else cast("object", value))


def cell(value: object) -> Text:
    """A value as plain text: whatever it holds, it is never read as markup."""
    if value is None:
        return Text(NOTHING, style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, list | tuple):
        items = cast("list[object]", value)
        if all(isinstance(item, str) for item in items):
            return Text(", ".join(str(item) for item in items))
    return Text(json.dumps(value, ensure_ascii=False, default=str))


def moment(instant: int) -> str:
    """An instant for a person: to the second, UTC."""
    return f"{instant_to_text(instant)[:19].replace('T', ' ')}Z"


def outcome_cell(outcome: str | None) -> Text:
    """An outcome in its colour; one that is still open says so."""
    return Text("open", style="dim") if outcome is None else Text(outcome, style=OUTCOME_STYLES.get(outcome, ""))
