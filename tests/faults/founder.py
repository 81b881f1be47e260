"""A victim that makes a store, in a race with others, and adds one note to it."""

from multiprocessing.connection import Connection

from faults.model import SPACE
from recollect import Memory


def found(line: Connection, store: str, name: str) -> None:
    line.send("ready")
    line.recv()
    line.send("begun")
    with Memory(store, space=SPACE, actor="founder") as memory:
        memory.add(f"{name} was here")
    line.send("acknowledged")
