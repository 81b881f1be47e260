"""Hosts' words and ours: each agent's events come in as one Happening, and go out in the shape that it reads.

Fields that are missing or strange are left empty; an event that we have nothing to do with gives None.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from recollect.interfaces.hooks.calls import has_failed, mcp_tool, offered, was_stopped
from recollect.values import value

LEARNED = ("tool-used", "tool-failed")
EVENTS = ("session-start", "prompt", "tool", *LEARNED, "tool-selection", "stop", "pre-compact", "session-end")
MOST_OF_A_CALL = 200_000
_KEY = re.compile(r"[A-Za-z0-9_.:-]{1,200}")

# host: its event → ours
_NAMES: dict[str, dict[str, str]] = {
    "claude-code": {
        "SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop",
        "PostToolUse": "tool", "PostToolUseFailure": "tool-failed", "PreCompact": "pre-compact",
        "SessionEnd": "session-end",
    },
    "codex": {
        "SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop",
        "PostToolUse": "tool", "PreCompact": "pre-compact", "SessionEnd": "session-end",
    },
    "gemini": {
        "SessionStart": "session-start", "BeforeAgent": "prompt", "AfterAgent": "stop",
        "AfterTool": "tool", "BeforeToolSelection": "tool-selection", "PreCompress": "pre-compact",
        "SessionEnd": "session-end",
    },
    "cursor": {
        "sessionStart": "session-start", "beforeSubmitPrompt": "prompt", "stop": "stop",
        "postToolUse": "tool", "postToolUseFailure": "tool-failed", "preCompact": "pre-compact",
        "sessionEnd": "session-end",
    },
    "openclaw": {  # told by the plugin that `setup` writes
        "before_prompt_build": "prompt", "agent_end": "stop", "after_tool_call": "tool-used",
        "before_compaction": "pre-compact", "session_end": "session-end",
    },
}  # fmt: skip
AGENTS = tuple(_NAMES)
# The variables in which hosts say where the project is, should the event not.
_FOLDERS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "CURSOR_PROJECT_DIR")


@value
class Happening:
    """One event of a host, in our words."""

    agent: str
    event: str
    key: str
    folder: str
    prompt: str = ""
    said: str = ""
    transcript: str = ""
    source: str = ""
    turn: str = ""
    tool: str = ""
    arguments: str = ""
    result: str = ""
    server: str = ""  # of an MCP tool, with the name that the tool has there
    function: str = ""
    offered: str = ""  # the names of the tools that the host has, one a line, where it says so


def happening(agent: str, event: str, given: Mapping[str, Any], environ: Mapping[str, str]) -> Happening | None:
    names = _NAMES.get(agent)
    if names is None:
        return None
    named = event if event in EVENTS else names.get(event) or names.get(_text(given, "hook_event_name"))
    if named is None or was_stopped(given):
        return None
    if named == "tool-used" and has_failed(given):
        named = "tool-failed"
    server, function = mcp_tool(agent, given)
    return Happening(
        agent=agent, event=named, key=_key(given), folder=_folder(given, environ), prompt=_text(given, "prompt"),
        said=_text(given, "last_assistant_message") or _text(given, "prompt_response"),
        transcript=_text(given, "transcript_path"), source=_text(given, "source"),
        turn=_text(given, "turn_id") or _text(given, "generation_id"), tool=_text(given, "tool_name"),
        arguments=_packed(given.get("tool_input")),
        result=_packed(given.get("tool_response", given.get("tool_output"))), server=server, function=function,
        offered=offered(given),
    )  # fmt: skip


def shaped(event: Happening, context: str) -> str:
    """What the host reads; "" where it wants nothing."""
    if event.agent == "cursor":
        return _cursor(event, context)
    if event.agent == "openclaw":
        return _json({"prependContext": context}) if context else ""
    if context and event.event in ("session-start", "prompt"):
        host = next(name for name, ours in _NAMES[event.agent].items() if ours == event.event)
        return _json({"hookSpecificOutput": {"hookEventName": host, "additionalContext": context}})
    if event.event == "tool-selection":  # even an empty object would take all tools away
        return ""
    return "{}" if event.agent == "gemini" else ""  # Gemini parses whatever we print, so it gets JSON always


def takes_context(event: Happening) -> bool:
    """Whether the host can give the model what we say; Cursor cannot at a prompt."""
    return event.event == "session-start" or (event.event == "prompt" and event.agent != "cursor")


def _cursor(event: Happening, context: str) -> str:
    if event.event == "session-start":
        return _json({"additional_context": context}) if context else "{}"
    return '{"continue":true}' if event.event == "prompt" else "{}"


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))


def _key(given: Mapping[str, Any]) -> str:
    key = _text(given, "session_id") or _text(given, "conversation_id")
    return key if _KEY.fullmatch(key) else ""


def _folder(given: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    for candidate in (_text(given, "cwd"), first, *(environ.get(name, "") for name in _FOLDERS)):
        if candidate and os.path.isabs(candidate) and os.path.isdir(candidate):  # noqa: PTH112, PTH117
            return candidate
    return os.getcwd()  # noqa: PTH109


def _packed(part: Any) -> str:
    """What a tool was given or said, as JSON; too much of it is as good as none."""
    try:
        text = json.dumps(part)
    except (TypeError, ValueError, RecursionError):
        return ""
    return text if part is not None and len(text) <= MOST_OF_A_CALL else ""


def _text(given: Mapping[str, Any], name: str) -> str:
    found = given.get(name)
    return found if isinstance(found, str) and "\x00" not in found else ""
