"""Agents whose lines are simple enough for one page: Qwen Code, Copilot CLI, Kimi, Droid, Antigravity."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recollect.readers.contract import Rewind, Said, Skip
from recollect.readers.fields import dict_of, list_of, name_of, path_of, said, spoken, text_of, why_silent
from recollect.readers.jsonl import LineReader, Meaning, Place, State, entitle, learn, when
from recollect.readers.tree import tree_step


class QwenReader(LineReader):
    """An envelope like Claude Code's around parts like Gemini's, with rewinds."""

    name = "qwen-code"

    def sniff(self, path: Path, head: bytes) -> bool:
        return super().sniff(path, head) or (
            head.startswith(b'{"uuid"') and b'"message":{"role":"user","parts"' in head
        )

    def is_ours(self, record: dict[str, Any]) -> bool:
        if "sessionId" not in record or "uuid" not in record:
            return False
        return "parts" in dict_of(record.get("message")) or "systemPayload" in record

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        kind, details = text_of(record.get("type")), dict_of(record.get("systemPayload"))
        learn(state, key=name_of(record.get("sessionId")), cwd=path_of(record.get("cwd")))
        if kind == "system":
            if record.get("subtype") == "rewind":
                return (Rewind(name_of(details.get("targetUuid"))),)
            entitle(state, name_of(details.get("customTitle")))
            return (Skip("not a message", place.line),)
        if kind not in {"user", "assistant"}:
            return (Skip("tool call or result" if kind == "tool_result" else "unknown record type", place.line),)
        if text_of(record.get("subtype")) in {"notification", "cron"}:
            return (Skip("injected context", place.line),)
        parts = list_of(dict_of(record.get("message")).get("parts"))
        # The words as typed, before hooks added theirs.
        content = details.get("displayText") or parts if kind == "user" else parts
        return _told(kind, content, record.get("uuid"), record.get("timestamp"), place, state)


class CopilotReader(LineReader):
    """Events with a dotted type; what they say is in `data`."""

    name = "copilot"

    def is_ours(self, record: dict[str, Any]) -> bool:
        return text_of(record.get("type")) in {"session.start", "user.message"} and isinstance(record.get("data"), dict)

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        kind, details = text_of(record.get("type")), dict_of(record.get("data"))
        if kind == "session.start":
            folder = dict_of(details.get("context")).get("cwd")
            learn(state, key=name_of(details.get("sessionId")), cwd=path_of(folder))
            when((details.get("startTime"), record.get("timestamp")), place, state)
            return ()
        role, _, what = kind.partition(".")
        if role in {"user", "assistant"} and what == "message":
            return _told(role, details.get("content"), record.get("id"), record.get("timestamp"), place, state)
        if role == "tool" or kind == "assistant.reasoning":
            return (Skip("tool call or result" if role == "tool" else "hidden reasoning", place.line),)
        known = role in {"session", "assistant", "system", "hook", "subagent", "abort", "skill", "user"}
        return (Skip("not a message" if known else "unknown record type", place.line),)


class KimiReader(LineReader):
    """What the person said comes as a message, what the assistant said as parts of its loop."""

    name = "kimi"

    def is_ours(self, record: dict[str, Any]) -> bool:
        kind = text_of(record.get("type"))
        return (kind == "metadata" and "protocol_version" in record) or kind in {
            "turn.prompt",
            "context.append_message",
        }

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        kind = text_of(record.get("type"))
        learn(state, cwd=path_of(record.get("cwd")))
        if kind == "context.append_message":
            message = dict_of(record.get("message"))
            role, origin = text_of(message.get("role")), dict_of(message.get("origin")).get("kind", "user")
            if role not in {"user", "assistant"} or origin != "user":
                return (Skip("injected context", place.line),)
            return _told(role, message.get("content"), None, record.get("time"), place, state)
        event = dict_of(record.get("event"))
        if kind == "context.append_loop_event" and event.get("type") == "content.part":
            return _told("assistant", [event.get("part")], event.get("uuid"), record.get("time"), place, state)
        if kind == "context.append_loop_event" and text_of(event.get("type")).startswith("tool."):
            return (Skip("tool call or result", place.line),)
        return (Skip("copy of a message" if kind == "turn.prompt" else "not a message", place.line),)


class DroidReader(LineReader):
    """A tree like pi's, after a header of its own."""

    name = "droid"

    def is_ours(self, record: dict[str, Any]) -> bool:
        return record.get("type") == "session_start" and "id" in record

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        if not self.is_ours(record):
            return tree_step(record, place, state)
        learn(state, key=name_of(record["id"]), cwd=path_of(record.get("cwd")))
        entitle(state, name_of(record.get("sessionTitle") or record.get("title")))
        return ()


class AntigravityReader(LineReader):
    """Numbered steps of user, model and system."""

    name = "antigravity"

    def is_ours(self, record: dict[str, Any]) -> bool:
        return "step_index" in record and "source" in record

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        role = {"USER_INPUT": "user", "PLANNER_RESPONSE": "assistant"}.get(text_of(record.get("type")))
        if role is None:
            return (
                Skip("injected context" if record.get("source") == "SYSTEM" else "tool call or result", place.line),
            )
        ident = f"step-{record['step_index']}" if isinstance(record.get("step_index"), int) else None
        if role == "assistant" and not record.get("content"):
            return (Skip("tool call or result", place.line),)
        return _told(role, record.get("content"), ident, record.get("created_at"), place, state)


def _told(role: str, content: Any, ident: Any, at: Any, place: Place, state: State) -> tuple[Said | Skip]:
    at_ms = when((at,), place, state)
    words = spoken(content, role)
    if not words:
        return (Skip(why_silent(content), place.line),)
    return (said(role, name_of(ident) or place.record, words, at_ms, place.line),)
