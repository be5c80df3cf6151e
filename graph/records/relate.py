"""Joining records that exist by relations. Derivation comes only with the derivative's own registration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.access import Caller
from graph.database.database import Database
from graph.errors import Blocked, Conflict, InvalidInput, NotFound, Refused
from graph.policy.model import Policy
from graph.records.lookup import known_among
from graph.records.model import Known
from graph.vocabulary import RELATION_EDGES, EdgeType, ReasonCode, RecordState, Role


@dataclass(frozen=True)
class Relation:
    """An edge to draw from one record to another; any relation but `SUPERSEDES`, which comes with its newer version."""

    identity: str
    edge: EdgeType
    target: str


def relate(database: Database, policy: Policy, caller: Caller, relation: Relation) -> None:
    """Draw one relation; drawing it again changes nothing.

    Raises:
        InvalidInput: the edge is no relation, or does not join these kinds, or not a record with itself.
        NotFound: one of the records is not there for this caller.
        Conflict: one of them is of a shared source scope, or in quarantine.
        Blocked: one of them was deleted or is being deleted.
        NotAuthorized: the caller is no producer.
    """
    refusal = relate_all(database, policy, caller, [relation])[0]
    if refusal is not None:
        raise refusal


def relate_all(
    database: Database, policy: Policy, caller: Caller, relations: Sequence[Relation]
) -> list[Refused | None]:
    """Draw relations in one transaction; each has a verdict of its own, in order: a refusal, or none where it is drawn.

    Raises:
        NotAuthorized: the caller is no producer.
    """
    caller.demand(Role.PRODUCER)
    known = known_among(database, {end for relation in relations for end in (relation.identity, relation.target)})
    verdicts = [_refusal(relation, known, policy, caller) for relation in relations]
    rows = [
        {"index": index, "identity": relation.identity, "target": relation.target, "edge": relation.edge.value}
        for index, relation in enumerate(relations)
        if verdicts[index] is None
    ]
    locks = sorted({str(row[end]) for row in rows for end in ("identity", "target")})
    joined = set(database.write("merge_relations", locks=locks, rows=rows)[0].numbers("joined")) if rows else set[int]()
    for row in rows:
        if row["index"] not in joined:
            verdicts[int(row["index"])] = Blocked("a record is being deleted", code=ReasonCode.SOURCE_FENCED)
    return verdicts


def _refusal(relation: Relation, known: Mapping[str, Known], policy: Policy, caller: Caller) -> Refused | None:
    try:
        _checked(relation, known, policy, caller)
    except Refused as error:
        return error
    return None


def _checked(relation: Relation, known: Mapping[str, Known], policy: Policy, caller: Caller) -> None:
    details = {"edge": relation.edge.value}
    if relation.edge not in RELATION_EDGES or relation.edge is EdgeType.SUPERSEDES:
        raise InvalidInput(
            "only a relation joins records that exist", code=ReasonCode.EDGE_ENDS_NOT_ALLOWED, details=details
        )
    ends = [_end(known, identity, caller) for identity in (relation.identity, relation.target)]
    if {end.tenant_id for end in ends} != {caller.tenant_id}:
        raise Conflict("a relation stays within a tenant", code=ReasonCode.TENANT_MIXING, details=details)
    joins = policy.edge(relation.edge).allows(ends[0].kind, ends[1].kind)
    if relation.identity == relation.target or not joins:
        raise InvalidInput(
            "this edge does not join these kinds", code=ReasonCode.EDGE_ENDS_NOT_ALLOWED, details=details
        )


def _end(known: Mapping[str, Known], identity: str, caller: Caller) -> Known:
    end, details = known.get(identity), {"recordId": identity}
    if end is None or not end.is_known_to(caller):
        raise NotFound("no such record", code=ReasonCode.NOT_FOUND, details=details)
    if end.is_tombstone:
        raise Blocked("a record was deleted", code=ReasonCode.TOMBSTONE_BLOCKED, details=details)
    if end.state == RecordState.QUARANTINED:
        raise Conflict("a record is in quarantine", code=ReasonCode.QUARANTINED_RECORD, details=details)
    return end
