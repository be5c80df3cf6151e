"""Reads a bundle from its folder, whole or not at all: every fault is found and named before anything is refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from graph.canonical import canonical_json
from graph.errors import PolicyInvalid
from graph.policy.model import (
    BundleHeader,
    ClassPolicy,
    EdgePolicy,
    EligibilityRule,
    ExceptionType,
    Grant,
    KindPolicy,
    Owner,
    Policy,
    RetentionClass,
    StorePolicy,
)
from graph.policy.rules import (
    BUNDLE,
    CLASSES,
    EDGES,
    ELIGIBILITY,
    EXCEPTIONS,
    KINDS,
    OWNERS,
    RETENTION,
    STORES,
    Draft,
    PolicyFault,
    draft_faults,
)
from graph.policy.tree import Cell, Tree, TreeUnreadableError, leaves, read_tree
from graph.vocabulary import EdgeType, ReasonCode, RecordClass

_Row = TypeVar("_Row", bound=BaseModel)
_FILES: Final = (BUNDLE, OWNERS, CLASSES, KINDS, EDGES, RETENTION, EXCEPTIONS, STORES, ELIGIBILITY)
_ENUM_OF_KEY: Final = "[key]"
# Answers that are none (CLS-14), and the cells that ask for one.
_NO_RETENTION: Final = re.compile(r"\b(forever|unlimited|indefinite(?:ly)?)\b", re.IGNORECASE)
_RETENTION_CELLS: Final = frozenset({"retention", "retentionClass", "expiry", "tombstoneLifetime", "copiesLiveDays"})
_NO_FRESHNESS: Final = re.compile(r"\b(latest|newest)\b", re.IGNORECASE)
_FRESHNESS_CELLS: Final = frozenset({"freshness", "staleness"})


def default_policy_folder() -> Path:
    """The folder of the bundle that comes with the package."""
    return Path(__file__).parents[2] / "seeds" / "policy"


def load_policy(folder: Path) -> Policy:
    """Read and check the bundle in `folder`.

    Raises:
        PolicyInvalid: something is blank, unknown, contradictory or missing (`POLICY_INVALID`); `details["faults"]`
            lists all of it as `file: cell: what is wrong`.
    """
    reading = _Reading(folder)
    draft = reading.draft()
    faults = [*reading.faults, *draft_faults(draft)]
    if faults or draft.header is None:
        named = list(dict.fromkeys(str(fault) for fault in faults))
        raise PolicyInvalid(
            f"the policy bundle has {len(named)} faults; the first is {named[0]}",
            code=ReasonCode.POLICY_INVALID,
            details={"faults": named},
        )
    return Policy(
        digest=hashlib.sha256(canonical_json(reading.trees)).hexdigest(),
        header=draft.header,
        owners=draft.owners,
        classes={RecordClass(name): row for name, row in draft.classes.items()},
        kinds=draft.kinds,
        edges={EdgeType(name): row for name, row in draft.edges.items()},
        retention_classes=draft.retention_classes,
        exception_types=draft.exception_types,
        stores=draft.stores,
        eligibility_rules=draft.eligibility_rules,
        grants=draft.grants,
    )


class _Reading:
    """One pass over a folder: the trees of its files, the rows that are well-formed, and the faults met."""

    def __init__(self, folder: Path) -> None:
        self.faults: list[PolicyFault] = []
        self.trees: dict[str, Tree] = {file: self._tree(folder, file) for file in _FILES}
        for path in sorted(folder.glob("*.y*ml")):
            if path.name not in _FILES:
                self.faults.append(PolicyFault(path.name, "file", "no part of a bundle"))

    def draft(self) -> Draft:
        """The rows that are well-formed by themselves."""
        eligibility = self._sections(ELIGIBILITY, ("rules", "grants"))
        declared = {file: frozenset(self._table(file, self.trees[file])) for file in _FILES}
        declared[f"{ELIGIBILITY}/rules"] = frozenset(eligibility["rules"])
        return Draft(
            declared=declared,
            header=self._model(BUNDLE, (), self.trees[BUNDLE], BundleHeader),
            owners=self._rows(OWNERS, Owner),
            classes=self._rows(CLASSES, ClassPolicy),
            kinds=self._rows(KINDS, KindPolicy),
            edges=self._rows(EDGES, EdgePolicy),
            retention_classes=self._rows(RETENTION, RetentionClass),
            exception_types=self._rows(EXCEPTIONS, ExceptionType),
            stores=self._rows(STORES, StorePolicy),
            eligibility_rules=self._rows(ELIGIBILITY, EligibilityRule, ("rules",), eligibility["rules"]),
            grants=self._rows(ELIGIBILITY, Grant, ("grants",), eligibility["grants"]),
        )

    def _tree(self, folder: Path, file: str) -> Tree:
        try:
            tree, faults = read_tree((folder / file).read_text(encoding="utf-8"))
        except FileNotFoundError:
            faults, tree = [(("file",), "missing")], None
        except (TreeUnreadableError, UnicodeDecodeError) as error:
            faults, tree = [(("file",), str(error))], None
        self.faults.extend(_fault(file, cell, what) for cell, what in [*faults, *_leaf_faults(file, tree)])
        return tree

    def _table(self, file: str, tree: Tree, cell: Cell = ()) -> Mapping[str, Tree]:
        if isinstance(tree, dict) and tree:
            return tree
        self.faults.append(_fault(file, cell or ("file",), "blank" if not tree else "needs rows with names"))
        return {}

    def _sections(self, file: str, names: tuple[str, ...]) -> Mapping[str, Mapping[str, Tree]]:
        tree = self._table(file, self.trees[file])
        self.faults.extend(_fault(file, (name,), "unknown field") for name in tree if name not in names)
        return {name: self._table(file, tree.get(name), (name,)) for name in names}

    def _rows(
        self, file: str, model: type[_Row], cell: Cell = (), table: Mapping[str, Tree] | None = None
    ) -> dict[str, _Row]:
        rows: dict[str, _Row] = {}
        for name, tree in (self._table(file, self.trees[file]) if table is None else table).items():
            if not isinstance(tree, dict) or not tree:
                self.faults.append(_fault(file, (*cell, name), "blank" if not tree else "needs fields"))
                continue
            if "id" in tree:
                self.faults.append(_fault(file, (*cell, name, "id"), "unknown field"))
            row = self._model(file, (*cell, name), {**tree, "id": name}, model)
            if row is not None:
                rows[name] = row
        return rows

    def _model(self, file: str, cell: Cell, tree: Tree, model: type[_Row]) -> _Row | None:
        try:
            return model.model_validate(tree)
        except ValidationError as error:
            for one in error.errors(include_url=False):
                below = tuple(str(part) for part in one["loc"] if not isinstance(part, int) and part != _ENUM_OF_KEY)
                what = _what(one["type"], one["input"], one["msg"])
                self.faults.append(_fault(file, (*cell, *below) if below != ("id",) else cell, what))
            return None


def _fault(file: str, cell: Cell, what: str) -> PolicyFault:
    return PolicyFault(file, ".".join(cell), what)


def _what(kind: str, given: object, message: str) -> str:
    if kind == "missing":
        return "missing"
    if given is None or given in ("", [], {}) or (isinstance(given, str) and not given.strip()):
        return "blank"
    if kind == "extra_forbidden":
        return "unknown field"
    if kind == "enum":
        return f"unknown value '{given}'"
    return message[0].lower() + message[1:]


def _leaf_faults(file: str, tree: Tree) -> Iterator[tuple[Cell, str]]:
    """Blank cells, and the two answers that are none."""
    for cell, value in leaves(tree):
        if value is None or (isinstance(value, str) and not value.strip()):
            yield cell or ("file",), "blank"
        if not isinstance(value, str):
            continue
        if (file == RETENTION or _RETENTION_CELLS & set(cell)) and (found := _NO_RETENTION.search(value)):
            yield cell, f"'{found[0]}' is no retention"
        if _FRESHNESS_CELLS & set(cell) and (found := _NO_FRESHNESS.search(value)):
            yield cell, f"'{found[0]}' is no freshness"
