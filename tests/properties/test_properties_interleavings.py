"""Several clients at once on a small shared world, at random: what holds for every order of what they did.

Which order came about is told by the journal, which is read here as plain lines.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from graph.access import Caller
from graph.database.checker import check
from graph.database.journaling import applied_in
from graph.errors import Refused
from graph.records.relate import Relation, relate
from graph.vocabulary import EdgeType
from service.bootstrap import Application
from service.workers.worker import Worker
from tests.properties.looking import TOMBSTONE_PROPERTIES, content_of, look
from tests.support.deletion import abandoned, by_ids, family, fresh_key, hold, work
from tests.support.records import derived

ROUNDS = 24
CLIENTS = (3, 4, 5, 6)
ACTIONS = 5
SEED = 20_260_302
WORLD = {
    "a": [],
    "b": [],
    "ab": ["a", "b"],
    "a2": ["a"],
    "ab2": ["ab", "b"],
    "deep": ["ab2", "a2"],
    "deeper": ["deep"],
}


@dataclass
class Round:
    """One shared world, and what its clients were told."""

    application: Application
    caller: Caller
    known: dict[str, str]
    label: str
    created: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)
    requests: set[str] = field(default_factory=set)


def derive(world: Round, rng: random.Random) -> None:
    parents = rng.sample(sorted(world.known), k=rng.choice([1, 1, 2, 3]))
    name = f"{world.label}-late-{fresh_key()}"
    (result,) = world.application.registrar.register([derived(name, *parents, content=content_of(name))], world.caller)
    if result.status == "created":
        world.created.append(result.identity)
        world.known[name] = result.identity


def join(world: Round, rng: random.Random) -> None:
    start, end = rng.sample(sorted(world.known.values()), k=2)
    application = world.application
    relate(application.database, application.policy, world.caller, Relation(start, EdgeType.CONTRADICTS, end))


def delete(world: Round, rng: random.Random) -> None:
    chosen = rng.sample(sorted(world.known.values()), k=rng.choice([1, 1, 2]))
    filed = world.application.deletions.file(by_ids(*chosen), world.caller, fresh_key())
    world.requests.add(filed.request_id)
    world.application.deletions.advance(filed.request_id)


def advance(world: Round, rng: random.Random) -> None:
    if requests := sorted(world.requests):
        world.application.deletions.advance(rng.choice(requests))


def run_worker(world: Round, rng: random.Random) -> None:
    Worker(world.application, f"worker-{fresh_key()}").run_once()


def place(world: Round, rng: random.Random) -> None:
    chosen = rng.sample(sorted(world.known.values()), k=rng.choice([1, 2]))
    world.holds.append(hold(world.application, world.caller, *chosen).hold_id)


def release(world: Round, rng: random.Random) -> None:
    if holds := list(world.holds):
        world.application.holds.release(rng.choice(holds), world.caller)


Action = Callable[[Round, random.Random], None]
CHOICES: list[Action] = [derive, derive, derive, delete, delete, place, release, join, advance, run_worker]


def play(world: Round, seed: str, barrier: threading.Barrier) -> None:
    rng = random.Random(seed)
    barrier.wait()
    for _ in range(ACTIONS):
        with suppress(Refused):
            rng.choice(CHOICES)(world, rng)


def holds_in_order(lines: list[str]) -> dict[str, set[str]]:
    """Goes along the journal: nothing is removed under a hold that stands there. Hold → records of those left standing."""
    standing: dict[str, set[str]] = {}
    for line in lines:
        entry = json.loads(line)
        body = entry["body"]
        if entry["kind"] == "hold_placed":
            standing[body["hold"]["holdId"]] = set(body["identities"])
        elif entry["kind"] == "hold_released":
            standing.pop(body["holdId"], None)
        elif entry["kind"] == "content_removed":
            gone = {*body.get("delete", []), *body.get("invalidate", [])}
            assert not [held for held in standing.values() if held & gone]
    return standing


@pytest.mark.req("DEL-18", "DEL-24", "TMB-03")
def test_every_order_of_several_clients_is_a_right_one(application, caller):
    sys.stdout.write(f"interleavings: seed {SEED}\n")
    for number in range(ROUNDS):
        label = f"round-{number}"
        known = family(application, caller, {f"{label}-{name}": _named(label, of) for name, of in WORLD.items()})
        world = Round(application, caller, known, label)
        clients = CLIENTS[number % len(CLIENTS)]
        barrier = threading.Barrier(clients, timeout=60)
        with ThreadPoolExecutor(clients) as pool:
            played = [pool.submit(play, world, f"{SEED}/{number}/{client}", barrier) for client in range(clients)]
        for one in played:
            one.result()
        work(application)
        right_in_every_order(application, world)
    assert check(application.database, application.policy).clean


def _named(label: str, names: list[str]) -> list[str]:
    return [f"{label}-{name}" for name in names]


def right_in_every_order(application: Application, world: Round) -> None:
    seen = look(application.database)
    assert abandoned(application.database) == []
    for identity, labels in seen.labels.items():
        if "Tombstone" in labels:
            assert (labels, set(seen.properties[identity])) == ({"Identity", "Tombstone"}, TOMBSTONE_PROPERTIES)
    # An answer that a record was created holds: it is there, or it was deleted with an outcome.
    settled = {identity for places in seen.outcomes.values() for identity, _ in places}
    for identity in world.created:
        assert identity in seen.labels
        assert "Record" in seen.labels[identity] or identity in settled
    scopes = [tuple(request["scope"]) for request in seen.requests.values()]
    rows = application.database.administer("MATCH (q:Request) RETURN count(q) AS number")
    assert rows[0].number("number") == len(set(scopes)), "two requests for one scope"
    for request in seen.requests.values():
        assert request["state"] in {"COMPLETED", "COMPLETED_WITH_EXCEPTIONS"}
        places = seen.outcomes[request["requestId"]]
        assert all(len(found) == 1 for found in places.values())
    lines = application.journal.path.read_text().splitlines()
    for held in holds_in_order(lines).values():
        assert all(seen.properties[identity].get("state") in {"active", "superseded", "retained"} for identity in held)
    assert applied_in(application.database).position == application.journal.head()
    assert application.journal.head().sequence == len(lines)
