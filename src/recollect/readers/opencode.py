"""OpenCode's older store: a small JSON file per session, per message and per part of a message.

A session's file is the transcript; the reader looks up the rest from it. Found on their own, the other files are
parts of a session and nothing else.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput
from recollect.readers.contract import Item, Mark, Skip
from recollect.readers.fields import dict_of, modified_ms, name_of, path_of, text_of, time_of
from recollect.readers.jsonl import Meaning, Place, Sessions, State, entitle, learn
from recollect.readers.lines import parse_json, read_whole
from recollect.readers.sqlite_stores import opencode_message

_MAX_PART_BYTES = 4 << 20


class OpenCodeReader:
    name = "opencode"
    appends = False

    def sniff(self, path: Path, head: bytes) -> bool:
        return path.parent.parent.name == "session" and b'"projectID"' in head and b'"directory"' in head

    def read(
        self, path: Path, offset: int = 0, state: Mapping[str, Any] | None = None, *, root: Path | None = None
    ) -> Iterator[Item]:
        storage = path.parent.parent.parent
        top = storage if root is None else root
        now: State = {}
        sessions = Sessions(self.name, path, now)
        session = _load(path, top)
        ident = name_of(session.get("id"))
        if not ident:
            yield Skip("malformed document")
            return
        learn(now, key=ident, cwd=path_of(session.get("directory")), parent=name_of(session.get("parentID")),
              started_ms=time_of(dict_of(session.get("time")).get("created")))  # fmt: skip
        entitle(now, name_of(session.get("title")))
        loose = _loose_parts(storage, top)
        for message in _messages(storage / "message" / _file_name(ident), top):
            meanings = _understand(message, storage, top, loose, Place(path, 0, None, modified_ms(path)), now)
            yield from sessions.news(needed=True)
            yield from meanings
        yield Mark(0, 0, {})


class OpenCodePartReader:
    """Messages and parts on their own: recognised, so that they are not taken for files with something to say."""

    name = "opencode"
    appends = False

    def sniff(self, path: Path, head: bytes) -> bool:
        folders = {path.parent.name, path.parent.parent.name}
        return bool(folders & {"message", "part"}) and (b'"sessionID"' in head or b'"type"' in head)

    def read(
        self, path: Path, offset: int = 0, state: Mapping[str, Any] | None = None, *, root: Path | None = None
    ) -> Iterator[Item]:
        yield Skip("read with its session")
        yield Mark(0, 0, {})


def _understand(
    message: dict[str, Any], storage: Path, top: Path, loose: dict[str, list[dict[str, Any]]], place: Place, now: State
) -> list[Meaning]:
    ident, role = name_of(message.get("id")), text_of(message.get("role"))
    if not ident or role not in {"user", "assistant"}:
        return [Skip("unknown record type")]
    parts = _messages(storage / "part" / _file_name(ident), top) or loose.get(ident, [])
    if not parts and role == "user":
        # The oldest sessions kept a user's words only in the message's summary.
        parts = [{"type": "text", "text": dict_of(message.get("summary")).get("body")}]
    return opencode_message(role, ident, parts, dict_of(message.get("time")).get("created"), place, now)


def _messages(folder: Path, top: Path) -> list[dict[str, Any]]:
    """The JSON files of a folder, by the time they were made, then by name."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".json"))
    except OSError:
        return []
    loaded = [_load(folder / name, top) for name in names]
    return sorted(loaded, key=lambda each: time_of(*_times(each)))


def _times(record: dict[str, Any]) -> tuple[Any, Any]:
    times = dict_of(record.get("time"))
    return times.get("created"), times.get("start")


def _loose_parts(storage: Path, top: Path) -> dict[str, list[dict[str, Any]]]:
    """The oldest sessions had all parts in one folder, each naming its message."""
    found: dict[str, list[dict[str, Any]]] = {}
    for part in _messages(storage / "part", top):
        found.setdefault(name_of(part.get("messageID")), []).append(part)
    return found


def _load(path: Path, top: Path) -> dict[str, Any]:
    try:
        content = read_whole(path, top, _MAX_PART_BYTES)
        return {} if content is None else dict_of(parse_json(content))
    except (OSError, InvalidInput):
        return {}


def _file_name(ident: str) -> str:
    """An id as one component of a path, whatever it says."""
    return ident.replace("/", "_").replace("\\", "_").replace("..", "_")
