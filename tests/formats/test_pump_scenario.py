from __future__ import annotations

import pytest

from graph.access import Caller
from graph.errors import InvalidInput
from graph.ids import IdentityKeys
from graph.records.model import RegisterStatus
from graph.vocabulary import Role
from service.formats.ndjson import import_lines
from service.formats.scenario import default_scenario, load_scenario

KEYS = IdentityKeys(b"k" * 32)
# name → class, kind, what it hangs on; written down before the file was.
EXPECTED = {
    "request/replace-P-44": ("workflow_state", "request", set()),
    "manual/P-44/edition-3": ("artifact", "manual_passage", set()),
    "manual/P-44/edition-4": ("artifact", "manual_passage", set()),
    "stock/D-3/P-46": ("artifact", "inventory_observation", set()),
    "preference/concise-explanations": ("preference", "user_preference", set()),
    "inference/P-46-fits-C-2": (
        "artifact",
        "compatibility_inference",
        {"manual/P-44/edition-4", "request/replace-P-44"},
    ),
    "proposal/reserve-P-46": ("artifact", "proposal", {"inference/P-46-fits-C-2", "stock/D-3/P-46"}),
    "memory/concise-explanations": ("memory", "cross_run_memory", {"preference/concise-explanations"}),
    "embedding/concise-explanations": ("artifact", "embedding", {"memory/concise-explanations"}),
    "context/call-1": (
        "context",
        "context_view",
        {"request/replace-P-44", "manual/P-44/edition-4", "stock/D-3/P-46", "memory/concise-explanations"},
    ),
    "cache/call-1": ("artifact", "cache_entry", {"context/call-1"}),
    "summary/job": ("artifact", "summary", {"memory/concise-explanations", "manual/P-44/edition-4"}),
    "export/review-1": ("artifact", "export_packet", {"summary/job"}),
    "label/summary-1": ("artifact", "evaluation_label", {"summary/job"}),
    "scratch/plan-1": ("scratch", "scratch_plan", set()),
}


@pytest.fixture
def pump():
    return load_scenario(default_scenario(), KEYS)


def broken(tmp_path, old: str, new: str):
    text = default_scenario().read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "broken.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_the_records_are_those_of_the_story(pump):
    got = {
        record.name: (record.record_class, record.kind, {source.name for source in record.sources})
        for record in pump.records
    }
    assert got == EXPECTED


def test_every_record_registers_as_created(application, caller, pump):
    results = application.registrar.register(pump.records, caller)
    assert [
        (record.name, result.status, result.code) for record, result in zip(pump.records, results, strict=True)
    ] == [(name, RegisterStatus.CREATED, None) for name in EXPECTED]


def test_each_record_comes_after_its_sources(application, caller, pump):
    statuses = [application.registrar.register([record], caller)[0].status for record in pump.records]
    assert statuses == [RegisterStatus.CREATED] * len(EXPECTED)


def test_edition_four_supersedes_edition_three(application, caller, pump):
    application.registrar.register(pump.records, caller)
    rows = application.database.administer(
        "MATCH (new)-[:SUPERSEDES]->(old) RETURN new.identity AS new, old.identity AS old, old.state AS state"
    )
    assert [(row.text("new"), row.text("old"), row.text("state")) for row in rows] == [
        (
            KEYS.identity("tenant-a", "manual/P-44/edition-4", scope="pump"),
            KEYS.identity("tenant-a", "manual/P-44/edition-3", scope="pump"),
            "superseded",
        )
    ]


def test_every_copy_in_a_store_has_its_bytes(pump):
    locators = {store.locator for record in pump.records for store in record.stores}
    assert locators == {"embeddings/mem-1.bin", "cache/call-1.json"} == set(pump.store_files)
    assert len(pump.store_files["embeddings/mem-1.bin"]) == 8 * 4
    assert b"concise explanations" in pump.store_files["cache/call-1.json"]


def test_before_a_deletion_late_jobs_and_the_stale_export_would_get_in(application, caller, pump):
    application.registrar.register(pump.records, caller)
    late = application.registrar.register(pump.late_jobs, caller)
    stale = list(import_lines(pump.stale_import, application.registrar, caller))
    assert [result.status.value for result in late] == ["unchanged", "created", "created"]
    assert [result.status.value for result in stale] == ["unchanged", "unchanged", "created"]


def test_what_the_other_tenant_has_is_another_record(application, caller, pump):
    application.registrar.register(pump.records, caller)
    other = Caller(pump.foreign.tenant_id, pump.foreign.principal_id, frozenset(Role), pump.purpose)
    results = application.registrar.register(pump.foreign.records, other)
    assert [result.status for result in results] == [RegisterStatus.CREATED, RegisterStatus.CREATED]


def test_instants_count_from_the_base_that_is_given():
    moved = load_scenario(default_scenario(), KEYS, base=1_800_000_000_000_000)
    by_name = {record.name: record for record in moved.records}
    assert by_name["stock/D-3/P-46"].observed_at == "2027-01-15T07:58:00.000000Z"
    assert by_name["preference/concise-explanations"].expires_at == "2027-12-16T08:00:00.000000Z"
    assert by_name["scratch/plan-1"].expires_at == "2027-01-15T16:00:00.000000Z"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("scenario: pump", "scenario: pump\nscenario: pump", "scenario: duplicate key"),
        ('base: "2026-03-02T09:00:00Z"', "base: 2026-03-02", "base: '2026-03-02' is neither"),
        ("storeFiles:", "storeFile:", "storeFiles: Field required"),
        ("zczMPc3M", "zc*MPc3M", "storeFiles.embeddings/mem-1.bin: Value error, no base64"),
        ("edge: PROPOSED_FROM", "edgy: PROPOSED_FROM", "sources.0.edge: Field required"),
        ("records:\n  -", "records:\n  - {nmae: x}\n  -", "nmae: Extra inputs are not permitted"),
        ("reasonCode: PRINCIPAL_REQUEST", "reasonCode: BECAUSE", "deletion.reasonCode: Input should be"),
        ("scenario: pump", "scenario: [pump", "no YAML, line"),
    ],
)
def test_a_fault_stops_the_load_and_is_named(tmp_path, old, new, fault):
    with pytest.raises(InvalidInput) as refusal:
        load_scenario(broken(tmp_path, old, new), KEYS)
    assert any(fault in str(found) for found in refusal.value.details["faults"]), refusal.value.details
