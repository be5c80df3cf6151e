"""The gate before every operation: who calls, for which tenant and purpose, and how much of a body is read.

It stands before the body: a caller without a key gets no further than their headers.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, cast

import anyio
from fastapi import Depends, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import JsonValue
from starlette.types import Message, Receive

from graph.access import Caller
from graph.errors import InvalidInput
from service.api.problems import BodyTooLarge, BodyTooSlow, UnreadableBody
from service.auth import authenticate
from service.bootstrap import Application
from service.formats.json_text import read_json

IDEMPOTENCY_KEY_CHARACTERS_MAX: Final = 255


@dataclass(frozen=True)
class Limits:
    """How large and how slow a request body may be."""

    body_bytes_max: int = 4 * 1_048_576
    batch_bytes_max: int = 1_024 * 1_048_576
    chunk_seconds_max: float = 30.0


async def application_of(request: Request) -> Application:
    """The application behind the API. Never waits: `async` spares a change of thread."""
    return cast("Application", request.app.state.application)


async def caller_of(
    request: Request,
    _bearer: Annotated[
        HTTPAuthorizationCredentials | None,
        Depends(HTTPBearer(auto_error=False, scheme_name="apiKey", description="An API key: sqk_<key id>_<secret>")),
    ],
    _tenant_id: Annotated[
        str, Header(alias="Sequela-Tenant", description="The tenant to act in.", examples=["tenant-a"])
    ],
    _purpose: Annotated[
        str, Header(alias="Sequela-Purpose", description="What the call is for.", examples=["maintenance"])
    ],
) -> Caller:
    """The caller that the gate let in; the headers stand here for the contract. Never waits."""
    return cast("Caller", request.state.caller)


ApplicationHere = Annotated[Application, Depends(application_of)]
CallerHere = Annotated[Caller, Depends(caller_of)]
IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=IDEMPOTENCY_KEY_CHARACTERS_MAX,
        description="Chosen by the caller; a repeat with the same key does nothing a second time.",
        examples=["2f6c1f9e-registration-1"],
    ),
]


class GatedRoute(APIRoute):
    """A route behind the gate, whose body is read whole."""

    body_limit: ClassVar[str] = "body_bytes_max"

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, reached only by callers who are known."""
        handle = super().get_route_handler()

        async def gated(request: Request) -> Response:
            application = await application_of(request)
            request.state.caller = await run_in_threadpool(
                authenticate,
                application.database,
                application.policy.shared_source_scopes,
                authorization=request.headers.get("Authorization"),
                tenant_id=request.headers.get("Sequela-Tenant"),
                purpose=request.headers.get("Sequela-Purpose"),
            )
            return await handle(_StrictRequest(request.scope, _limited(request, self.body_limit)))

        return gated


class GatedStreamRoute(GatedRoute):
    """A route behind the gate, whose body may be long and is read as it comes."""

    body_limit: ClassVar[str] = "batch_bytes_max"


def _limited(request: Request, limit: str) -> Receive:
    """`request`'s way to receive, ended where the body is too large or stops coming."""
    limits = cast("Limits", request.app.state.limits)
    bytes_max = int(getattr(limits, limit))
    declared = request.headers.get("Content-Length", "")
    received = 0

    async def receive() -> Message:
        nonlocal received
        if declared.isdecimal() and int(declared) > bytes_max:
            raise BodyTooLarge(limit, bytes_max)
        try:
            with anyio.fail_after(limits.chunk_seconds_max):
                message = await request.receive()
        except TimeoutError:
            raise BodyTooSlow("chunk_seconds_max", limits.chunk_seconds_max) from None
        received += len(message.get("body", b""))
        if received > bytes_max:
            raise BodyTooLarge(limit, bytes_max)
        return message

    return receive


class _StrictRequest(Request):
    """Reads JSON that means one thing, with the reader that imports use."""

    async def json(self) -> JsonValue:
        body = await self.body()
        try:
            return read_json(body).value
        except InvalidInput as error:
            raise UnreadableBody(error) from None
