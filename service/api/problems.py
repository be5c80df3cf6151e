"""Refusals as RFC 9457 problem documents: the only place that knows a status code of an error.

A problem says what (`code`, stable, out of a closed list), why in one fixed sentence (`detail`), and which of the
caller's own fields or ids it is about (`details`). It never repeats a value that was sent, and a thing that is unknown
and a thing that is somebody else's give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field, JsonValue
from pydantic_core import to_jsonable_python
from starlette.exceptions import HTTPException

from graph import errors
from graph.clock import instant_to_text
from graph.records.model import RegisterResult
from graph.records.read import TombstoneView
from graph.vocabulary import ReasonCode
from service.api.models import Answer

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"
FAULTS_MAX: Final = 50
RETRY_AFTER_SECONDS: Final = "5"

# Every leaf of the error tree. A class that is not here is shown as the nearest one above it.
STATUS_BY_ERROR: Final[Mapping[type[errors.SequelaError], HTTPStatus]] = {
    errors.SequelaError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.Refused: HTTPStatus.CONFLICT,
    errors.InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.NotAuthenticated: HTTPStatus.UNAUTHORIZED,
    errors.NotAuthorized: HTTPStatus.FORBIDDEN,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.Blocked: HTTPStatus.CONFLICT,
    errors.Oversized: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.OutcomeUnknown: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.NotReady: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.PolicyInvalid: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.QueryInvalid: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.LocalServerError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
_CODE_WHERE_NONE: Final[Mapping[type[errors.SequelaError], ReasonCode]] = {
    errors.NotReady: ReasonCode.SERVICE_NOT_READY,
    errors.PolicyInvalid: ReasonCode.POLICY_INVALID,
}
# The verdicts of a registration carry a code where a single call would have raised.
_ERROR_BY_VERDICT: Final[Mapping[ReasonCode, type[errors.Refused]]] = {
    ReasonCode.TOMBSTONE_BLOCKED: errors.Blocked,
    ReasonCode.SOURCE_FENCED: errors.Blocked,
    ReasonCode.RECORD_IMMUTABLE: errors.Conflict,
    ReasonCode.SUPERSESSION_FORK: errors.Conflict,
    ReasonCode.DERIVATION_CYCLE: errors.Conflict,
    ReasonCode.STATE_CONFLICT: errors.Conflict,
    ReasonCode.TENANT_MIXING: errors.Conflict,
    ReasonCode.QUARANTINED_RECORD: errors.Conflict,
    ReasonCode.SOURCE_NOT_ELIGIBLE: errors.Conflict,
    ReasonCode.SOURCE_NOT_FOUND: errors.NotFound,
    ReasonCode.AUDIENCE_WIDENING: errors.NotAuthorized,
    ReasonCode.REQUESTER_UNAUTHORIZED: errors.NotAuthorized,
    ReasonCode.AUTHORITY_CLAIM: errors.NotAuthorized,
    ReasonCode.LIMIT_EXCEEDED: errors.Oversized,
}
# Told with nothing else: any detail would say whether the thing exists.
_BARE_CODES: Final = frozenset({ReasonCode.NOT_FOUND, ReasonCode.REQUESTER_UNAUTHORIZED})
_CODE_BY_STATUS: Final[Mapping[int, ReasonCode]] = {
    HTTPStatus.NOT_FOUND: ReasonCode.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED: ReasonCode.METHOD_NOT_ALLOWED,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ReasonCode.LIMIT_EXCEEDED,
}
_DETAIL_BY_STATUS: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: "the body could not be read",
    HTTPStatus.NOT_FOUND: "there is no such thing for this caller",
    HTTPStatus.METHOD_NOT_ALLOWED: "this address does not take that method",
    HTTPStatus.REQUEST_TIMEOUT: "the body did not arrive in time",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the body is larger than this address takes",
    HTTPStatus.UNPROCESSABLE_ENTITY: "the body is no JSON that can be read",
}
_INTERNAL_DETAIL: Final = "something went wrong in the service; the call may be repeated with the same Idempotency-Key"
# What pydantic may add to a fault without repeating a value that was sent.
_CONTEXT_ALLOWED: Final = ("max_length", "min_length", "ge", "gt", "le", "lt", "pattern")
_EXPECTED_OF: Final = frozenset({"enum", "literal_error"})
_UNPUBLISHED: Final = "*"


class Problem(Answer):
    """A refusal (RFC 9457). `code` is stable; `detail` is a fixed sentence; nothing in it repeats content."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "/docs#TOMBSTONE_BLOCKED",
                "title": "Tombstone blocked",
                "status": 409,
                "code": "TOMBSTONE_BLOCKED",
                "detail": "this record was deleted",
                "details": {},
            }
        }
    )

    type: Annotated[str, Field(description="Where the code is explained.")]
    title: Annotated[str, Field(description="The code in words.")]
    status: Annotated[int, Field(description="The HTTP status.")]
    code: Annotated[ReasonCode, Field(description="The stable reason code.")]
    detail: Annotated[str, Field(description="Why, in one fixed sentence.")]
    details: Annotated[dict[str, JsonValue], Field(description="Fields, ids, limits or codes that it is about.")]


class BodyTooLarge(HTTPException):
    """A request body went over the limit of its address."""

    def __init__(self, limit: str, bytes_max: int) -> None:
        super().__init__(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        self.details: dict[str, object] = {"limit": limit, "max": bytes_max}


class BodyTooSlow(HTTPException):
    """A request body stopped arriving."""

    def __init__(self, limit: str, seconds_max: float) -> None:
        super().__init__(HTTPStatus.REQUEST_TIMEOUT, headers={"Connection": "close"})
        self.details: dict[str, object] = {"limit": limit, "max": seconds_max}


class UnreadableBody(HTTPException):
    """A request body is no strict JSON."""

    def __init__(self, error: errors.InvalidInput) -> None:
        super().__init__(STATUS_BY_ERROR[errors.InvalidInput])
        self.details: dict[str, object] = error.details


def problem_response(
    status: int,
    code: ReasonCode,
    detail: str,
    details: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """A problem document as an answer."""
    document = Problem(
        type=f"/docs#{code.value}",
        title=code.value.replace("_", " ").capitalize(),
        status=status,
        code=code,
        detail=detail,
        details=_json_safe({} if code in _BARE_CODES else details or {}),
    )
    response = JSONResponse(
        document.model_dump(mode="json"), status, dict(headers or {}), media_type=PROBLEM_MEDIA_TYPE
    )
    response.headers["Sequela-Reason-Code"] = code.value
    return response


def error_response(error: errors.SequelaError) -> JSONResponse:
    """The answer to an error of the domain."""
    nearest = next(known for known in type(error).__mro__ if known in STATUS_BY_ERROR)
    status = STATUS_BY_ERROR[nearest]
    code = error.code or _CODE_WHERE_NONE.get(nearest, ReasonCode.INTERNAL_FAULT)
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        # Messages of these name parts of the service, which are no caller's business.
        return problem_response(status, code, _INTERNAL_DETAIL)
    headers: dict[str, str] = {}
    if status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="sequela"'
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    detail = _DETAIL_BY_STATUS[HTTPStatus.NOT_FOUND] if code is ReasonCode.NOT_FOUND else error.message
    return problem_response(status, code, detail, error.details, headers)


def unexpected_response() -> JSONResponse:
    """The answer to an exception that nobody foresaw: it tells nothing of it."""
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, ReasonCode.INTERNAL_FAULT, _INTERNAL_DETAIL)


def verdict_error(result: RegisterResult) -> errors.Refused:
    """The error that the refusal of one record stands for."""
    code = result.code or ReasonCode.STATE_CONFLICT
    details = {key: value for key, value in result.details.items() if key != "message"}
    message = str(result.details.get("message", "the record was refused"))
    return _ERROR_BY_VERDICT.get(code, errors.InvalidInput)(message, code=code, details=details)


def tombstone_response(tombstone: TombstoneView) -> JSONResponse:
    """The answer to a read of a deleted record: when, why and under which policy, and nothing of what it was."""
    return problem_response(
        HTTPStatus.GONE,
        ReasonCode.DELETED_RECORD,
        "this record was deleted",
        {
            "deletedAt": instant_to_text(tombstone.deleted_at),
            "reasonCode": tombstone.reason_code,
            "policyRef": tombstone.policy_ref,
        },
    )


def problems(*kinds: type[errors.SequelaError], gone: bool = False) -> dict[int | str, dict[str, Any]]:
    """What an operation's description says of its refusals; every operation can also give those of any call."""
    any_call = (errors.NotAuthenticated, errors.NotAuthorized, errors.InvalidInput, errors.Unavailable)
    statuses = {STATUS_BY_ERROR[kind] for kind in (*any_call, *kinds)} | {HTTPStatus.INTERNAL_SERVER_ERROR}
    if gone:
        statuses.add(HTTPStatus.GONE)
    return problems_of(statuses)


def problems_of(statuses: Iterable[HTTPStatus]) -> dict[int | str, dict[str, Any]]:
    """The description of problem answers with these statuses."""
    return {
        status.value: {
            "description": status.phrase,
            "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted(statuses)
    }


def install(app: FastAPI) -> None:
    """Make every refusal of `app` a problem document."""
    app.add_exception_handler(errors.SequelaError, _on_domain_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_error)


def _on_domain_error(_request: Request, error: Exception) -> JSONResponse:
    return error_response(cast("errors.SequelaError", error))


def _on_http_error(_request: Request, error: Exception) -> JSONResponse:
    raised = cast("HTTPException", error)
    status = HTTPStatus(raised.status_code)
    return problem_response(
        status,
        _CODE_BY_STATUS.get(status, ReasonCode.MALFORMED_INPUT),
        _DETAIL_BY_STATUS.get(status, status.phrase),
        cast("Mapping[str, object]", getattr(raised, "details", {})),
        raised.headers,
    )


def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    raised = cast("Sequence[Mapping[str, Any]]", cast("RequestValidationError", error).errors())
    published = published_names(request.app.openapi())
    faults = [fault_of(item, published) for item in raised[:FAULTS_MAX]]
    keyless = any(fault["path"] == "header.Idempotency-Key" for fault in faults)
    details: dict[str, object] = {"faults": faults}
    if len(raised) > FAULTS_MAX:
        details |= {"faultsOmitted": len(raised) - FAULTS_MAX}
    return problem_response(
        STATUS_BY_ERROR[errors.InvalidInput],
        ReasonCode.IDEMPOTENCY_KEY_REQUIRED if keyless else ReasonCode.MALFORMED_INPUT,
        "a call that changes something needs an Idempotency-Key of 1 to 255 characters"
        if keyless
        else "the request is not of the published form",
        details,
    )


def fault_of(item: Mapping[str, Any], published: frozenset[str]) -> dict[str, object]:
    """One fault of a request: where and what kind, without the value.

    Args:
        item: an error as pydantic tells it.
        published: the names that the contract publishes; any other segment of a path came from the caller, and is
            shown as `*`.
    """
    segments = cast("Sequence[str | int]", item["loc"])
    path = ".".join(
        str(segment) if isinstance(segment, int) or segment in published else _UNPUBLISHED for segment in segments
    )
    context = cast("Mapping[str, object]", item.get("ctx") or {})
    allowed = (*_CONTEXT_ALLOWED, "expected") if item["type"] in _EXPECTED_OF else _CONTEXT_ALLOWED
    return {"path": path, "reason": item["type"], **{key: context[key] for key in allowed if key in context}}


def published_names(contract: Mapping[str, Any]) -> frozenset[str]:
    """Every name of a field, parameter or place that the contract publishes."""
    names = {"body", "header", "query", "path"}
    for schema in contract["components"]["schemas"].values():
        names.update(schema.get("properties", {}))
    for operations in contract["paths"].values():
        for operation in operations.values():
            names.update(parameter["name"] for parameter in operation.get("parameters", ()))
    return frozenset(names)


def _json_safe(details: Mapping[str, object]) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", to_jsonable_python(details, fallback=lambda value: type(value).__name__))
