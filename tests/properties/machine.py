"""The state machine: every step is done to the service and told to the model, and the two are compared."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from graph.access import Caller
from graph.clock import ManualClock, instant_from_text
from graph.database.checker import check
from graph.database.database import Database
from graph.database.journaling import applied_in
from graph.errors import NotAuthorized, Refused
from graph.ids import IdentityKeys, SystemIds
from graph.policy.model import Policy
from graph.records.read import read_content
from graph.records.relate import Relation, relate
from graph.vocabulary import EdgeType, Role
from service.bootstrap import Application
from service.formats.ndjson import import_lines
from service.runtime import catch_up
from service.settings import Settings
from service.workers.worker import Worker
from tests.properties.looking import WAYS, Way, answers, compared, content_of, look, shown_below
from tests.properties.model import CREATED, REFUSED, Model, Node
from tests.support.deletion import DyingDatabase, Killed, TenantFiles, by_ids, hold, work
from tests.support.graph_copy import Taken, load_graph, take_graph
from tests.support.records import TENANT, derived, record, stated

T = TypeVar("T")

CALLER = Caller(TENANT, "tech-17", frozenset(Role), "maintenance", frozenset({"shared-sources"}))
START = instant_from_text("2026-03-02T09:00:00Z")
EDGES = ["SUMMARIZED_FROM", "INFERRED_FROM", "CACHED_FROM", "PROJECTED_FROM"]
STEPS_BETWEEN_CHECKS = 10
DUMPS_MAX = 3
# Longer than any lease, shorter than any deadline or review date.
AFTER_A_DEATH_SECONDS = 60

picks = st.integers(0, 30)
several = st.lists(picks, min_size=1, max_size=3)
# After how many calls to the database the process ends, and whether the last one took effect.
deaths = st.none() | st.tuples(st.integers(1, 25), st.booleans())


@dataclass
class Tally:
    """What a run came to."""

    examples: int = 0
    steps: int = 0
    deaths: int = 0
    loads: int = 0
    checks: int = 0
    begun: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        seconds = time.monotonic() - self.begun
        return (
            f"{self.examples} examples, {self.steps} steps, {self.deaths} deaths, {self.loads} restores, "
            f"{self.checks} checks, {seconds:.0f} s"
        )


@dataclass(frozen=True)
class Statement:
    """What a producer said once, to say again: the line, and what the model has to know of it."""

    name: str
    line: dict[str, Any]
    node: Node


def emptied(database: Database) -> None:
    """Take everything out but the schema."""
    database.administer("MATCH (n) WHERE NOT n:SchemaVersion DETACH DELETE n")
    database.administer("MATCH (n:SchemaVersion {step: 'identity_key'}) DELETE n")


class LifeCycle(RuleBasedStateMachine):
    def __init__(self, database: Database, policy: Policy, tally: Tally) -> None:
        super().__init__()
        emptied(database)
        self.tally = tally
        self.home = Path(tempfile.mkdtemp(prefix="properties-"))
        self.clock = ManualClock(START)
        settings = Settings(home=self.home)
        keys, ids = IdentityKeys(b"k" * 32), SystemIds()
        self.application = Application(settings, database, policy, keys, self.clock, ids)
        self.application.prepare()
        self.model = Model()
        self.statements: list[Statement] = []
        self.filings: list[tuple[str, set[str]]] = []
        self.placings: list[tuple[str, set[str]]] = []
        self.dumps: list[tuple[Taken, Any]] = []
        self.numbers = 0
        tally.examples += 1

    def teardown(self) -> None:
        try:
            self._checked()
            self._all_read()
        finally:
            emptied(self.application.database)
            shutil.rmtree(self.home)

    # What is chosen from

    @property
    def database(self) -> Database:
        return self.application.database

    def identity(self, name: str) -> str:
        return self.application.keys.identity(TENANT, name)

    @property
    def identities(self) -> dict[str, str]:
        return {one.name: self.identity(one.name) for one in self.statements}

    def _names(self, chosen: list[int]) -> list[str]:
        return list(dict.fromkeys(self.statements[pick % len(self.statements)].name for pick in chosen))

    def _fresh(self) -> int:
        self.numbers += 1
        self.clock.advance(1)
        return self.numbers

    # Doing, and dying

    def _done(self, act: Callable[[Application], T], death: tuple[int, bool] | None) -> T:
        """Do it, in a process that may die on the way; the process that follows it does it again."""
        if death is not None:
            dying: Any = DyingDatabase(self.database, death[0], after=death[1])
            try:
                return act(replace(self.application, database=dying))
            except Killed:
                self.tally.deaths += 1
                self.clock.advance(AFTER_A_DEATH_SECONDS)
                self._restarted()
        return act(self.application)

    def _restarted(self) -> None:
        self.application = replace(self.application)
        self.application.prepare()
        if catch_up(self.application).entries:
            self.model.drain()

    # Records

    @initialize()
    def begin(self) -> None:
        self._stated({}, ("document", [], False))
        self._stated({}, ("document", [], False))
        self._stated({}, ("document", [0, 1], True))
        self._stated({}, ("embedding", [2], False))
        self.dump()

    def _stated(self, changes: dict[str, Any], made: tuple[str, list[int], bool], older: str | None = None) -> None:
        number = self._fresh()
        kind, chosen, has_copy = made
        name = f"canary-{number}-end"
        parents = self._names(chosen) if chosen else []
        line = stated(name, kind=kind, content=content_of(name), **changes)
        if parents:
            edge = "EMBEDDED_FROM" if kind == "embedding" else EDGES[number % len(EDGES)]
            whole = derived(name, *parents, edge=edge, kind=kind, content=content_of(name), **changes)
            line = whole.model_dump(mode="json", by_alias=True, exclude_unset=True)
        if has_copy:
            locator = f"copy-{number}.bin"
            line["stores"] = [{"storeId": "files", "locator": locator}]
            TenantFiles(self.application.settings.files_store_root).write(locator, name.encode())
        if older is not None:
            line["supersedes"] = self.identity(older)
        statement = Statement(name, line, Node(kind, tuple(parents), older, has_copy))
        self.statements.append(statement)
        self._registered(statement, None)

    def _registered(self, statement: Statement, death: tuple[int, bool] | None) -> None:
        parsed = record(None).model_validate(statement.line)
        (result,) = self._done(lambda application: application.registrar.register([parsed], CALLER), death)
        self._verdict_compared(statement, result, again=death is not None)

    def _verdict_compared(self, statement: Statement, result: Any, *, again: bool) -> None:
        status, codes = self.model.register(statement.name, statement.node)
        allowed = {status, "unchanged"} if again and status == CREATED else {status}
        assert result.status in allowed, (statement.name, result)
        assert status != REFUSED or result.code in codes, (statement.name, result.code, codes)

    @rule(has_copy=st.booleans(), kind=st.sampled_from(["document", "document", "verification"]))
    def register(self, has_copy: bool, kind: str) -> None:
        self._stated({}, (kind, [], has_copy))

    @rule(parents=several, kind=st.sampled_from(["document", "document", "embedding"]), has_copy=st.booleans())
    def derive(self, parents: list[int], kind: str, has_copy: bool) -> None:
        self._stated({"retentionClass": "derived_copy"}, (kind, parents, has_copy))

    @rule(pick=picks, parents=several)
    def supersede(self, pick: int, parents: list[int]) -> None:
        documents = [one for one in self.statements if one.node.kind == "document"]
        older = documents[pick % len(documents)]
        self._stated({}, ("document", parents if older.node.parents else [], False), older.name)

    @rule(pick=picks, death=deaths)
    def register_again(self, pick: int, death: tuple[int, bool] | None) -> None:
        self._fresh()
        self._registered(self.statements[pick % len(self.statements)], death)

    @rule()
    def import_again(self) -> None:
        self._fresh()
        lines = [json.dumps(one.line).encode() for one in self.statements]
        results = list(import_lines(lines, self.application.registrar, CALLER))
        for statement, result in zip(self.statements, results, strict=True):
            self._verdict_compared(statement, result, again=False)

    @rule(start=picks, end=picks)
    def relate(self, start: int, end: int) -> None:
        self._fresh()
        names = [self.statements[pick % len(self.statements)].name for pick in (start, end)]
        ends = [self.identity(name) for name in names]
        codes = self.model.relate(*names)
        drawn: str | None = None
        try:
            relate(self.database, self.application.policy, CALLER, Relation(ends[0], EdgeType.CONTRADICTS, ends[1]))
        except Refused as error:
            drawn = error.code.value
        assert drawn in (codes or {None})

    # Holds

    @rule(chosen=several, death=deaths)
    def place_hold(self, chosen: list[int], death: tuple[int, bool] | None) -> None:
        self.placings.append((f"order-{self._fresh():04}", set(self._names(chosen))))
        self._placed(*self.placings[-1], death)

    @precondition(lambda self: self.placings)
    @rule(pick=picks)
    def place_hold_again(self, pick: int) -> None:
        self._fresh()
        self._placed(*self.placings[pick % len(self.placings)], None)

    def _placed(self, key: str, names: set[str], death: tuple[int, bool] | None) -> None:
        ids = sorted(self.identity(name) for name in names)
        placed = True
        try:
            self._done(lambda application: hold(application, CALLER, *ids, key=key, authority=key), death)
        except Refused:
            placed = False
        assert placed == self.model.hold(key, names)

    @precondition(lambda self: self.model.world.holds)
    @rule(pick=picks, death=deaths)
    def release_hold(self, pick: int, death: tuple[int, bool] | None) -> None:
        self._fresh()
        key = sorted(self.model.world.holds)[pick % len(self.model.world.holds)]
        rows = self.database.administer("MATCH (h:Hold {authority: $key}) RETURN h.holdId AS id", key=key)
        (hold_id,) = [row.text("id") for row in rows]
        self._done(lambda application: application.holds.release(hold_id, CALLER), death)
        self.model.release(key)

    # Deletions

    @rule(chosen=several, death=deaths)
    def file_deletion(self, chosen: list[int], death: tuple[int, bool] | None) -> None:
        self.filings.append((f"filing-{self._fresh():04}", set(self._names(chosen))))
        self._filed(*self.filings[-1], death)

    @precondition(lambda self: self.filings)
    @rule(pick=picks)
    def file_deletion_again(self, pick: int) -> None:
        self._fresh()
        self._filed(*self.filings[pick % len(self.filings)], None)

    def _filed(self, key: str, names: set[str], death: tuple[int, bool] | None) -> None:
        ids = [self.identity(name) for name in names]
        before = self.tally.deaths
        scope = self.model.file(key, names, self.clock.now())
        if scope is None:
            with pytest.raises(NotAuthorized):
                self.application.deletions.file(by_ids(*ids), CALLER, key)
            return
        view = self._done(lambda application: application.deletions.file(by_ids(*ids), CALLER, key), death)
        assert set(view.scope) == {self.identity(name) for name in scope}
        if self.tally.deaths > before and sum(view.counts.values()):
            # It died with the filing in the journal and nowhere else: the next process carried it out.
            self.model.advance(scope)
            self.model.drain()

    def _request_id(self, scope: tuple[str, ...]) -> str:
        stored = sorted(self.identity(name) for name in scope)
        rows = self.database.administer("MATCH (q:Request {scope: $scope}) RETURN q.requestId AS id", scope=stored)
        (request_id,) = [row.text("id") for row in rows]
        return request_id

    @precondition(lambda self: self.model.world.requests)
    @rule(pick=picks, death=deaths)
    def advance(self, pick: int, death: tuple[int, bool] | None) -> None:
        self._fresh()
        scope = sorted(self.model.world.requests)[pick % len(self.model.world.requests)]
        request_id = self._request_id(scope)
        self._done(lambda application: application.deletions.advance(request_id), death)
        self.model.advance(scope)

    @rule(death=deaths)
    def work(self, death: tuple[int, bool] | None) -> None:
        self._fresh()
        self._done(work, death)
        self.model.work()

    @rule()
    def drain(self) -> None:
        self._fresh()
        Worker(self.application, "drainer").drain_stores()
        self.model.drain()

    @rule(seconds=st.integers(1, 3_600))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    # Dumps

    @rule()
    def dump(self) -> None:
        del self.dumps[DUMPS_MAX:]
        self.dumps.append((take_graph(self.database), self.model.dump()))

    @rule(pick=picks, death=deaths)
    def load(self, pick: int, death: tuple[int, bool] | None) -> None:
        self._fresh()
        taken, dumped = self.dumps[pick % len(self.dumps)]
        load_graph(self.database, taken)
        self.application = replace(self.application)
        self.application.prepare()
        before = self.tally.deaths
        entries = self._done(lambda application: catch_up(application).entries, death)
        self.model.load(dumped)
        if self.tally.deaths > before:
            # It may have died with the graph done and the stores not yet: the workers of the next process do those.
            Worker(self.application, "drainer").drain_stores()
        if entries or self.tally.deaths > before:
            self.model.drain()
        self._lost_and_accounted()
        self.tally.loads += 1

    def _lost_and_accounted(self) -> None:
        """What the dump never had is made a tombstone last: an outcome for it is right, and depends on the passes."""
        seen = look(self.database)
        for scope, request in self.model.world.requests.items():
            places = seen.outcomes.get(self._request_id(scope), {})
            for name in scope:
                node = self.model.world.nodes.get(name)
                if node is not None and node.kind == "unknown" and (self.identity(name), "graph") in places:
                    request.outcomes.setdefault(name, ("deleted", None))

    # What always holds

    @invariant()
    def is_as_the_model_says(self) -> None:
        self.tally.steps += 1
        seen = look(self.database)
        compared(seen, self.model, self.identities)
        journal = self.application.journal.path.read_text()
        assert "canary" not in journal
        assert applied_in(self.database).position == self.application.journal.head()
        assert sum(1 for _ in self.application.journal.after(0)) == journal.count("\n")
        root = self.application.settings.files_store_root
        files = {path.read_text() for path in root.rglob("copy-*.bin")}
        world = self.model.world
        assert not files & {name for name, node in world.nodes.items() if node.state == "gone" and not node.copy}
        self._read(self.statements[self.numbers % len(self.statements)].name, [WAYS[self.tally.steps % len(WAYS)]])
        if self.tally.steps % STEPS_BETWEEN_CHECKS == 0:
            self._checked()

    def _checked(self) -> None:
        report = check(self.database, self.application.policy)
        assert report.clean, [(one.invariant, one.message, one.identity) for one in report.findings]
        self.tally.checks += 1

    def _all_read(self) -> None:
        for one in self.statements:
            node = self.model.world.nodes.get(one.name)
            self._read(one.name, WAYS[:2] if node is not None and node.is_live else WAYS)

    def _read(self, name: str, ways: list[Way]) -> None:
        """Nothing that is gone is told of by any way of reading, and what lives is read as it was written."""
        world = self.model.world.nodes
        empty = [known for known, other in world.items() if other.is_empty]
        told = answers(self.application, CALLER, self.identity(name), ways)
        assert not [known for known in empty if any(known in text for text in told)]
        if name not in world or not world[name].is_live:
            assert not any(content_of(name)["text"] in text for text in told)
            return
        assert read_content(self.database, CALLER, self.identity(name)) == content_of(name)
        shown = shown_below(self.application, CALLER, self.identity(name))
        assert not shown & {self.identity(known) for known, other in world.items() if other.state == "gone"}
