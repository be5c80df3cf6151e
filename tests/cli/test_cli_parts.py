"""The pieces that commands are made of: exit codes, documents, trees."""

import io
from dataclasses import dataclass

import pytest
from rich.console import Console
from rich.text import Text

from graph import errors
from graph.vocabulary import ReasonCode
from service.cli.documents import document_of
from service.cli.exits import failure_of
from service.cli.tables import cell, grid
from service.cli.trees import Branch, tree_of

CODE = ReasonCode.MALFORMED_INPUT
EXITS = [
    (errors.InvalidInput("x", code=CODE), 3),
    (errors.NotAuthenticated("x", code=CODE), 3),
    (errors.NotAuthorized("x", code=CODE), 3),
    (errors.NotFound("x", code=CODE), 3),
    (errors.Conflict("x", code=ReasonCode.RECORD_IMMUTABLE), 3),
    (errors.Conflict("x", code=ReasonCode.STATE_CONFLICT), 5),
    (errors.Blocked("x", code=CODE), 3),
    (errors.Oversized("x", code=CODE), 3),
    (errors.Unavailable("x"), 4),
    (errors.OutcomeUnknown("x"), 4),
    (errors.NotReady("x"), 4),
    (errors.PolicyInvalid("x"), 4),
    (errors.QueryInvalid("x"), 4),
    (errors.LocalServerError("x"), 4),
]


@pytest.mark.parametrize(("error", "code"), EXITS, ids=lambda value: type(value).__name__)
def test_every_error_has_its_exit_code(error, code):
    assert failure_of(error).exit_code == code


def test_every_leaf_of_the_error_tree_is_listed_above():
    def leaves(kind):
        below = kind.__subclasses__()
        return {kind}.union(*map(leaves, below)) if below else {kind}

    abstract = {errors.SequelaError, errors.Refused}
    assert leaves(errors.SequelaError) - abstract == {type(error) for error, _ in EXITS}


def test_a_failure_is_one_line_of_what_code_and_next_step():
    line = failure_of(errors.NotFound("no such record", code=ReasonCode.NOT_FOUND)).line
    assert line.startswith("No such record. [NOT_FOUND] Try another --tenant")
    assert "\n" not in line


@dataclass(frozen=True)
class Inner:
    decided_at: int | None


@dataclass(frozen=True)
class Outer:
    record_id: str
    deleted_at: int
    attempts: int
    parts: tuple[Inner, ...]
    roles: frozenset[str]
    counts: dict[str, int]


def test_a_view_becomes_a_document_with_public_names_and_instants():
    view = Outer("r", 0, 3, (Inner(None), Inner(1_500_000)), frozenset({"b", "a"}), {"deleted": 2})
    assert document_of(view) == {
        "recordId": "r",
        "deletedAt": "1970-01-01T00:00:00.000000Z",
        "attempts": 3,
        "parts": [{"decidedAt": None}, {"decidedAt": "1970-01-01T00:00:01.500000Z"}],
        "roles": ["a", "b"],
        "counts": {"deleted": 2},
    }


def _shown(part, width=100):
    console = Console(file=io.StringIO(), width=width)
    console.print(part)
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


def test_a_tree_shows_everything_once_and_names_the_other_ways():
    branches = [
        Branch("d", 2, Text("D"), [("CACHED_FROM", "b"), ("INFERRED_FROM", "c")]),
        Branch("c", 1, Text("C"), [("SUMMARIZED_FROM", "a")]),
        Branch("b", 1, Text("B"), [("EMBEDDED_FROM", "a")]),
        Branch("x", 7, Text("X"), [("CACHED_FROM", "hidden")]),
    ]
    assert _shown(tree_of("a", Text("A"), branches, {"c": "sea"})) == [
        "A",
        "├── B  EMBEDDED_FROM",
        "│   └── D  CACHED_FROM (also INFERRED_FROM sea)",
        "├── C  SUMMARIZED_FROM",
        "└── X  7 steps away, by CACHED_FROM",
    ]


def test_an_id_is_never_cut_however_narrow_the_screen_is():
    record_id = "0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81"
    table = grid("kind", "record", "because")
    table.add_row(cell("compatibility_inference"), cell(record_id), cell("deletion/compatibility_inference/supported"))
    assert any(record_id in line for line in _shown(table, width=60))


@pytest.mark.parametrize("width", [50, 80, 160])
def test_no_word_is_cut_however_narrow_the_screen_is(width):
    cells = (
        "0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81",
        "graph",
        "retained_under_exception",
        "logically_absent",
        "legal hold",
    )
    table = grid("derivative", "store", "outcome", "verified", "because")
    table.add_row(*(cell(value) for value in cells))
    words = " ".join(_shown(table, width=width)).split()
    assert {*" ".join(cells).split()} <= set(words)


def test_a_column_that_says_nothing_gives_way_first():
    table = grid("derivative", "store", "what is left to do")
    table.add_row(cell("0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81"), cell("graph"), cell(None))
    head, _, row = _shown(table, width=45)
    assert head.split() == ["derivative", "store"]
    assert row.split() == ["0196b2f0-8f6e-7cc3-9d0a-3f4c5e6d7a81", "graph"]


def test_what_records_hold_is_never_read_as_markup():
    assert _shown(cell("[bold]x[/bold] [/]")) == ["[bold]x[/bold] [/]"]
