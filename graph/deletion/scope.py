"""From a stated subject to an explicit list of records, all versions included (DEL-03, DEL-27)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph.access import Caller
from graph.database.database import Database
from graph.deletion.model import SUBJECT_MAX, SubjectInput
from graph.errors import InvalidInput, NotAuthorized, Oversized
from graph.ids import IdentityKeys, derived_id, name_checked
from graph.policy.model import Policy
from graph.vocabulary import ReasonCode


@dataclass(frozen=True)
class Scope:
    """The records that a request means: every version of each, and the kinds that are among them."""

    identities: tuple[str, ...]
    kinds: frozenset[str]


def resolve_scope(
    database: Database, policy: Policy, keys: IdentityKeys, caller: Caller, subject: SubjectInput
) -> Scope:
    """The explicit list that a subject means now, if this caller may have all of it deleted.

    Raises:
        InvalidInput: the subject is not stated exactly, or matches nothing (`SCOPE_INEXACT`).
        NotAuthorized: a record is not there or not the caller's to delete; both look alike (`REQUESTER_UNAUTHORIZED`).
        Oversized: more than `SUBJECT_MAX` records (`LIMIT_EXCEEDED`).
    """
    if subject.kinds is not None and not may_request(policy, caller, frozenset(subject.kinds)):
        # Before anything is looked up: who may not delete must not learn whether there is something to delete.
        raise not_theirs()
    wanted = _stated(database, keys, caller, subject)
    row = database.read("list_subject", identities=wanted, tenantId=caller.tenant_id)[0]
    kinds = frozenset(row.texts("kinds"))
    if set(row.texts("asked")) != set(wanted) or not may_request(policy, caller, kinds):
        raise not_theirs()
    return Scope(tuple(sorted(row.texts("scope"))), kinds)


def not_theirs() -> NotAuthorized:
    """The answer to who may not ask, and to whoever asks for what is not there: the same words."""
    return NotAuthorized(
        "these records are not there, or not the requester's to delete", code=ReasonCode.REQUESTER_UNAUTHORIZED
    )


def may_request(policy: Policy, caller: Caller, kinds: frozenset[str]) -> bool:
    """Whether a grant of one of the caller's roles reaches all of these kinds in the tenant."""
    return any(
        policy.may_request_deletion(role, kinds=kinds, tenant_id=caller.tenant_id) for role in sorted(caller.roles)
    )


def scope_key(tenant_id: str, identities: Sequence[str]) -> str:
    """The key by which one erasure has one request.

    Args:
        tenant_id: the tenant.
        identities: the scope, sorted.
    """
    return derived_id("deletion", tenant_id, *identities)


def _stated(database: Database, keys: IdentityKeys, caller: Caller, subject: SubjectInput) -> list[str]:
    ways = [subject.record_ids, subject.names, subject.principal_id, subject.source_id]
    if sum(way is not None for way in ways) != 1:
        raise InvalidInput(
            "a subject is stated in exactly one way: recordIds, names, principalId or sourceId",
            code=ReasonCode.SCOPE_INEXACT,
        )
    if subject.record_ids is not None:
        return sorted(set(subject.record_ids))
    if subject.names is not None:
        return sorted({keys.identity(caller.tenant_id, name.name, scope=name.scope) for name in subject.names})
    if subject.principal_id is not None:
        return _of(
            database, keys, caller, "list_records_by_principal", "principalId", subject.principal_id, subject.kinds
        )
    return _of(database, keys, caller, "list_records_by_source", "sourceId", str(subject.source_id), subject.kinds)


def _of(
    database: Database,
    keys: IdentityKeys,
    caller: Caller,
    query: str,
    field: str,
    value: str,
    kinds: Sequence[str] | None,
) -> list[str]:
    """Records of one person or source, of the named kinds: without kinds the scope would not be exact."""
    if not kinds:
        raise InvalidInput(
            "everything of a person or a source is no exact scope: name the kinds",
            code=ReasonCode.SCOPE_INEXACT,
            details={"field": "kinds"},
        )
    key = keys.lookup(caller.tenant_id, field, name_checked(value))
    rows = database.read(query, tenantId=caller.tenant_id, key=key, kinds=sorted(set(kinds)), rowsMax=SUBJECT_MAX + 1)
    found = rows[0].texts("identities")
    if not found:
        raise InvalidInput("the subject matches no record", code=ReasonCode.SCOPE_INEXACT, details={"field": field})
    if len(found) > SUBJECT_MAX:
        raise Oversized(
            "the subject matches too many records for one request",
            code=ReasonCode.LIMIT_EXCEEDED,
            details={"limit": "SUBJECT_MAX", "max": SUBJECT_MAX},
        )
    return found
