"""What a PROV document becomes in the graph, decided before anything is written.

Every element is a record. A derivation is a derivation edge, which comes only with the registration of the derivative;
so the records are ordered, sources first. Every other relation is an edge between records that exist. What an edge
cannot say (an id, attributes, a third name, a missing end) stands in a record of the statement, projected from all
that the statement names, so that it goes with any of them.
"""

from __future__ import annotations

import graphlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from graph.envelope import CONTENT_BYTES_MAX, SOURCES_MAX
from graph.errors import Conflict, Oversized
from graph.ids import IdentityKeys
from graph.policy.model import Policy
from graph.vocabulary import EdgeType, ReasonCode
from service.formats.json_text import Path
from service.formats.prov_model import (
    BUNDLE,
    DERIVATION,
    MENTION,
    PROV_NAMESPACE,
    RELATIONS,
    ElementType,
    End,
    ProvDocument,
    ProvName,
    Statement,
)

SCOPE_CHARACTERS_MAX: Final = 256
_PRIMARY_SOURCE: Final = f"{PROV_NAMESPACE}PrimarySource"
STATEMENT_KIND: Final = "prov_statement"


class Namer:
    """Under which name and scope each thing of one document is registered, and the identity that this gives.

    The name is the full one of the document. Names of a bundle and blank names have scopes of their own, made by keyed
    hashes, since the same name means another description in another bundle and another thing in another document.
    """

    def __init__(self, keys: IdentityKeys, tenant_id: str, scope: str, digest: str) -> None:
        if len(scope) > SCOPE_CHARACTERS_MAX:
            raise Oversized(
                "the scope is too long",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "SCOPE_CHARACTERS_MAX", "max": SCOPE_CHARACTERS_MAX},
            )
        self._keys = keys
        self._tenant_id = tenant_id
        self._scope = scope
        self._document_scope = f"{scope}/document/{keys.lookup(tenant_id, 'document', digest)}"

    def scope(self, bundle: str, *, of_document: bool) -> str:
        """The scope of the names in a bundle; `of_document` where they mean nothing outside the document."""
        outer = self._document_scope if of_document else self._scope
        return f"{outer}/bundle/{self._keys.lookup(self._tenant_id, 'bundle', bundle)}" if bundle else outer

    def element(self, name: ProvName) -> tuple[str, str]:
        """Name and scope of an element."""
        return name.name, self.scope(name.bundle, of_document=name.is_blank)

    def statement(self, statement: Statement) -> tuple[str, str]:
        """Name and scope of a statement; one without an id of its own is known by what it says."""
        if not statement.is_unnamed:
            name, scope = self.element(statement.name)
            return name, f"{scope}/{statement.type}"
        said = json.dumps([statement.stored(), dict(statement.prefixes)], sort_keys=True, separators=(",", ":"))
        bundle = statement.name.bundle
        local = any(name.is_blank for names in statement.ends.values() for name in names)
        scope = self.scope(bundle, of_document=local or ProvName("", bundle).is_blank)
        return hashlib.sha256(said.encode()).hexdigest(), f"{scope}/{statement.type}"

    def identity(self, name: str, scope: str) -> str:
        """The identity that a name in a scope gives."""
        return self._keys.identity(self._tenant_id, name, scope=scope)


@dataclass
class PlannedRecord:
    """A record to come: what it says, what it is derived from and where that is said, and where it is first spoken of.

    `draws` are the ends, child and parent, of the edges that a statement says as well: whoever writes the document again
    leaves them to the statement.
    """

    identity: str
    name: str
    scope: str
    kind: str
    bundle: str
    statements: list[Statement]
    method: str
    path: Path
    sources: dict[tuple[str, EdgeType], Path] = field(default_factory=dict[tuple[str, EdgeType], Path])
    draws: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])

    @property
    def is_implicit(self) -> bool:
        """Whether the document names it without declaring it."""
        return not self.statements

    def content(self) -> JsonValue:
        """All that the document says of it, as it says it; `prov_statements` of `prov_json` reads it."""
        content: dict[str, JsonValue] = {"statements": [statement.stored() for statement in self.statements]}
        content["prefix"] = {key: iri for statement in self.statements for key, iri in statement.prefixes.items()}
        if self.bundle:
            content["bundle"] = self.bundle
        if self.draws:
            content["draws"] = [[child, parent] for child, parent in self.draws]
        if self.is_implicit:
            content["implicit"] = True
        return content

    def declaration(self, namer: Namer) -> PlannedRecord:
        """What is said of something that was only named before, as a record of its own that goes with it."""
        scope = f"{self.scope}/declared"
        return PlannedRecord(
            identity=namer.identity(self.name, scope),
            name=self.name,
            scope=scope,
            kind=STATEMENT_KIND,
            bundle=self.bundle,
            statements=self.statements,
            method="prov:declared",
            path=self.path,
            sources={(self.identity, EdgeType.PROJECTED_FROM): self.path},
        )


@dataclass(frozen=True)
class PlannedRelation:
    """An edge to come, between two records of the plan."""

    child: str
    edge: EdgeType
    parent: str


@dataclass(frozen=True)
class ProvPlan:
    """What will be written: the records, each after all that it is derived from, then the relations."""

    records: tuple[PlannedRecord, ...]
    relations: tuple[PlannedRelation, ...]


def plan_of(document: ProvDocument, namer: Namer, policy: Policy) -> ProvPlan:
    """Decide what a document becomes.

    Raises:
        Conflict: its derivations go in a circle (`DERIVATION_CYCLE`); `cycle` holds the record ids along it.
        Oversized: something is derived from more than `SOURCES_MAX` others, or more is said of it than a record holds
            (`LIMIT_EXCEEDED`). Both say where.
    """
    planner = _Planner(document, namer, policy)
    records = {record.identity: record for record in planner.records()}
    for record in records.values():
        _size_checked(record, document)
    return ProvPlan(tuple(_sources_first(records, document)), planner.relations())


def _size_checked(record: PlannedRecord, document: ProvDocument) -> None:
    size = len(json.dumps(record.content(), separators=(",", ":"), ensure_ascii=False).encode())
    for limit, most, found in (
        ("SOURCES_MAX", SOURCES_MAX, len(record.sources)),
        ("CONTENT_BYTES_MAX", CONTENT_BYTES_MAX, size),
    ):
        if found > most:
            raise Oversized(
                "more is said of one thing than a record can hold",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": limit, "max": most, "recordId": record.identity, **document.place(record.path)},
            )


def _sources_first(records: Mapping[str, PlannedRecord], document: ProvDocument) -> Iterator[PlannedRecord]:
    sorter = graphlib.TopologicalSorter[str](
        {record.identity: {identity for identity, _ in record.sources} for record in records.values()}
    )
    try:
        for identity in sorter.static_order():
            yield records[identity]
    except graphlib.CycleError as error:
        cycle: list[str] = error.args[1]
        # Each one on the cycle is a source of the next.
        path = next(path for (source, _), path in records[cycle[1]].sources.items() if source == cycle[0])
        raise Conflict(
            "derivation has no cycles",
            code=ReasonCode.DERIVATION_CYCLE,
            details={"cycle": cycle, **document.place(path)},
        ) from None


class _Planner:
    """Sorts the statements of one document into records and edges."""

    def __init__(self, document: ProvDocument, namer: Namer, policy: Policy) -> None:
        self._document = document
        self._namer = namer
        self._policy = policy
        self._elements: dict[ProvName, PlannedRecord] = {}
        self._statements: dict[tuple[str, str], PlannedRecord] = {}
        self._by_label: dict[tuple[str, ProvName], list[Statement]] = {}
        self._edges: dict[PlannedRelation, None] = {}
        self._referred = {
            (relation, name)
            for statement in document.relations
            for attribute, relation in RELATIONS[statement.type].events.items()
            for name in statement.end(attribute)
        }

    def records(self) -> Iterator[PlannedRecord]:
        """All records, in the order of the document: what is declared, what is only named, the statements."""
        self._declare_elements()
        for statement in self._document.relations:
            self._name_ends(statement)
            self._by_label.setdefault((statement.type, statement.name), []).append(statement)
        for statement in self._kept():
            record = self._record_of_statement(statement)
            record.statements.append(statement)
            record.draws.update(dict.fromkeys(self._pairs(statement)))
            self._project(statement)
        for statement in self._document.empty_bundles:
            record = self._record_of_statement(statement)
            record.statements.append(statement)
            bundle = self._elements[statement.name]
            record.sources[bundle.identity, EdgeType.PROJECTED_FROM] = statement.path
        yield from self._elements.values()
        yield from self._statements.values()

    def _kept(self) -> list[Statement]:
        """Draw all edges; answers the statements that say more than theirs, or what such a one says in other words.

        An edge is drawn once, so a plain statement beside a fuller one of the same two ends would be lost in it.
        """
        full = {id(statement) for statement in self._document.relations if self._draw(statement)}
        drawn = {
            (statement.type, pair)
            for statement in self._document.relations
            if id(statement) in full
            for pair in self._pairs(statement)
        }
        return [
            statement
            for statement in self._document.relations
            if id(statement) in full or any((statement.type, pair) in drawn for pair in self._pairs(statement))
        ]

    def relations(self) -> tuple[PlannedRelation, ...]:
        """The edges that are no derivations; complete after `records`."""
        return tuple(self._edges)

    def _declare_elements(self) -> None:
        declared: dict[ProvName, list[Statement]] = {}
        for statement in self._document.elements:
            declared.setdefault(statement.name, []).append(statement)
        for name, statements in declared.items():
            types = {ElementType(statement.type) for statement in statements}
            self._element(name, types, statements[0].path).statements.extend(statements)
        for bundle in self._document.bundles:
            self._element(ProvName("", bundle), {ElementType.ENTITY}, (BUNDLE,))

    def _element(self, name: ProvName, types: set[ElementType], path: Path) -> PlannedRecord:
        """The record of a name; its kind follows from what it is when it is first met."""
        if name not in self._elements:
            plain, scope = self._namer.element(name)
            self._elements[name] = PlannedRecord(
                identity=self._namer.identity(plain, scope),
                name=plain,
                scope=scope,
                kind=_kind_of(types),
                bundle=name.bundle,
                statements=[],
                method=f"prov:{DERIVATION}",
                path=path,
            )
        return self._elements[name]

    def _ends(self, statement: Statement, end: End) -> tuple[ProvName, ...]:
        names = statement.end(end.attribute)
        if statement.type == MENTION and end == RELATIONS[MENTION].parent:
            # What a mention speaks of is described in the bundle that it names.
            bundles = [name.name for name in statement.end("bundle") if name.name in self._document.bundles]
            return tuple(ProvName(bundle, name.name) for bundle in bundles for name in names) or names
        if statement.type == MENTION and end.attribute == "bundle":
            return tuple(ProvName("", name.name) for name in names)
        return names

    def _all_ends(self, statement: Statement) -> Iterator[tuple[End, ProvName]]:
        shape = RELATIONS[statement.type]
        for end in (shape.child, shape.parent, *shape.others):
            for name in self._ends(statement, end):
                yield end, name

    def _name_ends(self, statement: Statement) -> None:
        for end, name in self._all_ends(statement):
            self._element(name, {end.type}, statement.path)

    def _draw(self, statement: Statement) -> bool:
        """Draw the edges of a statement; answers whether it says more than they do."""
        shape = RELATIONS[statement.type]
        drawn = [
            self._draw_one(statement, self._elements[child], self._elements[parent])
            for child in self._ends(statement, shape.child)
            for parent in self._ends(statement, shape.parent)
        ]
        more = (
            bool(statement.other_attributes)
            or not statement.is_exact
            or not statement.ends.keys()
            <= {
                shape.child.attribute,
                shape.parent.attribute,
            }
        )
        referred = (statement.type, statement.name) in self._referred
        return more or referred or not statement.is_unnamed or not drawn or not all(drawn)

    def _pairs(self, statement: Statement) -> list[tuple[str, str]]:
        """The identities of the ends of a statement's edges, drawn or not."""
        shape = RELATIONS[statement.type]
        return [
            (self._elements[child].identity, self._elements[parent].identity)
            for child in self._ends(statement, shape.child)
            for parent in self._ends(statement, shape.parent)
        ]

    def _draw_one(self, statement: Statement, child: PlannedRecord, parent: PlannedRecord) -> bool:
        edge = RELATIONS[statement.type].edge
        if edge is None:
            observed = _PRIMARY_SOURCE in statement.types and self._allows(EdgeType.OBSERVED_FROM, child, parent)
            edge = EdgeType.OBSERVED_FROM if observed else EdgeType.PROJECTED_FROM
            child.sources[parent.identity, edge] = statement.path
            return True
        if child is not parent and self._allows(edge, child, parent):
            self._edges[PlannedRelation(child.identity, edge, parent.identity)] = None
            return True
        return False

    def _allows(self, edge: EdgeType, child: PlannedRecord, parent: PlannedRecord) -> bool:
        return self._policy.edge(edge).allows(child.kind, parent.kind)

    def _record_of_statement(self, statement: Statement) -> PlannedRecord:
        name, scope = self._namer.statement(statement)
        if (name, scope) not in self._statements:
            self._statements[name, scope] = PlannedRecord(
                identity=self._namer.identity(name, scope),
                name=name,
                scope=scope,
                kind=STATEMENT_KIND,
                bundle=statement.name.bundle,
                statements=[],
                method=f"prov:{statement.type}",
                path=statement.path,
            )
        return self._statements[name, scope]

    def _project(self, statement: Statement) -> None:
        record = self._record_of_statement(statement)
        sources = [self._elements[name] for _, name in self._all_ends(statement)]
        for attribute, relation in RELATIONS[statement.type].events.items():
            for name in statement.end(attribute):
                events = self._by_label.get((relation, name), ())
                sources.extend(self._record_of_statement(event) for event in events)
        for source in sources:
            record.sources[source.identity, EdgeType.PROJECTED_FROM] = statement.path


def _kind_of(types: set[ElementType]) -> str:
    """One kind for what may be declared as several things: an agent may be any of them."""
    first = ElementType.AGENT if ElementType.AGENT in types else min(types)
    return {
        ElementType.ENTITY: "prov_entity",
        ElementType.ACTIVITY: "prov_activity",
        ElementType.AGENT: "prov_agent",
    }[first]
