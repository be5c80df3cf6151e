"""What a record of an imported document keeps of it: enough to write it into a document again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, JsonValue


@dataclass(frozen=True)
class StoredStatement:
    """A statement as a record keeps it.

    `bundle` is the full name of the bundle that it is said in, or none.
    """

    type: str
    id: str
    attributes: Mapping[str, JsonValue]
    prefix: Mapping[str, JsonValue]
    bundle: str | None


class _Stored(BaseModel):
    type: str
    id: str
    attributes: dict[str, JsonValue]


class StoredContent(BaseModel):
    """The content of a record of a `prov_` kind.

    Attributes:
        statements: what the document says of it; none where it is `implicit`, only named.
        prefix: the declarations that they refer to.
        bundle: the full name of the bundle that they are said in.
        draws: ends, child and parent by identity, of edges that the statements say as well.
        implicit: whether its document names it without declaring it.
    """

    model_config = ConfigDict(extra="forbid")

    statements: list[_Stored]
    prefix: dict[str, str]
    bundle: str | None = None
    draws: list[tuple[str, str]] = []
    implicit: bool = False


def stored_content(content: JsonValue) -> StoredContent:
    """Read the content of an imported record.

    Raises:
        ValueError: it is the content of some other record.
    """
    try:
        return StoredContent.model_validate(content)
    except ValueError:
        raise ValueError("no content of an imported PROV record") from None


def prov_statements(content: JsonValue) -> tuple[StoredStatement, ...]:
    """The statements that an imported record keeps; none for one that its document only names.

    Args:
        content: the content of a record of a `prov_` kind.

    Raises:
        ValueError: it is the content of some other record.
    """
    stored = stored_content(content)
    return tuple(
        StoredStatement(statement.type, statement.id, statement.attributes, dict(stored.prefix), stored.bundle)
        for statement in stored.statements
    )
