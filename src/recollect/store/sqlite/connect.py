"""Opening a store file: made whole or not at all, recognised before it is touched, every PRAGMA read back.

A new store is built under a temporary name and linked into place, so that a crash leaves either no file or a whole
one; an empty or foreign file is therefore never ours and is refused. SQLite versions before 3.51.3 can lose commits
when several processes reset the write-ahead log, so they are refused too.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from recollect.errors import (
    Conflict,
    RecollectError,
    StoreBusy,
    StoreCorrupt,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from recollect.files import make_private_folder, unwritable
from recollect.store import SCHEMA_VERSION
from recollect.store.sqlite import forking, places
from recollect.store.sqlite.migrations import migrate

APPLICATION_ID = 0x52434C54  # "RCLT"
PAGE_BYTES = 8192  # holds five vectors of the bundled model where 4096 holds two: bulk writes take a tenth less
CACHE_KB = 2_000  # of each connection, at most
BULK_CACHE_KB = 32_000  # while much is written: each page once, instead of pushing it out to make room
OLDEST_SQLITE = (3, 51, 3)
_SYNCHRONOUS = {"normal": 1, "full": 2}


def open_connection(path: Path, busy_seconds: float, durability: str) -> apsw.Connection:
    """A connection with our policy, to a file that is known to be a store of this version."""
    _check_sqlite(apsw.sqlite_lib_version())
    forking.refuse_stranded(path)
    places.refuse_network(path)
    with translated(path):
        _drop_second_name(path)
        connection = apsw.Connection(str(path), flags=_flags(path))
        try:
            connection.set_busy_handler(busy_handler(busy_seconds))
            _recognise(connection, path)
            _set_policy(connection, path, durability)
            if not connection.readonly("main"):
                migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    forking.watch(connection, path)
    return connection


def _flags(path: Path) -> int:
    """Read-only where the user may not write the file; SQLite still needs the folder for its `-shm` file."""
    return apsw.SQLITE_OPEN_READWRITE if os.access(path, os.W_OK) else apsw.SQLITE_OPEN_READONLY


def make_store(path: Path, durability: str) -> None:
    """Creates the store under a temporary name and links it into place; losing the race to another is fine."""
    with translated(path):
        make_private_folder(path.parent)
        places.refuse_network(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.new")
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            _write_schema(temporary, durability)
            with contextlib.suppress(FileExistsError):
                _put_in_place(temporary, path)
        finally:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{temporary}{suffix}").unlink(missing_ok=True)


def _put_in_place(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: rename refuses to overwrite on Windows, and here we look first
        if path.exists():
            raise FileExistsError(path) from None
        temporary.rename(path)


def _write_schema(path: Path, durability: str) -> None:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute(f"pragma page_size = {PAGE_BYTES}")
        connection.execute("pragma auto_vacuum = incremental")
        _set_policy(connection, path, durability)
        with connection:
            connection.execute(schema_sql())
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
            connection.execute(f"pragma user_version = {SCHEMA_VERSION}")
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    finally:
        connection.close()


def schema_sql() -> str:
    return Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


def _recognise(connection: apsw.Connection, path: Path) -> None:
    application = connection.pragma("application_id")
    version = connection.pragma("user_version")
    if application != APPLICATION_ID:
        raise StoreForeign(
            f"{path} is not a recollect store", hint="choose another path with --store; this file was left as it is"
        )
    if version > SCHEMA_VERSION:
        raise StoreForeign(
            f"{path} was written by a newer recollect (schema {version}, this one knows {SCHEMA_VERSION})",
            hint="upgrade: pip install --upgrade recollect",
        )
    _refuse_truncated(connection, path)


def _refuse_truncated(connection: apsw.Connection, path: Path) -> None:
    """A file that lost its tail is still opened by SQLite; its own page count gives it away.

    Pages that are only in the log so far are counted too. Whether there is a log is asked after the count, within
    one read transaction: then nobody can empty the log in between, and a log that is empty held none of them.
    """
    log = Path(f"{path}-wal")
    with connection:
        promised = connection.pragma("page_count") * connection.pragma("page_size")
        if log.exists() and log.stat().st_size:
            return
        there = path.stat().st_size
    if there < promised:
        raise StoreCorrupt(
            f"{path} was cut off: {there} of {promised} bytes are there",
            hint="`recollect backup list` shows backups; `recollect backup restore` brings one back",
        )


def _drop_second_name(path: Path) -> None:
    """A maker that was killed right after linking leaves the store under its temporary name as well.

    Whoever removes the store later would keep all of it under a hidden name.
    """
    if path.stat().st_nlink < 2:
        return
    with contextlib.suppress(OSError):  # where the folder cannot be written, it stays
        for other in path.parent.iterdir():
            if other.name.startswith(f".{path.name}.") and other.name.endswith(".new") and other.samefile(path):
                other.unlink(missing_ok=True)


def _set_policy(connection: apsw.Connection, path: Path, durability: str) -> None:
    """Sets each PRAGMA and reads it back: SQLite ignores what it cannot do."""
    wanted: dict[str, int | str] = {
        "journal_mode": "wal",
        "synchronous": _SYNCHRONOUS[durability],
        "foreign_keys": 1,
        "secure_delete": 1,
        "trusted_schema": 0,
        "temp_store": 2,  # in memory: no note's text spills into the system's temporary folder
        "cache_size": -CACHE_KB,
    }
    if connection.readonly("main"):
        del wanted["journal_mode"]
    for name, value in wanted.items():
        connection.pragma(name, value)
        if (got := connection.pragma(name)) != value:
            raise StoreUnavailable(
                f"SQLite refused {name}={value} for {path} (it stays {got})",
                hint="keep the store on a local disk; network file systems cannot share a write-ahead log",
            )


def _check_sqlite(version: str) -> None:
    if tuple(int(part) for part in version.split(".")[:3]) < OLDEST_SQLITE:
        raise StoreUnavailable(
            f"SQLite {version} can lose commits when several processes share a store",
            hint="upgrade: pip install --upgrade apsw",
        )


def busy_handler(seconds: float) -> Callable[[int], bool]:
    """Sleeps 0.5-3 ms at random: SQLite's own back-off starves some writers for seconds."""
    deadline = [0.0]

    def wait(calls: int) -> bool:
        if calls == 0:
            deadline[0] = time.monotonic() + seconds
        if time.monotonic() > deadline[0]:
            return False
        from random import uniform  # a millisecond that most commands never need

        time.sleep(uniform(0.0005, 0.003))
        return True

    return wait


@contextlib.contextmanager
def translated(path: Path | str) -> Iterator[None]:
    """SQLite's and the system's errors as ours."""
    try:
        yield
    except apsw.Error as trouble:
        raise explain(trouble, path) from trouble
    except OSError as trouble:
        raise unwritable(Path(path), trouble) from trouble


def explain(trouble: apsw.Error | UnicodeDecodeError, path: Path | str) -> RecollectError:
    text = str(trouble)
    if isinstance(trouble, apsw.BusyError | apsw.LockedError):
        return StoreBusy(
            f"{path} is in use by another writer: {text}",
            hint="try again; `busy_timeout_seconds` in the settings waits longer",
        )
    if isinstance(trouble, apsw.FullError):
        return StoreFull(f"no space left for {path}", hint="free some disk space; nothing was changed")
    if isinstance(trouble, apsw.ReadOnlyError):
        return StoreReadOnly(f"{path} cannot be written", hint="check its permissions, or choose another with --store")
    if isinstance(trouble, apsw.NotADBError):
        return StoreForeign(
            f"{path} is not a recollect store", hint="choose another path with --store; this file was left as it is"
        )
    if isinstance(trouble, apsw.CorruptError | UnicodeDecodeError):
        return StoreCorrupt(f"{path} is damaged: {text}", hint="run `recollect doctor`; it can rebuild or restore")
    if isinstance(trouble, apsw.ConstraintError):
        return Conflict(f"the change clashes with what is stored: {text}", hint="read it again and retry")
    if isinstance(trouble, apsw.CantOpenError):
        return StoreUnavailable(f"cannot open {path}", hint="check that the folder exists and may be written")
    return StoreUnavailable(f"{path}: {text}", hint="run `recollect doctor`")
