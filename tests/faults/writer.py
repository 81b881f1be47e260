"""A victim that changes a store until it is killed, most of all by one verb.

The world is a JSON file with the notes that this victim owns from earlier lives, and which of them were changed by
one call; it touches no others.
"""

import json
from multiprocessing.connection import Connection
from pathlib import Path

from faults.journal import Journal
from faults.model import SPACE, Author, perform
from recollect import Memory
from recollect.config import load_settings

# How often each verb comes while one of them is wanted: what it needs must be there, and everything else goes on too.
WEIGHTS = {
    "add": {"add": 16, "update": 2, "delete": 1, "undo": 1, "restore": 1, "import": 1},
    "update": {"add": 2, "update": 16, "delete": 1, "undo": 1, "restore": 1, "import": 1},
    "delete": {"add": 1, "update": 1, "delete": 16, "undo": 1, "restore": 2, "import": 2},
    "undo": {"add": 2, "update": 2, "delete": 1, "undo": 16, "restore": 1, "import": 1},
    "restore": {"add": 2, "update": 1, "delete": 9, "undo": 1, "restore": 12, "import": 1},
    "import": {"add": 2, "update": 2, "delete": 1, "undo": 2, "restore": 1, "import": 4},
}
IMPORT_SIZES = {"import": (10, 40, 520), "delete": (12, 30)}  # beyond one batch where the import itself is wanted


def write(line: Connection, store: str, journal_path: str, world_path: str, seed: str, wanted: str) -> None:
    notes, calls = json.loads(Path(world_path).read_text(encoding="utf-8"))
    world = {uid: tuple((state, text) for state, text in images) for uid, images in notes.items()}
    author = Author(seed, world, WEIGHTS[wanted], IMPORT_SIZES.get(wanted, (3, 12)), calls)
    journal = Journal(Path(journal_path))
    copies = int(seed.endswith("0/0"))  # now and then a kill meets the copy before an import of many
    with Memory(store, space=SPACE, actor="writer", settings=load_settings(auto_backups=copies)) as memory:
        line.send("ready")
        while True:
            step = author.next_step()
            journal.intend(step)
            perform(memory, step)
            journal.acknowledge()
            author.happened(step)
