"""The life cycle as a person would tell it: dictionaries and sets, no code of the product, no database.

Records are known by name. What is deleted stays deleted, whatever is put back: the tombstones that ever were, the holds,
releases and filings stand in `events`, which nothing takes away; everything else is as it was when a dump was taken.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

RETAINED = "retained_under_exception"
CREATED, UNCHANGED, REFUSED = "created", "unchanged", "refused"
Verdict = tuple[str, set[str]]


@dataclass
class Node:
    """A record. `state` is active, superseded, invalidated, retained or gone; `copy` is a file that is not settled yet."""

    kind: str
    parents: tuple[str, ...] = ()
    older: str | None = None
    copy: bool = False
    state: str = "active"
    fenced: bool = False

    @property
    def is_live(self) -> bool:
        return self.state in {"active", "superseded"} and not self.fenced

    @property
    def is_empty(self) -> bool:
        return self.state in {"gone", "invalidated"}


@dataclass
class Hold:
    names: set[str] = field(default_factory=set)
    active: bool = True


@dataclass
class Request:
    """A deletion; `outcomes` has (outcome, ground) by name, `pending` the names of copies that are still to be deleted."""

    scope: tuple[str, ...]
    at: int
    outcomes: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    walked: bool = False

    @property
    def ended(self) -> bool:
        return self.walked and not self.pending


@dataclass
class World:
    """What a dump holds."""

    nodes: dict[str, Node] = field(default_factory=dict)
    holds: dict[str, Hold] = field(default_factory=dict)
    requests: dict[tuple[str, ...], Request] = field(default_factory=dict)
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    relations: set[tuple[str, str]] = field(default_factory=set)


class Model:
    def __init__(self) -> None:
        self.world = World()
        self.events: list[tuple[str, object]] = []

    # Records

    def register(self, name: str, node: Node) -> Verdict:
        known = self.world.nodes.get(name)
        if known is not None:
            if known.state == "gone":
                return REFUSED, {"TOMBSTONE_BLOCKED"}
            if known.state == "retained":
                return REFUSED, {"HOLD_ACTIVE"}
            return (REFUSED, {"SOURCE_FENCED"}) if known.fenced else (UNCHANGED, set())
        codes = set().union(*(self._unfit(parent) for parent in node.parents))
        if node.older is not None:
            codes |= self._unfit(node.older)
            older = self.world.nodes.get(node.older)
            if older is not None and older.state == "superseded":
                codes.add("SUPERSESSION_FORK")
        if codes:
            return REFUSED, codes
        self.world.nodes[name] = deepcopy(node)
        if node.older is not None:
            self.world.nodes[node.older].state = "superseded"
        return CREATED, set()

    def _unfit(self, name: str) -> set[str]:
        node = self.world.nodes.get(name)
        if node is None:
            return {"SOURCE_NOT_FOUND"}
        if node.state == "gone":
            # Who has no outcome for it does not learn that it was there.
            return {"TOMBSTONE_BLOCKED"} if self.accounted(name) else {"SOURCE_NOT_FOUND"}
        return set() if node.is_live else {"SOURCE_FENCED"}

    def relate(self, start: str, end: str) -> set[str]:
        """The refusals that would do; none where the relation is drawn."""
        codes: set[str] = set()
        for name in (start, end):
            node = self.world.nodes.get(name)
            if node is None or (node.state == "gone" and not self.accounted(name)):
                codes.add("NOT_FOUND")
            elif node.state == "gone":
                codes.add("TOMBSTONE_BLOCKED")
            elif not node.is_live:
                codes.add("SOURCE_FENCED")
        if start == end:
            codes.add("EDGE_ENDS_NOT_ALLOWED")
        if not codes:
            self.world.relations.add((start, end))
        return codes

    # Holds

    def hold(self, key: str, names: set[str]) -> bool:
        world = self.world
        if key in world.keys:
            return True
        if any(name not in world.nodes or world.nodes[name].is_empty for name in names):
            return False
        world.keys[key] = ()
        world.holds.setdefault(key, Hold()).names.update(names)
        self.events.append(("hold", (key, frozenset(names))))
        return True

    def release(self, key: str) -> None:
        self.world.holds[key].active = False
        for request in self.world.requests.values():
            if (RETAINED, key) in request.outcomes.values():
                request.walked = False
        self.events.append(("released", key))

    # Deletions

    def accounted(self, name: str) -> bool:
        return any(name in request.outcomes for request in self.world.requests.values())

    def file(self, key: str, names: set[str], at: int) -> tuple[str, ...] | None:
        """The scope of the request that is met or made; none where it is refused."""
        world = self.world
        if key in world.keys:
            return world.keys[key]
        for name in names:
            if name not in world.nodes or (world.nodes[name].state == "gone" and not self.accounted(name)):
                return None
        scope = tuple(sorted(self._versions(names)))
        world.keys[key] = scope
        if scope not in world.requests:
            world.requests[scope] = Request(scope, at)
            self.events.append(("filed", (scope, at)))
        return scope

    def _versions(self, names: set[str]) -> set[str]:
        pairs = [(name, node.older) for name, node in self.world.nodes.items() if node.older is not None]
        found = set(names)
        while more := {end for pair in pairs if found.intersection(pair) for end in pair} - found:
            found |= more
        return found

    def advance(self, scope: tuple[str, ...]) -> None:
        request = self.world.requests[scope]
        if request.ended:
            return
        nodes = self.world.nodes
        removed: dict[str, str] = {}
        for name in scope:
            if name not in nodes:
                # A restored world never had it: nothing is left to delete, and nothing brings it back.
                nodes[name] = Node("unknown", state="gone")
                removed[name] = "gone"
        reached = set(scope)
        while more := {name for name, node in nodes.items() if reached & {*node.parents, node.older}} - reached:
            reached |= more
        for name in reached:
            nodes[name].fenced = nodes[name].state != "gone"
        for name in sorted(reached):
            self._settle(request, name, reached, removed)
        request.walked = True
        if removed:
            self.events.append(("removed", (scope, removed)))

    def _settle(self, request: Request, name: str, reached: set[str], removed: dict[str, str]) -> None:
        node = self.world.nodes[name]
        outcome, ground = self._outcome(name, reached, is_root=name in request.scope)
        before = request.outcomes.get(name)
        if before is not None and (before[0] != RETAINED or before[1] == ground):
            return
        request.outcomes[name] = (outcome, ground)
        state = {"deleted": "gone", "invalidated": "invalidated", RETAINED: "retained"}[outcome]
        if node.state != state:
            node.state, node.fenced = state, state != "gone"
            if state != "retained":
                removed[name] = state
        if node.copy and outcome != RETAINED:
            request.pending.add(name)

    def _outcome(self, name: str, reached: set[str], *, is_root: bool) -> tuple[str, str | None]:
        node = self.world.nodes[name]
        if node.state == "gone":
            return "deleted", None
        holds = sorted(key for key, hold in self.world.holds.items() if hold.active and name in hold.names)
        if holds:
            return RETAINED, holds[0]
        if node.kind == "verification":
            return RETAINED, "rule"
        others = [parent for parent in node.parents if parent not in reached and self.world.nodes[parent].is_live]
        keeps_shell = others and not is_root and node.kind != "embedding"
        return ("invalidated" if keeps_shell else "deleted"), None

    def drain(self) -> None:
        """Every copy that is due goes."""
        for request in self.world.requests.values():
            for name in request.pending:
                self.world.nodes[name].copy = False
            request.pending.clear()

    def work(self) -> None:
        for request in sorted(self.world.requests.values(), key=lambda one: one.at):
            self.advance(request.scope)
        self.drain()

    # Dumps

    def dump(self) -> tuple[World, int]:
        return deepcopy(self.world), len(self.events)

    def load(self, dumped: tuple[World, int]) -> None:
        """Put an old world back and go through what happened since."""
        self.world = deepcopy(dumped[0])
        since = self.events[dumped[1] :]
        known = len(self.events)
        self._bring_back(since)
        for scope in self._touched(since):
            self.advance(scope)
        for kind, told in since:
            if kind == "removed":
                for name, state in told[1].items():
                    self._removed_again(name, state)
        # What is done again is told again; a release that is brought back is not.
        self.events[known:] = [event for event in self.events[known:] if event[0] == "removed"]

    def _bring_back(self, since: list) -> None:
        nodes = self.world.nodes
        for kind, told in since:
            if kind == "filed":
                self.world.requests.setdefault(told[0], Request(*told))
            elif kind == "hold":
                there = {name for name in told[1] if name in nodes and not nodes[name].is_empty}
                self.world.holds.setdefault(told[0], Hold()).names.update(there)
        for kind, told in since:
            if kind == "released":
                self.release(told)

    def _touched(self, since: list) -> list[tuple[str, ...]]:
        filed = [told[0] for kind, told in since if kind == "filed"]
        return list(dict.fromkeys([*filed, *(told[0] for kind, told in since if kind == "removed")]))

    def _removed_again(self, name: str, state: str) -> None:
        if state == "gone":
            node = self.world.nodes.setdefault(name, Node("unknown"))
            node.state, node.fenced = "gone", False
        elif name in self.world.nodes:
            assert self.world.nodes[name].is_empty, "what was emptied once has its content again"
