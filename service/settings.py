"""Every setting, read once from the environment. Names start with `SEQUELA_`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from graph.policy.loader import default_policy_folder


class Settings(BaseSettings):
    """Where things are and how much of each; a wrong value stops the start and is named."""

    model_config = SettingsConfigDict(env_prefix="SEQUELA_", frozen=True, extra="ignore")

    home: Annotated[
        Path,
        Field(description="Folder of this project's state: private server, identity key, files store."),
    ] = Path(".sequela")
    neo4j_uri: Annotated[
        str | None,
        Field(description="A server to use instead of the private one, such as neo4j://host:7687."),
    ] = None
    neo4j_user: Annotated[str, Field(description="User of that server.")] = "neo4j"
    neo4j_password: Annotated[SecretStr, Field(description="Password of that server.")] = SecretStr("")
    neo4j_heap: Annotated[str, Field(description="Heap of the private server, such as 1g.")] = "1g"
    policy_folder: Annotated[Path, Field(description="The policy bundle to load.")] = default_policy_folder()
    files_root: Annotated[
        Path | None, Field(description="Root of the files store; below the home folder where not given.")
    ] = None
    connections_file: Annotated[
        Path | None, Field(description="How each store of the policy that is not a folder of files is reached, YAML.")
    ] = None
    journal_file: Annotated[
        Path | None,
        Field(description="The tombstone journal; `journal.ndjson` in the home folder where not given."),
    ] = None
    host: Annotated[str, Field(description="Address that the API listens on.")] = "127.0.0.1"
    port: Annotated[int, Field(description="Port that the API listens on.", ge=0, le=65_535)] = 8_000
    workers: Annotated[int, Field(description="Worker threads inside `sequela serve`.", ge=0, le=64)] = 2
    shards: Annotated[int, Field(description="Shards of work in each store.", ge=1, le=256)] = 4
    lease_seconds: Annotated[float, Field(description="How long a worker holds a shard.", ge=0.1, le=3_600)] = 30.0
    retry_total_seconds: Annotated[
        float, Field(description="How long one call to the database is tried again.", ge=0, le=600)
    ] = 15.0
    transaction_seconds: Annotated[
        float,
        Field(
            description="After how long the database ends a statement that waits, stands still or does not end.",
            ge=1,
            le=3_600,
        ),
    ] = 120.0
    walk_timeout_seconds: Annotated[
        float, Field(description="Time limit of one lineage walk; past it the answer is an error.", ge=0.001, le=600)
    ] = 30.0

    failpoints: Annotated[
        str, Field(description="For tests: places where this process ends, stops or fails, as NAME=ACTION@VISIT,….")
    ] = ""

    @property
    def identity_key_file(self) -> Path:
        """The secret by which names become identities; losing it means that names no longer meet their tombstones."""
        return self.home / "identity.key"

    @property
    def journal_path(self) -> Path:
        """The tombstone journal; keep it on another disk than the database, and never restore it with one."""
        return self.journal_file or self.home / "journal.ndjson"

    @property
    def files_store_root(self) -> Path:
        """The root folder of the files store."""
        return self.files_root or self.home / "files"
