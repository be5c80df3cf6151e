"""The end of a story as a bag of lines: everything in graph, files, journal and receipts but ids and times.

Two ends are equal if the bags are. A name stands for each id that is made anew in each run; identities, which are not,
get the names of their records. Leases are left out (who held one last is no part of an end), and so is the number of the
journal's last entry, which grows with what was rolled back; that the graph's mark stands at it is a line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from graph.database.database import Database
from graph.database.journal import FileJournal
from graph.database.rows import Row
from graph.ids import IdentityKeys
from graph.propagation.settle import exception_id
from tests.faults.stories import KEY, NAMES
from tests.support.records import TENANT

MICROSECONDS_LEAST = 1_600_000_000_000_000
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_LEFT_OUT = {
    "WorkShard": {"holder", "until", "epoch"},
    "Attempt": {"attemptId", "epoch"},
    "Journal": {"journalId", "sequence", "digest"},
}
Ending = Counter[str]


def ending(database: Database, home: Path) -> Ending:
    """The end as it is now; what contradicts itself (a receipt, say) is a line that no other end has."""
    nodes = database.administer(
        "MATCH (n) RETURN elementId(n) AS key, labels(n) AS labels, properties(n) AS properties"
    )
    edges = database.administer(
        "MATCH (a)-[e]->(b) RETURN elementId(a) AS a, type(e) AS type, elementId(b) AS b, properties(e) AS properties"
    )
    names = _names(database, FileJournal(home / "journal.ndjson"))
    shown = {row.text("key"): _shown(row, names, edges, nodes) for row in nodes}
    lines: Ending = Counter()
    for row in nodes:
        lines.update(_node_lines(row, shown[row.text("key")], names))
    for row in edges:
        values = _named(dict(row.mapping("properties")), names)
        lines[f"{shown[row.text('a')]} {row.text('type')} {shown[row.text('b')]} {_json(values)}"] += 1
    lines.update(_journal_lines(database, FileJournal(home / "journal.ndjson"), names))
    lines.update(_receipt_lines(database))
    for path in sorted((home / "files").rglob("*")):
        if path.is_file():
            lines[f"file {path.relative_to(home / 'files')} {hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"] += 1
    return lines


def difference(expected: Ending, found: Ending) -> list[str]:
    """Lines that only one of two ends has: `-` the expected one, `+` the other."""
    return sorted(
        [f"- {line}" for line in (expected - found).elements()]
        + [f"+ {line}" for line in (found - expected).elements()]
    )


def _names(database: Database, journal: FileJournal) -> dict[str, str]:
    """Id → name, for every id that a run makes anew or that a reader could not tell from another."""
    keys = IdentityKeys(KEY)
    names = {keys.identity(TENANT, name): name for name in NAMES}
    scopes = {row.text("id"): row.texts("scope") for row in _requests(database)}
    for entry in journal.after(0):
        request: Any = entry.body.get("request")
        if isinstance(request, dict):
            scopes[str(request["requestId"])] = [str(one) for one in request["scope"]]
    for request_id, scope in scopes.items():
        names[request_id] = "request:" + ",".join(sorted(names.get(one, one) for one in scope))
    rows = database.administer(
        "MATCH (o:Outcome) RETURN o.outcomeId AS id, o.requestId AS request, o.identity AS identity, o.store AS store"
    )
    for row in rows:
        outcome = f"{names[row.text('request')]}:{names[row.text('identity')]}:{row.text('store')}"
        names[row.text("id")] = outcome
        names[exception_id(row.text("id"))] = f"exception:{outcome}"
    return names


def _requests(database: Database) -> list[Row]:
    return database.administer("MATCH (q:Request) RETURN q.requestId AS id, q.scope AS scope, q.receipt AS receipt")


def _shown(row: Row, names: Mapping[str, str], edges: list[Row], nodes: list[Row]) -> str:
    """What a node is called: by its key, or by what it hangs on."""
    values, labels = dict(row.mapping("properties")), sorted(row.texts("labels"))
    for key in ("identity", "outcomeId", "requestId", "exceptionId", "holdId", "policyId", "key", "step", "storeId"):
        if key in values and not (key == "requestId" and "Exception" in labels):
            return f"{'+'.join(labels)}({names.get(str(values[key]), values[key])})"
    if "Operation" in labels:
        known = {node.text("key"): dict(node.mapping("properties")) for node in nodes}
        made = [known[e.text("a")].get("identity") for e in edges if e.text("b") == row.text("key")]
        return f"Operation({','.join(sorted(names.get(str(one), str(one)) for one in made))})"
    if "Attempt" in labels:
        known = {node.text("key"): dict(node.mapping("properties")) for node in nodes}
        of = [known[e.text("a")].get("outcomeId") for e in edges if e.text("b") == row.text("key")]
        return f"Attempt({','.join(names.get(str(one), str(one)) for one in of)} {values.get('number')})"
    return "+".join(labels)


def _node_lines(row: Row, shown: str, names: Mapping[str, str]) -> Ending:
    labels = row.texts("labels")
    left_out = set[str]().union(*(_LEFT_OUT.get(label, set()) for label in labels), {"receipt"})
    if "Operation" in labels:
        left_out.add("operationId")
    values = {key: value for key, value in row.mapping("properties").items() if key not in left_out}
    return Counter([shown, *(f"{shown} {key}={_json(_named(value, names))}" for key, value in values.items())])


def _named(value: object, names: Mapping[str, str]) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return "<time>" if value > MICROSECONDS_LEAST else value
    if isinstance(value, str):
        return _text_named(value, names)
    if isinstance(value, dict):
        return {str(key): "<made>" if key == "operationId" else _named(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_named(one, names) for one in value]
    return value


def _text_named(value: str, names: Mapping[str, str]) -> object:
    if value.startswith(("{", "[")):
        with suppress(ValueError):
            return _named(json.loads(value), names)
    return _INSTANT.sub("<time>", names.get(value, value))


def _journal_lines(database: Database, journal: FileJournal, names: Mapping[str, str]) -> Ending:
    """Entries, each once however often it was written; removals by request and change, however they were batched."""
    entries: set[str] = set()
    for entry in journal.after(0):
        body = dict(entry.body)
        for change in ("delete", "invalidate"):
            listed: Any = body.pop(change, None)
            whose = names.get(str(body.get("requestId")))
            entries.update(f"journal {change} {names.get(one, one)} for {whose}" for one in listed or [])
        body.pop("journalId", None)
        entries.add(f"journal {entry.kind.value} {_json(_named(body, names))}")
    mark = database.administer("MATCH (j:Journal) RETURN j.sequence AS sequence, j.digest AS digest")
    at_head = [(row.number("sequence"), row.text("digest")) for row in mark] == [
        (journal.head().sequence, journal.head().digest)
    ]
    return Counter([*entries, f"journal mark at its head: {at_head}"])


def _receipt_lines(database: Database) -> Ending:
    """Receipts field by field; the digest is computed anew, and the ids must be the request's own."""
    lines: Ending = Counter()
    for number, row in enumerate(sorted(_requests(database), key=lambda row: row.texts("scope"))):
        text = row.text_or_none("receipt")
        if text is None:
            continue
        receipt = json.loads(text)
        outcomes = database.administer(
            "MATCH (o:Outcome {requestId: $id}) RETURN [o.outcomeId, o.identity, o.store, o.outcome, o.rule] AS parts"
            " ORDER BY o.outcomeId",
            id=row.text("id"),
        )
        digest = hashlib.sha256("".join(f"{' '.join(o.texts('parts'))}\n" for o in outcomes).encode()).hexdigest()
        receipt["outcomesDigest"] = "right" if receipt["outcomesDigest"] == digest else "wrong"
        receipt["requestId"] = "right" if receipt["requestId"] == row.text("id") else "wrong"
        receipt["replaces"] = receipt["replaces"] and "an earlier one"
        receipt["ownedFailures"] = [
            {key: value for key, value in failure.items() if key != "outcomeId"} for failure in receipt["ownedFailures"]
        ]
        lines.update(f"receipt {number} {key}={_INSTANT.sub('<time>', _json(v))}" for key, v in receipt.items())
    return lines


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
