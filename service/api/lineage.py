"""Following records to what came of them and to what they came from."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from graph.errors import NotFound, Oversized
from graph.lineage.model import DEPTH_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, Asked, Direction
from graph.vocabulary import EdgeType
from service.api.access import ApplicationHere, CallerHere, GatedRoute
from service.api.lineage_models import History, LineageCounts, LineagePage, Routes
from service.api.problems import problems
from service.api.records import RecordId

EDGES_MAX = len(EdgeType)
KINDS_MAX = 64

router = APIRouter(route_class=GatedRoute, tags=["lineage"])
IncludeDeleted = Annotated[
    bool, Query(alias="includeDeleted", description="Show what the own tenant deleted, and walk through it.")
]


@router.get("/v1/records/{record_id}/lineage", responses=problems(NotFound, Oversized))
def walk(
    record_id: RecordId,
    application: ApplicationHere,
    caller: CallerHere,
    *,
    direction: Direction = Direction.DOWNSTREAM,
    depth: Annotated[int | None, Query(ge=0, le=DEPTH_MAX, description="How many levels; all where not given.")] = None,
    edge: Annotated[list[EdgeType] | None, Query(max_length=EDGES_MAX, description="Edge types to follow.")] = None,
    kind: Annotated[list[str] | None, Query(max_length=KINDS_MAX, description="Show these kinds alone.")] = None,
    include_deleted: IncludeDeleted = False,
    counts: Annotated[Literal["only"] | None, Query(description="Numbers by depth and kind in place of ids.")] = None,
    page_size: Annotated[int, Query(alias="pageSize", ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE_DEFAULT,
    cursor: Annotated[str | None, Query(max_length=4_096, description="`nextCursor` of the page before.")] = None,
) -> LineagePage | LineageCounts:
    """What came of a record, or what it came from, with a receipt of how whole the answer is."""
    asked: Asked = {
        "direction": direction,
        "depth_max": depth,
        "edge_types": edge,
        "kinds": kind,
        "include_deleted": include_deleted,
    }
    if counts == "only":
        return LineageCounts.of(application.lineage.counts(caller, record_id, **asked))
    page = application.lineage.walk(caller, record_id, page_size=page_size, cursor=cursor, **asked)
    return LineagePage.of(page)


@router.get("/v1/records/{record_id}/routes", responses=problems(NotFound, Oversized))
def count_routes(
    record_id: RecordId,
    application: ApplicationHere,
    caller: CallerHere,
    to: Annotated[str, Query(max_length=64, description="The id of the derivative.")],
    *,
    include_deleted: IncludeDeleted = False,
) -> Routes:
    """In how many ways a derivative hangs on this record, with a shortest way for each edge that enters it."""
    return Routes.of(application.lineage.routes(caller, record_id, to, include_deleted=include_deleted))


@router.get("/v1/records/{record_id}/history", responses=problems(NotFound, Oversized))
def get_history(
    record_id: RecordId, application: ApplicationHere, caller: CallerHere, *, include_deleted: IncludeDeleted = False
) -> History:
    """The versions of a record, oldest first, and which is current."""
    return History.of(application.lineage.history(caller, record_id, include_deleted=include_deleted))
