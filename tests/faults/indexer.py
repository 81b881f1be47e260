"""A process that indexes a folder and cuts everything anew, over and over; made to be killed."""

import sys

from recollect import Memory


def main() -> None:
    store, folder = sys.argv[1:3]
    with Memory(store, space="desk") as memory:
        memory.index(folder, embed=False)
        memory.reindex("hashing", force=True)


if __name__ == "__main__":
    main()
