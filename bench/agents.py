"""What agents wait for: a server's start, a hook after every answer, and the memory of an idle server.

Ours are measured beside the least that anybody could do: a server of the same SDK with one empty tool, and a bare
Python that reads the event, opens a SQLite file and commits a row. Runs take turns: a busy machine hits both alike.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MINIMAL = """
from mcp.server import MCPServer
server = MCPServer("minimal", log_level="ERROR")
@server.tool()
def nothing(a: int) -> str:
    return ""
server.run("stdio")
"""
_BARE = """
import json, sys
import apsw
event = json.load(sys.stdin)
connection = apsw.Connection(sys.argv[1])
connection.pragma("journal_mode", "wal")
connection.pragma("synchronous", 2)
connection.execute("create table if not exists rows (a)")
connection.execute("insert into rows values (?)", (json.dumps(event),))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.runs)
    print(json.dumps(found, indent=1))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


def measure(folder: Path, runs: int) -> dict[str, Any]:
    ours = [sys.executable, "-m", "recollect", "mcp"]
    minimal = [sys.executable, "-c", _MINIMAL]
    environ = {**os.environ, "RECOLLECT_HOME": str(folder / "home")}
    starts = in_turns(runs, lambda: start(ours, environ)[0], lambda: start(minimal, environ)[0])
    idle = start(ours, environ)[1], start(minimal, environ)[1]
    hooks = in_turns(runs * 2, *captures(folder, environ))
    return {
        "start_ms": {"ours": starts[0], "minimal": starts[1], "our_part": round(starts[0] - starts[1], 1)},
        "idle_rss_mb": {"ours": idle[0], "minimal": idle[1]},
        "stop_hook_ms": {"ours": hooks[0], "bare": hooks[1], "ratio": round(hooks[0] / hooks[1], 2)},
    }


def in_turns(runs: int, one: Callable[[], float], other: Callable[[], float]) -> tuple[float, float]:
    pairs = [(one(), other()) for _ in range(runs)]
    first, second = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
    return round(first, 1), round(second, 1)


def start(command: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """Seconds from spawn to the list of tools, and the resident megabytes then."""
    began = time.perf_counter()
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
        ):
            server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        while b'"tools":[' not in server.stdout.readline():
            pass
        seconds = time.perf_counter() - began
        megabytes = resident(server.pid)
        server.stdin.close()
        server.wait(10)
    return seconds, megabytes


def resident(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0  # not Linux
    return round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 1)


def captures(folder: Path, environ: dict[str, str]) -> tuple[Callable[[], float], Callable[[], float]]:
    event = json.dumps(
        {
            "session_id": "bench",
            "transcript_path": str(folder / "t.jsonl"),
            "cwd": str(folder),
            "hook_event_name": "Stop",
        }
    ).encode()
    ours = [sys.executable, "-m", "recollect", "hook", "claude-code", "stop"]
    bare = [sys.executable, "-c", _BARE, str(folder / "bare.db")]

    def timed(command: list[str]) -> float:
        began = time.perf_counter()
        subprocess.run(command, input=event, env=environ, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    return lambda: timed(ours), lambda: timed(bare)


if __name__ == "__main__":
    main()
