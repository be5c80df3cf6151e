"""The documentation page: the contract as one HTML page without scripts, so no key is typed into foreign code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from graph.vocabulary import ReasonCode

_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.5rem;border-bottom:1px solid #d0d7de}
details{border:1px solid #d0d7de;border-radius:6px;margin:.5rem 0;padding:.5rem .8rem}summary{cursor:pointer}
code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f6f8fa;padding:.8rem;overflow:auto;max-height:24rem}
.verb{display:inline-block;min-width:3.4rem;font-weight:600}table{border-collapse:collapse}
td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0}:target{background:#fff3bf}
"""
_HEADERS: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"}

router = APIRouter(include_in_schema=False)


@router.get("/")
def entrance() -> RedirectResponse:
    """Whoever opens the address in a browser finds the page."""
    return RedirectResponse("/docs")


@router.get("/docs", response_class=HTMLResponse)
def documentation(request: Request) -> HTMLResponse:
    """The contract for people; `/openapi.json` is the same for machines."""
    return HTMLResponse("".join(_page(request.app.openapi())), headers=_HEADERS)


def _page(contract: Mapping[str, Any]) -> Iterator[str]:
    title = escape(contract["info"]["title"])
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>"
    yield f"<h1>{title} {escape(contract['info']['version'])}</h1>"
    yield from _paragraphs(contract["info"]["description"])
    yield "<p><a href=/openapi.json>openapi.json</a> · <a href=#codes>reason codes</a> · <a href=#shapes>shapes</a></p>"
    yield from _operations(contract["paths"])
    yield "<h2 id=shapes>Shapes</h2>"
    for name, schema in sorted(contract["components"]["schemas"].items()):
        yield f"<details id='shape-{escape(name)}'><summary>{escape(name)}</summary>{_members(schema)}</details>"
    yield "<h2 id=codes>Reason codes</h2><p>"
    yield " ".join(f"<code id={code.value}>{code.value}</code>" for code in ReasonCode)
    yield "</p></html>"


def _operations(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    area = ""
    for path, operations in paths.items():
        for verb, operation in operations.items():
            if operation["tags"][0] != area:
                area = operation["tags"][0]
                yield f"<h2>{escape(area.capitalize())}</h2>"
            yield f"<details><summary><span class=verb>{verb.upper()}</span> <code>{escape(path)}</code></summary>"
            yield from _paragraphs(operation.get("description", ""))
            yield _parameters(operation.get("parameters", []))
            for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
                yield f"<p>Body: <code>{escape(media_type)}</code></p>{_body(body)}"
            yield _answers(operation["responses"])
            yield "</details>"


def _parameters(parameters: list[Mapping[str, Any]]) -> str:
    rows = (
        f"<tr><td><code>{escape(parameter['name'])}</code><td>{escape(parameter['in'])}"
        f"<td>{'required' if parameter.get('required') else ''}<td>{_inline(parameter.get('description', ''))}"
        for parameter in parameters
    )
    return f"<table><tr><th>parameter<th>in<th><th>{''.join(rows)}</table>" if parameters else ""


def _answers(responses: Mapping[str, Mapping[str, Any]]) -> str:
    rows = (
        f"<tr><td><code>{escape(status)}</code><td>{_inline(response['description'])}<td>{_shape(response)}"
        for status, response in sorted(responses.items())
    )
    return f"<table><tr><th>answer<th><th>{''.join(rows)}</table>"


def _shape(response: Mapping[str, Any]) -> str:
    for body in response.get("content", {}).values():
        if "$ref" in body.get("schema", {}):
            return _type(body["schema"])
    return ""


def _body(body: Mapping[str, Any]) -> str:
    """The shape of a body; a body that is no JSON has a description instead."""
    schema = body["schema"]
    return f"<p>{_type(schema)}</p>" if "$ref" in schema else _members(schema)


def _members(schema: Mapping[str, Any]) -> str:
    """A shape: what it is for, and its members with what each may be."""
    about = "".join(_paragraphs(schema.get("description", "")))
    if "properties" not in schema:
        return f"{about}<p>{_type(schema)}</p>"
    required = frozenset(schema.get("required", ()))
    rows = (
        f"<tr><td><code>{escape(name)}</code><td>{_type(member)}<td>{'required' if name in required else ''}"
        f"<td>{_inline(member.get('description', ''))}{_example(member)}"
        for name, member in schema["properties"].items()
    )
    return f"{about}<table><tr><th>member<th>is<th><th>{''.join(rows)}</table>"


def _type(schema: Mapping[str, Any]) -> str:
    """What a value may be: a link to a shape, values of a closed list, a list of such, or a type of JSON."""
    if reference := cast("str", schema.get("$ref", "")):
        name = escape(reference.rsplit("/", 1)[-1])
        return f"<a href='#shape-{name}'>{name}</a>"
    if "enum" in schema:
        return ", ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if "const" in schema:
        return f"<code>{escape(str(schema['const']))}</code>"
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[choice]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return escape(str(schema.get("type", "any JSON")))


def _example(member: Mapping[str, Any]) -> str:
    examples = member.get("examples", [])
    return f" such as <code>{escape(str(examples[0]))}</code>" if examples else ""


def _paragraphs(text: str) -> Iterator[str]:
    yield from (f"<p>{_inline(paragraph)}</p>" for paragraph in text.split("\n\n") if paragraph)


def _inline(text: str) -> str:
    """Text with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
