"""The catalogue of queries: every file of `cypher/`, read and checked once.

A file is a header of `// key: value` lines and one statement. Keys: `name` (the file's stem, which starts with one of the
verbs), `does`, `access` (read or write), `params`, `returns`, `order`, `bound`, `plan` (operators that the plan must
hold). `literals` names what Cypher does not take as a parameter: the bounds of a pattern (`INTEGER`) and the edge types that
it follows (`TYPES`). The statement holds them as `$$name`; the caller gives whole numbers and registered edge types, and
nothing else is ever written into the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from graph.errors import QueryInvalid
from graph.vocabulary import EdgeType

Literal = int | Collection[EdgeType]

VERBS: Final = ("get", "list", "count", "expand", "lock", "merge", "create", "claim", "mark", "purge")
HEADER_KEYS: Final = ("name", "does", "access", "params", "literals", "returns", "order", "bound", "plan")
REQUIRED_KEYS: Final = ("name", "does", "access", "params", "returns", "bound")
_HEADER_LINE = re.compile(r"^// (?P<key>[a-z]+): +(?P<value>.+)$")
_CONTINUATION = re.compile(r"^//  +(?P<value>.+)$")
_PARAMETER = re.compile(r"(?<!\$)\$(?P<name>[A-Za-z]+)\b")
_LITERAL = re.compile(r"\$\$(?P<name>[A-Za-z]+)\b")


@dataclass(frozen=True)
class Query:
    """One statement with what its header declares."""

    name: str
    capability: str
    text: str
    header: Mapping[str, str]
    params: tuple[str, ...]
    literals: tuple[str, ...]

    @property
    def writes(self) -> bool:
        """Whether the statement changes the graph."""
        return self.header["access"] == "write"

    @property
    def plan_operators(self) -> tuple[str, ...]:
        """Operators that the plan must hold."""
        return tuple(part.strip() for part in self.header.get("plan", "").split("·") if part.strip())

    def with_literals(self, literals: Mapping[str, Literal]) -> str:
        """The statement's text with its literals written in; the same types give the same text, and so one plan."""
        if set(literals) != set(self.literals):
            raise QueryInvalid(f"{self.name} takes the literals {self.literals}, not {sorted(literals)}")
        return _LITERAL.sub(lambda match: _written(literals[match["name"]]), self.text)


class Catalogue:
    """All queries by name."""

    def __init__(self, queries: Mapping[str, Query]) -> None:
        self._queries = dict(queries)

    def __getitem__(self, name: str) -> Query:
        try:
            return self._queries[name]
        except KeyError:
            raise QueryInvalid(f"there is no query named {name}") from None

    @property
    def queries(self) -> tuple[Query, ...]:
        """Every query, by name."""
        return tuple(self._queries[name] for name in sorted(self._queries))


def default_query_folder() -> Path:
    """The folder `cypher/` that this code was installed with."""
    return Path(__file__).resolve().parents[2] / "cypher"


def load_catalogue(folder: Path) -> Catalogue:
    """Read and check every `.cypher` file below `folder`.

    Raises:
        QueryInvalid: a header breaks the grammar, a parameter is declared and unused or used and undeclared, or two
            files have one name.
    """
    queries: dict[str, Query] = {}
    for path in sorted(path for path in folder.glob("*/*.cypher") if path.parent.name != "schema"):
        query = parse_query(path.read_text(encoding="utf-8"), path)
        if query.name in queries:
            raise QueryInvalid(f"two queries are named {query.name}")
        queries[query.name] = query
    if not queries:
        raise QueryInvalid("no queries were found")
    return Catalogue(queries)


def parse_query(source: str, path: Path) -> Query:
    """Check one file's text; `path` gives the expected name and capability.

    Raises:
        QueryInvalid: see `load_catalogue`.
    """
    header, text = _split(source, path)
    _check_header(header, path)
    params, literals = _declared(header["params"]), _declared(header.get("literals", "none"))
    _check_used(path, "parameter", params, {match["name"] for match in _PARAMETER.finditer(text)})
    _check_used(path, "literal", literals, {match["name"] for match in _LITERAL.finditer(text)})
    return Query(path.stem, path.parent.name, text, header, params, literals)


def _split(source: str, path: Path) -> tuple[dict[str, str], str]:
    header: dict[str, str] = {}
    lines = source.splitlines()
    last = ""
    for index, line in enumerate(lines):
        if matched := _HEADER_LINE.match(line):
            last = matched["key"]
            if last in header:
                raise QueryInvalid(f"{path.stem}: the header gives {last} twice")
            header[last] = matched["value"].strip()
        elif last and (matched := _CONTINUATION.match(line)):
            header[last] += " " + matched["value"].strip()
        else:
            return header, "\n".join(lines[index:]).strip()
    return header, ""


def _check_header(header: Mapping[str, str], path: Path) -> None:
    missing = [key for key in REQUIRED_KEYS if key not in header]
    unknown = [key for key in header if key not in HEADER_KEYS]
    if missing or unknown:
        raise QueryInvalid(f"{path.stem}: header lacks {missing}, has unknown {unknown}")
    if header["name"] != path.stem:
        raise QueryInvalid(f"{path.stem}: the header names {header['name']}")
    if path.stem.split("_")[0] not in VERBS:
        raise QueryInvalid(f"{path.stem}: a query's name starts with one of {', '.join(VERBS)}")
    if header["access"] not in {"read", "write"}:
        raise QueryInvalid(f"{path.stem}: access is read or write")


def _written(value: Literal) -> str:
    if isinstance(value, int | str):
        # A text is never written as it is: what is no number is refused here.
        return str(int(value))
    if not value:
        raise QueryInvalid("a pattern without an edge type would follow them all")
    return "|".join(sorted(EdgeType(edge).value for edge in value))


def _declared(value: str) -> tuple[str, ...]:
    if value == "none":
        return ()
    return tuple(part.split()[0] for part in re.sub(r"<[^>]*>+", "", value).split(",") if part.strip())


def _check_used(path: Path, what: str, declared: tuple[str, ...], used: set[str]) -> None:
    if set(declared) != used:
        unused, undeclared = sorted(set(declared) - used), sorted(used - set(declared))
        raise QueryInvalid(f"{path.stem}: {what}s declared and unused {unused}, used and undeclared {undeclared}")
