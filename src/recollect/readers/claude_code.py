"""Claude Code: one JSON line per event, a file per session, subagents in files of their own.

Only what the person and the assistant said counts. A line that carries another session's id (a resumed session copies
the old one's lines) is told under that id, so that it meets the record it is a copy of.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recollect.readers.contract import Said, Skip
from recollect.readers.fields import (
    dict_of,
    first_records,
    list_of,
    name_of,
    path_of,
    said,
    spoken,
    text_of,
    why_silent,
)
from recollect.readers.jsonl import DocumentReader, LineReader, Meaning, Place, State, entitle, learn, when

# The person's own title outranks the agent's, which outranks a summary.
_TITLES = {"custom-title": ("customTitle", 4), "agent-name": ("agentName", 3), "ai-title": ("aiTitle", 2),
           "summary": ("summary", 1)}  # fmt: skip
_BOOKKEEPING = frozenset({
    "system", "attachment", "progress", "file-history-snapshot", "file-history-delta", "queue-operation", "mode",
    "permission-mode", "last-prompt", "pr-link", "frame-link", "worktree-state", "relocated", "started", "result",
    "bridge-session", "atis-latch", "tag", "content-replacement", "agent-color", "agent-setting",
})  # fmt: skip
_LONG_FIRST_LINE = re.compile(rb'"(sessionId|parentUuid)"')
_EXPORT = re.compile(rb'^\s*{\s*"loglines"\s*:')
_AGENT_FILE = re.compile(r"(agent-[A-Za-z0-9_-]+)\.jsonl(?:[.~].*)?")


class ClaudeCodeReader(LineReader):
    name = "claude-code"

    def sniff(self, path: Path, head: bytes) -> bool:
        records = first_records(head)
        if not records:
            # A pasted picture can make the first line longer than the head.
            return head.startswith(b"{") and bool(_LONG_FIRST_LINE.search(head)) and b'"projectHash"' not in head
        return any(map(self.is_ours, records))

    def is_ours(self, record: dict[str, Any]) -> bool:
        return _is_ours(record)

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return claude_step(record, place, state)


class ClaudeWebReader(DocumentReader):
    """The same records as one document: an export of a session on the web."""

    name = "claude-code"
    looks = _EXPORT

    def records(self, document: dict[str, Any], path: Path, state: State) -> list[Any]:
        return list_of(document.get("loglines"))

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return claude_step(record, place, state)


def _is_ours(record: dict[str, Any]) -> bool:
    message, kind = record.get("message"), text_of(record.get("type"))
    if isinstance(message, dict) and "parts" not in message and "role" not in record:
        if kind in {"user", "assistant"}:
            return "content" in message or "sessionId" in record
        return not kind and "sessionId" in record
    if kind == "summary":
        return "leafUuid" in record
    return "sessionId" in record and (kind in _TITLES or kind in _BOOKKEEPING) and "systemPayload" not in record


def claude_step(record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
    kind = text_of(record.get("type") or dict_of(record.get("message")).get("role"))
    if kind in _TITLES:
        field, rank = _TITLES[kind]
        _learn(record, place, state)
        entitle(state, name_of(record.get(field)), rank)
        return ()
    if kind == "attachment" and dict_of(record.get("attachment")).get("type") == "queued_command":
        return _queued(record, place, state)
    if kind not in {"user", "assistant"}:
        return (Skip("not a message" if kind in _BOOKKEEPING else "unknown record type", place.line),)
    reason = _left_out(record)
    if reason:
        return (Skip(reason, place.line),)
    _learn(record, place, state)
    content = dict_of(record.get("message")).get("content")
    return _message(record, kind, content, place, state)


def _learn(record: dict[str, Any], place: Place, state: State) -> None:
    session = name_of(record.get("sessionId"))
    if agent := _AGENT_FILE.fullmatch(place.path.name):
        parent = session if session != agent[1] else ""
        if not parent and place.path.parent.name == "subagents":
            parent = place.path.parent.parent.name
        # An agent's id is short and unique in its session only.
        learn(state, key=f"{parent}/{agent[1]}" if parent else agent[1], parent=parent)
    else:
        learn(state, key=session)
    learn(state, cwd=path_of(record.get("cwd")))


def _left_out(record: dict[str, Any]) -> str:
    if record.get("isCompactSummary"):
        return "compaction summary"
    if record.get("isMeta"):
        content = dict_of(record.get("message")).get("content")
        return "tool call or result" if why_silent(content) == "tool call or result" else "injected context"
    if record.get("isApiErrorMessage") or dict_of(record.get("message")).get("model") == "<synthetic>":
        return "error message"
    return ""


def _message(
    record: dict[str, Any], role: str, content: Any, place: Place, state: State, *, extra_time: Any = None
) -> Iterable[Meaning]:
    at_ms = when((record.get("timestamp"), extra_time), place, state)
    words = spoken(content, role)
    if not words:
        return (Skip(why_silent(content), place.line),)
    ident = name_of(record.get("uuid")) or place.record
    if role == "user" and _asked_by_agent(record):
        return (Said(ident, "assistant", "agent", words, at_ms, place.line),)
    return (said(role, ident, words, at_ms, place.line),)


def _asked_by_agent(record: dict[str, Any]) -> bool:
    """In a sidechain the task comes from the main agent, not from the person."""
    return bool(record.get("isSidechain")) and dict_of(record.get("origin")).get("kind") != "human"


def _queued(record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
    """What the person typed while the agent was at work comes as an attachment."""
    attachment = dict_of(record.get("attachment"))
    if text_of(attachment.get("commandMode")) not in {"", "prompt"} or attachment.get("isMeta"):
        return (Skip("not a message", place.line),)
    _learn(record, place, state)
    return _message(record, "user", attachment.get("prompt"), place, state, extra_time=attachment.get("timestamp"))
