"""The records room on a real graph: registering and reading with as few words as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from graph.access import Caller
from graph.deletion.model import DeletionInput
from graph.envelope import RecordInput
from graph.records.model import RegisterResult
from graph.records.read import RecordView, read_content, read_record
from graph.vocabulary import Role
from service.bootstrap import Application
from tests.support.records import OTHER_TENANT


@dataclass(frozen=True)
class Room:
    """The records room as one caller meets it."""

    application: Application
    caller: Caller

    def all(self, *records: RecordInput, repeat_keys: Sequence[str | None] = ()) -> list[RegisterResult]:
        return self.application.registrar.register(records, self.caller, repeat_keys=repeat_keys)

    def verdict(self, record: RecordInput) -> tuple[str, str | None]:
        return shown(self.all(record)[0])

    def verdicts(self, *records: RecordInput) -> list[tuple[str, str | None]]:
        return [shown(result) for result in self.all(*records)]

    def one(self, record: RecordInput) -> str:
        return self.many(record)[0]

    def many(self, *records: RecordInput) -> list[str]:
        results = self.all(*records)
        assert [result.status for result in results] == ["created"] * len(records), results
        return [result.identity for result in results]

    def read(self, identity: str) -> RecordView:
        view = read_record(self.application.database, self.caller, identity)
        assert isinstance(view, RecordView)
        return view

    def content(self, identity: str) -> Any:
        return read_content(self.application.database, self.caller, identity)

    def delete(self, **subject: Any) -> str:
        request = DeletionInput.model_validate({"subject": subject})
        key = self.application.ids.new()
        view = self.application.deletions.file(request, self.caller, key)
        return self.application.deletions.advance(view.request_id).state

    def cypher(self, text: str, **params: object):
        return self.application.database.administer(text, **params)

    def acting_as(self, **changes: Any) -> Room:
        return Room(self.application, replace(self.caller, **changes))


def shown(result: RegisterResult) -> tuple[str, str | None]:
    return result.status.value, result.code.value if result.code else None


@pytest.fixture
def room(application: Application, caller: Caller) -> Room:
    return Room(application, caller)


@pytest.fixture
def neighbour(room: Room) -> Room:
    """Somebody with every role in another tenant."""
    return room.acting_as(tenant_id=OTHER_TENANT, principal_id="tech-99")


@pytest.fixture
def librarian(room: Room) -> Room:
    """Who registers in the shared source scope."""
    return room.acting_as(tenant_id="shared-sources", principal_id="librarian")


@pytest.fixture
def producer(room: Room) -> Room:
    """A producer and nothing else."""
    return room.acting_as(roles=frozenset({Role.PRODUCER}))
