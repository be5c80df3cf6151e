"""The invariants of the graph, looked for on the live graph itself: the database alone cannot keep most of them.

Everything is read in pages by identity or id, so the memory needed does not grow with the graph, save for the derivation
edges, which are held as whole numbers while cycles are looked for (design 2.3, F-12). Findings are all counted, and of
each invariant a named number is listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graph.database.checker_lists import (
    ATTEMPT_FAULTS,
    EXCEPTION_FAULTS,
    HOLD_FAULTS,
    OPERATION_FAULTS,
    OUTCOME_FAULTS,
    TERMINAL_STATES,
    Faults,
    identity_passes,
    shape_faults,
)
from graph.database.cycles import CycleNodes, EdgeList
from graph.database.database import Database
from graph.database.invariants import Finding, Invariant, identity_findings, request_findings
from graph.database.pages import pages
from graph.database.rows import Row
from graph.database.schema import schema_steps
from graph.policy.model import Policy
from graph.vocabulary import (
    DerivativeOutcome,
    EdgeGroup,
    EdgeType,
    NodeLabel,
    OutcomeState,
    RecordState,
)

FINDINGS_LISTED_MAX: Final = 200
SHAPES_MAX: Final = 10_000
Progress = Callable[[str, int], None]
ExtraCheck = Callable[[], Iterable[Finding]]

_ENDED: Final = [OutcomeState.SETTLED, OutcomeState.OWNED]


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Attributes:
        findings: at most `FINDINGS_LISTED_MAX` of each invariant.
        counts: how many there are of each invariant that is broken; one finding may stand for many nodes that are alike.
        unlisted: how many of them are not among the findings, of each invariant that has more than are listed.
        checked: how many nodes, edges, identities, derivations, requests and so on were looked at.
    """

    findings: tuple[Finding, ...]
    counts: Mapping[Invariant, int]
    unlisted: Mapping[Invariant, int]
    checked: Mapping[str, int]

    @property
    def clean(self) -> bool:
        """Whether every invariant holds."""
        return not self.counts


def check(
    database: Database,
    policy: Policy,
    *,
    now: int | None = None,
    progress: Progress | None = None,
    batch_rows: int = 5_000,
    extra: Sequence[ExtraCheck] = (),
) -> CheckReport:
    """Look for everything that breaks an invariant.

    Others may write meanwhile; a finding about something that is being written just now is gone in the next run.

    Args:
        database: the graph.
        policy: the closed lists and rules that it is held against.
        now: the present instant; without it leases are not looked at, since nothing says whether they ran out.
        progress: told after each page what is looked at and how many of it were.
        batch_rows: identities in a page.
        extra: checks of what this room does not know of, such as a journal outside of the database; each gives findings.

    Raises:
        Unavailable: the database does not answer.
    """
    return _Check(database, policy, now, progress, batch_rows, extra).run()


class _Check:
    def __init__(
        self,
        database: Database,
        policy: Policy,
        now: int | None,
        progress: Progress | None,
        batch_rows: int,
        extra: Sequence[ExtraCheck],
    ) -> None:
        self._database = database
        self._policy = policy
        self._now = now
        self._progress = progress
        self._batch_rows = batch_rows
        self._extra = extra
        self._listed: list[Finding] = []
        self._listed_of: Counter[Invariant] = Counter()
        self._unlisted: Counter[Invariant] = Counter()
        self._counts: Counter[Invariant] = Counter()
        self._checked: Counter[str] = Counter()

    def run(self) -> CheckReport:
        policy_ids = frozenset(row.text("policyId") for row in self._database.read("list_policies"))
        self._schema()
        self._shapes()
        self._edges()
        self._identities(policy_ids)
        self._cycles()
        self._offenders()
        self._requests(policy_ids)
        self._ledger(policy_ids)
        self._few()
        for examine in self._extra:
            for finding in examine():
                self._found(finding)
        return CheckReport(tuple(self._listed), dict(self._counts), dict(self._unlisted), dict(self._checked))

    def _found(self, finding: Finding, occurrences: int = 1) -> None:
        self._counts[finding.invariant] += occurrences
        if self._listed_of[finding.invariant] < FINDINGS_LISTED_MAX:
            self._listed_of[finding.invariant] += 1
            self._listed.append(finding)
        else:
            self._unlisted[finding.invariant] += occurrences

    def _schema(self) -> None:
        if not self._database.read("list_identity_constraints"):
            message = "the constraint that keeps records and tombstones apart is missing"
            self._found(Finding(Invariant.ONE_IDENTITY, "schema", message))
        there = {row.text("name") for row in self._database.read("list_indexes")}
        for step in schema_steps():
            # A step is named by its place and by the index or constraint that it makes.
            if step.name.partition("_")[2] not in there:
                message = "an index or constraint of the schema is missing"
                self._found(Finding(Invariant.WHOLE_LEDGER, step.name, message))

    def _shapes(self) -> None:
        rows = self._database.read("list_node_shapes", rowsMax=SHAPES_MAX + 1)
        if len(rows) > SHAPES_MAX:
            message = f"nodes have more than {SHAPES_MAX} sets of properties, and the most frequent were not looked at"
            self._found(Finding(Invariant.KNOWN_EDGES, "schema", message))
        for row in rows[:SHAPES_MAX]:
            occurrences = row.number("occurrences")
            self._checked["nodes"] += occurrences
            for invariant, fault in shape_faults(frozenset(row.texts("labels")), row.texts("names")):
                self._found(Finding(invariant, row.text("example"), f"{occurrences} nodes {fault}"), occurrences)

    def _edges(self) -> None:
        for row in self._database.read("list_edge_ends"):
            occurrences = row.number("occurrences")
            self._checked["edges"] += occurrences
            if decorated := row.number("decorated"):
                message = f"{decorated} edges have a property that is not registered ({row.text('edge')})"
                self._found(Finding(Invariant.KNOWN_EDGES, row.text("example"), message), decorated)
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
        for pair in self._derivations():
            edges.add(pair.text("identity"), pair.texts("sources"))
            self._checked["derivations"] += len(pair.texts("sources"))
        found = edges.on_cycles()
        if found:
            self._name_cycles(found)

    def _name_cycles(self, found: CycleNodes) -> None:
        message = "it hangs on itself: it lies on a cycle of derivations, or between two"
        for pair in self._derivations():
            if pair.text("identity") in found:
                self._found(Finding(Invariant.NO_CYCLE_NO_FORK, pair.text("identity"), message))

    def _derivations(self) -> Iterator[Row]:
        for page in self._pages("list_derivation_sources"):
            yield from page.rows("page")
            self._tell("derivations")

    def _offenders(self) -> None:
        for one in identity_passes(self._policy):
            for page in self._pages(one.query, **one.params):
                for column, (invariant, message) in one.columns.items():
                    for identity in page.texts(column):
                        self._found(Finding(invariant, identity, message))
                self._tell(one.query.removeprefix("list_").replace("_", " "))

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

    def _ledger(self, policy_ids: frozenset[str]) -> None:
        """What stands beside the records: outcomes, attempts, holds, exceptions and work."""
        owners = sorted(self._policy.owners)
        connected = sorted(store.id for store in self._policy.stores.values() if store.connector is not None)
        outcomes = {"terminalStates": list(TERMINAL_STATES), "connectedStores": connected}
        types = sorted(self._policy.exception_types)
        references = sorted(policy_ids.union(f"exceptions/{name}" for name in types))
        holds = {"exceptionTypes": types, "owners": owners, "policyRefs": references}
        self._faults("list_outcome_faults", OUTCOME_FAULTS, **outcomes)
        self._faults("list_attempt_faults", ATTEMPT_FAULTS)
        self._faults("list_hold_faults", HOLD_FAULTS, **holds)
        self._faults("list_exception_faults", EXCEPTION_FAULTS, owners=owners)
        self._faults("list_operation_faults", OPERATION_FAULTS)

    def _faults(self, query: str, faults: Faults, **params: object) -> None:
        for page in self._pages(query, **params):
            for row in page.rows("page"):
                for fault in row.texts("faults"):
                    invariant, message = faults[fault]
                    self._found(Finding(invariant, row.text("identity"), message))
            self._tell(query.removeprefix("list_").replace("_", " "))

    def _few(self) -> None:
        """What there is little of: idempotency keys by tenant, stores, leases."""
        for row in self._database.read("list_keys_astray"):
            occurrences = row.number("occurrences")
            message = f"{occurrences} idempotency keys of a tenant lead to no request and no hold"
            self._found(Finding(Invariant.WHOLE_LEDGER, row.text("example"), message), occurrences)
        for row in self._database.read("list_stores"):
            if row.text("storeId") not in self._policy.stores:
                message = "copies are in a store that the policy does not know"
                self._found(Finding(Invariant.KNOWN_REFERENCES, row.text("storeId"), message))
        if self._now is not None:
            for lease in self._database.read("list_leases_lapsed", now=self._now)[0].texts("leases"):
                self._found(Finding(Invariant.KEPT_LEASE, lease, "a lease ran out and was not given back"))

    def _pages(self, query: str, **params: object) -> Iterator[Row]:
        return pages(self._database, query, self._batch_rows, **params)

    def _tell(self, what: str) -> None:
        if self._progress:
            self._progress(what, self._checked.get(what, 0))
