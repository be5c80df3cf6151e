"""Every error that the domain raises, as one small tree.

SequelaError                      code, details (content-free), message
├── Refused                       the request was understood and is not allowed
│   ├── InvalidInput              malformed at the edge: nothing was written
│   ├── NotAuthenticated          no or unknown identity
│   ├── NotAuthorized             the identity may not do this, or must not learn whether the thing exists
│   ├── NotFound                  no such thing for this caller
│   ├── Conflict                  the state of the graph forbids it
│   │   └── Blocked               a tombstone or a fence forbids it, for good
│   └── Oversized                 a named limit was exceeded
├── Unavailable                   a server or store that is needed does not answer; try again
│   └── OutcomeUnknown            the answer to a commit was lost and could not be settled by a re-read
├── NotReady                      the schema or the policy in the database is not the one that this code needs
├── PolicyInvalid                 the policy bundle does not load; every fault is named with its cell
├── QueryInvalid                  a file of cypher/ breaks the grammar of its header
└── LocalServerError              the private Neo4j server could not be fetched, started, stopped or dumped

Codes come from `graph.vocabulary.ReasonCode`; how an error is shown over HTTP is decided in `service/api/problems.py` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graph.vocabulary import ReasonCode


class SequelaError(Exception):
    """Something went wrong; `code` is stable and `details` never carry content."""

    def __init__(
        self, message: str, *, code: ReasonCode | None = None, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details: dict[str, object] = dict(details or {})


class Refused(SequelaError):
    """The request was understood and is not allowed."""

    def __init__(self, message: str, *, code: ReasonCode, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message, code=code, details=details)
        self.code: ReasonCode = code


class InvalidInput(Refused):
    """The input is malformed; nothing was written."""


class NotAuthenticated(Refused):
    """No identity, or one that is not known."""


class NotAuthorized(Refused):
    """The identity may not do this, or must not learn whether the thing exists."""


class NotFound(Refused):
    """There is no such thing for this caller."""


class Conflict(Refused):
    """The state of the graph forbids it."""


class Blocked(Conflict):
    """A tombstone or a fence forbids it, for good."""


class Oversized(Refused):
    """A named limit was exceeded."""


class Unavailable(SequelaError):
    """A server or store that is needed does not answer; the call may be tried again."""


class OutcomeUnknown(Unavailable):
    """The answer to a commit was lost and could not be settled by a re-read."""


class NotReady(SequelaError):
    """The schema or the policy in the database is not the one that this code needs."""


class PolicyInvalid(SequelaError):
    """The policy bundle does not load; every fault is named with its cell."""


class QueryInvalid(SequelaError):
    """A file of `cypher/` breaks the grammar of its header."""


class LocalServerError(SequelaError):
    """The private Neo4j server could not be fetched, started, stopped or dumped."""
