"""The grammar of query files: each rule broken once."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph.database.catalogue import default_query_folder, load_catalogue, parse_query
from graph.database.schema import schema_steps
from graph.errors import QueryInvalid
from graph.vocabulary import EdgeType

WHOLE = """// name:    list_things
// does:    Things after a place,
//          in order.
// access:  read
// params:  after STRING, wanted LIST<MAP<STRING, INTEGER>>, rowsMax INTEGER
// literals: depthMax INTEGER
// returns: thing STRING
// order:   thing
// bound:   rowsMax rows
// plan:    NodeUniqueIndexSeek · VarLengthExpand(Pruning,BFS
MATCH (n:Thing)-[*1..$$depthMax]->(m)
WHERE n.thing > $after AND n.thing IN $wanted
RETURN n.thing AS thing
ORDER BY thing LIMIT $rowsMax
"""
PATH = Path("cypher/things/list_things.cypher")


def test_a_whole_file_is_read():
    query = parse_query(WHOLE, PATH)
    assert query.name == "list_things"
    assert query.capability == "things"
    assert query.header["does"] == "Things after a place, in order."
    assert query.params == ("after", "wanted", "rowsMax")
    assert query.literals == ("depthMax",)
    assert query.plan_operators == ("NodeUniqueIndexSeek", "VarLengthExpand(Pruning,BFS")
    assert not query.writes


def test_literals_are_written_into_the_text_as_whole_numbers():
    assert "[*1..7]" in parse_query(WHOLE, PATH).with_literals({"depthMax": 7})


@pytest.mark.parametrize("literals", [{}, {"depthMax": 1, "other": 2}, {"other": 1}])
def test_literals_are_exactly_the_declared_ones(literals):
    with pytest.raises(QueryInvalid, match="takes the literals"):
        parse_query(WHOLE, PATH).with_literals(literals)


def test_a_literal_that_is_no_number_never_reaches_the_text():
    with pytest.raises(ValueError, match="invalid literal"):
        parse_query(WHOLE, PATH).with_literals({"depthMax": "1] DETACH DELETE n //"})


TYPED = WHOLE.replace("literals: depthMax INTEGER", "literals: depthMax INTEGER, edgeTypes TYPES").replace(
    "[*1..", "[:$$edgeTypes*1.."
)


def test_edge_types_are_written_into_the_text_in_one_order():
    query = parse_query(TYPED, PATH)
    one = query.with_literals({"depthMax": 7, "edgeTypes": (EdgeType.SUPERSEDES, EdgeType.CACHED_FROM)})
    other = query.with_literals({"depthMax": 7, "edgeTypes": {EdgeType.CACHED_FROM, EdgeType.SUPERSEDES}})
    assert one == other
    assert "[:CACHED_FROM|SUPERSEDES*1..7]" in one


@pytest.mark.parametrize(
    ("types", "error"), [((), QueryInvalid), (("LIKES",), ValueError), (("CACHED_FROM]-() DELETE n //",), ValueError)]
)
def test_what_is_no_registered_edge_type_never_reaches_the_text(types, error):
    with pytest.raises(error):
        parse_query(TYPED, PATH).with_literals({"depthMax": 7, "edgeTypes": types})


BROKEN = {
    "another name": ("name:    list_things", "name:    list_stuff", "the header names list_stuff"),
    "no name": ("// name:    list_things\n", "", "header lacks"),
    "no purpose": ("// does:    Things after a place,\n//          in order.\n", "", "header lacks"),
    "no access": ("// access:  read\n", "", "header lacks"),
    "no bound": ("// bound:   rowsMax rows\n", "", "header lacks"),
    "no returns": ("// returns: thing STRING\n", "", "header lacks"),
    "unknown key": ("// order:   thing", "// author:  someone", "unknown"),
    "key twice": ("// order:   thing", "// order:   thing\n// order:   thing", "gives order twice"),
    "access that is none": ("access:  read", "access:  both", "access is read or write"),
    "parameter that nobody declared": ("n.thing > $after", "n.thing > $after AND $stray", "stray"),
    "parameter that nobody uses": ("params:  after STRING", "params:  after STRING, idle STRING", "idle"),
    "literal that nobody declared": ("// literals: depthMax INTEGER\n", "", "depthMax"),
    "literal that nobody uses": ("literals: depthMax INTEGER", "literals: depthMax INTEGER, idle INTEGER", "idle"),
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_a_broken_file_is_refused_and_says_why(case):
    old, new, message = BROKEN[case]
    assert old in WHOLE
    with pytest.raises(QueryInvalid, match=message):
        parse_query(WHOLE.replace(old, new), PATH)


def test_a_name_starts_with_a_verb():
    with pytest.raises(QueryInvalid, match="starts with one of get, list, count"):
        parse_query(WHOLE.replace("list_things", "things_listed"), Path("cypher/things/things_listed.cypher"))


def test_two_files_of_one_name_are_refused(tmp_path):
    for capability in ("things", "stuff"):
        folder = tmp_path / capability
        folder.mkdir()
        (folder / "list_things.cypher").write_text(WHOLE, encoding="utf-8")
    with pytest.raises(QueryInvalid, match="two queries are named list_things"):
        load_catalogue(tmp_path)


def test_a_folder_without_queries_is_refused(tmp_path):
    with pytest.raises(QueryInvalid, match="no queries were found"):
        load_catalogue(tmp_path)


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(QueryInvalid, match="no query named list_dreams"):
        load_catalogue(default_query_folder())["list_dreams"]


def test_steps_of_the_schema_are_no_queries():
    names = {query.name for query in load_catalogue(default_query_folder()).queries}
    steps = {step.name for step in schema_steps()}
    assert steps
    assert not names & steps


def test_a_query_takes_exactly_its_parameters_and_its_access(database):
    with pytest.raises(QueryInvalid, match="takes"):
        database.read("list_policies", after="")
    with pytest.raises(QueryInvalid, match="takes"):
        database.read("list_stored_identities", after="")
    with pytest.raises(QueryInvalid, match="declared as read"):
        database.write("list_policies")
    with pytest.raises(QueryInvalid, match="declared as write"):
        database.read("merge_identity_key_check", checkValue="x")
