"""Reading PROV-JSON, whole or not at all; every refusal says where."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from pydantic import JsonValue

from graph.errors import InvalidInput, Oversized, Refused
from graph.ids import name_checked
from graph.vocabulary import ReasonCode
from service.formats.json_text import BYTE_ORDER_MARK, JsonText, Path, read_json
from service.formats.prov_model import (
    BUNDLE,
    MEMBERSHIP,
    PROV_NAMESPACE,
    RELATIONS,
    XSD_NAMESPACE,
    ElementType,
    Namespaces,
    ProvDocument,
    ProvName,
    Statement,
    path_shown,
)

DOCUMENT_BYTES_MAX: Final = 64 * 1_048_576
STATEMENTS_MAX: Final = 200_000
_ELEMENTS: Final = frozenset(ElementType)
_GROUPS: Final = _ELEMENTS | RELATIONS.keys()
_VALUE_KEYS: Final = frozenset({"$", "type", "lang"})
_NAME_TYPES: Final = frozenset({f"{PROV_NAMESPACE}QUALIFIED_NAME", f"{XSD_NAMESPACE}QName", f"{XSD_NAMESPACE}anyURI"})


def read_prov_json(data: bytes) -> ProvDocument:
    """Read one PROV-JSON document in UTF-8; a byte order mark before it is dropped.

    A name whose prefix is not declared is refused, but for a whole IRI (`scheme://...`, `urn:...`), which stands for
    itself. A bundle's names, and its own, are read with its prefixes over those of the document. A fraction is an
    `xsd:double`, as the format has it; whole numbers keep all their digits.

    Raises:
        InvalidInput: no JSON or no PROV-JSON (`MALFORMED_INPUT`), or a name that cannot be stored
            (`NAME_NOT_ENCODABLE`), with `line`, `column`, `path` (ids and foreign keys as `*`) and `problem`.
        Oversized: `DOCUMENT_BYTES_MAX`, `STATEMENTS_MAX` or the length of a name (`LIMIT_EXCEEDED`).
    """
    if len(data) > DOCUMENT_BYTES_MAX:
        raise Oversized(
            "the document is too large",
            code=ReasonCode.LIMIT_EXCEEDED,
            details={"limit": "DOCUMENT_BYTES_MAX", "max": DOCUMENT_BYTES_MAX},
        )
    return _Reader(read_json(data.removeprefix(BYTE_ORDER_MARK))).document()


@dataclass(frozen=True)
class _Place:
    """A document or bundle: its prefixes, its full name (empty for the document), and its keys without statements."""

    namespaces: Namespaces
    bundle: str
    not_groups: frozenset[str]


@dataclass(frozen=True)
class _Head:
    """What a statement stands under."""

    group: str
    name: ProvName
    label: str


class _Reader:
    """One pass over a document."""

    def __init__(self, text: JsonText) -> None:
        self._text = text
        self._elements: list[Statement] = []
        self._relations: list[Statement] = []
        self._empty_bundles: list[Statement] = []

    def document(self) -> ProvDocument:
        """The document's statements in the order of the text."""
        top = self._object(self._text.value, ())
        namespaces = self._namespaces(top, (), {})
        self._container(top, (), _Place(namespaces, "", frozenset({"prefix", "bundle"})))
        bundles: list[str] = []
        for label, container in self._object(top.get("bundle", {}), ("bundle",)).items():
            path = ("bundle", label)
            members = self._object(container, path)
            inner = self._namespaces(members, path, namespaces.prefixes)
            bundles.append(self._name(label, inner, path))
            said = len(self._elements) + len(self._relations)
            self._container(members, path, _Place(inner, bundles[-1], frozenset({"prefix"})))
            if said == len(self._elements) + len(self._relations):
                name = ProvName("", bundles[-1])
                prefixes = inner.used_by(label)
                self._empty_bundles.append(Statement(BUNDLE, name, label, {}, prefixes, {BUNDLE: (name,)}, path=path))
        canonical = json.dumps(top, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(canonical).hexdigest()
        return ProvDocument(
            elements=tuple(self._elements),
            relations=tuple(self._relations),
            bundles=tuple(bundles),
            empty_bundles=tuple(self._empty_bundles),
            digest=digest,
            text=self._text,
        )

    def _namespaces(self, container: Mapping[str, JsonValue], path: Path, outer: Mapping[str, str]) -> Namespaces:
        prefixes = dict(outer)
        for prefix, namespace in self._object(container.get("prefix", {}), (*path, "prefix")).items():
            if not isinstance(namespace, str) or not namespace:
                self._refuse((*path, "prefix", prefix), "a namespace is a text")
            if prefix == "prov" and namespace != PROV_NAMESPACE:
                self._refuse((*path, "prefix", prefix), "this prefix is PROV's own")
            prefixes[prefix] = namespace
        return Namespaces(prefixes)

    def _container(self, container: Mapping[str, JsonValue], path: Path, place: _Place) -> None:
        for group, members in container.items():
            if group in place.not_groups:
                continue
            if group not in _GROUPS:
                self._refuse((*path, group), "no word of PROV-JSON")
            for label, body in self._object(members, (*path, group)).items():
                name = ProvName(place.bundle, self._name(label, place.namespaces, (*path, group, label)))
                for attributes, at in self._bodies(body, (*path, group, label)):
                    statement = self._statement(_Head(group, name, label), attributes, at, place.namespaces)
                    (self._elements if group in _ELEMENTS else self._relations).append(statement)
        if len(self._elements) + len(self._relations) > STATEMENTS_MAX:
            raise Oversized(
                "too many statements",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "STATEMENTS_MAX", "max": STATEMENTS_MAX},
            )

    def _bodies(self, body: JsonValue, path: Path) -> Iterator[tuple[dict[str, JsonValue], Path]]:
        if isinstance(body, list):
            for index, item in enumerate(body):
                yield self._object(item, (*path, index)), (*path, index)
        else:
            yield self._object(body, path), path

    def _statement(
        self, head: _Head, attributes: dict[str, JsonValue], path: Path, namespaces: Namespaces
    ) -> Statement:
        named = RELATIONS[head.group].named_by if head.group in RELATIONS else frozenset[str]()
        ends: dict[str, tuple[ProvName, ...]] = {}
        others: set[str] = set()
        types: set[str] = set()
        is_exact = True
        for key, value in attributes.items():
            self._declared(key, namespaces, (*path, key))
            word = _prov_word(namespaces.expanded(key))
            if word in named:
                if word in ends:
                    self._refuse((*path, key), "named twice")
                texts = self._end_texts(value, (*path, key), head)
                ends[word] = tuple(
                    ProvName(head.name.bundle, self._name(text, namespaces, (*path, key))) for text in texts
                )
                is_exact &= [name.name for name in ends[word]] == [namespaces.expanded(text) for text in texts]
                continue
            self._value(value, namespaces, (*path, key))
            others.add(key)
            if word == "type":
                types |= {text for item in _items(value) if (text := _type_name(item, namespaces)) is not None}
        return Statement(
            type=head.group,
            name=head.name,
            label=head.label,
            attributes=attributes,
            prefixes=namespaces.used_by(head.label, attributes),
            ends=ends,
            other_attributes=frozenset(others),
            types=frozenset(types),
            path=path,
            is_exact=is_exact,
        )

    def _end_texts(self, value: JsonValue, path: Path, head: _Head) -> list[str]:
        """What an attribute that names something holds; several names for the members of a collection alone."""
        items = _items(value)
        if not items or (len(items) > 1 and head.group != MEMBERSHIP):
            self._refuse(path, "one name is wanted")
        texts: list[str] = []
        for item in items:
            text = item.get("$") if isinstance(item, dict) else item
            if not isinstance(text, str):
                self._refuse(path, "a name is a text")
            texts.append(text)
        return texts

    def _value(self, value: JsonValue, namespaces: Namespaces, path: Path) -> None:
        for item in _items(value):
            if isinstance(item, dict):
                if not isinstance(item.get("$"), str | int | float):
                    self._refuse(path, "a typed value has its text under $")
                if item.keys() - _VALUE_KEYS:
                    self._refuse(path, "a typed value has $, type and lang alone")
                if not all(isinstance(item[key], str) for key in item.keys() - {"$"}):
                    self._refuse(path, "type and lang are texts")
                self._declared(str(item.get("type", "prov:type")), namespaces, path)
            elif item is None or isinstance(item, list):
                self._refuse(path, "a value is a text, a number, true, false or a typed value")

    def _declared(self, label: str, namespaces: Namespaces, path: Path) -> None:
        if not namespaces.declares(label):
            self._refuse(path, "a prefix is not declared")

    def _name(self, label: str, namespaces: Namespaces, path: Path) -> str:
        self._declared(label, namespaces, path)
        try:
            return name_checked(namespaces.expanded(label))
        except Refused as error:
            line, column = self._text.position(path)
            kind = Oversized if isinstance(error, Oversized) else InvalidInput
            raise kind(
                error.message,
                code=error.code,
                details={**error.details, "line": line, "column": column, "path": path_shown(path)},
            ) from None

    def _object(self, value: JsonValue, path: Path) -> dict[str, JsonValue]:
        if not isinstance(value, dict):
            self._refuse(path, "an object is wanted")
        return value

    def _refuse(self, path: Path, problem: str) -> NoReturn:
        line, column = self._text.position(path)
        raise InvalidInput(
            f"no PROV-JSON: {problem}, line {line}, column {column}",
            code=ReasonCode.MALFORMED_INPUT,
            details={"line": line, "column": column, "path": path_shown(path), "problem": problem},
        )


def _prov_word(iri: str) -> str | None:
    return iri.removeprefix(PROV_NAMESPACE) if iri.startswith(PROV_NAMESPACE) else None


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


def _type_name(item: JsonValue, namespaces: Namespaces) -> str | None:
    """The full name that a `prov:type` gives; a plain text is no name."""
    if not isinstance(item, dict):
        return None
    text, kind = item.get("$"), item.get("type")
    if not isinstance(text, str) or not isinstance(kind, str) or namespaces.expanded(kind) not in _NAME_TYPES:
        return None
    return namespaces.expanded(text)
