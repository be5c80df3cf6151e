"""How a check of the graph, and what it mended, is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from service.cli.documents import document_of
from service.cli.tables import cell, grid

if TYPE_CHECKING:
    from graph.database.checker import CheckReport
    from graph.database.repairs import Repair


def report_document(report: CheckReport, repairs: Sequence[Repair] = ()) -> dict[str, object]:
    """A check for a machine: `counts` has every finding, `unlisted` those that `findings` leaves out."""
    findings = [{**document_of(finding), "nextStep": finding.next_step} for finding in report.findings]
    return {
        **document_of(report),
        "findings": findings,
        "repairs": [document_of(one) for one in repairs],
        "clean": report.clean,
    }


def report_lines(report: CheckReport) -> list[RenderableType]:
    """A check for a person: each offender with what is wrong and what to do, then the numbers."""
    looked_at = ", ".join(f"{number:,} {name}" for name, number in sorted(report.checked.items()))
    if report.clean:
        return [Text(f"Every invariant holds ({looked_at or 'the graph is empty'}).", style="green")]
    table = grid("invariant", "node", "what is wrong", "what to do")
    for finding in report.findings:
        shown = (finding.invariant.value, finding.identity, finding.message, finding.next_step)
        table.add_row(*(cell(value) for value in shown))
    more = [
        Text(f"{number:,} more findings of {invariant} are not listed.", style="red")
        for invariant, number in report.unlisted.items()
    ]
    total = sum(report.counts.values())
    return [table, *more, Text(f"{total:,} findings ({looked_at}).", style="bold red")]


def repair_lines(repairs: Sequence[Repair]) -> list[RenderableType]:
    """What was mended, for a person: how often, and what."""
    lines: list[RenderableType] = []
    for one in repairs:
        lines.append(Text(f"Mended: {one.count:,} {one.what}.", style="green"))
        lines.extend(Text(f"  {identity}") for identity in one.identities)
        if more := one.count - len(one.identities):
            lines.append(Text(f"  and {more:,} more"))
    return lines
