"""Importing PROV-JSON: the lineage that others wrote down becomes records and edges that a deletion can follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from graph.access import Caller
from graph.envelope import NOT_APPLICABLE, OperationInput, RecordInput, SourceInput
from graph.lineage.exchange import part_from_row, read_parts
from graph.records.model import RegisterResult, RegisterStatus
from graph.records.register import Registrar
from graph.records.relate import Relation, relate_all
from graph.vocabulary import DerivationType, OperationType, ReasonCode, RecordClass, ReviewState, Role, Trust
from service.formats.prov_export import source_of
from service.formats.prov_model import ProvDocument
from service.formats.prov_order import late_events
from service.formats.prov_plan import STATEMENT_KIND, Namer, PlannedRecord, PlannedRelation, plan_of
from service.formats.prov_read import read_prov_json
from service.formats.prov_stored import StoredStatement, prov_statements, stored_content
from service.formats.report import ImportReport

__all__ = [
    "ProvDocument",
    "ProvEnvelope",
    "ProvImportReport",
    "StoredStatement",
    "import_prov_document",
    "prov_statements",
    "read_prov_json",
]

REFUSED_MAX: Final = 1_000
_BATCH_ROWS: Final = 500


class ProvEnvelope(BaseModel):
    """What the importer states of every record of a document, since PROV says nothing of it.

    A repeated import has to state the same, `observedAt` too, or the records are others and are refused.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)

    owner_id: str
    observed_at: str
    permissions: Annotated[tuple[str, ...], Field(min_length=1)]
    purpose: Annotated[tuple[str, ...], Field(min_length=1)]
    producer_id: str
    producer_version: str
    source_version: str = NOT_APPLICABLE
    principal_id: str = NOT_APPLICABLE
    retention_class: str = "imported_lineage"
    trust: Trust = Trust.UNTRUSTED_TEXT
    review_state: ReviewState = ReviewState.UNREVIEWED
    expires_at: str = NOT_APPLICABLE


@dataclass
class ProvImportReport:
    """What became of a document: its records, and the edges that are no derivations.

    `refused` holds the first `REFUSED_MAX` of what was refused, content-free; the counts are whole. `late` are the places
    of the document at which something is made of, or done with, what had ended before (see `late_events`).
    """

    records: ImportReport = field(default_factory=ImportReport)
    relations_joined: int = 0
    relations_refused: int = 0
    refused: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    late: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    def refuse(self, code: ReasonCode | None, details: Mapping[str, object], **what: str) -> None:
        """Keep one refusal."""
        if len(self.refused) < REFUSED_MAX:
            self.refused.append({**details, **what, "code": code.value if code else None})

    def as_json(self) -> dict[str, object]:
        """The form that the command line writes."""
        return {
            "records": self.records.as_json(),
            "relationsJoined": self.relations_joined,
            "relationsRefused": self.relations_refused,
            "refused": list(self.refused),
            "late": list(self.late),
        }


def import_prov_document(
    document: ProvDocument, registrar: Registrar, caller: Caller, *, scope: str, defaults: ProvEnvelope
) -> ProvImportReport:
    """Register a document: elements and statements as records, derivations and the other relations as edges.

    Documents that share a scope speak of the same things: an id of one is the record that another made. What one document
    only names a later one may declare; derivations of it come with its first mention alone. What differs otherwise from
    the record that is there is refused (`RECORD_IMMUTABLE`), what is deleted stays out (`TOMBSTONE_BLOCKED`) with all
    that hangs on it, and the rest is imported. A repeat of the same document changes nothing.

    Args:
        document: what was read.
        registrar: registers.
        caller: who imports; needs the role producer.
        scope: keeps the names of this collection of documents apart from others, at most 256 characters.
        defaults: the envelope of every record.

    Raises:
        NotAuthorized: the caller is no producer.
        Conflict: the derivations go in a circle (`DERIVATION_CYCLE`, record ids and place); nothing was written.
        Oversized: a named limit (`LIMIT_EXCEEDED`); nothing was written.
        Unavailable: the database does not answer; repeating the import goes on where it stopped.
    """
    caller.demand(Role.PRODUCER)
    namer = Namer(registrar.keys, caller.tenant_id, scope, document.digest)
    plan = plan_of(document, namer, registrar.policy)
    report = ProvImportReport(late=[event.as_json() for event in late_events(document)])
    source = source_of(scope)
    declared: list[PlannedRecord] = []
    for batch in _batches(plan.records):
        verdicts = registrar.register([_record(one, caller.tenant_id, source, defaults) for one in batch], caller)
        differing = [one for one, verdict in zip(batch, verdicts, strict=True) if _may_declare(one, verdict)]
        fills = _only_named(differing, registrar, namer, caller)
        declared.extend(fills.values())
        for planned, verdict in zip(batch, verdicts, strict=True):
            _count(planned, verdict, report, is_there=planned.is_implicit or planned.identity in fills)
    for batch in _batches(tuple(declared)):
        verdicts = registrar.register([_record(one, caller.tenant_id, source, defaults) for one in batch], caller)
        for planned, verdict in zip(batch, verdicts, strict=True):
            _count(planned, verdict, report, is_there=False)
    for start in range(0, len(plan.relations), _BATCH_ROWS):
        _join(plan.relations[start : start + _BATCH_ROWS], registrar, caller, report)
    return report


def _batches(records: tuple[PlannedRecord, ...]) -> Iterator[tuple[PlannedRecord, ...]]:
    return (records[start : start + _BATCH_ROWS] for start in range(0, len(records), _BATCH_ROWS))


def _may_declare(planned: PlannedRecord, verdict: RegisterResult) -> bool:
    """Whether something else stands there that this may complete: it brings no derivation, which only comes first."""
    is_element = bool(planned.statements) and planned.kind != STATEMENT_KIND
    return verdict.code is ReasonCode.RECORD_IMMUTABLE and is_element and not planned.sources


def _only_named(
    differing: Sequence[PlannedRecord], registrar: Registrar, namer: Namer, caller: Caller
) -> dict[str, PlannedRecord]:
    """Of records that stand there already, those that are only named so far: identity → what now declares them."""
    if not differing:
        return {}
    rows = read_parts(registrar.database, caller, [planned.identity for planned in differing])
    kinds = {part.identity: part.kind for part in map(part_from_row, rows) if stored_content(part.content).implicit}
    return {
        planned.identity: planned.declaration(namer)
        for planned in differing
        if kinds.get(planned.identity) == planned.kind
    }


def _record(planned: PlannedRecord, tenant_id: str, source: str, defaults: ProvEnvelope) -> RecordInput:
    derived = bool(planned.sources)
    return RecordInput(
        name=planned.name,
        scope=planned.scope,
        record_class=RecordClass.ARTIFACT,
        tenant_id=tenant_id,
        kind=planned.kind,
        task_id=NOT_APPLICABLE,
        run_id=NOT_APPLICABLE,
        freshness_rule_id=NOT_APPLICABLE,
        supersedes=NOT_APPLICABLE,
        owner_id=defaults.owner_id,
        principal_id=defaults.principal_id,
        source_id=source,
        source_version=defaults.source_version,
        observed_at=defaults.observed_at,
        expires_at=defaults.expires_at,
        permissions=list(defaults.permissions),
        purpose=list(defaults.purpose),
        retention_class=defaults.retention_class,
        producer_id=defaults.producer_id,
        producer_version=defaults.producer_version,
        review_state=defaults.review_state,
        derivation_type=DerivationType.COMPUTED if derived else DerivationType.ASSERTED,
        inference_method=planned.method if derived else NOT_APPLICABLE,
        trust=Trust.UNREVIEWED_DERIVED if derived else defaults.trust,
        sources=[SourceInput(record_id=identity, edge=edge) for identity, edge in planned.sources],
        operation=OperationInput(type=OperationType.IMPORT),
        content=planned.content(),
    )


def _count(planned: PlannedRecord, verdict: RegisterResult, report: ProvImportReport, *, is_there: bool) -> None:
    if is_there and verdict.code is ReasonCode.RECORD_IMMUTABLE:
        # Declared in one document and only named in another: both speak of the record that is there.
        report.records.add(RegisterStatus.UNCHANGED, verdict.identity, None, {})
        return
    report.records.add(verdict.status, verdict.identity or None, verdict.code, verdict.details)
    if verdict.status is RegisterStatus.REFUSED:
        report.refuse(verdict.code, verdict.details, recordId=planned.identity, kind=planned.kind)


def _join(planned: Sequence[PlannedRelation], registrar: Registrar, caller: Caller, report: ProvImportReport) -> None:
    relations = [Relation(relation.child, relation.edge, relation.parent) for relation in planned]
    for relation, refusal in zip(
        relations, relate_all(registrar.database, registrar.policy, caller, relations), strict=True
    ):
        if refusal is None:
            report.relations_joined += 1
            continue
        report.relations_refused += 1
        ends = {"childId": relation.identity, "parentId": relation.target}
        report.refuse(refusal.code, refusal.details, edge=relation.edge.value, **ends)
