"""The schema is applied once, and never to a database of another version."""

from __future__ import annotations

import pytest

from graph.database.schema import SchemaStep, apply_schema, missing_schema, schema_steps
from graph.errors import NotReady


def constraints(database):
    return sorted(row.text("name") for row in database.administer("SHOW CONSTRAINTS YIELD name RETURN name"))


@pytest.fixture
def foreign_step(application):
    """A mark that this code does not know."""
    application.database.administer("CREATE (:SchemaVersion {step: '999_from_the_future', digest: 'x', appliedAt: 1})")
    yield
    application.database.administer("MATCH (v:SchemaVersion {step: '999_from_the_future'}) DELETE v")


def test_applying_the_schema_again_does_nothing(application, clock):
    before = constraints(application.database)
    assert apply_schema(application.database, clock) == []
    assert constraints(application.database) == before
    assert missing_schema(application.database) == []


def test_steps_are_numbered_without_gaps():
    numbers = [int(step.name.split("_")[0]) for step in schema_steps()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_records_and_tombstones_share_one_constraint(application):
    found = application.database.administer(
        "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties WHERE name = 'identity_unique'"
        " RETURN type, labelsOrTypes, properties"
    )[0]
    assert found.text("type") == "UNIQUENESS"
    assert found.texts("labelsOrTypes") == ["Identity"]
    assert found.texts("properties") == ["identity"]


def test_a_database_of_a_later_version_is_refused(application, clock, foreign_step):
    for attempt in (lambda: apply_schema(application.database, clock), lambda: missing_schema(application.database)):
        with pytest.raises(NotReady) as caught:
            attempt()
        assert caught.value.details == {"steps": ["999_from_the_future"]}


def test_a_step_whose_text_changed_is_refused(application, clock):
    steps = schema_steps()
    changed = [SchemaStep(steps[0].name, steps[0].text + " "), *steps[1:]]
    with pytest.raises(NotReady) as caught:
        apply_schema(application.database, clock, changed)
    assert caught.value.details == {"steps": [steps[0].name]}


def test_a_step_that_is_not_applied_yet_is_named_and_then_applied(application, clock):
    name = "998_only_in_this_test"
    step = SchemaStep(name, "CREATE INDEX only_in_this_test IF NOT EXISTS FOR (n:Record) ON (n.nothing)")
    steps = [*schema_steps(), step]
    try:
        assert missing_schema(application.database, steps) == [name]
        assert apply_schema(application.database, clock, steps) == [name]
        assert apply_schema(application.database, clock, steps) == []
    finally:
        application.database.administer("DROP INDEX only_in_this_test IF EXISTS")
        application.database.administer("MATCH (v:SchemaVersion {step: $name}) DELETE v", name=name)
