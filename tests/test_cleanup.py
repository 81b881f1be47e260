"""Cleaning up a whole store: bounded, restorable, undone exactly, never early, and refused with a reason."""

import logging
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect import Draft, Memory
from recollect.config import load_settings
from recollect.errors import InvalidInput, NotFound
from recollect.policies import DAY_MS
from recollect.types import STATES
from recollect.upkeep.cleanup import DUE_MS, WRITES

pytest_plugins = ["postgres_server"]
START = 1_800_000_000_000


def pack(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def pass_days(self, days: float, memory: Memory) -> None:
        """Days go by, and something is written on each, as in a store that is used."""
        for _ in range(int(days)):
            self.now += DAY_MS
            memory.rename_space("here", "here")
        self.now += int((days - int(days)) * DAY_MS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    place = tmp_path / "memory.db" if request.param == "sqlite" else request.getfixturevalue("databases").empty()
    settings = load_settings(home=tmp_path / "home", evicted_grace_days=30)
    with Memory(str(place), space="here", settings=settings, clock=clock) as made:
        yield made


def fill(memory: Memory, clock: Clock, count: int, **fields: Any) -> list[str]:
    """Notes a minute apart, the first the oldest."""
    uids = []
    for number in range(count):
        clock.now += 60_000
        uids.append(memory.add(f"number {number} of {count} {fields}", **fields).uid)
    return uids


def states(memory: Memory) -> dict[str, str]:
    return {note.uid: note.state for note in memory.list(limit=1000, states=STATES)}


def exported(memory: Memory) -> list[dict[str, Any]]:
    return list(memory.export())


def test_over_the_limit_the_oldest_go_and_can_be_restored(memory: Memory, clock: Clock) -> None:
    uids = fill(memory, clock, 20)
    before = exported(memory)
    assert memory.cleanup(max_notes=20).evicted == 0
    done = memory.cleanup(max_notes=19)
    assert done.evicted == 4
    assert done.freed_bytes == sum(len(row["content"]) for row in before[:4])
    assert [uid for uid, state in states(memory).items() if state == "evicted"] == uids[:4][::-1]
    assert not memory.search("number 0", mode="keyword", kinds=["observation"]).hits or all(
        hit.uid not in uids[:4] for hit in memory.search("number 0", mode="keyword")
    )
    assert memory.restore(uids[0]).state == "live"
    assert uids[0] in {hit.uid for hit in memory.search("number 0", mode="keyword", limit=50)}
    assert all(finding.ok for finding in memory.check())


def test_a_dry_run_changes_nothing_and_says_the_same_figures(memory: Memory, clock: Clock) -> None:
    fill(memory, clock, 20)
    before, events = exported(memory), len(memory.events())
    tried = memory.cleanup(max_notes=19, dry_run=True)
    assert (exported(memory), len(memory.events())) == (before, events)
    done = memory.cleanup(max_notes=19)
    assert (tried.evicted, tried.freed_bytes, tried.operation) == (done.evicted, done.freed_bytes, "")


def test_a_run_is_undone_exactly_whichever_space_asks(memory: Memory, clock: Clock) -> None:
    fill(memory, clock, 12)
    memory.add("passing", expires_ms=clock.now + 1)
    clock.now += 1000
    with Memory(memory.settings.store, space="there", settings=memory.settings, clock=clock) as other:
        fill(other, clock, 12, importance=7)
        before = exported(memory), exported(other)
        done = other.cleanup(max_notes=20)
        assert (done.evicted, done.expired) == (7, 1)
        assert exported(memory) != before[0]
        restored = other.undo(done.operation)
        assert len(restored) == 8
        assert (exported(memory), exported(other)) == before
    assert all(finding.ok for finding in memory.check())


def test_what_is_protected_stays(memory: Memory, clock: Clock) -> None:
    session = memory.start_session("going on", agent="a")
    kept = fill(memory, clock, 3, kind="decision") + fill(memory, clock, 3, pinned=True)
    kept += fill(memory, clock, 2, session=session.uid) + fill(memory, clock, 1, session="going on")
    free = fill(memory, clock, 20)
    done = memory.cleanup(max_notes=15)
    assert done.evicted == 17
    now = states(memory)
    assert all(now[uid] == "live" for uid in kept)
    assert [uid for uid in free if now[uid] == "live"] == free[17:]
    memory.end_session(session)
    assert memory.cleanup(max_notes=9, force=True).evicted == 5
    assert states(memory)[kept[6]] == "evicted"


def test_an_access_keeps_a_note_and_a_search_does_not(memory: Memory, clock: Clock) -> None:
    uids = fill(memory, clock, 10)
    clock.now += 60_000
    memory.get(uids[0])
    memory.search("number 1", mode="keyword")
    memory.cleanup(max_notes=9)
    assert [uid for uid in uids if states(memory)[uid] == "evicted"] == uids[1:4]


@pytest.mark.parametrize("limits", [{"max_notes": 0}, {"max_bytes": 0}, {"max_notes": -5}])
def test_a_limit_that_leaves_nothing_is_refused(memory: Memory, clock: Clock, limits: Any) -> None:
    fill(memory, clock, 3)
    with pytest.raises(InvalidInput, match="would leave nothing"):
        memory.cleanup(**limits)
    assert len(memory.list()) == 3


def test_a_limit_below_what_is_protected_stops_with_the_figures(memory: Memory, clock: Clock) -> None:
    fill(memory, clock, 10, pinned=True)
    fill(memory, clock, 5)
    with pytest.raises(InvalidInput, match="10 notes") as caught:
        memory.cleanup(max_notes=11)
    assert "unpin" in caught.value.hint
    assert len(memory.list()) == 15


def test_notes_expire_and_what_was_hidden_is_gone_after_its_grace(memory: Memory, clock: Clock) -> None:
    passing = memory.add("passing", expires_ms=clock.now + 5)
    staying = memory.add("staying")
    clock.now += 10
    assert memory.cleanup().expired == 1
    assert memory.get(passing.uid).state == "expired"
    clock.pass_days(29, memory)
    assert memory.cleanup().purged == 0
    clock.pass_days(2, memory)
    assert memory.cleanup(dry_run=True).purged == 1
    assert memory.cleanup().purged == 1
    with pytest.raises(NotFound):
        memory.get(passing.uid)
    assert memory.get(staying.uid).state == "live"
    assert all(finding.ok for finding in memory.check())


def test_a_purged_word_is_not_in_the_file_any_more(tmp_path: Path, clock: Clock) -> None:
    place = tmp_path / "memory.db"
    settings = load_settings(home=tmp_path / "home", evicted_grace_days=1)
    with Memory(place, space="here", settings=settings, clock=clock) as memory:
        memory.add("marmalade", expires_ms=clock.now + 5)
        clock.now += 10
        assert memory.cleanup().expired == 1
        assert b"marmalad" in place.read_bytes()
        clock.pass_days(3, memory)
        assert memory.cleanup().purged == 1
        assert b"marmalad" not in place.read_bytes()


@pytest.mark.parametrize("jump", [1.5 * DAY_MS, 3650 * DAY_MS, -3650 * DAY_MS])
def test_a_clock_that_jumps_expires_and_purges_nothing_early(memory: Memory, clock: Clock, jump: float) -> None:
    week = memory.add("for a week", expires_ms=clock.now + 7 * DAY_MS, pinned=True)
    session = memory.start_session("going on", agent="a")
    kept = memory.add("of the session", session=session.uid)
    fill(memory, clock, 10)
    gone = memory.add("hidden", expires_ms=clock.now - 1)
    memory.cleanup()
    clock.now += int(jump)
    memory.add("written by the wrong clock")
    done = memory.cleanup(max_notes=12)
    assert (done.expired, done.purged, done.evicted) == (0, 0, 3)
    now = states(memory)
    assert (now[week.uid], now[gone.uid]) == ("live", "expired")
    assert now[kept.uid] == "live" or abs(jump) < 3 * DAY_MS  # a day and a half may really have passed


def test_old_versions_events_and_accesses_go_and_the_rest_still_verifies(memory: Memory, clock: Clock) -> None:
    note = memory.add("version 0")
    for number in range(1, 31):
        memory.update(note.uid, content=f"version {number}")
    memory.get(note.uid)
    clock.pass_days(400, memory)
    done = memory.cleanup()
    assert (done.revisions, done.accesses) == (10, 1)
    assert done.events > 50
    assert [revision.rev for revision in memory.history(note.uid)] == list(range(11, 31))
    assert all(finding.ok for finding in memory.check())
    assert memory.cleanup().events == 0
    assert memory.verify().ok
    with pytest.raises(NotFound):  # an operation whose events are gone
        memory.undo(memory.history(note.uid)[-1].operation)
    memory.update(note.uid, content="version 31")
    memory.undo()
    assert memory.get(note.uid).content == "version 30"


def test_upkeep_runs_when_it_is_due_and_leaves_a_log_line(
    memory: Memory, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "recollect.upkeep")
    memory.add("passing", expires_ms=clock.now + 5)
    clock.now += 10
    done = memory.upkeep()
    assert done is not None
    assert done.expired == 1
    assert "expired 1" in caplog.text
    assert memory.upkeep() is None
    clock.now += DUE_MS
    assert memory.upkeep() is not None
    memory.add_many(f"note {number}" for number in range(WRITES))
    assert memory.upkeep() is not None


def test_learned_pairs_are_pruned_by_the_limits_that_stand(memory: Memory, clock: Clock) -> None:
    memory.add("something")
    for number in range(6):
        memory.tools.learn(f"request {number}", f"tool{number}", embed=False)
    assert memory.cleanup(dry_run=True).pairs == memory.cleanup().pairs == 0
    clock.pass_days(20, memory)
    memory.tools.learn("request 0", "tool0", embed=False)
    clock.pass_days(20, memory)
    assert (memory.cleanup(dry_run=True).pairs, memory.cleanup().pairs) == (5, 5)
    assert [pair.tool for pair in memory.tools.pairs()] == ["tool0"]
    clock.now += 400 * DAY_MS  # a clock that jumped
    assert memory.cleanup().pairs == 0
    clock.now -= 400 * DAY_MS
    memory.tools.prune(unused_days=365, standing=True)
    clock.pass_days(40, memory)
    assert memory.cleanup().pairs == 0
    memory.tools.prune(most=0, standing=True)
    assert (memory.cleanup(dry_run=True).pairs, memory.cleanup().pairs) == (0, 0)


def test_the_log_that_readers_of_vectors_follow_is_trimmed(
    memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect import policies

    monkeypatch.setattr(policies, "REMOVALS", 5)
    hashing = replace(memory.settings, embedder="hashing")
    with Memory(space="here", settings=hashing, clock=clock) as reader:
        notes = reader.add_many(f"number {number}" for number in range(40))
        reader.embed_pending()
        assert len(reader.search("number 7", mode="vector", limit=40)) == 40
        memory.delete_many(notes[:20])
        memory.cleanup()
        left = {note.content for note in notes[20:]}
        assert {hit.title for hit in reader.search("number 7", mode="vector", limit=40)} == left
        assert memory._store.trim_removals(5) == 0
        memory.restore_many(notes[:20])
        reader.embed_pending()
        assert len(reader.search("number 7", mode="vector", limit=40)) == 40


def test_many_evictions_are_preceded_by_a_copy(tmp_path: Path, clock: Clock) -> None:
    settings = load_settings(home=tmp_path / "home", auto_backups=2)
    with Memory(tmp_path / "memory.db", space="here", settings=settings, clock=clock) as memory:
        memory.add_many(f"note {number}" for number in range(1000))
        for _ in range(4):
            clock.now += 1000
            memory.undo(memory.cleanup(max_notes=900).operation)
        copies = sorted((tmp_path / "home" / "backups").iterdir())
        assert len(copies) == 2
        with Memory(copies[0], space="here", settings=settings) as copy:
            assert len(copy.list(limit=2000)) == 1000


@pytest.mark.slow
def test_twenty_thousand_notes_end_within_the_bounds_with_all_that_is_protected(tmp_path: Path) -> None:
    clock = Clock()
    settings = load_settings(home=tmp_path / "home", durability="normal")
    with Memory(tmp_path / "memory.db", space="here", settings=settings, clock=clock) as memory:
        session = memory.start_session("going on", agent="a")
        memory._store.set_active_model("m", 2)
        texts = (f"note {number} about {number % 97} and {number % 89}, with some words" for number in range(20_000))
        added = memory.add_many(
            Draft(text, kind="decision" if n < 1000 else "fact", pinned=1000 <= n < 1100,
                  session=session.uid if 1100 <= n < 1200 else None, created_ms=START + n,
                  vector=pack(n, 1))
            for n, text in enumerate(texts)
        )  # fmt: skip
        size = sum(note.bytes for note in added)
        done = memory.cleanup(max_notes=15_000, max_bytes=size * 3 // 4)
        live = [note for note in added if states_of(memory, note.uid) == "live"]
        assert len(live) == 20_000 - done.evicted <= 15_000 * 0.85
        assert sum(note.bytes for note in live) == size - done.freed_bytes <= size * 3 // 4 * 0.85
        assert {note.uid for note in added[:1200]} <= {note.uid for note in live}
        numbers = memory.stats()
        assert numbers["chunks"] == numbers["vectors"] == len(live)
        assert all(finding.ok for finding in memory.check())
        memory.undo(done.operation)
        assert memory.stats()["notes"] == 20_000


def states_of(memory: Memory, uid: str) -> str:
    cached = memory.__dict__.setdefault("_states_for_test", {})
    if not cached:
        page = memory.list(limit=5000, states=STATES)
        while page:
            cached.update((note.uid, note.state) for note in page)
            page = memory.list(limit=5000, states=STATES, before=page[-1])
    found: str = cached[uid]
    return found
