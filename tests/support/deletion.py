"""Filing, running and looking at deletions; stores that misbehave; an oracle that shares no code with the product."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graph.access import Caller
from graph.database.database import Database
from graph.database.rows import Row
from graph.deletion.model import DeletionInput, HoldInput, HoldView, OutcomeView, RequestView
from graph.envelope import RecordInput
from graph.vocabulary import DERIVATION_EDGES, Role
from service.bootstrap import Application
from service.connectors.files import FilesConnector
from service.connectors.port import Claim, Connector, StoreUnavailable
from service.workers.worker import Worker
from tests.connectors.doubles import Passing
from tests.support.records import OTHER_TENANT, PURPOSE, TENANT, derived, record

CANARY = "Zürich-Canary-7731"

_keys = itertools.count()


def fresh_key() -> str:
    """An idempotency key that no other call of this run has."""
    return f"key-{next(_keys)}"


def with_roles(*roles: Role, tenant: str = TENANT, purpose: str = PURPOSE) -> Caller:
    return Caller(tenant, "tech-17", frozenset(roles), purpose, frozenset({"shared-sources"}))


FOREIGNER = Caller(OTHER_TENANT, "tech-99", frozenset(Role), PURPOSE, frozenset({"shared-sources"}))


def register(application: Application, caller: Caller, *records: RecordInput) -> list[str]:
    """Register records, all of which have to be created; their identities in order."""
    results = application.registrar.register(records, caller)
    assert [(result.status, result.code) for result in results] == [("created", None)] * len(records)
    return [result.identity for result in results]


def family(application: Application, caller: Caller, sources_of: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Documents by name, each summarized from the named others; name → identity."""
    stated = [derived(name, *sources) if sources else record(name) for name, sources in sources_of.items()]
    return dict(zip(sources_of, register(application, caller, *stated), strict=True))


def by_ids(*identities: str, **more: Any) -> DeletionInput:
    return DeletionInput.model_validate({"subject": {"recordIds": list(identities)}, **more})


def delete(application: Application, caller: Caller, *identities: str) -> RequestView:
    """File a deletion and carry it as far as the graph allows."""
    filed = application.deletions.file(by_ids(*identities), caller, fresh_key())
    return application.deletions.advance(filed.request_id)


def hold(
    application: Application, caller: Caller, *identities: str, key: str | None = None, **changes: Any
) -> HoldView:
    stated = {
        "recordIds": list(identities),
        "exceptionType": "legal_hold",
        "authority": "order 12/2026",
        "policyRef": "exceptions/legal_hold",
        "contact": "mailto:legal@fieldops.example",
        "reviewAt": "2026-05-31T00:00:00Z",
        **changes,
    }
    return application.holds.place(HoldInput.model_validate(stated), caller, key or fresh_key())


def outcomes_of(application: Application, caller: Caller, request_id: str, page_size: int = 1_000) -> list[OutcomeView]:
    """Every outcome of a request, page by page."""
    found: list[OutcomeView] = []
    cursor = None
    while True:
        page = application.deletions.outcomes(request_id, caller, page_size, cursor)
        found.extend(page.items)
        assert page.complete == (page.next_cursor is None)
        if page.complete:
            return found
        cursor = page.next_cursor


def outcome_table(application: Application, caller: Caller, request_id: str) -> dict[tuple[str, str], str | None]:
    """(identity, store) → outcome; two outcomes for one place are an error."""
    found = outcomes_of(application, caller, request_id)
    table = {(item.identity, item.store): item.outcome for item in found}
    assert len(table) == len(found)
    return table


def graph_outcomes(application: Application, caller: Caller, request_id: str) -> dict[str, str | None]:
    table = outcome_table(application, caller, request_id)
    return {identity: outcome for (identity, store), outcome in table.items() if store == "graph"}


# Looking at the database past the product


def nodes(database: Database, pattern: str = "(n)") -> list[tuple[tuple[str, ...], str]]:
    """Labels and canonical properties of every node of a pattern, sorted."""
    rows = database.administer(f"MATCH {pattern} RETURN labels(n) AS labels, properties(n) AS properties")
    return sorted((tuple(sorted(row.texts("labels"))), _canonical(row.mapping("properties"))) for row in rows)


def edges(database: Database) -> list[tuple[str, str]]:
    """Type and canonical properties of every relationship, sorted."""
    rows = database.administer("MATCH ()-[e]->() RETURN type(e) AS type, properties(e) AS properties")
    return sorted((row.text("type"), _canonical(row.mapping("properties"))) for row in rows)


def everything(database: Database) -> str:
    """Every label, type and property in the database as one text, to search in."""
    return json.dumps([nodes(database), edges(database)], ensure_ascii=False)


def properties_of(database: Database, identity: str) -> dict[str, Any]:
    rows = database.administer("MATCH (n:Identity {identity: $identity}) RETURN properties(n) AS p", identity=identity)
    assert len(rows) == 1
    return dict(rows[0].mapping("p"))


def labels_of(database: Database, identity: str) -> list[str]:
    rows = database.administer("MATCH (n:Identity {identity: $identity}) RETURN labels(n) AS l", identity=identity)
    return [label for row in rows for label in sorted(row.texts("l"))]


def tombstones(database: Database) -> set[str]:
    rows = database.administer("MATCH (n:Tombstone) RETURN n.identity AS identity")
    assert len({row.text("identity") for row in rows}) == len(rows)
    return {row.text("identity") for row in rows}


def abandoned(database: Database) -> list[str]:
    """Active records with a derivation path to a tombstone, without an exception or an owned failure (DEL-18)."""
    derivation = "|".join(edge.value for edge in DERIVATION_EDGES)
    rows = database.administer(
        f"MATCH (n:Record)-[:{derivation}*1..]->(:Tombstone) WHERE n.state IN ['active', 'superseded', 'quarantined']"
        " AND NOT EXISTS { MATCH (n)<-[:OUTCOME_FOR]-(o:Outcome)"
        " WHERE o.outcome IN ['retained_under_exception', 'invalidated'] OR o.ownerId IS NOT NULL }"
        " RETURN DISTINCT n.identity AS identity"
    )
    return [row.text("identity") for row in rows]


def _canonical(properties: Mapping[str, object]) -> str:
    return json.dumps(dict(properties), sort_keys=True, ensure_ascii=False)


# Copies in the files store


class TenantFiles(FilesConnector):
    """The files store as its producers in `tenant-a` see it: by their own locators, below the folder of their tenant."""

    def write(self, locator: str, data: bytes) -> None:
        super().write(placed(locator), data)

    def remove(self, locator: str) -> Claim:
        return self.delete([placed(locator)])[0]

    def has(self, locator: str) -> bool:
        return self.present([placed(locator)])[0]


def placed(locator: str) -> str:
    return locator if locator.startswith("tenant-a/") else f"tenant-a/{locator}"


def files_of(application: Application) -> TenantFiles:
    return TenantFiles(application.settings.files_store_root)


def with_copy(name: str, *parents: str, locator: str | None = None, **changes: Any) -> RecordInput:
    """A document with a copy in the files store; nothing is written there by this."""
    stores = [{"storeId": "files", "locator": locator or f"{name}.bin"}]
    return derived(name, *parents, stores=stores, **changes) if parents else record(name, stores=stores, **changes)


@dataclass
class FaultyStore(Passing):
    """The real files store with a fault in front of the deletion of each copy, which then answers or raises instead."""

    fault: Callable[[str], object] | None = None
    blind: bool = False
    attempts: int = 0

    def delete(self, locators: Sequence[str]) -> Any:
        self.attempts += len(locators)
        return [self._claim(locator) for locator in locators] if self.fault else self.real.delete(locators)

    def present(self, locators: Sequence[str]) -> list[bool]:
        if self.blind:
            raise StoreUnavailable
        return self.real.present(locators)

    def _claim(self, locator: str) -> object:
        """One copy's fault is no other's."""
        assert self.fault is not None
        try:
            return self.fault(locator.removeprefix("tenant-a/"))
        except StoreUnavailable:
            return Claim.FAILED


def unavailable(_locator: str) -> object:
    raise StoreUnavailable("down for maintenance")


def answering(value: object) -> Callable[[str], object]:
    """A fault that leaves the copy where it is and answers `value`."""
    return lambda _locator: value


def with_connectors(application: Application, **connectors: Connector) -> Application:
    """The same application with these stores in place of its own."""
    other = replace(application)
    other.__dict__["connectors"] = connectors
    return other


def faulty(
    application: Application, fault: Callable[[str], object] | None = None, *, blind: bool = False
) -> tuple[Application, FaultyStore]:
    store = FaultyStore(files_of(application), fault, blind)
    return with_connectors(application, files=store), store


def work(application: Application, holder: str = "worker-1") -> None:
    """Let one worker run until it finds nothing to do at this instant."""
    worker = Worker(application, holder)
    for _ in range(20):
        if not worker.run_once():
            return
    raise AssertionError("a worker without a moving clock found work without end")


# Dying at every statement


class Killed(BaseException):
    """The process ends here; nothing in the product may catch it."""


class DyingDatabase:
    """The real database, which dies at the n-th call, before or after the call has had its effect.

    Inside a transaction, a death after a statement loses the transaction, as a killed process would; `after` of the
    whole transaction keeps it. The counter runs over both.
    """

    def __init__(self, real: Database, dies_at: int, *, after: bool) -> None:
        self._real = real
        self._left = dies_at
        self._after = after
        self.died = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def read(self, name: str, /, **params: Any) -> list[Row]:
        return self._step(lambda: self._real.read(name, **params))

    def write(self, name: str, /, **params: Any) -> list[Row]:
        return self._step(lambda: self._real.write(name, **params))

    def transact(self, name: str, steps: Callable[[Any], Any]) -> Any:
        return self._step(
            lambda: self._real.transact(name, lambda statements: steps(_DyingStatements(self, statements)))
        )

    def _step(self, call: Callable[[], Any]) -> Any:
        dies = self._counted()
        if dies and not self._after:
            self._die()
        result = call()
        if dies:
            self._die()
        return result

    def _counted(self) -> bool:
        self._left -= 1
        return self._left == 0

    def _die(self) -> None:
        self.died = True
        raise Killed


class _DyingStatements:
    def __init__(self, database: DyingDatabase, real: Any) -> None:
        self._database = database
        self._real = real

    def run(self, name: str, /, **params: Any) -> list[Row]:
        return self._database._step(lambda: self._real.run(name, **params))


# The oracle: repeated set union over an edge list


def closure(edge_list: Iterable[tuple[str, str]], roots: Iterable[str]) -> dict[str, int]:
    """Node → least number of edges from a root, over (child, parent) pairs."""
    pairs = list(edge_list)
    reached = dict.fromkeys(roots, 0)
    depth = 0
    while True:
        fresh = {child for child, parent in pairs if parent in reached and child not in reached}
        if not fresh:
            return reached
        depth += 1
        reached.update(dict.fromkeys(fresh, depth))


@dataclass(frozen=True)
class RandomGraph:
    """Records of one random acyclic graph: sources by name with the edge's type, and which are embeddings."""

    sources: Mapping[str, tuple[tuple[str, str], ...]]
    embeddings: frozenset[str]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(child, parent) for child, parents in self.sources.items() for parent, _ in parents]

    def expected(self, root: str, held: frozenset[str] = frozenset()) -> dict[str, str]:
        """What the deletion of `root` comes to, by the rules as the requirements state them."""
        reached = closure(self.pairs, [root])
        return {name: self._outcome(name, root, reached, held) for name in reached}

    def _outcome(self, name: str, root: str, reached: Mapping[str, int], held: frozenset[str]) -> str:
        if name in held:
            return "retained_under_exception"
        others = [parent for parent, _ in self.sources[name] if parent not in reached]
        return "invalidated" if others and name != root and name not in self.embeddings else "deleted"


def random_graph(rng: random.Random, label: str, size: int) -> RandomGraph:
    """A graph of `size` nodes; each hangs on up to three earlier ones."""
    names = [f"{label}-{number}" for number in range(size)]
    sources: dict[str, tuple[tuple[str, str], ...]] = {}
    embeddings: set[str] = set()
    for number, name in enumerate(names):
        parents = rng.sample(names[:number], k=min(number, rng.choice([0, 1, 1, 2, 3])))
        if parents and rng.random() < 0.2:
            embeddings.add(name)
        edge = "EMBEDDED_FROM" if name in embeddings else None
        sources[name] = tuple((parent, edge or rng.choice(["SUMMARIZED_FROM", "CACHED_FROM"])) for parent in parents)
    return RandomGraph(sources, frozenset(embeddings))


def register_graph(application: Application, caller: Caller, *graphs: RandomGraph) -> dict[str, str]:
    """Register all of them in one call; name → identity."""
    stated = {name: _node(graph, name) for graph in graphs for name in graph.sources}
    return dict(zip(stated, register(application, caller, *stated.values()), strict=True))


def _node(graph: RandomGraph, name: str) -> RecordInput:
    sources = [{"name": parent, "edge": edge} for parent, edge in graph.sources[name]]
    if not sources:
        return record(name)
    kind = "embedding" if name in graph.embeddings else "document"
    return derived(name, sources=sources, kind=kind, retentionClass="derived_copy")
