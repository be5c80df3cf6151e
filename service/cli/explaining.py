"""What is wrong with a line of an import, in words: the details of its verdict, read out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

_WORDS: Final[Mapping[str, str]] = {
    "extra_forbidden": "no record has such a field",
    "string_type": "is no text",
    "string_too_long": "is too long",
    "string_too_short": "is empty",
    "literal_error": "is neither a list nor not_applicable",
    "list_type": "is no list",
    "enum": "is none of the allowed values",
    "missing": "is missing",
    "int_type": "is no whole number",
    "model_type": "is no object",
}
# The table has a column for the line, and the message tells the place and the problem of what is no JSON at all.
_TOLD_ELSEWHERE: Final = frozenset({"line", "message", "faultsTotal"})
_TOLD_BY_MESSAGE: Final = frozenset({"column", "problem"})


def explained(details: Mapping[str, object]) -> str:
    """The details of a verdict as sentences without a stop, each after a semicolon."""
    return "; ".join(_parts(details))


def _parts(details: Mapping[str, object]) -> Iterator[str]:
    told = _TOLD_ELSEWHERE
    if "message" in details:
        yield str(details["message"])
        told |= _TOLD_BY_MESSAGE
    for name, value in details.items():
        if name in told:
            continue
        listed = _LISTS.get(name)
        if listed is None:
            yield f"{name} {_plain(value)}"
        else:
            yield from listed(cast("Sequence[Mapping[str, object]]", value))
    shown, total = details.get("faults"), details.get("faultsTotal")
    if isinstance(shown, list) and isinstance(total, int) and total > len(cast("list[object]", shown)):
        yield f"{total - len(cast('list[object]', shown))} more"


def _reasons(reasons: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """The fields of each code together: most records that lack something lack much for the same reason."""
    fields: dict[str, list[str]] = {}
    for reason in reasons:
        fields.setdefault(str(reason["code"]), []).append(str(reason["field"]))
    for code, named in fields.items():
        yield f"{code}: {', '.join(named)}"


def _faults(faults: Sequence[Mapping[str, object]]) -> Iterator[str]:
    for fault in faults:
        problem = str(fault["problem"])
        path = f"{fault['path']}, " if fault["path"] else ""
        yield f"{path}column {fault['column']}: {_WORDS.get(problem, problem.replace('_', ' '))}"


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in cast("Sequence[object]", value))
    return str(value)


_LISTS: Final[Mapping[str, Callable[[Sequence[Mapping[str, object]]], Iterator[str]]]] = {
    "quarantineReasons": _reasons,
    "faults": _faults,
}
