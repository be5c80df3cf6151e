"""How a check of the graph is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from service.cli.documents import document_of
from service.cli.tables import cell, grid

if TYPE_CHECKING:
    from graph.database.checker import CheckReport


def report_document(report: CheckReport) -> dict[str, object]:
    """A check for a machine."""
    findings = [{**document_of(finding), "nextStep": finding.next_step} for finding in report.findings]
    return {**document_of(report), "findings": findings, "clean": report.clean}


def report_lines(report: CheckReport) -> list[RenderableType]:
    """A check for a person: each offender with what is wrong and what to do, then the numbers."""
    looked_at = ", ".join(f"{number:,} {name}" for name, number in sorted(report.checked.items()))
    if report.clean:
        return [Text(f"Every invariant holds ({looked_at or 'the graph is empty'}).", style="green")]
    table = grid("invariant", "node", "what is wrong", "what to do")
    for finding in report.findings:
        shown = (finding.invariant.value, finding.identity, finding.message, finding.next_step)
        table.add_row(*(cell(value) for value in shown))
    total = sum(report.counts.values())
    unlisted = total - len(report.findings)
    more = f", of which {unlisted:,} are not listed" if unlisted > 0 else ""
    return [table, Text(f"{total:,} findings{more} ({looked_at}).", style="bold red")]
