"""Holds, and the ledger of what stayed and why."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path

from graph.deletion.model import HoldInput
from graph.errors import Blocked, Conflict, NotFound
from service.api.access import ApplicationHere, CallerHere, GatedRoute, IdempotencyKey
from service.api.deletion_models import ExceptionItem, ExceptionItems, Hold
from service.api.deletions import OUTCOMES_PAGE_DEFAULT, Cursor, PageSize
from service.api.problems import problems

router = APIRouter(route_class=GatedRoute, tags=["holds"])
HoldId = Annotated[str, Path(max_length=64, examples=["0198f2a5-01aa-7b4e-9d2f-5f8e2b7c6d10"])]


@router.post("/v1/holds", status_code=HTTPStatus.CREATED, responses=problems(NotFound, Conflict, Blocked))
def place_hold(hold: HoldInput, application: ApplicationHere, caller: CallerHere, key: IdempotencyKey) -> Hold:
    """Keep records from being removed, under an exception type that its owner has declared."""
    return Hold.of(application.holds.place(hold, caller, key))


@router.post("/v1/holds/{hold_id}/release", responses=problems(NotFound, Conflict))
def release_hold(hold_id: HoldId, application: ApplicationHere, caller: CallerHere, _key: IdempotencyKey) -> Hold:
    """End a hold; deletions that it stopped go on by themselves."""
    return Hold.of(application.holds.release(hold_id, caller))


@router.get("/v1/exceptions", responses=problems())
def list_exceptions(
    application: ApplicationHere,
    caller: CallerHere,
    page_size: PageSize = OUTCOMES_PAGE_DEFAULT,
    cursor: Cursor = None,
) -> ExceptionItems:
    """Everything that stayed or failed, on which authority, and who answers for it."""
    page = application.holds.exceptions(caller, page_size=page_size, cursor=cursor)
    return ExceptionItems(items=[ExceptionItem.of(item) for item in page.items], next_cursor=page.next_cursor)
