"""Forgetting: no trace in any byte, a receipt that tells the truth, and nothing that comes back."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory, Turn
from recollect.config import load_settings
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.types import STATES
from shell import Shell

pytest_plugins = ["postgres_server"]
WORDS = ("quokkaberry", "wombatleaf", "numbatseed", "bilbyroot")


@pytest.fixture(params=["sqlite", "postgresql"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    place = tmp_path / "memory.db" if request.param == "sqlite" else request.getfixturevalue("databases").empty()
    settings = load_settings(home=tmp_path / "home", embedder="hashing", busy_timeout_seconds=0.5, auto_backups=0)
    with Memory(str(place), space="here", settings=settings) as made:
        yield made


def bytes_of(folder: Path) -> bytes:
    """Everything below the folder, read by another process: closing files here would drop SQLite's locks."""
    script = (
        "import pathlib,sys;"
        "[sys.stdout.buffer.write(p.read_bytes()) for p in pathlib.Path(sys.argv[1]).rglob('*') if p.is_file()]"
    )
    return subprocess.run([sys.executable, "-c", script, folder], check=True, capture_output=True).stdout.lower()


def present(folder: Path) -> list[str]:
    held = bytes_of(folder)
    return [word for word in WORDS if word.encode() in held or word[:-1].encode() in held]


def texts(memory: Memory) -> set[str]:
    return {note.content for note in memory.list(limit=1000, states=STATES)}


def plant(memory: Memory) -> str:
    """The words everywhere they can be; returns the uid of the note that has most of them."""
    memory.add_many(f"{number} other notes, so that pages are shared" for number in range(50))
    note = memory.add(
        "Quokkaberry jam is red", title="About quokkaberry", tags=["wombatleaf"], metadata={"k": "numbatseed"}
    )
    memory.update(note, content="Bilbyroot and quokkaberry jam")
    memory.delete(note)
    memory.restore(note)
    other = memory.add("An innocent note that once said bilbyroot")
    memory.update(other, content="An innocent note")
    session = memory.start_session("talk", agent="a", title="On wombatleaf")
    memory.add_turns(session, [
        Turn("user", "Hello there", record="1"), Turn("user", "What is quokkaberry?", record="2"),
        Turn("assistant", "A made-up fruit", record="3"),
    ])  # fmt: skip
    memory.embed_pending()
    memory.search("quokkaberry wombatleaf")
    memory.search("numbatseed bilbyroot", mode="keyword")
    memory._search().flush()
    return note.uid


def test_a_forgotten_word_is_in_no_byte_and_in_no_answer(memory: Memory, tmp_path: Path) -> None:
    uid = plant(memory)
    for word in WORDS:
        receipt = memory.forget(query=word)
        assert not receipt.pending
        assert receipt.leftovers == ()
    assert texts(memory) == {f"{number} other notes, so that pages are shared" for number in range(50)} | {
        "An innocent note"
    }
    for word in WORDS:
        assert not memory.search(word, mode="keyword").hits
    with pytest.raises(NotFound):
        memory.get(uid)
    session = memory.sessions()[0]
    assert [turn.text for turn in memory.turns(session)] == ["Hello there", "A made-up fruit"]
    assert session.title == ""
    assert memory.verify().ok
    assert all(finding.ok for finding in memory.check())
    if memory._store.engine == "sqlite":
        assert present(tmp_path) == []
        memory.backup(tmp_path / "later.db")
        assert present(tmp_path) == []


def test_the_receipt_of_a_dry_run_is_that_of_the_deed_and_changes_nothing(memory: Memory) -> None:
    plant(memory)
    before = texts(memory)
    tried = memory.forget(query="quokkaberry", dry_run=True)
    assert texts(memory) == before
    done = memory.forget(query="QUOKKABERRY")
    assert (tried.dry_run, done.dry_run) == (True, False)
    assert (tried.notes, tried.removed["notes"], tried.removed["turns"]) == (done.notes, 1, 1)
    assert (done.removed["notes"], done.removed["turns"]) == (1, 1)
    assert done.removed["revisions"] == tried.removed["revisions"] == 3
    assert done.removed["vectors"] >= 1


def test_what_was_forgotten_does_not_come_back_by_import_or_sync(memory: Memory) -> None:
    uid = plant(memory)
    rows = list(memory.export())
    turns = list(memory.turns(memory.sessions()[0]))
    memory.forget(query="quokkaberry")
    again = memory.import_notes(rows)
    assert again.new == 0
    assert [reason for _, reason in again.skipped] == ["it was forgotten here"]
    assert uid not in {note.uid for note in memory.list(limit=1000, states=STATES)}
    session = memory.start_session("talk", agent="a")
    assert not memory.add_turns(session, turns)
    memory.forget(sessions=[session.uid])
    with pytest.raises(Conflict, match="forgotten"):
        memory.start_session("talk", agent="a")


def test_ids_sessions_sources_and_time_choose(memory: Memory) -> None:
    one, two = memory.add("one"), memory.add("two", source="notes.md")
    session = memory.start_session("s", agent="a", source="/logs/s.jsonl")
    of_session = memory.add("three", session=session.uid)
    memory.add_turns(session, [Turn("user", "said")])
    kept = memory.add("kept")
    assert memory.forget([one]).notes == (one.id,)
    assert memory.forget(sources=["notes.md"]).notes == (two.id,)
    receipt = memory.forget(sources=["/logs/s.jsonl"])
    assert (receipt.notes, receipt.sessions, receipt.removed["turns"]) == ((of_session.id,), (session.uid,), 1)
    assert memory.forget(query="kept", since_ms=kept.created_ms + 1).notes == ()
    assert texts(memory) == {"kept"}
    assert memory.forget(since_ms=kept.created_ms).notes == (kept.id,)
    with pytest.raises(InvalidInput, match="nothing was named"):
        memory.forget()


def test_another_space_is_left_alone(memory: Memory) -> None:
    with Memory(memory.settings.store, space="there", settings=memory.settings) as other:
        other.add("quokkaberry elsewhere")
        memory.add("quokkaberry here")
        memory.forget(query="quokkaberry")
        assert texts(other) == {"quokkaberry elsewhere"}


def test_forgetting_cannot_be_undone(memory: Memory) -> None:
    memory.add("kept")
    receipt = memory.forget([memory.add("gone")])
    with pytest.raises(InvalidInput, match="cannot be undone"):
        memory.undo(receipt.operation)


# -- what is SQLite's own ---------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    settings = load_settings(home=tmp_path / "home", busy_timeout_seconds=0.3)
    return {"store": tmp_path / "memory.db", "space": "here", "settings": settings}


def test_with_a_reader_open_it_is_pending_and_the_next_one_to_open_finishes(
    tmp_path: Path, place: dict[str, Any]
) -> None:
    with Memory(**place) as reader:
        reader.add("something to read")
        with reader._store.snapshot():
            reader.list()
            with Memory(**place) as memory:
                memory.add("quokkaberry")
                receipt = memory.forget(query="quokkaberry")
                assert receipt.pending
                assert "reader" in receipt.remarks[0]
                finding = next(found for found in memory.check() if found.check == "erasure")
                assert not finding.ok
            assert present(tmp_path) == ["quokkaberry"]
        with Memory(**place) as memory:
            assert present(tmp_path) == []
            assert all(finding.ok for finding in memory.check())
            assert not memory.forget([memory.add("another")]).pending


def test_backups_that_still_hold_it_are_named(tmp_path: Path, place: dict[str, Any]) -> None:
    folder = tmp_path / "home" / "backups"
    folder.mkdir(parents=True)
    with Memory(**place) as memory:
        memory.backup(folder / "before.db")
        note = memory.add("quokkaberry")
        memory.backup(folder / "with.db")
        (folder / "unreadable.db").write_bytes(b"not a database at all" * 100)
        receipt = memory.forget([note])
        assert sorted(receipt.backups) == ["unreadable.db", "with.db"]
        assert "delete them" in " ".join(receipt.remarks)


def test_the_daily_log_forgets_too(tmp_path: Path, place: dict[str, Any]) -> None:
    from recollect import dailylog

    home = tmp_path / "home"
    with Memory(**place) as memory:
        one, two = memory.add("quokkaberry first"), memory.add("kept line")
        dailylog.append(home, [one, two])
        memory.update(one, content="something else")
        assert memory.forget([one]).removed["daily log lines"] == 1
    (log,) = (home / ".recollect" / "daily").rglob("*.md")
    assert re.search(r"kept line", log.read_text())
    assert "quokkaberry" not in log.read_text()


def test_the_command_asks_and_needs_yes(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.add("quokkaberry jam")
    asked = shell("forget", "--query", "quokkaberry")
    assert "would remove: 1 notes" in asked.out
    assert "nothing was changed" in asked.out
    done = shell("forget", "--query", "quokkaberry", "--yes", "--json")
    assert done.json["done"] is True
    assert (done.json["removed"]["notes"], done.json["pending"]) == (1, False)
    assert shell("forget").code == 2
    assert shell("forget", "--id", "99", "--yes").code == 3
    assert present(shell.home) == []


# -- what hooks left to be captured -----------------------------------------------------------------------------------


def spool(**fields: str) -> Path:
    from recollect.interfaces.hooks import spool as hooks_spool
    from recollect.interfaces.hooks.adapters import Happening

    before = set(hooks_spool.folder().glob("*")) if hooks_spool.folder().exists() else set()
    hooks_spool.put(Happening(**{"agent": "cursor", "event": "stop", "key": "k", "folder": "", **fields}))
    (made,) = set(hooks_spool.folder().glob("*")) - before
    return made


@pytest.fixture
def hooked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """A memory where hooks work: the usual store, no project around."""
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    with Memory(folder=tmp_path) as made:
        made.add("something else")
        yield made


def test_waiting_captures_with_the_words_go_and_are_in_the_receipt(hooked: Memory, tmp_path: Path) -> None:
    from recollect.interfaces.hooks import spool as hooks_spool
    from recollect.interfaces.hooks.adapters import Happening
    from recollect.interfaces.hooks.learning import asked_last, remember_request

    folder = str(tmp_path)
    waiting, kept = spool(said="The quokkaberry is ripe", folder=folder), spool(said="Nothing of it", folder=folder)
    failed = spool(said="Quokkaberry again", folder=folder).rename(hooks_spool.folder() / "failed.bad")
    torn = hooks_spool.folder() / "torn.bad"
    torn.write_text('{"said": "quokkaberry')
    asker = Happening("cursor", "prompt", "k", folder)
    remember_request(asker, "where do quokkaberry bushes grow")
    tried = hooked.forget(query="quokkaberry", dry_run=True)
    assert waiting.exists()
    done = hooked.forget(query="quokkaberry")
    assert tried.removed["waiting captures"] == done.removed["waiting captures"] == 4
    assert [path.exists() for path in (waiting, failed, torn, kept)] == [False, False, False, True]
    assert asked_last(asker) == ""
    assert present(tmp_path) == []


def test_waiting_captures_of_another_project_are_left_alone_and_told(hooked: Memory, tmp_path: Path) -> None:
    project = tmp_path / "elsewhere"
    project.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    theirs = spool(said="quokkaberry of the other", folder=str(project))
    receipt = hooked.forget(query="quokkaberry")
    assert theirs.exists()
    assert receipt.removed["waiting captures"] == 0
    assert "other spaces" in " ".join(receipt.remarks)


def test_a_transcript_that_waits_with_the_words_is_told(hooked: Memory, tmp_path: Path) -> None:
    transcript = tmp_path / "talk.jsonl"
    transcript.write_text('{"role": "user", "content": "a quokkaberry"}\n')
    spool(transcript=str(transcript), folder=str(tmp_path))
    assert str(transcript) in " ".join(hooked.forget(query="Quokkaberry").remarks)
    assert hooked.forget(sources=[str(tmp_path)]).removed["waiting captures"] == 1


def test_a_waiting_capture_of_a_forgotten_session_goes_and_does_not_come_back(hooked: Memory, tmp_path: Path) -> None:
    from recollect.interfaces.hooks import spool as hooks_spool
    from recollect.interfaces.hooks.acting import capture

    spool(said="The first answer", folder=str(tmp_path))
    assert hooks_spool.drain(capture) == 1
    (session,) = hooked.sessions()
    folder = str(tmp_path)
    waiting, other = spool(said="The second", folder=folder), spool(said="Unrelated", key="m", folder=folder)
    assert hooked.forget(sessions=[session.uid]).removed["waiting captures"] == 1
    assert (waiting.exists(), other.exists()) == (False, True)
    assert hooked.was_forgotten("k", agent="cursor")
    spool(said="A quokkaberry that came late", folder=str(tmp_path))
    spool(event="tool", tool="Write", arguments='{"path": "quokkaberry"}', result="{}", folder=str(tmp_path))
    assert hooks_spool.drain(capture) == 3
    assert [one.key for one in hooked.sessions()] == ["m"]
    assert texts(hooked) == {"something else"}
    assert hooks_spool.waiting() == (0, 0)
    assert present(tmp_path) == []


def test_everything_since_a_time_takes_the_captures_since_then(hooked: Memory, tmp_path: Path) -> None:
    import os

    old, new = spool(said="yesterday", folder=str(tmp_path)), spool(said="just now", folder=str(tmp_path))
    os.utime(old, (1_700_000_000, 1_700_000_000))
    assert hooked.forget(since_ms=1_700_000_001_000).removed["waiting captures"] == 1
    assert (old.exists(), new.exists()) == (True, False)
