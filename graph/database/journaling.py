"""The graph and its journal: paired at start, written together, and compared.

What is journaled in a transaction commits in the order of its entries, since each such transaction holds the lock of the
graph's mark from before its append until its end. The mark moves on with the commit where it stood at the entry before; an
entry whose transaction was rolled back, or one that the restored graph lacks, keeps it where it is until the entries
behind it have been gone through (`graph.deletion.restore`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from graph.clock import Clock
from graph.database.database import Database, Statements
from graph.database.invariants import Finding, Invariant
from graph.database.journal import START, FileJournal, Position
from graph.database.rows import Row
from graph.errors import Conflict, NotReady, Unavailable
from graph.ids import Ids
from graph.vocabulary import JournalEntryKind, ReasonCode

PAST_ROWS: Final = 2_000


@dataclass(frozen=True)
class Applied:
    """How far the graph is in the journal of that id."""

    journal_id: str
    position: Position


def applied_in(database: Database) -> Applied | None:
    """How far the graph is in its journal; none where it never had one."""
    rows = database.read("get_journal")
    if not rows:
        return None
    return Applied(rows[0].text("journalId"), Position(rows[0].number("sequence"), rows[0].text("digest")))


def pair_journal(database: Database, journal: FileJournal, ids: Ids, clock: Clock) -> None:
    """Bring graph and journal together, and check the whole chain; both are made where neither is there.

    A graph without a mark is new, or older than its journal: everything in the journal lies ahead of it.

    Raises:
        NotReady: the graph has a journal and its file is not there (`JOURNAL_MISSING`), the chain is broken
            (`JOURNAL_BROKEN`), the file belongs to another graph or to another past of this one (`JOURNAL_FOREIGN`), or it
            ends before what the graph has applied (`JOURNAL_BEHIND`).
    """
    applied = applied_in(database)
    if applied is not None:
        check_pairing(applied, journal)
        return
    mark = START
    if not journal.exists():
        journal.create(ids.new(), clock.now(), _past(database))
        mark = journal.head()
    journal.digest_at(mark.sequence)
    database.write("merge_journal", journalId=journal.journal_id, sequence=mark.sequence, digest=mark.digest)


def journal_findings(database: Database, journal: FileJournal) -> Iterator[Finding]:
    """What is wrong between the graph and its journal (I11): one finding at most, under the journal's id."""
    applied = applied_in(database)
    if applied is None:
        yield Finding(Invariant.JOURNAL_AT_HEAD, "no journal", "the graph was never paired with a journal")
        return
    try:
        check_pairing(applied, journal)
        left = journal.head().sequence - applied.position.sequence
    except (NotReady, Unavailable) as error:
        yield Finding(Invariant.JOURNAL_AT_HEAD, applied.journal_id, error.message)
        return
    if left:
        yield Finding(Invariant.JOURNAL_AT_HEAD, applied.journal_id, f"{left} entries of the journal are not applied")


def renew_journal(database: Database, journal: FileJournal, ids: Ids, clock: Clock) -> None:
    """Begin a new journal for a graph whose own is lost for good: it starts with the tombstones that the graph has.

    Dumps from before go with the lost journal and are refused from now on.

    Raises:
        Conflict: there is a file (`STATE_CONFLICT`): what can be put back or looked into is not written over.
    """
    if journal.exists():
        raise Conflict("there is a journal: move it away before a new one is begun", code=ReasonCode.STATE_CONFLICT)
    lost = applied_in(database)
    if lost is None:
        pair_journal(database, journal, ids, clock)
        return
    journal.create(ids.new(), clock.now(), _past(database))
    head = journal.head()
    database.write(
        "mark_journal_renewed",
        lostId=lost.journal_id,
        journalId=journal.journal_id,
        sequence=head.sequence,
        digest=head.digest,
    )


def _past(database: Database) -> Iterator[dict[str, JsonValue]]:
    """The tombstones of a graph that is older than its journal, page by page."""
    after = ""
    while True:
        page = database.read("list_tombstones", after=after, rowsMax=PAST_ROWS)[0].rows("tombstones")
        if not page:
            return
        yield {"tombstones": [_tombstone(row) for row in page]}
        after = page[-1].text("identity")


def _tombstone(row: Row) -> dict[str, JsonValue]:
    return {
        "identity": row.text("identity"),
        "deletedAt": row.number("deletedAt"),
        "reasonCode": row.text("reasonCode"),
        "policyRef": row.text("policyRef"),
    }


def check_pairing(applied: Applied, journal: FileJournal) -> None:
    """Whether the journal is the graph's own and reaches as far as the graph; see `pair_journal` for what is raised."""
    found = journal.digest_at(applied.position.sequence)
    if journal.journal_id != applied.journal_id:
        raise NotReady("this journal belongs to another database", code=ReasonCode.JOURNAL_FOREIGN)
    if found is None:
        raise NotReady(
            "the journal ends before what the database has applied: put back the whole file",
            code=ReasonCode.JOURNAL_BEHIND,
            details={"journal": journal.head().sequence, "applied": applied.position.sequence},
        )
    if found != applied.position.digest:
        raise NotReady(
            "the journal tells another past than the one that the database has applied",
            code=ReasonCode.JOURNAL_FOREIGN,
            details={"sequence": applied.position.sequence},
        )


def is_behind(database: Database, journal: FileJournal) -> bool:
    """Whether entries of the journal are still to be gone through; one read, and the end of the file.

    Raises:
        NotReady: the graph has lost its pairing (`JOURNAL_MISSING`).
    """
    applied = applied_in(database)
    return applied is None or applied.position.sequence < journal.head().sequence


def journaled(
    statements: Statements, journal: FileJournal, kind: JournalEntryKind, at: int, body: Mapping[str, JsonValue]
) -> None:
    """Append an entry inside the transaction that it tells of, as its last step.

    Raises:
        NotReady: the graph was replaced under this process and knows no such journal (`JOURNAL_FOREIGN`).
        Unavailable: the journal cannot be written, so nothing is committed (`JOURNAL_UNAVAILABLE`).
    """
    marked = _locked(statements, journal)
    position = journal.append(kind, at, body)
    if marked == position.sequence - 1:
        _mark(statements, journal, position)


def mark_applied(database: Database, journal: FileJournal, last: Position) -> bool:
    """Mark the journal as gone through up to `last`; false where it has grown, and nothing is marked then."""

    def step(statements: Statements) -> bool:
        _locked(statements, journal)
        if journal.head() != last:
            return False
        _mark(statements, journal, last)
        return True

    return database.transact("mark_applied", step)


def _locked(statements: Statements, journal: FileJournal) -> int:
    """Lock the mark; answers where it stands."""
    rows = statements.run("lock_journal", journalId=journal.journal_id)
    if not rows:
        raise NotReady("the database does not know this journal", code=ReasonCode.JOURNAL_FOREIGN)
    return rows[0].number("sequence")


def _mark(statements: Statements, journal: FileJournal, position: Position) -> None:
    statements.run("mark_journal", journalId=journal.journal_id, sequence=position.sequence, digest=position.digest)
