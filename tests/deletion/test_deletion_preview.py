"""A preview is the outcome set of the run, and changes nothing."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from graph.access import Caller
from graph.errors import Conflict
from service.bootstrap import Application
from tests.support.deletion import (
    by_ids,
    closure,
    delete,
    edges,
    files_of,
    fresh_key,
    hold,
    nodes,
    outcomes_of,
    random_graph,
    register,
    register_graph,
    with_copy,
    work,
)
from tests.support.records import derived, record

GRAPHS = 10


@pytest.mark.req("DEL-27", "DEL-23", "DEL-10")
def test_on_random_graphs_with_holds_the_preview_is_what_the_run_does(application: Application, caller: Caller):
    rng = random.Random(46)
    graphs = [random_graph(rng, f"g{number}", 10) for number in range(GRAPHS)]
    ids = register_graph(application, caller, *graphs)
    for graph in graphs:
        names = list(graph.sources)
        root = rng.choice(names[:3])
        held = frozenset(rng.sample(names, k=2))
        hold(application, caller, *(ids[name] for name in held))
        request = by_ids(ids[root])
        before = (nodes(application.database), edges(application.database))
        preview = application.deletions.preview(request, caller)
        assert (nodes(application.database), edges(application.database)) == before
        planned = {(item.identity, item.store, item.outcome, item.rule_id, item.depth) for item in preview.items}
        assert {(identity, outcome) for identity, _, outcome, _, _ in planned} == {
            (ids[name], outcome) for name, outcome in graph.expected(root, held).items()
        }
        view = delete(application, caller, ids[root])
        done = outcomes_of(application, caller, view.request_id)
        assert {(item.identity, item.store, item.outcome, item.rule_id, item.depth) for item in done} == planned
        assert len(done) == len(preview.items) == len(closure(graph.pairs, [root]))
        assert dict(preview.counts) == dict(view.counts)
        assert preview.scope == view.scope


@pytest.mark.req("DEL-27", "DEL-22")
def test_a_preview_shows_stores_kinds_and_witnesses(application: Application, caller: Caller):
    root, copy, stuck = register(
        application,
        caller,
        record("r"),
        with_copy("c", "r"),
        derived("v", "r", edge="EMBEDDED_FROM", stores=[{"storeId": "vector_index", "locator": "v1"}]),
    )
    files_of(application).write("c.bin", b"a copy")
    preview = application.deletions.preview(by_ids(root), caller)
    assert {
        (item.identity, item.store, item.outcome, item.kind, item.depth, item.witness_edge, item.witness_parent)
        for item in preview.items
    } == {
        (root, "graph", "deleted", "document", 0, None, None),
        (copy, "graph", "deleted", "document", 1, "SUMMARIZED_FROM", root),
        (copy, "files", "deleted", "document", 1, "SUMMARIZED_FROM", root),
        (stuck, "graph", "deleted", "document", 1, "EMBEDDED_FROM", root),
        (stuck, "vector_index", "failed", "document", 1, "EMBEDDED_FROM", root),
    }
    view = delete(application, caller, root)
    work(application)
    done = outcomes_of(application, caller, view.request_id)
    assert {(item.identity, item.store, item.outcome, item.depth, item.witness_edge) for item in done} == {
        (item.identity, item.store, item.outcome, item.depth, item.witness_edge) for item in preview.items
    }


@pytest.mark.req("DEL-22")
def test_a_request_that_expects_another_graph_is_refused(application: Application, caller: Caller):
    (root,) = register(application, caller, record("r"))
    old = application.deletions.preview(by_ids(root), caller)
    register(application, caller, derived("s", "r"))
    with pytest.raises(Conflict) as refused:
        application.deletions.file(by_ids(root, expectedDigest=old.digest), caller, fresh_key())
    new = application.deletions.preview(by_ids(root), caller)
    assert refused.value.code == "PREVIEW_STALE"
    assert refused.value.details == {"digest": new.digest}
    assert new.digest != old.digest
    assert nodes(application.database, "(n:Request)") == nodes(application.database, "(n:IdempotencyKey)") == []
    filed = application.deletions.file(by_ids(root, expectedDigest=new.digest), caller, fresh_key())
    assert application.deletions.advance(filed.request_id).counts["deleted"] == 2


@pytest.mark.req("DEL-22")
def test_the_digest_names_the_outcomes_and_the_policy(application: Application, caller: Caller, clock):
    root, derivative = register(application, caller, record("r"), derived("s", "r"))
    first = application.deletions.preview(by_ids(root), caller)
    clock.advance(3_600)
    assert application.deletions.preview(by_ids(root), caller).digest == first.digest
    other = replace(application, policy=replace(application.policy, digest="0" * 64))
    assert other.deletions.preview(by_ids(root), caller).digest != first.digest
    hold(application, caller, derivative)
    assert application.deletions.preview(by_ids(root), caller).digest != first.digest


@pytest.mark.req("DEL-11")
def test_a_preview_of_what_is_gone_says_so(application: Application, caller: Caller):
    root, derivative = register(application, caller, record("r"), derived("s", "r"))
    delete(application, caller, root)
    preview = application.deletions.preview(by_ids(root), caller)
    assert {(item.identity, item.outcome, item.rule_id) for item in preview.items} == {
        (root, "deleted", "deletion/tombstone"),
        (derivative, "deleted", "deletion/tombstone"),
    }
