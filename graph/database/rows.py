"""Rows of an answer, read with the type that the query's header declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast


class Row:
    """One row; each getter raises `TypeError` where the value is not of the declared type."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def text(self, key: str) -> str:
        """A STRING."""
        value = self._values[key]
        if not isinstance(value, str):
            raise TypeError(f"{key} is not a STRING")
        return value

    def text_or_none(self, key: str) -> str | None:
        """A STRING or null."""
        return None if self._values[key] is None else self.text(key)

    def number(self, key: str) -> int:
        """An INTEGER."""
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{key} is not an INTEGER")
        return value

    def number_or_none(self, key: str) -> int | None:
        """An INTEGER or null."""
        return None if self._values[key] is None else self.number(key)

    def truth(self, key: str) -> bool:
        """A BOOLEAN."""
        value = self._values[key]
        if not isinstance(value, bool):
            raise TypeError(f"{key} is not a BOOLEAN")
        return value

    def texts(self, key: str) -> list[str]:
        """A LIST<STRING>."""
        return [_text(item, key) for item in self._items(key)]

    def numbers(self, key: str) -> list[int]:
        """A LIST<INTEGER>."""
        items = self._items(key)
        if not all(isinstance(item, int) for item in items):
            raise TypeError(f"{key} is not a LIST<INTEGER>")
        return cast("list[int]", items)

    def rows(self, key: str) -> list[Row]:
        """A LIST<MAP>."""
        return [Row(_mapping(item, key)) for item in self._items(key)]

    def mapping(self, key: str) -> Mapping[str, object]:
        """A MAP or a node's properties."""
        return _mapping(self._values[key], key)

    def is_null(self, key: str) -> bool:
        """Whether the value is null."""
        return self._values[key] is None

    def _items(self, key: str) -> list[object]:
        value = self._values[key]
        if not isinstance(value, list):
            raise TypeError(f"{key} is not a LIST")
        return cast("list[object]", value)


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{key} holds an item that is not a STRING")
    return value


def _mapping(value: object, key: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{key} is not a MAP")
    return cast("Mapping[str, object]", value)
