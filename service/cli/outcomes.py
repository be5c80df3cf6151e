"""How a deletion is shown: what it would do, how far it is, and what it did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from rich.console import RenderableType
from rich.text import Text

from graph.vocabulary import DerivativeOutcome
from service.cli.documents import document_of
from service.cli.tables import cell, fields, grid, moment, outcome_cell

if TYPE_CHECKING:
    from graph.deletion.model import OutcomeView, PlannedOutcome, Preview, RequestView

# A person reads so many rows; machines get all with --json.
_ROWS_SHOWN_MAX: Final = 200
_NAMES: Final[Mapping[str, str]] = {}


def preview_lines(planned: Preview, names: Mapping[str, str] = _NAMES) -> list[RenderableType]:
    """What a deletion would do, nearest first.

    Args:
        planned: the preview.
        names: how to call records by something better than their ids.
    """
    table = grid("depth#", "kind", "record", "store", "outcome", "rule")
    for item in sorted(planned.items, key=lambda one: (one.depth, one.kind, one.identity, one.store))[:_ROWS_SHOWN_MAX]:
        shown = (str(item.depth), item.kind, names.get(item.identity, item.identity), item.store)
        table.add_row(*(cell(value) for value in shown), outcome_cell(item.outcome), cell(_rule(item)))
    return [
        table,
        *_more(len(planned.items)),
        Text("Rule alone: nothing else alive carries it. Rule supported: another live source does.", style="dim"),
        Text.assemble(f"{_count(len(planned.scope), 'record')} in scope, ", _totals(planned.counts)),
    ]


def outcome_table(found: Iterable[OutcomeView], names: Mapping[str, str] = _NAMES) -> RenderableType:
    """What became of each derivative in each store."""
    table = grid("depth#", "derivative", "store", "outcome", "verified", "what is left to do")
    rows = sorted(found, key=lambda one: (one.depth, one.identity, one.store))
    for one in rows[:_ROWS_SHOWN_MAX]:
        shown = (str(one.depth), names.get(one.identity, one.identity), one.store)
        left = cell(_left(one))
        table.add_row(*(cell(value) for value in shown), outcome_cell(one.outcome), cell(one.verification_level), left)
    if len(rows) > _ROWS_SHOWN_MAX:
        table.caption = f"{len(rows) - _ROWS_SHOWN_MAX} more rows with --json"
    return table


def request_document(view: RequestView) -> dict[str, object]:
    """A request for a machine."""
    return {**document_of(view), "complete": view.complete}


def request_lines(view: RequestView) -> list[RenderableType]:
    """A request for a person."""
    about: dict[str, object] = {
        "request": view.request_id,
        "state": view.state.value,
        "reason": view.reason_code,
        "policy": view.policy_id,
        "received": moment(view.received_at),
        "finished": None if view.finished_at is None else moment(view.finished_at),
        "refused because": view.reason,
    }
    return [fields(about), Text.assemble(_totals(view.counts), _open(view))]


def _rule(item: PlannedOutcome) -> str:
    """The rule without what the row says already."""
    return item.rule_id.removeprefix(f"deletion/{item.kind}/")


def _open(view: RequestView) -> Text:
    if view.complete:
        kept = view.counts.get(DerivativeOutcome.RETAINED_UNDER_EXCEPTION, 0)
        return Text(f"; complete, with {kept} kept under an exception" if kept else "; complete", style="green")
    owned = f", {view.owned_failures} failed with an owner" if view.owned_failures else ""
    return Text(f"; not complete: {view.pending} open{owned}", style="bold yellow")


def _left(one: OutcomeView) -> str | None:
    if one.owner_id is not None:
        return f"{one.owner_id} has it{_because(one)}"
    if one.next_attempt_at is not None:
        return f"attempt {one.attempts + 1} at {moment(one.next_attempt_at)}{_because(one)}"
    return None


def _because(one: OutcomeView) -> str:
    return f" ({one.reason})" if one.reason else ""


def _totals(counts: Mapping[str, int]) -> Text:
    parts: list[Text] = []
    for outcome in DerivativeOutcome:
        number = counts.get(outcome.value, 0)
        parts.append(Text(f"{number} ").append(outcome_cell(outcome.value) if number else Text(outcome, style="dim")))
    return Text(", ").join(parts)


def _more(rows: int) -> list[RenderableType]:
    hidden = rows - _ROWS_SHOWN_MAX
    return [Text(f"{hidden} more rows with --json.", style="dim")] if hidden > 0 else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
