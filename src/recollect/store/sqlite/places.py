"""Where a store file lies: not on a network file system, and still the file that was opened.

A write-ahead log is shared through memory, which machines do not have in common; on a network file system two of them
would corrupt the store. A file that was replaced or removed keeps its old content alive for whoever has it open, and
whatever is written there is lost.
"""

import functools
import os
import sys
from pathlib import Path

from recollect.errors import StoreUnavailable

MOUNTS = "/proc/self/mounts"
NETWORK = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "ncpfs", "9p", "glusterfs", "fuse.glusterfs",
     "fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs", "davfs"}
)  # fmt: skip
Identity = tuple[int, int]


def refuse_network(path: Path) -> None:
    if sys.platform != "linux":
        return  # elsewhere SQLite itself says when it cannot share its log
    kind = _file_system(os.path.realpath(path.parent), MOUNTS)
    if kind in NETWORK:
        raise StoreUnavailable(
            f"{path} is on a network file system ({kind}), where machines cannot share a store",
            hint="keep the store on a local disk, or use PostgreSQL: --store postgresql://…",
        )


@functools.lru_cache(maxsize=64)
def _file_system(folder: str, mounts: str) -> str:
    try:
        text = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    return file_system(folder, text)


def file_system(folder: str, mounts: str) -> str:
    """The type of the innermost mount that holds the folder; the machine's own root is local whatever it is called."""
    best, kind = "", ""
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        place = words[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        if (folder == place or folder.startswith(place.rstrip("/") + "/")) and len(place) >= len(best):
            best, kind = place, words[2]
    return "" if best == "/" else kind


def identity(path: Path) -> Identity | None:
    """What tells a file from another that takes its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def refuse_replaced(path: Path, opened: Identity | None) -> None:
    if identity(path) != opened:
        raise StoreUnavailable(
            f"{path} was replaced or removed while it was in use",
            hint="nothing was changed; open the store again to work with the file that is there now",
        )
