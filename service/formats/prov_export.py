"""Exporting what was imported: the documents of one scope, as they were said, as one PROV-JSON document.

What was deleted since is said to be invalidated: by its opaque identity, with the deletion request and its time, and
with the bare edges that the deletion left. Nothing that it said or was called comes back: both went with the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from graph.access import Caller
from graph.database.database import Database
from graph.errors import Conflict
from graph.ids import IdentityKeys
from graph.lineage.exchange import Collection, Joint, Part, read_collection
from graph.records.lookup import known_among
from graph.vocabulary import DERIVATION_EDGES, ReasonCode, RecordState
from service.formats.prov_model import BUNDLE, DERIVATION, RELATIONS, ProvName
from service.formats.prov_names import Labels, relabelled
from service.formats.prov_plan import STATEMENT_KIND
from service.formats.prov_stored import StoredContent, prov_statements, stored_content
from service.formats.prov_write import UUID_NAMESPACE, Container, document_of

SOURCE: Final = "prov-json"
_ENTITY_KIND: Final = "prov_entity"
_GROUPS: Final = {
    **dict.fromkeys(DERIVATION_EDGES, DERIVATION),
    **{shape.edge: relation for relation, shape in RELATIONS.items() if shape.edge},
}


@dataclass(frozen=True)
class ProvExport:
    """A document that was written, and how whole it is.

    Attributes:
        document: PROV-JSON.
        records: how many records are in it.
        ended: how many are in it that a deletion ended.
        withheld: whether there is more that the caller may not see, or that is being deleted.
    """

    document: dict[str, JsonValue]
    records: int
    ended: int
    withheld: bool

    def as_json(self) -> dict[str, object]:
        """What the command line says of it."""
        return {"records": self.records, "ended": self.ended, "withheld": self.withheld}


def source_of(scope: str) -> str:
    """The `sourceId` of all records that were imported under a scope; a deletion by source finds them by it."""
    return f"{SOURCE}:{scope}" if scope else SOURCE


def export_prov_document(database: Database, keys: IdentityKeys, caller: Caller, *, scope: str) -> ProvExport:
    """Write everything that was imported under a scope and that the caller may see.

    Raises:
        Conflict: two documents of the scope use one blank name for two things, so that one document cannot say both, or
            records are going while they are read (`STATE_CONFLICT`).
        Oversized: the scope holds too much for one document (`LIMIT_EXCEEDED`).
    """
    source_key = keys.lookup(caller.tenant_id, "sourceId", source_of(scope))
    collection = read_collection(database, caller, source_key)
    hidden = _hidden_bundles(database, keys, caller, collection, scope)
    document = _Writer(collection, hidden).document()
    return ProvExport(document, len(collection.parts), len(collection.ended), collection.withheld)


def _hidden_bundles(
    database: Database, keys: IdentityKeys, caller: Caller, collection: Collection, scope: str
) -> dict[str, str]:
    """Bundles whose own record was deleted: their names, and the opaque ones under which they are written."""
    names = {stored_content(part.content).bundle for part in collection.parts} - {None}
    identities = {str(keys.identity(caller.tenant_id, str(name), scope=scope)): str(name) for name in names}
    return {
        identities[known.identity]: f"{UUID_NAMESPACE}{known.identity}"
        for known in known_among(database, identities).values()
        if known.is_tombstone or known.fenced or known.state == RecordState.INVALIDATED
    }


class _Writer:
    """Writes one collection."""

    def __init__(self, collection: Collection, hidden: dict[str, str]) -> None:
        self._collection = collection
        self._hidden = hidden
        self._contents = {part.identity: stored_content(part.content) for part in collection.parts}
        self._kinds = {part.identity: part.kind for part in collection.parts}
        self._top = Container(Labels())
        self._bundles: dict[str, Container] = {}
        self._names: dict[str, ProvName] = {}
        self._blank: set[ProvName] = set()

    def document(self) -> dict[str, JsonValue]:
        """The document; prefixes first, since they decide how names are written."""
        for part in self._collection.parts:
            self._place(part).labels.declare(self._contents[part.identity].prefix)
            if part.kind != STATEMENT_KIND:
                self._name(part)
        if self._collection.ended:
            self._top.use_own_prefixes()
        for part in self._collection.parts:
            self._say(part)
        self._join(self._collection.joints)
        for ended in self._collection.ended:
            self._top.add_ended(ended)
        return document_of(self._top, self._bundles)

    def _place(self, part: Part) -> Container:
        content = self._contents[part.identity]
        bundle = part.name if self._is_empty_bundle(content) else content.bundle
        return self._container(bundle or "")

    def _container(self, bundle: str) -> Container:
        if not bundle:
            return self._top
        shown = self._hidden.get(bundle, bundle)
        return self._bundles.setdefault(shown, Container(Labels(self._top.labels)))

    def _name(self, part: Part) -> None:
        name = ProvName(self._contents[part.identity].bundle or "", part.name)
        if name.is_blank and name in self._blank:
            raise Conflict(
                "two documents of this scope use one blank name for two things; import them under scopes of their own",
                code=ReasonCode.STATE_CONFLICT,
                details={"recordId": part.identity},
            )
        self._blank.add(name)
        self._names[part.identity] = name

    def _say(self, part: Part) -> None:
        if self._is_empty_bundle(self._contents[part.identity]):
            return
        place = self._place(part)
        for statement in prov_statements(part.content):
            label, body = relabelled(statement, place.labels)
            place.add(statement.type, label, body)

    def _is_empty_bundle(self, content: StoredContent) -> bool:
        return [statement.type for statement in content.statements] == [BUNDLE]

    def _join(self, joints: Iterable[Joint]) -> None:
        said = {
            (content.statements[0].type, child, parent)
            for content in self._contents.values()
            for child, parent in content.draws
        }
        for joint in joints:
            group = _GROUPS[joint.edge]
            ends = {joint.child, joint.parent}
            if (group, joint.child, joint.parent) in said or STATEMENT_KIND in {self._kinds.get(end) for end in ends}:
                continue
            if ends <= self._names.keys():
                self._join_named(joint, group)
            else:
                self._join_ended(joint)

    def _join_named(self, joint: Joint, group: str) -> None:
        child, parent = self._names[joint.child], self._names[joint.parent]
        place = self._container(child.bundle)
        shape = RELATIONS[group]
        body: dict[str, JsonValue] = {
            f"prov:{shape.child.attribute}": place.labels.label(child.name),
            f"prov:{shape.parent.attribute}": place.labels.label(parent.name),
        }
        place.add_unnamed(group, body)

    def _join_ended(self, joint: Joint) -> None:
        """An edge with an end that is no more: what kind of thing that was is gone, so an influence is all there is."""
        living = [end for end in (joint.child, joint.parent) if end in self._names]
        place = self._container(self._names[living[0]].bundle) if living else self._top
        kinds = {self._kinds[end] for end in living}
        derived = joint.edge in DERIVATION_EDGES and kinds <= {_ENTITY_KIND}
        group = DERIVATION if derived else "wasInfluencedBy"
        shape = RELATIONS[group]
        body: dict[str, JsonValue] = {
            f"prov:{shape.child.attribute}": self._label(place, joint.child),
            f"prov:{shape.parent.attribute}": self._label(place, joint.parent),
        }
        place.add_unnamed(group, body)

    def _label(self, place: Container, identity: str) -> str:
        return place.labels.label(self._names[identity].name) if identity in self._names else place.identity(identity)
