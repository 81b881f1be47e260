"""Putting a copy in the place of a store, never while anybody else works with it.

The content is replaced inside the file, in one transaction of SQLite's backup API: a process that opens the store
meanwhile sees the old content or the new one, and no write-ahead log of one file can ever be applied to another. Only
a file that cannot be opened any more is moved away as it is.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from recollect.errors import StoreBusy, StoreCorrupt
from recollect.store import SCHEMA_VERSION
from recollect.store.relational.rows import batches, marks
from recollect.store.sqlite.connect import APPLICATION_ID, open_connection, translated

_LOGS = ("-wal", "-shm")


def copy(source: Path, target: Path) -> None:
    """Through SQLite, so that a source with a write-ahead log of its own is copied whole."""
    with translated(source):
        os.close(os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
        reader, writer = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY), apsw.Connection(str(target))
        try:
            _pour(reader, writer)
        finally:
            writer.close()
            reader.close()


def copy_older(source: Path, target: Path) -> bool:
    """Copies a store that has an older schema than ours as it is, checked before it gets its name; False for others."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")  # another process may be at the same
    try:
        with translated(source):
            connection = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                ours = connection.pragma("application_id") == APPLICATION_ID
                if not ours or connection.pragma("user_version") >= SCHEMA_VERSION:
                    return False
            finally:
                connection.close()
        copy(source, part)
        with translated(part):
            copied = apsw.Connection(str(part))
            try:
                if copied.pragma("integrity_check") != "ok":
                    raise StoreCorrupt(f"the copy of {source} is damaged", hint="run `recollect doctor`")
                copied.pragma("journal_mode", "delete")
            finally:
                copied.close()
        part.replace(target)
    finally:
        discard(part)
    return True


def holds(path: Path, notes: Sequence[str], sessions: Sequence[str]) -> bool:
    """Whether a store has one of these notes or sessions; True where it cannot be told."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return True
    try:
        for table, uids in (("notes", notes), ("sessions", sessions)):
            for part in batches(uids):
                if connection.execute(f"select 1 from {table} where uid in ({marks(part)}) limit 1", part).fetchall():
                    return True
    except apsw.Error:
        return True
    finally:
        connection.close()
    return False


def put_in_place(staged: Path, path: Path, aside: Path) -> Path | None:
    """The content of `staged`, a sound store, becomes that of `path`; returns where the old content is, if any."""
    if not path.exists():
        staged.replace(path)
        return None
    try:
        connection = open_connection(path, busy_seconds=1.0, durability="full")
    except StoreCorrupt:
        return move_away(staged, path)
    return _replace_inside(connection, staged, path, aside)


def discard(staged: Path) -> None:
    for suffix in ("", *_LOGS):
        Path(f"{staged}{suffix}").unlink(missing_ok=True)


def _pour(reader: apsw.Connection, writer: apsw.Connection) -> None:
    with writer.backup("main", reader, "main") as running:
        while not running.done:
            running.step(-1)


def _replace_inside(connection: apsw.Connection, staged: Path, path: Path, aside: Path) -> Path:
    try:
        with translated(path):
            _refuse_others(connection, path)
            _set_aside(connection, aside)
            reader = apsw.Connection(str(staged), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                _pour(reader, connection)
            finally:
                reader.close()
    finally:
        connection.close()
    return aside


def _refuse_others(connection: apsw.Connection, path: Path) -> None:
    """Leaving the write-ahead log needs the file to oneself, so SQLite itself says whether anybody else is there."""
    try:
        connection.pragma("journal_mode", "delete")
    except apsw.BusyError:
        raise StoreBusy(
            f"{path} is in use by another process", hint="close the agents and servers that use it and try again"
        ) from None


def _set_aside(connection: apsw.Connection, aside: Path) -> None:
    os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    copy = apsw.Connection(str(aside))
    try:
        _pour(connection, copy)
    finally:
        copy.close()


def move_away(staged: Path, path: Path) -> Path:
    """The logs first: a log that stayed would be applied to the file that comes."""
    for number in range(1000):
        aside = path.with_name(f"{path.name}.damaged-{number}")
        if not aside.exists():
            break
    with translated(path):
        for suffix in (*_LOGS, ""):
            if Path(f"{path}{suffix}").exists():
                Path(f"{path}{suffix}").replace(f"{aside}{suffix}")
        staged.replace(path)
    return aside
