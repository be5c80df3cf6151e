"""The pgvector store: vectors in a table of PostgreSQL, deleted in the same transaction as any row.

A search never answers a deleted row, whatever its index still holds of it: the server looks at the row itself. VACUUM takes
the vector out of an HNSW graph and mends the graph; the lists of an IVFFlat index keep centres that it once had a share in.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field

from graph.errors import InvalidInput
from graph.vocabulary import ReasonCode
from service.connectors import postgres
from service.connectors.port import StoreProfile, StoreUnavailable
from service.connectors.postgres import PostgresConnector
from service.connectors.postgres_session import TableConnection

PROFILE: Final[StoreProfile] = replace(
    postgres.PROFILE,
    addressing="the text of the key column of a vector's row",
    residue=(
        *postgres.PROFILE.residue,
        "the centres of an IVFFlat index, until it is built anew",
    ),
)
_VECTOR_TYPES: Final = ("vector", "halfvec")


class Connection(TableConnection):
    """How a table of vectors is reached; `contentColumn` is the vector's."""

    connector: Literal["pgvector"]
    content_column: Annotated[
        str | None, Field(alias="contentColumn", min_length=1, description="The column of the vectors.")
    ] = "embedding"

    def open(self, root_id: str | None) -> PgvectorConnector:
        """A connector to the table; nothing is sent yet."""
        return PgvectorConnector(self, root_id)


class PgvectorConnector(PostgresConnector):
    """Copies as rows that hold a vector. What is written is a JSON list of numbers."""

    profile: StoreProfile = PROFILE

    def _value(self, data: bytes, content_type: str | None) -> object:
        # The extension can be in any schema.
        if content_type is None or content_type.rpartition(".")[2] not in _VECTOR_TYPES:
            raise StoreUnavailable(f"the content column is not of type {' or '.join(_VECTOR_TYPES)}, or not there")
        try:
            numbers: object = json.loads(data)
            items = cast("list[Any]", numbers) if isinstance(numbers, list) else []
            is_vector = bool(items) and all(type(item) in {int, float} and math.isfinite(item) for item in items)
        except (ValueError, OverflowError, RecursionError):
            items, is_vector = [], False
        if not is_vector:
            raise InvalidInput("a vector is written as a JSON list of numbers", code=ReasonCode.MALFORMED_INPUT)
        return json.dumps(items)
