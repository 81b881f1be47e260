"""Editing JSON as a person would: comments, order, spacing and everything else stay as they are.

A document is read into nodes that know where they stand in the text; an edit changes the text and reads it anew.
Comments and trailing commas, which hosts accept in their settings, are understood; anything else is refused
with its place.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from recollect.errors import ConfigInvalid
from recollect.values import value

_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_BESIDE = re.compile(r"[ \t]*//[^\r\n]*|[ \t]*/\*[^\n]*?\*/(?=[ \t]*\r?\n)")
MOST_DEPTH = 100


@value
class Node:
    """A value and its place in the text; `keys` of an object stand beside its `parts`."""

    kind: str
    start: int
    end: int
    parts: tuple["Node", ...] = ()
    keys: tuple[str, ...] = ()
    key_starts: tuple[int, ...] = ()
    content: Any = None

    def get(self, key: str) -> "Node | None":
        """The value under a key; the last one, as every reader of JSON has it."""
        return next(
            (part for name, part in reversed(list(zip(self.keys, self.parts, strict=True))) if name == key), None
        )


def parse(text: str, where: str) -> Node:
    """The document, which must be an object; an empty text counts as one without members."""
    parser = _Parser(text, where)
    start = parser.skip(0)
    if start == len(text):
        return Node("empty", 0, len(text))
    node = parser.value(start, 0)
    end = parser.skip(node.end)
    if end != len(text):
        raise parser.refuse(end, "something follows the end")
    if node.kind != "object":
        raise parser.refuse(start, "this is no object")
    return node


def plain(node: Node) -> Any:
    """The node as Python has it."""
    if node.kind == "object":
        return {key: plain(part) for key, part in zip(node.keys, node.parts, strict=True)}
    return [plain(part) for part in node.parts] if node.kind == "array" else node.content


class _Parser:
    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where

    def refuse(self, at: int, why: str) -> ConfigInvalid:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return ConfigInvalid(
            f"{self.where}, line {line}, column {column}: {why}", hint="correct the file first; nothing was changed"
        )

    def skip(self, at: int) -> int:
        return _skip(self.text, at)

    def value(self, at: int, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise self.refuse(at, "this is nested too deeply")
        first = self.text[at : at + 1]
        if first == "{":
            return self._object(at, depth)
        if first == "[":
            return self._array(at, depth)
        found = _STRING.match(self.text, at) or _SCALAR.match(self.text, at)
        if found is None:
            raise self.refuse(at, "a value is missing" if at >= len(self.text) else "this is no JSON value")
        return Node("scalar", at, found.end(), content=json.loads(found[0]))

    def _array(self, start: int, depth: int) -> Node:
        parts = []
        at = self.skip(start + 1)
        while self.text[at : at + 1] != "]":
            part = self.value(at, depth + 1)
            parts.append(part)
            at = self._separator(part.end, "]")
        return Node("array", start, at + 1, tuple(parts))

    def _object(self, start: int, depth: int) -> Node:
        keys: list[str] = []
        places: list[int] = []
        parts: list[Node] = []
        at = self.skip(start + 1)
        while self.text[at : at + 1] != "}":
            name = _STRING.match(self.text, at)
            if name is None:
                raise self.refuse(at, "a name in quotes is missing")
            colon = self.skip(name.end())
            if self.text[colon : colon + 1] != ":":
                raise self.refuse(colon, "a colon is missing")
            part = self.value(self.skip(colon + 1), depth + 1)
            keys.append(json.loads(name[0]))
            places.append(at)
            parts.append(part)
            at = self._separator(part.end, "}")
        return Node("object", start, at + 1, tuple(parts), tuple(keys), tuple(places))

    def _separator(self, at: int, closing: str) -> int:
        at = self.skip(at)
        if self.text[at : at + 1] == ",":
            return self.skip(at + 1)
        if self.text[at : at + 1] != closing:
            raise self.refuse(at, f"a comma or {closing} is missing")
        return at


# -- edits -------------------------------------------------------------------------------------------------------------


def put(text: str, path: tuple[str, ...], content: Any, where: str) -> str:
    """Sets a member, making the objects on the way; one that is there already is left alone."""
    root = parse(text, where)
    if root.kind == "empty":
        return _new_document(text, path, content)
    node = root
    for depth, key in enumerate(path):
        found = node.get(key)
        if found is None:
            for missing in reversed(path[depth + 1 :]):
                content = {missing: content}
            return _insert(text, node, json.dumps(key) + ": ", content)
        node = found
        if depth < len(path) - 1 and node.kind != "object":
            raise _Parser(text, where).refuse(node.start, f"{key!r} is no object")
    return text


def append(text: str, path: tuple[str, ...], content: Any, where: str) -> str:
    """Adds to the array at a path, making it if it is not there."""
    root = parse(text, where)
    node: Node | None = root
    for key in path:
        node = node.get(key) if node is not None and node.kind == "object" else None
    if node is None:
        return put(text, path, [content], where)
    if node.kind != "array":
        raise _Parser(text, where).refuse(node.start, f"{path[-1]!r} is no list")
    return _insert(text, node, "", content)


def without(text: str, path: tuple[str | int, ...], where: str) -> str:
    """The text without a member or an item, and without the comma that it needed."""
    root = parse(text, where)
    node = root
    for step in path[:-1]:
        found = node.get(step) if isinstance(step, str) else node.parts[step]
        if found is None:
            return text
        node = found
    last = path[-1]
    if isinstance(last, str):
        if last not in node.keys:
            return text
        index = len(node.keys) - 1 - node.keys[::-1].index(last)
        start = node.key_starts[index]
    else:
        index = last
        start = node.parts[index].start
    return _cut(text, node, index, start)


def _cut(text: str, node: Node, index: int, start: int) -> str:
    end = node.parts[index].end
    at = _skip(text, end)
    if index > 0:
        comma = _skip(text, node.parts[index - 1].end)
        between = text[comma + 1 : start].rstrip()  # a comment there is somebody else's
        if text[at : at + 1] == ",":
            return text[: comma + 1] + between + text[at + 1 :]
        return text[:comma] + between + text[end:]
    if text[at : at + 1] == ",":
        return text[:start] + text[_skip(text, at + 1) :]
    if len(node.parts) == 1 and not text[node.start + 1 : start].strip() and not text[end : node.end - 1].strip():
        return text[: node.start + 1] + text[node.end - 1 :]  # nothing is left, not even an empty line
    return text[:start] + text[end:]


def _insert(text: str, node: Node, lead: str, content: Any) -> str:
    """After the last part of an object or array, in the style of its neighbours."""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    outer = _indent_at(text, node.start)
    if not node.parts:
        body = lead + _dumped(content, unit, outer + unit, newline)
        rest = text[node.start + 1 : node.end - 1].rstrip()  # comments inside an empty object stay where they are
        return f"{text[: node.start + 1]}{rest}{newline}{outer}{unit}{body}{newline}{outer}{text[node.end - 1 :]}"
    last = node.parts[-1]
    first_start = node.key_starts[0] if node.keys else node.parts[0].start
    on_lines = "\n" in text[node.start : first_start]
    inner = _indent_at(text, first_start) if on_lines else outer + unit
    gap = f",{newline}{inner}" if on_lines else ", "
    comma = _skip(text, last.end)
    trailing = text[comma : comma + 1] == ","  # the host's own trailing comma becomes the separator, and we leave one
    at = comma + 1 if trailing else last.end
    body = lead + (_dumped(content, unit, inner, newline) if on_lines else json.dumps(content, ensure_ascii=False))
    beside = _BESIDE.match(text, at) if on_lines else None  # a comment beside the last part stays beside it
    remark = beside[0] if beside else ""
    tail = text[at + len(remark) :]
    return text[:at] + ("" if trailing else ",") + remark + gap[1:] + body + ("," if trailing else "") + tail


def _skip(text: str, at: int) -> int:
    """Past white space and comments."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _new_document(text: str, path: tuple[str, ...], content: Any) -> str:
    for key in reversed(path):
        content = {key: content}
    return text + json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _dumped(content: Any, unit: str, indent: str, newline: str) -> str:
    return json.dumps(content, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _indent_at(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation, as the document has it."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found else "  "


def members(node: Node | None) -> Iterator[tuple[str, Node]]:
    if node is not None and node.kind == "object":
        yield from zip(node.keys, node.parts, strict=True)
