"""The answers of the API, as its contract publishes them: camelCase, instants in RFC 3339 UTC.

Requests are the domain's own inputs (`RecordInput`, `DeletionInput`, `HoldInput`) and the few small ones below.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from graph.records.model import RegisterResult, RegisterStatus
from graph.records.read import RecordView
from graph.vocabulary import RELATION_EDGES, EdgeType, ReasonCode

RecordIdText = Annotated[str, Field(examples=["8f14e45f-ceea-867a-9b1f-7d3a2c5e9a10"])]
Instant = Annotated[str, Field(examples=["2026-03-02T09:00:00.000000Z"])]


class Answer(BaseModel):
    """What every body of the API has in common."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")


class Fault(Answer):
    """A demand that a record's envelope does not meet."""

    code: ReasonCode
    field: Annotated[str, Field(examples=["ownerId"])]


class Registration(Answer):
    """What became of a record that was to be registered."""

    record_id: RecordIdText
    status: Annotated[RegisterStatus, Field(examples=["created"])]
    quarantine_reasons: Annotated[
        list[Fault] | None, Field(description="Why it serves nobody until somebody has looked at it.")
    ] = None

    @classmethod
    def of(cls, result: RegisterResult) -> Registration:
        """From the verdict of the registrar."""
        return cls.model_validate(
            {
                "recordId": result.identity,
                "status": result.status,
                "quarantineReasons": result.details.get("quarantineReasons"),
            }
        )


class Record(Answer):
    """A record without its content."""

    record_id: RecordIdText
    envelope: Annotated[
        dict[str, JsonValue], Field(description="What its producer stated, and what the service added and read now.")
    ]
    eligible: Annotated[bool, Field(description="Whether it may be used at all now.")]
    ineligible_because: Annotated[list[str], Field(description="Why not, where it may not.")]
    neighbours_whole: Annotated[
        bool, Field(description="Whether sources and downstreamRefs of the envelope list every neighbour.")
    ]

    @classmethod
    def of(cls, view: RecordView) -> Record:
        """From what the graph shows."""
        return cls(
            record_id=view.identity,
            envelope=dict(view.envelope),
            eligible=view.eligible,
            ineligible_because=list(view.ineligible_because),
            neighbours_whole=view.neighbours_complete,
        )


class RecordContent(Answer):
    """The content of a record."""

    record_id: RecordIdText
    content: JsonValue


class RecordName(Answer):
    """A producer's own name for a record, in the scope that it was registered under. Compared in NFC, else exactly."""

    name: Annotated[str, Field(min_length=1, examples=["manual/4"])]
    scope: Annotated[str, Field(max_length=512, description="The scope that it was registered under.")] = ""


class ResolvedName(Answer):
    """The id that a name has in the caller's tenant, whether or not anything was ever registered under it."""

    record_id: RecordIdText


class RelationInput(Answer):
    """An edge between two records that exist. Derivation comes only with a derivative's own registration."""

    edge: Annotated[EdgeType, Field(description=", ".join(RELATION_EDGES), examples=["CONTRADICTS"])]
    target: RecordIdText


class DrawnRelation(RelationInput):
    """An edge that is there now."""

    record_id: RecordIdText


class Live(Answer):
    """The process answers."""

    status: Literal["live"] = "live"


class Ready(Answer):
    """The service can do its work."""

    status: Literal["ready"] = "ready"
    policy_id: str
