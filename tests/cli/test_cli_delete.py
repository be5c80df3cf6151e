"""`sequela delete`, `outcomes`, `receipt`, `retry` and `hold`, from the preview to the proof."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.records import TENANT, stated

COUNTS = {"deleted": 5, "invalidated": 1, "not_found": 0, "retained_under_exception": 0, "failed": 0}
# Within the 90 days of a legal hold, by the clock of the machine that the command reads.
SOON = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
GROUND = ("--authority", "Order 12", "--policy-ref", "exceptions/legal_hold", "--contact", "mailto:l@x.example")
HOLD = ("--type", "legal_hold", *GROUND)


def _derived(name, *parents, edge="SUMMARIZED_FROM", **changes):
    sources = [{"name": parent, "edge": edge} for parent in parents]
    computed = {"derivationType": "computed", "inferenceMethod": "test", "trust": "unreviewed_derived"}
    return stated(name, sources=sources, **computed, **changes)


RECORDS = [
    stated("preference"),
    stated("manual"),
    _derived("summary", "preference", "manual"),
    _derived("vector", "preference", edge="EMBEDDED_FROM", stores=[{"storeId": "files", "locator": "vectors/1.bin"}]),
    _derived("packet", "summary", edge="EXPORTED_FROM"),
    _derived("view", "packet", "vector", edge="RENDERED_FROM"),
]


@pytest.fixture
def world(sequela, tmp_path):
    """A preference, a manual and what came of them, one of it with a copy in the files store."""
    taken = sequela("import", "-", "--json", given="\n".join(json.dumps(record) for record in RECORDS))
    assert taken.code == 0, taken.err
    copy = tmp_path / "home" / "files" / TENANT / "vectors" / "1.bin"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(b"0.1 0.2")
    ids = {record["name"]: line["recordId"] for record, line in zip(RECORDS, taken.lines, strict=False)}
    return ids, copy


def test_a_preview_shows_every_outcome_and_changes_nothing(sequela, world):
    ids, copy = world
    ended = sequela("delete", "--name", "preference", "--preview", "--json")
    assert ended.code == 0
    assert ended.document["counts"] == COUNTS
    planned = {(item["identity"], item["store"]): item["outcome"] for item in ended.document["items"]}
    assert planned == {
        (ids["preference"], "graph"): "deleted",
        (ids["summary"], "graph"): "invalidated",
        (ids["vector"], "graph"): "deleted",
        (ids["vector"], "files"): "deleted",
        (ids["packet"], "graph"): "deleted",
        (ids["view"], "graph"): "deleted",
    }
    shown = sequela("delete", ids["preference"], "--preview").out
    assert all(ids[name] in shown for name in ids if name != "manual")
    assert "1 record in scope" in shown
    assert copy.exists()
    assert sequela("show", ids["preference"]).code == 0


def test_a_deletion_leaves_a_tombstone_outcomes_a_receipt_and_no_file(sequela, world, tmp_path):
    ids, copy = world
    ended = sequela("delete", "--name", "preference", "--reason", "retention_expired", "--yes", "--json")
    assert ended.code == 0, ended.err
    request = ended.document
    assert (request["state"], request["complete"], request["counts"]) == ("COMPLETED", True, COUNTS)
    assert not copy.exists()
    left = sequela("show", ids["preference"], "--json").document
    assert set(left) == {"recordId", "deletedAt", "reasonCode", "policyRef", "deleted"}
    assert left["reasonCode"] == "RETENTION_EXPIRED"
    outcomes = sequela("outcomes", request["requestId"], "--json")
    assert outcomes.code == 0
    assert len(outcomes.document["outcomes"]) == 6
    shown = sequela("outcomes", request["requestId"]).out
    assert ids["view"] in shown
    assert "; complete" in shown
    receipt = sequela("receipt", request["requestId"], "--json").document
    assert receipt["requestId"] == request["requestId"]
    written = sequela("receipt", request["requestId"], "--out", tmp_path / "receipt.json")
    assert written.code == 0
    assert json.loads((tmp_path / "receipt.json").read_bytes()) == receipt
    assert sequela("check").code == 0
    again = sequela("import", "-", given=json.dumps(RECORDS[0]))
    assert again.code == 1
    assert "TOMBSTONE_BLOCKED" in again.out


def test_without_a_person_to_ask_it_wants_a_yes(sequela, world):
    ids, _ = world
    ended = sequela("delete", ids["preference"])
    assert ended.code == 2
    assert "--yes" in ended.err


def test_what_is_not_there_is_refused_with_its_code(sequela):
    ended = sequela("delete", "0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81", "--preview", "--json")
    assert ended.code == 3
    assert ended.document["error"]["code"] == "REQUESTER_UNAUTHORIZED"
    assert ended.err.count("\n") == 1
    assert "[REQUESTER_UNAUTHORIZED]" in ended.err
    for command in ("outcomes", "receipt", "retry"):
        assert sequela(command, "0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81").code == 3


def test_another_tenant_or_purpose_finds_nothing(sequela, world):
    ids, _ = world
    assert sequela("show", ids["manual"], "--tenant", "tenant-b").code == 3
    assert sequela("show", ids["manual"], "--purpose", "audit").code == 3
    assert sequela("show", ids["manual"], "--purpose", "fun").code == 2


def test_a_person_is_deleted_by_kind(sequela, world):
    ids, _ = world
    mine = stated("mine", principalId="tech-17", kind="document")
    assert sequela("import", "-", given=json.dumps(mine)).code == 0
    ended = sequela("delete", "--principal", "tech-17", "--kind", "document", "--yes", "--json")
    assert ended.code == 0
    assert ended.document["counts"]["deleted"] == 1
    assert sequela("show", ids["manual"], "--json").document["kind"] == "document"


def test_a_hold_keeps_a_record_and_its_release_lets_it_go(sequela, world):
    ids, _ = world
    held = sequela("hold", "place", ids["packet"], *HOLD, "--review-at", SOON, "--json")
    assert held.code == 0, held.err
    assert (held.document["state"], held.document["recordIds"]) == ("active", [ids["packet"]])
    ended = sequela("delete", "--name", "preference", "--yes", "--json")
    assert ended.code == 0
    assert ended.document["state"] == "COMPLETED_WITH_EXCEPTIONS"
    assert ended.document["counts"]["retained_under_exception"] == 1
    assert "; complete, with 1 kept under an exception" in sequela("outcomes", ended.document["requestId"]).out
    ledger = sequela("hold", "list", "--json").document
    assert [(entry["identity"], entry["authority"]) for entry in ledger] == [(ids["packet"], "Order 12")]
    assert ids["packet"] in sequela("hold", "list").out
    assert sequela("hold", "release", held.document["holdId"], "--json").document["state"] == "released"
    again = sequela("hold", "release", held.document["holdId"])
    assert again.code == 0
    assert "It was released before" in again.err
    assert sequela("hold", "release", "nothing").code == 3


def test_an_unknown_exception_type_is_refused_with_those_that_there_are(sequela, world):
    ids, _ = world
    ended = sequela("hold", "place", ids["packet"], "--type", "bogus", *HOLD[2:], "--review-at", SOON)
    assert ended.code == 2
    assert "effect_audit, evaluation_hold, incident_hold, legal_hold, receipt_proof" in ended.err


def test_what_was_deleted_before_is_met_and_that_is_said(sequela, world):
    ids, _ = world
    first = sequela("delete", ids["manual"], "--yes", "--json")
    assert "before" not in first.err
    second = sequela("delete", ids["manual"], "--yes", "--json")
    assert (second.code, second.document["requestId"]) == (0, first.document["requestId"])
    assert "was asked for before" in second.err


def test_a_hold_without_a_zone_in_its_date_is_refused(sequela, world):
    ids, _ = world
    ended = sequela("hold", "place", ids["packet"], *HOLD, "--review-at", SOON.removesuffix("Z"))
    assert ended.code == 3
    assert "MALFORMED_INPUT" in ended.err


def test_a_store_that_cannot_be_emptied_leaves_the_request_unfinished(sequela, world):
    ids, copy = world
    copy.unlink()
    copy.mkdir()
    (copy / "in the way").touch()
    ended = sequela("delete", ids["vector"], "--yes", "--json")
    assert ended.code == 5
    assert ended.document["complete"] is False
    request_id = ended.document["requestId"]
    shown = sequela("outcomes", request_id)
    assert shown.code == 5
    assert "not complete" in shown.out
    early = sequela("receipt", request_id)
    assert early.code == 5
    assert "STATE_CONFLICT" in early.err
    (copy / "in the way").unlink()
    copy.rmdir()
    copy.write_bytes(b"0.1")
    assert sequela("retry", request_id).code == 0
    assert sequela("outcomes", request_id).code == 0
