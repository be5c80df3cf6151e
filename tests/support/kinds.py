"""One whole record of each class, as its producer states it; what a test leaves out is all that is missing."""

from __future__ import annotations

from typing import Any

from graph.envelope import RecordInput
from tests.support.records import record

EXPIRES_AT = "2026-04-02T09:00:00Z"
DERIVED = {"derivationType": "computed", "inferenceMethod": "test", "trust": "unreviewed_derived"}
# Kind, and the fields that only some classes demand. A derivative names its source, the record `root`, by itself.
BY_CLASS: dict[str, dict[str, Any]] = {
    "workflow_state": {"kind": "run_state", "runId": "run-1", "stateVersion": 7},
    "context": {
        **DERIVED,
        "kind": "context_view",
        "runId": "run-1",
        "assemblerVersion": "1",
        "expiresAt": EXPIRES_AT,
        "sources": [{"name": "root", "edge": "PROJECTED_FROM"}],
    },
    "scratch": {"kind": "scratch_plan", "runId": "run-1", "expiresAt": EXPIRES_AT},
    "artifact": {"kind": "document"},
    "preference": {
        "kind": "user_preference",
        "principalId": "tech-17",
        "trust": "verified_principal",
        "confirmedAt": "2026-03-02T08:00:00Z",
        "expiresAt": EXPIRES_AT,
    },
    "memory": {
        **DERIVED,
        "kind": "memory_candidate",
        "principalId": "tech-17",
        "taskFamily": "part-replacement",
        "confidence": "0.7",
        "expiresAt": EXPIRES_AT,
        "sources": [{"name": "root", "edge": "PROPOSED_FROM"}],
    },
}


def of_class(name: str | None, record_class: str, **changes: Any) -> RecordInput:
    """A whole record of that class; `changes` replace or add fields, None removes one."""
    return record(name, **{"class": record_class, **BY_CLASS[record_class], **changes})


def root() -> RecordInput:
    """What the derivatives above are made of."""
    return record("root")
