"""The receipt of a finished deletion: canonical JSON, stored as it was issued, the same bytes whenever it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graph.canonical import canonical_json
from graph.clock import instant_to_text
from graph.deletion.model import RequestView
from graph.policy.model import Policy
from graph.vocabulary import DELETION_STATES_COMPLETE, DeletionState, DerivativeOutcome

RECEIPT_TYPE: Final = "sequela/deletion-receipt/v1"


@dataclass(frozen=True)
class OutcomeCount:
    """How many outcomes of a request are alike."""

    store: str
    outcome: str | None
    state: str
    level: str | None
    number: int


def build_receipt(
    *,
    view: RequestView,
    sequence: int,
    previous: bytes | None,
    state: DeletionState,
    finished_at: int,
    policy: Policy,
    counts: Sequence[OutcomeCount],
    failures: Sequence[Mapping[str, object]],
    outcomes_digest: str,
) -> bytes:
    """Canonical JSON (RFC 8785) without content: what was asked, what was done in each store, and where its reach ends.

    Args:
        view: the request.
        sequence: 1 for the first receipt of the request, and so on.
        previous: the receipt that this one replaces, where something that was held or had failed is settled now.
        state: the state that it ends in.
        finished_at: when it ended.
        policy: boundary, inventory and versions.
        counts: its outcomes, counted.
        failures: id, store, owner and reason of each failure.
        outcomes_digest: SHA-256 (hex) over the lines `outcomeId identity store outcome rule`, each ended by a line feed,
            in the order of the outcome ids: whoever holds the outcomes can show that none was left out.
    """
    receipt: dict[str, object] = {
        "type": RECEIPT_TYPE,
        "requestId": view.request_id,
        "sequence": sequence,
        "replaces": None if previous is None else hashlib.sha256(previous).hexdigest(),
        "tenantId": view.tenant_id,
        "state": state.value,
        "complete": state in DELETION_STATES_COMPLETE,
        "scope": sorted(view.scope),
        "reasonCode": view.reason_code,
        "policy": {"policyId": policy.policy_id, "digest": policy.digest},
        "receivedAt": instant_to_text(view.received_at),
        "finishedAt": instant_to_text(finished_at),
        "outcomes": _five(counts),
        "outcomesListed": sum(count.number for count in counts),
        "outcomesDigest": outcomes_digest,
        "stores": [_store(store, counts, policy) for store in sorted({count.store for count in counts})],
        "ownedFailures": [dict(failure) for failure in failures],
        "boundary": policy.boundary_text,
        "storesOutOfBoundary": list(policy.stores_out_of_boundary),
    }
    return canonical_json(receipt)


def _store(store_id: str, counts: Sequence[OutcomeCount], policy: Policy) -> dict[str, object]:
    own = [count for count in counts if count.store == store_id]
    store = policy.store(store_id)
    levels = {count.level for count in own if count.level is not None} or {store.verification_level.value}
    return {
        "storeId": store_id,
        "outcomes": _five(own),
        "verificationLevels": sorted(levels),
        "residue": list(store.residue),
    }


def _five(counts: Sequence[OutcomeCount]) -> dict[str, int]:
    return {
        outcome.value: sum(count.number for count in counts if count.outcome == outcome)
        for outcome in DerivativeOutcome
    }
