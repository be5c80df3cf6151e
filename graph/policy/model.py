"""The policy bundle as frozen values, and `Policy` with its look-ups.

Each model is one row of one file of the bundle; `graph.policy.loader` reads them and `graph.policy.rules` says what is
wrong between them. YAML keys are camelCase, attributes snake_case. A row's `id` is its key in the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from graph.errors import InvalidInput, NotAuthorized, PolicyInvalid
from graph.policy.lifecycle import Lifecycle
from graph.vocabulary import (
    EdgeGroup,
    EdgeType,
    LifecycleEvent,
    MemoryPolicyDimension,
    NodeLabel,
    PropagationAction,
    ReasonCode,
    RecordClass,
    Role,
    StoreKind,
    VerificationLevel,
)

ANY: Final = "*"


class OwnerFunction(StrEnum):
    """What an owner answers for (OWN-01 to OWN-07), the sources of records included."""

    PRIVACY = "privacy"
    LEGAL = "legal"
    DOMAIN = "domain"
    SOURCE = "source"
    WORKFLOW = "workflow"
    PLATFORM = "platform"
    PRINCIPAL = "principal"
    ENGINEERING = "engineering"
    MODEL = "model"
    SECURITY = "security"


class Duty(StrEnum):
    """What the owners of deletion rules decided for a kind of record (DEL-20)."""

    MUST_DELETE = "must_delete"
    MUST_KEEP = "must_keep"


def _star_as_list(value: object) -> object:
    return (ANY,) if value == ANY else value


def _none_as_null(value: object) -> object:
    return None if value == "none" else value


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
TextsOrAny = Annotated[Texts, BeforeValidator(_star_as_list)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=1)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


class Lifetime(_Row):
    """For how many days something stays, who decided it and why."""

    days: Count
    owner_id: Text
    reason: Text


class Purpose(_Row):
    """A use that data may be put to, and who answers for it."""

    owner_id: Text
    means: Text


class BundleHeader(_Row):
    """`bundle.yaml`: which policy this is, and where its reach ends (DEL-19)."""

    policy_id: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
    version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")]
    owner_id: Text
    boundary: Text
    stores_out_of_boundary: Texts
    shared_source_scopes: dict[Text, Purpose]
    tombstone_lifetime: Lifetime
    purposes: Annotated[dict[Text, Purpose], Field(min_length=1)]


class Owner(_Row):
    """A row of the owner matrix. `contact` is an address that resolves; `queue` is where open work waits for them."""

    id: Text
    name: Text
    function: OwnerFunction
    contact: Annotated[str, StringConstraints(pattern=r"^(mailto:[^@\s]+@[^@\s]+|https://\S+)$")]
    queue: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
    scope: Text
    non_scope: Text


class ClassPolicy(_Row):
    """What one of the six classes is for, how it is treated, and what it demands of an envelope."""

    id: RecordClass
    question: Text
    owner_id: Text
    treatment: dict[MemoryPolicyDimension, Text]
    required: Annotated[frozenset[Text], Field(min_length=1)]
    may_be_not_applicable: frozenset[Text]
    plain_language: Text
    lifecycle: Lifecycle


class DeletionRules(_Row):
    """What a deletion does to a derivative: `alone` without, `supported` with another live source."""

    alone: PropagationAction
    supported: PropagationAction
    because: Text


class KindPolicy(_Row):
    """A kind of record. `stands_alone` says whether one may exist without a source in the graph."""

    id: Text
    record_class: Annotated[RecordClass, Field(alias="class")]
    owner_id: Text
    retention_class: Text
    means: Text
    stands_alone: Flag
    lifecycle: dict[LifecycleEvent, Text]
    deletion: DeletionRules


class Follow(_Row):
    """Which triggers walk this edge from the source to what was made of it."""

    deletion: Flag
    withdrawal: Flag
    correction: Flag
    conflict: Flag


class EdgePolicy(_Row):
    """The registry entry of an edge type. Child is where the edge starts, parent where it ends.

    Edges between records name kinds; control edges name labels, and no caller can write one.
    """

    id: EdgeType
    group: EdgeGroup
    child_kinds: TextsOrAny = ()
    parent_kinds: TextsOrAny = ()
    child_labels: tuple[NodeLabel, ...] = ()
    parent_labels: tuple[NodeLabel, ...] = ()
    same_kind: Flag = False
    crosses_tenants: Flag
    follow: Follow
    reads_as: Text
    because: Text

    def allows(self, child_kind: str, parent_kind: str) -> bool:
        """Whether an edge of this type may lead from a record of `child_kind` to one of `parent_kind` (PRV-04)."""
        child_fits = ANY in self.child_kinds or child_kind in self.child_kinds
        parent_fits = ANY in self.parent_kinds or parent_kind in self.parent_kinds
        return child_fits and parent_fits and (child_kind == parent_kind or not self.same_kind)


class RetentionClass(_Row):
    """How long records stay: so many days after they were recorded, or until an event."""

    id: Text
    days: Count | None = None
    event: Text | None = None
    owner_id: Text
    reason: Text


class ExceptionType(_Row):
    """A ground on which something may be kept in spite of a deletion (EXC-01, EXC-05)."""

    id: Text
    owner_id: Text
    review_days: Count
    authority: Text
    serves_purposes: Texts


class RetrySchedule(_Row):
    """When a failed attempt is tried again, counted from the one before, and when the failure gets its owner."""

    delays_seconds: Annotated[tuple[Count, ...], Field(min_length=1)]
    deadline_seconds: Count


class StorePolicy(_Row):
    """A row of the store inventory (DEL-02).

    `copies_live_days` is how long copies that can come back are kept; `rate_per_second` how many deletions in a second
    the store bears, over all workers, where it has such a limit.
    """

    id: Text
    store_kind: StoreKind
    connector: Annotated[Text | None, BeforeValidator(_none_as_null)]
    owner_id: Text
    deletion_method: Text
    expected_completion_seconds: Count
    verification_signal: Text
    exception_process: Text
    verification_level: VerificationLevel
    residue: tuple[Text, ...]
    copies_live_days: Count | None = None
    rate_per_second: Count | None = None
    retry: RetrySchedule


class EligibilityRule(_Row):
    """Whether records of some kinds go on an authorised request, or stay under an exception of the named type."""

    id: Text
    kinds: Texts
    duty: Duty
    exception_type: Text | None = None
    owner_id: Text
    because: Text


class Grant(_Row):
    """What a role may ask to have deleted: kinds and tenants, and the policy that says so (AMB-21)."""

    id: Text
    role: Role
    kinds: TextsOrAny
    tenants: TextsOrAny
    policy_ref: Text
    owner_id: Text

    def covers(self, role: Role, kinds: Collection[str], tenant_id: str) -> bool:
        """Whether this grant alone reaches all of `kinds` in the tenant."""
        tenant_fits = ANY in self.tenants or tenant_id in self.tenants
        return role is self.role and tenant_fits and (ANY in self.kinds or set(kinds) <= set(self.kinds))


@dataclass(frozen=True)
class DeletionRule:
    """What becomes of one derivative, and which rule said so."""

    action: PropagationAction
    rule_id: str


@dataclass(frozen=True)
class Policy:
    """A bundle that loaded without a fault. `digest` is the SHA-256 of its canonical JSON, in hex."""

    digest: str
    header: BundleHeader
    owners: Mapping[str, Owner]
    classes: Mapping[RecordClass, ClassPolicy]
    kinds: Mapping[str, KindPolicy]
    edges: Mapping[EdgeType, EdgePolicy]
    retention_classes: Mapping[str, RetentionClass]
    exception_types: Mapping[str, ExceptionType]
    stores: Mapping[str, StorePolicy]
    eligibility_rules: Mapping[str, EligibilityRule]
    grants: Mapping[str, Grant]

    @property
    def policy_id(self) -> str:
        """Name and version, as every decision records them."""
        return f"{self.header.policy_id}@{self.header.version}"

    @property
    def boundary_text(self) -> str:
        """What a deletion receipt says about its own reach."""
        return self.header.boundary

    @property
    def stores_out_of_boundary(self) -> tuple[str, ...]:
        """Places that may hold copies and that this service cannot reach."""
        return self.header.stores_out_of_boundary

    @property
    def shared_source_scopes(self) -> frozenset[str]:
        """Tenants whose records every tenant may derive from (AMB-48)."""
        return frozenset(self.header.shared_source_scopes)

    @cached_property
    def purposes(self) -> frozenset[str]:
        """Every use that data may be put to."""
        return frozenset(self.header.purposes)

    @cached_property
    def deletion_edges(self) -> tuple[EdgeType, ...]:
        """The edge types that a deletion walks, sorted by name."""
        return tuple(sorted(edge for edge, rule in self.edges.items() if rule.follow.deletion))

    @cached_property
    def kinds_always_invalidated(self) -> tuple[str, ...]:
        """The kinds of which a deletion leaves a shell even where no other source is left, sorted by name."""
        kept = PropagationAction.INVALIDATE
        return tuple(sorted(name for name, kind in self.kinds.items() if kind.deletion.alone is kept))

    def kind(self, name: str) -> KindPolicy:
        """The kind of that name.

        Raises:
            InvalidInput: no such kind (`UNKNOWN_KIND`).
        """
        if name not in self.kinds:
            raise InvalidInput("the policy knows no such kind", code=ReasonCode.UNKNOWN_KIND)
        return self.kinds[name]

    def edge(self, edge_type: EdgeType) -> EdgePolicy:
        """The registry entry of an edge type."""
        return self.edges[edge_type]

    def class_policy(self, record_class: RecordClass) -> ClassPolicy:
        """The treatment of a class."""
        return self.classes[record_class]

    def owner(self, owner_id: str) -> Owner:
        """The owner of that id.

        Raises:
            PolicyInvalid: no such owner; what names it was written under another policy (`POLICY_INVALID`).
        """
        if owner_id not in self.owners:
            raise PolicyInvalid("the policy knows no such owner", code=ReasonCode.POLICY_INVALID)
        return self.owners[owner_id]

    def store(self, store_id: str) -> StorePolicy:
        """The inventory row of a store.

        Raises:
            InvalidInput: the store has no row (`STORE_UNREGISTERED`).
        """
        if store_id not in self.stores:
            raise InvalidInput("the store has no row in the inventory", code=ReasonCode.STORE_UNREGISTERED)
        return self.stores[store_id]

    def retry_for(self, store_id: str) -> RetrySchedule:
        """When attempts at a store are repeated; raises like `store`."""
        return self.store(store_id).retry

    def exception_type(self, exception_type_id: str) -> ExceptionType:
        """The exception type of that id (EXC-07).

        Raises:
            NotAuthorized: no privacy or legal owner has declared it (`EXCEPTION_NOT_AUTHORIZED`).
        """
        if exception_type_id not in self.exception_types:
            raise NotAuthorized("no owner declared such an exception", code=ReasonCode.EXCEPTION_NOT_AUTHORIZED)
        return self.exception_types[exception_type_id]

    def deletion_rule(self, kind: str, *, supported: bool) -> DeletionRule:
        """What a deletion does to a derivative of this kind; `supported` if another live source is left.

        Raises:
            InvalidInput: no such kind (`UNKNOWN_KIND`).
        """
        rules = self.kind(kind).deletion
        case, action = ("supported", rules.supported) if supported else ("alone", rules.alone)
        return DeletionRule(action, f"deletion/{kind}/{case}")

    def eligibility(self, kind: str) -> EligibilityRule:
        """The one rule that says whether records of this kind go or stay (DEL-20).

        Raises:
            InvalidInput: no such kind (`UNKNOWN_KIND`).
        """
        name = self.kind(kind).id
        return next(rule for rule in self.eligibility_rules.values() if name in rule.kinds)

    def may_request_deletion(self, role: Role, *, kinds: Collection[str], tenant_id: str) -> bool:
        """Whether one grant lets `role` ask for the deletion of records of all these kinds in the tenant (DEL-04)."""
        return any(grant.covers(role, kinds, tenant_id) for grant in self.grants.values())
