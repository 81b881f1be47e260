"""A worker that cleans a store up once and is killed at it: `python -m faults.cleaner STORE HOME MAX_NOTES`."""

import sys
from pathlib import Path

from faults.model import SPACE
from recollect import Memory
from recollect.config import load_settings


def main(store: str, home: str, max_notes: str) -> None:
    settings = load_settings(home=Path(home), auto_backups=0)
    with Memory(store, space=SPACE, settings=settings) as memory:
        memory.list()
        print("ready", flush=True)
        sys.stdin.readline()
        memory.cleanup(max_notes=int(max_notes))
        print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
