"""Victims that merge what says the same, gather old notes, or supersede one, once."""

from multiprocessing.connection import Connection
from pathlib import Path

from faults.model import SPACE
from recollect import Memory
from recollect.config import load_settings


def believe(line: Connection, store: str, home: str, verb: str) -> None:
    settings = load_settings(home=Path(home), auto_backups=0, embedder="none")
    with Memory(store, space=SPACE, settings=settings) as memory:
        shown = memory.beliefs.duplicates(limit=1000)  # everything is loaded now, and what is parsed is known
        memory.consolidate(older_than_days=0, dry_run=True)
        line.send("ready")
        line.recv()
        line.send("begun")
        if verb == "merge":
            memory.beliefs.merge_duplicates(shown)
        elif verb == "consolidate":
            memory.consolidate(older_than_days=0, hide_sources=True)
        else:
            memory.beliefs.supersede(1, "Something else altogether")
        line.send("done")
