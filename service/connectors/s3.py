r"""The S3 store: objects in one bucket, each with all its versions, delete markers and unfinished uploads.

A plain DELETE in a bucket with versions removes nothing and puts a marker on top, so everything is listed and removed by
version id, and no marker of ours stays. Listing goes by prefix, and a prefix has neighbours: only what bears exactly the
key counts. Verification lists anew; the reply to the deletion is never asked.

Some servers keep keys as paths of folders (SeaweedFS does): they take `//a`, `a//b` and `a\b` for other keys than they
are, and their long listings are not in the order of keys. They are known by serving the mark of the store under a key
that it does not have; there, such keys mean nothing, and what a long listing may have left out is never called absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from os.path import commonprefix
from typing import Any, Final, Literal, cast

from pydantic import Field

from graph.errors import InvalidInput
from graph.vocabulary import ReasonCode, VerificationLevel
from service.connectors import port
from service.connectors.clients import answered, client_library
from service.connectors.port import (
    MARKER,
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

KEY_BYTES_MAX: Final = 1024
DELETIONS_MAX: Final = 1000  # what DeleteObjects takes in one request
_ROOT_BYTES_MAX: Final = 1024
# What the XML of DeleteObjects cannot carry; a carriage return arrives as a line feed.
_NO_XML: Final = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What a server that keeps keys as paths takes for another key, or keeps its own things under.
_NO_PATH: Final = re.compile(r"\\|//|^/|/$|\.versions(/|$)|(^|/)\.uploads(/|$)")
PROFILE: Final = StoreProfile(
    addressing="an object key, below the connection's prefix",
    batch_max=100,
    read=ReadConsistency.STRONG,
    purge=PurgeKind.OPERATOR,
    level=VerificationLevel.LOGICALLY_ABSENT,
    residue=(
        "content in volumes of the server that it has not reclaimed yet",
        "keys in the server's index and logs",
        "replicas in other buckets or regions",
        "backups of the bucket",
    ),
    is_enumerable=True,
)


class Connection(port.Connection):
    """How a bucket is reached."""

    connector: Literal["s3"]
    bucket: str = Field(min_length=3, max_length=63, description="Name of the bucket; it has to be there.")
    prefix: str = Field(
        "", max_length=512, description="What all keys begin with, its slash included, such as copies/."
    )
    endpoint_url: str | None = Field(
        None, alias="endpointUrl", description="Address of a server that is not AWS's own."
    )
    region: str = Field("us-east-1", description="Region that requests are signed for.")
    path_style: bool = Field(
        default=True, alias="pathStyle", description="Whether the bucket stands in the path, not in the host name."
    )
    access_key_variable: str = Field(
        "AWS_ACCESS_KEY_ID", alias="accessKeyVariable", description="Environment variable with the access key's id."
    )
    secret_key_variable: str = Field(
        "AWS_SECRET_ACCESS_KEY", alias="secretKeyVariable", description="Environment variable with the secret key."
    )
    is_eventual: bool = Field(
        default=False, alias="isEventual", description="Whether this server's listings may lag behind its deletions."
    )

    def open(self, root_id: str | None) -> S3Connector:
        """A connector to the bucket; nothing is sent yet."""
        return S3Connector(self, root_id)


@dataclass(frozen=True)
class _Listing:
    """One of the two listings of a bucket: which call, where its entries are, what names an entry beside its key."""

    call: str
    kinds: tuple[str, ...]
    id: str
    marker: str


@dataclass
class _Found:
    """What a listing has of one key, and whether that is all of it."""

    ids: list[str] = field(default_factory=list[str])
    is_all: bool = True


_VERSIONS: Final = _Listing("list_object_versions", ("Versions", "DeleteMarkers"), "VersionId", "VersionIdMarker")
_UPLOADS: Final = _Listing("list_multipart_uploads", ("Uploads",), "UploadId", "UploadIdMarker")


class S3Connector:
    """Copies as objects of one bucket. A locator is the key below the prefix, exactly, or it means nothing.

    The object `<prefix>.sequela-store` bears the store's id, and no locator reaches it.
    """

    def __init__(self, connection: Connection, root_id: str | None = None) -> None:
        self._bucket = connection.bucket
        self._prefix = connection.prefix
        self._root_id = root_id
        self._client = _client(connection)
        self._keeps_paths: bool | None = None
        read = ReadConsistency.EVENTUAL if connection.is_eventual else ReadConsistency.STRONG
        self._profile = replace(PROFILE, read=read)

    @property
    def profile(self) -> StoreProfile:
        """What a bucket can do."""
        return self._profile

    def root_id(self) -> str | None:
        """The id in the object `<prefix>.sequela-store`, or none where there is no such object.

        Raises:
            StoreUnavailable: the server did not answer, or has no such bucket.
        """
        with answered():
            try:
                reply = self._client.get_object(Bucket=self._bucket, Key=self._prefix + MARKER)
            except self._client.exceptions.NoSuchKey:
                return None
            with reply["Body"] as body:
                text = body.read(_ROOT_BYTES_MAX).decode()
                # The client notices an answer that was cut off when it is asked for more, and not before.
                if body.read(1):
                    raise StoreUnavailable(f"{MARKER} is too large to be one")
                return str(text)

    def create(self, root_id: str) -> None:
        """Leave the id in a bucket that has none below the prefix.

        Raises:
            StoreUnavailable: the server did not answer, or has no such bucket.
        """
        if self.root_id() is None:
            with answered():
                _quietly(
                    lambda: self._client.put_object(
                        Bucket=self._bucket, Key=self._prefix + MARKER, Body=root_id.encode(), IfNoneMatch="*"
                    ),
                    "PreconditionFailed",
                    "ConditionalRequestConflict",
                )

    def write(self, locator: str, data: bytes) -> None:
        """Put an object there.

        Raises:
            InvalidInput: no key (`MALFORMED_INPUT`).
            StoreUnavailable: the server did not answer, or it is another store.
        """
        self._root_checked()
        key = self._key(locator)
        refused = key is None
        if key is not None:
            with answered():
                refused = _quietly(
                    lambda: self._client.put_object(Bucket=self._bucket, Key=key, Body=data), "KeyTooLongError"
                )
        if refused:
            raise InvalidInput("this is no key that the server keeps as it is", code=ReasonCode.MALFORMED_INPUT)

    def delete(self, locators: Sequence[str]) -> list[Claim]:
        """Remove all versions, delete markers and unfinished uploads of each key, each by its id.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the server did not answer, or it is another store.
        """
        batch_checked(locators, PROFILE.batch_max)
        self._root_checked()
        keys = [self._key(locator) for locator in locators]
        wanted = {key for key in keys if key is not None}
        with answered():
            versions, uploads = self._found(_VERSIONS, wanted), self._found(_UPLOADS, wanted)
            claims = {key: _claim(versions[key], uploads[key]) for key in wanted}
            # A failure outweighs a lock: what is locked is only one part of what stays.
            for key, claim in [*self._versions_removed(versions), *self._uploads_aborted(uploads)]:
                claims[key] = claims[key] if claims[key] is Claim.FAILED else claim
        # Once more: a store that was exchanged in between makes everything look absent.
        self._root_checked()
        return [Claim.MALFORMED if key is None else claims[key] for key in keys]

    def present(self, locators: Sequence[str]) -> list[bool]:
        """List versions, delete markers and unfinished uploads anew and look for exactly the key.

        Raises:
            InvalidInput: more than `batch_max` (`LIMIT_EXCEEDED`).
            StoreUnavailable: the server did not answer, or it is another store.
        """
        batch_checked(locators, PROFILE.batch_max)
        self._root_checked()
        keys = [self._key(locator) for locator in locators]
        wanted = {key for key in keys if key is not None}
        with answered():
            listings = [self._found(listing, wanted) for listing in (_VERSIONS, _UPLOADS)]
        return [key is not None and any(found[key].ids or not found[key].is_all for found in listings) for key in keys]

    def purge(self) -> None:
        """Nothing: what a server keeps of a deleted object is its operator's business."""

    def locators(self) -> Iterator[str]:
        """All keys below the prefix that have a version, a delete marker or an unfinished upload.

        Raises:
            StoreUnavailable: the server did not answer, or it is another store.
        """
        self._root_checked()
        for listing in (_VERSIONS, _UPLOADS):
            last = self._prefix
            with answered():
                for page, _ in self._pages(listing, self._prefix):
                    for key, _ in page:
                        if key not in {last, self._prefix, self._prefix + MARKER}:
                            last = key
                            yield key.removeprefix(self._prefix)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _key(self, locator: str) -> str | None:
        """The key of a locator, or none where it means nothing to this server."""
        key = self._prefix + locator
        if not is_name(locator) or locator == MARKER or len(key.encode()) > KEY_BYTES_MAX or _NO_XML.search(key):
            return None
        # Clients and proxies on the way resolve these in addresses, and then it is another key.
        if {".", ".."} & set(key.split("/")) or (self._keeps_paths and _NO_PATH.search(key)):
            return None
        return key

    def _root_checked(self) -> None:
        """An empty or foreign bucket is no proof of anything."""
        root_checked(self.root_id(), self._root_id)
        if self._keeps_paths is None:
            with answered():
                self._keeps_paths = self._serves(f"/{self._prefix}{MARKER}")

    def _serves(self, key: str) -> bool:
        return not _quietly(lambda: self._client.head_object(Bucket=self._bucket, Key=key), "404", "400", "NoSuchKey")

    def _found(self, listing: _Listing, wanted: Collection[str]) -> dict[str, _Found]:
        """What the listing has of each key: in one page where all of them fit in, else key by key."""
        found = {key: _Found() for key in wanted}
        common = commonprefix(list(wanted))  # noqa: RUF071 - of characters, as the prefix of a listing is
        page, is_last = next(self._pages(listing, common)) if wanted else ([], True)
        if is_last:
            for key, id_ in page:
                if key in found:
                    found[key].ids.append(id_)
            return found
        return {key: self._found_of(listing, key) for key in wanted}

    def _found_of(self, listing: _Listing, key: str) -> _Found:
        found = _Found()
        for page, is_last in self._pages(listing, key):
            found.ids += [id_ for other, id_ in page if other == key]
            if not is_last and any(other != key for other, _ in page):
                # In the order of keys the shortest comes first, so that was all; in another order, who knows.
                found.is_all = not self._keeps_paths
                break
        return found

    def _pages(self, listing: _Listing, prefix: str) -> Iterator[tuple[list[tuple[str, str]], bool]]:
        """Pages of (key, id), and whether each is the last."""
        markers: dict[str, str] = {}
        while True:
            reply = getattr(self._client, listing.call)(Bucket=self._bucket, Prefix=prefix, **markers)
            entries = [entry for kind in listing.kinds for entry in reply.get(kind, ())]
            is_last = not reply["IsTruncated"] or not entries
            yield [(str(entry["Key"]), str(entry[listing.id])) for entry in entries], is_last
            if is_last:
                return
            names = ("KeyMarker", listing.marker)
            following = {name: str(reply.get(f"Next{name}") or "") for name in names}
            if following == markers:
                raise StoreUnavailable("a listing does not go on")
            markers = following

    def _versions_removed(self, found: dict[str, _Found]) -> Iterator[tuple[str, Claim]]:
        """Remove versions and markers by their ids; what could not be, with the reason."""
        entries = [(key, id_) for key, one in found.items() for id_ in one.ids]
        for start in range(0, len(entries), DELETIONS_MAX):
            part = entries[start : start + DELETIONS_MAX]
            objects = [{"Key": key, "VersionId": id_} for key, id_ in part]
            reply = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": objects, "Quiet": False})
            removed = {
                (entry["Key"], entry.get(name) or "null")
                for entry in reply.get("Deleted", ())
                # Where a marker was removed, some servers name its id only as the one of a marker.
                for name in ("VersionId", "DeleteMarkerVersionId")
            }
            for key, id_ in part:
                if (key, id_) not in removed:
                    yield key, self._refusal(key, id_)

    def _refusal(self, key: str, version: str) -> Claim:
        """Why a version stayed: a lock that is in force, or something else."""
        with answered():
            reply: Any = {}
            asked = {"Bucket": self._bucket, "Key": key, "VersionId": version}
            if _quietly(lambda: reply.update(self._client.head_object(**asked)), "400", "403", "404", "405"):
                return Claim.FAILED
        until = reply.get("ObjectLockRetainUntilDate")
        answered_at = parsedate_to_datetime(reply["ResponseMetadata"]["HTTPHeaders"]["date"])
        is_locked = reply.get("ObjectLockLegalHoldStatus") == "ON" or (until is not None and until > answered_at)
        return Claim.KEPT if is_locked else Claim.FAILED

    def _uploads_aborted(self, found: dict[str, _Found]) -> Iterator[tuple[str, Claim]]:
        """Abort unfinished uploads; what could not be aborted."""
        for key, one in found.items():
            for id_ in one.ids:
                abort = {"Bucket": self._bucket, "Key": key, "UploadId": id_}
                with suppress(self._client.exceptions.NoSuchUpload):
                    if _quietly(lambda abort=abort: self._client.abort_multipart_upload(**abort), "AccessDenied"):
                        yield key, Claim.FAILED


def _claim(versions: _Found, uploads: _Found) -> Claim:
    """What the deletion of a key comes to if nothing is refused."""
    if not (versions.is_all and uploads.is_all):
        return Claim.FAILED
    return Claim.DELETED if versions.ids or uploads.ids else Claim.NOT_FOUND


def _client(connection: Connection) -> Any:  # noqa: ANN401 - the client is made at run time from a description
    boto3: Any = client_library("boto3", "s3")
    config: Any = client_library("botocore.config", "s3")
    return boto3.session.Session().client(
        "s3",
        endpoint_url=connection.endpoint_url,
        region_name=connection.region,
        aws_access_key_id=secret(connection.access_key_variable),
        aws_secret_access_key=secret(connection.secret_key_variable),
        config=config.Config(
            connect_timeout=connection.timeout_seconds,
            read_timeout=connection.timeout_seconds,
            retries={"total_max_attempts": 1},
            s3={"addressing_style": "path" if connection.path_style else "virtual"},
            # Checksums that only AWS's own servers know are left out where nothing demands them.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def _code(error: Exception) -> str:
    response = cast("dict[str, Any]", getattr(error, "response", None) or {})
    return str(response.get("Error", {}).get("Code", ""))


def _quietly(call: Callable[[], object], *codes: str) -> bool:
    """Call the server; whether it refused with one of these codes. Any other refusal is raised."""
    try:
        call()
    except Exception as error:
        if _code(error) in codes:
            return True
        raise
    return False
