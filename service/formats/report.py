"""What became of an import: counts, and the ids that a tombstone kept out (TMB-04)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from graph.records.model import RegisterStatus
from graph.vocabulary import ReasonCode

BLOCKED_MAX: Final = 10_000
_BLOCKED_CODES: Final = frozenset({ReasonCode.TOMBSTONE_BLOCKED, ReasonCode.SOURCE_FENCED})


@dataclass
class ImportReport:
    """Counts of a whole import, and which records a tombstone or a running deletion kept out.

    `blocked` are the records themselves, `blocked_sources` those that refused records hang on. Each of the two holds
    the first `BLOCKED_MAX` ids; the counts are whole.
    """

    counts: Counter[RegisterStatus] = field(default_factory=Counter[RegisterStatus])
    codes: Counter[ReasonCode] = field(default_factory=Counter[ReasonCode])
    blocked: dict[str, None] = field(default_factory=dict[str, None])
    blocked_sources: dict[str, None] = field(default_factory=dict[str, None])

    def add(
        self, status: RegisterStatus, record_id: str | None, code: ReasonCode | None, details: Mapping[str, object]
    ) -> None:
        """Count one more record."""
        self.counts[status] += 1
        if code is not None:
            self.codes[code] += 1
        if code in _BLOCKED_CODES:
            source = details.get("sourceId")
            ids, blocked = (self.blocked, record_id) if source is None else (self.blocked_sources, source)
            if blocked and len(ids) < BLOCKED_MAX:
                ids[str(blocked)] = None

    def as_json(self) -> dict[str, object]:
        """Counts by status (all four) and by code, and the blocked ids."""
        return {
            "total": self.counts.total(),
            "counts": {status.value: self.counts[status] for status in RegisterStatus},
            "codes": {code.value: self.codes[code] for code in sorted(self.codes)},
            "blocked": list(self.blocked),
            "blockedSources": list(self.blocked_sources),
        }
