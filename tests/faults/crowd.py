"""One of many who use a store at once: `python -m faults.crowd ROLE STORE SECONDS SEED`.

Says "ready", waits for a line, works, and prints as JSON what it did and how long its longest call took.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from faults.model import SPACE, Author, World, perform, shown
from recollect import Memory

SLOW_SECONDS = 2.0
WEIGHTS = {"add": 5, "update": 3, "delete": 1, "undo": 1}


class Clocked:
    """Calls, how many of them were slow, how long the longest took, and no error swallowed."""

    def __init__(self) -> None:
        self.calls = self.slow = 0
        self.longest = 0.0

    def __call__(self, work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        began = time.monotonic()
        answer = work(*arguments, **options)
        took = time.monotonic() - began
        self.longest = max(self.longest, took)
        self.slow += took >= SLOW_SECONDS
        self.calls += 1
        return answer


def write(memory: Memory, seconds: float, seed: object) -> tuple[Clocked, World]:
    clocked, author = Clocked(), Author(seed, {}, WEIGHTS, import_sizes=(5,))
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        step = author.next_step()
        if step.verb == "undo" and len(author.world[step.texts[0][0]]) == 1:
            continue  # the call that made it would have to be looked for among all events
        clocked(perform, memory, step)
        author.happened(step)
    return clocked, author.world


def read(memory: Memory, seconds: float, seed: object) -> Clocked:
    clocked, dice = Clocked(), random.Random(str(seed))
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        notes = clocked(memory.list, limit=20)
        for note in notes[:3]:
            whole = clocked(memory.get, note.uid)
            assert whole.rev >= note.rev
            for hit in clocked(memory.search, note.content.split()[0], mode="keyword", limit=3):
                assert hit.uid
        time.sleep(dice.uniform(0.0, 0.02))
    return clocked


def main(role: str, store: str, seconds: str, seed: str) -> None:
    print("ready")
    sys.stdin.readline()
    with Memory(store, space=SPACE, actor=role) as memory:
        if role == "writer":
            clocked, world = write(memory, float(seconds), seed)
        else:
            clocked, world = read(memory, float(seconds), seed), {}
    figures = {"calls": clocked.calls, "slow": clocked.slow, "longest": clocked.longest}
    print(json.dumps(figures | {"notes": shown(world)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
