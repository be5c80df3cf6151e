"""The identity key: secret bytes outside the database, made once, guarded against being swapped."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from graph.database.database import Database
from graph.errors import NotReady
from graph.ids import IDENTITY_KEY_BYTES, IdentityKeys
from graph.vocabulary import ReasonCode


def load_identity_keys(path: Path) -> IdentityKeys:
    """Read the key, or make it on first use (mode 0600, written whole or not at all).

    Raises:
        NotReady: the file holds something else.
    """
    if not path.exists():
        _create(path)
    data = path.read_bytes()
    if len(data) != IDENTITY_KEY_BYTES:
        raise NotReady(f"{path.name} is not an identity key", code=ReasonCode.SERVICE_NOT_READY)
    return IdentityKeys(data)


def check_identity_keys(database: Database, keys: IdentityKeys) -> None:
    """Pair the database with the key that its identities were made with.

    Raises:
        NotReady: the database was filled under another key; names would not meet their tombstones.
    """
    held = database.write("merge_identity_key_check", checkValue=keys.check_value())[0].text("checkValue")
    if held != keys.check_value():
        raise NotReady(
            "this database was filled under another identity key; restore that key file",
            code=ReasonCode.SERVICE_NOT_READY,
        )


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(IDENTITY_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        # A link fails where another process was first; then that one's key counts.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
