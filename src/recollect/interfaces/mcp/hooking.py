"""The tool of the `hooks` profile: hosts that can call an MCP tool as a hook need no process of ours for each event.

Its text is exactly what the hook command would print. It reports failures as an empty answer, like the command.
"""

import os
from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from recollect.errors import RecollectError
from recollect.interfaces.hooks import OFF, status, switched_off
from recollect.interfaces.hooks.acting import act
from recollect.interfaces.hooks.adapters import happening
from recollect.interfaces.mcp.shapes import Open
from recollect.interfaces.mcp.tools import Spec, spec
from recollect.memory import Memory

Event = Literal[
    "session-start", "prompt", "tool", "tool-used", "tool-failed", "stop", "pre-compact", "session-end"
]  # fmt: skip


class Answered(Open):
    output: str = Field(description="What the host reads; empty when there is nothing to say.")


def hook_tools(_: Callable[[], Memory]) -> list[Spec]:
    """A hook opens the store of the project that it speaks of, which need not be the server's own."""
    return [
        spec("memory_hook", "Answer a hook", answer_hook,
             "For hosts that call MCP tools as hooks; not for agents. Answers as `recollect hook` would.")
    ]  # fmt: skip


def answer_hook(
    agent: Literal["claude-code", "codex", "gemini", "cursor", "openclaw"],
    event: Event,
    session_id: str = "",
    cwd: str = "",
    prompt: str = "",
    transcript_path: str = "",
    source: str = "",
    last_assistant_message: str = "",
    tool_name: str = "",
    tool_input: dict[str, Any] | None = None,
    tool_response: Any = None,
    is_interrupt: bool = False,
) -> Annotated[CallToolResult, Answered]:
    given = {
        "session_id": session_id, "cwd": cwd, "prompt": prompt, "transcript_path": transcript_path, "source": source,
        "last_assistant_message": last_assistant_message, "tool_name": tool_name, "tool_input": tool_input,
        "tool_response": tool_response, "is_interrupt": is_interrupt,
    }  # fmt: skip
    found = happening(agent, event, given, os.environ)
    output = ""
    if found is not None and os.environ.get(OFF, "") in ("", "0") and not switched_off(found.folder):
        try:
            output = act(found)
        except (RecollectError, OSError) as trouble:
            status.note(agent, error=str(trouble))
    return CallToolResult(content=[TextContent(type="text", text=output)], structured_content={"output": output})
