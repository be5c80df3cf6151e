"""Views of the domain as JSON documents: public names in camelCase, instants as RFC 3339."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import cast

from graph.clock import instant_to_text


def document_of(view: object) -> dict[str, object]:
    """A frozen view as a document; a whole number whose name ends in `_at` is an instant."""
    if not is_dataclass(view):
        raise TypeError("only views have a form as a document")
    return {_camel(field.name): _value(field.name, getattr(view, field.name)) for field in fields(view)}


def _value(name: str, value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, int) and not isinstance(value, bool) and name.endswith("_at"):
        return instant_to_text(value)
    if is_dataclass(value) and not isinstance(value, type):
        return document_of(value)
    if isinstance(value, Mapping):
        return {str(key): _value("", item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = [_value("", item) for item in cast("tuple[object, ...]", value)]
        return sorted(items, key=str) if isinstance(value, set | frozenset) else items
    return value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
