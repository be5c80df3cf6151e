from __future__ import annotations

import pytest

from graph.errors import InvalidInput
from service.formats.json_text import NESTING_MAX, read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"5", 5),
        (b'{"a": 12345678901234567890}', {"a": 12_345_678_901_234_567_890}),
        (b'{"a": "\\ud83d\\ude00", "b": 1.5e3}', {"a": "\N{GRINNING FACE}", "b": 1500.0}),
        (b"[" * NESTING_MAX + b"1" + b"]" * NESTING_MAX, None),
    ],
)
def test_json_is_read(text, value):
    got = read_json(text).value
    assert value is None or got == value


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        (b"", 1, 1, "expecting value"),
        (b"\xef\xbb\xbf[1]", 1, 1, "expecting value"),
        (b'{\n "a": 1,\n "b" 2}', 3, 6, "':' expected"),
        (b'{"a": [1, 2', 1, 12, "',' or ']' expected"),
        (b"[1] 2", 1, 5, "extra data"),
        (b'{"a": 1,\n "b": {"c": 1, "c": 2}}', 2, 16, "duplicate key"),
        (b'{"a": 1, "\\u0061": 2}', 1, 10, "duplicate key"),
        (b'{"a": NaN}', 1, 7, "NaN and infinities are no JSON"),
        (b"[1,\n-Infinity]", 2, 1, "NaN and infinities are no JSON"),
        (b"[1e999]", 1, 2, "a number is too large"),
        (b"[" + b"7" * 5_000 + b"]", 1, 2, "a number is too long"),
        (b'["ok", "\\ud800"]', 1, 8, "a lone surrogate has no UTF-8 form"),
        (b'["a\nb"]', 1, 4, "invalid control character"),
        (b'["ab', 1, 2, "unterminated string"),
        (b'["\xff"]', 1, 3, "no UTF-8"),
        (b"[" * (NESTING_MAX + 1) + b"1" + b"]" * (NESTING_MAX + 1), 1, NESTING_MAX + 2, "nested too deeply"),
        (b"[" * 100_000, 1, NESTING_MAX + 2, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text, line, column, problem):
    with pytest.raises(InvalidInput) as refusal:
        read_json(text)
    assert refusal.value.code == "MALFORMED_INPUT"
    assert refusal.value.details == {"line": line, "column": column, "problem": problem}


def test_a_part_of_a_file_counts_its_lines_from_where_it_stands():
    for data in (b"[1,\n2", b"\n\xff"):
        with pytest.raises(InvalidInput) as refusal:
            read_json(data, first_line=7)
        assert refusal.value.details["line"] == 8
        assert "line 8" in refusal.value.message


def test_a_member_is_found_by_its_path_and_a_missing_one_by_the_nearest_above():
    text = read_json(b'{"a": [1, {"b": 2}],\n "c": 3}')
    assert text.position(("a", 1, "b")) == (1, 12)
    assert text.position(("a", 1, "x")) == (1, 11)
    assert text.position(("c",)) == (2, 2)
    assert text.position(("x",)) == (1, 1)
