"""pi and OpenClaw: JSON lines that form a tree of messages, after a header with session and folder.

All branches were said, so all are told. OpenClaw keeps the same records in SQLite now; see `sqlite_stores`.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recollect.readers.contract import Said, Skip
from recollect.readers.fields import dict_of, name_of, path_of, said, spoken, text_of, why_silent
from recollect.readers.jsonl import LineReader, Meaning, Place, State, entitle, learn, when

_BOOKKEEPING = frozenset({"model_change", "thinking_level_change", "custom", "label", "leaf", "active_tools_change"})
_SUMMARIES = frozenset({"compaction", "branch_summary"})
_TREE_TYPES = _BOOKKEEPING | _SUMMARIES | {"message", "custom_message", "session_info"}
_OPENCLAW_FOLDERS = frozenset({"openclaw", "clawdbot", "moltbot"})  # its names over time
# Signs to the gateway, not words to a person.
_GATEWAY_SIGN = re.compile(
    r"\[\[\s*(?:reply_to|audio_as|tts)[^\]\n]{0,80}\]\]\s*|^(?:NO_REPLY|HEARTBEAT_OK)$", re.MULTILINE
)


class OpenClawReader(LineReader):
    name = "openclaw"

    def sniff(self, path: Path, head: bytes) -> bool:
        return _is_openclaw(path) and super().sniff(path, head)

    def is_ours(self, record: dict[str, Any]) -> bool:
        return is_tree_record(record)

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return tree_step(record, place, state)


class PiReader(LineReader):
    name = "pi"

    def is_ours(self, record: dict[str, Any]) -> bool:
        return is_tree_record(record)

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return tree_step(record, place, state)


def _is_openclaw(path: Path) -> bool:
    return any(part.lower().lstrip(".") in _OPENCLAW_FOLDERS for part in path.absolute().parts)


def is_tree_record(record: dict[str, Any]) -> bool:
    kind = text_of(record.get("type"))
    if kind == "session":
        return "id" in record and "cwd" in record
    return kind in _TREE_TYPES and "timestamp" in record and ("parentId" in record or "message" in record)


def tree_step(record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
    kind = text_of(record.get("type"))
    if kind == "session":
        parent = record.get("parentSession") or record.get("branchedFrom")
        learn(state, key=name_of(record.get("id")), cwd=path_of(record.get("cwd")), parent=_session_id(parent))
        when((record.get("timestamp"),), place, state)
        return ()
    if kind == "session_info":
        entitle(state, name_of(record.get("name")))
        return ()
    if kind == "message":
        return _message(record, place, state)
    if kind in _SUMMARIES:
        return (Skip("compaction summary", place.line),)
    if kind == "custom_message":
        return (Skip("injected context", place.line),)
    return (Skip("not a message" if kind in _BOOKKEEPING else "unknown record type", place.line),)


def _session_id(parent: Any) -> str:
    """A parent is named by its id or by its file, `<time>_<id>.jsonl`."""
    return name_of(parent).replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".jsonl").rsplit("_", 1)[-1]


def _message(record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
    message = dict_of(record.get("message"))
    role = text_of(message.get("role"))
    if role not in {"user", "assistant"}:
        return (Skip(_unheard(role), place.line),)
    source = dict_of(message.get("provenance")).get("kind")
    if source == "internal_system":
        return (Skip("injected context", place.line),)
    at_ms = when((record.get("timestamp"), message.get("timestamp")), place, state)
    words = spoken(message.get("content"), role)
    if role == "assistant":
        words = _GATEWAY_SIGN.sub("", words).strip()
    if not words:
        return (Skip(why_silent(message.get("content")), place.line),)
    ident = name_of(record.get("id")) or place.record
    if role == "user" and source == "inter_session":
        return (Said(ident, "assistant", "agent", words, at_ms, place.line),)
    return (said(role, ident, words, at_ms, place.line),)


def _unheard(role: str) -> str:
    if role in {"toolResult", "tool", "bashExecution"}:
        return "tool call or result"
    if role in {"branchSummary", "compactionSummary"}:
        return "compaction summary"
    return "injected context" if role in {"custom", "system", "developer", "hookMessage"} else "unknown record type"
