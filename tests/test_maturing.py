"""No sequence of operations on tiers, beliefs, use and scratchpads loses a note or breaks undo; on both engines.

OPERATIONS is a table: a new one is a function of the desk and a few numbers that choose what it works on. It changes
the store through Memory, or refuses with an error of ours and leaves everything as it was. Whatever it did is one
operation; the test takes some of them back at once and compares.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Conflict, InvalidInput, Memory, Note, NotFound, load_settings
from recollect.retention import DAY_MS, HOUR_MS
from recollect.scratchpad import Scratchpad
from recollect.types import STATES, TIERS

pytest_plugins = ["postgres_server"]
REFUSALS = (InvalidInput, NotFound, Conflict)
SESSIONS = ("one", "two", None)
TEXTS = [f"{word} {thing}" for word in ("red", "blue") for thing in ("kettle", "door", "cup of tea in the garden")]
TEXTS += [f"The staging deploy failed {why} the disk is full" for why in ("because", "since", "and")]


@dataclass
class Desk:
    """A Memory with a clock of its own, and every note that was ever there."""

    memory: Memory
    now: list[int]
    known: dict[str, str] = field(default_factory=dict)  # uid: the text that it was first seen with

    def notes(self) -> list[Note]:
        found = self.memory.list(limit=10_000, states=STATES, tiers=TIERS)
        return sorted(found, key=lambda note: note.id)

    def pick(self, number: int, *tiers: str) -> Note:
        found = [note for note in self.notes() if not tiers or note.tier in tiers]
        if not found:
            raise NotFound("nothing is there yet", hint="add something")
        return found[number % len(found)]

    def pad(self, number: int) -> Scratchpad:
        return self.memory.scratchpad.of(SESSIONS[number % len(SESSIONS)], "bot")

    def images(self) -> dict[str, Note]:
        """What is canonical of every note, without the revision, which only rises."""
        return {note.uid: replace(note, rev=0) for note in self.notes()}

    def last(self) -> str:
        """The newest operation; "" at the beginning."""
        try:
            return self.memory.operations(limit=1)[0][0].operation
        except (NotFound, IndexError):
            return ""


Act = Callable[[Desk, int, int], object]


def _wait(desk: Desk, one: int, two: int) -> None:
    desk.now[0] += (HOUR_MS // 2, 2 * HOUR_MS, DAY_MS, 40 * DAY_MS)[one % 4]


def _session(desk: Desk, one: int, two: int) -> None:
    memory = desk.memory
    session = memory.start_session(f"run {one % 5}", agent="bot")
    memory.scratchpad.of(session).put(TEXTS[two % len(TEXTS)], key="k")
    if two % 2:
        memory.end_session(session)


OPERATIONS: dict[str, Act] = {
    "add": lambda desk, one, two: desk.memory.add(
        TEXTS[one % len(TEXTS)], importance=1 + two % 10, confidence=(1.0, 0.2)[two % 2], pinned=two % 7 == 0
    ),
    "read": lambda desk, one, two: [desk.memory.get(desk.pick(one).id) for _ in range(1 + two % 3)],
    "tell": lambda desk, one, two: desk.memory.context(budget_tokens=200 + two % 200),
    "wait": _wait,
    "put": lambda desk, one, two: desk.pad(one).put(
        TEXTS[two % len(TEXTS)] * (1 + one % 3),
        key=(None, "k")[two % 2],
        importance=1 + two % 10,
        pinned=one % 9 == 0,
        ttl_minutes=(None, 0)[one % 2],
    ),
    "drop": lambda desk, one, two: desk.pad(one).drop(desk.pick(two, "scratchpad")),
    "clear": lambda desk, one, two: desk.pad(one).clear(),
    "take over": lambda desk, one, two: desk.pad(one).restore((None, "one", "two")[two % 3]),
    "session": _session,
    "promote": lambda desk, one, two: desk.memory.promote(desk.pick(one)),
    "demote": lambda desk, one, two: desk.memory.demote(desk.pick(one, "semantic")),
    "mature": lambda desk, one, two: desk.memory.mature(dry_run=two % 5 == 0),
    "clean up": lambda desk, one, two: desk.memory.cleanup(max_notes=(None, 4)[two % 2]),
    "update": lambda desk, one, two: desk.memory.update(desk.pick(one), content=TEXTS[two % len(TEXTS)]),
    "doubt": lambda desk, one, two: desk.memory.update(desk.pick(one), confidence=(0.1, 0.5, 1.0)[two % 3]),
    "delete": lambda desk, one, two: desk.memory.delete(desk.pick(one)),
    "restore": lambda desk, one, two: desk.memory.restore(desk.pick(one)),
    "reinforce": lambda desk, one, two: desk.memory.beliefs.reinforce(desk.pick(one), 1 + two % 3),
    "contradict": lambda desk, one, two: desk.memory.beliefs.contradict(desk.pick(one), 1 + two, by=desk.pick(two)),
    "supersede": lambda desk, one, two: desk.memory.beliefs.supersede(desk.pick(one), desk.pick(two)),
    "replace": lambda desk, one, two: desk.memory.beliefs.supersede(desk.pick(one), TEXTS[two % len(TEXTS)]),
    "merge": lambda desk, one, two: desk.memory.beliefs.merge(desk.pick(one), desk.pick(two)),
    "consolidate": lambda desk, one, two: desk.memory.consolidate(
        older_than_days=0, least=2, hide_sources=two % 2 == 0, dry_run=two % 5 == 0
    ),
    "undo": lambda desk, one, two: desk.memory.undo(),
}


def act(desk: Desk, name: str, one: int, two: int, take_back: bool) -> None:
    before, last = desk.images(), desk.last()
    try:
        OPERATIONS[name](desk, one, two)
    except REFUSALS:
        assert desk.images() == before, f"{name} refused, and changed something"
    after = desk.images()
    assert before.keys() <= after.keys(), f"{name} lost a note"
    made = desk.last()
    if take_back and made != last and name != "session":  # a session cannot be undone, only what it took over
        desk.memory.undo(made)
        back = {uid: note for uid, note in desk.images().items() if uid in before}
        assert {uid: replace(note, updated_ms=0) for uid, note in back.items()} == {
            uid: replace(note, updated_ms=0) for uid, note in before.items()
        }, f"undo of {name} did not bring everything back"
        gone = [note for uid, note in desk.images().items() if uid not in before]
        assert all(note.state == "deleted" for note in gone), f"undo of {name} left something behind"


def look(desk: Desk) -> None:
    """What is true of a store whatever was done to it."""
    notes = desk.notes()
    live = [note.content_hash for note in notes if note.state == "live" and note.tier != "scratchpad"]
    assert len(live) == len(set(live)), "a text is live twice"
    assert desk.known.keys() <= {note.uid for note in notes}
    desk.known |= {note.uid: note.content for note in notes}
    for note in notes:
        if note.state == "superseded":
            assert note.superseded_by in desk.known
        assert [past.rev for past in desk.memory.history(note.id)] == list(range(1, note.rev))
    problems = [finding for finding in desk.memory.check() if not finding.ok and finding.check != "permissions"]
    assert not problems
    assert desk.memory.verify().ok


STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 60), st.integers(0, 60), st.booleans()),
    min_size=1, max_size=25,
)  # fmt: skip


def run(place: Path | str, home: Path, steps: list[tuple[str, int, int, bool]]) -> None:
    now = [1_700_000_000_000]

    def clock() -> int:
        now[0] += 1
        return now[0]

    # What is hidden or replaced stays for good: to remove it in time is no operation of the table.
    options = load_settings(
        home=home, embedder="none", durability="normal", scratchpad_tokens=20, auto_backups=0,
        evicted_grace_days=36_500, history_days=36_500,
    )  # fmt: skip
    with Memory(place, space="desk", settings=options, clock=clock) as memory:
        desk = Desk(memory, now)
        memory.add("what makes the space")
        for step in steps:
            act(desk, *step)
        look(desk)


CALM = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@settings(CALM, max_examples=120)
@given(steps=STEPS)
def test_nothing_is_lost_and_undo_brings_back_on_sqlite(
    memory_folder: Path, steps: list[tuple[str, int, int, bool]]
) -> None:
    run(memory_folder / f"{next(_numbers)}.db", memory_folder / "home", steps)


@settings(CALM, max_examples=25)
@given(steps=STEPS)
def test_nothing_is_lost_and_undo_brings_back_on_postgres(  # type: ignore[no-untyped-def]
    databases, memory_folder: Path, steps: list[tuple[str, int, int, bool]]
) -> None:
    place = databases.fresh()
    try:
        run(place, memory_folder / "home", steps)
    finally:
        databases.recycle(place)


_numbers = itertools.count()


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_of_the_table_does_something_once(name: str, memory_folder: Path) -> None:
    """A row that always refuses would test nothing."""
    first = [
        *(("add", number, 1 + number % 2, False) for number in range(3)),
        ("put", 2, 1, False),
        ("put", 5, 4, False),
    ]
    ready = {
        "demote": [("promote", 1, 0, False)], "restore": [("delete", 0, 0, False)], "drop": [("put", 2, 8, False)],
        "mature": [("read", 1, 2, False)], "take over": [("put", 1, 0, False)],
        "consolidate": [("add", number, 1, False) for number in (6, 7, 8)],
    }  # fmt: skip
    now = [1_700_000_000_000]
    options = load_settings(home=memory_folder / "home", embedder="none", scratchpad_tokens=20)
    with Memory(memory_folder / "m.db", space="desk", settings=options, clock=lambda: now[0]) as memory:
        desk = Desk(memory, now)
        for step in (*first, *ready.get(name, ())):
            act(desk, *step)
        before = (desk.images(), desk.now[0], memory.stats()["accesses"])
        for one, two in itertools.product(range(12), range(2)):
            act(desk, name, one, two, False)
            if (desk.images(), desk.now[0], memory.stats()["accesses"]) != before:
                return
    pytest.fail(f"{name} did nothing")
