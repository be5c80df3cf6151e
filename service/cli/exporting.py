"""Carrying out an export: a document into a file, and how whole it is onto the screen."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import typer
from rich.text import Text

from service.cli.screen import Screen
from service.formats.prov_export import ProvExport

STANDARD_OUTPUT: Final = "-"


def write_export(screen: Screen, export: ProvExport, file: Path) -> bool:
    """Write a document and tell how whole it is; returns whether it is all, and not empty.

    A file that is there is replaced when the new one is written whole.

    Raises:
        typer.BadParameter: the file cannot be written.
    """
    text = f"{json.dumps(export.document, ensure_ascii=False, indent=1)}\n"
    told = f"{export.records} records, {export.ended} deleted ones said to be invalidated."
    whole = not export.withheld and export.records + export.ended > 0
    if export.withheld:
        told += " This is not all: more is there that this caller may not see, or that is being deleted."
    elif not whole:
        told += " Nothing is there for this caller."
    if str(file) == STANDARD_OUTPUT:
        sys.stdout.write(text)
        screen.say(told)
        return whole
    draft = file.with_name(f"{file.name}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}.") from None
    screen.answer({**export.as_json(), "file": str(file)}, Text(told))
    return whole
