"""Joining two records that exist by a relation. Derivation comes only with the derivative's own registration."""

from __future__ import annotations

from graph.access import Caller
from graph.database.database import Database
from graph.errors import Blocked, Conflict, InvalidInput, NotFound
from graph.policy.model import Policy
from graph.records.lookup import known_among
from graph.records.model import Known
from graph.vocabulary import RELATION_EDGES, EdgeType, ReasonCode, RecordState, Role


def relate(database: Database, policy: Policy, caller: Caller, identity: str, edge: EdgeType, target: str) -> None:
    """Draw `edge` from `identity` to `target`; drawing it again changes nothing.

    Args:
        database: the graph.
        policy: which edges may join which kinds.
        caller: who draws it; needs the role producer, and both records in its tenant.
        identity: the record that the edge starts from.
        edge: a relation other than `SUPERSEDES`.
        target: the record that the edge leads to.

    Raises:
        InvalidInput: the edge is no relation, or does not join these kinds, or not a record with itself.
        NotFound: one of the records is not there for this caller.
        Conflict: one of them is of a shared source scope, or in quarantine.
        Blocked: one of them was deleted or is being deleted.
    """
    caller.demand(Role.PRODUCER)
    if edge not in RELATION_EDGES or edge is EdgeType.SUPERSEDES:
        raise InvalidInput(
            "only a relation joins records that exist",
            code=ReasonCode.EDGE_ENDS_NOT_ALLOWED,
            details={"edge": edge.value},
        )
    ends = _ends(database, caller, identity, target)
    if {end.tenant_id for end in ends} != {caller.tenant_id}:
        raise Conflict("a relation stays within a tenant", code=ReasonCode.TENANT_MIXING, details={"edge": edge.value})
    if identity == target or not policy.edge(edge).allows(ends[0].kind, ends[1].kind):
        raise InvalidInput(
            "this edge does not join these kinds", code=ReasonCode.EDGE_ENDS_NOT_ALLOWED, details={"edge": edge.value}
        )
    rows = database.write(
        "merge_relation", locks=sorted({identity, target}), identity=identity, target=target, edge=edge.value
    )
    if rows[0].number("joined") == 0:
        raise Blocked("a record is being deleted", code=ReasonCode.SOURCE_FENCED)


def _ends(database: Database, caller: Caller, *identities: str) -> list[Known]:
    known = known_among(database, identities)
    ends: list[Known] = []
    for identity in identities:
        end = known.get(identity)
        if end is not None and end.is_tombstone:
            raise Blocked("a record was deleted", code=ReasonCode.TOMBSTONE_BLOCKED, details={"recordId": identity})
        if end is None or end.tenant_id not in caller.tenants:
            raise NotFound("no such record", code=ReasonCode.NOT_FOUND, details={"recordId": identity})
        if end.state == RecordState.QUARANTINED:
            details = {"recordId": identity}
            raise Conflict("a record is in quarantine", code=ReasonCode.QUARANTINED_RECORD, details=details)
        ends.append(end)
    return ends
