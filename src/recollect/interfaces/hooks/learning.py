"""Which tool served which request, as the hooks of a session see it: tools of MCP servers, successes and failures.

The request is the session's last prompt that says something; it waits in a small private file, because a hook lives
for one event only. What a tool was given and what it said is never kept, only the names of its arguments.
"""

import contextlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import load_settings
from recollect.errors import RecollectError
from recollect.files import make_private_folder, write_private
from recollect.interfaces.hooks.adapters import LEARNED, Happening
from recollect.interfaces.hooks.narrowing import note_call

if TYPE_CHECKING:
    from recollect.memory import Memory

LONGEST_REQUEST = 4000
KEPT_DAYS = 7
# A proxy of ours learns by itself, and our own tools are no tools to recommend.
_OURS = frozenset({"set_context", "search_available_tools", "call_tool"})


def remember_request(event: Happening, request: str) -> None:
    """Keeps what the session was asked last; secrets in it are redacted before it touches the disk."""
    if not event.key or load_settings().tool_learning == "off":
        return
    from recollect.text.redact import clean

    with contextlib.suppress(RecollectError):  # no room: nothing is learned from this request
        make_private_folder(_file(event).parent)
        write_private(_file(event), json.dumps(clean(request[:LONGEST_REQUEST]).text))


def forget_request(event: Happening) -> None:
    """At the end of a session; requests of sessions that ended without a word go with the next one's end."""
    oldest = time.time() - KEPT_DAYS * 86_400
    with contextlib.suppress(OSError):
        _file(event).unlink(missing_ok=True)
        for file in _file(event).parent.glob("*.json"):
            if file.stat().st_mtime < oldest:
                file.unlink(missing_ok=True)


def to_learn(event: Happening) -> Happening | None:
    """The event with the request that the tool was used for, and without what was said; None if it teaches nothing."""
    note_call(event)
    if event.event not in LEARNED or not event.function or load_settings().tool_learning == "off":
        return None
    if event.function in _OURS or "recollect" in event.server.lower() or "recollect" in event.function.lower():
        return None
    request = event.prompt or asked_last(event)
    if not request:
        return None
    names = dict.fromkeys(_arguments(event), "")
    return replace(event, prompt=request, arguments=json.dumps(names), result="", said="", transcript="")


def learn(memory: "Memory", event: Happening) -> None:
    """Writes what `to_learn` found; the vector of the request is left to the next search."""
    from recollect.tools import USED

    server = event.server or _server_of(memory, event.function)
    worked = event.event == "tool-used"
    pair = memory.tools.learn(event.prompt, event.function, server=server, signal=USED, success=worked, embed=False)
    if pair is None or not worked:
        return
    if not any((tool.server, tool.name) == (server, event.function) for tool in memory.tools.list()):
        memory.tools.add(event.function, server=server, parameters=_arguments(event))


def _server_of(memory: "Memory", function: str) -> str:
    """Some hosts name the tool alone; its server is known if one server only has such a tool."""
    found = {tool.server for tool in memory.tools.list() if tool.name == function}
    return found.pop() if len(found) == 1 else ""


def _arguments(event: Happening) -> dict[str, str]:
    try:
        given = json.loads(event.arguments or "{}")
    except ValueError:
        return {}
    return {str(name)[:100]: "" for name in list(given)[:50]} if isinstance(given, dict) else {}


def asked_last(event: Happening) -> str:
    """The session's last request; "" when there is none."""
    try:
        found = json.loads(_file(event).read_bytes()) if event.key else ""
    except (OSError, ValueError):
        return ""
    return found if isinstance(found, str) else ""


def _file(event: Happening) -> Path:
    from recollect.upkeep.spooled import request_file

    return request_file(load_settings().home, event.agent, event.key)
