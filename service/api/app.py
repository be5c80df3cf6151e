"""The API as one application: gate, routes, refusals, log."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.api import deletions, docs, health, holds, lineage, records
from service.api.access import Limits
from service.api.boundary import Boundary
from service.api.problems import Problem, install
from service.bootstrap import Application
from service.telemetry import EventLog, event_log

_DESCRIPTION: Final = """What follows from a record, and what becomes of each of it when the record is deleted.

Every call carries an API key (`Authorization: Bearer sqk_…`), the tenant to act in (`Sequela-Tenant`) and what it is
for (`Sequela-Purpose`). Every call that changes something carries an `Idempotency-Key`. Every refusal is a problem
document with a stable `code`; it never repeats what was sent, and what is unknown and what is somebody else's look the
same.
"""


def create_app(application: Application, *, log: EventLog | None = None, limits: Limits | None = None) -> FastAPI:
    """Put the API together around an application.

    Args:
        application: does the work.
        log: takes one line for each call; standard error where not given.
        limits: how large and how slow a body may be.
    """
    app = FastAPI(
        title="Sequela",
        version=version("sequela"),
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Its spans carry raw paths and its logs carry exception texts.
        telemetry={"auto_configure": False, "tracing": False, "metrics": False, "logs": False},
    )
    app.state.application = application
    app.state.limits = limits or Limits()
    log = log or event_log(application.clock)
    app.add_middleware(Boundary, clock=application.clock, ids=application.ids, log=log)
    install(app)
    for router in (
        records.router,
        records.stream_router,
        lineage.router,
        deletions.router,
        holds.router,
        health.router,
        docs.router,
    ):
        app.include_router(router)
    app.openapi = lambda: _contract(app)
    return app


def _contract(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the problem document that every refusal is, and its reason codes."""
    if app.openapi_schema is None:
        contract = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schema = Problem.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
        schemas = contract["components"]["schemas"]
        schemas.update(schema.pop("$defs"))
        schemas["Problem"] = schema
        app.openapi_schema = contract
    return app.openapi_schema
