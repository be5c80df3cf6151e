"""The kill matrix: every failpoint that a story reaches, its first and its last visit, with each victim.

`killed`: the process ends by SIGKILL at the point, and the story is told again by another one. `stopped`: it stands still
past its lease, another process tells the whole story meanwhile, then it goes on. `neo4j`: it stands still, the server is
killed and started again, it goes on. After each, the end has to be the fault-free one, and the check to be clean.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.checker import check
from graph.database.database import Database, open_database
from graph.failpoints import Failpoints, NoFailpoints
from graph.policy.loader import default_policy_folder, load_policy
from service.bootstrap import build_application
from service.local.server import LocalServer
from service.runtime import catch_up
from service.settings import Settings
from tests.faults.ending import Ending, difference, ending
from tests.faults.expected import EXPECTED
from tests.faults.stories import STORIES, Template, lay_out, tell, template_of
from tests.support.processes import Child, until

LEASE_SECONDS: Final = 1.0
REACHED_SECONDS: Final = 120.0
ENDED_SECONDS: Final = 300.0
# After this the server takes away what a stopped process has locked, so that the other one can end.
TRANSACTION_SECONDS: Final = 4.0
KEPT_OUT: Final = "another process keeps the tombstone journal locked"
VICTIMS: Final = ("killed", "stopped", "neo4j")


@dataclass(frozen=True)
class Cell:
    """One run: the `visit`-th time that `point` is reached in `story`."""

    story: str
    point: str
    visit: int
    victim: str


@dataclass(frozen=True)
class Result:
    """What a cell came to; `unexpected` has the lines in which its end differs, but for the expected ones."""

    cell: Cell
    unexpected: list[str]
    expected: list[str]
    seconds: float = 0.0

    @property
    def equal(self) -> bool:
        return not self.unexpected


@dataclass
class Recorded:
    """Failpoints that count."""

    visits: Counter[str] = field(default_factory=Counter)

    def reached(self, name: str) -> None:
        self.visits[name] += 1


class Matrix:
    """Runs cells on one private server, whose data is lost."""

    def __init__(self, server: LocalServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._policy = load_policy(default_policy_folder())
        self._runs = 0
        self._templates: dict[str, Template] = {}
        self._fault_free: dict[str, tuple[Counter[str], Ending]] = {}

    @property
    def runs(self) -> int:
        """How many stories were told."""
        return self._runs

    @cached_property
    def database(self) -> Database:
        """The server, past the product."""
        connection = self._server.connection()
        catalogue = load_catalogue(default_query_folder())
        return open_database(connection.uri, connection.user, connection.password, catalogue)

    def cells(self, story: str, victims: Sequence[str] = VICTIMS) -> Iterator[Cell]:
        """Every point of a story at its first visit, and then at its last one."""
        visits, _ = self.fault_free(story)
        for victim in victims:
            yield from (Cell(story, point, 1, victim) for point in sorted(visits))
            yield from (Cell(story, point, visits[point], victim) for point in sorted(visits) if visits[point] > 1)

    def fault_free(self, story: str) -> tuple[Counter[str], Ending]:
        """How often each point is reached, and the end, where nothing happens."""
        if story not in self._fault_free:
            if not self._templates:
                # A database that has no schema at all would reach the points of all of its steps.
                self.run_undisturbed(self._laid_out(story), story, NoFailpoints())
            home, recorded = self._laid_out(story), Recorded()
            self.run_undisturbed(home, story, recorded)
            self._fault_free[story] = recorded.visits, self._end(home)
        return self._fault_free[story]

    def run_undisturbed(self, home: Path, story: str, failpoints: Failpoints) -> None:
        """Tell a story in this process."""
        connection = self._server.connection()
        catalogue = load_catalogue(default_query_folder())
        database = open_database(connection.uri, connection.user, connection.password, catalogue, failpoints=failpoints)
        application = build_application(self._settings(home), database)
        application.__dict__["failpoints"] = failpoints
        application.prepare()
        catch_up(application)
        STORIES[story](application)
        database.close()

    def run(self, cell: Cell) -> Result:
        """Run a cell and compare its end."""
        began = time.monotonic()
        _, free = self.fault_free(cell.story)
        home = self._laid_out(cell.story)
        act: Callable[[Cell, Path], None] = {
            "killed": self._killed,
            "stopped": self._stopped,
            "neo4j": self._neo4j,
        }[cell.victim]
        act(cell, home)
        found = difference(free, self._end(home))
        expected = [line for line in found if _is_expected(cell, line)]
        unexpected = [line for line in found if line not in expected]
        if not unexpected:
            shutil.rmtree(home)
        return Result(cell, unexpected, expected, time.monotonic() - began)

    def _killed(self, cell: Cell, home: Path) -> None:
        child = self._child(cell, home, action="kill")
        assert child.ended(REACHED_SECONDS), "neither killed nor at its end"
        assert child.code == -signal.SIGKILL, f"{cell} was not reached: exit code {child.code}"
        self._told(cell, home)

    def _stopped(self, cell: Cell, home: Path) -> None:
        child = self._child(cell, home, action="stop")
        other: Child | None = None
        try:
            assert child.stopped(REACHED_SECONDS), f"{cell} was not reached: exit code {child.code}"
            other = self._child(cell, home)
            # The stopped one may be in the middle of a transaction, whose locks it keeps until the server ends that.
            assert other.ended(ENDED_SECONDS), "what worked meanwhile does not end"
            child.go_on()
            assert child.ended(ENDED_SECONDS), "what was stopped does not end"
            assert child.code == 0, f"what was stopped ended with {child.code}"
            # Nobody can take the journal's file from a process that stopped with it: that is said, and one comes back.
            kept_out = KEPT_OUT in (home / "child.log").read_text(encoding="utf-8")
            assert other.code == 0 or kept_out, f"what worked meanwhile ended with {other.code}"
        finally:
            child.kill()
            if other is not None:
                other.kill()
        if kept_out:
            self._told(cell, home)

    def _neo4j(self, cell: Cell, home: Path) -> None:
        child = self._child(cell, home, action="stop")
        try:
            assert child.stopped(REACHED_SECONDS), f"{cell} was not reached: exit code {child.code}"
            self._kill_server()
            child.go_on()
            assert child.ended(ENDED_SECONDS), "what was stopped does not end"
            gave_up = child.code != 0
        finally:
            child.kill()
        if gave_up:
            self._told(cell, home)

    def _kill_server(self) -> None:
        status = self._server.status()
        assert status.pid is not None
        os.kill(status.pid, signal.SIGKILL)
        assert until(lambda: not self._server.status().running, 30)
        self._server.start(owned=True)

    def _told(self, cell: Cell, home: Path) -> None:
        child = self._child(cell, home)
        assert child.ended(ENDED_SECONDS), "the second telling does not end"
        assert child.code == 0, f"the second telling ended with {child.code}"

    def _child(self, cell: Cell, home: Path, action: str | None = None) -> Child:
        self._runs += 1
        settings = self._settings(home)
        environment = {
            "SEQUELA_HOME": str(home),
            "SEQUELA_NEO4J_URI": settings.neo4j_uri or "",
            "SEQUELA_NEO4J_USER": settings.neo4j_user,
            "SEQUELA_NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
            "SEQUELA_LEASE_SECONDS": str(LEASE_SECONDS),
            "SEQUELA_RETRY_TOTAL_SECONDS": "90",
            "SEQUELA_TRANSACTION_SECONDS": str(TRANSACTION_SECONDS),
            "SEQUELA_FAILPOINTS": f"{cell.point}={action}@{cell.visit}" if action else "",
        }
        return Child(tell, environment, home / "child.log", cell.story)

    def _settings(self, home: Path) -> Settings:
        connection = self._server.connection()
        return Settings(
            home=home,
            neo4j_uri=connection.uri,
            neo4j_user=connection.user,
            neo4j_password=connection.password,  # pyright: ignore[reportArgumentType] - parsed
            lease_seconds=LEASE_SECONDS,
        )

    def _laid_out(self, story: str) -> Path:
        if story not in self._templates:
            self._templates[story] = template_of(story, self._folder, self._settings(self._folder), self.database)
        home = self._folder / f"{story}-{self._runs}-{time.monotonic_ns()}"
        lay_out(self._templates[story], home, self.database)
        return home

    def _end(self, home: Path) -> Ending:
        """The end, and what the check finds as lines of it."""
        report = check(self.database, self._policy)
        findings = Counter(f"finding {one.invariant.value} {one.message}" for one in report.findings)
        return ending(self.database, home) + findings


def _is_expected(cell: Cell, line: str) -> bool:
    return any(
        re.fullmatch(case.points, f"{cell.story} {cell.victim} {cell.point}")
        and any(re.fullmatch(pattern, line) for pattern in case.lines)
        for case in EXPECTED
    )


def table(results: list[Result]) -> Iterator[str]:
    """A row for each point of each story, a column for each victim."""
    rows: dict[tuple[str, str], dict[str, list[Result]]] = {}
    for result in results:
        rows.setdefault((result.cell.story, result.cell.point), {}).setdefault(result.cell.victim, []).append(result)
    yield "| story | failpoint | killed | stopped | neo4j |"
    yield "|---|---|---|---|---|"
    for (story, point), by_victim in sorted(rows.items()):
        yield f"| {story} | `{point}` | {' | '.join(_shown(by_victim, victim) for victim in VICTIMS)} |"


def _shown(by_victim: Mapping[str, list[Result]], victim: str) -> str:
    results = by_victim.get(victim, [])
    if not results:
        return "not run"
    different = [result for result in results if not result.equal]
    legitimate = any(result.expected for result in results)
    said = f"{len(different)} different" if different else "equal but as expected" if legitimate else "equal"
    return f"{said} ({len(results)})"
