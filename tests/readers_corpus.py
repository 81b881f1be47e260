"""Small transcripts in the shapes that agents write, made here: what was said, and the lines that say it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recollect.readers import FileReader, Skip, TranscriptReader, reader_for

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    from backports import zstd

pack_zstd: Callable[[bytes], bytes] = zstd.compress

Message = tuple[str, str]  # user or assistant, and the words

START = "2026-03-01T10:00:"


def at(index: int) -> str:
    return f"{START}{index % 60:02d}.000Z"


def claude(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"type": "summary", "summary": "Talk about trees", "leafUuid": "u0"}] + [
        {
            "type": role, "uuid": f"u{index}", "parentUuid": None, "sessionId": "5e55", "cwd": "/srv/tree",
            "timestamp": at(index), "isSidechain": False,
            "message": {"role": role, "content": words if role == "user" else [
                {"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": words},
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]},
        }
        for index, (role, words) in enumerate(messages)
    ]  # fmt: skip


def codex(messages: Sequence[Message]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        {"timestamp": at(0), "type": "session_meta", "payload": {"id": "c0de", "cwd": "/srv/tree", "timestamp": at(0)}}
    ]
    for index, (role, words) in enumerate(messages):
        kind = "input_text" if role == "user" else "output_text"
        said = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
        again = {"type": "user_message" if role == "user" else "agent_message", "message": words}
        lines.append({"timestamp": at(index), "type": "response_item", "payload": said})
        lines.append({"timestamp": at(index), "type": "event_msg", "payload": again})
    return lines


def gemini(messages: Sequence[Message]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        {"sessionId": "9e41", "projectHash": "ab12", "startTime": at(0), "lastUpdated": at(0), "kind": "main"}
    ]
    for index, (role, words) in enumerate(messages):
        kind = "user" if role == "user" else "gemini"
        content: Any = [{"text": words}] if role == "user" else words
        lines.append({"id": f"g{index}", "timestamp": at(index), "type": kind, "content": content, "thoughts": []})
        lines.append({"$set": {"lastUpdated": at(index)}})
    return lines


def cursor(messages: Sequence[Message]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        {"role": role, "message": {"content": [{"type": "text", "text": _queried(role, words)}]}}
        for role, words in messages
    ]
    return [*lines, {"type": "turn_ended", "status": "success"}]


def _queried(role: str, words: str) -> str:
    return f"<user_query>\n{words}\n</user_query>" if role == "user" else words


def tree(messages: Sequence[Message]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "7ree", "timestamp": at(0), "cwd": "/srv/tree"},
        {"type": "model_change", "id": "m", "parentId": None, "timestamp": at(0), "modelId": "x"},
    ]
    for index, (role, words) in enumerate(messages):
        message = {"role": role, "content": [{"type": "text", "text": words}, {"type": "toolCall", "name": "ls"}]}
        lines.append(
            {"type": "message", "id": f"p{index}", "parentId": "m", "timestamp": at(index), "message": message}
        )
    return lines


def generic(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"role": role, "content": words, "timestamp": at(index)} for index, (role, words) in enumerate(messages)]


def qwen(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [
        {
            "uuid": f"q{index}", "sessionId": "93e7", "timestamp": at(index), "type": role, "cwd": "/srv/tree",
            "message": {"role": "user" if role == "user" else "model", "parts": [{"text": words}]},
        }
        for index, (role, words) in enumerate(messages)
    ]  # fmt: skip


def copilot(messages: Sequence[Message]) -> list[dict[str, Any]]:
    start = {"sessionId": "c0b1", "startTime": at(0), "context": {"cwd": "/srv/tree"}}
    return [{"type": "session.start", "data": start, "id": "e0", "timestamp": at(0)}] + [
        {"type": f"{role}.message", "data": {"content": words}, "id": f"e{index + 1}", "timestamp": at(index)}
        for index, (role, words) in enumerate(messages)
    ]


def kimi(messages: Sequence[Message]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"type": "metadata", "protocol_version": "1.4", "created_at": 1772359200000}]
    for index, (role, words) in enumerate(messages):
        part = {"type": "text", "text": words}
        if role == "user":
            said: dict[str, Any] = {"role": role, "content": [part], "origin": {"kind": "user"}}
            lines.append({"type": "context.append_message", "message": said, "time": 1772359200000 + index * 1000})
        else:
            event = {"type": "content.part", "uuid": f"k{index}", "part": part}
            lines.append({"type": "context.append_loop_event", "event": event, "time": 1772359200000 + index * 1000})
    return lines


def droid(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"type": "session_start", "id": "d01d", "title": "Trees", "cwd": "/srv/tree"}, *tree(messages)[2:]]


def antigravity(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [
        {
            "step_index": index, "source": "USER_EXPLICIT" if role == "user" else "MODEL", "created_at": at(index),
            "type": "USER_INPUT" if role == "user" else "PLANNER_RESPONSE", "status": "DONE",
            "content": f"<USER_REQUEST>\n{words}\n</USER_REQUEST>" if role == "user" else words,
        }
        for index, (role, words) in enumerate(messages)
    ]  # fmt: skip


# The name of the reader that must be chosen → how the lines are made, and where such a file lies.
LINE_FORMATS: dict[str, tuple[Callable[[Sequence[Message]], list[dict[str, Any]]], str]] = {
    "claude-code": (claude, ".claude/projects/-work-tree/5e55.jsonl"),
    "codex": (codex, ".codex/sessions/2026/03/01/rollout-c0de.jsonl"),
    "gemini-cli": (gemini, ".gemini/tmp/ab12/chats/session-9e41.jsonl"),
    "cursor": (cursor, ".cursor/projects/work-tree/agent-transcripts/0123.jsonl"),
    "openclaw": (tree, ".openclaw/agents/main/sessions/7ree.jsonl"),
    "pi": (tree, ".pi/agent/sessions/--work-tree--/x_7ree.jsonl"),
    "jsonl": (generic, "chats/monday.jsonl"),
    "qwen-code": (qwen, ".qwen/projects/x/chats/93e7.jsonl"),
    "copilot": (copilot, ".copilot/session-state/c0b1/events.jsonl"),
    "kimi": (kimi, ".kimi/sessions/a/wire.jsonl"),
    "droid": (droid, ".factory/sessions/d01d.jsonl"),
    "antigravity": (antigravity, "brain/steps.jsonl"),
}

TALK: list[Message] = [
    ("user", "Which trees grow by the river?"),
    ("assistant", "Willows and alders; both like wet feet."),
    ("user", "Plant two willows, then. Grüße, 漢字 🌳"),
    ("assistant", "Planted."),
]


def as_lines(records: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def put(folder: Path, place: str, content: bytes) -> Path:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def transcript(path: Path) -> TranscriptReader:
    """The reader that is chosen for the file, which must be one for transcripts."""
    reader = reader_for(path)
    assert not isinstance(reader, Skip | FileReader), reader
    return reader
