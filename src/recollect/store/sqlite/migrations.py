"""Named, ordered, transactional steps from one schema version to the next.

A step is SQL, or a function of the connection for what SQL cannot say. All steps that a store needs run in one
transaction: it ends at the new version or stays at the old one. `schema.sql` is what they add up to, and a test proves
it on a store of every version that was ever released.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from recollect.errors import StoreUnavailable
from recollect.store import SCHEMA_VERSION
from recollect.store.relational.steps import TIERS
from recollect.values import value


@value
class Migration:
    """Takes a store to `version`."""

    version: int
    name: str
    step: str | Callable[[apsw.Connection], None]


_PAIRS = """
alter table tool_pairs add column change integer not null default 0;
create index tool_pairs_change on tool_pairs (space, change);
"""
# Rebuilt, since words that secure deletion left behind are in it.
_PLAIN_INDEX = """
insert into chunks_fts (chunks_fts, rank) values ('secure-delete', 0);
insert into chunks_fts (chunks_fts) values ('rebuild');
"""
# Version 1 is the first that was released.
MIGRATIONS: tuple[Migration, ...] = (
    Migration(2, "let a text stand on several scratchpads; find tiers; number what tools taught", TIERS + _PAIRS),
    Migration(3, "index words without FTS5's secure deletion, which loses track of long lists", _PLAIN_INDEX),
)


def migrate(
    connection: apsw.Connection, path: Path, steps: Sequence[Migration] = MIGRATIONS, target: int = SCHEMA_VERSION
) -> list[str]:
    """Brings an older store up to date; returns the names of the steps. Another process may be doing the same."""
    if connection.pragma("user_version") >= target:
        return []
    done = []
    connection.execute("begin immediate")
    try:
        version: int = connection.pragma("user_version")  # asked again: now nobody else can change it
        for step in steps:
            if step.version == version + 1:
                _run(connection, step)
                version = step.version
                done.append(step.name)
        if version < target:
            raise StoreUnavailable(f"{path} has schema {version} and no step leads on", hint="upgrade recollect")
        connection.execute(f"pragma user_version = {version}")  # sql: our own number
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise
    return done


def _run(connection: apsw.Connection, migration: Migration) -> None:
    if isinstance(migration.step, str):
        connection.execute(migration.step)
    else:
        migration.step(connection)
