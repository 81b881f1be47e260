"""A victim that indexes a folder and cuts everything anew."""

from multiprocessing.connection import Connection
from pathlib import Path

from recollect import Memory
from recollect.config import load_settings


def index(line: Connection, store: str, folder: str, home: str) -> None:
    line.send("ready")
    line.recv()
    with Memory(store, space="desk", settings=load_settings(home=Path(home), embedder="hashing")) as memory:
        memory.index(folder, embed=False)
        line.send("indexed")
        memory.reindex("hashing", force=True)
    line.send("done")
