"""What every connector promises. A test of a connector gives a `StoreUnderTest` and runs each of the cases on it.

@pytest.mark.parametrize("case", CONFORMANCE_CASES)
def test_it_keeps_the_promises_of_a_connector(case, store):
    case(store)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import pytest

from graph.errors import InvalidInput
from service.connectors.port import Connector, StoreUnavailable

# Locators that a store may be given: whatever of these it takes, it takes exactly.
LOCATORS: Final = (
    "plain",
    "folder/deeper/file",
    "with blank and trailing ",
    "s3:h:9000:x",
    'it\'s "quoted" %2F ?#*[a]',
    "line\nbreak",
    "\u00c1na composed",
    "A\u0301na decomposed",
    "123",
    ".hidden",
    "n" * 200,
)


class StoreUnderTest(Protocol):
    """A real store behind a connector, with a way to it that the connector does not use."""

    @property
    def connector(self) -> Connector:
        """The connector."""
        ...

    def put(self, locator: str, data: bytes) -> None:
        """Put a copy there."""
        ...

    def has(self, locator: str) -> bool:
        """Whether the copy is there."""
        ...

    def break_off(self) -> None:
        """Make the store out of reach."""
        ...

    def mend(self) -> None:
        """Bring the store back, with everything that was in it."""
        ...

    def malformed(self) -> tuple[str, ...]:
        """Locators that mean nothing in this store."""
        ...


def deletes_and_verifies(store: StoreUnderTest) -> None:
    """A copy that was there is gone, and the verification sees both."""
    for locator in LOCATORS:
        store.put(locator, b"data")
        assert store.connector.is_present(locator), locator
        assert store.connector.delete(locator) == "deleted", locator
        assert not store.connector.is_present(locator), locator
        assert not store.has(locator), locator


def tells_absent_from_deleted(store: StoreUnderTest) -> None:
    """What was never there, and what was deleted before, is `not_found`."""
    assert store.connector.delete("never/there") == "not_found"
    assert not store.connector.is_present("never/there")
    store.put("once", b"data")
    answers = [store.connector.delete("once") for _ in range(3)]
    assert answers == ["deleted", "not_found", "not_found"]


def deletes_exactly_what_is_named(store: StoreUnderTest) -> None:
    """What only looks alike stays."""
    alike = ("user-42", "User-42", "user-42 ", "user-4", "user-422", "folder/user-42", "\u00e9", "e\u0301")
    for locator in alike:
        store.put(locator, locator.encode())
    for locator in ("user-42", "\u00e9"):
        assert store.connector.delete(locator) == "deleted"
    assert [locator for locator in alike if store.has(locator)] == [
        *alike[1:6],
        "e\u0301",
    ]
    assert [locator for locator in alike if store.connector.is_present(locator)] == [*alike[1:6], "e\u0301"]


def does_not_repeat_an_answer(store: StoreUnderTest) -> None:
    """What comes back is seen, and can be deleted again."""
    for _ in range(2):
        store.put("again", b"data")
        assert store.connector.is_present("again")
        assert store.connector.delete("again") == "deleted"
        assert not store.connector.is_present("again")


def never_takes_silence_for_absence(store: StoreUnderTest) -> None:
    """A store out of reach is an error for what it holds and for what it does not; afterwards everything is there."""
    store.put("kept", b"data")
    store.break_off()
    for locator in ("kept", "never-there"):
        with pytest.raises(StoreUnavailable):
            store.connector.delete(locator)
        with pytest.raises(StoreUnavailable):
            store.connector.is_present(locator)
    store.mend()
    assert store.connector.is_present("kept")
    assert store.connector.delete("kept") == "deleted"


def refuses_what_means_nothing(store: StoreUnderTest) -> None:
    """A locator that the store cannot mean is refused, never `not_found`."""
    for locator in store.malformed():
        with pytest.raises(InvalidInput):
            store.connector.delete(locator)
        with pytest.raises(InvalidInput):
            store.connector.is_present(locator)


CONFORMANCE_CASES: Final[tuple[Callable[[StoreUnderTest], None], ...]] = (
    deletes_and_verifies,
    tells_absent_from_deleted,
    deletes_exactly_what_is_named,
    does_not_repeat_an_answer,
    never_takes_silence_for_absence,
    refuses_what_means_nothing,
)
