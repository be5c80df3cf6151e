"""Whether the process answers, and whether it can do its work. Neither needs a key, and neither tells of data."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter

from graph.database.journaling import is_behind
from graph.database.schema import missing_schema
from graph.errors import NotReady
from graph.vocabulary import ReasonCode
from service.api.access import ApplicationHere
from service.api.models import Live, Ready
from service.api.problems import problems_of
from service.bootstrap import Application

router = APIRouter(tags=["health"])


@router.get("/health/live")
def live() -> Live:
    """The process answers."""
    return Live()


@router.get(
    "/health/ready",
    responses=problems_of({HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.INTERNAL_SERVER_ERROR}),
)
def ready(application: ApplicationHere) -> Ready:
    """Schema, identity key and policy are the database's, and its journal is gone through; otherwise which is not."""
    if lacking := _lacking(application):
        raise NotReady(
            "the service cannot do its work yet", code=ReasonCode.SERVICE_NOT_READY, details={"lacking": lacking}
        )
    return Ready(policy_id=application.policy.policy_id)


def _lacking(application: Application) -> list[str]:
    pairing = application.database.read("get_pairing", policyId=application.policy.policy_id)[0]
    checks = {
        "schema": _has_schema(application),
        "identity_key": pairing.text_or_none("checkValue") == application.keys.check_value(),
        "policy": pairing.text_or_none("policyDigest") == application.policy.digest,
        "journal": not is_behind(application.database, application.journal),
    }
    return [name for name, passed in checks.items() if not passed]


def _has_schema(application: Application) -> bool:
    try:
        return not missing_schema(application.database)
    except NotReady:
        return False
