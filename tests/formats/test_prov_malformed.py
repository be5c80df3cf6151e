"""What is no PROV-JSON, or none that can be imported whole: refused with its place, and nothing is written."""

from __future__ import annotations

import importlib.resources
import json

import pytest

from graph.errors import Conflict, InvalidInput, Oversized, Refused
from service.formats.prov_json import ProvEnvelope, import_prov_document, read_prov_json
from tests.support.deletion import everything
from tests.support.records import READERS

CORPUS = importlib.resources.files("prov.tests").joinpath("malformed")
DEFAULTS = ProvEnvelope(
    owner_id="platform-owner",
    observed_at="2026-03-02T08:00:00Z",
    permissions=tuple(READERS),
    purpose=("maintenance",),
    producer_id="prov-import",
    producer_version="1",
)
# Where the fault is: line, column and path, read off the files by eye.
PUBLISHED = {
    "bad_bundle_shape.json": (2, 5, "bundle"),
    "bad_prefix_map.json": (2, 5, "prefix"),
    "bad_record_content.json": (2, 16, "entity.*"),
    "bad_record_shape.json": (3, 5, "entity"),
    "bad_typed_literal.json": (4, 19, "entity.*.*"),
    "empty.json": (1, 1, None),
    "not_json.json": (1, 2, None),
    "top_level_list.json": (1, 1, ""),
    "top_level_scalar.json": (1, 1, ""),
    "unknown_record_type.json": (2, 5, "*"),
}


def ring(size: int) -> bytes:
    """Derivations in a circle, one a line."""
    links = (
        f'"_:{n}": {{"prov:generatedEntity": "e{n}", "prov:usedEntity": "e{(n + 1) % size}"}}' for n in range(size)
    )
    return ('{"wasDerivedFrom": {\n' + ",\n".join(links) + "}}").encode()


# Text, line, column, path: none of it may repeat what only the document says.
MALFORMED = [
    (b'{"entity": {"xx_canary": {"xx_canary": null}}}', 1, 27, "entity.*.*"),
    (b'{"entity": {"xx_canary": {}, "xx_canary": {}}}', 1, 30, None),
    (b'{"entity": {"xx_canary": {"xx_n": NaN}}}', 1, 35, None),
    (b'{\n"used": {"_:u": {"prov:entity": ["xx_canary", "xx_b"]}}}', 2, 18, "used.*.prov:entity"),
    (b'{"used": {"_:u": {"prov:entity": []}}}', 1, 19, "used.*.prov:entity"),
    (b'{"used": {"_:u": {"prov:entity": 5}}}', 1, 19, "used.*.prov:entity"),
    (
        b'{"prefix": {"p": "http://www.w3.org/ns/prov#"}, "used": {"_:u": {"prov:entity": "a", "p:entity": "b"}}}',
        1,
        86,
        "used.*.*",
    ),
    (b'{"prefix": {"prov": "http://canary.example/"}}', 1, 13, "prefix.*"),
    (b'{"prefix": {"canary": 5}}', 1, 13, "prefix.*"),
    (b'{"derivedByInsertionFrom": {"xx_canary": {}}}', 1, 2, "*"),
    (b'{"bundle": {"xx_canary": {"bundle": {}}}}', 1, 27, "bundle.*.bundle"),
    (b'{"entity": {"xx_canary": [{}, 5]}}', 1, 31, "entity.*.1"),
    (b'{"entity": {"xx_e": {"xx_n": {"$": "canary", "other": 1}}}}', 1, 22, "entity.*.*"),
    (b'{"entity": {"xx_e": {"xx_n": {"$": "canary", "type": 1}}}}', 1, 22, "entity.*.*"),
    (b'{"entity": {"xx_e": {"xx_n": [["canary"]]}}}', 1, 22, "entity.*.*"),
    (b'{"entity": {"": {}}}', 1, 13, "entity.*"),
    (b'{"entity": {"canary\\u0000": {}}}', 1, 13, "entity.*"),
    # cut off, and what is no JSON
    (b'{"entity": {"canary": {', 1, 24, None),
    (b'{"entity": {"canary": {}}', 1, 26, None),
    (b'{"entity": {"canary": {"n": "canary', 1, 29, None),
    (b"{'entity': {}}", 1, 2, None),
    (b'{"entity": {},}', 1, 15, None),
    (b'{"entity": {}} {"canary": 1}', 1, 16, None),
    (b'{"entity": {"canary": {"n": Infinity}}}', 1, 29, None),
    (b'{"entity": {"canary": {"n": -Infinity}}}', 1, 29, None),
    (b'{"entity": {"canary": {"n": 1e400}}}', 1, 29, None),
    (b'{"entity": {"canary": {"n": ' + b"7" * 5_000 + b"}}}", 1, 29, None),
    (b'{"entity": {"canary": {"n": 01}}}', 1, 30, None),
    (b'{"entity": {"canary": {"n": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}}", 1, 127, None),
    (b'{"entity": ' * 200_000, 1, 1_112, None),
    (b'{"entity": {"canary": {"n": "\\ud800"}}}', 1, 29, None),
    (b'{"entity": {"\\udfff": {}}}', 1, 13, None),
    (b'{"entity": {"canary": {"n": "\xff"}}}', 1, 30, None),
    (b'{"entity": {"canary": {"n": "\xed\xa0\x80"}}}', 1, 30, None),
    (b'{"entity": {"canary": {"n": "\x00"}}}', 1, 30, None),
    ('{"entity": {"canary": {}}}'.encode("utf-16"), 1, 1, None),
    ('{"entity": {"canary": {}}}'.encode("utf-16-be"), 1, 1, None),
    (b"\xef\xbb\xbf\xef\xbb\xbf{}", 1, 1, None),
    (b'{"entity": \xef\xbb\xbf{"canary": {}}}', 1, 12, None),
    # keys twice, at every level
    (b'{"entity": {},\n "entity": {}}', 2, 2, None),
    (b'{"prefix": {"xx": "a:", "xx": "b:"}}', 1, 25, None),
    (b'{"entity": {"canary": {"n": 1, "n": 1}}}', 1, 32, None),
    (b'{"bundle": {"b": {},\n  "b": {}}}', 2, 3, None),
    # things of the wrong kind
    (b"null", 1, 1, ""),
    (b'"canary"', 1, 1, ""),
    (b"[]", 1, 1, ""),
    (b'{"entity": []}', 1, 2, "entity"),
    (b'{"entity": null}', 1, 2, "entity"),
    (b'{"bundle": {"canary": []}}', 1, 13, "bundle.*"),
    (b'{"bundle": {"canary": {"entity": 1}}}', 1, 24, "bundle.*.entity"),
    (b'{"prefix": []}', 1, 2, "prefix"),
    (b'{"prefix": {"xx": ""}}', 1, 13, "prefix.*"),
    (b'{"prefix": {"xx": null}}', 1, 13, "prefix.*"),
    (b'{"entity": {"e": {"n": {"$": null}}}}', 1, 19, "entity.*.*"),
    (b'{"entity": {"e": {"n": {"$": "x", "lang": 5}}}}', 1, 19, "entity.*.*"),
    (b'{"entity": {"e": {"n": {}}}}', 1, 19, "entity.*.*"),
    (b'{"used": {"_:u": {"prov:entity": {"$": 1, "type": "xsd:QName"}}}}', 1, 19, "used.*.prov:entity"),
    (b'{"used": {"_:u": {"prov:activity": ["a", "b"]}}}', 1, 19, "used.*.prov:activity"),
    # prefixes that nobody declared: of an id, a key, an end, a type, in a bundle, and of the key of the default one
    (b'{"entity": {"canary:e": {}}}', 1, 13, "entity.*"),
    (b'{"entity": {"e": {"canary:n": 1}}}', 1, 19, "entity.*.*"),
    (b'{"used": {"_:u": {"prov:entity": "canary:e"}}}', 1, 19, "used.*.prov:entity"),
    (b'{"entity": {"e": {"n": {"$": "1", "type": "canary:t"}}}}', 1, 19, "entity.*.*"),
    (b'{"bundle": {"canary:b": {}}}', 1, 13, "bundle.*"),
    (b'{"bundle": {"b": {"prefix": {"xx": "x:"}}}, "entity": {"xx:e": {}}}', 1, 56, "entity.*"),
    (b'{"prefix": {"default": "http://d.example/"}, "entity": {"default:e": {}}}', 1, 57, "entity.*"),
    (b'{"entity": {"mailto:canary": {}}}', 1, 13, "entity.*"),
]
# What only shows when the document is planned: text, error, code, line, column, path.
UNFIT = [
    (ring(1), Conflict, "DERIVATION_CYCLE", 2, 1, "wasDerivedFrom.*"),
    (ring(2), Conflict, "DERIVATION_CYCLE", None, 1, "wasDerivedFrom.*"),
    (ring(700), Conflict, "DERIVATION_CYCLE", None, 1, "wasDerivedFrom.*"),
    (
        json.dumps({"entity": {"ok": {}, "e": {"n": "canary" * 200_000}}}).encode(),
        Oversized,
        "LIMIT_EXCEEDED",
        1,
        23,
        "entity.*",
    ),
]


def refused(data: bytes) -> Refused:
    """The refusal of a text that cannot be read; it repeats nothing of it."""
    with pytest.raises(Refused) as refusal:
        read_prov_json(data)
    assert "canary" not in f"{refusal.value.message} {refusal.value.details}"
    return refusal.value


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_published_malformed_document_is_refused_with_its_position(name):
    error = refused(CORPUS.joinpath(name).read_bytes())
    assert error.code == "MALFORMED_INPUT"
    assert (error.details["line"], error.details["column"], error.details.get("path")) == PUBLISHED[name]


@pytest.mark.parametrize(("text", "line", "column", "path"), MALFORMED, ids=range(len(MALFORMED)))
def test_what_is_no_prov_json_is_refused_with_its_place_and_without_its_content(text, line, column, path):
    error = refused(text)
    assert isinstance(error, InvalidInput)
    assert (error.details["line"], error.details["column"], error.details.get("path")) == (line, column, path)


def test_the_published_malformed_documents_are_all_there():
    assert sorted(path.name for path in CORPUS.iterdir() if path.name.endswith(".json")) == sorted(PUBLISHED)


def test_nothing_is_written_of_what_is_refused(application, caller):
    def attempt(data: bytes) -> Refused:
        with pytest.raises(Refused) as refusal:
            import_prov_document(read_prov_json(data), application.registrar, caller, scope="s", defaults=DEFAULTS)
        assert everything(application.database) == before
        return refusal.value

    there = read_prov_json(b'{"entity": {"e0": {}, "there": {"n": 1}}}')
    import_prov_document(there, application.registrar, caller, scope="s", defaults=DEFAULTS)
    before = everything(application.database)
    for name in sorted(PUBLISHED):
        attempt(CORPUS.joinpath(name).read_bytes())
    for text, *_ in MALFORMED:
        attempt(text)
    for text, kind, code, line, column, path in UNFIT:
        error = attempt(text)
        assert (type(error), error.code) == (kind, code)
        assert line in (None, error.details["line"])
        assert (error.details["column"], error.details["path"]) == (column, path)
        assert "canary" not in f"{error.message} {error.details}"
