"""Late writes: what was deleted is written again by every channel, from several threads, and none of it comes back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from graph.access import Caller
from graph.database.database import ConstraintViolated
from service.bootstrap import Application
from service.runtime import catch_up
from tests.support.deletion import by_ids, work
from tests.support.graph_copy import load_graph, take_graph
from tests.support.records import derived, record

THREADS = 4
FAMILIES = 20
CHANNELS = ("import", "import of many", "derivation", "successor", "restore past the service")


@dataclass
class Late:
    """How many writes were tried by channel, what was said to them, and what is alive of what was deleted."""

    tried: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    alive: list[str] = field(default_factory=list)


def write_late(application: Application, caller: Caller, number: int, *, seed: int = 11) -> Late:
    """Delete families, then try `number` late writes, half of them before and half after a restore of the graph."""
    names = [f"family-{index}" for index in range(FAMILIES)]
    for name in names:
        application.registrar.register([record(name), derived(f"{name}/child", name)], caller)
    taken = take_graph(application.database)
    for name in names:
        application.deletions.file(by_ids(application.keys.identity(caller.tenant_id, name)), caller, f"delete-{name}")
    work(application)
    late = Late()
    _write(application, caller, range(number // 2), names, late, seed)
    load_graph(application.database, taken)
    again = replace(application)
    again.prepare()
    catch_up(again)
    late.tried["restore of the whole graph"] += 1
    _write(again, caller, range(number // 2, number), names, late, seed + 1)
    late.alive = _alive(again, caller, names)
    return late


def _write(
    application: Application, caller: Caller, numbers: range, names: Sequence[str], late: Late, seed: int
) -> None:
    chances = random.Random(seed)
    plan = [(number, chances.choice(CHANNELS), chances.choice(names), chances.random() < 0.5) for number in numbers]
    with ThreadPoolExecutor(THREADS) as pool:
        for channel, said in pool.map(lambda one: _try(application, caller, *one), plan):
            late.tried[channel] += 1
            late.said[said] += 1


def _try(application: Application, caller: Caller, number: int, channel: str, family: str, child: bool):
    name = f"{family}/child" if child else family
    identity = application.keys.identity(caller.tenant_id, name)
    if channel == "restore past the service":
        try:
            application.database.administer("CREATE (:Identity:Record {identity: $identity})", identity=identity)
        except ConstraintViolated:
            return channel, "refused by the constraint"
        return channel, "created"
    stated = {
        "import": [derived(name, family) if child else record(name)],
        "import of many": [record(name), derived(f"late-{number}-a", name), derived(f"late-{number}-b", family)],
        "derivation": [derived(f"late-{number}", name)],
        "successor": [record(f"late-{number}", supersedes=identity)],
    }[channel]
    results = application.registrar.register(stated, caller)
    return channel, ", ".join(sorted({result.code or result.status.value for result in results}))


def _alive(application: Application, caller: Caller, names: Sequence[str]) -> list[str]:
    """Records under a deleted identity, or hanging on one, by a query that shares nothing with the product."""
    gone = [application.keys.identity(caller.tenant_id, name + end) for name in names for end in ("", "/child")]
    rows = application.database.administer(
        "MATCH (n:Identity) WHERE (n.identity IN $gone AND (n:Record OR NOT n:Tombstone OR size(keys(n)) <> 4))"
        " OR (n:Record AND EXISTS { MATCH (n)-[]->(t:Identity) WHERE t.identity IN $gone })"
        " RETURN n.identity AS identity",
        gone=gone,
    )
    there = application.database.administer("MATCH (n:Tombstone) RETURN count(n) AS number")[0].number("number")
    missing = [] if there == len(gone) else [f"{there} tombstones instead of {len(gone)}"]
    return [*(row.text("identity") for row in rows), *missing]
