"""One file of a host, and looking into its JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect.interfaces.setup import jsonc
from recollect.values import value


@value
class Place:
    """One file of a host, and how our part goes in and out of its text."""

    path: Path
    add: Callable[[str], str]
    remove: Callable[[str], str]
    is_ours: bool = False  # the whole file is


def part_at(text: str, path: tuple[str, ...], where: str) -> Any:
    """What stands under a path of names; None if nothing does."""
    node: jsonc.Node | None = jsonc.parse(text, where)
    for key in path:
        node = node.get(key) if node is not None and node.kind == "object" else None
    return None if node is None else jsonc.plain(node)


def tidy(text: str, path: tuple[str, ...], where: str) -> str:
    """Without objects that hold nothing any more, from the innermost out."""
    while path and part_at(text, path, where) == {}:
        text, path = jsonc.without(text, path, where), path[:-1]
    return text
