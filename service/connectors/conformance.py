"""What every connector promises, as cases to run on a real store: `sequela connector test`, and our own tests.

Everything happens below one folder of locators with a name that is never used twice, so a store that is in use is not
touched otherwise. Each case takes a `StoreUnderTest` and raises `PromiseBroken` with what it saw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from graph.errors import InvalidInput
from service.connectors.port import Claim, Connector

# Names that a store may be given. Whatever of these it takes, it takes exactly.
NAMES: Final = (
    "plain",
    "folder/deeper/file",
    "with blank and trailing ",
    "s3:h:9000:x",
    'it\'s "quoted" %2F ?#*[a]',
    "back\\slash and 100%_like",
    "line\nbreak",
    "\u00c1na composed",
    "A\u0301na decomposed",
    "\U0001f600 beyond the basic plane",
    "123",
    ".hidden",
    "n" * 200,
)
_REFUSED_MAX: Final = 2
ALIKE: Final = (
    "user-42",
    "User-42",
    "user-42 ",
    " user-42",
    "user-4",
    "user-422",
    "user_42",
    "user-42/deeper",
    "\u00e9",
    "e\u0301",
)


class PromiseBroken(Exception):
    """A connector did not do what every connector promises."""


class Access(Protocol):
    """A way to the store that the connector does not use. Where there is none, the connector's own stands in for it."""

    def put(self, locator: str, data: bytes) -> None:
        """Put a copy there."""
        ...

    def has(self, locator: str) -> bool:
        """Whether the copy is there."""
        ...


@dataclass(frozen=True)
class OwnAccess:
    """The connector's own writing and reading."""

    connector: Connector

    def put(self, locator: str, data: bytes) -> None:
        """Put a copy there."""
        self.connector.write(locator, data)

    def has(self, locator: str) -> bool:
        """Whether the copy is there."""
        return self.connector.present([locator])[0]


@dataclass(frozen=True)
class StoreUnderTest:
    """A real store behind a connector.

    Args:
        connector: the connector, paired with the store.
        access: another way to the store.
        folder: a first part of all locators that nothing else uses, without its `/`.
    """

    connector: Connector
    access: Access
    folder: str

    def at(self, name: str) -> str:
        """The locator of a name in this store's folder."""
        return f"{self.folder}/{name}"

    def names(self) -> list[str]:
        """Those of `NAMES` that mean something in this store: a server that would take one for another refuses it."""
        taken = [name for name in NAMES if self.connector.delete([self.at(name)]) != [Claim.MALFORMED]]
        if len(taken) < len(NAMES) - _REFUSED_MAX:
            raise PromiseBroken(f"of the names only {taken!r} are taken")
        return taken

    def put(self, *names: str) -> list[str]:
        """Put a copy at each name and answer their locators."""
        locators = [self.at(name) for name in names]
        for locator in locators:
            self.access.put(locator, f"copy at {locator}".encode())
        return locators

    def delete(self, *locators: str) -> list[Claim]:
        """Delete in calls as large as the store takes."""
        return [claim for part in self._calls(locators) for claim in self.connector.delete(part)]

    def present(self, *locators: str) -> list[bool]:
        """Read in calls as large as the store takes."""
        return [one for part in self._calls(locators) for one in self.connector.present(part)]

    def _calls(self, locators: Sequence[str]) -> list[Sequence[str]]:
        size = self.connector.profile.batch_max
        return [locators[start : start + size] for start in range(0, len(locators), size)]


def deletes_and_verifies(store: StoreUnderTest) -> None:
    """A copy that was there is gone, and the verification sees both."""
    for name in store.names():
        (locator,) = store.put(name)
        _expect(store.present(locator), [True], "present before", name)
        _expect(store.delete(locator), [Claim.DELETED], "the deletion", name)
        _expect(store.present(locator), [False], "present after", name)
        _expect(store.access.has(locator), False, "seen by another way after", name)


def deletes_many_at_once(store: StoreUnderTest) -> None:
    """Each locator of a call gets an answer of its own, in the order asked, whatever the others come to."""
    there = store.put(*store.names())
    absent = [store.at(f"absent-{number}") for number in range(len(there))]
    mixed = [locator for pair in zip(there, absent, strict=True) for locator in pair]
    answers = [Claim.DELETED, Claim.NOT_FOUND] * len(there)
    _expect(store.present(*mixed), [True, False] * len(there), "present before")
    _expect(store.delete(*mixed), answers, "the deletion")
    _expect(store.present(*mixed), [False] * len(mixed), "present after")


def tells_absent_from_deleted(store: StoreUnderTest) -> None:
    """What was never there, and what was deleted before, is `not_found`."""
    never = store.at("never/there")
    _expect(store.delete(never), [Claim.NOT_FOUND], "the deletion of nothing")
    _expect(store.present(never), [False], "present")
    (once,) = store.put("once")
    answers = [store.delete(once)[0] for _ in range(3)]
    _expect(answers, [Claim.DELETED, Claim.NOT_FOUND, Claim.NOT_FOUND], "three deletions of one copy")


def deletes_exactly_what_is_named(store: StoreUnderTest) -> None:
    """What only looks alike stays: another case, another normal form, blanks, prefixes, wildcard characters."""
    locators = store.put(*(name for name in ALIKE if name != "user-42/deeper"))
    targets = [store.at("user-42"), store.at("\u00e9")]
    _expect(store.delete(*targets), [Claim.DELETED] * 2, "the deletion")
    for pattern in ("*", "%", "user-*", "user?42", "user%", "u.*", "[a-z]*"):
        _expect(store.delete(store.at(pattern)), [Claim.NOT_FOUND], "a pattern taken as a name", pattern)
    for locator in locators:
        _expect(store.access.has(locator), locator not in targets, "seen by another way after", locator)
        _expect(store.present(locator), [locator not in targets], "present after", locator)
    store.delete(*locators)
    (deeper,) = store.put("user-42/deeper")
    _expect(
        store.delete(store.at("user-4"), store.at("user-42/dee")), [Claim.NOT_FOUND] * 2, "a prefix taken as a name"
    )
    _expect(store.access.has(deeper), True, "seen by another way after", deeper)
    store.delete(deeper)


def does_not_repeat_an_answer(store: StoreUnderTest) -> None:
    """What comes back is seen, and can be deleted again."""
    for _ in range(2):
        (again,) = store.put("again")
        _expect(store.present(again), [True], "present before")
        _expect(store.delete(again), [Claim.DELETED], "the deletion")
        _expect(store.present(again), [False], "present after")


def takes_what_was_overwritten(store: StoreUnderTest) -> None:
    """All versions of a copy that was written several times go at once."""
    (often, _, _) = store.put("often", "often", "often")
    _expect(store.delete(often), [Claim.DELETED], "the deletion")
    _expect(store.present(often), [False], "present after")
    _expect(store.access.has(often), False, "seen by another way after")
    _expect(store.delete(often), [Claim.NOT_FOUND], "the deletion after it")


def writes_what_can_be_deleted(store: StoreUnderTest) -> None:
    """What the connector itself writes is there for the other way, and goes like anything else."""
    for name in store.names():
        locator = store.at(name)
        store.connector.write(locator, b"written by the connector")
        _expect(store.access.has(locator), True, "seen by another way", name)
        _expect(store.delete(locator), [Claim.DELETED], "the deletion", name)


def refuses_what_means_nothing(store: StoreUnderTest) -> None:
    """A locator that cannot be one is answered as such and holds no other of the same call back."""
    (good,) = store.put("good")
    malformed = ("", f"{store.folder}/nul\0", f"{store.folder}/half \ud83d")
    _expect(store.delete(malformed[0], good), [Claim.MALFORMED, Claim.DELETED], "the deletion beside a good one")
    _expect(store.delete(*malformed), [Claim.MALFORMED] * 3, "the deletion")
    _expect(store.present(*malformed), [False] * 3, "present")
    for locator in malformed:
        try:
            store.connector.write(locator, b"data")
        except InvalidInput:
            continue
        raise PromiseBroken(f"{locator!r} could be written")


def takes_as_many_as_it_says(store: StoreUnderTest) -> None:
    """A call of `batch_max` locators is taken, one more is refused before anything is done."""
    size = store.connector.profile.batch_max
    (kept,) = store.put("kept")
    absent = [store.at(f"many-{number}") for number in range(size)]
    _expect(store.connector.delete(absent), [Claim.NOT_FOUND] * size, "a call of the largest size")
    _expect(store.connector.present(absent), [False] * size, "a reading of the largest size")
    for call in (store.connector.delete, store.connector.present):
        try:
            call([kept, *absent])
        except InvalidInput:
            continue
        raise PromiseBroken("one more than the largest size was taken")
    _expect(store.access.has(kept), True, "seen by another way after")
    store.delete(kept)
    _expect(store.connector.delete([]), [], "a call for nothing")
    _expect(store.connector.present([]), [], "a reading of nothing")


def lists_what_it_holds(store: StoreUnderTest) -> None:
    """A store that can be enumerated shows exactly what it holds, and never its own mark."""
    locators = store.put(*store.names())
    mine = {locator for locator in store.connector.locators() if locator.startswith(f"{store.folder}/")}
    right: set[str] = set(locators) if store.connector.profile.is_enumerable else set()
    _expect(mine, right, "what is listed")
    store.delete(*locators)
    _expect([one for one in store.connector.locators() if one in mine], [], "what is listed after the deletion")


def keeps_its_root(store: StoreUnderTest) -> None:
    """The id that a store bears is not overwritten, and no locator reaches it."""
    before = store.connector.root_id()
    if not before:
        raise PromiseBroken("the store bears no id")
    store.connector.create("another")
    _expect(store.connector.root_id(), before, "the id after a second creation")


def purges(store: StoreUnderTest) -> None:
    """A purge leaves what is kept alone, and can be asked for at any time."""
    kept, gone = store.put("kept", "gone")
    store.delete(gone)
    for _ in range(2):
        store.connector.purge()
    _expect(store.present(kept, gone), [True, False], "present after the purge")
    store.delete(kept)


CONFORMANCE_CASES: Final[tuple[Callable[[StoreUnderTest], None], ...]] = (
    deletes_and_verifies,
    deletes_many_at_once,
    tells_absent_from_deleted,
    deletes_exactly_what_is_named,
    does_not_repeat_an_answer,
    takes_what_was_overwritten,
    writes_what_can_be_deleted,
    refuses_what_means_nothing,
    takes_as_many_as_it_says,
    lists_what_it_holds,
    keeps_its_root,
    purges,
)


def _expect(seen: object, right: object, what: str, name: str = "") -> None:
    if seen != right:
        about = f" of {name!r}" if name else ""
        raise PromiseBroken(f"{what}{about}: {seen!r}, and should be {right!r}")
