"""The HTTP store: a store of the user's own behind a few signed calls, for whatever no other connector reaches.

Every call is a POST (the mark is read by GET) below one base address, signed as Standard Webhooks say: `webhook-id`,
`webhook-timestamp`, and in `webhook-signature` the HMAC-SHA256 of `id.timestamp.body`. No identifier is in an address.

    POST delete   {"locators": [...]}              {"claims": ["deleted", "not_found", ...]}
    POST present  {"locators": [...]}              {"present": [true, false, ...]}
    POST write    {"locator": "...", "data": B64}  {"written": true}, or false where the locator means nothing
    GET  root                                      {"rootId": "..."} or {"rootId": null}
    POST root     {"rootId": "..."}                {"rootId": the id that the store bears now}
    POST list     {"cursor": null or "..."}        {"locators": [...], "cursor": null or "..."}
    POST purge    {}                               {"purged": true}

Whatever is not exactly such an answer, with status 200 and in time, says nothing: the store was not available.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.types import StrictBool, StrictStr

from graph.clock import Clock, SystemClock
from graph.errors import InvalidInput, NotReady
from graph.ids import Ids, SystemIds
from graph.vocabulary import ReasonCode, VerificationLevel
from service.connectors import port
from service.connectors.clients import client_library
from service.connectors.port import (
    Claim,
    PurgeKind,
    ReadConsistency,
    StoreProfile,
    StoreUnavailable,
    batch_checked,
    is_name,
    root_checked,
)
from service.connectors.secrets import secret

ANSWER_BYTES_MAX: Final = 1_048_576
PAGES_MAX: Final = 100_000
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - how a secret's text begins
_KEY_BYTES_MIN: Final = 24
PROFILE: Final = StoreProfile(
    addressing="whatever text the store answers to",
    batch_max=100,
    read=ReadConsistency.EVENTUAL,
    purge=PurgeKind.SYNCHRONOUS,
    level=VerificationLevel.NOT_SERVED,
    residue=("whatever the store's owner keeps beyond what it serves: logs, replicas, backups",),
    is_enumerable=False,
)
Answer = TypeVar("Answer", bound="_Answer")


class Connection(port.Connection):
    """How a store of the user's own is reached."""

    connector: Literal["http"]
    base_url: str = Field(
        alias="baseUrl", pattern=r"^https?://[^?#\s]+$", description="Address that all routes are below."
    )
    secret_variable: str = Field(
        alias="secretVariable", description="Environment variable with the signing secret, whsec_ and base64."
    )
    is_enumerable: bool = Field(default=False, alias="isEnumerable", description="Whether the store answers `list`.")
    is_strong: bool = Field(
        default=False, alias="isStrong", description="Whether `present` sees every deletion answered before it."
    )

    def open(self, root_id: str | None) -> HttpConnector:
        """A connector to the store; nothing is sent yet."""
        return HttpConnector(self, root_id)


class _Answer(BaseModel):
    """An answer of the store. Types are exact: no text for a boolean, no number for one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Claims(_Answer):
    claims: list[StrictStr]

    @field_validator("claims")
    @classmethod
    def _known(cls, claims: list[str]) -> list[str]:
        for claim in claims:
            Claim(claim)
        return claims


class _Presence(_Answer):
    present: list[StrictBool]


class _Written(_Answer):
    written: StrictBool


class _Root(_Answer):
    rootId: StrictStr | None = Field(min_length=1, max_length=256)  # noqa: N815 - as it is on the wire


class _Page(_Answer):
    locators: list[StrictStr]
    cursor: StrictStr | None


class _Purged(_Answer):
    purged: Literal[True]


class HttpConnector:
    """Copies in a store behind signed calls."""

    def __init__(
        self, connection: Connection, root_id: str | None = None, *, clock: Clock | None = None, ids: Ids | None = None
    ) -> None:
        httpx: Any = client_library("httpx2", "http")
        self._base = connection.base_url.rstrip("/")
        self._key = _key(connection.secret_variable)
        self._root_id = root_id
        self._seconds = connection.timeout_seconds
        self._clock, self._ids = clock or SystemClock(), ids or SystemIds()
        # Proxies and passwords of the environment are no business of a store.
        self._client: Any = httpx.Client(timeout=self._seconds, follow_redirects=False, trust_env=False)
        read = ReadConsistency.STRONG if connection.is_strong else ReadConsistency.EVENTUAL
        self._profile = replace(PROFILE, read=read, is_enumerable=connection.is_enumerable)

    @property
    def profile(self) -> StoreProfile:
        """What the connections file says of this store."""
        return self._profile

    def root_id(self) -> str | None:
        """The id that the store answers.

        Raises:
            StoreUnavailable: no answer, or none that means anything.
        """
        return self._call("GET", "root", None, _Root).rootId

    def create(self, root_id: str) -> None:
        """Leave the id in a store that bears none; which of two came first, the store decides.

        Raises:
            StoreUnavailable: no answer, or none that means anything.
        """
        if self.root_id() is None and self._call("POST", "root", {"rootId": root_id}, _Root).rootId is None:
            raise StoreUnavailable("the store took no id")

    def write(self, locator: str, data: bytes) -> None:
        """Put a copy there.

        Raises:
            InvalidInput: the store does not take the locator (`MALFORMED_INPUT`).
            StoreUnavailable: no answer, none that means anything, or another store's.
        """
        self._root_checked()
        body = {"locator": locator, "data": base64.b64encode(data).decode()}
        if not is_name(locator) or not self._call("POST", "write", body, _Written).written:
            raise InvalidInput("this locator means nothing in the store", code=ReasonCode.MALFORMED_INPUT)

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        """Have the copies removed; one claim for each.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: no answer, none that means anything, or another store's.
        """
        names = self._names(locators)
        answer = self._call("POST", "delete", {"locators": names}, _Claims).claims if names else []
        _each_answered(names, answer)
        # Once more: a store that was exchanged in between makes everything look absent.
        self._root_checked()
        claims = iter(answer)
        return [Claim(next(claims)) if is_name(locator) else Claim.MALFORMED for locator in locators]

    def present(self, locators: Sequence[str]) -> list[bool]:
        """Ask on a route of its own whether anything of each copy is left.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: no answer, none that means anything, or another store's.
        """
        names = self._names(locators)
        answer = self._call("POST", "present", {"locators": names}, _Presence).present if names else []
        _each_answered(names, answer)
        presence = iter(answer)
        return [next(presence) if is_name(locator) else False for locator in locators]

    def purge(self) -> None:
        """Have the store purge what it deleted.

        Raises:
            StoreUnavailable: no answer, or none that means anything.
        """
        self._root_checked()
        self._call("POST", "purge", {}, _Purged)

    def locators(self) -> Iterator[str]:
        """All that the store lists, page by page; nothing where the connection does not say that it can.

        Raises:
            StoreUnavailable: no answer, none that means anything, another store's, or a list that does not go on.
        """
        self._root_checked()
        cursor: str | None = None
        for _ in range(PAGES_MAX if self._profile.is_enumerable else 0):
            page = self._call("POST", "list", {"cursor": cursor}, _Page)
            yield from page.locators
            if page.cursor is None:
                return
            if page.cursor == cursor:
                raise StoreUnavailable("the list does not go on")
            cursor = page.cursor
        if self._profile.is_enumerable:
            raise StoreUnavailable(f"the list has more than {PAGES_MAX} pages")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _names(self, locators: Sequence[str]) -> list[str]:
        """What can be asked for, of the right store."""
        batch_checked(locators, PROFILE.batch_max)
        self._root_checked()
        return [locator for locator in locators if is_name(locator)]

    def _root_checked(self) -> None:
        """An empty or foreign store is no proof of anything."""
        root_checked(self.root_id(), self._root_id)

    def _call(self, method: str, route: str, content: object, form: type[Answer]) -> Answer:
        """One signed call and its answer, or nothing known."""
        # ASCII: whatever a text has in it, both sides sign the same bytes.
        body = b"" if content is None else json.dumps(content, ensure_ascii=True).encode()
        try:
            return form.model_validate_json(self._answer(method, route, body))
        except StoreUnavailable:
            raise
        except ValidationError:
            raise StoreUnavailable(f"the answer to {route} is none") from None
        except Exception as error:  # noqa: BLE001 - the client raises errors of three libraries; their messages are not passed on
            raise StoreUnavailable(f"no answer to {route}: {type(error).__name__}") from None

    def _answer(self, method: str, route: str, body: bytes) -> bytes:
        deadline = time.monotonic() + self._seconds
        headers = self._signed(body)
        with self._client.stream(method, f"{self._base}/{route}", content=body, headers=headers) as reply:
            if reply.status_code != 200:  # noqa: PLR2004 - the one status that means done; accepted (202) does not
                raise StoreUnavailable(f"the answer to {route} has status {reply.status_code}")
            kind = str(reply.headers.get("content-type", "")).partition(";")[0].strip().lower()
            if kind != "application/json" or reply.headers.get("content-encoding", "identity") != "identity":
                raise StoreUnavailable(f"the answer to {route} is no plain JSON")
            parts, size = list[bytes](), 0
            for part in cast("Iterator[bytes]", reply.iter_raw()):
                size += len(part)
                parts.append(part)
                # The client's time limit is for each piece; a store that trickles would never come to an end.
                if size > ANSWER_BYTES_MAX or time.monotonic() > deadline:
                    raise StoreUnavailable(f"the answer to {route} is too large or too slow")
            return b"".join(parts)

    def _signed(self, body: bytes) -> dict[str, str]:
        call_id, seconds = self._ids.new(), str(self._clock.now() // 1_000_000)
        signed = hmac.digest(self._key, f"{call_id}.{seconds}.".encode() + body, "sha256")
        return {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "webhook-id": call_id,
            "webhook-timestamp": seconds,
            "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
        }


def _key(variable: str) -> bytes:
    """The signing key that an environment variable has."""
    try:
        key = base64.b64decode(secret(variable).removeprefix(_SECRET_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if len(key) < _KEY_BYTES_MIN:
        raise NotReady(
            f"{variable} has to be {_SECRET_PREFIX} and base64 of at least {_KEY_BYTES_MIN} bytes",
            code=ReasonCode.SERVICE_NOT_READY,
        )
    return key


def _each_answered(names: Sequence[str], answers: Sequence[object]) -> None:
    """One answer for each, or they cannot be told apart."""
    if len(answers) != len(names):
        raise StoreUnavailable(f"{len(answers)} answers to {len(names)} locators")
