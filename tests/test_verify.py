"""The chain proves itself: whatever is changed behind its back is told, whatever is done through the front is not."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from recollect import Memory, Turn
from recollect.config import load_settings
from recollect.errors import ConfigInvalid, StoreCorrupt
from recollect.policies import DAY_MS
from shell import Shell


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory(tmp_path / "memory.db", space="here") as memory:
        first = memory.add("the first note", tags=["a"], metadata={"k": 1})
        memory.update(first, content="the first note, changed")
        memory.add("a second note", links=[])
        gone = memory.add("an erased note")
        memory.erase([gone])
        memory.delete(memory.add("a deleted note"))
        session = memory.start_session("s", agent="a")
        memory.add_turns(session, [Turn("user", "hello")])
        memory.merge_spaces(_other(tmp_path), "here")
        memory.undo()
    return tmp_path / "memory.db"


def _other(folder: Path) -> str:
    with Memory(folder / "memory.db", space="there") as memory:
        memory.add("from another space")
    return "there"


def test_a_store_with_a_past_verifies(store: Path) -> None:
    with Memory(store, space="here") as memory:
        found = memory.verify()
    assert (found.ok, found.problems, found.sealed) == (True, (), None)
    assert (found.spaces, found.notes) == (2, 4)
    assert found.events > 10
    assert found.versions >= 3
    assert found.proves
    assert found.does_not_prove


TAMPERING = {
    "a text": "update notes set content = 'forged', content_hash = 'x' where id = 1",
    "a text with its hash": "update notes set importance = 9 where id = 2",
    "a time": "update notes set created_ms = created_ms - 1 where id = 1",
    "a state": "update notes set state = 'live' where state = 'deleted'",
    "a tag": """update notes set tags = '["b"]' where id = 1""",
    "a link": "insert into links (space, note_id, to_uid, kind) values (1, 1, 'x', 'related')",
    "a version": "update revisions set image = replace(image, 'first', 'other') where note_id = 1",
    "a salt": "update notes set salt = x'00' where id = 1",
    "a note is gone": "delete from notes where id = 2",
    "an event": "update events set actor = 'somebody else' where seq = 3",
    "the time of an event": "update events set at_ms = at_ms + 1 where seq = 3",
    "an event is gone": "delete from events where seq = 3",
    "the newest event is gone": "delete from events where space = 1 and seq = (select seq from spaces where id = 1)",
    "the head": "update spaces set head = '0' where id = 1",
    "a note went back a revision": "update notes set rev = 1 where id = 1",
    "a note was put in": (
        "insert into notes select 99, space, 'u', 1, 'live', kind, tier, 't', 'c', '', '', 'user', null, '[]', 5, "
        "1.0, 0, 1, 1, 'h', '{}', 1, 1, null, null, null, null, salt from notes where id = 1"
    ),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_what_is_changed_behind_its_back_is_told(store: Path, what: str) -> None:
    connection = apsw.Connection(str(store))
    connection.execute(TAMPERING[what])
    connection.close()
    with Memory(store, space="here") as memory:
        found = memory.verify()
        assert not found.ok
        assert found.problems
        assert not found.proves
        assert any(finding.check in ("events", "integrity") and not finding.ok for finding in memory.check())


def test_an_honest_history_verifies_after_erasure_and_retention(tmp_path: Path) -> None:
    now = [1_800_000_000_000]
    with Memory(tmp_path / "memory.db", space="here", clock=lambda: now[0]) as memory:
        notes = [memory.add(f"note {number}") for number in range(30)]
        for note in notes[:10]:
            memory.update(note, content=f"{note.content}, changed")
        memory.erase(notes[:3])
        for _ in range(380):
            now[0] += DAY_MS
            memory.rename_space("here", "here")
        assert memory.cleanup().events > 40
        assert memory.verify().ok
        memory.update(notes[15], content="changed a year later")
        memory.erase(notes[3:5])
        memory.undo()
        found = memory.verify()
    assert (found.ok, found.notes) == (True, 25)


def test_a_chain_that_is_trimmed_every_day_verifies_every_day(tmp_path: Path) -> None:
    """Versions whose own event is trimmed are spoken of again, after newer events of the same note."""
    now = [1_800_000_000_000]
    settings = load_settings(home=tmp_path, history_days=10)
    with Memory(tmp_path / "memory.db", space="here", settings=settings, clock=lambda: now[0]) as memory:
        with Memory(tmp_path / "memory.db", space="there", settings=settings, clock=lambda: now[0]) as other:
            other.add("goes to another space")
        first = memory.add("the first")
        memory.merge_spaces("there", "here")
        for day in range(40):
            now[0] += DAY_MS
            memory.add(f"note of day {day}")
            if day % 8 == 0:
                memory.update(first, content=f"changed on day {day}")
            memory.cleanup(max_notes=30)
            found = memory.verify()
            assert found.ok, (day, found.problems)
        assert found.events < 100
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute("delete from notes where id = (select min(id) from notes where state = 'live')")
    connection.close()
    with Memory(tmp_path / "memory.db", space="here", settings=settings) as memory:
        assert "missing" in memory.verify().problems[-1]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    return path


@pytest.fixture
def sealing(store: Path, key: Path) -> Iterator[Callable[[], Memory]]:
    settings = load_settings(audit_key_file=str(key))
    yield lambda: Memory(store, space="here", settings=settings)


def test_a_key_outside_the_file_tells_a_chain_that_was_written_anew(
    store: Path, sealing: Callable[[], Memory], tmp_path: Path
) -> None:
    with sealing() as memory:
        assert memory.verify().sealed is False
        found = memory.verify()
        assert (found.ok, found.sealed) == (True, True)
        memory.add("one more")
        assert memory.verify().sealed is True
        old = apsw.Connection(str(store)).execute("select key, value from meta where key like 'seal:%'").fetchall()
    other = tmp_path / "other.db"
    with Memory(other, space="here") as forged:
        forged.add_many(f"forged {number}" for number in range(30))
    connection = apsw.Connection(str(other))
    connection.executemany("insert into meta values (?, ?)", old)
    connection.close()
    with Memory(other, space="here", settings=load_settings(audit_key_file=str(tmp_path / "key"))) as forged:
        found = forged.verify()
        assert not found.ok
        assert "seal" in found.problems[0]
        with pytest.raises(StoreCorrupt):
            forged.cleanup()


def test_a_key_that_is_missing_or_short_is_refused(store: Path, key: Path, sealing: Callable[[], Memory]) -> None:
    key.write_text("short")
    with sealing() as memory, pytest.raises(ConfigInvalid, match="shorter"):
        memory.verify()
    key.unlink()
    with sealing() as memory, pytest.raises(ConfigInvalid, match="cannot read"):
        memory.verify()


def test_the_command_says_what_it_proves_and_exits_with_6_otherwise(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell("add", "a note")
    done = shell("verify")
    assert done.code == 0
    assert "verified: 2 events, 1 note, 0 earlier versions" in done.out
    assert "does not prove" in done.out
    connection = apsw.Connection(str(shell.home / "memory.db"))
    connection.execute("update notes set title = 'x'")
    connection.close()
    done = shell("verify", "--json")
    assert done.code == 6
    assert done.json["problems"] == ["note 1 is not what its newest event speaks of"]
