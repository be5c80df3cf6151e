"""The six legal lives in plain words and as machines."""

from __future__ import annotations

import pytest

from graph.policy.lifecycle import Lifecycle
from graph.policy.loader import default_policy_folder, load_policy
from graph.vocabulary import RecordClass

# The verbs of VOC-01, by class; the first is where a record starts.
VERBS = {
    "workflow_state": ["created", "transitioned", "disposed"],
    "context": ["assembled", "expired"],
    "scratch": ["created", "held", "removed"],
    "artifact": ["versioned", "reviewed", "superseded", "retained", "deleted"],
    "preference": ["verified", "purpose_bound", "reconfirmed", "corrected", "expired"],
    "memory": ["proposed", "admitted", "retrieved", "revalidated", "corrected", "expired", "deleted"],
}
ILLEGAL = [
    ("memory", "proposed", "retrieved"),
    ("memory", None, "admitted"),
    ("memory", "deleted", "admitted"),
    ("memory", "expired", "retrieved"),
    ("memory", "corrected", "retrieved"),
    ("workflow_state", None, "transitioned"),
    ("workflow_state", "disposed", "transitioned"),
    ("workflow_state", "disposed", "disposed"),
    ("context", "expired", "assembled"),
    ("scratch", "removed", "held"),
    ("artifact", "superseded", "reviewed"),
    ("artifact", "deleted", "retained"),
    ("preference", None, "purpose_bound"),
    ("preference", "expired", "reconfirmed"),
    ("memory", "proposed", "sold"),
]


@pytest.fixture(scope="module")
def shipped():
    return load_policy(default_policy_folder())


def lifecycle(follows, starts=("a",), ends=("z",)) -> Lifecycle:
    return Lifecycle.model_validate({"starts": starts, "ends": ends, "follows": follows})


@pytest.mark.req("CLS-17")
@pytest.mark.parametrize("name", VERBS)
def test_each_class_has_a_plain_text_and_lives_through_its_verbs_in_order(shipped, name):
    policy = shipped.class_policy(RecordClass(name))
    verbs = VERBS[name]

    assert len(policy.plain_language) > 30
    assert policy.lifecycle.verbs == set(verbs)
    for before, verb in zip([None, *verbs], verbs, strict=False):
        assert policy.lifecycle.may_follow(before, verb), (before, verb)


@pytest.mark.req("CLS-17")
@pytest.mark.parametrize(("name", "before", "verb"), ILLEGAL)
def test_a_verb_out_of_turn_is_refused(shipped, name, before, verb):
    assert not shipped.class_policy(RecordClass(name)).lifecycle.may_follow(before, verb)


@pytest.mark.parametrize(
    ("machine", "fault"),
    [
        (lifecycle({"a": ["b"], "b": ["z"]}), []),
        (lifecycle({"a": ["y", "z"]}), [("follows.a", "unknown verb 'y'")]),
        (lifecycle({"a": ["z"]}, starts=("a", "x")), [("starts", "unknown verb 'x'")]),
        (lifecycle({"a": ["z"], "b": ["z"]}), [("follows.b", "verb 'b' can never happen")]),
        (lifecycle({"a": ["z"]}, ends=("z", "y")), [("ends", "verb 'y' can never happen")]),
        (lifecycle({"a": ["z", "b"], "b": ["b"]}), [("follows.b", "no end can be reached from 'b'")]),
        (lifecycle({"a": ["z"], "z": ["a"]}), [("follows.z", "an end has no followers")]),
    ],
)
def test_what_is_no_machine_is_named(machine, fault):
    assert list(machine.faults()) == fault
