"""The answers about lineage. Each carries its completeness receipt, so that a short answer never looks whole."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from graph.clock import instant_to_text
from graph.lineage import model as domain
from graph.lineage.model import Direction
from service.api.models import Answer, Instant, RecordIdText


class CompletenessReceipt(Answer):
    """How whole an answer is: what was visited, which limits were met, and whether something was withheld."""

    complete: Annotated[bool, Field(description="With the pages before it, this is everything there was.")]
    nodes_visited: int
    edges_visited: int
    depth_deepest: int
    limits_met: list[str]
    withheld: Annotated[bool, Field(description="Something is hidden from this caller; never how much or what.")]
    cycle: Annotated[bool, Field(description="An edge leads back to where the walk began.")]
    more_follow: bool
    as_of: Instant
    bookmarks: list[str]

    @classmethod
    def of(cls, receipt: domain.CompletenessReceipt) -> CompletenessReceipt:
        """From the walk."""
        return cls(
            complete=receipt.complete,
            nodes_visited=receipt.nodes_visited,
            edges_visited=receipt.edges_visited,
            depth_deepest=receipt.depth_deepest,
            limits_met=list(receipt.limits_met),
            withheld=receipt.withheld,
            cycle=receipt.cycle,
            more_follow=receipt.more_follow,
            as_of=instant_to_text(receipt.as_of),
            bookmarks=list(receipt.bookmarks),
        )


class Step(Answer):
    """An edge, and the record one step nearer to where the walk began."""

    edge: Annotated[str, Field(examples=["SUMMARIZED_FROM"])]
    record_id: RecordIdText

    @classmethod
    def of(cls, step: domain.Step) -> Step:
        """From the walk."""
        return cls(edge=step.edge, record_id=step.identity)


class LineageItem(Answer):
    """A record that the walk reached; of a deleted one, that it was there and how it hung together."""

    record_id: RecordIdText
    direction: Direction
    depth: Annotated[int, Field(description="Its shortest distance in edges.")]
    kind: str | None
    record_class: Annotated[str | None, Field(alias="class")]
    state: str | None
    deleted: bool
    via: list[Step]
    leads_to_withheld: bool

    @classmethod
    def of(cls, item: domain.LineageItem) -> LineageItem:
        """From the walk."""
        return cls(
            record_id=item.identity,
            direction=item.direction,
            depth=item.depth,
            kind=item.kind,
            record_class=item.record_class,
            state=item.state,
            deleted=item.deleted,
            via=[Step.of(step) for step in item.via],
            leads_to_withheld=item.leads_to_withheld,
        )


class LineagePage(Answer):
    """One page of a walk, ordered by id; the last one has no `nextCursor`."""

    items: list[LineageItem]
    next_cursor: str | None
    receipt: CompletenessReceipt

    @classmethod
    def of(cls, page: domain.LineagePage) -> LineagePage:
        """From the walk."""
        return cls(
            items=[LineageItem.of(item) for item in page.items],
            next_cursor=page.next_cursor,
            receipt=CompletenessReceipt.of(page.receipt),
        )


class LevelCount(Answer):
    """How many records of one kind stand at one depth; tombstones have no kind."""

    direction: Direction
    depth: int
    kind: str | None
    total: int


class LineageCounts(Answer):
    """The numbers of a walk, without its ids."""

    total: int
    levels: list[LevelCount]
    receipt: CompletenessReceipt

    @classmethod
    def of(cls, counts: domain.LineageCounts) -> LineageCounts:
        """From the walk."""
        return cls(
            total=counts.total,
            levels=[
                LevelCount(direction=level.direction, depth=level.depth, kind=level.kind, total=level.total)
                for level in counts.levels
            ],
            receipt=CompletenessReceipt.of(counts.receipt),
        )


class Routes(Answer):
    """How a derivative hangs on one of its sources: how many ways, and a shortest one for each edge that enters it."""

    source: RecordIdText
    derivative: RecordIdText
    count: int
    at_least: Annotated[bool, Field(description="A limit was met: there may be more routes than `count`.")]
    witnesses: Annotated[list[list[Step]], Field(description="The steps after the source, the derivative's edge last.")]
    receipt: CompletenessReceipt

    @classmethod
    def of(cls, answer: domain.RouteAnswer) -> Routes:
        """From the count."""
        return cls(
            source=answer.source,
            derivative=answer.derivative,
            count=answer.count,
            at_least=answer.at_least,
            witnesses=[[Step.of(step) for step in witness.steps] for witness in answer.witnesses],
            receipt=CompletenessReceipt.of(answer.receipt),
        )


class Version(Answer):
    """One version of a record."""

    record_id: RecordIdText
    version: int | None
    kind: str | None
    state: str | None
    deleted: bool
    is_current: bool


class History(Answer):
    """The versions of a record, oldest first."""

    versions: list[Version]
    receipt: CompletenessReceipt

    @classmethod
    def of(cls, history: domain.History) -> History:
        """From the chain."""
        return cls(
            versions=[
                Version(
                    record_id=version.identity,
                    version=version.version,
                    kind=version.kind,
                    state=version.state,
                    deleted=version.deleted,
                    is_current=version.is_current,
                )
                for version in history.versions
            ],
            receipt=CompletenessReceipt.of(history.receipt),
        )
