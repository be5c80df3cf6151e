"""`sequela key`: made once, listed without the secret, revoked."""


def _create(sequela, *more):
    return sequela(
        "key",
        "create",
        "--role",
        "producer",
        "--role",
        "reviewer",
        "--principal",
        "loader",
        "--purpose",
        "maintenance",
        *more,
    )


def test_a_key_is_shown_once_then_listed_without_its_secret_then_revoked(sequela):
    made = _create(sequela, "--tenant", "tenant-b", "--json")
    assert made.code == 0
    key_id, secret = made.document["keyId"], made.document["secret"]
    assert secret.startswith(f"sqk_{key_id}_")
    listed = sequela("key", "list", "--json")
    assert secret not in listed.out
    assert [(key["keyId"], key["tenantId"], key["roles"]) for key in listed.document] == [
        (key_id, "tenant-b", ["producer", "reviewer"])
    ]
    assert listed.document[0]["revokedAt"] is None
    assert sequela("key", "revoke", key_id).code == 0
    assert sequela("key", "list", "--json").document[0]["revokedAt"] is not None
    assert key_id in sequela("key", "list").out


def test_a_person_is_told_to_keep_the_secret(sequela):
    assert "cannot be shown again" in _create(sequela).out


def test_an_unknown_purpose_or_key_is_refused(sequela):
    unknown = sequela("key", "create", "--role", "producer", "--principal", "p", "--purpose", "fun")
    assert unknown.code == 2
    assert "fun" in unknown.err
    missing = sequela("key", "revoke", "nothing", "--json")
    assert missing.code == 3
    assert missing.document["error"]["code"] == "NOT_FOUND"


def test_no_keys_is_said(sequela):
    assert sequela("key", "list").out.strip() == "There are no keys."
    assert sequela("key", "list", "--json").document == []
