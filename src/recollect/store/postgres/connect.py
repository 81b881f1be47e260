"""Connections to PostgreSQL: lent for one transaction, dropped when broken, never carried across a fork.

Settings are made inside each transaction, so that the store also works behind a transaction pooler. Statements are
never prepared by name: after five runs the server would keep one plan for all spaces, twenty times slower for some.
"""

import os
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import StoreUnavailable
from recollect.store.postgres.errors import explain

_CONNECT_SECONDS = 10


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """Gives up on a server that stops answering; a working one ends a slow statement by itself before that."""

    patience = 30.0
    hung = False

    @property
    def died_idle(self) -> bool:
        """Lost without having kept the caller waiting: what it was asked may be asked again."""
        return self.broken and not self.hung

    def wait(self, gen: Any, *args: Any, **settings: Any) -> Any:
        return super().wait(self._watched(gen), *args, **settings)

    def _watched(self, gen: Any) -> Any:
        """Passes on what the driver waits for; wakes with it a few times a second and looks at the clock."""
        deadline = time.monotonic() + self.patience + 2
        answer = None
        while True:
            try:
                wanted = gen.send(answer)
            except StopIteration as done:
                return done.value
            answer = yield wanted
            while not answer:
                if time.monotonic() > deadline:
                    self.hung = True
                    self.pgconn.finish()
                    raise pg.OperationalError("the server does not answer")
                answer = yield wanted


class Connections:
    """Idle connections, newest first; as many are open as threads work at the same time."""

    def __init__(self, url: str, seconds: float) -> None:
        self.location = _without_password(url)
        self._url = url
        self._seconds = seconds
        self._idle: list[Connection] = []
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._closed = False

    def take(self) -> Connection:
        with self._lock:
            if self._pid != os.getpid():  # a child must not speak on its parent's sockets
                self._idle, self._pid = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        return self.fresh()

    def fresh(self) -> Connection:
        if self._closed:
            raise StoreUnavailable(f"{self.location} was closed", hint="open the store again")
        seconds = max(2, min(_CONNECT_SECONDS, int(self._seconds)))
        try:
            connection = Connection.connect(
                self._url, autocommit=True, prepare_threshold=None, connect_timeout=seconds,
                application_name="recollect", keepalives_idle=10, keepalives_interval=5, keepalives_count=3,
            )  # fmt: skip
        except pg.Error as trouble:
            raise explain(trouble, self.location) from trouble
        connection.patience = self._seconds
        return connection

    def give_back(self, connection: Connection) -> None:
        with self._lock:
            if not connection.closed and not connection.broken and not self._closed and self._pid == os.getpid():
                self._idle.append(connection)
                return
        connection.close()

    def drop_idle(self) -> None:
        """After one was lost the others are likely dead too: the server was restarted."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        self._closed = True
        self.drop_idle()


def _without_password(url: str) -> str:
    try:
        parts = conninfo_to_dict(url)
    except pg.Error as trouble:
        raise StoreUnavailable(
            f"not a PostgreSQL URL: {urlsplit(url).scheme}://…",
            hint="it looks like postgresql://user@host:5432/database",
        ) from trouble
    user, host, port = (str(parts.get(name) or "") for name in ("user", "host", "port"))
    return f"postgresql://{user + '@' if user else ''}{host}{':' + port if port else ''}/{parts.get('dbname') or user}"
