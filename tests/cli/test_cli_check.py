"""`sequela check`: findings with their next step, exit code 1 where there are any, and what `--fix` mends and says."""

import pytest

STRAY = "CREATE (:Exception {exceptionId: 'entry-1', state: 'ended'})"
LEASE = "CREATE (:WorkShard {storeId: 'files', shard: 1, holder: 'killed', until: 1, epoch: 4})"


@pytest.fixture
def ready(sequela):
    assert sequela("db", "schema").code == 0
    return sequela


def test_a_graph_without_findings_ends_with_nought(ready):
    ended = ready("check")
    assert (ended.code, ended.err) == (0, "")
    assert "Every invariant holds" in ended.out
    assert ready("check", "--fix").code == 0


def test_a_finding_is_shown_with_what_to_do(ready, database):
    database.administer(STRAY)
    ended = ready("check")
    assert ended.code == 1
    shown = " ".join(ended.out.split())
    for part in ("I17", "entry-1", "belongs to no outcome", "find out who wrote past the service", "1 findings"):
        assert part in shown


@pytest.mark.req("F-12")
def test_what_is_safe_is_mended_and_counted(ready, database):
    database.administer(LEASE)
    assert ready("check").code == 1
    ended = ready("check", "--fix")
    assert ended.code == 0
    assert ended.out.splitlines()[:2] == ["Mended: 1 leases given back.", "  files/1"]
    again = ready("check", "--fix")
    assert (again.code, "Mended" in again.out) == (0, False)


def test_what_is_not_safe_keeps_the_exit_code(ready, database):
    database.administer(LEASE)
    database.administer(STRAY)
    ended = ready("check", "--fix", "--json")
    assert ended.code == 1
    assert ended.document["repairs"] == [{"what": "leases given back", "count": 1, "identities": ["files/1"]}]
    assert [finding["identity"] for finding in ended.document["findings"]] == ["entry-1"]
    assert (ended.document["clean"], ended.document["counts"], ended.document["unlisted"]) == (False, {"I17": 1}, {})


def test_what_is_not_listed_is_counted_and_said(ready, database):
    database.administer("UNWIND range(1, 1205) AS i CREATE (:Exception {exceptionId: 'entry-' + i, state: 'ended'})")
    document = ready("check", "--json").document
    assert len(document["findings"]) == 200
    assert (document["counts"], document["unlisted"]) == ({"I17": 1205}, {"I17": 1005})
    shown = ready("check").out
    assert "1,005 more findings of I17 are not listed." in shown
    assert "1,205 findings" in shown


def test_many_repairs_are_counted_and_the_first_shown(ready, database):
    database.administer(
        "UNWIND range(1, 203) AS i CREATE (:WorkShard {storeId: 'files', shard: i, holder: 'killed', until: 1, epoch: 1})"
    )
    ended = ready("check", "--fix")
    assert "Mended: 203 leases given back." in ended.out
    assert "  and 3 more" in ended.out
