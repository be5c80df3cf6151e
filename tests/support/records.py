"""Building records the short way, with every demanded field stated."""

from __future__ import annotations

from typing import Any

from graph.envelope import RecordInput

TENANT = "tenant-a"
OTHER_TENANT = "tenant-b"
PURPOSE = "maintenance"
READERS = ["role:reviewer", "role:producer", "principal:tech-17"]


def stated(name: str | None, **changes: Any) -> dict[str, Any]:
    """A whole record of kind `document` as a producer states it; `changes` replace or add fields, None removes one."""
    fields: dict[str, Any] = {
        "name": name,
        "class": "artifact",
        "kind": "document",
        "tenantId": TENANT,
        "ownerId": "platform-owner",
        "principalId": "not_applicable",
        "taskId": "not_applicable",
        "runId": "not_applicable",
        "sourceId": "manual-repository",
        "sourceVersion": "1",
        "observedAt": "2026-03-02T08:59:00Z",
        "derivationType": "asserted",
        "inferenceMethod": "not_applicable",
        "trust": "untrusted_text",
        "reviewState": "unreviewed",
        "expiresAt": "not_applicable",
        "freshnessRuleId": "not_applicable",
        "permissions": READERS,
        "purpose": [PURPOSE],
        "supersedes": "not_applicable",
        "retentionClass": "durable_artifact",
        "producerId": "test-producer",
        "producerVersion": "1",
    }
    fields.update(changes)
    return {key: value for key, value in fields.items() if value is not None}


def record(name: str | None, **changes: Any) -> RecordInput:
    """`stated` as a parsed input."""
    return RecordInput.model_validate(stated(name, **changes))


def derived(name: str | None, *parents: str, edge: str = "SUMMARIZED_FROM", **changes: Any) -> RecordInput:
    """A record computed from the named parents."""
    sources = [{"name": parent, "edge": edge} for parent in parents]
    return record(
        name,
        **{
            "derivationType": "computed",
            "inferenceMethod": "test",
            "trust": "unreviewed_derived",
            "sources": sources,
            **changes,
        },
    )
