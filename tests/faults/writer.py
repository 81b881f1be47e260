"""A worker that changes a store until it is killed: `python -m faults.writer STORE JOURNAL WORLD SEED`.

WORLD is a JSON file with the notes that this worker owns from earlier lives; it touches no others.
"""

import json
import sys
from pathlib import Path

from faults.journal import Journal
from faults.model import SPACE, Author, perform
from recollect import Memory
from recollect.config import load_settings

WEIGHTS = {"add": 6, "update": 5, "delete": 3, "undo": 4, "restore": 1, "import": 2}


def main(store: str, journal_path: str, world_path: str, seed: str) -> None:
    world = {
        uid: tuple((state, text) for state, text in images)
        for uid, images in json.loads(Path(world_path).read_text(encoding="utf-8")).items()
    }
    author = Author(seed, world, WEIGHTS, import_sizes=(10, 40, 520))
    journal = Journal(Path(journal_path))
    copies = int(seed.endswith("0/0"))  # now and then a kill meets the copy before an import of many
    with Memory(store, space=SPACE, actor="writer", settings=load_settings(auto_backups=copies)) as memory:
        while True:
            step = author.next_step()
            journal.intend(step)
            perform(memory, step)
            journal.acknowledge()
            author.happened(step)


if __name__ == "__main__":
    main(*sys.argv[1:])
