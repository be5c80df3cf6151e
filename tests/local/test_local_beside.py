"""The journal beside a dump: a copy that helps where the journal is lost, and never takes anything from it."""

import pytest

from graph.database.journal import FileJournal
from graph.errors import LocalServerError, NotReady
from graph.vocabulary import JournalEntryKind
from service.local.beside import keep_journal, return_journal


def filled(path, *bodies):
    journal = FileJournal(path)
    if not journal.exists():
        journal.create("journal-1", 1)
    for body in bodies:
        journal.append(JournalEntryKind.CONTENT_REMOVED, 1, {"delete": [body]})
    return journal


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "monday.dump"
    path.write_bytes(b"a dump")
    return path


def test_a_dump_without_a_journal_has_none_beside_it(tmp_path, dump):
    assert keep_journal(tmp_path / "j", dump) is None
    assert [path.name for path in tmp_path.iterdir()] == ["monday.dump"]
    return_journal(tmp_path / "j", dump)
    assert not (tmp_path / "j").exists()


def test_a_journal_that_has_gone_on_stays_as_it_is(tmp_path, dump):
    filled(tmp_path / "j", "a")
    kept = keep_journal(tmp_path / "j", dump)
    assert (kept.name, kept.stat().st_mode & 0o777) == ("monday.dump.journal", 0o600)
    head = filled(tmp_path / "j", "b").head()
    return_journal(tmp_path / "j", dump)
    assert FileJournal(tmp_path / "j").head() == head


def test_a_journal_that_is_lost_or_shorter_is_taken_from_the_copy(tmp_path, dump):
    filled(tmp_path / "j", "a")
    short = (tmp_path / "j").read_bytes()
    head = filled(tmp_path / "j", "b").head()
    keep_journal(tmp_path / "j", dump)
    for there in (None, short):
        (tmp_path / "j").unlink()
        if there is not None:
            (tmp_path / "j").write_bytes(there)
        return_journal(tmp_path / "j", dump)
        assert FileJournal(tmp_path / "j").head() == head


def test_two_pasts_are_refused_and_nothing_is_changed(tmp_path, dump):
    filled(tmp_path / "j", "a")
    start = (tmp_path / "j").read_bytes()
    filled(tmp_path / "j", "b")
    keep_journal(tmp_path / "j", dump)
    (tmp_path / "j").write_bytes(start)
    filled(tmp_path / "j", "c", "d")
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(NotReady) as refused:
        return_journal(tmp_path / "j", dump)
    assert refused.value.code == "JOURNAL_FOREIGN"
    assert (tmp_path / "j").read_bytes() == before


def test_a_dump_that_is_not_there_brings_no_journal(tmp_path):
    filled(tmp_path / "gone.dump.journal", "a")
    with pytest.raises(LocalServerError):
        return_journal(tmp_path / "j", tmp_path / "gone.dump")
    assert not (tmp_path / "j").exists()
