"""Scenarios: small worlds as data, replayed by the demo and by tests alike."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from graph.clock import SECOND, instant_from_text, instant_to_text
from graph.deletion.model import DeletionInput
from graph.envelope import INSTANT_FIELDS, NOT_APPLICABLE, RecordInput
from graph.errors import InvalidInput
from graph.ids import IdentityKeys
from graph.policy.tree import Tree, TreeUnreadableError, read_tree
from graph.vocabulary import ReasonCode

_LIKE: Final = "like"
_RELATIVE: Final = re.compile(r"base(?:([+-]\d{1,6})([smhd]))?")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True)
class ForeignRecords:
    """Records of another tenant, and who in it registers them."""

    tenant_id: str
    principal_id: str
    records: list[RecordInput]


@dataclass(frozen=True)
class Scenario:
    """A world to replay: its records in an order in which each comes after its sources, and what happens then.

    `store_files` are the bytes to write at a locator of the files store, `deletion` the request to file, `late_jobs`
    records that are submitted after it, `stale_import` the lines of an NDJSON export to import after it.
    """

    name: str
    tenant_id: str
    principal_id: str
    purpose: str
    base: int
    records: list[RecordInput]
    store_files: Mapping[str, bytes]
    deletion: DeletionInput
    late_jobs: list[RecordInput]
    stale_import: list[bytes]
    foreign: ForeignRecords


def default_scenario() -> Path:
    """The scenario of the pump, which comes with the package."""
    return Path(__file__).parents[2] / "seeds" / "scenarios" / "pump.yaml"


def load_scenario(path: Path, keys: IdentityKeys, *, base: int | None = None) -> Scenario:
    """Read a scenario, whole or not at all.

    Args:
        path: the YAML file.
        keys: of the installation that it is for; a version names the older one by its id.
        base: the instant that the scenario's instants are counted from, in microseconds; its own where not given.

    Raises:
        InvalidInput: `MALFORMED_INPUT`; `faults` lists what is wrong as `cell: what`.
    """
    try:
        tree, faults = read_tree(path.read_text(encoding="utf-8"))
    except TreeUnreadableError as error:
        raise _invalid([str(error)]) from None
    if faults:
        raise _invalid([f"{'.'.join(cell)}: {what}" for cell, what in faults])
    try:
        file = _ScenarioFile.model_validate(_filled(tree))
        return _Loading(file, keys, instant_from_text(file.base) if base is None else base).scenario()
    except ValidationError as error:
        faulty = error.errors(include_url=False, include_input=False)
        raise _invalid([f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in faulty]) from None


def _invalid(faults: list[str]) -> InvalidInput:
    return InvalidInput(
        f"the scenario has {len(faults)} faults; the first is {faults[0]}",
        code=ReasonCode.MALFORMED_INPUT,
        details={"faults": faults},
    )


def _filled(tree: Tree) -> Tree:
    """Every mapping with the fields of what it is `like`; its own win."""
    if isinstance(tree, list):
        return [_filled(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    own = {key: _filled(value) for key, value in tree.items() if key != _LIKE}
    if _LIKE not in tree:
        return own
    like = _filled(tree[_LIKE])
    return {**like, **own} if isinstance(like, dict) else {**own, _LIKE: like}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


class _StoreFile(_Part):
    text: str | None = None
    base64: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> _StoreFile:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("a store file has either a text or base64")
        self.data()
        return self

    def data(self) -> bytes:
        """The bytes of the file."""
        try:
            return (self.text or "").encode() if self.base64 is None else base64.b64decode(self.base64, validate=True)
        except binascii.Error:
            raise ValueError("no base64") from None


_Name = Annotated[str, StringConstraints(min_length=1, max_length=512)]
_Record = dict[str, JsonValue]


class _Foreign(_Part):
    tenant_id: _Name
    principal_id: _Name
    records: list[_Record]


class _ScenarioFile(_Part):
    scenario: _Name
    base: str
    tenant_id: _Name
    principal_id: _Name
    purpose: _Name
    shared: dict[str, _Record] = {}
    records: Annotated[list[_Record], Field(min_length=1)]
    store_files: dict[_Name, _StoreFile]
    deletion: DeletionInput
    late_jobs: list[_Record]
    stale_import: list[_Record]
    foreign: _Foreign


class _Loading:
    """Turns the records of a file into inputs for one installation at one instant."""

    def __init__(self, file: _ScenarioFile, keys: IdentityKeys, base: int) -> None:
        self._file = file
        self._keys = keys
        self._base = base

    def scenario(self) -> Scenario:
        """The scenario of the file."""
        file, foreign = self._file, self._file.foreign
        own = file.tenant_id
        return Scenario(
            name=file.scenario,
            tenant_id=own,
            principal_id=file.principal_id,
            purpose=file.purpose,
            base=self._base,
            records=self._records(file.records, own),
            store_files={locator: stored.data() for locator, stored in file.store_files.items()},
            deletion=file.deletion,
            late_jobs=self._records(file.late_jobs, own),
            stale_import=[json.dumps(self._stated(record, own)).encode() for record in file.stale_import],
            foreign=ForeignRecords(
                foreign.tenant_id, foreign.principal_id, self._records(foreign.records, foreign.tenant_id)
            ),
        )

    def _records(self, records: list[_Record], tenant_id: str) -> list[RecordInput]:
        return [RecordInput.model_validate(self._stated(record, tenant_id)) for record in records]

    def _stated(self, record: _Record, tenant_id: str) -> _Record:
        stated = {"scope": self._file.scenario, "tenantId": tenant_id, **record}
        for field in INSTANT_FIELDS:
            if isinstance(text := stated.get(field), str):
                stated[field] = self._instant(text)
        older = stated.get("supersedes")
        if isinstance(older, str) and older != NOT_APPLICABLE:
            stated["supersedes"] = self._keys.identity(tenant_id, older, scope=self._file.scenario)
        return stated

    def _instant(self, text: str) -> str:
        relative = _RELATIVE.fullmatch(text)
        if relative is None:
            return text
        count, unit = relative.groups(default="")
        distance = int(count) * _SECONDS[unit] if count else 0
        return instant_to_text(self._base + distance * SECOND)
