"""A server in plain JSON-RPC, of the earlier protocol, without the SDK: `python plain.py files|weather|odd|many`.

`odd` misbehaves on request: it fails, crashes, is slow, floods, grows a tool, or refuses to leave.
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string", "description": "what to work on"}}}
TOOLS: dict[str, dict[str, str]] = {
    "files": {"read_note": "Read the whole text of a note file", "write_note": "Replace the text of a note file"},
    "weather": {"forecast": "The weather of the next days for a city", "tides": "High and low water at a harbour"},
    "odd": {
        "fail": "Always answers with an error", "crash": "Ends the server in the middle of a call",
        "slow": "Counts to three with progress", "grow": "Adds another tool", "flood": "Answers with a megabyte",
        "hang": "Never answers", "wait": "Waits until it is cancelled", "same__name": "Has two underscores in its name",
    },
    "many": {f"gadget_{number}": f"Turns gadget number {number} on or off" for number in range(30)},
}  # fmt: skip


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], "isError": is_error}


def listed(tools: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name, "description": told, "inputSchema": TEXT,
            "annotations": {"readOnlyHint": name.startswith("read"), "title": name.title()},
        }
        for name, told in tools.items()
    ]  # fmt: skip


def call(name: str, params: dict[str, Any], tools: dict[str, str]) -> dict[str, Any]:
    if name == "fail":
        return text("it failed", is_error=True)
    if name == "crash":
        os._exit(3)
    if name == "hang":
        time.sleep(3600)
    if name == "flood":
        return text("x" * 1_000_000)
    if name == "grow":
        tools["grown"] = "A tool that was not there before"
        send({"method": "notifications/tools/list_changed"})
    if name == "slow":
        token = params.get("_meta", {}).get("progressToken")
        for step in (1, 2, 3):
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 3}})
    told = params.get("arguments", {}).get("text", "")
    return text(f"{name} did {told}".strip()) | {"structuredContent": {"done": name, "text": told}}


def stay() -> None:
    """Ignores the end of its input and the wish to end, and has a child that does so too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-S", "-c", stubborn], stdin=subprocess.DEVNULL)
    with open(sys.argv[2], "w", encoding="utf-8") as place:
        place.write(f"{os.getpid()} {child.pid}")


def main() -> None:
    kind = sys.argv[1]
    stubborn = kind == "stubborn"
    if stubborn:
        stay()
    tools = dict(TOOLS.get(kind, TOOLS["weather"]))
    for line in sys.stdin:
        request = json.loads(line)
        method, id, params = request.get("method"), request.get("id"), request.get("params") or {}
        if id is None:
            if method == "notifications/cancelled" and len(sys.argv) > 2:
                with open(sys.argv[2], "w", encoding="utf-8") as place:
                    place.write("cancelled")
            continue
        if method == "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18", "serverInfo": {"name": kind, "version": "1"},
                "capabilities": {"tools": {"listChanged": True}},
            }  # fmt: skip
        elif method == "tools/list":
            result = {"tools": listed(tools)}
        elif method == "tools/call" and params["name"] == "wait":
            continue
        elif method == "tools/call":
            result = call(params["name"], params, tools)
        elif method == "ping":
            result = {}
        else:
            send({"id": id, "error": {"code": -32601, "message": "Method not found"}})
            continue
        send({"id": id, "result": result})
    while stubborn:
        time.sleep(600)


if __name__ == "__main__":
    main()
