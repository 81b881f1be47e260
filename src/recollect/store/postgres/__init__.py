"""The PostgreSQL engine: one database for a team or a fleet, the same verbs and the same answers as SQLite.

A write locks the rows of its spaces first, in id order: the chain of events needs that anyway, writers of different
spaces never wait for each other, and writers of the same ones cannot deadlock.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from psycopg import errors as pg

from recollect.errors import RecollectError, StoreUnavailable
from recollect.store.postgres.connect import Connection, Connections
from recollect.store.postgres.errors import explain
from recollect.store.postgres.lanes import PostgresLanes
from recollect.store.postgres.schema import prepare
from recollect.store.postgres.upkeep import PostgresUpkeep
from recollect.store.relational import RelationalStore
from recollect.store.relational.rows import Row, marks

__all__ = ["PostgresStore"]

_SYNCHRONOUS = {"normal": "off", "full": "on"}
_REGISTRY_LOCK = 0x52434C54_0001  # advisory locks share one number space: "RCLT", then ours


class PostgresStore(PostgresLanes, PostgresUpkeep, RelationalStore):
    engine = "postgresql"
    tag_sql = "jsonb_exists(n.tags::jsonb, ?)"
    for_update = " for no key update"

    def __init__(self, url: str, *, busy_seconds: float = 30.0, durability: str = "full", create: bool = True) -> None:
        self._connections = Connections(url, busy_seconds)
        self.location = self._connections.location
        self._busy_ms = max(1, int(busy_seconds * 1000))
        self._commit = _SYNCHRONOUS[durability]
        self._local = threading.local()
        try:
            with self._bracket("read committed"):
                prepare(self._lent(), self.location, create)
        except BaseException:
            self._connections.close()
            raise

    def close(self) -> None:
        self._connections.close()

    # -- statements -----------------------------------------------------------------------------------------------

    def _lent(self) -> Connection:
        """The connection of the transaction that this thread is in."""
        found: Connection = self._local.connection
        return found

    def _open(self) -> bool:
        return getattr(self._local, "connection", None) is not None

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        if self._open():
            return self._run(self._lent(), sql, values)
        return self._alone(sql, values)

    def _many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        given = list(rows)
        if not given:
            return
        try:
            with self._lent().cursor() as cursor:
                cursor.executemany(_dialect(sql), given)
        except pg.Error as trouble:
            raise explain(trouble, self.location) from trouble

    def _run(self, connection: Connection, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            cursor = connection.execute(_dialect(sql), values or None)
            return cursor.fetchall() if cursor.description is not None else []
        except pg.Error as trouble:
            raise explain(trouble, self.location) from trouble

    def _alone(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """One read outside a transaction; it may be repeated when its connection turns out to be dead."""
        connection = self._connections.take()
        try:
            return self._run(connection, sql, values)
        except StoreUnavailable:
            if not connection.died_idle:
                raise
            self._connections.drop_idle()
            connection = self._connections.fresh()
            return self._run(connection, sql, values)
        finally:
            self._connections.give_back(connection)

    # -- transactions ---------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, spaces: Sequence[int] = ()) -> Iterator[None]:
        with self._savepoint() if self._open() else self._bracket("read committed"):
            self._lock_spaces(spaces)
            yield

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._open():  # joins the one that is open
            yield
            return
        with self._bracket("repeatable read"):
            yield

    def _lock_spaces(self, spaces: Sequence[int]) -> None:
        ids = sorted(set(spaces))
        if ids:
            self._rows(f"select id from spaces where id in ({marks(ids)}) order by id" + self.for_update, ids)

    def _lock_registry(self) -> None:
        self._rows("select pg_advisory_xact_lock(?)", (_REGISTRY_LOCK,))

    @contextlib.contextmanager
    def _bracket(self, isolation: str, lock_ms: int | None = None) -> Iterator[None]:
        connection = self._begin(isolation, lock_ms)
        self._local.connection = connection
        try:
            yield
            self._finish(connection)
        except BaseException:
            with contextlib.suppress(pg.Error):
                connection.execute("rollback")
            raise
        finally:
            self._local.connection = None
            self._connections.give_back(connection)

    def _begin(self, isolation: str, lock_ms: int | None) -> Connection:
        sql = (
            f"begin isolation level {isolation}; set local synchronous_commit = {self._commit}; "
            f"set local lock_timeout = {lock_ms or self._busy_ms}; set local statement_timeout = {self._busy_ms}"
        )
        connection = self._connections.take()
        try:
            self._run(connection, sql)
        except StoreUnavailable:
            again = connection.died_idle
            self._connections.give_back(connection)
            if not again:
                raise
            self._connections.drop_idle()
            connection = self._connections.fresh()
            self._run(connection, sql)
        return connection

    def _finish(self, connection: Connection) -> None:
        try:
            self._run(connection, "commit")
        except RecollectError as trouble:
            if connection.broken:
                trouble.hint = "the connection broke while committing: read again before repeating the change"
            raise

    def _next_ids(self, name: str, count: int) -> Sequence[int]:
        rows = self._rows("select nextval(?::text::regclass) from generate_series(1, ?)", (f"{name}_ids", count))
        return [row[0] for row in rows]


@lru_cache(maxsize=512)
def _dialect(sql: str) -> str:
    """Shared statements are written with `?`; psycopg binds `%s`."""
    return sql.replace("%", "%%").replace("?", "%s")
