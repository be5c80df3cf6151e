"""The names of one document or bundle that is written: a name keeps its form wherever it still means the same.

Statements come from several places, each with the prefixes that it was said with. The first declaration of a prefix
holds; a name that would mean something else under it gets another prefix.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from service.formats.prov_model import (
    BLANK_PREFIX,
    DEFAULT,
    PROV_NAMESPACE,
    RELATIONS,
    XSD_NAMESPACE,
    Namespaces,
)
from service.formats.prov_stored import StoredStatement

_QUALIFIED: Final = frozenset({f"{PROV_NAMESPACE}QUALIFIED_NAME", f"{XSD_NAMESPACE}QName"})
_LAST_PART: Final = re.compile(r"[^/#:]+$")


class Labels:
    """The prefixes of one container, and the names under them. All declarations come before the first name."""

    def __init__(self, outer: Labels | None = None) -> None:
        self._outer = outer
        self._own: dict[str, str] = {}
        self._names: dict[str, str] = {}

    @property
    def declared(self) -> Mapping[str, str]:
        """The declarations of this container, without those around it."""
        return self._own

    @property
    def in_force(self) -> dict[str, str]:
        """The declarations of this container over those around it."""
        return {**(self._outer.in_force if self._outer else {}), **self._own}

    def declare(self, prefixes: Mapping[str, str]) -> None:
        """Take over declarations where the prefix is free."""
        for prefix, namespace in prefixes.items():
            self._own.setdefault(prefix, namespace)

    def kept(self, label: str, said_with: Namespaces) -> str:
        """The label, if it means here what it meant where it was said; otherwise another one for the same name."""
        name = said_with.expanded(label)
        return label if Namespaces(self.in_force).expanded(label) == name else self.label(name)

    def label(self, name: str) -> str:
        """A label for a full name; a prefix is declared for it where none fits."""
        if name.startswith(BLANK_PREFIX):
            return name
        if name not in self._names:
            self._names[name] = self._fitting(name) or self._with_new_prefix(name)
        return self._names[name]

    def _fitting(self, name: str) -> str | None:
        everything = Namespaces(self.in_force)
        found = sorted(everything.prefixes.items(), key=lambda item: (-len(item[1]), item[0]))
        for prefix, namespace in found:
            local = name[len(namespace) :]
            if not name.startswith(namespace) or not local:
                continue
            label = local if prefix == DEFAULT else f"{prefix}:{local}"
            if everything.expanded(label) == name:
                return label
        return None

    def _with_new_prefix(self, name: str) -> str:
        last = _LAST_PART.search(name)
        start = last.start() if last and last.start() else len(name) - 1
        namespace, local = (name[:start], name[start:]) if start else (name, "")
        taken = self.in_force
        # No scheme of an IRI has an underscore, so that no whole IRI comes to mean something else.
        number = next(number for number in range(1, len(taken) + 2) if f"ns_{number}" not in taken)
        self._own[f"ns_{number}"] = namespace
        return f"ns_{number}:{local}"


def relabelled(statement: StoredStatement, labels: Labels) -> tuple[str, dict[str, JsonValue]]:
    """The label and the body of a statement, as they are written in another container."""
    said_with = Namespaces({prefix: str(iri) for prefix, iri in statement.prefix.items()})
    named = RELATIONS[statement.type].named_by if statement.type in RELATIONS else frozenset[str]()
    body: dict[str, JsonValue] = {}
    for key, value in statement.attributes.items():
        word = said_with.expanded(key).removeprefix(PROV_NAMESPACE)
        write = _end if word in named and said_with.expanded(key).startswith(PROV_NAMESPACE) else _value
        items = [write(item, said_with, labels) for item in (value if isinstance(value, list) else [value])]
        body[labels.kept(key, said_with)] = items if isinstance(value, list) else items[0]
    return labels.kept(statement.id, said_with), body


def _end(value: JsonValue, said_with: Namespaces, labels: Labels) -> JsonValue:
    if isinstance(value, dict):
        return {**_typed(value, said_with, labels), "$": labels.kept(str(value["$"]), said_with)}
    return labels.kept(str(value), said_with)


def _value(value: JsonValue, said_with: Namespaces, labels: Labels) -> JsonValue:
    return _typed(value, said_with, labels) if isinstance(value, dict) else value


def _typed(value: dict[str, JsonValue], said_with: Namespaces, labels: Labels) -> dict[str, JsonValue]:
    kind = value.get("type")
    if not isinstance(kind, str):
        return value
    typed: dict[str, JsonValue] = {**value, "type": labels.kept(kind, said_with)}
    text = value["$"]
    if said_with.expanded(kind) in _QUALIFIED and isinstance(text, str):
        typed["$"] = labels.kept(text, said_with)
    return typed
