"""Carrying out an import: the file in, a line or a table out, in bounded memory."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import typer
from rich.console import RenderableType
from rich.text import Text

from graph.access import Caller
from graph.clock import instant_to_text
from graph.policy.model import Policy
from graph.records.model import RegisterStatus
from graph.vocabulary import Role
from service.bootstrap import Application
from service.cli.explaining import explained
from service.cli.screen import Screen
from service.cli.tables import cell, grid
from service.formats.ndjson import LineResult, import_lines
from service.formats.prov_json import ProvEnvelope, ProvImportReport, import_prov_document, read_prov_json
from service.formats.report import ImportReport

_PROBLEMS_SHOWN_MAX: Final = 20
_STYLES: Final = {
    RegisterStatus.CREATED: "green",
    RegisterStatus.UNCHANGED: "dim",
    RegisterStatus.QUARANTINED: "yellow",
    RegisterStatus.REFUSED: "bold red",
}


def import_ndjson(screen: Screen, application: Application, caller: Caller, file: Path, key: str | None) -> bool:
    """Import a stream of records and tell what became of each; returns whether none was refused."""
    report = ImportReport()
    problems: list[LineResult] = []
    with opened(file) as lines, screen.counting("Importing") as told:
        for result in import_lines(lines, application.registrar, caller, key=key):
            report.add(result.status, result.record_id, result.code, result.details)
            told("lines", result.line)
            if screen.as_json:
                screen.line(result.as_json())
            elif result.code is not None and len(problems) < _PROBLEMS_SHOWN_MAX:
                problems.append(result)
    if screen.as_json:
        screen.line({"summary": report.as_json()})
    else:
        screen.answer(None, *_problem_table(problems, report), _counts(report))
    return report.counts[RegisterStatus.REFUSED] == 0


def import_prov_json(
    screen: Screen, application: Application, caller: Caller, file: Path, scope: str, observed_at: str | None
) -> bool:
    """Import one PROV-JSON document and tell what became of it; returns whether nothing was refused or out of order.

    Raises:
        InvalidInput: the file holds no such document; nothing was written.
        typer.BadParameter: standard input without an instant.
    """
    observed = observed_at or _modified_at(file)
    with opened(file) as handle:
        document = read_prov_json(handle.read())
    envelope = prov_envelope(application.policy, caller, observed)
    with screen.counting("Importing"):
        report = import_prov_document(document, application.registrar, caller, scope=scope, defaults=envelope)
    screen.answer(report.as_json(), *prov_lines(report))
    return not report.refused and not report.late


def prov_envelope(policy: Policy, caller: Caller, observed_at: str) -> ProvEnvelope:
    """What is stated of every record of a document, which says nothing of owners, audiences and purposes itself."""
    return ProvEnvelope(
        owner_id=policy.kind("prov_entity").owner_id,
        observed_at=observed_at,
        # Whoever files deletions has to see what they reach.
        permissions=tuple(f"role:{role}" for role in (Role.REVIEWER, Role.PRODUCER, Role.AUDITOR, Role.PRIVACY)),
        purpose=(caller.purpose,),
        producer_id="sequela-import",
        # A version of the mapping, not of the program: the same document has to give the same records again.
        producer_version="2",
    )


def prov_lines(report: ProvImportReport) -> list[RenderableType]:
    """An import of a document for a person."""
    table = grid("record", "became", "code", "edge")
    for one in report.refused[:_PROBLEMS_SHOWN_MAX]:
        table.add_row(*(cell(one.get(field)) for field in ("recordId", "status", "code", "edge")))
    late = grid("line#", "column#", "rule")
    for one in report.late[:_PROBLEMS_SHOWN_MAX]:
        late.add_row(*(cell(str(one.get(field))) for field in ("line", "column", "rule")))
    relations = f"{report.relations_joined} relations joined, {report.relations_refused} refused."
    joined = [Text(relations)] if report.relations_joined or report.relations_refused else []
    tables = [*([table] if report.refused else []), *([late] if report.late else [])]
    return [*tables, _counts(report.records), *joined]


def _modified_at(file: Path) -> str:
    """When the file was last written: a repeated import then states the same and meets its own records."""
    if str(file) == "-":
        raise typer.BadParameter("Standard input has no date: give --observed-at, such as 2026-01-31T00:00:00Z.")
    return instant_to_text(file.stat().st_mtime_ns // 1_000_000_000 * 1_000_000)


@contextmanager
def opened(file: Path) -> Generator[BinaryIO]:
    """The file, or standard input where it is called `-`."""
    if str(file) == "-":
        yield sys.stdin.buffer
        return
    with file.open("rb") as handle:
        yield handle


def _problem_table(problems: list[LineResult], report: ImportReport) -> list[RenderableType]:
    if not problems:
        return []
    table = grid("line#", "became", "code", "record", "details")
    for one in problems:
        details = explained(one.details)
        status = Text(one.status.value, style=_STYLES[one.status])
        table.add_row(cell(str(one.line)), status, cell(one.code), cell(one.record_id), cell(details))
    hidden = report.codes.total() - len(problems)
    return [table, *([Text(f"{hidden} more with --json.", style="dim")] if hidden > 0 else [])]


def _counts(report: ImportReport) -> Text:
    parts = [
        Text(f"{report.counts[status]} {status.value}", style=_STYLES[status] if report.counts[status] else "dim")
        for status in RegisterStatus
    ]
    return Text(f"{report.counts.total()} records: ").append(Text(", ").join(parts)).append(".")
