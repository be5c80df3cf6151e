"""What the propagation engine reads of affected nodes, and what it decides."""

from __future__ import annotations

from dataclasses import dataclass

from graph.database.rows import Row
from graph.vocabulary import DerivativeOutcome, OutcomeBasis, ReasonCode


@dataclass(frozen=True)
class Ground:
    """On what a node may be kept in spite of a deletion: a hold, or a rule of the policy; `ground_id` names which."""

    ground_id: str
    exception_type: str
    authority: str
    policy_ref: str
    owner_id: str
    review_at: int


@dataclass(frozen=True)
class Facts:
    """Everything that decides about one affected node. `is_whole` is a tombstone with its four properties and no more."""

    identity: str
    is_tombstone: bool
    is_whole: bool
    has_content: bool
    kind: str
    state: str
    outcome: str | None
    ground: str | None
    holds: tuple[Ground, ...]
    stores: tuple[str, ...]
    live_sources: frozenset[str]
    witness_edge: str | None
    witness_parent: str | None
    envelope: str | None


@dataclass(frozen=True)
class Plain:
    """Nodes that are alike, of which nothing decides but their kind: no hold, copy, support, exception or outcome so far.

    `witnesses` go with `identities`, one for each; see `witness_parts`.
    """

    kind: str
    state: str
    has_content: bool
    identities: tuple[str, ...]
    witnesses: tuple[str, ...]

    def facts(self, index: int) -> Facts:
        """The facts of one of them."""
        edge, parent = witness_parts(self.witnesses[index])
        return Facts(
            identity=self.identities[index],
            is_tombstone=False,
            is_whole=False,
            has_content=self.has_content,
            kind=self.kind,
            state=self.state,
            outcome=None,
            ground=None,
            holds=(),
            stores=(),
            live_sources=frozenset(),
            witness_edge=edge,
            witness_parent=parent,
            envelope=None,
        )


@dataclass(frozen=True)
class Decision:
    """What becomes of one node in the graph, and why. `change` is delete, invalidate, retain or none."""

    change: str
    outcome: DerivativeOutcome
    rule_id: str
    basis: OutcomeBasis
    ground: Ground | None = None
    reason: ReasonCode | None = None


def facts_from_row(row: Row) -> Facts:
    """Read one entry of `lock_affected` or `list_affected`."""
    is_tombstone = row.truth("isTombstone")
    edge, parent = witness_parts(row.text("witness"))
    return Facts(
        identity=row.text("identity"),
        is_tombstone=is_tombstone,
        is_whole=row.truth("isWhole"),
        has_content=row.truth("hasContent"),
        kind="" if is_tombstone else row.text("kind"),
        state="" if is_tombstone else row.text("state"),
        outcome=row.text_or_none("outcome"),
        ground=row.text_or_none("ground"),
        holds=tuple(_ground(hold) for hold in row.rows("holds")),
        stores=tuple(sorted(row.texts("stores"))),
        live_sources=frozenset(row.texts("liveSources")),
        witness_edge=edge,
        witness_parent=parent,
        envelope=row.text_or_none("envelope"),
    )


def plain_from_row(row: Row) -> Plain:
    """Read one group of `lock_affected`."""
    return Plain(
        kind=row.text("kind"),
        state=row.text("state"),
        has_content=row.truth("hasContent"),
        identities=tuple(row.texts("identities")),
        witnesses=tuple(row.texts("witnesses")),
    )


def witness_parts(witness: str) -> tuple[str | None, str | None]:
    """Edge type and parent of a witness `parent edge`; none of both where nothing led there."""
    if not witness:
        return None, None
    parent, _, edge = witness.rpartition(" ")
    return edge, parent


def _ground(row: Row) -> Ground:
    return Ground(
        ground_id=row.text("holdId"),
        exception_type=row.text("exceptionType"),
        authority=row.text("authority"),
        policy_ref=row.text("policyRef"),
        owner_id=row.text("ownerId"),
        review_at=row.number("reviewAt"),
    )
