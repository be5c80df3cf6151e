"""Reading what was typed into the models of the domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel

_M = TypeVar("_M", bound="BaseModel")


def parsed(model: type[_M], given: Mapping[str, object]) -> _M:
    """Read `given` as `model`.

    Raises:
        typer.BadParameter: it does not fit; every field that does not is named.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - heavy; only when a command runs

    try:
        return model.model_validate(given)
    except ValidationError as error:
        named = [
            f"{'.'.join(str(part) for part in one['loc']) or 'input'}: {one['msg'].removeprefix('Value error, ')}"
            for one in error.errors(include_url=False, include_input=False)
        ]
        raise typer.BadParameter("; ".join(named)) from None
