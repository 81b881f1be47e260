"""Gemini CLI: JSON lines with updates (`$set`) and rewinds (`$rewindTo`), earlier one JSON document per session."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput
from recollect.readers.contract import Rewind, Skip
from recollect.readers.fields import (
    dict_of,
    list_of,
    name_of,
    path_of,
    said,
    spoken,
    text_of,
    why_silent,
)
from recollect.readers.jsonl import DocumentReader, LineReader, Meaning, Place, State, entitle, learn, when
from recollect.readers.paths import open_safely

_SPEAKERS = {"user": "user", "gemini": "assistant"}
_NOTICES = frozenset({"info", "error", "warning"})
_DOCUMENT = re.compile(rb'"projectHash"\s*:|"type"\s*:\s*"gemini"')


class GeminiReader(LineReader):
    name = "gemini-cli"

    def is_ours(self, record: dict[str, Any]) -> bool:
        return _is_ours(record)

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return _step(record, place, state)


class GeminiDocumentReader(DocumentReader):
    name = "gemini-cli"
    looks = _DOCUMENT

    def sniff(self, path: Path, head: bytes) -> bool:
        return b'"messages"' in head and super().sniff(path, head)

    def records(self, document: dict[str, Any], path: Path, state: State) -> list[Any]:
        _learn_session(document, path, state)
        return list_of(document.get("messages"))

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return _step(record, place, state)


def _is_ours(record: dict[str, Any]) -> bool:
    if "sessionId" in record and "projectHash" in record:
        return "messages" not in record
    if "$set" in record or "$rewindTo" in record:
        return True
    return record.get("type") == "gemini" and "content" in record


def _step(record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
    if "$rewindTo" in record:
        return (Rewind(name_of(record["$rewindTo"])),)
    if "$set" in record:
        return _update(dict_of(record["$set"]), place, state)
    if "sessionId" in record and "type" not in record:
        _learn_session(record, place.path, state)
        return ()
    return _message(record, place.record, place, state)


def _update(changes: dict[str, Any], place: Place, state: State) -> list[Meaning]:
    """What the agent set anew. Replaced messages are told again under their ids; nothing said is lost by it."""
    entitle(state, name_of(changes.get("summary")))
    found: list[Meaning] = []
    for index, message in enumerate(list_of(changes.get("messages"))):
        if isinstance(message, dict):
            found.extend(_message(message, f"{place.record}.{index}", place, state))
    return found


def _learn_session(meta: dict[str, Any], path: Path, state: State) -> None:
    parent = path.parent.name if meta.get("kind") == "subagent" and path.parent.name != "chats" else ""
    folders = list_of(meta.get("directories"))
    learn(state, key=name_of(meta.get("sessionId")), parent=parent,
          cwd=path_of(folders[0] if folders else "") or _project_root(path))  # fmt: skip
    when((meta.get("startTime"),), Place(path, 0, None, 0), state)
    entitle(state, name_of(meta.get("summary")))


def _project_root(path: Path) -> str:
    """The project's folder, from the note that the agent keeps beside its folder of chats."""
    chats = next((folder for folder in list(path.absolute().parents)[:2] if folder.name == "chats"), None)
    if chats is None:
        return ""
    try:
        with open_safely(chats.parent / ".project_root", chats.parent) as note:
            return path_of(note.read(4096).decode("utf-8", "replace").strip())
    except (OSError, InvalidInput):
        return ""


def _message(record: dict[str, Any], default_id: str, place: Place, state: State) -> list[Meaning]:
    kind = text_of(record.get("type"))
    role = _SPEAKERS.get(kind)
    if role is None:
        return [Skip("not a message" if kind in _NOTICES else "unknown record type", place.line)]
    at_ms = when((record.get("timestamp"),), place, state)
    # The words as typed, before the agent put the files into them that they name.
    content = (record.get("displayContent") if role == "user" else None) or record.get("content")
    words = spoken(content, role)
    if not words:
        reason = "tool call or result" if record.get("toolCalls") else why_silent(content)
        return [Skip(reason, place.line)]
    return [said(role, name_of(record.get("id")) or default_id, words, at_ms, place.line)]
