"""The S3 store on SeaweedFS."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from graph.errors import InvalidInput, NotReady
from service.connectors.conformance import CONFORMANCE_CASES, NAMES
from service.connectors.port import Claim, Connector, PurgeKind, ReadConsistency, StoreUnavailable
from service.connectors.s3 import KEY_BYTES_MAX, MARKER, PROFILE, Connection
from tests.connectors.object_servers import ACCESS_KEY, SECRET_KEY, S3Server, seaweedfs  # noqa: F401
from tests.connectors.outages import OUTAGE_CASES, broken_by_a_liar, under_test
from tests.support.proxy import CuttingProxy

NEVER_USED_TWICE = itertools.count()
BUCKETS = {"plain": None, "versioned": "Enabled", "suspended": "Suspended", "locked": "Enabled"}
EVERYWHERE_WRONG = [
    "",
    MARKER,
    ".",
    "..",
    "../x",
    "a/../b",
    "a/./b",
    "nul\0",
    "half \ud83d",
    "bell\7",
    "return\rfeed",
    "no character \ufffe",
    "n" * (KEY_BYTES_MAX + 1),
]
WRONG_IN_PATHS = [
    "/lead",
    "trail/",
    "a//b",
    "back\\slash",
    "copy.versions",
    "copy.versions/x",
    ".uploads/x",
]


@dataclass
class S3Store:
    """A bucket behind a proxy that can be shut, with keys below a prefix of its own."""

    server: S3Server
    bucket: str
    prefix: str
    proxy: CuttingProxy
    client: Any
    opened: list[Connector] = field(default_factory=list)

    @property
    def connector(self) -> Connector:
        return self.opened[0] if self.opened else self.open("root-1")

    def open(self, root_id: str | None, **settings: object) -> Connector:
        url = f"http://127.0.0.1:{self.proxy.port}"
        given = {"connector": "s3", "bucket": self.bucket, "prefix": self.prefix, "endpointUrl": url} | settings
        self.opened.append(Connection.model_validate(given).open(root_id))
        return self.opened[-1]

    def put(self, locator: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=self.prefix + locator, Body=data)

    def get(self, locator: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=self.prefix + locator)["Body"].read()

    def has(self, locator: str) -> bool:
        try:
            self.get(locator)
        except self.client.exceptions.NoSuchKey:
            return False
        return True

    def ids(self, locator: str) -> list[str]:
        """Ids of all versions and markers of a key."""
        reply = self.client.list_object_versions(Bucket=self.bucket, Prefix=self.prefix + locator)
        entries = reply.get("Versions", []) + reply.get("DeleteMarkers", [])
        return [entry["VersionId"] for entry in entries if entry["Key"] == self.prefix + locator]

    def mark(self, locator: str) -> None:
        """A plain deletion, as any tool does it: where there are versions it leaves a marker."""
        self.client.delete_object(Bucket=self.bucket, Key=self.prefix + locator)

    def begin_upload(self, locator: str) -> str:
        key = {"Bucket": self.bucket, "Key": self.prefix + locator}
        upload = self.client.create_multipart_upload(**key)["UploadId"]
        self.client.upload_part(**key, UploadId=upload, PartNumber=1, Body=b"a part that was never completed")
        return upload

    def uploads(self) -> list[str]:
        reply = self.client.list_multipart_uploads(Bucket=self.bucket, Prefix=self.prefix)
        return sorted(entry["Key"].removeprefix(self.prefix) for entry in reply.get("Uploads", []))

    def break_off(self) -> None:
        self.proxy.refuse(refusing=True)

    def mend(self) -> None:
        self.proxy.refuse(refusing=False)

    def replace(self, root_id: str | None) -> None:
        if root_id is None:
            self.mark(MARKER)
        else:
            self.put(MARKER, root_id.encode())


def made(server: S3Server, kind: str) -> Generator[S3Store]:
    client = server.client()
    bucket = f"{kind}-copies"
    try:
        client.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=kind == "locked")
    except (client.exceptions.BucketAlreadyOwnedByYou, client.exceptions.BucketAlreadyExists):
        pass
    else:
        if BUCKETS[kind] and kind != "locked":
            client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    proxy = CuttingProxy("127.0.0.1", server.port)
    store = S3Store(server, bucket, f"test-{next(NEVER_USED_TWICE)}/", proxy, client)
    store.connector.create("root-1")
    yield store
    for connector in store.opened:
        connector.close()
    client.close()
    proxy.close()


@pytest.fixture(autouse=True)
def _credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)


@pytest.fixture(params=["plain", "versioned"])
def any_store(request, seaweedfs) -> Generator[S3Store]:  # noqa: F811
    yield from made(seaweedfs, request.param)


@pytest.fixture
def plain(seaweedfs) -> Generator[S3Store]:  # noqa: F811
    yield from made(seaweedfs, "plain")


@pytest.fixture
def versioned(seaweedfs) -> Generator[S3Store]:  # noqa: F811
    yield from made(seaweedfs, "versioned")


@pytest.fixture
def locked(seaweedfs) -> Generator[S3Store]:  # noqa: F811
    yield from made(seaweedfs, "locked")


@pytest.mark.parametrize("case", CONFORMANCE_CASES)
def test_it_keeps_the_promises_of_a_connector(case, any_store):
    case(under_test(any_store))


@pytest.mark.parametrize("case", OUTAGE_CASES)
def test_it_keeps_the_promises_of_a_connector_without_its_store(case, any_store):
    case(any_store)


def test_names_that_a_server_would_take_for_others_are_the_only_ones_refused(any_store):
    refused = [name for name in NAMES if name not in under_test(any_store).names()]
    assert refused == ["back\\slash and 100%_like"]


def test_a_connector_that_deletes_nothing_does_not_pass(versioned):
    caught = broken_by_a_liar(versioned)
    assert "deletes_and_verifies" in caught
    assert len(caught) >= 8


@pytest.mark.parametrize("locator", EVERYWHERE_WRONG)
def test_what_is_no_key_means_nothing(any_store, locator):
    any_store.put("kept", b"data")
    assert any_store.connector.delete([locator, "kept"]) == [Claim.MALFORMED, Claim.DELETED]
    assert any_store.connector.present([locator]) == [False]
    with pytest.raises(InvalidInput):
        any_store.connector.write(locator, b"data")
    assert any_store.connector.root_id() == "root-1"


@pytest.mark.parametrize("locator", WRONG_IN_PATHS)
def test_a_key_that_the_server_takes_for_another_means_nothing(any_store, locator):
    neighbours = ("lead", "trail", "a/b", "back/slash", "copy", "x")
    for name in neighbours:
        any_store.put(name, b"stays")
    assert any_store.connector.delete([locator]) == [Claim.MALFORMED]
    with pytest.raises(InvalidInput):
        any_store.connector.write(locator, b"other")
    assert [any_store.get(name) for name in neighbours] == [b"stays"] * len(neighbours)


def test_all_versions_and_markers_go_and_no_marker_of_ours_stays(versioned):
    for _ in range(2):
        versioned.put("copy", b"data")
        versioned.mark("copy")
    assert not versioned.has("copy")
    assert len(versioned.ids("copy")) == 4
    assert versioned.connector.present(["copy"]) == [True]
    assert versioned.connector.delete(["copy"]) == [Claim.DELETED]
    assert versioned.connector.present(["copy"]) == [False]
    assert versioned.ids("copy") == []


def test_a_marker_alone_is_a_rest_of_the_copy(versioned):
    versioned.mark("copy")
    assert versioned.connector.present(["copy"]) == [True]
    assert versioned.connector.delete(["copy"]) == [Claim.DELETED]
    assert versioned.ids("copy") == []


@pytest.fixture
def suspended(seaweedfs) -> Generator[S3Store]:  # noqa: F811
    for store in made(seaweedfs, "suspended"):
        status = {"Bucket": store.bucket, "VersioningConfiguration": {"Status": "Enabled"}}
        store.client.put_bucket_versioning(**status)
        store.put("copy", b"with an id")
        status["VersioningConfiguration"] = {"Status": "Suspended"}
        store.client.put_bucket_versioning(**status)
        yield store


def test_versions_from_before_and_after_a_suspension_go_alike(suspended):
    suspended.put("copy", b"without")
    assert len(suspended.ids("copy")) == 2
    assert "null" in suspended.ids("copy")
    assert suspended.connector.delete(["copy"]) == [Claim.DELETED]
    assert suspended.connector.present(["copy"]) == [False]
    assert suspended.ids("copy") == []
    suspended.put("copy", b"again")
    assert suspended.connector.delete(["copy"]) == [Claim.DELETED]
    assert suspended.ids("copy") == []


def test_a_marker_that_the_server_says_it_removed_and_keeps_is_found_out(suspended):
    """This server never removes the marker of a suspended bucket, and says each time that it did."""
    suspended.put("copy", b"without")
    suspended.mark("copy")
    assert suspended.connector.delete(["copy"]) == [Claim.DELETED]
    assert suspended.ids("copy") == ["null"]
    assert suspended.connector.present(["copy"]) == [True]


def test_unfinished_uploads_of_exactly_the_key_go_with_it(any_store):
    names = ["copy", "copy/deeper", "copy-2", "cop", "Copy", "other"]
    for name in names:
        any_store.begin_upload(name)
    any_store.begin_upload("copy")
    assert any_store.connector.present(["copy"]) == [True]
    assert any_store.connector.delete(["copy"]) == [Claim.DELETED]
    assert any_store.connector.present(["copy", "other"]) == [False, True]
    assert any_store.uploads() == sorted(set(names) - {"copy"})
    any_store.connector.delete(names)
    assert any_store.uploads() == []


def test_an_upload_beside_a_whole_copy_goes_too(versioned):
    versioned.put("copy", b"data")
    versioned.begin_upload("copy")
    assert versioned.connector.delete(["copy"]) == [Claim.DELETED]
    assert (versioned.ids("copy"), versioned.uploads()) == ([], [])


def test_unfinished_uploads_are_listed_as_held(versioned):
    versioned.begin_upload("a b%2Fc")
    assert set(versioned.connector.locators()) == {"a b%2Fc"}
    versioned.connector.delete(["a b%2Fc"])


def test_more_versions_than_one_request_takes(versioned):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: versioned.put("often", b"%d" % number), range(1_010)))
    connector = versioned.open("root-1", timeoutSeconds=60)
    assert connector.present(["often"]) == [True]
    assert connector.delete(["often"]) == [Claim.DELETED]
    assert connector.present(["often"]) == [False]
    assert versioned.ids("often") == []


def test_what_a_long_listing_leaves_out_is_not_called_absent(versioned):
    """This server's listing of 1,000 neighbours lacks the key itself."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: versioned.put(f"copy-{number}", b"stays"), range(1_010)))
    versioned.put("copy", b"data")
    connector = versioned.open("root-1", timeoutSeconds=60)
    assert connector.present(["copy"]) == [True]
    assert connector.delete(["copy"]) == [Claim.FAILED]
    assert connector.present(["copy"]) == [True]
    assert connector.delete(["copy-1", "copy-1009"]) == [Claim.DELETED] * 2
    assert versioned.get("copy-1008") == b"stays"


@pytest.mark.parametrize("lock", ["retention", "legal hold"])
def test_a_lock_of_the_store_keeps_a_copy_and_not_its_neighbours(locked, lock):
    names = ["first", "kept", "last"]
    for name in names:
        locked.put(name, b"data")
    key = {"Bucket": locked.bucket, "Key": f"{locked.prefix}kept"}
    if lock == "retention":
        until = datetime.now(UTC) + timedelta(days=1)
        locked.client.put_object_retention(**key, Retention={"Mode": "GOVERNANCE", "RetainUntilDate": until})
    else:
        locked.client.put_object_legal_hold(**key, LegalHold={"Status": "ON"})
    assert locked.connector.delete(names) == [Claim.DELETED, Claim.KEPT, Claim.DELETED]
    assert locked.connector.present(names) == [False, True, False]
    assert locked.get("kept") == b"data"


def test_a_released_lock_keeps_nothing(locked):
    locked.put("copy", b"data")
    for status, claim in (("ON", Claim.KEPT), ("OFF", Claim.DELETED)):
        key = {"Bucket": locked.bucket, "Key": f"{locked.prefix}copy"}
        locked.client.put_object_legal_hold(**key, LegalHold={"Status": status})
        assert locked.connector.delete(["copy"]) == [claim]


def test_a_version_that_the_server_refuses_fails_alone(versioned):
    """The server's own refusal of one key of a request: its name is longer than a name of a file may be."""
    long = "n" * 300
    versioned.put(long, b"data")
    versioned.put("copy", b"data")
    assert versioned.connector.delete([long, "copy"]) == [Claim.FAILED, Claim.DELETED]
    assert versioned.connector.present([long, "copy"]) == [True, False]


def test_other_tenants_keys_are_the_same_byte_for_byte(any_store):
    others = [f"tenant-b/{name}" for name in under_test(any_store).names()]
    for number, locator in enumerate(others):
        any_store.put(locator, b"%d" % number)
        any_store.put(locator.replace("tenant-b", "tenant-a"), b"mine")
    mine = [locator.replace("tenant-b", "tenant-a") for locator in others]
    assert any_store.connector.delete(mine) == [Claim.DELETED] * len(mine)
    assert [any_store.get(locator) for locator in others] == [b"%d" % number for number in range(len(others))]


def test_a_prefix_is_no_border_for_what_lies_beside_it(plain):
    beside = f"{plain.prefix.rstrip('/')}-beside"
    plain.client.put_object(Bucket=plain.bucket, Key=beside, Body=b"stays")
    plain.put("copy", b"data")
    assert set(plain.connector.locators()) == {"copy"}
    plain.connector.delete(["copy"])
    assert plain.client.get_object(Bucket=plain.bucket, Key=beside)["Body"].read() == b"stays"


def test_a_hanging_server_is_unavailable(plain):
    connector = plain.open("root-1", timeoutSeconds=0.3)
    assert connector.root_id() == "root-1"
    with plain.server.hanging():
        for call in (connector.delete, connector.present):
            with pytest.raises(StoreUnavailable):
                call(["copy"])


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_connection_that_ends_at_any_byte_says_nothing_and_the_next_try_finishes(plain, direction):
    plain.connector.present(["copy"])
    plain.put("copy", b"data")
    sizes = plain.proxy.passed.copy()
    plain.connector.delete(["copy"])
    length = plain.proxy.passed[direction] - sizes[direction]
    outcomes = set()
    for after in range(0, length * 9 // 10, max(1, length // 15)):
        plain.put("copy", b"data")
        plain.proxy.cut(direction, after)
        try:
            # The client takes a reply that ends before its body for an empty one: it confirms nothing.
            assert plain.connector.delete(["copy"]) == [Claim.FAILED]
        except StoreUnavailable as error:
            assert "copy" not in str(error)  # noqa: PT017 - either is right
        outcomes.add(plain.has("copy"))
        (claim,) = plain.connector.delete(["copy"])
        assert claim in {Claim.DELETED, Claim.NOT_FOUND}
        assert plain.connector.present(["copy"]) == [False]
    # Both were seen: a failure before the effect, and one after it.
    assert outcomes == {True, False}


def test_several_threads_share_a_connector(versioned):
    names = [f"copy-{number}" for number in range(40)]
    for name in names:
        versioned.put(name, b"data")
    parts = [names[start : start + 5] for start in range(0, len(names), 5)]
    with ThreadPoolExecutor(8) as pool:
        claims = [claim for part in pool.map(versioned.connector.delete, parts) for claim in part]
    assert claims == [Claim.DELETED] * len(names)
    assert versioned.connector.present(names) == [False] * len(names)


def test_a_bucket_that_is_not_there_is_unavailable(plain):
    connector = plain.open("root-1", bucket="no-such-bucket")
    for call in (connector.root_id, lambda: connector.create("root-1"), lambda: connector.present(["copy"])):
        with pytest.raises(StoreUnavailable):
            call()


def test_two_that_use_a_store_first_leave_one_id(plain):
    prefix = f"{plain.prefix}fresh/"
    connectors = [plain.open(None, prefix=prefix) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: one[1].create(f"root-{one[0]}"), enumerate(connectors)))
    assert len({connector.root_id() for connector in connectors}) == 1


def test_wrong_credentials_and_missing_ones_are_told_apart(plain, monkeypatch):
    monkeypatch.setenv("OTHER_SECRET", "wrong")
    with pytest.raises(StoreUnavailable):
        plain.open("root-1", secretKeyVariable="OTHER_SECRET").present(["copy"])
    with pytest.raises(NotReady, match="NO_SUCH_VARIABLE"):
        plain.open("root-1", secretKeyVariable="NO_SUCH_VARIABLE")


def test_a_store_whose_listings_lag_says_so(plain):
    assert plain.connector.profile.read is ReadConsistency.STRONG
    assert plain.open("root-1", isEventual=True).profile.read is ReadConsistency.EVENTUAL


def files_with(folder: Path, canary: bytes) -> set[str]:
    return {
        path.suffix or path.parent.name for path in folder.rglob("*") if path.is_file() and canary in path.read_bytes()
    }


def test_what_stays_in_the_servers_files_is_what_the_profile_declares(plain):
    canary, name = b"canary-of-the-object-store", "canary-in-the-key"
    plain.put(name, canary)
    plain.begin_upload(name)
    assert plain.connector.delete([name]) == [Claim.DELETED]
    plain.connector.purge()
    assert PROFILE.purge is PurgeKind.OPERATOR
    assert files_with(plain.server.folder, canary) == {".dat"}
    assert "content in volumes of the server that it has not reclaimed yet" in PROFILE.residue
    assert files_with(plain.server.folder, name.encode()) - {".dat", ".ldb"} == {".log"}
    assert "keys in the server's index and logs" in PROFILE.residue
    with pytest.raises(ClientError):
        plain.client.head_object(Bucket=plain.bucket, Key=plain.prefix + name)
