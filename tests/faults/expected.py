"""Where the end of an interrupted run may differ from the fault-free one, and why. Written as data, before the runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expected:
    """`points`: a pattern of `story victim failpoint`. `lines`: patterns of lines of the difference. `because`: why."""

    points: str
    lines: tuple[str, ...]
    because: str


EXPECTED: tuple[Expected, ...] = ()
