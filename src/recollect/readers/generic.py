"""Plain transcripts: JSON lines (or one document) of role, content and time, whoever wrote them."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recollect.readers.contract import Said, Skip
from recollect.readers.fields import (
    list_of,
    name_of,
    path_of,
    said,
    spoken,
    text_of,
    why_silent,
)
from recollect.readers.jsonl import DocumentReader, LineReader, Meaning, Place, State, entitle, learn, when

_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant"}
_TOOLS = frozenset({"tool", "tool_result", "tool_call", "tool_use", "function", "function_call"})
_CONTEXT = frozenset({"system", "developer"})
_REASONING = frozenset({"reasoning", "thinking"})
_DOCUMENT = re.compile(rb'"messages"\s*:\s*\[\s*\{[^{}\[\]]{0,2000}"role"\s*:\s*"(user|assistant|system)"')


class GenericReader(LineReader):
    name = "jsonl"

    def is_ours(self, record: dict[str, Any]) -> bool:
        return _is_ours(record)

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return _step(record, place, state)


class GenericDocumentReader(DocumentReader):
    name = "json"
    looks = _DOCUMENT

    def records(self, document: dict[str, Any], path: Path, state: State) -> list[Any]:
        _learn(document, state)
        entitle(state, name_of(document.get("title")))
        when((document.get("session_start"), document.get("created_at")), Place(path, 0, None, 0), state)
        return list_of(document.get("messages"))

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return _step(record, place, state)


def _is_ours(record: dict[str, Any]) -> bool:
    return _role(record) in _ROLES and isinstance(_content(record), str | list)


def _role(record: dict[str, Any]) -> str:
    """The speaker: `role`, or where there is none, a `type` that names one."""
    return text_of(record.get("role") or record.get("type"))


def _content(record: dict[str, Any]) -> Any:
    return record["content"] if "content" in record else record.get("text")


def _learn(record: dict[str, Any], state: State) -> None:
    key = record.get("sessionId") or record.get("session_id")
    learn(state, key=name_of(key), cwd=path_of(record.get("cwd")))


def _step(record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
    name = _role(record)
    role = _ROLES.get(name)
    if role is None:
        return (Skip(_left_out(name), place.line),)
    _learn(record, state)
    if record.get("synthetic_reason"):
        return (Skip("injected context", place.line),)
    at_ms = when((record.get("timestamp"), record.get("created_at"), record.get("time")), place, state)
    words = spoken(_content(record), role)
    if not words:
        return (Skip("tool call or result" if record.get("tool_calls") else why_silent(_content(record)), place.line),)
    ident = name_of(record.get("uuid") or record.get("id")) or place.record
    return (said(role, ident, words, at_ms, place.line),)


def _left_out(name: str) -> str:
    if name in _TOOLS:
        return "tool call or result"
    if name in _REASONING:
        return "hidden reasoning"
    return "injected context" if name in _CONTEXT else "unknown record type"


def conversation_text(turns: Iterable[Said]) -> str:
    """Turns as text: `[user] <time>`, the words below it, a blank line before the next."""
    return "\n\n".join(f"[{turn.speaker}] {_iso(turn.at_ms)}\n{turn.text}" for turn in turns)


def _iso(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
