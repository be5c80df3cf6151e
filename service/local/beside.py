"""The tombstone journal beside a dump: a copy to start from where the journal itself is lost, never a step back."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from graph.database.journal import whole_journal
from graph.errors import LocalServerError


def journal_beside(dump: Path) -> Path:
    """Where the copy of a dump lies."""
    return dump.with_name(f"{dump.name}.journal")


def keep_journal(journal: Path, dump: Path) -> Path | None:
    """Copy the journal beside a dump that was just made; none where there is no journal yet."""
    if not journal.exists():
        return None
    kept = journal_beside(dump)
    _copy(journal, kept)
    return kept


def return_journal(journal: Path, dump: Path) -> None:
    """Before a load: take over the copy beside the dump where it has what the journal lacks; the journal never shrinks.

    Raises:
        LocalServerError: there is no such dump.
        NotReady: journal and copy tell different pasts (`JOURNAL_FOREIGN`); nothing was changed.
    """
    if not dump.exists():
        raise LocalServerError(f"The dump {dump} cannot be read.")
    kept = journal_beside(dump)
    if kept.exists() and (not journal.exists() or whole_journal(journal, kept) == kept):
        _copy(kept, journal)


def _copy(source: Path, target: Path) -> None:
    """Copy a file for its owner alone, whole or not at all."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, source.open("rb") as data:
        shutil.copyfileobj(data, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(target)
