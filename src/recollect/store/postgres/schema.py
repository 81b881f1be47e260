"""Recognises a store, brings an older one up to date, or makes one: under a lock, in one transaction, and never over
somebody else's tables.
"""

import re
from pathlib import Path
from typing import Any

from psycopg import errors as pg

from recollect.errors import NotFound, StoreForeign, StoreUnavailable
from recollect.store import SCHEMA_VERSION
from recollect.store.postgres.connect import Connection
from recollect.store.postgres.errors import explain
from recollect.store.relational.steps import TIERS

VERSION_KEY = "recollect_schema"
OLDEST_SERVER = 16
OLDEST_PGVECTOR = (0, 8)
_SCHEMA_LOCK = 0x52434C54_0000
_PAIRS = """
create sequence pairs_ids;
alter table tool_pairs add column change bigint not null default 0;
create index tool_pairs_change on tool_pairs (space, change);
"""
STEPS = {2: TIERS + _PAIRS, 3: ""}  # what leads to a version from the one before; 3 concerns SQLite alone


def schema_sql() -> str:
    return Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


def prepare(connection: Connection, location: str, create: bool) -> None:
    """Leaves a store of this version behind, inside the caller's transaction."""
    try:
        version = _recognised(connection, location)
        if version == SCHEMA_VERSION:
            return
        if version is None and not create:
            raise NotFound(f"there is no store at {location}", hint="`recollect add` makes one, or check --store")
        connection.execute("select pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
        version = _recognised(connection, location)  # another process may have been quicker
        if version is not None:
            _migrate(connection, version)
            return
        _require_server(connection, location)
        connection.execute(schema_sql())
        _write_version(connection)
    except pg.Error as trouble:
        raise explain(trouble, location) from trouble


def _migrate(connection: Connection, version: int) -> None:
    for step in range(version + 1, SCHEMA_VERSION + 1):
        connection.execute(STEPS[step])
    _write_version(connection)


def _write_version(connection: Connection) -> None:
    connection.execute(
        "insert into meta (key, value) values (%s, %s) on conflict (key) do update set value = excluded.value",
        (VERSION_KEY, str(SCHEMA_VERSION)),
    )


def _recognised(connection: Connection, location: str) -> int | None:
    """The version of the store that is there, None where nothing is in the way."""
    names = re.findall(r"create table (\w+)", schema_sql())
    taken = {row[0] for row in connection.execute(_TAKEN, (names,))}
    if not taken:
        return None
    version = _version(connection) if taken == set(names) else None
    if version is None:
        raise StoreForeign(
            f"{location} has other tables called {', '.join(sorted(taken)[:4])}",
            hint="use an empty database, or a schema of its own: …?options=-csearch_path%3Drecollect",
        )
    if version > SCHEMA_VERSION:
        raise StoreForeign(
            f"{location} was written by a newer recollect (schema {version}, this one knows {SCHEMA_VERSION})",
            hint="upgrade: pip install --upgrade recollect",
        )
    return version


_TAKEN = "select tablename from pg_tables where schemaname = current_schema() and tablename = any(%s)"
_COLUMNS = (
    "select count(*) from information_schema.columns "
    "where table_schema = current_schema() and table_name = 'meta' and column_name in ('key', 'value')"
)


def _version(connection: Connection) -> int | None:
    if _one(connection, _COLUMNS) != 2:
        return None
    text = _one(connection, "select value from meta where key = %s", (VERSION_KEY,))
    return int(text) if text is not None and str(text).isdigit() else None


def _require_server(connection: Connection, location: str) -> None:
    major = connection.info.server_version // 10000
    if major < OLDEST_SERVER:
        raise StoreUnavailable(
            f"{location} is PostgreSQL {major}; {OLDEST_SERVER} or later is needed", hint="upgrade the server"
        )
    if _one(connection, "select pg_encoding_to_char(encoding) from pg_database where datname = current_database()") != (
        "UTF8"
    ):
        raise StoreUnavailable(f"{location} is not encoded in UTF-8", hint="create the database with encoding 'UTF8'")
    _require_pgvector(connection, location)


def _require_pgvector(connection: Connection, location: str) -> None:
    hint = "have an administrator install pgvector and run: create extension vector"
    try:
        with connection.transaction():
            connection.execute("create extension if not exists vector")
    except (pg.InsufficientPrivilege, pg.FeatureNotSupported, pg.UndefinedFile) as trouble:
        raise StoreUnavailable(f"{location} has no pgvector", hint=hint) from trouble
    version = str(_one(connection, "select extversion from pg_extension where extname = 'vector'"))
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        raise StoreUnavailable(f"{location} has pgvector {version}; 0.8 or later is needed", hint=hint)


def _one(connection: Connection, sql: str, values: tuple[Any, ...] = ()) -> Any:
    row = connection.execute(sql, values or None).fetchone()
    return row[0] if row else None
