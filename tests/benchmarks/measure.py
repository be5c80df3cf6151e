"""Medians and spreads, and the table that they go into."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """Seconds of several runs of one piece of work."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        low, high = min(self.seconds) * 1_000, max(self.seconds) * 1_000
        return f"{self.median * 1_000:,.1f} ms ({low:,.1f} to {high:,.1f})"


def measure(name: str, work: Callable[[], object], runs: int, warm_ups: int = 1) -> Measurement:
    """Run `work` a few times to warm up and then `runs` times with the clock on."""
    for _ in range(warm_ups):
        work()
    return Measurement(name, tuple(_timed(work) for _ in range(runs)))


def measure_pairs(ours: Callable[[int], object], theirs: Callable[[int], object], runs: int) -> tuple[Measurement, ...]:
    """Run two pieces of work by turns, each on graphs of its own number, so that both meet the same machine."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(runs):
        for slot, work in enumerate((ours, theirs)):
            seconds[slot].append(_timed(lambda work=work, number=number: work(number)))
    return Measurement("ours", tuple(seconds[0])), Measurement("raw", tuple(seconds[1]))


def measure_turns(
    works: Sequence[Callable[[int], object]], runs: int, *, after: Sequence[Callable[[], object]] = ()
) -> tuple[Measurement, ...]:
    """Run several pieces of work by turns; `after` of each, where given, runs with the clock off."""
    seconds: list[list[float]] = [[] for _ in works]
    for number in range(runs):
        for slot, work in enumerate(works):
            seconds[slot].append(_timed(lambda work=work, number=number: work(number)))
            if after:
                after[slot]()
    return tuple(Measurement("work", tuple(spent)) for spent in seconds)


def row(what: str, ours: Measurement, raw: Measurement, other: Measurement | None = None) -> str:
    """A line of the table: ours, the limit, the ratio, and what people would pick instead."""
    beside = "" if other is None else f"{other}, ours {ours.median / other.median:.2f}"
    return f"| {what} | {ours} | {raw} | {ours.median / raw.median:.2f} | {beside} |"


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
