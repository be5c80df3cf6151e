"""Records as a stream of JSON lines: one result a line, in order, whatever becomes of the others.

The rule for what is between the records: lines end with LF or CRLF; a byte order mark before the first line is
dropped; a line of blanks alone has no result and still counts, so that numbers agree with an editor's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from graph.access import Caller
from graph.envelope import OperationInput, RecordInput, SourceInput, StoreInput
from graph.errors import InvalidInput, Oversized, Refused, Unavailable
from graph.records.model import RegisterResult, RegisterStatus
from graph.records.register import BATCH_ROWS_MAX, Prepared, Registrar
from graph.vocabulary import ReasonCode, Role
from service.formats.json_text import BYTE_ORDER_MARK, JsonText, Path, read_json
from service.formats.report import ImportReport

LINE_BYTES_MAX: Final = 4 * 1_048_576
BATCH_BYTES_MAX: Final = 16 * 1_048_576
FAULTS_MAX: Final = 20
# While the database works on one batch, the next one is put together and sent.
_WRITERS: Final = 2
# The only words of a line that an answer repeats; everything else in it may be content.
_FIELD_NAMES: Final = frozenset(
    info.alias or name
    for model in (RecordInput, SourceInput, StoreInput, OperationInput)
    for name, info in model.model_fields.items()
)


@dataclass(frozen=True)
class LineResult:
    """What became of one line; `details` name fields, positions and ids, never content."""

    line: int
    status: RegisterStatus
    record_id: str | None = None
    code: ReasonCode | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])

    def count_in(self, report: ImportReport) -> None:
        """Add this line to a report."""
        report.add(self.status, self.record_id, self.code, self.details)

    def as_json(self) -> dict[str, object]:
        """The form that the API and the command line write."""
        return {
            "line": self.line,
            "status": self.status.value,
            "recordId": self.record_id,
            "code": self.code.value if self.code else None,
            "details": dict(self.details),
        }


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut a stream into lines without their ends; never keeps more than `LINE_BYTES_MAX` + 1 bytes and one chunk.

    Of a longer line the first `LINE_BYTES_MAX` + 1 bytes come out, enough for `import_lines` to refuse it.
    """
    kept = b""
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            yield _cut(kept, end)
            kept = b""
        kept = _cut(kept, rest)
    if kept:
        yield kept


def _cut(kept: bytes, more: bytes) -> bytes:
    return kept + more[: LINE_BYTES_MAX + 1 - len(kept)]


def import_lines(
    lines: Iterable[bytes],
    registrar: Registrar,
    caller: Caller,
    *,
    batch_rows: int = 500,
    key: str | None = None,
    batches_ahead: int = 0,
) -> Iterator[LineResult]:
    """Register a stream of records, each line a `RecordInput`; the results come out while lines still come in.

    A batch is at most `batch_rows` lines and `BATCH_BYTES_MAX` bytes (and one line more); it and `batches_ahead` more are
    held at a time. Batches that have anything in common go to the graph one after another. Sources may name records of
    earlier lines and, within the same batch, of later ones. Repeating a whole stream is safe: named records are
    `unchanged`, and nameless ones too where the same `key` is given.

    Args:
        lines: one record each, as from a binary file or `split_lines`; the end of the line may be there or not.
        registrar: registers.
        caller: who registers; needs the role producer.
        batch_rows: lines that go to the graph together, 1 to `BATCH_ROWS_MAX`.
        key: by which nameless records of a repeated stream meet themselves, with their line numbers.
        batches_ahead: batches that are read and registered while the results of those before them are still awaited.

    Raises:
        NotAuthorized: the caller is no producer; at once.
        Unavailable: the database went away; raised while iterating, after the results that are settled.
    """
    caller.demand(Role.PRODUCER)
    if not 1 <= batch_rows <= BATCH_ROWS_MAX:
        raise ValueError(f"batch_rows is 1 to {BATCH_ROWS_MAX}")
    importer = _Importer(registrar, caller, key)
    return _results(importer, _batches(lines, batch_rows), batches_ahead)


@dataclass(frozen=True)
class _Line:
    number: int
    parsed: RecordInput | LineResult


def _batches(lines: Iterable[bytes], batch_rows: int) -> Iterator[list[_Line]]:
    batch: list[_Line] = []
    size = 0
    for number, data in enumerate(lines, 1):
        text = data if number > 1 else data.removeprefix(BYTE_ORDER_MARK)
        if text.strip(b" \t\r\n"):
            batch.append(_Line(number, _parsed(number, text)))
            size += len(text)
        if len(batch) >= batch_rows or size >= BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@dataclass(frozen=True)
class _Importer:
    """Registers batches of one stream."""

    registrar: Registrar
    caller: Caller
    key: str | None

    def prepared(self, batch: Sequence[_Line]) -> Prepared:
        """The records of a batch in their stored form."""
        records = [(line.number, line.parsed) for line in batch if isinstance(line.parsed, RecordInput)]
        keys = [None if self.key is None else f"{self.key}\n{number}" for number, _ in records]
        return self.registrar.prepare([record for _, record in records], self.caller, repeat_keys=keys)

    def settled(self, prepared: Prepared, before: Sequence[_Flight]) -> list[RegisterResult]:
        """Register a batch after those before it that it has anything in common with; their failure is its own, too."""
        for flight in before:
            if not prepared.is_apart_from(flight.prepared):
                flight.registered.result()
        return self.registrar.register(prepared, self.caller) if prepared.count else []


@dataclass(frozen=True)
class _Flight:
    """A batch on its way into the graph."""

    batch: Sequence[_Line]
    prepared: Prepared
    registered: Future[list[RegisterResult]]

    def results(self) -> Iterator[LineResult]:
        """What became of its lines, once it is through."""
        try:
            verdicts = iter(self.registered.result())
        except Unavailable:
            for line in self.batch:
                if isinstance(line.parsed, RecordInput):
                    break
                yield line.parsed
            raise
        for line in self.batch:
            yield line.parsed if isinstance(line.parsed, LineResult) else _line_result(line.number, next(verdicts))


def _results(importer: _Importer, batches: Iterator[list[_Line]], batches_ahead: int) -> Iterator[LineResult]:
    """The results in order. Others have the batches registered while this thread reads and judges those after them."""
    flying: deque[_Flight] = deque()
    with ThreadPoolExecutor(_WRITERS, "sequela-import") as pool:
        while True:
            try:
                batch = next(batches, None)
            except Exception:
                # Where the lines end in a fault, what was registered before it is told first.
                yield from _landed(flying, 0)
                raise
            if batch is None:
                break
            prepared = importer.prepared(batch)
            registered = pool.submit(importer.settled, prepared, tuple(flying))
            flying.append(_Flight(batch, prepared, registered))
            yield from _landed(flying, batches_ahead)
        yield from _landed(flying, 0)


def _landed(flying: deque[_Flight], left: int) -> Iterator[LineResult]:
    """The results of the first batches, until no more than `left` are on their way."""
    while len(flying) > left:
        yield from flying.popleft().results()


def _line_result(number: int, verdict: RegisterResult) -> LineResult:
    return LineResult(number, verdict.status, verdict.identity or None, verdict.code, verdict.details)


def _parsed(number: int, data: bytes) -> RecordInput | LineResult:
    try:
        text = data.rstrip(b"\r\n")
        if len(text) > LINE_BYTES_MAX:
            raise Oversized(
                "the line is too long",
                code=ReasonCode.LIMIT_EXCEEDED,
                details={"limit": "LINE_BYTES_MAX", "max": LINE_BYTES_MAX},
            )
        return _record(read_json(text, first_line=number))
    except Refused as error:
        details = {**error.details, "line": number, "message": error.message}
        return LineResult(number, RegisterStatus.REFUSED, code=error.code, details=details)


def _record(text: JsonText) -> RecordInput:
    try:
        return RecordInput.model_validate(text.value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidInput(
            "fields that no record has or that hold what they cannot",
            code=ReasonCode.MALFORMED_INPUT,
            details={"faults": [_fault(text, one) for one in faults[:FAULTS_MAX]], "faultsTotal": len(faults)},
        ) from None


def _fault(text: JsonText, error: ErrorDetails) -> dict[str, object]:
    """Where and of which type; a field that no record has is told by its column, for its name may be anything."""
    location = _location(text.value, error["loc"])
    shown = [str(part) for part in location if isinstance(part, int) or part in _FIELD_NAMES]
    return {"path": ".".join(shown), "problem": error["type"], "column": text.position(location)[1]}


def _location(value: JsonValue, parts: tuple[str | int, ...]) -> Path:
    """The part of a validator's location that is in the line; between, it names the types that it tried."""
    path: list[str | int] = []
    for part in parts:
        children = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        if part in children:
            value = cast("Mapping[str | int, JsonValue]", children)[part]
            path.append(part)
    return tuple(path)
