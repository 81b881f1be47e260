"""The timeline: notes, turns and sessions in one order, around a note or a turn."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory, Turn
from shell import Shell

pytest_plugins = ["postgres_server"]
START = 1_800_000_000_000


@pytest.fixture(params=["sqlite", "postgresql"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    place = tmp_path / "memory.db" if request.param == "sqlite" else request.getfixturevalue("databases").empty()
    now = [START]

    def tick() -> int:
        now[0] += 1000
        return now[0]

    with Memory(str(place), space="here", clock=tick) as made:
        made.add("before everything")
        session = made.start_session("talk", agent="a", title="About tea")
        said = [Turn("ana", "Which tea?", at_ms=now[0] + 100), Turn("bot", "Green.", at_ms=now[0] + 200)]
        made.add_turns(session, said)
        made.add("Ana drinks green tea", session=session.uid)
        made.end_session(session)
        made.add("after everything")
        yield made


def told(memory: Memory, ref: int | str, **options: object) -> list[tuple[int, str, str]]:
    return [(one.distance, one.what, one.title) for one in memory.timeline(ref, **options)]  # type: ignore[arg-type]


def test_a_timeline_has_notes_turns_and_sessions_in_order(memory: Memory) -> None:
    assert told(memory, 2) == [
        (-4, "note", "before everything"), (-3, "start", "session began: About tea"), (-2, "turn", "ana: Which tea?"),
        (-1, "turn", "bot: Green."), (0, "note", "Ana drinks green tea"), (1, "end", "session ended: About tea"),
        (2, "note", "after everything"),
    ]  # fmt: skip
    assert told(memory, 2, before=1, after=1) == told(memory, 2)[3:6]
    assert [one.position for one in memory.timeline(2, before=1, after=1)] == ["before", "anchor", "after"]


def test_a_turn_can_be_the_middle_of_a_timeline(memory: Memory) -> None:
    turn = memory.timeline(2)[2]
    assert turn.turn is not None and turn.id == f"t{turn.turn.id}"
    assert [(at, title) for at, _, title in told(memory, str(turn.id), before=1, after=2)] == [
        (-1, "session began: About tea"), (0, "ana: Which tea?"), (1, "bot: Green."), (2, "Ana drinks green tea"),
    ]  # fmt: skip


def test_at_the_same_moment_a_turn_comes_before_the_note_that_it_led_to(memory: Memory) -> None:
    note = memory.add("Tea it is")
    session = memory.sessions()[0]
    memory.add_turns(session, [Turn("ana", "Let us have tea", at_ms=note.created_ms)])
    assert [one.what for one in memory.timeline(note.id, before=1, after=0)] == ["turn", "note"]
    turn = str(memory.timeline(note.id, before=1)[0].id)
    assert [one.what for one in memory.timeline(turn, before=0, after=1)] == ["turn", "note"]
    far = [one.title for one in memory.timeline(1, before=0, after=20)]
    assert far.index("ana: Let us have tea") + 1 == far.index("Tea it is")


def test_filters_of_notes_leave_notes_alone(memory: Memory) -> None:
    notes = [(-1, "note", "before everything"), (0, "note", "Ana drinks green tea"), (1, "note", "after everything")]
    assert told(memory, 2, notes_only=True) == notes
    assert told(memory, 2, kinds=["observation"]) == notes
    session = memory.sessions()[0].uid
    assert [what for _, what, _ in told(memory, 2, session=session)] == ["start", "turn", "turn", "note", "end"]


def test_the_command_line_shows_turns_and_sessions(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.add("one note")
    with Memory(shell.store, space="user") as memory:
        session = memory.start_session("talk", title="About tea")
        memory.add_turns(session, [Turn("ana", "Which tea?", at_ms=memory.get(1).created_ms + 5)])
    assert "session began: About tea" in shell("timeline", "1").out
    rows = shell("timeline", "t1", "--json").json["moments"]
    assert [row["what"] for row in rows if row["position"] == "anchor"] == ["turn"]
    assert [row["what"] for row in shell("timeline", "1", "--notes", "--json").json["moments"]] == ["note"]
