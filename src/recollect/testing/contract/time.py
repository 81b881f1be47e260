"""Time: what was true at a time passes in every lane, and what happened around one is found on both sides."""

from typing import Any

import pytest

from recollect.testing.contract.rules import Rules
from recollect.testing.contract.vectors import pack
from recollect.testing.room import Room, chunk, operation

THEN: Any = ("live", "superseded", "expired")


def _near(room: Room, **filters: Any) -> set[str]:
    lane = room.store.vector_lane("m", [1.0, 0.0], room.see(**filters), 50)
    return {found.content for found in room.store.chunks([id for id, _ in lane], room.see(**filters))}


class TimeRules(Rules):
    @pytest.mark.parametrize(
        ("at_ms", "expected"),
        [
            (999, {"apple long ago"}),
            (1000, {"apple old", "apple long ago"}),
            (1999, {"apple old", "apple long ago", "apple brief"}),
            (2000, {"apple new", "apple brief"}),
            (2500, {"apple new"}),
        ],
    )
    def test_what_was_true_then_passes_in_every_lane(self, room: Room, at_ms: int, expected: set[str]) -> None:
        """From its time or its making until it was replaced or expired; superseded ones count, removed ones do not."""
        room.store.set_active_model("m", 2)

        def add(text: str, state: str = "live", **fields: Any) -> None:
            made = room.add(text, [chunk(text, vector=pack(1, 0))], **fields)
            if state != "live":
                room.change(made, state=state, keep_chunks=True)

        add("apple old", "superseded", created_ms=1000, valid_to_ms=2000)
        add("apple new", created_ms=2000)
        add("apple long ago", created_ms=9000, valid_from_ms=500, valid_to_ms=2000)
        add("apple brief", "expired", created_ms=1500, expires_ms=2500)
        add("apple deleted", "deleted", created_ms=100)
        add("apple evicted", "evicted", created_ms=100)
        asked: dict[str, Any] = {"states": THEN, "as_of_ms": at_ms}
        assert set(room.texts(**asked)) == expected
        assert room.find("apple", **asked) == expected
        assert _near(room, **asked) == expected

    def test_what_was_erased_was_never_true(self, room: Room) -> None:
        """An erasure reaches into the past."""
        made = room.add("apple", created_ms=1000)
        room.store.erase(operation("erase"), [room.id], [made.uid], [])
        assert room.find("apple", states=THEN, as_of_ms=1500) == set()

    def test_turns_count_from_when_they_were_said(self, room: Room) -> None:
        """A turn is neither replaced nor expired."""
        session = room.session()
        room.say(session, "apple one")
        at_ms = room.store.turns([room.id], session=session.uid)[0].at_ms
        room.say(session, "apple two")
        assert room.find("apple", states=THEN, as_of_ms=at_ms) == {"apple one"}
        assert room.find("apple", states=THEN, as_of_ms=at_ms - 1) == set()

    def test_turns_around_a_time(self, room: Room) -> None:
        """Nearest first on both sides, over all sessions, through the filter."""
        one, two = room.session("one"), room.session("two")
        for number in range(3):
            room.say(one, f"a{number}")
            room.say(two, f"b{number}", origin="tool")
        middle = next(turn for turn in room.store.turns([room.id], session=two.uid) if turn.text == "b1")
        before, after = room.store.turns_around((middle.at_ms, middle.id), room.see(), 2, 9)
        assert ([turn.text for turn in before], [turn.text for turn in after]) == (["a1", "b0"], ["a2", "b2"])
        before, after = room.store.turns_around((middle.at_ms, middle.id), room.see(session=one.uid), 9, 9)
        assert ([turn.text for turn in before], [turn.text for turn in after]) == (["a1", "a0"], ["a2"])
        before, after = room.store.turns_around((middle.at_ms, 0), room.see(trusted_only=True), 9, 9)
        assert ([turn.text for turn in before], [turn.text for turn in after]) == (["a1", "a0"], ["a2"])

    def test_sessions_around_a_time(self, room: Room) -> None:
        """Their starts and ends, nearest first; one that has not ended has only a start."""
        for key, started, ended in (("a", 1000, 2000), ("b", 2500, 5000), ("c", 3000, None), ("d", 4000, 4500)):
            room.session(key, started_ms=started, ended_ms=ended)

        def told(side: list[tuple[str, Any]]) -> list[str]:
            return [f"{what} {session.key}" for what, session in side]

        before, after = room.store.sessions_around(3000, room.see(), 9, 9)
        assert told(before) == ["start c", "start b", "end a", "start a"]
        assert told(after) == ["start d", "end d", "end b"]
        before, after = room.store.sessions_around(3000, room.see(), 1, 1)
        assert (told(before), told(after)) == (["start c"], ["start d"])
        _, after = room.store.sessions_around(3000, room.see(until_ms=4500), 9, 9)
        assert told(after) == ["start d"]

    def test_vectors_of_notes(self, room: Room) -> None:
        """The first chunk's, of this model, of the newest notes that pass."""
        room.store.set_active_model("m", 2)
        room.store.add_model("other", 2)
        one = room.add("one", [chunk("one", vector=pack(0.6, 0.8)), chunk("more", vector=pack(0, 1))])
        two = room.add("two", [chunk("two", vector=pack(1, 0))], kind="task")
        room.add("without")
        assert room.store.note_vectors("m", room.see(), 9) == [(two.id, pack(1, 0)), (one.id, pack(0.6, 0.8))]
        assert room.store.note_vectors("m", room.see(), 2) == [(two.id, pack(1, 0))]  # the newest two have one
        assert room.store.note_vectors("m", room.see(kinds=("fact",)), 9) == [(one.id, pack(0.6, 0.8))]
        assert room.store.note_vectors("other", room.see(), 9) == room.store.note_vectors("x", room.see(), 9) == []
