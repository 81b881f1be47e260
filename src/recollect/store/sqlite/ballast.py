"""A file that takes up room so that there is some to give: on a full disk even a deletion has to write first.

Laid beside a store that is large enough for it when that is cleaned up, given up when a deletion finds the disk full,
and laid again once there is room. It holds random bytes, since some file systems store zeros in no room at all.
"""

import os
import shutil
from pathlib import Path

SIZE = 1_000_000  # a deletion was measured to need a fifth of it
LEAST_STORE = 4 * SIZE
LEAST_FREE = 20 * SIZE


def path_of(store: Path) -> Path:
    return store.with_name(f"{store.name}-ballast")


def lay(store: Path) -> bool:
    """False while the disk has no room to spare."""
    place = path_of(store)
    try:
        if shutil.disk_usage(store.parent).free < LEAST_FREE:
            return False
        if not place.exists() and store.stat().st_size >= LEAST_STORE:
            with open(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:  # noqa: PTH123
                stream.write(os.urandom(SIZE))
    except OSError:
        return False
    return True


def give_up(store: Path) -> bool:
    """True if there was one."""
    try:
        path_of(store).unlink()
    except OSError:
        return False
    return True
