"""YAML as plain trees, read strictly: the file says what it says once, and in types that JSON has as well.

The nodes are composed by PyYAML's safe loader and never constructed, so no tag can make an object. Refused, with the
cell: duplicate keys (the last would win unseen), keys that are no text, and values such as dates, fractions or the
`yes` and `no` that YAML 1.1 takes for booleans.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias, cast

import yaml

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | int | bool | None"
Cell: TypeAlias = tuple[str, ...]

_TAG: Final = "tag:yaml.org,2002:"
# The loader on libyaml is ten times as fast and comes with PyYAML's wheels; the other one reads the same language.
_LOADER: Final[type[yaml.CSafeLoader | yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TreeUnreadableError(Exception):
    """The text is no YAML document; `args[0]` says where."""


def read_tree(text: str) -> tuple[Tree, list[tuple[Cell, str]]]:
    """Read one YAML document.

    Returns:
        The tree, and the faults in it as (cell, what is wrong).

    Raises:
        TreeUnreadableError: the text is not one YAML document.
    """
    try:
        composed = yaml.compose(text, Loader=_LOADER)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except yaml.YAMLError as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        raise TreeUnreadableError(f"no YAML, line {mark.line + 1}" if mark else "no YAML") from None
    faults: list[tuple[Cell, str]] = []
    return _value(cast("yaml.Node | None", composed), (), faults), faults


def leaves(tree: Tree, cell: Cell = ()) -> Iterator[tuple[Cell, str | int | bool | None]]:
    """Every value that holds no others, with its cell; an item of a list has the cell of the list."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*cell, key))
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value, cell)
    else:
        yield cell, tree


def _value(node: yaml.Node | None, cell: Cell, faults: list[tuple[Cell, str]]) -> Tree:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, cell, faults)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, cell, faults) for item in node.value]
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, cell, faults)
    return None


def _mapping(node: yaml.MappingNode, cell: Cell, faults: list[tuple[Cell, str]]) -> Tree:
    tree: dict[str, Tree] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        if key_node.tag != f"{_TAG}str":
            faults.append(((*cell, key), "a key is text"))
        if key in tree:
            faults.append(((*cell, key), "duplicate key"))
        tree[key] = _value(value_node, (*cell, key), faults)
    return tree


def _scalar(node: yaml.ScalarNode, cell: Cell, faults: list[tuple[Cell, str]]) -> Tree:
    text = str(node.value)
    match node.tag.removeprefix(_TAG):
        case "str":
            return text
        case "null":
            return None
        case "int" if text.isdecimal() and (text == "0" or not text.startswith("0")):
            return int(text)
        case "bool" if text in {"true", "false"}:
            return text == "true"
        case _:
            faults.append((cell, f"'{text}' is neither text, a whole number, true nor false"))
            return text
