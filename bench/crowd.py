"""Ten MCP servers, a watcher and a stream of hooks on one store for a while: nothing lost, nobody left behind.

Every note that a server acknowledged and every turn that a hook captured must be there at the end, the store must be
sound, and no process may remain. Prints what was done as JSON and exits with 1 if anything is missing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from recollect import Memory

HERE = [sys.executable, "-m", "recollect"]


class Server:
    """One server and a client by hand: adds, searches, adds."""

    def __init__(self, number: int, environ: dict[str, str], folder: Path) -> None:
        self.number = number
        self.process = subprocess.Popen(
            [*HERE, "mcp"], env=environ, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.asked = 0
        self.kept: list[str] = []
        self.failed: list[Any] = []

    def ask(self, method: str, **params: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.asked += 1
        message = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def work(self, until: float) -> None:
        about = {"name": "crowd", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about)
        while time.monotonic() < until:
            text = f"server {self.number} wrote note {len(self.kept)}"
            added = self.ask("tools/call", name="memory_add", arguments={"content": text})
            (self.failed if added.get("isError") else self.kept).append(added if added.get("isError") else text)
            self.ask("tools/call", name="memory_search", arguments={"query": "which server wrote a note", "limit": 3})
            time.sleep(0.1)
        assert self.process.stdin is not None
        self.process.stdin.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = crowd(Path(folder), options.seconds)
    print(json.dumps(found, indent=1))
    return 0 if found["lost_notes"] == found["lost_turns"] == found["refused"] == found["left_behind"] == 0 else 1


def crowd(folder: Path, seconds: float) -> dict[str, Any]:
    home, watched, project = (folder / name for name in ("home", "watched", "project"))
    for place in (watched, project / ".git" / "objects", project / ".git" / "refs"):
        place.mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    environ = {**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "none"}
    until = time.monotonic() + seconds
    servers = [Server(number, environ, project) for number in range(10)]
    threads = [threading.Thread(target=server.work, args=(until,)) for server in servers]
    watcher = subprocess.Popen([*HERE, "watch", str(watched)], env=environ, cwd=project, stdout=subprocess.DEVNULL)
    said: list[str] = []
    threads.append(threading.Thread(target=hooks, args=(until, environ, project, watched, said)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watcher.terminate()
    processes = [*(server.process for server in servers), watcher]
    left = sum(_lives(process) for process in processes)
    with Memory(home / "memory.db", space="all") as memory:
        notes = {note.content for note in memory.list(limit=1_000_000)}
        turns = {turn.text for session in memory.sessions(limit=10_000) for turn in memory.turns(session)}
        sound = all(finding.ok for finding in memory.check())
    kept = [text for server in servers for text in server.kept]
    return {
        "seconds": seconds, "notes": len(kept), "lost_notes": len(set(kept) - notes), "turns": len(said),
        "lost_turns": len(set(said) - turns), "refused": sum(len(server.failed) for server in servers),
        "sound": sound, "left_behind": left,
    }  # fmt: skip


def hooks(until: float, environ: dict[str, str], project: Path, watched: Path, said: list[str]) -> None:
    """Session after session of one agent, with files for the watcher in between."""
    number = 0
    while time.monotonic() < until:
        number += 1
        transcript = project.parent / f"s{number}.jsonl"
        event = {"session_id": f"s{number}", "transcript_path": str(transcript), "cwd": str(project)}
        hook("session-start", event, environ)
        for step in range(3):
            text = f"session {number} says sentence {step}"
            line = {"type": "user", "uuid": f"{number}-{step}", "sessionId": f"s{number}", "cwd": str(project),
                    "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": text}}  # fmt: skip
            with transcript.open("a") as stream:
                stream.write(json.dumps(line) + "\n")
            said.append(text)
            hook("stop", event, environ)
        hook("session-end", event, environ)
        (watched / f"{number % 20}.md").write_text(f"# File {number}\n\nchanged in round {number}\n")
    hook("session-end", event, environ)


def hook(event: str, given: dict[str, Any], environ: dict[str, str]) -> None:
    subprocess.run(
        [*HERE, "hook", "claude-code", event], input=json.dumps(given).encode(), env=environ, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def _lives(process: "subprocess.Popen[bytes]") -> bool:
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
