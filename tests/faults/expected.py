"""Where the end of an interrupted run may differ from the fault-free one, and why.

Each row was added after a run had shown the difference and somebody had found its reason: a row can hide a defect that
looks like it. The rows of the `odd` story are wide (any line about one record or receipt), those about attempts narrow.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expected:
    """`points`: a pattern of `story victim failpoint`. `lines`: patterns of lines of the difference. `because`: why."""

    points: str
    lines: tuple[str, ...]
    because: str


SECOND_ATTEMPT = (
    r"\+ Attempt\(.*:files 2\).*",
    r"\+ Outcome\(.*copy\) HAS_ATTEMPT Attempt\(.*:files 2\) .*",
    r"\+ Outcome\(.*copy\) attempts=2",
    r"- Outcome\(.*copy\) attempts=1",
    r"- Attempt\(.*:files 1\) (basis|finishedAt|outcome)=.*",
)
ABSENT_BY_THEN = (
    r"\+ Outcome\(.*copy\) basis=\"absent_after_started_attempt\"",
    r"- Outcome\(.*copy\) basis=\"store_answer\"",
)
# Also where a catch-up goes through the release again.
REOPENED = (r"\+ Deletion\+Request\(.*\) reopened=[1-4]", r"- Deletion\+Request\(.*\) reopened=[1-4]")

EXPECTED: tuple[Expected, ...] = (
    Expected(
        r"\w+ (killed|stopped) (create_attempts\.after_commit|store\.before_effect)",
        SECOND_ATTEMPT,
        "the attempt was written down and never ended, so another one is made; the copy is still there for it",
    ),
    Expected(
        r"\w+ (killed|stopped) (store\.after_effect|store\.after_verify|complete_attempts\.before_commit)",
        SECOND_ATTEMPT + ABSENT_BY_THEN,
        "the copy went by an attempt of which nobody heard: the next one finds it gone, and says on what ground it is so",
    ),
    Expected(
        r"\w+ stopped (journal\..*|.*\.before_commit)",
        SECOND_ATTEMPT + ABSENT_BY_THEN,
        "stopped with locks held, so that two work at once afterwards: on a busy machine one outlives its lease of a second",
    ),
    Expected(
        r"odd (killed|stopped|neo4j) (file\.before_commit|journal\..*)",
        (r"[+-] .*(victim|tampered|receipt|request_rejected|content_removed).*",),
        "the filing was rolled back after its entry: the catch-up of the next start or connection, or of who works"
        " meanwhile, files it again and carries it out before the story takes its requester's grant away",
    ),
    Expected(
        r"odd (killed|stopped|neo4j) "
        r"(settle\.before_commit|journal\..*|verify\..*|mark_request_finished\..*|file\.before_commit)",
        (r"[+-] .*(tampered|receipt).*",),
        "the next start, or who works meanwhile, ends the request before the story can tamper, or mends at once what a"
        " retry mends otherwise",
    ),
    Expected(
        r"\w+ (killed|stopped|neo4j) .*",
        REOPENED,
        "the hold is released by each telling: a count of reopenings, by which an older walk cannot end the request",
    ),
)
