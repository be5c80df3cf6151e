"""Filing deletions, and following what becomes of each derivative."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from graph.deletion.model import DeletionInput
from graph.errors import Blocked, Conflict, NotFound, Oversized
from service.api.access import ApplicationHere, CallerHere, GatedRoute, IdempotencyKey
from service.api.deletion_models import Deletion, DeletionPreview, OutcomeItem, OutcomeItems
from service.api.problems import problems

OUTCOMES_PAGE_DEFAULT = 100
OUTCOMES_PAGE_MAX = 1_000

router = APIRouter(route_class=GatedRoute, tags=["deletions"])
RequestId = Annotated[str, Path(max_length=64, examples=["0198f2a4-6f0e-7c3a-8d11-0c8a5a1f2b3c"])]
PageSize = Annotated[int, Query(alias="pageSize", ge=1, le=OUTCOMES_PAGE_MAX)]
Cursor = Annotated[str | None, Query(max_length=4_096, description="`nextCursor` of the page before.")]


@router.post(
    "/v1/deletions",
    status_code=HTTPStatus.ACCEPTED,
    response_model_exclude_none=True,
    responses=problems(NotFound, Conflict, Blocked, Oversized),
)
def file_deletion(
    deletion: DeletionInput, application: ApplicationHere, caller: CallerHere, key: IdempotencyKey, response: Response
) -> Deletion:
    """File a deletion. It is durable when this answers, and carried out by the workers afterwards.

    A digest of a preview makes it do exactly what the preview said, or be refused (`PREVIEW_STALE`).
    """
    view = application.deletions.file(deletion, caller, key)
    response.headers["Location"] = f"/v1/deletions/{view.request_id}"
    return Deletion.of(view)


@router.post("/v1/deletions/preview", responses=problems(NotFound, Conflict, Oversized))
def preview_deletion(deletion: DeletionInput, application: ApplicationHere, caller: CallerHere) -> DeletionPreview:
    """What a deletion would do now, derivative by derivative; nothing is changed."""
    return DeletionPreview.of(application.deletions.preview(deletion, caller))


@router.get("/v1/deletions/{request_id}", response_model_exclude_none=True, responses=problems(NotFound))
def get_deletion(request_id: RequestId, application: ApplicationHere, caller: CallerHere) -> Deletion:
    """A request as it stands, with the five outcomes counted each by itself."""
    return Deletion.of(application.deletions.view(request_id, caller))


@router.get("/v1/deletions/{request_id}/outcomes", responses=problems(NotFound))
def list_outcomes(
    request_id: RequestId,
    application: ApplicationHere,
    caller: CallerHere,
    page_size: PageSize = OUTCOMES_PAGE_DEFAULT,
    cursor: Cursor = None,
) -> OutcomeItems:
    """What became of each record and derivative in each store."""
    page = application.deletions.outcomes(request_id, caller, page_size=page_size, cursor=cursor)
    return OutcomeItems(items=[OutcomeItem.of(item) for item in page.items], next_cursor=page.next_cursor)


@router.get(
    "/v1/deletions/{request_id}/receipt",
    response_class=Response,
    responses={
        HTTPStatus.OK.value: {
            "description": "The receipt, canonical JSON (RFC 8785), always the same bytes.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        },
        **problems(NotFound, Conflict),
    },
)
def get_receipt(request_id: RequestId, application: ApplicationHere, caller: CallerHere) -> Response:
    """What was done, under which policy, and where the reach of this service ends. Only of a request that has ended."""
    return Response(application.deletions.receipt(request_id, caller), media_type="application/json")


@router.post(
    "/v1/deletions/{request_id}/retry",
    status_code=HTTPStatus.ACCEPTED,
    response_model_exclude_none=True,
    responses=problems(NotFound, Conflict),
)
def retry_deletion(
    request_id: RequestId, application: ApplicationHere, caller: CallerHere, _key: IdempotencyKey
) -> Deletion:
    """Try what is open or failed again, now. Of a request that has completed this changes nothing."""
    return Deletion.of(application.deletions.retry(request_id, caller))
