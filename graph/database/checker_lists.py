"""What the checker holds the graph against: labels, properties, its passes, and what a fault that a query names means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from graph.database.invariants import Invariant
from graph.policy.model import Policy
from graph.vocabulary import DELETION_STATES_TERMINAL, NodeLabel, OutcomeState, RecordState

_TOMBSTONE: Final[frozenset[str]] = frozenset({NodeLabel.IDENTITY, NodeLabel.TOMBSTONE})
_IDENTIFIED: Final[frozenset[str]] = frozenset({NodeLabel.IDENTITY, NodeLabel.RECORD, NodeLabel.TOMBSTONE})


EMPTIED_STATES: Final = (RecordState.INVALIDATED.value, RecordState.RETAINED.value)
TERMINAL_STATES: Final = tuple(sorted(state.value for state in DELETION_STATES_TERMINAL))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The table under Nodes in graph/README.md, which a test compares with this one. A tombstone's four are I6's.
PROPERTIES: Final[Mapping[frozenset[str], frozenset[str]]] = {
    frozenset({NodeLabel.IDENTITY, NodeLabel.RECORD}): _names(
        "identity tenantId class kind state permissions purposes audience principalKey sourceKey observedAt expiresAt fence"
        " envelope content"
    ),
    _TOMBSTONE: _names("identity deletedAt reasonCode policyRef"),
    frozenset({NodeLabel.OPERATION}): _names("operationId type producerId producerVersion method at actorKey"),
    frozenset({NodeLabel.REQUEST, NodeLabel.DELETION}): _names(
        "requestId tenantId state scope scopeKey kinds reasonCode policyId requesterKey requesterRoles receivedAt verifiedAt"
        " finishedAt receipt receiptSequence reason waiting propagatedAt reopened"
    ),
    frozenset({NodeLabel.OUTCOME}): _names(
        "outcomeId requestId identity store outcome state rule basis depth witnessEdge witnessParent reason ownerId decidedAt"
        " shard attempts nextAttemptAt deadlineAt verificationLevel history ground"
    ),
    frozenset({NodeLabel.ATTEMPT}): _names("attemptId number epoch startedAt finishedAt outcome basis reason"),
    frozenset({NodeLabel.HOLD}): _names(
        "holdId tenantId state exceptionType authority policyRef ownerId contact reviewAt placedAt placedBy releasedAt"
        " releasedBy"
    ),
    frozenset({NodeLabel.EXCEPTION}): _names(
        "exceptionId tenantId requestId identity store state reason authority policyRef ownerId reviewAt enteredAt endedAt"
        " servesPurposes"
    ),
    frozenset({NodeLabel.STORE}): _names("storeId ownerId rootId tokens tokensAt"),
    frozenset({NodeLabel.WORK_SHARD}): _names("storeId shard holder until epoch verifiedAt"),
    frozenset({NodeLabel.POLICY}): _names("policyId digest ownerId loadedAt"),
    frozenset({NodeLabel.IDEMPOTENCY_KEY}): _names("tenantId key fingerprint result createdAt"),
    frozenset({NodeLabel.API_KEY}): _names(
        "keyId secretHash tenantId roles principalId purposes createdAt revokedAt",
    ),
    frozenset({NodeLabel.SCHEMA_VERSION}): _names("step digest appliedAt"),
    frozenset({NodeLabel.JOURNAL}): _names("journalId sequence digest"),
}


def shape_faults(labels: frozenset[str], names: Sequence[str]) -> Iterator[tuple[Invariant, str]]:
    """What is wrong with nodes of these labels and these properties: "… nodes" and then this."""
    known = PROPERTIES.get(labels)
    if known is None:
        yield Invariant.KNOWN_EDGES, "have a set of labels that is not registered"
    elif labels != _TOMBSTONE and not known.issuperset(names):
        # What is too much on a tombstone is named for each of them.
        yield Invariant.KNOWN_EDGES, "have a property that is not registered"
    if not _IDENTIFIED.isdisjoint(labels) and not (NodeLabel.IDENTITY in labels and "identity" in names):
        yield Invariant.ONE_IDENTITY, "are out of reach of the constraint on identities"


Faults = Mapping[str, tuple[Invariant, str]]


@dataclass(frozen=True)
class Pass:
    """A query that pages through all identities, and what an identity in each of its columns is an offender against."""

    query: str
    columns: Faults
    params: Mapping[str, object] = field(default_factory=dict[str, object])


def affected_params(policy: Policy) -> dict[str, object]:
    """What is affected by a deletion, as parameters of queries: along which edges, and in which states."""
    return {
        "deletionTypes": [edge.value for edge in policy.deletion_edges],
        "emptiedStates": list(EMPTIED_STATES),
        "terminalStates": list(TERMINAL_STATES),
    }


def identity_passes(policy: Policy) -> tuple[Pass, ...]:
    """The passes over all identities that judge a node by what is around it."""
    supersession = {
        "forked": (Invariant.NO_CYCLE_NO_FORK, "it has more than one successor"),
        "unsucceeded": (Invariant.NO_CYCLE_NO_FORK, "it says that a newer version took its place, and there is none"),
        "outlived": (Invariant.NO_CYCLE_NO_FORK, "it serves beside the newer version that took its place"),
    }
    told = "an edge of a tombstone, or the operation that made it, still tells something"
    fenced = "it is fenced, and no request at work and no outcome says why"
    crossing = [edge.value for edge, rule in policy.edges.items() if rule.crosses_tenants]
    shared = sorted(policy.shared_source_scopes)
    return (
        Pass("list_supersession_faults", supersession),
        Pass("list_tombstone_leftovers", _one(Invariant.BARE_TOMBSTONE, told), {"settled": OutcomeState.SETTLED}),
        Pass(
            "list_forgotten_derivatives",
            _one(Invariant.NO_FORGOTTEN_DERIVATIVE, "a derivative of something deleted has no outcome"),
            affected_params(policy),
        ),
        Pass("list_wide_audiences", _one(Invariant.NARROW_AUDIENCE, "its audience is wider than that of a source")),
        Pass(
            "list_tenant_crossings",
            _one(Invariant.ONE_TENANT, "an edge leads to another tenant's record"),
            {"crossingTypes": crossing, "sharedScopes": shared},
        ),
        Pass(
            "list_unlisted_inputs",
            _one(Invariant.LISTED_INPUTS, "what the work used is not what its output was derived from"),
        ),
        Pass(
            "list_stray_fences",
            {"stray": (Invariant.WORKING_FENCE, fenced)},
            {"terminalStates": list(TERMINAL_STATES)},
        ),
    )


def _one(invariant: Invariant, message: str) -> Faults:
    return {"offenders": (invariant, message)}


OUTCOME_FAULTS: Final[Faults] = {
    "no_request": (Invariant.WHOLE_LEDGER, "an outcome belongs to no request, or to another than it names"),
    "no_record": (Invariant.WHOLE_LEDGER, "an outcome is about nothing, or about another record than it names"),
    "twice": (Invariant.WHOLE_LEDGER, "a request has two outcomes for one record in one store"),
    "untrue": (Invariant.SETTLED_REQUEST, "the record is not what the outcome of a finished request says"),
    "located": (Invariant.BARE_TOMBSTONE, "the place of a copy is still written down although the copy is settled"),
    "not_entered": (
        Invariant.WHOLE_LEDGER,
        "something was left or failed, and the exception ledger has no open entry of it",
    ),
    "entered": (Invariant.WHOLE_LEDGER, "an outcome is settled and its entry in the exception ledger is open"),
    "never_due": (Invariant.WHOLE_LEDGER, "an outcome is pending and no worker will ever attempt it"),
    "still_due": (Invariant.WHOLE_LEDGER, "an outcome is settled and due for another attempt"),
}
HOLD_FAULTS: Final[Faults] = {
    "holds_nothing": (Invariant.WHOLE_LEDGER, "an active hold holds no record"),
    "held_in_vain": (Invariant.WHOLE_LEDGER, "a record under an active hold was deleted all the same"),
    "foreign": (Invariant.ONE_TENANT, "a hold is on another tenant's record"),
    "unknown_type": (Invariant.KNOWN_REFERENCES, "the exception type of an active hold is not in the policy"),
    "unknown_owner": (Invariant.KNOWN_REFERENCES, "the owner of an active hold is not in the policy"),
    "unknown_policy": (Invariant.KNOWN_REFERENCES, "the policy reference of an active hold leads nowhere"),
}
EXCEPTION_FAULTS: Final[Faults] = {
    "no_outcome": (Invariant.WHOLE_LEDGER, "an entry of the exception ledger belongs to no outcome, or to several"),
    "other_outcome": (Invariant.WHOLE_LEDGER, "an entry of the exception ledger says something else than its outcome"),
    "unknown_owner": (Invariant.KNOWN_REFERENCES, "the owner of an open exception is not in the policy"),
}
OPERATION_FAULTS: Final[Faults] = {
    "made_nothing": (Invariant.WHOLE_LEDGER, "work is written down that made nothing"),
    "used_late": (Invariant.USED_BEFORE_DELETION, "work used a source after its deletion"),
}
ATTEMPT_FAULTS: Final[Faults] = {
    "no_outcome": (Invariant.WHOLE_LEDGER, "an attempt is at no outcome, or at several"),
}
