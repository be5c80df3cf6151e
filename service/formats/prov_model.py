"""What a PROV-JSON document says, as values: its words, its names and its statements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from graph.vocabulary import EdgeType
from service.formats.json_text import JsonText, Path

PROV_NAMESPACE: Final = "http://www.w3.org/ns/prov#"
XSD_NAMESPACE: Final = "http://www.w3.org/2001/XMLSchema#"
BLANK_PREFIX: Final = "_:"
BUNDLE: Final = "bundle"
DEFAULT: Final = "default"
_WHOLE_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|urn:")
_BUILT_IN: Final = {"prov": PROV_NAMESPACE, "xsd": XSD_NAMESPACE}


class ElementType(StrEnum):
    """The three things that PROV speaks of."""

    ENTITY = "entity"
    ACTIVITY = "activity"
    AGENT = "agent"


@dataclass(frozen=True)
class End:
    """One end of a relation: the attribute that names it, and what stands there by the rules of PROV."""

    attribute: str
    type: ElementType = ElementType.ENTITY


@dataclass(frozen=True)
class RelationShape:
    """A relation of PROV: its two ends, whom else it names, and the edge that it becomes; without one, a derivation.

    `events` are attributes that name statements: attribute → the relation that these belong to.
    """

    child: End
    parent: End
    edge: EdgeType | None = None
    others: tuple[End, ...] = ()
    events: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def named_by(self) -> frozenset[str]:
        """The attributes of PROV by which the relation names something."""
        return frozenset({*(end.attribute for end in (self.child, self.parent, *self.others)), *self.events})


_ACTIVITY: Final = ElementType.ACTIVITY
_AGENT: Final = ElementType.AGENT
_HAS_ACTIVITY: Final = End("activity", _ACTIVITY)
_EVENTS: Final = {"generation": "wasGeneratedBy", "usage": "used"}
RELATIONS: Final[Mapping[str, RelationShape]] = {
    "wasGeneratedBy": RelationShape(End("entity"), _HAS_ACTIVITY, EdgeType.PROV_GENERATED_BY),
    "used": RelationShape(_HAS_ACTIVITY, End("entity"), EdgeType.PROV_USED),
    "wasInformedBy": RelationShape(End("informed", _ACTIVITY), End("informant", _ACTIVITY), EdgeType.PROV_INFORMED_BY),
    "wasStartedBy": RelationShape(
        _HAS_ACTIVITY, End("trigger"), EdgeType.PROV_STARTED_BY, (End("starter", _ACTIVITY),)
    ),
    "wasEndedBy": RelationShape(_HAS_ACTIVITY, End("trigger"), EdgeType.PROV_ENDED_BY, (End("ender", _ACTIVITY),)),
    "wasInvalidatedBy": RelationShape(End("entity"), _HAS_ACTIVITY, EdgeType.PROV_INVALIDATED_BY),
    "wasDerivedFrom": RelationShape(End("generatedEntity"), End("usedEntity"), None, (_HAS_ACTIVITY,), _EVENTS),
    "wasAttributedTo": RelationShape(End("entity"), End("agent", _AGENT), EdgeType.PROV_ATTRIBUTED_TO),
    "wasAssociatedWith": RelationShape(
        _HAS_ACTIVITY, End("agent", _AGENT), EdgeType.PROV_ASSOCIATED_WITH, (End("plan"),)
    ),
    "actedOnBehalfOf": RelationShape(
        End("delegate", _AGENT), End("responsible", _AGENT), EdgeType.PROV_ACTED_ON_BEHALF_OF, (_HAS_ACTIVITY,)
    ),
    "wasInfluencedBy": RelationShape(End("influencee"), End("influencer"), EdgeType.PROV_INFLUENCED_BY),
    "specializationOf": RelationShape(End("specificEntity"), End("generalEntity"), EdgeType.PROV_SPECIALIZATION_OF),
    "alternateOf": RelationShape(End("alternate1"), End("alternate2"), EdgeType.PROV_ALTERNATE_OF),
    "hadMember": RelationShape(End("collection"), End("entity"), EdgeType.PROV_HAD_MEMBER),
    "mentionOf": RelationShape(End("specificEntity"), End("generalEntity"), EdgeType.PROV_MENTION_OF, (End("bundle"),)),
}
DERIVATION: Final = "wasDerivedFrom"
MEMBERSHIP: Final = "hadMember"
MENTION: Final = "mentionOf"
# Attributes of PROV that an answer about a fault may repeat; other keys of a document may be content.
PROV_ATTRIBUTES: Final = frozenset(
    {
        *("time", "startTime", "endTime", "type", "label", "role", "location", "value", "generation", "usage"),
        *(end.attribute for shape in RELATIONS.values() for end in (shape.child, shape.parent, *shape.others)),
    }
)


_SHOWN: Final = frozenset(
    {
        *ElementType,
        *RELATIONS,
        *("$", "type", "lang", "prefix", BUNDLE),
        *(f"prov:{name}" for name in PROV_ATTRIBUTES),
    }
)


def path_shown(path: Path) -> str:
    """A path without what may be content: words of the format and places in lists stay, every other key is `*`."""
    return ".".join(str(part) if isinstance(part, int) or part in _SHOWN else "*" for part in path)


@dataclass(frozen=True)
class Namespaces:
    """The prefixes in force in a document or in one of its bundles; `default` is the namespace of bare names."""

    prefixes: Mapping[str, str]

    def expanded(self, name: str) -> str:
        """The IRI of a name. A blank name, and one whose prefix is not declared, stands for itself."""
        prefix, colon, local = name.partition(":")
        if name.startswith(BLANK_PREFIX):
            return name
        if colon:
            namespace = self.namespace(prefix)
            return name if namespace is None else namespace + local
        default = self.prefixes.get(DEFAULT)
        return name if default is None else default + name

    def declares(self, name: str) -> bool:
        """Whether a name is bare, blank, a whole IRI, or has a prefix that is declared."""
        prefix, colon, _ = name.partition(":")
        if not colon or name.startswith(BLANK_PREFIX) or self.namespace(prefix) is not None:
            return True
        return _WHOLE_IRI.match(name) is not None

    def namespace(self, prefix: str) -> str | None:
        """The namespace of a prefix in front of a colon; the key of the default one is no prefix."""
        if prefix == DEFAULT:
            return None
        known = self.prefixes.get(prefix)
        return known if known is not None else _BUILT_IN.get(prefix)

    def used_by(self, *values: JsonValue) -> dict[str, JsonValue]:
        """The part of the declarations that texts in `values` may refer to."""
        used: dict[str, JsonValue] = {}
        for text in (text for value in values for text in _texts(value)):
            prefix, colon, _ = text.partition(":")
            key = prefix if colon else DEFAULT
            if key in self.prefixes:
                used[key] = self.prefixes[key]
        return used


def _texts(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, child in value.items() for text in (key, *_texts(child))]
    if isinstance(value, list):
        return [text for child in value for text in _texts(child)]
    return []


@dataclass(frozen=True)
class ProvName:
    """A name in its full form, and the bundle (by its full name) that it is said in; empty for the document itself."""

    bundle: str
    name: str

    @property
    def is_blank(self) -> bool:
        """Whether the name means something in its own document alone."""
        return self.name.startswith(BLANK_PREFIX) or self.bundle.startswith(BLANK_PREFIX)


@dataclass(frozen=True)
class Statement:
    """One statement as it stands in the document.

    `type` is the key that it stands under, `label` its id as written, `attributes` its body as written, `prefixes` the
    declarations that these refer to, and `ends` the full names behind the attributes that name something,
    `other_attributes` the keys of all others, `types` the full names of its `prov:type`, `path` where it stands.
    `is_exact` is whether the names in `ends` are spelled as in the document, and not only the same after normalisation.
    """

    type: str
    name: ProvName
    label: str
    attributes: Mapping[str, JsonValue]
    prefixes: Mapping[str, JsonValue]
    ends: Mapping[str, tuple[ProvName, ...]]
    other_attributes: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    path: Path = ()
    is_exact: bool = True

    def end(self, attribute: str) -> tuple[ProvName, ...]:
        """Whom the attribute names; several for the members of a collection alone."""
        return self.ends.get(attribute, ())

    def stored(self) -> dict[str, JsonValue]:
        """The form that a record keeps; `prov_statements` of `prov_json` reads it."""
        return {"type": self.type, "id": self.label, "attributes": dict(self.attributes)}

    @property
    def is_unnamed(self) -> bool:
        """Whether its id is a blank one, which PROV-JSON wants where a relation has none."""
        return self.name.name.startswith(BLANK_PREFIX)


@dataclass(frozen=True)
class ProvDocument:
    """A document that was read whole.

    `bundles` are full names; `empty_bundles` state those in which nothing is said. `digest` is the SHA-256 of its
    canonical JSON, in hex; `text` tells positions.
    """

    elements: tuple[Statement, ...]
    relations: tuple[Statement, ...]
    bundles: tuple[str, ...]
    empty_bundles: tuple[Statement, ...]
    digest: str
    text: JsonText = field(compare=False, repr=False)

    def place(self, path: Path) -> dict[str, object]:
        """Where something stands, for an answer about it: line, column and path, without what may be content."""
        line, column = self.text.position(path)
        return {"line": line, "column": column, "path": path_shown(path)}
