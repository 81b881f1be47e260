"""Starting real worker processes, and never leaving one behind."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
Worker = subprocess.Popen[str]


def start(module: str, *arguments: object) -> Worker:
    """A module of this folder in an interpreter of its own."""
    paths = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    environment = dict(os.environ) | {"PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextlib.contextmanager
def ended(workers: list[Worker]) -> Iterator[None]:
    """Whatever happens inside, no worker outlives it."""
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.communicate()


def wait_ready(workers: list[Worker]) -> None:
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"


def tell(workers: list[Worker], line: str) -> None:
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(f"{line}\n")
        worker.stdin.flush()


def wait_until(true: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.002)
