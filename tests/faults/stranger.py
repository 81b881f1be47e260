"""Someone with fewer rights, or less room, than the tests have: `python -m faults.stranger ACTION STORE [LIMIT]`.

Loads everything first, then gives up what it may do (root would be let through everywhere), acts, and prints as JSON
what came of it. A step that raises anything but our own errors ends the process with a traceback.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from faults.model import SPACE
from recollect import Memory, RecollectError

NOBODY = 65534


def outcome(work: Callable[[], Any]) -> str:
    """The name of the error, or "ok"; every error has a hint."""
    try:
        work()
    except RecollectError as trouble:
        assert trouble.hint, trouble
        return type(trouble).__name__
    return "ok"


def warm_up() -> None:
    """What is imported when first used must be in memory before the rights are gone."""
    with tempfile.TemporaryDirectory() as folder, Memory(f"{folder}/memory.db", space=SPACE) as memory:
        note = memory.add("everything is loaded by now")
        memory.search("loaded", mode="keyword")
        memory.update(note, content="and this too")
        memory.check()


def use(store: str) -> dict[str, str]:
    """Reading and writing, step by step."""
    held: list[Memory] = []
    answers = {"open": outcome(lambda: held.append(Memory(store, space=SPACE)))}
    if held:
        memory = held[0]
        answers["read"] = outcome(lambda: len(memory.list()) == 1 or sys.exit("a note is missing"))
        answers["search"] = outcome(
            lambda: len(memory.search("remembered", mode="keyword")) == 1 or sys.exit("unfound")
        )
        answers["get"] = outcome(lambda: memory.get(memory.list()[0]))
        answers["write"] = outcome(lambda: memory.add("something new"))
        memory.close()
    return answers


def fill(store: str) -> dict[str, Any]:
    """Adds until there is no room, then reads, then adds again."""
    acknowledged = 0
    with Memory(store, space=SPACE) as memory:
        while (said := outcome(partial(memory.add, f"remembered: {acknowledged} " * 300))) == "ok":
            acknowledged += 1
        answers = {"acknowledged": acknowledged, "full": said, "read": len(memory.list(limit=1000))}
        answers["search"] = outcome(lambda: memory.search("remembered", mode="keyword"))
        answers["again"] = outcome(lambda: memory.add("more " * 20_000))
    return answers


def main(action: str, store: str, limit: str = "") -> None:
    warm_up()
    os.environ["RECOLLECT_HOME"] = str(Path(tempfile.gettempdir()) / "faults-have-no-home")
    if action == "use" and os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if limit:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    print(json.dumps(use(store) if action == "use" else fill(store)))


if __name__ == "__main__":
    main(*sys.argv[1:])
