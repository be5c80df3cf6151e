"""Registering and reading records."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from typing import Annotated, BinaryIO, Final, cast

import anyio.from_thread
from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.types import Message

from graph.envelope import RecordInput
from graph.errors import Blocked, Conflict, NotFound, Oversized
from graph.records.model import RegisterStatus
from graph.records.read import TombstoneView, read_content, read_record
from graph.records.relate import Relation, relate
from graph.vocabulary import ReasonCode
from service.api.access import ApplicationHere, CallerHere, GatedRoute, GatedStreamRoute, IdempotencyKey
from service.api.models import (
    DrawnRelation,
    Record,
    RecordContent,
    RecordName,
    Registration,
    RelationInput,
    ResolvedName,
)
from service.api.problems import problems, tombstone_response, verdict_error
from service.formats.ndjson import import_lines, split_lines

NDJSON_MEDIA_TYPE: Final = "application/x-ndjson"
# Verdicts of a batch are kept in memory up to this size and in a temporary file beyond it.
_VERDICTS_IN_MEMORY_BYTES: Final = 1_048_576
_COPY_BYTES: Final = 65_536
# One is read and judged while one is put together and one is in the database.
_BATCHES_AHEAD: Final = 2
_STATUS_OF: Final = {
    RegisterStatus.CREATED: HTTPStatus.CREATED,
    RegisterStatus.UNCHANGED: HTTPStatus.OK,
    RegisterStatus.QUARANTINED: HTTPStatus.ACCEPTED,
}

router = APIRouter(route_class=GatedRoute, tags=["records"])
stream_router = APIRouter(route_class=GatedStreamRoute, tags=["records"])


def _verdict_file() -> Iterator[BinaryIO]:
    """Where the verdicts of a batch wait; closed when the answer was sent, or could not be."""
    with tempfile.SpooledTemporaryFile(max_size=_VERDICTS_IN_MEMORY_BYTES) as file:
        yield cast("BinaryIO", file)


VerdictFile = Annotated[BinaryIO, Depends(_verdict_file)]
RecordId = Annotated[str, Path(max_length=64, examples=["8f14e45f-ceea-867a-9b1f-7d3a2c5e9a10"])]


@router.post(
    "/v1/records",
    status_code=HTTPStatus.CREATED,
    response_model_exclude_none=True,
    responses={
        HTTPStatus.OK.value: {"model": Registration, "description": "The same record was there already."},
        HTTPStatus.ACCEPTED.value: {"model": Registration, "description": "Kept in quarantine, with the reasons."},
        **problems(NotFound, Conflict, Blocked, Oversized),
    },
)
def register_record(
    record: RecordInput, application: ApplicationHere, caller: CallerHere, key: IdempotencyKey, response: Response
) -> Registration:
    """Register one record with the edges to its sources.

    A record with a name is the same record whenever that name comes again; for one without, the Idempotency-Key is
    what a repeat is known by.
    """
    result = application.registrar.register([record], caller, repeat_keys=[key])[0]
    if result.status is RegisterStatus.REFUSED:
        if record.name is None and result.code is ReasonCode.RECORD_IMMUTABLE:
            raise Conflict("another record was registered with this key", code=ReasonCode.IDEMPOTENCY_KEY_REUSED)
        raise verdict_error(result)
    response.status_code = _STATUS_OF[result.status]
    response.headers["Location"] = f"/v1/records/{result.identity}"
    return Registration.of(result)


@stream_router.post(
    "/v1/records:batch",
    response_class=StreamingResponse,
    responses={
        HTTPStatus.OK.value: {
            "description": "One JSON object for each line that came, in order.",
            "content": {
                NDJSON_MEDIA_TYPE: {
                    "schema": {"type": "string"},
                    "example": '{"line":1,"status":"created","recordId":"8f14e45f-ceea-867a-9b1f-7d3a2c5e9a10"}\n',
                }
            },
        },
        **problems(Oversized),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {NDJSON_MEDIA_TYPE: {"schema": {"type": "string"}, "example": '{"name":"manual/4"}\n'}},
        }
    },
)
def register_batch(
    request: Request, application: ApplicationHere, caller: CallerHere, key: IdempotencyKey, verdicts: VerdictFile
) -> StreamingResponse:
    """Register records out of a stream of NDJSON, in bounded memory; each line gets a verdict of its own.

    The verdicts come once the whole stream was read: a client that first writes and then reads never waits for ever.
    Where the service stops answering half way, the answer is a problem and no verdicts; the whole stream may be sent
    again with the same key, and what was settled then is `unchanged`.
    """
    lines = split_lines(_chunks(request))
    for result in import_lines(lines, application.registrar, caller, key=key, batches_ahead=_BATCHES_AHEAD):
        verdicts.write(to_json(result.as_json()) + b"\n")
    verdicts.seek(0)
    return StreamingResponse(iter(lambda: verdicts.read(_COPY_BYTES), b""), media_type=NDJSON_MEDIA_TYPE)


@router.post("/v1/records:resolve", responses=problems(Oversized))
def resolve_name(name: RecordName, application: ApplicationHere, caller: CallerHere) -> ResolvedName:
    """The id of a name in the caller's tenant. Names are content, so they travel in bodies and never in addresses."""
    return ResolvedName(record_id=application.keys.identity(caller.tenant_id, name.name, scope=name.scope))


@router.get("/v1/records/{record_id}", response_model=Record, responses=problems(NotFound, gone=True))
def get_record(record_id: RecordId, application: ApplicationHere, caller: CallerHere) -> Record | Response:
    """A record's envelope, without its content; of a deleted one, when and why it went."""
    view = read_record(application.database, caller, record_id)
    return tombstone_response(view) if isinstance(view, TombstoneView) else Record.of(view)


@router.get("/v1/records/{record_id}/content", responses=problems(NotFound))
def get_content(record_id: RecordId, application: ApplicationHere, caller: CallerHere) -> RecordContent:
    """A record's content."""
    return RecordContent(record_id=record_id, content=read_content(application.database, caller, record_id))


@router.post("/v1/records/{record_id}/relations", responses=problems(NotFound, Conflict, Blocked))
def draw_relation(
    record_id: RecordId,
    relation: RelationInput,
    application: ApplicationHere,
    caller: CallerHere,
    _key: IdempotencyKey,
) -> DrawnRelation:
    """Join two records by a relation; drawing it again changes nothing."""
    relate(application.database, application.policy, caller, Relation(record_id, relation.edge, relation.target))
    return DrawnRelation(record_id=record_id, edge=relation.edge, target=relation.target)


def _chunks(request: Request) -> Iterator[bytes]:
    """A body as it comes; runs in a worker thread."""
    more = True
    while more:
        message = anyio.from_thread.run(_received, request)
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = bool(message.get("more_body", False))
        yield message.get("body", b"")


async def _received(request: Request) -> Message:
    return await request.receive()
