from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from graph.access import Caller
from graph.database.catalogue import default_query_folder, load_catalogue
from graph.database.database import RetryPolicy, open_database
from graph.envelope import RecordInput
from graph.errors import NotAuthorized, Unavailable
from graph.records.register import Registrar
from graph.vocabulary import Role
from service.formats import ndjson
from service.formats.ndjson import LINE_BYTES_MAX, import_lines, split_lines
from service.formats.report import ImportReport
from tests.support.deletion import delete
from tests.support.proxy import CuttingProxy
from tests.support.records import PURPOSE, TENANT, stated

CANARY = "Zürich-Canary-4471"


def line(name: str | None, **changes) -> bytes:
    return json.dumps(stated(name, **changes)).encode() + b"\n"


def summary(name: str, *parents: str) -> bytes:
    sources = [{"name": parent, "edge": "SUMMARIZED_FROM"} for parent in parents]
    return line(
        name,
        derivationType="computed",
        inferenceMethod="test",
        trust="unreviewed_derived",
        sources=sources,
        content={"text": CANARY},
    )


def imported(application, caller, *lines: bytes, **options) -> list[tuple[int, str, str | None]]:
    results = import_lines(lines, application.registrar, caller, **options)
    return [(one.line, one.status.value, one.code.value if one.code else None) for one in results]


def count(application) -> int:
    return application.database.administer("MATCH (n:Record) RETURN count(n) AS n")[0].number("n")


# One line of each kind, and what becomes of it.
MIXED = [
    (line("a"), "created", None),
    (b'{"name": "broken", \n', "refused", "MALFORMED_INPUT"),
    (line("b", ownerId=None), "quarantined", "MISSING_OWNER"),
    (line("c", nmae="x"), "refused", "MALFORMED_INPUT"),
    (line("d", observedAt="yesterday"), "refused", "MALFORMED_INPUT"),
    (line("e", kind="unheard_of"), "refused", "UNKNOWN_KIND"),
    (b'{"name": "f", "name": "g"}\n', "refused", "MALFORMED_INPUT"),
    (b'{"name": "h", "content": NaN}\n', "refused", "MALFORMED_INPUT"),
    (b"[1, 2]\n", "refused", "MALFORMED_INPUT"),
    (b'{"name": "i", "content": "' + b"x" * LINE_BYTES_MAX + b'"}\n', "refused", "LIMIT_EXCEEDED"),
    (line("j", tenantId="tenant-b"), "refused", "REQUESTER_UNAUTHORIZED"),
    (summary("k", "nowhere"), "refused", "SOURCE_NOT_FOUND"),
    (b'{"name": "\\ud800"}\n', "refused", "MALFORMED_INPUT"),
    (b'"\xff"\n', "refused", "MALFORMED_INPUT"),
    (line("a"), "unchanged", None),
    (line("a", sourceVersion="2"), "refused", "RECORD_IMMUTABLE"),
    (line("l"), "created", None),
]


@pytest.mark.parametrize("batch_rows", [1, 4, 500])
def test_each_line_has_its_own_result_in_order(application, caller, batch_rows):
    got = imported(application, caller, *(text for text, _, _ in MIXED), batch_rows=batch_rows)
    assert got == [(number, status, code) for number, (_, status, code) in enumerate(MIXED, 1)]
    assert count(application) == 3


def test_a_result_names_places_and_never_content(application, caller):
    texts = [
        line(CANARY, content={"text": CANARY}, **{CANARY: 1}),
        b'{"name": "' + CANARY.encode() + b'" "x"}',
        line(CANARY, permissions=["role:reviewer", 5], sources=[{"name": CANARY, "edge": CANARY}]),
        line(CANARY, observedAt=CANARY),
        line(CANARY, kind=CANARY),
        summary(CANARY, f"{CANARY}-parent"),
        line(CANARY, stores=[{"storeId": CANARY, "locator": CANARY}]),
        line(f"{CANARY}\0"),
    ]
    results = list(import_lines(texts, application.registrar, caller))
    assert {one.status.value for one in results} == {"refused"}
    assert "Canary" not in json.dumps([one.as_json() for one in results])


def test_faulty_fields_are_named_by_path_and_column(application, caller):
    text = b'{"name": "n", "permissions": ["a", 5], "sources": [{"edge": 5.5, "foo": 1}], "nmae": 1}'
    (result,) = import_lines([text], application.registrar, caller)
    faults = result.details["faults"]
    assert {(fault["path"], fault["problem"], fault["column"]) for fault in faults} == {
        ("permissions.1", "string_type", 36),
        ("permissions", "literal_error", 15),
        ("sources.0.edge", "enum", 53),
        ("sources.0", "extra_forbidden", 66),
        ("", "extra_forbidden", 78),
    }
    assert result.details["faultsTotal"] == 5


def test_broken_json_is_told_by_line_and_column(application, caller):
    results = list(import_lines([line("a"), b'{"name": "b",\n', line("c")], application.registrar, caller))
    assert (results[1].details["line"], results[1].details["column"]) == (2, 14)
    assert results[1].as_json()["line"] == 2
    assert "line 2, column 14" in results[1].details["message"]


def test_the_longest_line_is_read_and_one_more_byte_is_refused(application, caller, monkeypatch):
    text = line("a").rstrip()
    monkeypatch.setattr(ndjson, "LINE_BYTES_MAX", len(text))
    assert imported(application, caller, text + b"\r\n", text + b" ") == [
        (1, "created", None),
        (2, "refused", "LIMIT_EXCEEDED"),
    ]


def test_a_mark_before_the_first_line_ends_of_lines_and_blank_lines(application, caller):
    texts = [b"\xef\xbb\xbf" + line("a"), b"\r\n", line("b").replace(b"\n", b"\r\n"), b" \t\n", line("c").rstrip()]
    assert imported(application, caller, *texts) == [(1, "created", None), (3, "created", None), (5, "created", None)]
    assert imported(application, caller, line("d"), b"\xef\xbb\xbf" + line("e"))[1] == (2, "refused", "MALFORMED_INPUT")


def test_sources_are_found_in_earlier_batches_and_anywhere_in_the_same(application, caller):
    texts = [summary("late", "early"), line("early"), line("other"), summary("last", "early", "late")]
    assert imported(application, caller, *texts, batch_rows=2) == [
        (1, "created", None),
        (2, "created", None),
        (3, "created", None),
        (4, "created", None),
    ]


def test_a_repeat_changes_nothing_and_nameless_lines_need_the_key(application, caller):
    texts = [line("a"), line(None), line(None), summary("b", "a")]
    first = imported(application, caller, *texts, key="upload-1")
    again = imported(application, caller, *texts, key="upload-1", batch_rows=1)
    assert [status for _, status, _ in first] == ["created"] * 4
    assert [status for _, status, _ in again] == ["unchanged"] * 4
    assert count(application) == 4
    imported(application, caller, *texts, key="upload-2")
    assert count(application) == 6
    imported(application, caller, *texts)
    assert count(application) == 8


def test_only_a_batch_is_read_ahead(application, caller):
    taken: list[int] = []

    def endless() -> Iterator[bytes]:
        number = 0
        while True:
            taken.append(number)
            yield line(f"n{number}")
            number += 1

    results = import_lines(endless(), application.registrar, caller, batch_rows=10)
    assert [next(results).line for _ in range(25)] == list(range(1, 26))
    assert len(taken) == 30


def test_a_batch_is_bounded_in_bytes_too(application, caller, monkeypatch):
    monkeypatch.setattr(ndjson, "BATCH_BYTES_MAX", 3 * len(line("n0")))
    taken: list[int] = []
    results = import_lines((taken.append(n) or line(f"n{n}") for n in range(100)), application.registrar, caller)
    next(results)
    assert len(taken) == 3


def test_a_caller_who_is_no_producer_is_refused_at_once(application):
    auditor = Caller(TENANT, "tech-17", frozenset({Role.AUDITOR}), PURPOSE)
    with pytest.raises(NotAuthorized):
        import_lines([], application.registrar, auditor)


def test_a_database_that_goes_away_leaves_what_is_settled_and_a_repeat_finishes(application, caller, neo4j_server):
    address = urlsplit(neo4j_server.uri)
    proxy = CuttingProxy(str(address.hostname), int(address.port or 0))
    database = open_database(
        f"bolt://127.0.0.1:{proxy.port}",
        neo4j_server.user,
        neo4j_server.password,
        load_catalogue(default_query_folder()),
        RetryPolicy(total_seconds=0.2),
    )
    through = Registrar(database, application.policy, application.keys, application.clock, application.ids)
    texts = [line("a"), b"{\n", line("b"), b"[\n", line("c"), line("d")]

    def going_away() -> Iterator[bytes]:
        for number, text in enumerate(texts, 1):
            proxy.refuse(refusing=number > 3)
            yield text

    got: list[tuple[int, str]] = []
    with pytest.raises(Unavailable):
        got.extend((one.line, one.status.value) for one in import_lines(going_away(), through, caller, batch_rows=3))
    database.close()
    proxy.close()
    assert got == [(1, "created"), (2, "refused"), (3, "created"), (4, "refused")]
    again = [status for _, status, _ in imported(application, caller, *texts)]
    assert again == ["unchanged", "refused", "unchanged", "refused", "created", "created"]


@pytest.mark.req("TMB-04")
def test_a_stale_export_stays_out_where_it_was_deleted_and_the_rest_gets_in(application, caller):
    first = application.registrar.register([RecordInput.model_validate_json(line("preference"))], caller)
    gone = first[0].identity
    delete(application, caller, gone)
    report = ImportReport()
    for result in import_lines([line("manual"), line("preference"), line("stock")], application.registrar, caller):
        result.count_in(report)
    assert report.as_json() == {
        "total": 3,
        "counts": {"created": 2, "quarantined": 0, "unchanged": 0, "refused": 1},
        "codes": {"TOMBSTONE_BLOCKED": 1},
        "blocked": [gone],
        "blockedSources": [],
    }
    assert count(application) == 2


@pytest.mark.req("TMB-09")
def test_what_hangs_on_a_deleted_record_stays_out_and_the_report_says_on_which(application, caller):
    first = application.registrar.register([RecordInput.model_validate_json(line("preference"))], caller)
    delete(application, caller, first[0].identity)
    report = ImportReport()
    for result in import_lines([summary("new", "preference"), line("other")], application.registrar, caller):
        result.count_in(report)
    assert report.as_json()["codes"] == {"TOMBSTONE_BLOCKED": 1}
    assert (report.as_json()["blocked"], report.as_json()["blockedSources"]) == ([], [first[0].identity])


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_a_stream_is_cut_into_lines_wherever_the_chunks_end(size):
    data = b"one\ntwo\r\n\nfour"
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert list(split_lines(chunks)) == [b"one", b"two\r", b"", b"four"]


def test_of_a_line_that_is_too_long_only_the_beginning_is_kept(monkeypatch):
    monkeypatch.setattr(ndjson, "LINE_BYTES_MAX", 10)
    assert list(split_lines([b"x" * 8, b"x" * 8, b"x" * 8, b"\nshort"])) == [b"x" * 11, b"short"]


CHAIN = [
    (line("root"), "created", None),
    (line("apart"), "created", None),
    (summary("child", "root"), "created", None),
    (summary("early", "late"), "refused", "SOURCE_NOT_FOUND"),
    (line("late"), "created", None),
    (line("root"), "unchanged", None),
    (b"{\n", "refused", "MALFORMED_INPUT"),
    (summary("grandchild", "child"), "created", None),
    (line("root", producerVersion="2"), "refused", "RECORD_IMMUTABLE"),
]


@pytest.mark.parametrize("batches_ahead", [0, 1, 2, 9])
def test_batches_ahead_change_no_verdict_and_no_order(application, caller, batches_ahead):
    results = imported(application, caller, *(text for text, _, _ in CHAIN), batch_rows=1, batches_ahead=batches_ahead)
    assert results == [(number, *expected) for number, (_, *expected) in enumerate(CHAIN, 1)]


def test_as_many_batches_are_read_ahead_as_were_asked_for(application, caller):
    taken: list[int] = []
    lines = (taken.append(n) or line(f"n{n}") for n in range(1_000))
    results = import_lines(lines, application.registrar, caller, batch_rows=10, batches_ahead=2)
    assert [next(results).line for _ in range(25)] == list(range(1, 26))
    assert len(taken) == 50
    results.close()


@pytest.mark.parametrize("batches_ahead", [0, 2])
def test_lines_that_end_in_a_fault_leave_the_results_of_those_before_it(application, caller, batches_ahead):
    def torn() -> Iterator[bytes]:
        yield from (line("a"), b"{\n", line("b"))
        raise ConnectionError

    got: list[tuple[int, str]] = []
    with pytest.raises(ConnectionError):
        got.extend(
            (one.line, one.status.value)
            for one in import_lines(torn(), application.registrar, caller, batch_rows=1, batches_ahead=batches_ahead)
        )
    assert got == [(1, "created"), (2, "refused"), (3, "created")]


# Two batches of one line each, and whether they may be in the database at the same time.
PAIRS = [
    (line("a"), line("b"), True),
    (line("a"), line("a"), False),
    (summary("a", "root"), summary("b", "root"), True),
    (line("a"), summary("b", "a"), False),
    (summary("b", "a"), line("a"), False),
    (line("a", operation={"operationId": "o", "type": "import"}), line("b"), True),
    (
        line("a", operation={"operationId": "o", "type": "import"}),
        line("b", operation={"operationId": "o", "type": "import"}),
        False,
    ),
    (line("a", supersedes="v"), line("b", supersedes="v"), False),
    (
        line("a", supersedes="v"),
        line("b", derivationType="computed", sources=[{"recordId": "v", "edge": "SUMMARIZED_FROM"}]),
        False,
    ),
    (
        line("a", stores=[{"storeId": "files", "locator": "x"}]),
        line("b", stores=[{"storeId": "files", "locator": "x"}]),
        False,
    ),
]


@pytest.mark.parametrize(("one", "other", "apart"), PAIRS)
def test_batches_wait_for_one_another_where_they_have_anything_in_common(application, caller, one, other, apart):
    pair = [application.registrar.prepare([RecordInput.model_validate_json(text)], caller) for text in (one, other)]
    assert [len(prepared.drafts) for prepared in pair] == [1, 1]
    assert (pair[0].is_apart_from(pair[1]), pair[1].is_apart_from(pair[0])) == (apart, apart)
