"""Nothing that the proxy started outlives it, even if the proxy itself is killed.

A tiny process of its own session holds the read end of a pipe. It is told which process groups are alive; when the pipe
closes, however that came about, it ends those that are left. POSIX only: elsewhere upstreams only lose their pipes.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress

POSIX = os.name == "posix"
_SCRIPT = """
import os, signal, sys, time
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for number in (signal.SIGTERM, signal.SIGKILL):
    for group in groups:
        try: os.killpg(group, number)
        except OSError: pass
    if groups: time.sleep(0.5)
"""


class Guard:
    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        self._groups.add(group)
        self._tell(f"+{group}\n")

    def release(self, group: int) -> None:
        """Once nothing of the group is left: its number may be another's soon."""
        self._groups.discard(group)
        self._tell(f"-{group}\n")

    def end_all(self) -> None:
        for group in list(self._groups):
            end_group(group, kill=True)

    def _tell(self, line: str) -> None:
        if not POSIX:
            return
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, "-I", "-S", "-c", _SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


def end_group(group: int, *, kill: bool) -> None:
    with suppress(OSError):
        if POSIX:
            os.killpg(group, signal.SIGKILL if kill else signal.SIGTERM)
        else:
            command = ["taskkill", "/F", "/T", "/PID", str(group)]
            subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - a number of ours


GUARD = Guard()
