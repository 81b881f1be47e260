"""Disks that misbehave, as SQLite VFSs under our own connection policy.

Both sit between SQLite and the real file system and see every write, sync, truncation and deletion of a database
and its log; shared memory, locks and reads go straight through. They become the default VFS while in use, so that
the code under test opens its files as ever.
"""

import contextlib
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


@dataclass(frozen=True, slots=True)
class Io:
    """One operation that changes a file; `what` is write, sync, truncate or delete.

    `offset` is the new size of a truncation, and 1 for a deletion that is synced at once.
    """

    what: str
    path: str
    offset: int = 0
    content: bytes = b""


class Disk(apsw.VFS):
    """Hands every changing operation to `on_io`, which may raise instead of letting it through."""

    def __init__(self) -> None:
        self.name = f"disk-{id(self):x}"
        self.base = apsw.vfs_names()[0]
        super().__init__(self.name, self.base, makedefault=True)

    def on_io(self, io: Io) -> None:
        raise NotImplementedError

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.on_io(Io("delete", filename, offset=int(syncdir)))
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        super().__init__(disk.base, name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.on_io(Io("write", self._path, offset, bytes(data)))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.on_io(Io("sync", self._path))  # the real disk may take its time: its power stays on

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.on_io(Io("truncate", self._path, newsize))
        super().xTruncate(newsize)


@contextlib.contextmanager
def in_use(disk: Disk, checkpoint_pages: int) -> Iterator[None]:
    """Every connection made inside works on this disk, and empties its log often, so that a short script does too."""

    def often(connection: apsw.Connection) -> None:
        connection.wal_autocheckpoint(checkpoint_pages)

    apsw.connection_hooks.append(often)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(often)
        disk.unregister()


class FailingDisk(Disk):
    """Fails from its n-th operation on: that one alone, or every later one too."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.fail_at = 0
        self.persistent = False
        self.full = False

    def on_io(self, io: Io) -> None:
        self.count += 1
        if self.fail_at and (self.count == self.fail_at or (self.persistent and self.count > self.fail_at)):
            # A deletion cannot fail for want of space.
            raise apsw.FullError("no space") if self.full and io.what != "delete" else apsw.IOError("the disk failed")


class RecordingDisk(Disk):
    """Keeps what happened in order, so that a power cut can be made afterwards at any point of it."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Io] = []

    def on_io(self, io: Io) -> None:
        if io.path:  # a temporary file without a name does not outlive the power
            self.log.append(io)


class _Platter:
    """One file: what is surely on the disk, and what was written since and may or may not have got there."""

    def __init__(self, content: bytes | None) -> None:
        self.durable = content  # None: there is no such file
        self.pending: list[Io] = []

    def take(self, io: Io) -> None:
        if io.what != "sync":
            self.pending.append(io)
        if io.what == "sync" or (io.what == "delete" and io.offset):
            self.durable, self.pending = _apply_all(self.durable, self.pending), []


def _apply_all(content: bytes | None, operations: list[Io]) -> bytes | None:
    for io in operations:
        content = _apply(content, io)
    return content


def _apply(content: bytes | None, io: Io) -> bytes | None:
    if io.what == "delete":
        return None
    held = bytearray(content or b"")
    if io.what == "truncate":
        del held[io.offset :]
        return bytes(held.ljust(io.offset, b"\0"))
    held.extend(b"\0" * (io.offset + len(io.content) - len(held)))
    held[io.offset : io.offset + len(io.content)] = io.content
    return bytes(held)


def _torn(content: bytes | None, operations: list[Io], dice: random.Random) -> bytes | None:
    """Some of the unsynced operations, sector by sector: a disk writes what it likes in the order it likes."""
    share = dice.random()
    if content is None and dice.random() > share:
        return None  # the new file never got its name
    for io in operations:
        if io.what != "write":
            if dice.random() < share:
                content = _apply(content, io)
            elif io.what == "delete":
                return content  # the old file is still there; what came later went to another one of the same name
            continue
        for start in range(0, len(io.content), SECTOR):
            if dice.random() < share:
                content = _apply(content, Io("write", io.path, io.offset + start, io.content[start : start + SECTOR]))
    return content


def after_power_cut(start: dict[str, bytes], log: list[Io], survival: str, dice: random.Random) -> dict[str, bytes]:
    """The files as a cut after the last operation of `log` leaves them.

    `survival` says what becomes of unsynced operations: none, all, or some of them (torn into sectors). A new file
    gets its name with its first sync, as SQLite syncs the folder then; so does a file that replaces a deleted one.
    """
    platters = {path: _Platter(content) for path, content in start.items()}
    for io in log:
        platters.setdefault(io.path, _Platter(None)).take(io)
    files: dict[str, bytes] = {}
    for path, platter in platters.items():
        if survival == "none":
            content = platter.durable
        elif survival == "all":
            content = _apply_all(platter.durable, platter.pending)
        else:
            content = _torn(platter.durable, platter.pending, dice)
        if content is not None:
            files[path] = content
    return files


def put_back(files: dict[str, bytes], old: Path, new: Path) -> None:
    """Writes the files of one folder into another, as private as a store is."""
    for path, content in files.items():
        target = new / Path(path).relative_to(old)
        with open(os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as stream:
            stream.write(content)
