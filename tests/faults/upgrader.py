"""A victim that brings a store up to date: by the steps that were released, and by made-up ones beyond the newest.

The made-up steps do what a step may do: they change a table that is full, fill a new one and compute in Python.
"""

from multiprocessing.connection import Connection
from pathlib import Path

import apsw

from recollect.store import SCHEMA_VERSION
from recollect.store.sqlite.migrations import MIGRATIONS, Migration, migrate


def count_words(connection: apsw.Connection) -> None:
    for id, content in connection.execute("select id, content from notes").fetchall():
        connection.execute("insert into words values (?, ?)", (id, len(str(content).split())))


STEPS = (
    *MIGRATIONS,
    Migration(
        SCHEMA_VERSION + 1, "give notes a colour",
        "alter table notes add column colour text; update notes set colour = 'red' where id % 2 = 0",
    ),
    Migration(SCHEMA_VERSION + 2, "make room for words", "create table words (note integer primary key, n integer)"),
    Migration(SCHEMA_VERSION + 3, "count the words", count_words),
)  # fmt: skip
NEWEST = STEPS[-1].version


def upgrade(line: Connection, store: str) -> None:
    connection = apsw.Connection(store)
    connection.execute("pragma synchronous = full")
    line.send("ready")
    line.recv()
    line.send("begun")
    migrate(connection, Path(store), STEPS, NEWEST)
    connection.close()
    line.send("done")
