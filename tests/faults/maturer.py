"""A victim that moves notes between tiers once: by the rule, or by making a scratchpad overflow."""

from multiprocessing.connection import Connection
from pathlib import Path

from faults.model import SPACE
from recollect import Memory
from recollect.config import load_settings

PAD_TOKENS = 2000
LARGE = "zeppelin " * 885  # displaces everything else


def mature(line: Connection, verb: str, store: str, home: str) -> None:
    settings = load_settings(home=Path(home), embedder="none", scratchpad_tokens=PAD_TOKENS)
    with Memory(store, space=SPACE, settings=settings) as memory:
        pad = memory.scratchpad
        pad.items()
        line.send("ready")
        line.recv()
        line.send("begun")
        if verb == "overflow":
            pad.put(LARGE)
        else:
            memory.mature()
        line.send("done")
