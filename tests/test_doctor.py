"""Doctor: finds what is wrong, mends what is derived, saves what can be read, and says so in plain words."""

from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect import Memory, Turn
from recollect.config import load_settings
from recollect.policies import DAY_MS
from recollect.store.sqlite.connect import PAGE_BYTES
from shell import Shell

START = 1_800_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory(tmp_path / "memory.db", space="here") as memory:
        memory.add_many(f"note {number} about tea and toast" for number in range(20))
        memory.add_turns(memory.start_session("s", agent="a"), [Turn("user", "hello toast")])
    return tmp_path / "memory.db"


def tamper(store: Path, sql: str) -> None:
    connection = apsw.Connection(str(store))
    connection.execute("pragma foreign_keys = on")
    connection.execute(sql)
    connection.close()


def faults(store: Path, **options: Any) -> list[str]:
    with Memory(store, space="here", **options) as memory:
        return [finding.check for finding in memory.check() if not finding.ok]


DERIVED = {
    "a note has no chunks": ("delete from chunks where note_id = 3", ["searchable"]),
    "a chunk says something else": ("update chunks set content = 'coffee' where note_id = 3", ["slices"]),
    "a turn's chunk says something else": ("update chunks set content = 'x' where turn_id is not null", ["slices"]),
    "the index lacks a chunk": (
        "insert into chunks_fts (chunks_fts, rowid, terms, context_terms, scope) "
        "select 'delete', id, terms, context_terms, scope from chunks where note_id = 3",
        ["keyword index"],
    ),
    "terms were changed": ("update chunks set terms = 'coffee' where note_id = 3", ["keyword index"]),
    "totals are wrong": ("update space_sizes set terms = 5", ["sizes"]),
    "a vector is too short": (
        "insert into models values (1, 'm', 4); "
        "insert into vectors (space, model, chunk_id, dtype, vector) "
        "select space, 1, id, 'f4', x'00' from chunks limit 1",
        ["vectors"],
    ),
}


@pytest.mark.parametrize("what", DERIVED)
def test_what_is_derived_is_mended(store: Path, what: str) -> None:
    sql, expected = DERIVED[what]
    tamper(store, sql)
    assert faults(store) == expected
    with Memory(store, space="here") as memory:
        assert memory.repair()
        assert [finding.check for finding in memory.check() if not finding.ok] == []
        assert memory.repair() == []
        assert len(memory.search("toast", mode="keyword", limit=50)) == 21


CANONICAL = {
    "texts": "update notes set content = 'forged' where id = 3",
    "turns": "update turns set text = 'forged'",
    "events": "update notes set importance = 9 where id = 3",
}


@pytest.mark.parametrize("check", CANONICAL)
def test_what_is_canonical_is_told_and_left_alone(store: Path, check: str) -> None:
    tamper(store, CANONICAL[check])
    assert check in faults(store)
    with Memory(store, space="here") as memory:
        memory.repair()
    assert check in faults(store)


def test_doctor_looks_around_the_store(store: Path) -> None:
    with Memory(store, space="here") as memory:
        names = {finding.check for finding in memory.check(surroundings=True)}
        assert {"room", "log", "clock", "model", "copies", "pending work"} <= names
    with Memory(store, space="here", clock=lambda: START - 100 * 365 * DAY_MS) as memory:
        assert [found.check for found in memory.check(surroundings=True) if not found.ok] == ["clock"]


def test_a_damaged_file_is_set_aside_and_what_can_be_read_is_saved(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    settings = load_settings(home=shell.home, store=str(shell.store), space="user")
    with Memory(settings=settings) as memory:
        memory.add_many(f"note {number} {'word ' * 300}" for number in range(200))
    assert shell("backup", "create").code == 0
    content = bytearray(shell.store.read_bytes())
    connection = apsw.Connection(str(shell.store))
    pages: Any = connection.execute("select pageno from dbstat where name = 'notes' order by pageno").fetchall()
    page = pages[40][0]
    connection.close()
    content[(page - 1) * PAGE_BYTES : page * PAGE_BYTES] = bytes(PAGE_BYTES)
    shell.store.write_bytes(content)
    seen = shell("doctor")
    assert seen.code == 6
    assert "--fix" in seen.out
    done = shell("doctor", "--fix")
    assert done.code == 0, done.out
    assert "set the damaged file aside" in done.out
    assert "a sound backup is there too: `recollect backup restore memory-" in done.out
    assert (shell.home / "memory.db.damaged-0").stat().st_size == len(content)
    with Memory(settings=settings) as memory:
        assert 150 < memory.stats()["notes"] < 200


def test_the_score_is_one_that_a_person_understands(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.add("a note")
    good = shell("doctor", "--json").json
    assert (good["status"], good["score"]) == ("healthy", 100)
    tamper(shell.store, "update chunks set content = 'coffee'")
    bad = shell("doctor", "--json")
    assert bad.code == 6
    assert bad.json["status"] == "needs attention"
    assert 80 < bad.json["score"] < 100
    assert shell("doctor", "--fix").code == 0
