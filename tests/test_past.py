"""The past: every undoable operation is taken back exactly, and any earlier time can be read."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults import SIZES
from recollect import Memory, Turn
from recollect.config import load_settings
from recollect.errors import Conflict, NotFound, RecollectError
from recollect.ids import new_uid
from recollect.policies import DAY_MS
from recollect.types import Link
from recollect.upkeep.cleanup import Cleaned
from shell import Shell

pytest_plugins = ["postgres_server"]
pytestmark = pytest.mark.timeout(SIZES.timeout)
START = 1_800_000_000_000
NOISY = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


class World:
    """Two spaces of one store, and a clock that ticks with every call."""

    def __init__(self, place: str, home: Path) -> None:
        self.now = START
        made = load_settings(home=home, auto_backups=0)
        self.here, self.there = (
            Memory(place, space=name, settings=made, clock=self.tick) for name in ("here", "there")
        )
        self.here.add("in the beginning")
        self.there.add("elsewhere")

    def tick(self) -> int:
        self.now += 1000
        return self.now

    def close(self) -> None:
        self.here.close()
        self.there.close()

    def everything(self) -> dict[str, Any]:
        """The canonical content: notes of both spaces, sessions and what was said in them."""
        kept = {memory.settings.space: list(memory.export()) for memory in (self.here, self.there)}
        spaces = {space.name: space.merged_into for space in self.here.spaces()}
        talks = {
            name: sorted(
                (one.uid, one.key, tuple(turn.text for turn in memory.turns(one))) for one in memory.sessions()
            )
            for name, memory in (("here", self.here), ("there", self.there))
            if spaces[name] is None
        }
        return {"notes": kept, "spaces": spaces, "sessions": talks}


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("add", "many", "update", "delete", "restore", "pin", "link", "import", "cleanup", "say",
                         "undo", "twin", "expire", "copy")),
        st.integers(0, 30), st.integers(0, 9),
    ),
    min_size=1, max_size=12,
)  # fmt: skip
LAST = st.sampled_from(
    ("add", "many", "update", "delete", "restore", "pin", "link", "import", "cleanup", "merge", "undo")
)


def act(world: World, verb: str, pick: int, word: int) -> str | None:
    """Does it; the id of the operation if it can be undone."""
    memory = world.here
    known = list(reversed(memory.list(limit=100, states=["live", "superseded", "expired", "evicted", "deleted"])))
    note = known[pick % len(known)]
    text = f"word{word} is said"
    acts: dict[str, Callable[[], object]] = {
        "add": lambda: memory.add(text, tags=[f"t{word}"]),
        "many": lambda: memory.add_many([text, f"{text} twice", f"{text} thrice {pick}"]),
        "update": lambda: memory.update(note, content=f"{text}, changed", importance=1 + word),
        "delete": lambda: memory.delete_many([note, *known[word:]][:3]),
        "restore": lambda: memory.restore(note),
        "pin": lambda: memory.pin(note, not note.pinned),
        "link": lambda: memory.link(note, known[word % len(known)]),
        "import": lambda: memory.import_notes(_rows(note, text, world.now)),
        "cleanup": lambda: memory.cleanup(max_notes=1 + pick, force=True),
        "merge": lambda: memory.merge_spaces("there", "here"),
        "copy": lambda: _copied(memory, world.there, pick),
        "say": lambda: [say(one, text) for one in (memory, world.there)],
        "undo": lambda: memory.undo(),
        "twin": lambda: world.there.add(text),
        "expire": lambda: memory.add(f"{text} for a moment", expires_ms=world.now),
    }  # fmt: skip
    before = memory.operations(limit=1)[0][0].operation
    try:
        done = acts[verb]()
    except RecollectError:
        return None
    if isinstance(done, Cleaned):  # it may have touched the other space alone
        return done.operation if done.evicted or done.expired else None
    newest = memory.operations(limit=1)[0][0].operation
    return newest if newest != before and verb != "say" else None


def say(memory: Memory, text: str) -> object:
    return memory.add_turns(memory.start_session("s", agent="a"), [Turn("user", text)])


def _copied(source: Memory, target: Memory, changed: int) -> None:
    """Notes with the same uid in both spaces; one of them is changed on either side afterwards."""
    rows = list(source.export())
    target.import_notes(rows)
    for memory in (target, source)[: changed % 3] if rows else ():
        memory.update(str(rows[changed % len(rows)]["uid"]), content=f"changed {changed} where it was brought")


def _rows(note: Any, text: str, now: int) -> list[dict[str, Any]]:
    newer = {"uid": note.uid, "content": f"{note.content} from elsewhere", "updated_ms": now + 10**9, "created_ms": 5}
    return [newer, {"uid": new_uid(), "content": f"{text} imported", "links": [[note.uid, "related"]]}]


def _check(world: World, steps: list[Step], last: str, pick: int, word: int) -> None:
    for step in steps:
        act(world, *step)
    before = world.everything()
    operation = act(world, last, pick, word)
    if operation is None:
        assert world.everything() == before
        return
    world.here.undo(operation)
    assert world.everything() == before
    assert world.here.verify().ok
    assert [finding for finding in world.here.check() if not finding.ok] == []


@settings(max_examples=40 * SIZES.histories, deadline=None, suppress_health_check=NOISY)
@given(steps=STEPS, last=LAST, pick=st.integers(0, 30), word=st.integers(0, 9))
def test_every_operation_is_undone_exactly_on_sqlite(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], last: str, pick: int, word: int
) -> None:
    folder = tmp_path_factory.mktemp("undo")
    world = World(str(folder / "memory.db"), folder)
    try:
        _check(world, steps, last, pick, word)
    finally:
        world.close()


@pytest.mark.slow
@settings(max_examples=20 * SIZES.histories, deadline=None, suppress_health_check=NOISY)
@given(steps=STEPS, last=LAST, pick=st.integers(0, 30), word=st.integers(0, 9))
def test_every_operation_is_undone_exactly_on_postgresql(
    databases: Any, tmp_path_factory: pytest.TempPathFactory, steps: list[Step], last: str, pick: int, word: int
) -> None:
    world = World(databases.empty(), tmp_path_factory.mktemp("undo"))
    try:
        _check(world, steps, last, pick, word)
    finally:
        world.close()


# -- earlier times ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    place = tmp_path / "memory.db" if request.param == "sqlite" else request.getfixturevalue("databases").empty()
    made = World(str(place), tmp_path / "home")
    yield made
    made.close()


def test_the_list_of_any_earlier_time_is_the_list_that_was(world: World) -> None:
    memory = world.here
    seen: dict[int, list[Any]] = {}

    def look() -> None:
        world.now += DAY_MS
        seen[world.now] = [(note.uid, note.rev, note.content, note.state) for note in memory.list(limit=100)]
        world.now += DAY_MS

    look()
    one = memory.add("one", kind="fact", tags=["a"])
    look()
    memory.update(one, content="one, changed", tags=["b"])
    two = memory.add("two", kind="decision", links=[Link(one.uid)])
    look()
    memory.delete(one)
    look()
    memory.restore(one)
    memory.update(two, content="two, changed")
    look()
    for at, expected in seen.items():
        found = memory.list(limit=100, as_of_ms=at)
        assert [(note.uid, note.rev, note.content, note.state) for note in found] == expected
    third = list(seen)[2]
    assert [note.content for note in memory.list(as_of_ms=third, kinds=["decision"])] == ["two"]
    assert memory.list(as_of_ms=third, tags=["a"]) == []
    assert memory.get(one, as_of_ms=list(seen)[1]).content == "one"
    assert memory.get(one, as_of_ms=world.now).content == "one, changed"
    with pytest.raises(NotFound, match="not there then"):
        memory.get(one, as_of_ms=next(iter(seen)))
    assert memory.list(as_of_ms=0) == []


def test_many_are_deleted_restored_and_pinned_in_one_operation_or_none_is(world: World) -> None:
    memory = world.here
    notes = [memory.add(f"number {number}") for number in range(4)]
    before = world.everything()
    deleted = memory.delete_many([notes[0].id, notes[1], notes[0]])
    assert [(note.uid, note.state) for note in deleted] == [(note.uid, "deleted") for note in notes[:2]]
    assert len(memory.operations(limit=1)[0]) == 2
    memory.undo()
    assert world.everything() == before
    memory.delete(notes[2])
    with pytest.raises(NotFound, match="already deleted"):
        memory.delete_many([notes[3], notes[2]])
    assert [memory.get(note).state for note in notes] == ["live", "live", "deleted", "live"]
    assert {note.state for note in memory.restore_many(notes)} == {"live"}
    assert len(memory.operations(limit=1)[0]) == 1
    assert all(note.pinned for note in memory.pin_many(notes))
    memory.undo()
    assert not any(memory.get(note).pinned for note in notes)


@pytest.mark.parametrize("newer", ["here", "there"])
def test_of_a_note_that_both_spaces_have_a_merge_keeps_the_newer(world: World, newer: str) -> None:
    note = world.here.add("as it was")
    world.there.import_notes(list(world.here.export()))
    older = "there" if newer == "here" else "here"
    for name in (older, newer):
        getattr(world, name).update(note.uid, content=f"as {name} has it")
    before = world.everything()
    assert world.here.merge_spaces("there", "here", dry_run=True).known == 2
    done = world.here.merge_spaces("there", "here")
    assert world.here.get(note.uid).content == f"as {newer} has it"
    assert len(world.here.search("has", mode="keyword")) == 1
    assert [finding for finding in world.here.check() if not finding.ok] == []
    assert world.here.verify().ok
    world.here.undo(done.operation)
    assert world.everything() == before


def test_notes_of_several_spaces_are_deleted_in_one_operation(world: World) -> None:
    one, two = world.here.add("mine"), world.there.add("yours")
    before = world.everything()
    with Memory(world.here.settings.store, space="all", settings=world.here.settings) as everywhere:
        everywhere.delete_many([one.uid, two.uid])
        assert {everywhere.get(uid).state for uid in (one.uid, two.uid)} == {"deleted"}
        operation = everywhere.history(one.uid)[-1].operation
        with pytest.raises(Conflict, match="other spaces") as caught:
            world.here.undo(operation)
        assert "all" in caught.value.hint
        everywhere.undo(operation)
    assert world.everything() == before


def test_taking_back_that_a_clean_up_was_taken_back_reaches_every_space_too(world: World) -> None:
    world.here.cleanup(max_notes=1, force=True)
    after = world.everything()
    assert after["notes"] == {"here": [], "there": []}
    undone = world.here.undo()
    assert len(undone) == 2
    world.here.undo()
    assert world.everything() == after


def test_the_command_line_reads_the_past(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.add("as it was")
    shell("update", "1", "as it is")
    assert shell("get", "1", "--as-of", "1d").code == 3
    assert shell("list", "--as-of", "1d").out == "no notes here\n"
    assert "as it is" in shell("list", "--as-of", "2999-01-01").out


def test_an_import_or_merge_of_many_is_preceded_by_a_copy(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory(tmp_path / "memory.db", space="here", settings=load_settings(home=home)) as memory:
        memory.import_notes({"content": f"note {number}"} for number in range(100))
        assert not (home / "backups").exists()
        memory.import_notes({"content": f"more {number}"} for number in range(101))
        memory.add("in here")
        with Memory(tmp_path / "memory.db", space="there", settings=load_settings(home=home)) as other:
            other.add("in there")
        memory.merge_spaces("here", "there")
    names = sorted(path.name for path in (home / "backups").iterdir())
    assert ["-before-import-" in names[0], "-before-merge-" in names[1]] == [True, True]
