"""The invariants of the graph, looked for on the live graph itself: the database alone cannot keep most of them.

Everything is read in pages by identity, so the memory needed does not grow with the graph, save for the derivation
edges, which are held as pairs of whole numbers while cycles are looked for (design 2.3, F-12).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from graph.database.cycles import EdgeList
from graph.database.database import Database
from graph.database.invariants import Finding, Invariant, identity_findings, request_findings
from graph.database.rows import Row
from graph.policy.model import Policy
from graph.vocabulary import (
    DELETION_STATES_TERMINAL,
    DerivativeOutcome,
    EdgeGroup,
    EdgeType,
    NodeLabel,
    OutcomeState,
    RecordState,
)

FINDINGS_LISTED_MAX: Final = 200
Progress = Callable[[str, int], None]

_TERMINAL: Final = sorted(DELETION_STATES_TERMINAL)
_EMPTIED: Final = [RecordState.INVALIDATED, RecordState.RETAINED]
_ENDED: Final = [OutcomeState.SETTLED, OutcomeState.OWNED]


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Attributes:
        findings: at most `FINDINGS_LISTED_MAX` of each invariant.
        counts: how many there are of each invariant that is broken.
        checked: how many nodes, edges, identities, derivations and requests were looked at.
    """

    findings: tuple[Finding, ...]
    counts: Mapping[Invariant, int]
    checked: Mapping[str, int]

    @property
    def clean(self) -> bool:
        """Whether every invariant holds."""
        return not self.counts


def check(
    database: Database, policy: Policy, *, progress: Progress | None = None, batch_rows: int = 5_000
) -> CheckReport:
    """Look for everything that breaks an invariant.

    Others may write meanwhile; a finding about something that is being written just now is gone in the next run.

    Args:
        database: the graph.
        policy: the closed lists and rules that it is held against.
        progress: told after each page what is looked at and how many of it were.
        batch_rows: identities in a page.

    Raises:
        Unavailable: the database does not answer.
    """
    return _Check(database, policy, progress, batch_rows).run()


class _Check:
    def __init__(self, database: Database, policy: Policy, progress: Progress | None, batch_rows: int) -> None:
        self._database = database
        self._policy = policy
        self._progress = progress
        self._batch_rows = batch_rows
        self._listed: list[Finding] = []
        self._counts: Counter[Invariant] = Counter()
        self._checked: Counter[str] = Counter()

    def run(self) -> CheckReport:
        policy_ids = frozenset(row.text("policyId") for row in self._database.read("list_policies"))
        self._constraint()
        self._labels()
        self._edges()
        self._identities(policy_ids)
        self._cycles()
        self._offenders()
        self._requests(policy_ids)
        return CheckReport(tuple(self._listed), dict(self._counts), dict(self._checked))

    def _found(self, finding: Finding, occurrences: int = 1) -> None:
        listed = self._counts[finding.invariant]
        self._counts[finding.invariant] += occurrences
        if listed < FINDINGS_LISTED_MAX:
            self._listed.append(finding)

    def _constraint(self) -> None:
        if not self._database.read("list_identity_constraints"):
            message = "the constraint that keeps records and tombstones apart is missing"
            self._found(Finding(Invariant.ONE_IDENTITY, "schema", message))

    def _labels(self) -> None:
        for row in self._database.read("list_node_labels"):
            labels, occurrences = row.texts("labels"), row.number("occurrences")
            self._checked["nodes"] += occurrences
            if not labels or not frozenset(NodeLabel).issuperset(labels):
                message = f"{occurrences} nodes have a set of labels that is not registered"
                self._found(Finding(Invariant.KNOWN_EDGES, row.text("example"), message), occurrences)
            identified = {NodeLabel.RECORD, NodeLabel.TOMBSTONE, NodeLabel.IDENTITY}.intersection(labels)
            anonymous = row.number("unnamed") if NodeLabel.IDENTITY in identified else occurrences
            if identified and anonymous:
                message = f"{anonymous} nodes are out of reach of the constraint on identities"
                self._found(Finding(Invariant.ONE_IDENTITY, row.text("example"), message), anonymous)

    def _edges(self) -> None:
        for row in self._database.read("list_edge_ends"):
            occurrences = row.number("occurrences")
            self._checked["edges"] += occurrences
            if fault := self._edge_fault(row):
                message = f"{fault} ({row.text('edge')}, {occurrences} times)"
                self._found(Finding(Invariant.KNOWN_EDGES, row.text("example"), message), occurrences)

    def _edge_fault(self, row: Row) -> str | None:
        if row.text("edge") not in tuple(EdgeType):
            return "the type of the edge is not registered"
        edge = self._policy.edge(EdgeType(row.text("edge")))
        child_labels, parent_labels = frozenset(row.texts("childLabels")), frozenset(row.texts("parentLabels"))
        if edge.group is EdgeGroup.CONTROL:
            fits = child_labels.intersection(edge.child_labels) and parent_labels.intersection(edge.parent_labels)
            return None if fits else "the edge joins nodes that it may not join"
        if NodeLabel.IDENTITY not in child_labels or NodeLabel.IDENTITY not in parent_labels:
            return "the edge joins something that is no record"
        child_kind, parent_kind = row.text_or_none("childKind"), row.text_or_none("parentKind")
        # A tombstone has no kind any more, and what is in quarantine keeps the edges that its producer claimed.
        if child_kind is None or parent_kind is None or row.text("childState") == RecordState.QUARANTINED:
            return None
        return None if edge.allows(child_kind, parent_kind) else "the edge joins kinds that it may not join"

    def _identities(self, policy_ids: frozenset[str]) -> None:
        for page in self._pages("list_stored_identities"):
            for entry in page.rows("page"):
                self._checked["identities"] += 1
                for finding in identity_findings(entry.mapping("stored"), self._policy, policy_ids):
                    self._found(finding)
            self._tell("identities")

    def _cycles(self) -> None:
        edges = EdgeList()
        for page in self._pages("list_derivation_sources"):
            for pair in page.rows("page"):
                edges.add(pair.text("identity"), pair.texts("sources"))
                self._checked["derivations"] += len(pair.texts("sources"))
            self._tell("derivations")
        for identity in edges.on_cycles():
            message = "it hangs on itself: it lies on a cycle of derivations, or between two"
            self._found(Finding(Invariant.NO_CYCLE_NO_FORK, identity, message))

    def _offenders(self) -> None:
        crossing = [edge.value for edge, rule in self._policy.edges.items() if rule.crosses_tenants]
        deletion_types = [edge.value for edge in self._policy.deletion_edges]
        passes: tuple[tuple[str, Invariant, str, dict[str, object]], ...] = (
            ("list_supersession_forks", Invariant.NO_CYCLE_NO_FORK, "it has more than one successor", {}),
            (
                "list_tombstone_leftovers",
                Invariant.BARE_TOMBSTONE,
                "an edge of a tombstone, or the operation that made it, still tells something",
                {"settled": OutcomeState.SETTLED},
            ),
            (
                "list_forgotten_derivatives",
                Invariant.NO_FORGOTTEN_DERIVATIVE,
                "a derivative of something deleted has no outcome",
                {"deletionTypes": deletion_types, "emptiedStates": _EMPTIED, "terminalStates": _TERMINAL},
            ),
            ("list_wide_audiences", Invariant.NARROW_AUDIENCE, "its audience is wider than that of a source", {}),
            (
                "list_tenant_crossings",
                Invariant.ONE_TENANT,
                "an edge leads to another tenant's record",
                {"crossingTypes": crossing, "sharedScopes": sorted(self._policy.shared_source_scopes)},
            ),
            (
                "list_unlisted_inputs",
                Invariant.LISTED_INPUTS,
                "what the work used is not what its output was derived from",
                {},
            ),
        )
        for query, invariant, message, params in passes:
            for page in self._pages(query, **params):
                for identity in page.texts("offenders"):
                    self._found(Finding(invariant, identity, message))
                self._tell(invariant.value)

    def _requests(self, policy_ids: frozenset[str]) -> None:
        params: dict[str, object] = {
            "deletionTypes": [edge.value for edge in self._policy.deletion_edges],
            "answers": list(DerivativeOutcome),
            "endedStates": _ENDED,
        }
        for page in self._pages("list_request_settlements", **params):
            for entry in page.rows("page"):
                self._checked["requests"] += 1
                for finding in request_findings(entry.mapping("settlement"), self._policy, policy_ids):
                    self._found(finding)
            self._tell("requests")

    def _pages(self, query: str, **params: object) -> Iterator[Row]:
        after: str | None = ""
        while after is not None:
            rows = self._database.read(
                query, literals=None, timeout=None, after=after, rowsMax=self._batch_rows, **params
            )
            row = rows[0]
            after = row.text_or_none("pageLast")
            if after is not None:
                yield row

    def _tell(self, what: str) -> None:
        if self._progress:
            self._progress(what, self._checked.get(what, 0))
