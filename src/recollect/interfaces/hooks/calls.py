"""Tool calls as hosts tell of them: which MCP tool of which server it was, and whether it failed. Pure.

Claude Code, Codex   mcp__server__tool
Gemini CLI           mcp_server_tool, with both names in `mcp_context`; mcp__server__tool before that
Cursor               MCP:tool or MCP:server:tool
OpenClaw             server__tool
"""

import json
from collections.abc import Mapping
from typing import Any

LONGEST_NAME = 200
_REFUSED = frozenset({"permission_denied", "aborted", "cancelled", "interrupted"})


def mcp_tool(agent: str, given: Mapping[str, Any]) -> tuple[str, str]:
    """The server and the tool; two empty words for a tool of the host's own."""
    server, tool = _mcp_tool(agent, given)
    return (server, tool) if tool and len(server) + len(tool) <= LONGEST_NAME else ("", "")


def _mcp_tool(agent: str, given: Mapping[str, Any]) -> tuple[str, str]:
    context = given.get("mcp_context")
    if isinstance(context, Mapping):
        return _word(context.get("server_name")), _word(context.get("tool_name"))
    name = _word(given.get("tool_name"))
    if agent == "cursor":
        kind, _, rest = name.partition(":")
        server, _, tool = rest.rpartition(":")
        return (server, tool) if kind == "MCP" else ("", "")
    if agent != "openclaw":
        if not name.startswith("mcp__"):
            return "", ""
        name = name.removeprefix("mcp__")
    server, _, tool = name.partition("__")
    return (server, tool) if server and tool else ("", "")


def host_name(server: str, tool: str) -> str:
    """What Gemini CLI calls a tool: one word of at most 63 characters."""
    word = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-.:") else "_"
                   for letter in f"mcp_{server}_{tool}")  # fmt: skip
    return word if len(word) <= 63 else f"{word[:30]}...{word[-30:]}"


def has_failed(given: Mapping[str, Any]) -> bool:
    """Whether a call that the host reports as done says of itself that it failed."""
    return any(_is_failure(given.get(name)) for name in ("tool_response", "tool_output", "result_json", "result"))


def was_stopped(given: Mapping[str, Any]) -> bool:
    """A person stopped or refused the call: that says nothing about the tool."""
    return given.get("is_interrupt") is True or given.get("failure_type") in _REFUSED


def offered(given: Mapping[str, Any]) -> str:
    """The tools that a request to the model may call, one a line, where the host names them."""
    request = given.get("llm_request")
    config = request.get("toolConfig") if isinstance(request, Mapping) else None
    inner = config.get("functionCallingConfig", config) if isinstance(config, Mapping) else None
    names = inner.get("allowedFunctionNames") if isinstance(inner, Mapping) else None
    return "\n".join(_word(name) for name in names if _word(name)) if isinstance(names, list) else ""


def _is_failure(result: Any) -> bool:
    if isinstance(result, str) and result.lstrip().startswith("{"):
        try:
            result = json.loads(result)
        except (ValueError, RecursionError):
            return False
    if not isinstance(result, Mapping):
        return False
    said = any(result.get(name) for name in ("isError", "is_error", "error", "Err"))
    return said or result.get("success") is False or _is_failure(result.get("Ok"))


def _word(part: Any) -> str:
    return part if isinstance(part, str) and part.isprintable() else ""
