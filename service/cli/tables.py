"""Tables and trees that keep ids whole: an id is never cut, other columns give way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from rich import box
from rich.table import Table
from rich.text import Text

from graph.clock import instant_to_text

# Columns whose cells are copied by people: they stay on one line.
_WHOLE: Final = frozenset({"record", "derivative", "hold", "request", "key", "outcome", "node", "step"})
OUTCOME_STYLES: Final[Mapping[str, str]] = {
    "deleted": "green",
    "invalidated": "yellow",
    "not_found": "cyan",
    "retained_under_exception": "magenta",
    "failed": "bold red",
}
NOTHING: Final = "-"


def grid(*columns: str) -> Table:
    """An empty table with these columns; numbers in columns whose name ends in # stand to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        name = column.removesuffix("#")
        whole = name in _WHOLE
        table.add_column(name, justify="right" if column != name else "left", no_wrap=whole, overflow="fold")
    return table


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
