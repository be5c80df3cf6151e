"""Full disks: a limit on the size of files refuses the second half of a write, as a full disk does."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from graph.errors import SequelaError
from service.local.paths import Home
from tests.support.deletion import by_ids, fresh_key, outcomes_of, register, tombstones, with_copy, work
from tests.support.records import record

LIMITED = """
import resource, signal, sys
from pathlib import Path
from service.connectors.files import FilesConnector
from service.connectors.port import StoreUnavailable
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
files = FilesConnector(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    files.write("tenant-a/new.bin", b"x" * 500)
except StoreUnavailable:
    print("refused")
new, copy = ["tenant-a/new.bin"], ["tenant-a/copy.bin"]
print(*files.present(new), *files.delete(copy), *files.present(copy))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
files.write("tenant-a/new.bin", b"x" * 500)
print(*files.present(new))
"""


def test_a_full_disk_refuses_a_copy_and_still_lets_one_go(application):
    files = application.connectors["files"]
    files.write("tenant-a/copy.bin", b"a copy")
    said = subprocess.run(
        [sys.executable, "-c", LIMITED, str(application.settings.files_store_root)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["refused", "False", "deleted", "False", "True"]
    assert [path.name for path in (application.settings.files_store_root / "tenant-a").iterdir()] == ["new.bin"]


@pytest.mark.req("DEL-05")
def test_a_full_disk_under_the_journal_removes_nothing_and_the_deletion_goes_on_after(application, caller):
    known = register(application, caller, record("r"), with_copy("copy", "r"))
    filed = application.deletions.file(by_ids(known[0]), caller, fresh_key()).request_id
    path = application.journal.path
    full = path.stat().st_size + 40
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (full, before[1]))
    try:
        with pytest.raises(SequelaError) as refused:
            application.deletions.advance(filed)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.value.code == "JOURNAL_UNAVAILABLE"
    assert tombstones(application.database) == set()
    work(application)
    assert application.deletions.view(filed, caller).complete
    assert {item.outcome for item in outcomes_of(application, caller, filed)} == {"deleted", "not_found"}


def test_a_password_is_never_taken_for_an_option(tmp_path):
    """One that began with a dash kept one new server in sixty-four from its first start."""
    homes = [Home(tmp_path / str(number)) for number in range(200)]
    for home in homes:
        home.create()
    assert [home.password() for home in homes if not home.password().isalnum()] == []
