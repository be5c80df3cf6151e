"""A bundle loads whole or not at all: whatever is wrong with it is found in one go and named by file and cell."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from graph.errors import InvalidInput, NotAuthorized, PolicyInvalid
from graph.policy.loader import default_policy_folder, load_policy
from graph.vocabulary import ReasonCode, Role

FILES = (
    "bundle.yaml",
    "classes.yaml",
    "edges.yaml",
    "eligibility.yaml",
    "exceptions.yaml",
    "kinds.yaml",
    "owners.yaml",
    "retention.yaml",
    "stores.yaml",
)
GONE = object()
FOLLOW_NONE = {"deletion": False, "withdrawal": False, "correction": False, "conflict": False}
SUMMARY_LIFE = "kinds.yaml", "summary.lifecycle."


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the shipped bundle, to break."""
    return Path(shutil.copytree(default_policy_folder(), tmp_path / "policy"))


def edit(bundle: Path, file: str, cell: str, value: object) -> None:
    """Put `value` into one cell, or take the cell away with `GONE`."""
    tree: dict[str, Any] = yaml.load((bundle / file).read_text(), Loader=yaml.CSafeLoader)
    *above, last = cell.split(".")
    row = tree
    for key in above:
        row = row[key]
    if value is GONE:
        del row[last]
    else:
        row[last] = value
    (bundle / file).write_text(yaml.dump(tree, Dumper=yaml.CSafeDumper))


def faults(bundle: Path) -> list[str]:
    with pytest.raises(PolicyInvalid) as caught:
        load_policy(bundle)
    assert caught.value.code is ReasonCode.POLICY_INVALID
    return list(caught.value.details["faults"])


BLANKS = [
    ("kinds.yaml", "summary.deletion.supported", None, "blank"),
    ("kinds.yaml", "summary.deletion.supported", "", "blank"),
    ("kinds.yaml", "summary.means", "   ", "blank"),
    ("kinds.yaml", "summary", None, "blank"),
    ("kinds.yaml", "summary", {}, "blank"),
    ("edges.yaml", "SUMMARIZED_FROM.childKinds", [], "blank"),
    ("bundle.yaml", "storesOutOfBoundary", [], "blank"),
    ("bundle.yaml", "purposes", {}, "blank"),
    ("eligibility.yaml", "grants", {}, "blank"),
    ("classes.yaml", "memory.required", [], "blank"),
    ("stores.yaml", "graph.retry.delaysSeconds", [], "blank"),
]
UNKNOWN = [
    ("kinds.yaml", "summary.class", "note", "unknown value 'note'"),
    ("kinds.yaml", "summary.ownerId", "nobody", "unknown owner 'nobody'"),
    ("kinds.yaml", "summary.retentionClass", "some_day", "unknown retention class 'some_day'"),
    ("kinds.yaml", "summary.deletion.alone", "hide", "unknown value 'hide'"),
    ("kinds.yaml", "summary.colour", "red", "unknown field"),
    ("kinds.yaml", "summary.id", "another", "unknown field"),
    ("classes.yaml", "memory.ownerId", "nobody", "unknown owner 'nobody'"),
    ("classes.yaml", "memory.treatment.beauty", "any", "unknown value 'beauty'"),
    ("classes.yaml", "dream", {"question": "Why?"}, "unknown value 'dream'"),
    ("stores.yaml", "graph.ownerId", "nobody", "unknown owner 'nobody'"),
    ("stores.yaml", "graph.storeKind", "cupboard", "unknown value 'cupboard'"),
    ("stores.yaml", "graph.verificationLevel", "surely", "unknown value 'surely'"),
    ("bundle.yaml", "ownerId", "nobody", "unknown owner 'nobody'"),
    ("bundle.yaml", "purposes.audit.ownerId", "nobody", "unknown owner 'nobody'"),
    ("bundle.yaml", "sharedSourceScopes.shared-sources.ownerId", "nobody", "unknown owner 'nobody'"),
    ("retention.yaml", "call_view.ownerId", "nobody", "unknown owner 'nobody'"),
    ("exceptions.yaml", "legal_hold.servesPurposes", ["curiosity"], "unknown purpose 'curiosity'"),
    ("edges.yaml", "SUMMARIZED_FROM.childKinds", ["summary", "ghost"], "unknown kind 'ghost'"),
    ("edges.yaml", "OBSERVED_FROM.parentKinds", ["ghost"], "unknown kind 'ghost'"),
    ("eligibility.yaml", "grants.privacy_tooling.kinds", ["ghost"], "unknown kind 'ghost'"),
    ("eligibility.yaml", "grants.privacy_tooling.role", "king", "unknown value 'king'"),
    ("eligibility.yaml", "rules.effects_stay.exceptionType", "whim", "unknown exception type 'whim'"),
    ("eligibility.yaml", "wishes", {"a": 1}, "unknown field"),
]
MISSING = [
    ("kinds.yaml", "summary.deletion", GONE, "missing"),
    ("kinds.yaml", "summary.deletion.because", GONE, "missing"),
    ("edges.yaml", "SUMMARIZED_FROM", GONE, "missing"),
    ("edges.yaml", "HAS_ATTEMPT", GONE, "missing"),
    ("edges.yaml", "SUMMARIZED_FROM.parentKinds", GONE, "missing"),
    ("edges.yaml", "HAS_ATTEMPT.parentLabels", GONE, "missing"),
    ("edges.yaml", "SUMMARIZED_FROM.follow.conflict", GONE, "missing"),
    ("classes.yaml", "scratch", GONE, "missing"),
    ("owners.yaml", "legal-owner.contact", GONE, "missing"),
    ("owners.yaml", "legal-owner.queue", GONE, "missing"),
    ("bundle.yaml", "boundary", GONE, "missing"),
    ("bundle.yaml", "tombstoneLifetime", GONE, "missing"),
    ("stores.yaml", "backups.copiesLiveDays", GONE, "missing"),
    ("stores.yaml", "review_packets.copiesLiveDays", GONE, "missing"),
]
RELATIONS = [
    ("edges.yaml", "SUMMARIZED_FROM.group", "relation", "is of group derivation"),
    ("edges.yaml", "CACHED_FROM.follow.deletion", False, "a deletion follows every derivation"),
    ("edges.yaml", "USED.follow.correction", True, "no walk follows a control edge"),
    ("edges.yaml", "APPROVED_BY.crossesTenants", True, "only derivation from a shared source crosses tenants"),
    ("edges.yaml", "HAS_ATTEMPT.childKinds", ["summary"], "the ends of this edge are labels"),
    ("edges.yaml", "APPROVED_BY.childLabels", ["Record"], "the ends of this edge are kinds"),
    ("edges.yaml", "EMBEDDED_FROM.follow.deletion", "perhaps", "input should be a valid boolean"),
    ("classes.yaml", "memory.required", ["class"], "says nothing of 'tenantId'"),
    ("classes.yaml", "context.mayBeNotApplicable", ["tenantId"], "'tenantId' is required as well"),
    ("classes.yaml", "context.mayBeNotApplicable", ["mood"], "unknown field 'mood'"),
    ("classes.yaml", "memory.lifecycle.starts", ["dreamt"], "unknown verb 'dreamt'"),
    ("eligibility.yaml", "rules.effects_stay.exceptionType", GONE, "must_keep names one and must_delete does not"),
    ("eligibility.yaml", "rules.content_goes.exceptionType", "legal_hold", "must_keep names one and must_delete does"),
    (
        "eligibility.yaml",
        "rules.proofs_stay.kinds",
        ["receipt_record", "effect"],
        "'effect' is ruled by 'effects_stay'",
    ),
    ("stores.yaml", "graph.retry.deadlineSeconds", 334, "before the last attempt of the schedule"),
    ("stores.yaml", "graph.expectedCompletionSeconds", 0, "input should be greater than or equal to 1"),
    ("stores.yaml", "graph.expectedCompletionSeconds", "60", "input should be a valid integer"),
    ("owners.yaml", "legal-owner.contact", "ask around", "string should match pattern"),
    ("owners.yaml", "legal-owner.queue", "Some Queue", "string should match pattern"),
    ("bundle.yaml", "version", "latest", "string should match pattern"),
]


@pytest.mark.parametrize(("file", "cell", "value", "what"), BLANKS + UNKNOWN + MISSING + RELATIONS)
def test_a_broken_cell_stops_the_load_and_is_named(bundle, file, cell, value, what):
    edit(bundle, file, cell, value)

    found = faults(bundle)

    assert any(fault.startswith(f"{file}: {cell}: {what}") for fault in found), found


@pytest.mark.parametrize(("cell", "value"), [("task_record.event", "the job ended"), ("task_record.days", GONE)])
def test_a_retention_class_gives_days_or_an_event(bundle, cell, value):
    edit(bundle, "retention.yaml", cell, value)

    assert faults(bundle) == ["retention.yaml: task_record: needs either days or event"]


@pytest.mark.parametrize("file", FILES)
def test_every_single_cell_of_a_file_is_named_when_it_is_blank(bundle, file):
    cells: set[str] = set()

    def blanked(tree, cell=()):
        if isinstance(tree, dict):
            return {key: blanked(value, (*cell, key)) for key, value in tree.items()}
        cells.add(".".join(cell))
        return None if not isinstance(tree, list) else [None]

    tree = yaml.load((bundle / file).read_text(), Loader=yaml.CSafeLoader)
    (bundle / file).write_text(yaml.dump(blanked(tree), Dumper=yaml.CSafeDumper))

    assert {f"{file}: {cell}: blank" for cell in cells} <= set(faults(bundle))


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_missing_empty_or_unreadable_is_named(bundle, file):
    (bundle / file).unlink()
    assert f"{file}: file: missing" in faults(bundle)

    (bundle / file).write_text("")
    assert f"{file}: file: blank" in faults(bundle)

    (bundle / file).write_text("a: [")
    assert any(fault.startswith(f"{file}: file: no YAML, line ") for fault in faults(bundle))

    (bundle / file).write_bytes(b"a: \xff\xfe")
    assert any(fault.startswith(f"{file}: file: ") for fault in faults(bundle))


def test_one_load_names_the_faults_of_all_files_at_once(bundle):
    edit(bundle, "kinds.yaml", "summary.ownerId", "nobody")
    edit(bundle, "kinds.yaml", "proposal.means", None)
    edit(bundle, "stores.yaml", "graph.ownerId", "")
    edit(bundle, "retention.yaml", "call_view.reason", None)

    assert sorted(faults(bundle)) == [
        "kinds.yaml: proposal.means: blank",
        "kinds.yaml: summary.ownerId: unknown owner 'nobody'",
        "retention.yaml: call_view.reason: blank",
        "stores.yaml: graph.ownerId: blank",
    ]


def test_the_last_of_two_equal_keys_does_not_win_unseen(bundle):
    with (bundle / "retention.yaml").open("a") as file:
        file.write("call_view:\n  days: 9\n  days: 10\n  ownerId: privacy-owner\n  reason: Twice.\n")

    assert sorted(faults(bundle)) == [
        "retention.yaml: call_view.days: duplicate key",
        "retention.yaml: call_view: duplicate key",
    ]


@pytest.mark.parametrize(
    "value", ["2026-03-02", "1.5", "no", "0o17", "0x1f", "1_000", "-1", "!!python/name:os.system x"]
)
def test_a_value_that_yaml_would_turn_into_something_else_is_refused(bundle, value):
    path = bundle / "retention.yaml"
    path.write_text(path.read_text().replace("days: 35\n", f"days: {value}\n"))

    assert any(fault.startswith("retention.yaml: backup_term.days: ") for fault in faults(bundle))


@pytest.mark.parametrize("key", ["2026", "no", "null"])
def test_a_key_that_yaml_would_not_take_for_text_is_refused(bundle, key):
    with (bundle / "retention.yaml").open("a") as file:
        file.write(f"{key}: {{days: 1, ownerId: privacy-owner, reason: Why not.}}\n")

    assert faults(bundle) == [f"retention.yaml: {key}: a key is text"]


def test_yes_is_not_true(bundle):
    path = bundle / "edges.yaml"
    path.write_text(path.read_text().replace("crossesTenants: true\n", "crossesTenants: yes\n", 1))

    assert "edges.yaml: OBSERVED_FROM.crossesTenants: 'yes' is neither text, a whole number, true nor false" in faults(
        bundle
    )


def test_the_last_attempt_at_a_store_may_fall_on_its_deadline(bundle):
    edit(bundle, "stores.yaml", "graph.retry.deadlineSeconds", 335)

    assert load_policy(bundle).retry_for("graph").deadline_seconds == 335


def test_a_grant_reaches_the_tenants_that_it_names(bundle):
    edit(bundle, "eligibility.yaml", "grants.privacy_tooling.tenants", ["tenant-b"])
    policy = load_policy(bundle)

    assert policy.may_request_deletion(Role.PRIVACY, kinds={"summary"}, tenant_id="tenant-b")
    assert not policy.may_request_deletion(Role.PRIVACY, kinds={"summary"}, tenant_id="tenant-a")


def test_a_file_that_is_no_part_of_a_bundle_is_refused(bundle):
    (bundle / "kind.yml").write_text("summary: {}\n")

    assert faults(bundle) == ["kind.yml: file: no part of a bundle"]


@pytest.mark.req("CLS-02")
@pytest.mark.parametrize(
    "dimension", ["trust", "provenance", "permission", "freshness", "conflict", "retention", "deletion"]
)
@pytest.mark.parametrize("name", ["workflow_state", "context", "scratch", "artifact", "preference", "memory"])
def test_a_class_without_a_treatment_on_one_of_the_seven_dimensions_does_not_load(bundle, name, dimension):
    edit(bundle, "classes.yaml", f"{name}.treatment.{dimension}", GONE)

    assert faults(bundle) == [f"classes.yaml: {name}.treatment.{dimension}: missing"]


@pytest.mark.req("CLS-14")
@pytest.mark.parametrize(
    ("file", "cell", "value", "fault"),
    [
        ("retention.yaml", "call_view.event", "forever", "retention.yaml: call_view.event: 'forever' is no retention"),
        (
            "retention.yaml",
            "task_record.days",
            "forever",
            "retention.yaml: task_record.days: 'forever' is no retention",
        ),
        (*SUMMARY_LIFE, "forever", "kinds.yaml: summary.lifecycle.retention: 'forever' is no retention"),
        (*SUMMARY_LIFE, "Keep forever.", "kinds.yaml: summary.lifecycle.retention: 'forever' is no retention"),
        (*SUMMARY_LIFE, "Unlimited", "kinds.yaml: summary.lifecycle.retention: 'Unlimited' is no retention"),
        (*SUMMARY_LIFE, "latest", "kinds.yaml: summary.lifecycle.staleness: 'latest' is no freshness"),
        (*SUMMARY_LIFE, "Use latest", "kinds.yaml: summary.lifecycle.staleness: 'latest' is no freshness"),
        (
            "classes.yaml",
            "memory.treatment.freshness",
            "latest",
            "classes.yaml: memory.treatment.freshness: 'latest' is no freshness",
        ),
        (
            "classes.yaml",
            "memory.treatment.retention",
            "forever",
            "classes.yaml: memory.treatment.retention: 'forever' is no retention",
        ),
        (
            "kinds.yaml",
            "summary.retentionClass",
            "forever",
            "kinds.yaml: summary.retentionClass: 'forever' is no retention",
        ),
    ],
)
def test_keeping_forever_and_taking_the_latest_are_no_answers(bundle, file, cell, value, fault):
    if cell.endswith("."):
        cell += fault.split(": ")[1].rpartition(".")[2]
    edit(bundle, file, cell, value)

    assert fault in faults(bundle)


@pytest.mark.req("CLS-14")
@pytest.mark.parametrize("event", ["staleness", "supersession", "expiry", "retention", "correction", "deletion"])
def test_a_kind_that_leaves_out_one_of_the_six_events_does_not_load(bundle, event):
    edit(bundle, "kinds.yaml", f"inventory_observation.lifecycle.{event}", GONE)

    assert faults(bundle) == [f"kinds.yaml: inventory_observation.lifecycle.{event}: missing"]


@pytest.mark.req("DEL-02")
@pytest.mark.parametrize(
    "attribute", ["ownerId", "deletionMethod", "expectedCompletionSeconds", "verificationSignal", "exceptionProcess"]
)
@pytest.mark.parametrize(
    "store",
    [
        "graph",
        "neo4j_files",
        "files",
        "vector_index",
        "search_cache",
        "context_cache",
        "model_call_transcripts",
        "summary_artifacts",
        "evaluation_examples",
        "review_packets",
        "backups",
    ],
)
def test_a_store_with_one_of_its_five_attributes_blank_stops_the_start(bundle, store, attribute):
    edit(bundle, "stores.yaml", f"{store}.{attribute}", None)

    assert faults(bundle) == [f"stores.yaml: {store}.{attribute}: blank"]


@pytest.mark.req("DEL-02")
def test_a_kind_of_store_that_nobody_inventoried_stops_the_start(bundle):
    edit(bundle, "stores.yaml", "vector_index", GONE)

    assert faults(bundle) == ["stores.yaml: vector_embedding: no row for this kind of store"]


@pytest.mark.req("DEL-02")
def test_a_store_without_a_row_is_unregistered():
    with pytest.raises(InvalidInput) as caught:
        load_policy(default_policy_folder()).store("somewhere_else")

    assert caught.value.code is ReasonCode.STORE_UNREGISTERED


@pytest.mark.req("EXC-07")
@pytest.mark.parametrize(
    "owner", ["platform-owner", "domain-owner", "manual-repository", "workflow-owner", "model-owner"]
)
def test_an_exception_type_of_an_owner_other_than_privacy_and_legal_cannot_be_used(bundle, owner):
    edit(bundle, "exceptions.yaml", "legal_hold.ownerId", owner)

    (fault,) = faults(bundle)
    assert fault.startswith(f"exceptions.yaml: legal_hold.ownerId: '{owner}' is of function ")

    edit(bundle, "exceptions.yaml", "legal_hold", GONE)
    with pytest.raises(NotAuthorized) as caught:
        load_policy(bundle).exception_type("legal_hold")
    assert caught.value.code is ReasonCode.EXCEPTION_NOT_AUTHORIZED


@pytest.mark.req("DEL-20")
@pytest.mark.parametrize("row", ["rules.content_goes", "rules.effects_stay", "grants.privacy_tooling"])
@pytest.mark.parametrize(
    ("owner", "what"),
    [
        (GONE, "missing"),
        (None, "blank"),
        ("nobody", "unknown owner 'nobody'"),
        ("platform-owner", "'platform-owner' is of function platform; privacy or legal decides this"),
    ],
)
def test_a_rule_on_deletion_that_no_privacy_or_legal_owner_answers_for_does_not_load(bundle, row, owner, what):
    edit(bundle, "eligibility.yaml", f"{row}.ownerId", owner)

    assert f"eligibility.yaml: {row}.ownerId: {what}" in faults(bundle)


@pytest.mark.req("DEL-20")
def test_a_kind_of_which_no_rule_says_whether_it_goes_or_stays_does_not_load(bundle):
    edit(bundle, "eligibility.yaml", "rules.effects_stay.kinds", ["approval", "effect"])

    assert faults(bundle) == ["eligibility.yaml: rules: no rule says whether 'verification' goes or stays"]


@pytest.mark.req("TMB-05")
@pytest.mark.parametrize(("days", "loads"), [(89, False), (90, True)])
def test_a_tombstone_outlives_every_copy_that_can_come_back(bundle, days, loads):
    edit(bundle, "bundle.yaml", "tombstoneLifetime.days", days)

    if loads:
        assert load_policy(bundle).header.tombstone_lifetime.days == 90
    else:
        assert faults(bundle) == [
            "bundle.yaml: tombstoneLifetime.days: shorter than the 90 days that copies in 'review_packets' live"
        ]


@pytest.mark.req("TMB-05")
@pytest.mark.parametrize("store", ["backups", "neo4j_files"])
def test_a_backup_that_outlives_the_tombstones_does_not_load(bundle, store):
    edit(bundle, "stores.yaml", f"{store}.copiesLiveDays", 3651)

    assert faults(bundle) == [
        f"bundle.yaml: tombstoneLifetime.days: shorter than the 3651 days that copies in '{store}' live"
    ]


@pytest.mark.req("TMB-05")
@pytest.mark.parametrize(
    ("owner", "what"),
    [("nobody", "unknown owner 'nobody'"), ("engineering-owner", "'engineering-owner' is of function ")],
)
def test_the_lifetime_of_tombstones_is_the_decision_of_a_privacy_or_legal_owner(bundle, owner, what):
    edit(bundle, "bundle.yaml", "tombstoneLifetime.ownerId", owner)

    (fault,) = faults(bundle)
    assert fault.startswith(f"bundle.yaml: tombstoneLifetime.ownerId: {what}")


def test_a_kind_that_nothing_can_make_does_not_load(bundle):
    edit(bundle, "edges.yaml", "EMBEDDED_FROM.childKinds", ["search_index_entry"])

    assert faults(bundle) == ["kinds.yaml: embedding.standsAlone: unreachable: no derivation edge names it as a child"]


def test_an_edge_type_that_the_vocabulary_does_not_have_does_not_load(bundle):
    edge = {"group": "relation", "childKinds": "*", "parentKinds": "*", "crossesTenants": False, "follow": FOLLOW_NONE}
    edit(bundle, "edges.yaml", "RELATED_TO", {**edge, "readsAs": "related_to", "because": "Anything."})

    assert faults(bundle) == ["edges.yaml: RELATED_TO: unknown value 'RELATED_TO'"]
