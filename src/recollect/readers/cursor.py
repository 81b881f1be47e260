"""Cursor's agent transcripts: JSON lines of role and message, without ids or times. Its SQLite: `sqlite_stores`."""

import re
from collections.abc import Iterable
from typing import Any

from recollect.readers.contract import Said, Skip
from recollect.readers.fields import dict_of, key_from, path_of, said, spoken, text_of, texts, why_silent
from recollect.readers.jsonl import LineReader, Meaning, Place, State, learn, when

_WORKSPACE = re.compile(r"<user_info>[^<]{0,2000}?^Workspace Path: ([^\n<]{1,1000})", re.MULTILINE)
_UUID_FOLDER = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


class CursorReader(LineReader):
    name = "cursor"

    def is_ours(self, record: dict[str, Any]) -> bool:
        return text_of(record.get("role")) in {"user", "assistant"} and "content" in dict_of(record.get("message"))

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return _step(record, place, state)


def _step(record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
    role = text_of(record.get("role"))
    if not role:
        return (Skip("not a message" if record.get("type") == "turn_ended" else "unknown record type", place.line),)
    return cursor_message(role, dict_of(record.get("message")).get("content"), place.record, place, state)


def cursor_message(role: str, content: Any, record: str, place: Place, state: State) -> list[Meaning]:
    """One message, as the transcripts and the database hold it."""
    if role not in {"user", "assistant"}:
        reason = {"tool": "tool call or result", "system": "injected context"}.get(role, "unknown record type")
        return [Skip(reason, place.line)]
    is_subagent = place.path.parent.name == "subagents"
    if is_subagent:
        folder = place.path.parent.parent.name
        learn(state, key=key_from(place.path), parent=folder if _UUID_FOLDER.fullmatch(folder) else "")
    if role == "user":
        learn(state, cwd=workspace_of(content))
    words = spoken(content, role)
    at_ms = when((), place, state)
    if not words:
        return [Skip(why_silent(content), place.line)]
    if role == "user" and is_subagent:
        return [Said(record, "assistant", "agent", words, at_ms, place.line)]
    return [said(role, record, words, at_ms, place.line)]


def workspace_of(content: Any) -> str:
    """The project's folder, from what Cursor tells the model about the user's machine."""
    for part in texts(content):
        if "Workspace Path: " in part and (match := _WORKSPACE.search(part)):
            return path_of(match[1].strip())
    return ""
