"""A worker that makes a store, in a race with others: `python -m faults.founder STORE NAME`.

It says when it is ready, waits for a line, opens the store and adds one note; it says when that is acknowledged.
"""

import sys

from faults.model import SPACE
from recollect import Memory


def main(store: str, name: str) -> None:
    print("ready")
    sys.stdin.readline()
    with Memory(store, space=SPACE, actor="founder") as memory:
        memory.add(f"{name} was here")
    print("acknowledged")


if __name__ == "__main__":
    main(*sys.argv[1:])
