"""The conventions of the queries, checked without a database."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from graph.vocabulary import DERIVATION_EDGES, EdgeType, NodeLabel
from tests.tidy.sources import CODE_FOLDERS, functions, python_files, query_files, shown, statement, table_codes, tree

# Words of the language that look like a label or a type behind a colon or a bar.
KEYWORDS = {"CASE", "COLLECT", "COUNT", "CREATE", "DELETE", "EXISTS", "MERGE", "NULL", "REMOVE", "SET", "NOT", "MATCH"}
NAMED = re.compile(r"[:|&]\s*([A-Z][A-Za-z_]*)\b")
TYPE_LIST = re.compile(r"[A-Z_]+(?:\s*\|\s*[A-Z_]+)+")
# A variable of a node or an edge, by the places where a pattern binds one.
BOUND = (
    re.compile(r"[(\[]\s*([a-z][A-Za-z]*)\s*:\s*[A-Z]"),
    re.compile(r"[->]\(\s*([a-z][A-Za-z]*)\b"),
    re.compile(r"\(([a-z][A-Za-z]*)\)\s*[<-]"),
)
IN_PATTERN = re.compile(r"[(\[]\s*\w*\s*:\s*[A-Z][A-Za-z_|:]*\s*\{([^{}]*)\}")
FORBIDDEN = re.compile(r"\b(timestamp|datetime|localdatetime|date|time|localtime|randomUUID|rand)\s*\(", re.IGNORECASE)


def queries():
    return pytest.mark.parametrize("path", query_files(), ids=lambda path: path.stem)


def test_each_query_is_used_by_exactly_one_function():
    users: dict[str, set[str]] = defaultdict(set)
    names = {path.stem for path in query_files()}
    for path in python_files(*CODE_FOLDERS):
        for function in functions(tree(path)):
            for node in ast.walk(function):
                if isinstance(node, ast.Constant) and node.value in names:
                    users[node.value].add(f"{shown(path)} {function.name}")
    wrong = {name: sorted(users[name]) for name in names if len(users[name]) != 1}
    assert not wrong, (
        f"each query has exactly one function that runs it: share the function, or delete the file: {wrong}"
    )


@queries()
def test_labels_and_types_are_those_of_the_vocabulary(path):
    named = set(NAMED.findall(statement(path))) - KEYWORDS
    strange = named - set(EdgeType) - set(NodeLabel)
    assert not strange, f"{path.stem}: write a label or a type of graph/vocabulary.py, or add it there: {strange}"


@queries()
def test_properties_are_those_of_the_model(path):
    text = statement(path)
    variables = {name for pattern in BOUND for name in pattern.findall(text)}
    used = {name for variable, name in re.findall(r"\b([a-z][A-Za-z]*)\.([a-zA-Z]+)\b", text) if variable in variables}
    for inside in IN_PATTERN.findall(text):
        used |= set(re.findall(r"([a-zA-Z]+)\s*:", inside))
    strange = used - table_codes("graph/README.md", "Nodes", 1) - table_codes("graph/README.md", "Edges", 2)
    assert not strange, f"{path.stem}: write a property of the tables in graph/README.md, or add it there: {strange}"


@queries()
def test_a_list_of_derivation_types_is_whole(path):
    for found in TYPE_LIST.findall(statement(path)):
        types = {part.strip() for part in found.split("|")}
        derivations = types & set(DERIVATION_EDGES)
        missing = set(DERIVATION_EDGES) - types
        assert not derivations or not missing, f"{path.stem}: a walk over derivation misses {sorted(missing)}"


@queries()
def test_time_and_randomness_come_as_parameters(path):
    found = FORBIDDEN.findall(statement(path))
    assert not found, f"{path.stem}: take it as a parameter from Clock or Ids instead of calling {found}"


@queries()
def test_a_walk_without_bound_is_a_pruning_search(path):
    unbounded = re.findall(r"\*\s*(?:\d*\.\.)?\s*\]", statement(path))
    plan = path.read_text(encoding="utf-8").partition("// plan:")[2].partition("\n")[0]
    chain = re.findall(r"\[:SUPERSEDES\*[01]?\.\.\]", statement(path))
    fine = len(unbounded) == len(chain) or "Pruning,BFS" in plan
    assert fine, f"{path.stem}: bound the walk, or declare the plan VarLengthExpand(Pruning,BFS and make it so"


def test_the_table_of_queries_is_true():
    assert table_codes("graph/README.md", "Queries", 1) == {path.stem for path in query_files()}, (
        "bring the table under Queries in graph/README.md up to date"
    )


def test_the_tables_of_labels_and_types_are_true():
    assert table_codes("graph/README.md", "Nodes", 0) == {label.value for label in NodeLabel}
    assert table_codes("graph/README.md", "Edges", 1) == {edge.value for edge in EdgeType}
