"""What must hold between the rows of a bundle. Pure: a draft in, faults out, each with its file and cell.

A draft holds the rows that are well-formed by themselves, and the names of all rows, so that one broken row does not
make every mention of it a fault as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from graph.policy.model import (
    ANY,
    BundleHeader,
    ClassPolicy,
    Duty,
    EdgePolicy,
    EligibilityRule,
    ExceptionType,
    Grant,
    KindPolicy,
    Owner,
    OwnerFunction,
    RetentionClass,
    StorePolicy,
)
from graph.vocabulary import (
    CONTROL_EDGES,
    DERIVATION_EDGES,
    EdgeGroup,
    EdgeType,
    LifecycleEvent,
    MemoryPolicyDimension,
    RecordClass,
    StoreKind,
)

BUNDLE: Final = "bundle.yaml"
OWNERS: Final = "owners.yaml"
CLASSES: Final = "classes.yaml"
KINDS: Final = "kinds.yaml"
EDGES: Final = "edges.yaml"
RETENTION: Final = "retention.yaml"
EXCEPTIONS: Final = "exceptions.yaml"
STORES: Final = "stores.yaml"
ELIGIBILITY: Final = "eligibility.yaml"

# What a caller states of a record of any class; each class demands each of them or lets it be `not_applicable`.
ENVELOPE_FIELDS: Final = frozenset(
    {
        *("class", "kind", "tenantId", "principalId", "taskId", "runId", "ownerId", "producerId", "producerVersion"),
        *("sourceId", "sourceVersion", "observedAt", "derivationType", "inferenceMethod", "supersedes"),
        *("trust", "reviewState", "expiresAt", "freshnessRuleId", "permissions", "purpose", "retentionClass"),
    }
)
# What only some classes demand (CLS-18).
CLASS_FIELDS: Final = frozenset({"stateVersion", "assemblerVersion", "confirmedAt", "taskFamily", "confidence"})

# Retention, deletion and their exceptions are decided by these and by nobody else (OWN-04, EXC-07, DEL-20).
_LIFECYCLE_OWNERS: Final = frozenset({OwnerFunction.PRIVACY, OwnerFunction.LEGAL})
# Copies in these stores can come back after a deletion, so how long they are kept must be known (TMB-05).
_RETURNING_STORES: Final = frozenset({StoreKind.BACKUP, StoreKind.EXPORTED_REVIEW_PACKET})


@dataclass(frozen=True)
class PolicyFault:
    """One thing that stops the load."""

    file: str
    cell: str
    what: str

    def __str__(self) -> str:
        """`kinds.yaml: summary.deletion.supported: blank`."""
        return f"{self.file}: {self.cell}: {self.what}"


@dataclass(frozen=True)
class Draft:
    """The well-formed rows of a bundle; `declared` has the names of all rows by file, well-formed or not."""

    declared: Mapping[str, frozenset[str]]
    header: BundleHeader | None
    owners: Mapping[str, Owner]
    classes: Mapping[str, ClassPolicy]
    kinds: Mapping[str, KindPolicy]
    edges: Mapping[str, EdgePolicy]
    retention_classes: Mapping[str, RetentionClass]
    exception_types: Mapping[str, ExceptionType]
    stores: Mapping[str, StorePolicy]
    eligibility_rules: Mapping[str, EligibilityRule]
    grants: Mapping[str, Grant]


def draft_faults(draft: Draft) -> Iterator[PolicyFault]:
    """Everything that is wrong between the rows."""
    yield from _owner_faults(draft)
    yield from _class_faults(draft)
    yield from _kind_faults(draft)
    yield from _edge_faults(draft)
    yield from _retention_faults(draft)
    yield from _exception_faults(draft)
    yield from _store_faults(draft)
    yield from _eligibility_faults(draft)


def _owner_cells(draft: Draft) -> Iterator[tuple[str, str, str, bool]]:
    """File, cell and owner of every cell that names one, and whether it takes a privacy or legal owner."""
    if header := draft.header:
        yield BUNDLE, "ownerId", header.owner_id, False
        yield BUNDLE, "tombstoneLifetime.ownerId", header.tombstone_lifetime.owner_id, True
        for section, rows in (("purposes", header.purposes), ("sharedSourceScopes", header.shared_source_scopes)):
            for name, row in rows.items():
                yield BUNDLE, f"{section}.{name}.ownerId", row.owner_id, False
    for file, rows, legal in (
        (CLASSES, draft.classes, False),
        (KINDS, draft.kinds, False),
        (RETENTION, draft.retention_classes, True),
        (EXCEPTIONS, draft.exception_types, True),
        (STORES, draft.stores, False),
    ):
        for name, row in rows.items():
            yield file, f"{name}.ownerId", row.owner_id, legal
    for section, rows in (("rules", draft.eligibility_rules), ("grants", draft.grants)):
        for name, row in rows.items():
            yield ELIGIBILITY, f"{section}.{name}.ownerId", row.owner_id, True


def _owner_faults(draft: Draft) -> Iterator[PolicyFault]:
    for file, cell, owner_id, legal in _owner_cells(draft):
        if owner_id not in draft.declared[OWNERS]:
            yield PolicyFault(file, cell, f"unknown owner '{owner_id}'")
        elif legal and owner_id in draft.owners and draft.owners[owner_id].function not in _LIFECYCLE_OWNERS:
            function = draft.owners[owner_id].function
            yield PolicyFault(file, cell, f"'{owner_id}' is of function {function}; privacy or legal decides this")


def _class_faults(draft: Draft) -> Iterator[PolicyFault]:
    for missing in _absent(RecordClass, draft.declared[CLASSES]):
        yield PolicyFault(CLASSES, missing, "missing")
    for name, row in draft.classes.items():
        for missing in _absent(MemoryPolicyDimension, row.treatment):
            yield PolicyFault(CLASSES, f"{name}.treatment.{missing}", "missing")
        for missing in sorted(ENVELOPE_FIELDS - row.required - row.may_be_not_applicable):
            yield PolicyFault(CLASSES, f"{name}.required", f"says nothing of '{missing}'")
        for both in sorted(row.required & row.may_be_not_applicable):
            yield PolicyFault(CLASSES, f"{name}.mayBeNotApplicable", f"'{both}' is required as well")
        for cell, fields in (("required", row.required), ("mayBeNotApplicable", row.may_be_not_applicable)):
            for unknown in sorted(fields - ENVELOPE_FIELDS - CLASS_FIELDS):
                yield PolicyFault(CLASSES, f"{name}.{cell}", f"unknown field '{unknown}'")
        for cell, what in row.lifecycle.faults():
            yield PolicyFault(CLASSES, f"{name}.lifecycle.{cell}", what)


def _kind_faults(draft: Draft) -> Iterator[PolicyFault]:
    derived = {kind for edge in draft.edges.values() if edge.group is EdgeGroup.DERIVATION for kind in edge.child_kinds}
    edges_are_whole = frozenset(draft.edges) == draft.declared[EDGES]
    for name, row in draft.kinds.items():
        if row.retention_class not in draft.declared[RETENTION]:
            yield PolicyFault(KINDS, f"{name}.retentionClass", f"unknown retention class '{row.retention_class}'")
        for missing in _absent(LifecycleEvent, row.lifecycle):
            yield PolicyFault(KINDS, f"{name}.lifecycle.{missing}", "missing")
        if edges_are_whole and not row.stands_alone and name not in derived:
            yield PolicyFault(KINDS, f"{name}.standsAlone", "unreachable: no derivation edge names it as a child")


def _edge_faults(draft: Draft) -> Iterator[PolicyFault]:
    for missing in _absent(EdgeType, draft.declared[EDGES]):
        yield PolicyFault(EDGES, missing, "missing")
    for name, row in draft.edges.items():
        group = _group_of(row.id)
        if row.group is not group:
            yield PolicyFault(EDGES, f"{name}.group", f"is of group {group}")
            continue
        yield from _end_faults(name, row, draft.declared[KINDS])
        if group is EdgeGroup.DERIVATION and not row.follow.deletion:
            yield PolicyFault(EDGES, f"{name}.follow.deletion", "a deletion follows every derivation")
        if group is EdgeGroup.CONTROL:
            for trigger, followed in row.follow.model_dump(by_alias=True).items():
                if followed:
                    yield PolicyFault(EDGES, f"{name}.follow.{trigger}", "no walk follows a control edge")
        if group is not EdgeGroup.DERIVATION and row.crosses_tenants:
            yield PolicyFault(EDGES, f"{name}.crossesTenants", "only derivation from a shared source crosses tenants")


def _end_faults(name: str, row: EdgePolicy, kinds: Collection[str]) -> Iterator[PolicyFault]:
    is_control = row.group is EdgeGroup.CONTROL
    for cell, ends, wanted in (
        ("childKinds", row.child_kinds, not is_control),
        ("parentKinds", row.parent_kinds, not is_control),
        ("childLabels", row.child_labels, is_control),
        ("parentLabels", row.parent_labels, is_control),
    ):
        if wanted and not ends:
            yield PolicyFault(EDGES, f"{name}.{cell}", "missing")
        if ends and not wanted:
            other = "labels" if is_control else "kinds"
            yield PolicyFault(EDGES, f"{name}.{cell}", f"the ends of this edge are {other}")
    yield from _unknown_kinds(EDGES, f"{name}.childKinds", row.child_kinds, kinds)
    yield from _unknown_kinds(EDGES, f"{name}.parentKinds", row.parent_kinds, kinds)


def _retention_faults(draft: Draft) -> Iterator[PolicyFault]:
    for name, row in draft.retention_classes.items():
        if (row.days is None) == (row.event is None):
            yield PolicyFault(RETENTION, name, "needs either days or event")


def _exception_faults(draft: Draft) -> Iterator[PolicyFault]:
    purposes = draft.header.purposes.keys() if draft.header else None
    for name, row in draft.exception_types.items():
        for purpose in row.serves_purposes:
            if purposes is not None and purpose not in purposes:
                yield PolicyFault(EXCEPTIONS, f"{name}.servesPurposes", f"unknown purpose '{purpose}'")


def _store_faults(draft: Draft) -> Iterator[PolicyFault]:
    if frozenset(draft.stores) == draft.declared[STORES]:
        for missing in _absent(StoreKind, {row.store_kind for row in draft.stores.values()}):
            yield PolicyFault(STORES, missing, "no row for this kind of store")
    for name, row in draft.stores.items():
        if row.store_kind in _RETURNING_STORES and row.copies_live_days is None:
            yield PolicyFault(STORES, f"{name}.copiesLiveDays", "missing")
        if sum(row.retry.delays_seconds) > row.retry.deadline_seconds:
            yield PolicyFault(STORES, f"{name}.retry.deadlineSeconds", "before the last attempt of the schedule")
        if draft.header and (row.copies_live_days or 0) > draft.header.tombstone_lifetime.days:
            what = f"shorter than the {row.copies_live_days} days that copies in '{name}' live"
            yield PolicyFault(BUNDLE, "tombstoneLifetime.days", what)


def _eligibility_faults(draft: Draft) -> Iterator[PolicyFault]:
    kinds = draft.declared[KINDS]
    ruled: dict[str, str] = {}
    for name, row in draft.eligibility_rules.items():
        cell = f"rules.{name}"
        yield from _unknown_kinds(ELIGIBILITY, f"{cell}.kinds", row.kinds, kinds)
        for kind in row.kinds:
            if ruled.setdefault(kind, name) != name:
                yield PolicyFault(ELIGIBILITY, f"{cell}.kinds", f"'{kind}' is ruled by '{ruled[kind]}' as well")
        if (row.duty is Duty.MUST_KEEP) != (row.exception_type is not None):
            yield PolicyFault(ELIGIBILITY, f"{cell}.exceptionType", "must_keep names one and must_delete does not")
        elif row.exception_type is not None and row.exception_type not in draft.declared[EXCEPTIONS]:
            what = f"unknown exception type '{row.exception_type}'"
            yield PolicyFault(ELIGIBILITY, f"{cell}.exceptionType", what)
    if len(draft.eligibility_rules) == len(draft.declared[f"{ELIGIBILITY}/rules"]):
        for kind in sorted(kinds - ruled.keys()):
            yield PolicyFault(ELIGIBILITY, "rules", f"no rule says whether '{kind}' goes or stays")
    for name, row in draft.grants.items():
        yield from _unknown_kinds(ELIGIBILITY, f"grants.{name}.kinds", row.kinds, kinds)


def _group_of(edge_type: EdgeType) -> EdgeGroup:
    if edge_type in DERIVATION_EDGES:
        return EdgeGroup.DERIVATION
    return EdgeGroup.CONTROL if edge_type in CONTROL_EDGES else EdgeGroup.RELATION


def _absent(wanted: Collection[str], present: Collection[str]) -> list[str]:
    return [name for name in wanted if name not in present]


def _unknown_kinds(file: str, cell: str, named: Collection[str], kinds: Collection[str]) -> Iterator[PolicyFault]:
    for kind in named:
        if kind != ANY and kind not in kinds:
            yield PolicyFault(file, cell, f"unknown kind '{kind}'")
