"""Random damage to a store's files: whatever changes canonical content is told, and what can be read is saved."""

import contextlib
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from faults import SIZES
from faults.model import SPACE
from recollect import Memory, Turn
from recollect.config import load_settings
from recollect.errors import RecollectError
from recollect.store.sqlite.connect import PAGE_BYTES
from recollect.types import STATES
from recollect.upkeep.rescue import rescue

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]
ROUNDS = SIZES.damaged
NOW = 1_800_000_000_000


def canonical(memory: Memory) -> dict[str, Any]:
    """Everything that was ever said to this store, and every event."""
    notes = memory.list(limit=1000, states=STATES)
    return {
        "notes": [{"id": note.id, "rev": note.rev, **vars(note)} for note in notes],
        "history": {note.uid: [(r.rev, r.image) for r in memory.history(note)] for note in notes},
        "turns": [(turn.id, turn.text, turn.record) for one in memory.sessions() for turn in memory.turns(one)],
        "events": [(event.seq, event.hash) for event in memory.events(limit=10_000)],
    }


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some size with versions, hidden notes and a conversation, and a copy of it with a log."""
    folder = tmp_path_factory.mktemp("template")
    with Memory(folder / "memory.db", space=SPACE) as memory:
        notes = memory.add_many(f"{letter * 7} is remembered, {'word ' * 120}" for letter in "bcdfghjklmnpqrstvwxz")
        for note in notes[:6]:
            memory.update(note, content=f"{note.content} and changed", tags=["t"])
        memory.delete(notes[7])
        session = memory.start_session("talk", agent="a")
        memory.add_turns(
            session, [Turn("user", f"turn {number} {'said ' * 60}", record=str(number)) for number in range(20)]
        )
    with Memory(folder / "memory.db", space=SPACE) as memory:
        memory.add_many(f"{letter * 8} is only in the log" for letter in "bcdfg")
        (folder / "live").mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(f"{folder / 'memory.db'}{suffix}", folder / "live" / f"memory.db{suffix}")
    return folder


def put(path: Path, content: bytes) -> None:
    """As private as a store is: else doctor would find fault with that alone."""
    path.write_bytes(content)
    path.chmod(0o600)


def damage(content: bytes, kind: str, dice: random.Random) -> bytes:
    damaged = bytearray(content)
    if kind == "header":
        for _ in range(dice.choice((1, 3))):
            damaged[dice.randrange(100)] ^= dice.randrange(1, 256)
    elif kind == "page":
        start = PAGE_BYTES * dice.randrange(len(content) // PAGE_BYTES)
        damaged[start : start + PAGE_BYTES] = dice.choice((bytes(PAGE_BYTES), dice.randbytes(PAGE_BYTES)))
    elif kind == "bits":
        for _ in range(dice.choice((1, 4, 30))):
            damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    else:
        del damaged[dice.randrange(1, len(damaged)) :]
    return bytes(damaged)


def judge(store: Path, original: dict[str, Any]) -> str:
    """refused, found (by doctor), harmless; a change that nobody tells fails the test."""
    texts = {row["uid"]: row["content"] for row in original["notes"]}
    try:
        memory = Memory(store, space=SPACE, create=False)
    except RecollectError:
        return "refused"
    with memory:
        for uid, text in texts.items():
            with contextlib.suppress(RecollectError):
                assert memory.get(uid).content == text, "a wrong text was given out"
        try:
            if not all(finding.ok for finding in memory.check()):
                return "found"
            now = canonical(memory)
        except RecollectError:
            return "found"
    assert now == original, "canonical content changed and nobody told"
    return "harmless"


@pytest.mark.parametrize("kind", ["header", "page", "bits", "truncation"])
def test_every_change_of_canonical_content_is_told(template: Path, tmp_path: Path, kind: str) -> None:
    store = tmp_path / "memory.db"
    shutil.copy(template / "memory.db", store)
    with Memory(store, space=SPACE) as memory:
        original = canonical(memory)
    whole = store.read_bytes()
    outcomes: Counter[str] = Counter()
    for seed in range(ROUNDS):
        put(store, damage(whole, kind, random.Random(f"{kind}{seed}")))
        outcomes[judge(store, original)] += 1
        for path in tmp_path.iterdir():
            path.unlink()
    print(f"{kind}: {ROUNDS} damaged stores, {dict(outcomes)}")
    assert outcomes["refused"] + outcomes["found"] > ROUNDS // 4


def test_a_damaged_log_never_gives_more_than_an_earlier_state(template: Path, tmp_path: Path) -> None:
    """SQLite drops a log from its first damaged frame on, as after a power cut; what is left is whole and sound."""
    live = template / "live"
    store = tmp_path / "memory.db"
    outcomes: Counter[str] = Counter()
    for seed in range(ROUNDS):
        dice = random.Random(f"log{seed}")
        put(store, (live / "memory.db").read_bytes())
        log = (live / "memory.db-wal").read_bytes()
        put(tmp_path / "memory.db-wal", damage(log, dice.choice(("bits", "truncation")), dice))
        try:
            with Memory(store, space=SPACE, create=False) as memory:
                fresh = [note.content for note in memory.list(limit=100) if "only in the log" in note.content]
                sound = all(finding.ok for finding in memory.check())
                assert sound, [finding for finding in memory.check() if not finding.ok]
                assert len(fresh) in (0, 5)
                outcomes["whole" if fresh else "before the log"] += 1
        except RecollectError:
            outcomes["refused"] += 1
        for path in tmp_path.iterdir():
            path.unlink()
    print(f"log: {ROUNDS} damaged logs, {dict(outcomes)}")


def test_what_can_be_read_of_a_damaged_store_comes_back(template: Path, tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    shutil.copy(template / "memory.db", store)
    with Memory(store, space=SPACE) as memory:
        original = {note.uid: (note.content, note.state, note.tags) for note in memory.list(limit=1000, states=STATES)}
    whole = store.read_bytes()
    settings = load_settings(home=tmp_path / "home", store=str(store))
    saved, tried = 0, 0
    for seed in range(SIZES.rescued):
        for path in tmp_path.glob("memory.db*"):
            path.unlink()
        put(store, damage(whole, "page", random.Random(f"rescue{seed}")))
        try:
            done = rescue(settings, NOW)
        except RecollectError:
            continue
        except Exception as trouble:  # noqa: BLE001 - the header itself is gone
            assert "not a database" in str(trouble) or "malformed" in str(trouble), trouble
            continue
        tried += 1
        assert done.aside.exists()
        with Memory(store, space=SPACE) as memory:
            assert all(finding.ok for finding in memory.check())
            memory.add("the store works again")
        with Memory(store, space="all") as memory:
            found = {note.uid: (note.content, note.state, note.tags) for note in memory.list(limit=1000, states=STATES)}
        got = {uid: one for uid, one in found.items() if uid in original}
        assert all(original[uid] == one for uid, one in got.items())
        saved += len(got)
    print(f"rescue: {saved} of {tried * len(original)} notes came back from {tried} stores with a page gone")
    assert saved > tried * len(original) * 0.8
