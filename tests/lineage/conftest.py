from __future__ import annotations

from dataclasses import replace

import pytest

from graph.lineage.lineage import Lineage
from tests.support.graphs import Graphs


@pytest.fixture
def lineage(application) -> Lineage:
    return Lineage(application.database, application.policy, application.clock, walk_timeout_seconds=30.0)


@pytest.fixture
def graphs(application) -> Graphs:
    return Graphs(application.database)


@pytest.fixture
def bare():
    """A receipt, page or answer without the bookmarks, which every write moves on."""

    def _bare(answer):
        return replace(answer, receipt=replace(answer.receipt, bookmarks=()))

    return _bare
