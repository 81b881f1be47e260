"""Which places were once indexed and are kept in step since then, on this machine.

A store may serve several machines and each has files of its own, so the list is kept under the machine's name. With a
place goes what decided where its content belongs: the space that was asked for, and the folder that it was asked in.
A place that is not there at the moment is left alone: a disk that is not mounted must not empty the index.
"""

import json
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from recollect.store import Store
from recollect.values import value

AGENTS = ""  # stands for the histories of the agents that are installed here


@value
class Followed:
    """A folder, or AGENTS; `space` and `folder` are those of the Memory that first indexed it."""

    path: str
    space: str
    folder: str

    def covers(self, path: str) -> bool:
        return bool(self.path) and Path(path).is_relative_to(self.path)


@value
class IndexedFile:
    """A file as it was when it was last read; `source` is files, or sessions for a transcript."""

    path: str
    source: str
    reader: str
    bytes: int
    indexed_ms: int


@value
class Sources:
    """What is indexed: the places that are followed, and every file in sight."""

    folders: tuple[str, ...]
    agents: bool
    files: tuple[IndexedFile, ...]


def sources(store: Store, spaces: Sequence[int]) -> Sources:
    """The places that this machine follows, and the indexed files of these spaces in the order of their paths."""
    places = [one.path for one in followed(store)]
    rows = sorted((row for row in store.files(under="") if row.space in spaces), key=lambda row: row.path)
    files = tuple(IndexedFile(row.path, row.source, row.reader, row.size, row.indexed_ms) for row in rows)
    return Sources(tuple(path for path in places if path != AGENTS), AGENTS in places, files)


def followed(store: Store) -> tuple[Followed, ...]:
    kept = store.get_meta(_key())
    return tuple(Followed(*row) for row in json.loads(kept)) if kept else ()


def follow(store: Store, new: Iterable[Followed]) -> None:
    """Adds folders to the list; one inside another that is there already adds nothing."""
    known = followed(store)
    wanted = list(known)
    for one in new:
        if not any(one.path == other.path or (one.path and other.covers(one.path)) for other in wanted):
            wanted = [other for other in wanted if not one.covers(other.path)] + [one]
    _keep(store, known, wanted)


def unfollow(store: Store, paths: Sequence[str]) -> None:
    """Takes the named folders, and all inside them, off the list."""
    known = followed(store)
    _keep(store, known, [one for one in known if not one.path or not any(_inside(one.path, path) for path in paths)])


def _inside(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(folder)


def _keep(store: Store, known: Sequence[Followed], wanted: Sequence[Followed]) -> None:
    if list(known) != list(wanted):
        store.set_meta(_key(), json.dumps([[one.path, one.space, one.folder] for one in wanted]))


def _key() -> str:
    return f"followed:{platform.node()}"
