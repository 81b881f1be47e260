"""Old stores are brought up to date in one transaction, or left as they are."""

import gzip
from pathlib import Path

import apsw
import pytest

from recollect import Memory
from recollect.config import load_settings
from recollect.errors import StoreForeign, StoreUnavailable
from recollect.store import SCHEMA_VERSION
from recollect.store.sqlite.connect import schema_sql
from recollect.store.sqlite.migrations import MIGRATIONS, Migration, migrate


def count_them(connection: apsw.Connection) -> None:
    connection.execute("create table b as select count(*) n from notes")


COLOUR = "alter table notes add column colour text; create table a (x)"
RELEASED = sorted((Path(__file__).parent / "fixtures" / "stores").glob("schema-*.db.gz"))
STEPS = (
    Migration(SCHEMA_VERSION + 1, "give notes a colour", COLOUR),
    Migration(SCHEMA_VERSION + 2, "count them", count_them),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory(tmp_path / "memory.db", space="user") as memory:
        memory.add("something worth keeping")
    return tmp_path / "memory.db"


def tables(connection: apsw.Connection) -> set[str]:
    return {row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")}


def test_the_steps_run_in_order_and_keep_what_is_there(store: Path) -> None:
    connection = apsw.Connection(str(store))
    assert migrate(connection, store, STEPS, SCHEMA_VERSION + 2) == ["give notes a colour", "count them"]
    assert connection.pragma("user_version") == SCHEMA_VERSION + 2
    assert connection.execute("select content, colour from notes").fetchall() == [("something worth keeping", None)]
    assert migrate(connection, store, STEPS, SCHEMA_VERSION + 2) == []


def test_a_step_that_fails_leaves_the_store_at_its_old_version(store: Path) -> None:
    broken = (*STEPS[:1], Migration(SCHEMA_VERSION + 2, "stumble", "create table c (x); select * from nowhere"))
    connection = apsw.Connection(str(store))
    with pytest.raises(apsw.SQLError):
        migrate(connection, store, broken, SCHEMA_VERSION + 2)
    assert connection.pragma("user_version") == SCHEMA_VERSION
    assert not tables(connection) & {"a", "c"}
    connection.close()
    with Memory(store, space="user") as memory:
        assert memory.list()[0].content == "something worth keeping"


def test_a_gap_in_the_steps_is_refused(store: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no step leads on"):
        migrate(apsw.Connection(str(store)), store, STEPS[1:], SCHEMA_VERSION + 2)


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: path.name)
def test_a_store_of_every_released_schema_opens_keeps_everything_and_becomes_the_schema_file(
    released: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.db"
    old.write_bytes(gzip.decompress(released.read_bytes()))
    old.chmod(0o600)
    with Memory(old, space="desk") as memory:
        assert [note.content for note in memory.list()] == [
            "We chose oak for the new table", "The kettle stands on the right shelf",
        ]  # fmt: skip
        assert memory.search("kettle shelf", mode="keyword")[0].id == "1"
        assert all(finding.ok for finding in memory.check())
        assert memory.verify().ok
    fresh = apsw.Connection(":memory:")
    fresh.execute(schema_sql())
    upgraded = apsw.Connection(str(old))
    assert shape(upgraded) == shape(fresh)
    assert not upgraded.execute("select 1 from chunks_fts_config where k = 'secure-delete' and v <> 0").fetchall()


def test_the_schema_file_is_what_a_store_has(store: Path) -> None:
    fresh = apsw.Connection(":memory:")
    fresh.execute(schema_sql())
    assert shape(apsw.Connection(str(store))) == shape(fresh)
    assert [step.version for step in MIGRATIONS] == list(range(2, SCHEMA_VERSION + 1))


def shape(connection: apsw.Connection) -> list[tuple[str, ...]]:
    """Without white space, since SQLite sets an added column in its own way."""
    rows = connection.execute("select type, name, tbl_name, sql from sqlite_schema where name not like 'sqlite_%'")
    return sorted(tuple("".join(str(part).split()) for part in row) for row in rows)


def held(store: Path) -> tuple[int, list[tuple[object, ...]]]:
    """The schema's version and every note, without opening it as a store."""
    connection = apsw.Connection(str(store))
    try:
        return connection.pragma("user_version"), connection.execute("select * from notes order by id").fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: path.name)
def test_an_old_store_is_copied_as_it_was_before_it_is_brought_up_to_date(released: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    old = home / "memory.db"
    old.write_bytes(gzip.decompress(released.read_bytes()))
    old.chmod(0o600)
    before = held(old)
    for _ in range(2):  # the second finds nothing to do
        Memory(space="desk", settings=load_settings(home=home)).close()
    (copy,) = (home / "backups").iterdir()
    assert copy.name.startswith("memory-before-upgrade-")
    assert held(copy) == before
    with Memory(copy, space="desk", settings=load_settings(home=home, auto_backups=0)) as memory:
        assert len(memory.list()) == 2
    assert len(list((home / "backups").glob("*.db"))) == 1


def test_the_database_of_another_program_is_not_copied(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    connection = apsw.Connection(str(store))
    connection.execute("create table diary (day); pragma user_version = 1")
    connection.close()
    with pytest.raises(StoreForeign):
        Memory(settings=load_settings(home=tmp_path))
    assert not list((tmp_path / "backups").glob("*"))
