"""A victim that cleans a store up once."""

from multiprocessing.connection import Connection
from pathlib import Path

from faults.model import SPACE
from recollect import Memory
from recollect.config import load_settings


def clean(line: Connection, store: str, home: str, max_notes: int) -> None:
    settings = load_settings(home=Path(home), auto_backups=0)
    with Memory(store, space=SPACE, settings=settings) as memory:
        memory.list()
        line.send("ready")
        line.recv()
        line.send("begun")
        memory.cleanup(max_notes=max_notes)
        line.send("done")
