"""The config file as text: read it, or change one key and leave every other byte as it was.

Only flat keys exist, so an edit is a change of lines. Before anything is written the new text is parsed and compared
with the old: it must differ in that one key, or the file is left alone.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollect.errors import ConfigInvalid
from recollect.files import write_private


def parse(file: Path, content: bytes) -> dict[str, Any]:
    """The file's table, or ConfigInvalid with the place of the trouble."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as trouble:
        raise ConfigInvalid(f"{file} is not UTF-8 text", "Save the file again as UTF-8.") from trouble
    except tomllib.TOMLDecodeError as trouble:
        raise ConfigInvalid(
            f"{file} is not valid TOML: {trouble}", 'Write one `name = value` per line; quote "text".'
        ) from trouble


def with_key(file: Path, key: str, value: Any) -> None:
    """Set `key` in the file, which is created if it is missing."""
    old = _read(file)
    before = parse(file, old.encode("utf-8"))
    new = edited(old, key, toml_value(value))
    wanted = {**before, key: list(value) if isinstance(value, tuple) else value}
    if _parsed(new) != wanted:
        raise ConfigInvalid(f"cannot change {key} in {file} safely", "Edit the file by hand.")
    write_private(file, new)


def edited(text: str, key: str, literal: str) -> str:
    """The text with `key = literal` in place of the old line, or as a new line before the first table."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    place = _span(lines, key)
    if place is not None:
        start, end = place
        return "".join([*lines[:start], f"{key} = {literal}{_comment(lines[start:end])}{newline}", *lines[end:]])
    first_table = next((number for number, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    if first_table and not lines[first_table - 1].endswith(("\n", "\r")):
        lines[first_table - 1] += newline
    return "".join([*lines[:first_table], f"{key} = {literal}{newline}", *lines[first_table:]])


def toml_value(value: bool | int | float | str | Sequence[str]) -> str:
    """The value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(_escaped(character) for character in value) + '"'
    return "[" + ", ".join(toml_value(item) for item in value) + "]"


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as trouble:
        raise ConfigInvalid(f"{file} is not UTF-8 text", "Save the file again as UTF-8.") from trouble
    except OSError as trouble:
        raise ConfigInvalid(f"cannot read {file}: {trouble.strerror or trouble}", "Check who may read it.") from trouble


def _span(lines: list[str], key: str) -> tuple[int, int] | None:
    """Lines that hold the key and its value, which may go on over several lines."""
    opening = re.compile(rf"""\s*(["']?){re.escape(key)}\1\s*=""")
    for start, line in enumerate(lines):
        if line.lstrip().startswith("["):
            return None
        if opening.match(line):
            ends = range(start + 1, len(lines) + 1)
            return next(((start, end) for end in ends if _parsed("".join(lines[start:end])) is not None), None)
    return None


def _comment(lines: list[str]) -> str:
    """The remark at the end of a one-line value, which stays."""
    line = lines[0].rstrip("\r\n")
    if len(lines) == 1:
        for place, character in enumerate(line):
            if character == "#" and _parsed(line[:place]) is not None:
                return line[len(line[:place].rstrip()) :]
    return ""


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"
