"""The outermost layer of the API: gives each call an id, writes its one log line, and lets no exception past it."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph.clock import Clock
from graph.ids import Ids
from service.api.problems import unexpected_response
from service.telemetry import EventLog, Field, exception_fields

REQUEST_ID_HEADER: Final = "Sequela-Request-Id"
REASON_CODE_HEADER: Final = "Sequela-Reason-Code"
_MICROSECONDS_A_MILLISECOND: Final = 1_000


class Boundary:
    """ASGI middleware around everything else.

    The log line holds the route's template, never the path or the query that came; what came is the caller's text.
    """

    def __init__(self, app: ASGIApp, *, clock: Clock, ids: Ids, log: EventLog) -> None:
        self._app = app
        self._clock = clock
        self._ids = ids
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, self._ids.new())
        started_at = self._clock.now()
        failure: dict[str, Field] = {}
        try:
            await self._app(scope, receive, answer.send)
        except ClientDisconnect:
            failure = {"exception": ClientDisconnect.__name__}
        except Exception as error:  # noqa: BLE001 - the last place before the server, which would print the message
            failure = exception_fields(error)
            if answer.status is None:
                await unexpected_response()(scope, receive, answer.send)
        route: object = getattr(scope.get("route"), "path", None)
        write = self._log.error if failure else self._log.info
        fields: dict[str, Field] = {
            "requestId": answer.request_id,
            "method": str(scope["method"]),
            "route": route if isinstance(route, str) else None,
            "status": answer.status,
            "code": answer.code,
            "duration_ms": (self._clock.now() - started_at) / _MICROSECONDS_A_MILLISECOND,
        }
        write("request", **(fields | {key: value for key, value in failure.items() if value is not None}))


class _Answer:
    """Watches an answer go out, and puts on it what every answer carries."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status: int | None = None
        self.code: str | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            headers = MutableHeaders(scope=message)
            self.code = headers.get(REASON_CODE_HEADER)
            headers[REQUEST_ID_HEADER] = self.request_id
            # Answers hold what one caller may see for one purpose: nobody in between keeps them.
            headers.setdefault("Cache-Control", "no-store")
            headers["X-Content-Type-Options"] = "nosniff"
        await self._send(message)
