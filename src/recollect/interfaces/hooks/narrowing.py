"""Which tools a request to the model may call, for hosts that ask before each (Gemini CLI's BeforeToolSelection).

An answer hides tools, so there is one only when usage covers the request, and when there are more tools of MCP servers
than are worth reading. The host's own tools always stay. Hosts that do not name their tools are known by the names
that they called before; without a tool of the host's own among these, nothing is hidden.
"""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.files import make_private_folder, write_private
from recollect.interfaces.hooks import status
from recollect.interfaces.hooks.adapters import Happening
from recollect.interfaces.hooks.calls import host_name

if TYPE_CHECKING:
    from recollect.memory import Memory

MOST_NAMES = 500


def allowed(memory: "Memory", event: Happening, request: str) -> Sequence[str]:
    """The names to allow, those that fit first; empty when nothing should be hidden."""
    from recollect.tools import COLD, OFFER
    from recollect.types import Tool

    names = event.offered.splitlines() or called_before(event.agent)
    used = [Tool(pair.tool, "", pair.server) for pair in memory.tools.pairs()]
    known = {host_name(tool.server, tool.name): tool for tool in (*used, *memory.tools.list())}
    served = {name: known.get(name, Tool(name)) for name in names if name.startswith("mcp_")}
    own = [name for name in names if name not in served]
    if len(served) <= OFFER or not own:
        return ()
    memory.tools.offer(served.values())
    hits = memory.tools.search(request, limit=len(served) + len(known))
    if memory.tools.confidence(request) < COLD:
        return ()
    by_tool = {(tool.server, tool.name): name for name, tool in served.items()}
    best = [by_tool[key] for hit in hits if (key := (hit.tool.server, hit.tool.name)) in by_tool]
    return [*best[:OFFER], *own]


def answer(names: Sequence[str]) -> str:
    """What the host reads; the model stays free to call no tool at all."""
    if not names:
        return ""
    config = {"mode": "AUTO", "allowedFunctionNames": list(names)}
    return json.dumps({"hookSpecificOutput": {"hookEventName": "BeforeToolSelection", "toolConfig": config}})


def note_call(event: Happening) -> None:
    """Remembers that the host has a tool of this name; writes only when it is new."""
    known = called_before(event.agent)
    if event.agent != "gemini" or not event.tool or event.tool in known:
        return
    with contextlib.suppress(RecollectError):
        make_private_folder(status.folder())
        write_private(_file(event.agent), json.dumps([*known, event.tool][-MOST_NAMES:]))


def called_before(agent: str) -> list[str]:
    try:
        found = json.loads(_file(agent).read_bytes())
    except (OSError, ValueError):
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _file(agent: str) -> Path:
    return status.folder() / f"tools-{agent}.json"
