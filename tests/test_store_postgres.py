"""What is PostgreSQL's own: making and recognising a store, locks and lost connections, the keyword index."""

import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recollect import audit
from recollect.errors import InvalidInput, NotFound, StoreBusy, StoreForeign, StoreUnavailable
from recollect.store import Store, Use
from recollect.testing import MakeStore, Room
from recollect.testing.room import operation

pytest_plugins = ["postgres_server"]
psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")

from recollect.store.postgres import PostgresStore  # noqa: E402 - psycopg may be missing
from recollect.store.postgres.schema import schema_sql  # noqa: E402
from recollect.store.postgres.terms import lexemes, tsquery  # noqa: E402


@pytest.fixture
def empty(databases) -> str:  # type: ignore[no-untyped-def]
    """The URL of a database without a store."""
    return str(databases.empty())


def _sql(url: str, text: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(text.encode())


def _backends(url: str) -> list[int]:
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )
        return [row[0] for row in rows]


# -- the schema ---------------------------------------------------------------------------------------------------

FIRST_SCHEMA = Path(__file__).parent / "fixtures" / "stores" / "schema-1-postgres.sql"
SHARED = {"meta", "spaces", "space_aliases", "models", "embedding_cache", "leases"}  # small, the same on every node


def test_the_space_comes_first_in_every_key() -> None:
    """So that the tables can be distributed by it."""
    tables = dict(re.findall(r"create table (\w+) \((.*?)\n\)", schema_sql(), re.DOTALL))
    assert len(tables) > 12
    for name in tables.keys() - SHARED:
        keys = re.findall(r"(?:primary|foreign) key \((\w+)", tables[name])
        assert keys, name
        assert set(keys) == {"space"}, name
    for table, column in re.findall(r"create unique index \w+ on (\w+) \(\(?(\w+)", schema_sql()):
        assert table in SHARED or column == "space", (table, column)


def test_both_engines_have_the_same_tables() -> None:
    """Only what keeps SQLite's own index and memory scan fresh is missing here."""
    from recollect.store.sqlite.connect import schema_sql as sqlite_schema

    def columns(sql: str) -> dict[str, set[str]]:
        tables = re.findall(r"create table (\w+) \((.*?)\n\)", sql, re.DOTALL)
        return {name: set(re.findall(r'^  "?(\w+)"? ', body, re.MULTILINE)) - _CLAUSES for name, body in tables}

    ours, theirs = columns(schema_sql()), columns(sqlite_schema())
    assert theirs.keys() - ours.keys() == {"counters", "space_sizes", "removals"}
    assert {name: found for name in ours if (found := ours[name] ^ theirs[name])} == {"chunks": {"lexemes"}}


_CLAUSES = {"primary", "foreign", "check", "unique"}


def test_a_store_is_made_once_by_many_at_the_same_time(empty: str) -> None:
    """Eight openers of an empty database end up with one store."""
    with ThreadPoolExecutor(8) as pool:
        stores: list[Store] = list(pool.map(PostgresStore, [empty] * 8))
    rooms = [Room(store) for store in stores]
    assert len({room.id for room in rooms}) == 1
    for store in stores:
        store.close()


def test_a_missing_store_is_not_made_when_told_so(empty: str) -> None:
    with pytest.raises(NotFound):
        PostgresStore(empty, create=False)
    PostgresStore(empty).close()
    PostgresStore(empty, create=False).close()


def test_somebody_elses_tables_are_left_alone(empty: str) -> None:
    _sql(empty, "create table notes (id int); insert into notes values (7)")
    with pytest.raises(StoreForeign, match="notes") as trouble:
        PostgresStore(empty)
    assert "search_path" in trouble.value.hint
    with psycopg.connect(empty) as connection:
        assert connection.execute("select * from notes").fetchall() == [(7,)]
        assert connection.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone() == (1,)


def test_a_schema_of_its_own_beside_somebody_elses_tables(empty: str) -> None:
    _sql(empty, "create table notes (id int); create extension vector; create schema memory")
    store = PostgresStore(f"{empty}&options=-csearch_path%3Dmemory%2Cpublic")
    assert Room(store).add("apple").content == "apple"
    store.close()


def test_a_store_of_a_newer_version_is_refused(empty: str) -> None:
    PostgresStore(empty).close()
    _sql(empty, "update meta set value = '999' where key = 'recollect_schema'")
    with pytest.raises(StoreForeign, match="newer") as trouble:
        PostgresStore(empty)
    assert "upgrade" in trouble.value.hint


def test_a_store_of_the_first_schema_is_brought_up_to_date_by_many_at_once(empty: str, databases) -> None:  # type: ignore[no-untyped-def]
    _sql(empty, "create extension vector")
    _sql(empty, FIRST_SCHEMA.read_text(encoding="utf-8"))
    _sql(empty, "insert into meta (key, value) values ('recollect_schema', '1')")
    with ThreadPoolExecutor(4) as pool:
        stores: list[Store] = list(pool.map(PostgresStore, [empty] * 4))
    room = Room(stores[0])
    assert room.add("apple", tier="scratchpad").uid != room.add("apple").uid
    for store in stores:
        store.close()
    fresh = databases.fresh()
    assert _indexes(empty) == _indexes(fresh)
    databases.recycle(fresh)


def _indexes(url: str) -> list[tuple[str, ...]]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("select tablename, indexname, indexdef from pg_indexes where schemaname = 'public'")
        return sorted(rows.fetchall())


# -- connections --------------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_reported_quickly_and_without_the_password() -> None:
    before = time.monotonic()
    with pytest.raises(StoreUnavailable) as trouble:
        PostgresStore("postgresql://me:hunter2@127.0.0.1:1/db", busy_seconds=3)
    assert time.monotonic() - before < 5
    assert "hunter2" not in f"{trouble.value.message} {trouble.value.hint}"
    assert "127.0.0.1" in trouble.value.message
    with pytest.raises(StoreUnavailable):
        PostgresStore("postgresql://not a url at all", busy_seconds=1)


def test_connections_that_died_while_idle_are_replaced(databases) -> None:  # type: ignore[no-untyped-def]
    """A restarted server costs nothing but a new connection."""
    url = databases.fresh()
    store = PostgresStore(url)
    room = Room(store)
    for action in (lambda: room.add("one"), room.texts):
        for pid in _backends(url):
            _sql(url, f"select pg_terminate_backend({pid})")
        action()
    assert room.texts() == ["one"]
    store.close()
    databases.recycle(url)


def test_a_connection_lost_in_a_transaction_takes_it_back(databases) -> None:  # type: ignore[no-untyped-def]
    url = databases.fresh()
    store = PostgresStore(url)
    room = Room(store)
    with pytest.raises(StoreUnavailable), store.transaction([room.id]):
        room.add("lost")
        for pid in _backends(url):
            _sql(url, f"select pg_terminate_backend({pid})")
        room.add("too")
    assert room.texts() == []
    room.add("after")
    assert room.texts() == ["after"]
    store.close()
    databases.recycle(url)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGSTOP")
def test_a_server_that_stops_answering_is_given_up(databases) -> None:  # type: ignore[no-untyped-def]
    """The caller gets an error within its deadline, not a hang."""
    url = databases.fresh()
    store = PostgresStore(url, busy_seconds=0.5)
    room = Room(store)
    (pid,) = _backends(url)
    os.kill(pid, signal.SIGSTOP)
    try:
        before = time.monotonic()
        with pytest.raises(StoreUnavailable):
            room.texts()
        assert 2 < time.monotonic() - before < 10
    finally:
        os.kill(pid, signal.SIGCONT)
    assert room.texts() == []
    store.close()
    databases.recycle(url)


def test_a_closed_store_says_so(postgres_stores: MakeStore) -> None:
    store = postgres_stores()
    store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store.spaces()


# -- locks --------------------------------------------------------------------------------------------------------


def test_a_writer_that_waits_too_long_is_told_to_try_again(databases) -> None:  # type: ignore[no-untyped-def]
    url = databases.fresh()
    first, second = PostgresStore(url), PostgresStore(url, busy_seconds=0.2)
    one, two, other = Room(first), Room(second), Room(second, "other")
    with first.transaction([one.id]):
        one.add("mine")
        with pytest.raises(StoreBusy):
            two.add("yours")
        assert other.add("elsewhere").content == "elsewhere"  # another space does not wait
    two.add("yours")
    assert sorted(one.texts()) == ["mine", "yours"]
    for store in (first, second):
        store.close()
    databases.recycle(url)


def test_many_writers_of_the_same_spaces_lose_nothing(postgres_stores: MakeStore) -> None:
    """Locks are taken in one order, so transactions over two spaces in either order never deadlock."""
    store = postgres_stores()
    here, there = Room(store, "here"), Room(store, "there")

    def write(number: int) -> None:
        first, second = (here, there) if number % 2 else (there, here)
        for step in range(6):
            with store.transaction([first.id, second.id]):
                first.add(f"{number} {step} first")
                second.add(f"{number} {step} second")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    for room in (here, there):
        assert len(room.texts()) == 36
        events = store.events([room.id])
        assert audit.broken_at(events) is None
        assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_the_same_space_session_and_turns_from_many_threads_are_made_once(postgres_stores: MakeStore) -> None:
    store = postgres_stores()
    gate = threading.Barrier(6)

    def sync(number: int) -> int:
        gate.wait()
        room = Room(store, "project")
        room.say(room.session("transcript"), "one", "two", "three")
        return room.id

    with ThreadPoolExecutor(6) as pool:
        (space,) = set(pool.map(sync, range(6)))
    (session,) = store.sessions([space])
    assert [turn.text for turn in store.turns([space], session=session.uid)] == ["one", "two", "three"]


def test_use_is_dropped_while_its_rows_are_locked(postgres_stores: MakeStore) -> None:
    store = postgres_stores()
    other = postgres_stores(store)
    room = Room(store)
    made = room.add("one")
    store.record_use([Use(made.id, "get", 1)])
    with store.transaction([room.id]):
        store.record_use([Use(made.id, "get", 2)])
        before = time.monotonic()
        assert other.record_use([Use(made.id, "get", 3)]) is False
        assert time.monotonic() - before < 2
    assert store.usage([made.id], [room.id])[made.id].accesses == 2


# -- index, values, backup ----------------------------------------------------------------------------------------


def test_terms_are_quoted_and_bounded() -> None:
    """The literal of a chunk stays small, whatever the chunk repeats."""
    assert lexemes("apple it's apple", "pie\\ apple") == "'apple':1A,3A,5 'it''s':2A 'pie\\\\':4"
    assert tsquery(["it's", "b"], "A") == "'it''s':A | 'b':A"
    assert len(lexemes("word " * 50_000, "")) < 1000
    assert lexemes("", "") == ""


def test_a_drifted_index_is_found_and_repaired(databases) -> None:  # type: ignore[no-untyped-def]
    url = databases.fresh()
    store = PostgresStore(url)
    room = Room(store)
    room.add("red apple", context="for the pie")
    room.add("pear")
    assert all(finding.ok for finding in store.check())
    _sql(url, "update chunks set lexemes = '''wrong'':1A' where terms = 'red apple'")
    (drift,) = [finding for finding in store.check() if not finding.ok]
    assert (drift.check, drift.fixable) == ("keyword index", True)
    assert room.find("apple", "pie") == set()
    assert store.repair() == ["rebuilt the keyword index of 1 chunks"]
    assert room.find("apple") == room.find("pie") == {"red apple"}
    assert store.repair() == []
    store.close()
    databases.recycle(url)


def test_a_value_that_the_server_cannot_hold_is_invalid_input(postgres_stores: MakeStore) -> None:
    room = Room(postgres_stores())
    with pytest.raises(InvalidInput):
        room.add("with a \x00 inside")
    assert room.texts() == []


def test_wide_vectors_find_room(postgres_stores: MakeStore) -> None:
    """A model of 3,072 dimensions does not fit a page and is kept aside."""
    import numpy as np

    room = Room(postgres_stores())
    room.store.set_active_model("wide", 3072)
    room.add("apple")
    ((id, _, _),) = room.store.pending("wide", [room.id], 5)
    vector = np.full(3072, 3072**-0.5, np.float32)
    assert room.store.put_vectors("wide", [(id, vector.tobytes())]) == 1
    ((found, score),) = room.store.vector_lane("wide", vector, room.see(), 5)
    assert (found, round(score, 4)) == (id, 1.0)


def test_a_backup_is_the_servers_own(postgres_stores: MakeStore, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as trouble:
        postgres_stores().backup(tmp_path / "copy")
    assert "pg_dump" in trouble.value.hint


def test_erasing_is_not_pending(postgres_stores: MakeStore) -> None:
    room = Room(postgres_stores())
    made = room.add("secret")
    assert room.store.erase(operation("erase"), [room.id], [made.uid], []).pending is False
