"""Codex: rollouts of JSON lines, packed or not. Messages stand there twice; only `response_item` is read.

Rollouts from before the envelope (bare items after a header line) are read as well.
"""

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
from recollect.readers.jsonl import LineReader, Meaning, Place, State, entitle, learn, when

_ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
_BOOKKEEPING = _ENVELOPES | {"inter_agent_communication", "inter_agent_communication_metadata", "state"}
_TOOLS = ("_call", "_output", "ghost_snapshot")
# Codex wraps its own context in a message of its own, as the user.
_WRAPPINGS = frozenset({
    "permissions", "instructions", "skill", "skills_instructions", "apps_instructions", "plugins_instructions",
    "collaboration_mode", "model_switch", "personality_spec", "network_rule", "user_action",
})  # fmt: skip


class CodexReader(LineReader):
    name = "codex"

    def sniff(self, path: Path, head: bytes) -> bool:
        records = first_records(head)
        if not records:
            return b'"type":"session_meta"' in head[:400] or b'"session_meta"' in head[-200:]
        return any(map(self.is_ours, records[:5]))

    def is_ours(self, record: dict[str, Any]) -> bool:
        return _is_ours(record)

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        return _step(record, place, state)


def _is_ours(record: dict[str, Any]) -> bool:
    if isinstance(record.get("payload"), dict):
        return text_of(record.get("type")) in _ENVELOPES
    return _is_bare_header(record)


def _is_bare_header(record: dict[str, Any]) -> bool:
    return "type" not in record and "timestamp" in record and "id" in record and "instructions" in record


def _step(record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
    payload = record.get("payload")
    if not isinstance(payload, dict):
        if _is_bare_header(record):
            _learn_session(record, state)
            return ()
        return _item(record, record.get("timestamp"), place, state)
    kind = text_of(record.get("type"))
    if kind == "session_meta":
        _learn_session(payload, state)
        when((payload.get("timestamp"), record.get("timestamp")), place, state)
        return ()
    if kind == "response_item":
        return _item(payload, record.get("timestamp"), place, state)
    if kind == "turn_context":
        learn(state, cwd=path_of(payload.get("cwd")))
    if kind == "event_msg" and payload.get("type") == "thread_name_updated":
        entitle(state, name_of(payload.get("thread_name")))
        return ()
    return (Skip(_unread(kind, payload), place.line),)


def _unread(kind: str, payload: dict[str, Any]) -> str:
    if kind == "event_msg":
        twice = text_of(payload.get("type")) in {"user_message", "agent_message", "item_completed", "task_complete"}
        return "copy of a message" if twice else "not a message"
    if kind == "compacted":
        return "compaction summary"
    return "not a message" if kind in _BOOKKEEPING else "unknown record type"


def _learn_session(meta: dict[str, Any], state: State) -> None:
    """The first header is the session's own; a fork goes on with a copy of the other's."""
    if dict_of(state.get("session")).get("key"):
        return
    source = dict_of(meta.get("source"))
    spawn = dict_of(dict_of(source.get("subagent")).get("thread_spawn"))
    parent = meta.get("parent_thread_id") or spawn.get("parent_thread_id") or meta.get("forked_from_id")
    learn(state, key=name_of(meta.get("id") or meta.get("session_id")), cwd=path_of(meta.get("cwd")),
          parent=name_of(parent))  # fmt: skip
    if "subagent" in source:
        state["subagent"] = True


def _item(item: dict[str, Any], at: Any, place: Place, state: State) -> Iterable[Meaning]:
    kind, role = text_of(item.get("type", "message")), text_of(item.get("role"))
    if kind != "message":
        return (Skip(_left_out(kind), place.line),)
    if role not in {"user", "assistant"}:
        return (Skip("injected context" if role in {"developer", "system"} else "unknown record type", place.line),)
    at_ms = when((at,), place, state)
    words = spoken(item.get("content"), role, _WRAPPINGS)
    if not words:
        return (Skip(why_silent(list_of(item.get("content"))), place.line),)
    ident = name_of(item.get("id")) or place.record
    if role == "user" and state.get("subagent"):
        return (Said(ident, "assistant", "agent", words, at_ms, place.line),)
    return (said(role, ident, words, at_ms, place.line),)


def _left_out(kind: str) -> str:
    if kind == "reasoning":
        return "hidden reasoning"
    if kind.endswith(_TOOLS):
        return "tool call or result"
    return "message between agents" if kind == "agent_message" else "unknown record type"
