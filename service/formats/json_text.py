"""JSON that is read strictly: refused are duplicate keys, NaN and infinities, lone surrogates and bottomless nesting.

The fast reader of the standard library decides; only where it, or whoever reads on, finds a fault, a slower scanner
walks the text again to say at which line and column. Positions count from 1, columns in characters.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias, cast

from pydantic import JsonValue

from graph.errors import InvalidInput
from graph.vocabulary import ReasonCode

NESTING_MAX: Final = 100
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

Path: TypeAlias = tuple[str | int, ...]
_BLANKS: Final = " \t\r\n"


class _IrregularError(ValueError):
    """Valid by the grammar, and still refused; `args` are what is wrong and, where known, the offset."""


@dataclass(frozen=True)
class JsonText:
    """A JSON text that was read, and where in it things stand."""

    text: str
    value: JsonValue

    def position(self, path: Path) -> tuple[int, int]:
        """Line and column of the member or item at `path`; of the nearest one above it where there is none."""
        return _line_and_column(self.text, _Scanner(self.text, path).offset_of_path())


def read_json(data: bytes, *, first_line: int = 1) -> JsonText:
    """Read one JSON text in UTF-8. A byte order mark is no JSON; a format that allows one takes it off.

    Args:
        data: the text.
        first_line: the number of its first line in the file that it is a part of; refusals count from there.

    Raises:
        InvalidInput: `MALFORMED_INPUT` with `line`, `column` and `problem`; the text itself is not quoted.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse(data[: error.start].decode("utf-8"), error.start, "no UTF-8", first_line)
    try:
        return JsonText(text, _read_fast(text))
    except (ValueError, RecursionError):
        _refuse(text, *_first_fault(text), first_line)


def _read_fast(text: str) -> JsonValue:
    value = cast("JsonValue", _DECODER.decode(text))
    if text.count("[") + text.count("{") > NESTING_MAX and _depth(value) > NESTING_MAX:
        raise _IrregularError("nested too deeply")
    if "\\u" in text:
        # Only an escape can bring in a lone surrogate; it has no UTF-8 form.
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _depth(value: JsonValue) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
    return depth - 1


def _first_fault(text: str) -> tuple[int, str]:
    try:
        _Scanner(text, None).offset_of_path()
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" at").removesuffix(" starting")
        return error.pos, problem[0].lower() + problem[1:]
    except _IrregularError as error:
        problem, offset = cast("tuple[str, int]", error.args)
        return offset, problem
    return 0, "a number is too long"


def _refuse(text: str, offset: int, problem: str, first_line: int) -> NoReturn:
    line, column = _line_and_column(text, offset)
    line += first_line - 1
    raise InvalidInput(
        f"no JSON that can be read: {problem}, line {line}, column {column}",
        code=ReasonCode.MALFORMED_INPUT,
        details={"line": line, "column": column, "problem": problem},
    )


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _IrregularError("duplicate key")
    return members


def _no_constant(_: str) -> NoReturn:
    raise _IrregularError("NaN and infinities are no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _IrregularError("a number is too large")
    return number


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite, strict=True
)


class _Scanner:
    """Walks a text member by member: up to its first fault, or to the member of a path."""

    def __init__(self, text: str, path: Path | None) -> None:
        self._text = text
        self._wanted = path
        self._found = 0

    def offset_of_path(self) -> int:
        """The offset of the path's member or of the nearest above it; raises at the first fault."""
        end = self._blanks(self._value(self._blanks(0), ()))
        if self._wanted is None and end < len(self._text):
            raise json.JSONDecodeError("extra data", self._text, end)
        return self._found

    def _value(self, at: int, path: Path) -> int:
        if len(path) > NESTING_MAX:
            raise _IrregularError("nested too deeply", at)
        match self._text[at : at + 1]:
            case "{":
                return self._items(at, path, "}")
            case "[":
                return self._items(at, path, "]")
            case _:
                return self._scalar(at)[1]

    def _items(self, at: int, path: Path, closing: str) -> int:
        seen: set[str] = set()
        count = 0
        at = self._blanks(at + 1)
        if self._text[at : at + 1] == closing:
            return at + 1
        while True:
            start = at
            key: str | int = count
            if closing == "}":
                key, at = self._key(at, seen)
            self._meet((*path, key), start)
            at = self._blanks(self._value(at, (*path, key)))
            count += 1
            separator = self._text[at : at + 1]
            if separator == closing:
                return at + 1
            if separator != ",":
                raise json.JSONDecodeError(f"',' or '{closing}' expected", self._text, at)
            at = self._blanks(at + 1)

    def _key(self, at: int, seen: set[str]) -> tuple[str, int]:
        if self._text[at : at + 1] != '"':
            raise json.JSONDecodeError("a key in double quotes expected", self._text, at)
        key, end = self._scalar(at)
        if key in seen:
            raise _IrregularError("duplicate key", at)
        seen.add(cast("str", key))
        end = self._blanks(end)
        if self._text[end : end + 1] != ":":
            raise json.JSONDecodeError("':' expected", self._text, end)
        return cast("str", key), self._blanks(end + 1)

    def _scalar(self, at: int) -> tuple[object, int]:
        try:
            value, end = cast("tuple[object, int]", _DECODER.raw_decode(self._text, at))
        except _IrregularError as error:
            raise _IrregularError(error.args[0], at) from None
        except json.JSONDecodeError:
            raise
        except ValueError:
            raise _IrregularError("a number is too long", at) from None
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise _IrregularError("a lone surrogate has no UTF-8 form", at)
        return value, end

    def _meet(self, path: Path, at: int) -> None:
        if self._wanted is not None and path == self._wanted[: len(path)]:
            self._found = at

    def _blanks(self, at: int) -> int:
        while at < len(self._text) and self._text[at] in _BLANKS:
            at += 1
        return at
