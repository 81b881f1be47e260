"""The SQLite engine: one file, every process works on it directly, a connection per thread.

Writes take the write lock at once (`begin immediate`) and are short; a reader keeps one snapshot for a whole search.
"""

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import NotFound, StoreForeign
from recollect.store.relational import RelationalStore
from recollect.store.relational.rows import Row
from recollect.store.sqlite.connect import (
    BULK_CACHE_KB,
    CACHE_KB,
    busy_handler,
    explain,
    make_store,
    open_connection,
    translated,
)
from recollect.store.sqlite.lanes import SqliteLanes
from recollect.store.sqlite.places import identity, refuse_replaced
from recollect.store.sqlite.upkeep import SqliteUpkeep
from recollect.values import MANY

__all__ = ["SqliteStore"]


class SqliteStore(SqliteLanes, SqliteUpkeep, RelationalStore):
    engine = "sqlite"
    tag_sql = "exists (select 1 from json_each(n.tags) where value = ?)"
    for_update = ""

    def __init__(
        self, path: Path | str, *, busy_seconds: float = 30.0, durability: str = "full", create: bool = True
    ) -> None:
        super().__init__()
        self.path = Path(path)
        self.location = str(self.path)
        self._busy_seconds = busy_seconds
        self._durability = durability
        self._local = threading.local()
        self._open: list[apsw.Connection] = []
        self._lock = threading.Lock()
        with translated(self.path):
            self._find_or_make(create)
        self._connection()

    def _find_or_make(self, create: bool) -> None:
        if not self.path.exists():
            if not create:
                raise NotFound(f"there is no store at {self.path}", hint="`recollect add` makes one, or check --store")
            make_store(self.path, self._durability)
        elif self.path.is_dir() or self.path.stat().st_size == 0:
            what = "a folder" if self.path.is_dir() else "an empty file"
            raise StoreForeign(
                f"{self.path} is {what}, not a recollect store",
                hint="move it away or choose another path with --store; it was left as it is",
            )

    def close(self) -> None:
        with self._lock:
            connections, self._open = self._open, []
        for connection in connections:
            with contextlib.suppress(apsw.Error):  # in use by another thread, or the log stays for the next open
                connection.close()
        self._local = threading.local()

    def _connection(self) -> apsw.Connection:
        """This thread's connection; a forked child opens its own, since SQLite's must not cross a fork."""
        local = self._local
        if getattr(local, "pid", None) != os.getpid():
            local.connection = open_connection(self.path, self._busy_seconds, self._durability)
            local.pid = os.getpid()
            local.depth = 0
            local.writing = False
            local.opened = identity(self.path)
            with self._lock:
                self._open.append(local.connection)
        found: apsw.Connection = local.connection
        return found

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._connection().execute(sql, values).fetchall()
        except (apsw.Error, UnicodeDecodeError) as trouble:
            raise explain(trouble, self.path) from trouble

    def _many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        try:
            self._connection().executemany(sql, rows)
        except apsw.Error as trouble:
            raise explain(trouble, self.path) from trouble

    @contextlib.contextmanager
    def transaction(self, spaces: Sequence[int] = ()) -> Iterator[None]:
        self._connection()
        if self._local.depth:
            with self._savepoint():
                yield
            return
        self._local.writing = True
        try:
            with self._bracket("begin immediate"):
                yield
        finally:
            self._local.writing = False

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        self._connection()
        if self._local.depth:  # joins the one that is open
            yield
            return
        with self._bracket("begin"):
            yield

    @contextlib.contextmanager
    def _bracket(self, begin: str) -> Iterator[None]:
        connection, local = self._connection(), self._local
        refuse_replaced(self.path, local.opened)
        self._rows(begin)
        local.depth = 1
        try:
            yield
            self._rows("commit")
        except BaseException:
            if not connection.get_autocommit():
                connection.execute("rollback")
            raise
        finally:
            local.depth = 0

    @contextlib.contextmanager
    def _room_for(self, changes: int) -> Iterator[None]:
        if changes < MANY:
            yield
            return
        connection = self._connection()
        connection.pragma("cache_size", -BULK_CACHE_KB)
        try:
            yield
        finally:
            connection.pragma("cache_size", -CACHE_KB)

    def _writing(self) -> bool:
        return bool(self._local.writing)

    def _size_on_disk(self) -> int:
        return self.path.stat().st_size

    def _restore_busy_handler(self, connection: apsw.Connection) -> None:
        connection.set_busy_handler(busy_handler(self._busy_seconds))

    def _next_ids(self, name: str, count: int) -> Sequence[int]:
        last: int = self._rows(
            "insert into counters (name, value) values (?, ?) "
            "on conflict (name) do update set value = value + excluded.value returning value",
            (name, count),
        )[0][0]
        return range(last - count + 1, last + 1)
