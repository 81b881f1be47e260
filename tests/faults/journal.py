"""What a worker meant to do and what it knows it did: one line before each step, one after.

Lines are appended with one write call each and never synced: what a killed process wrote stays with the system.
"""

import json
import os
from pathlib import Path

from faults.model import Step


class Journal:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)

    def intend(self, step: Step) -> None:
        self._line(step.as_json())

    def acknowledge(self) -> None:
        self._line("done")

    def _line(self, value: object) -> None:
        os.write(self._file, json.dumps(value).encode() + b"\n")


def read_journal(path: Path) -> tuple[list[Step], Step | None]:
    """The acknowledged steps in order, and the one that was under way. A torn last line was never finished."""
    done: list[Step] = []
    under_way: Step | None = None
    for line in path.read_bytes().split(b"\n")[:-1] if path.exists() else []:
        value = json.loads(line)
        if value == "done":
            assert under_way is not None
            done.append(under_way)
            under_way = None
        else:
            under_way = Step.from_json(value)
    return done, under_way
