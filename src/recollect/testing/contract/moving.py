"""Moving notes and sessions between spaces: everything that belongs to them follows, and both sides see it."""

import pytest

from recollect import audit
from recollect.errors import Conflict
from recollect.store import Use
from recollect.testing.contract.rules import Rules
from recollect.testing.contract.vectors import pack
from recollect.testing.room import Room, change, chunk, operation
from recollect.types import Link


class MoveRules(Rules):
    def test_a_moved_note_takes_everything_along(self, rooms: tuple[Room, Room]) -> None:
        """Its id, uid, links, history, use and chunks are in the new space, and nowhere else."""
        here, there = rooms
        made = here.add("apple one", links=(Link("a"),))
        made = here.change(made, content="apple two")
        here.store.record_use([Use(made.id, "get", 5)])
        here.apply(change(made, to_space=there.id, keep_chunks=True), verb="move")
        moved = there.get(made.uid)
        assert (moved.id, moved.rev, moved.space, moved.links) == (made.id, 3, "there", (Link("a"),))
        assert not here.has(made.uid)
        assert [revision.rev for revision in there.store.history(made.uid, [there.id])] == [1, 2]
        assert there.store.history(made.uid, [there.id])[-1].moved_from == "here"
        assert here.store.history(made.uid, [here.id]) == []
        assert (here.find("apple"), there.find("apple")) == (set(), {"apple two"})
        assert made.id in there.store.usage([made.id], [there.id])
        assert here.store.usage([made.id], [here.id]) == {}

    def test_a_move_can_change_text_links_and_state_too(self, rooms: tuple[Room, Room]) -> None:
        """One change does both; new chunks are found in the new space only."""
        here, there = rooms
        made = here.add("apple", links=(Link("a"),))
        here.apply(change(made, to_space=there.id, content="pear", links=(Link("b"),)), verb="move")
        assert (here.find("apple", "pear"), there.find("apple", "pear")) == (set(), {"pear"})
        assert there.get(made.uid).links == (Link("b"),)
        there.apply(change(there.get(made.uid), to_space=here.id, state="deleted"), verb="move")
        assert here.get(made.uid).state == "deleted"
        assert (here.find("pear"), there.find("pear")) == (set(), set())

    def test_both_spaces_record_a_move(self, rooms: tuple[Room, Room]) -> None:
        """The new space gets the change, the old one a leave; both chains verify."""
        here, there = rooms
        made = here.add("apple")
        op = operation("move")
        here.store.apply(op, here.id, [change(made, to_space=there.id)])
        events = here.store.operation(op.id, [here.id, there.id])
        assert {(event.space, event.verb) for event in events} == {("there", "move"), ("here", "leave")}
        assert {event.rev for event in events} == {2}
        for room in rooms:
            assert audit.broken_at(room.store.events([room.id])) is None

    def test_moving_onto_a_live_text_is_a_conflict(self, rooms: tuple[Room, Room]) -> None:
        """Uniqueness among live notes holds in the space that a note comes to."""
        here, there = rooms
        made, twin = here.add("apple"), there.add("apple")
        with pytest.raises(Conflict):
            here.apply(change(made, to_space=there.id))
        assert here.get(made.uid) == made
        assert there.get(twin.uid) == twin

    def test_vectors_follow_and_readers_of_both_spaces_notice(self, rooms: tuple[Room, Room]) -> None:
        """A reader that has scanned both spaces before sees the note leave and come back, once."""
        here, there = rooms
        here.store.set_active_model("m", 2)
        made = here.add("apple", [chunk("apple", vector=pack(1, 0))])
        here.add("pear", [chunk("pear", vector=pack(0, 1))])
        there.add("plum", [chunk("plum", vector=pack(0, 1))])

        def near(room: Room) -> list[str]:
            lane = room.store.vector_lane("m", [1.0, 0.0], room.see(), 10)
            return [found.content for found in room.store.chunks([id for id, _ in lane], room.see())]

        assert (near(here), near(there)) == (["apple", "pear"], ["plum"])
        here.apply(change(made, to_space=there.id, keep_chunks=True))
        assert (near(here), near(there)) == (["pear"], ["apple", "plum"])
        there.apply(change(there.get(made.uid), to_space=here.id, keep_chunks=True))
        assert (near(here), near(there)) == (["apple", "pear"], ["plum"])
        assert here.store.pending("m", [here.id], 9) == []

    def test_readers_of_vectors_who_are_behind_a_trimmed_log_read_everything_anew(
        self, rooms: tuple[Room, Room]
    ) -> None:
        """A note that left and came back, with nothing left to say so, is found once and where it is."""
        here, there = rooms
        here.store.set_active_model("m", 2)
        made = here.add("apple", [chunk("apple", vector=pack(1, 0))])
        here.add("pear", [chunk("pear", vector=pack(0, 1))])

        def near(room: Room) -> list[str]:
            return [
                room.store.chunks([id], room.see())[0].content
                for id, _ in room.store.vector_lane("m", [1.0, 0.0], room.see(), 10)
            ]

        assert near(here) == ["apple", "pear"]
        here.apply(change(made, to_space=there.id, keep_chunks=True))
        there.apply(change(there.get(made.uid), to_space=here.id, keep_chunks=True))
        room = here.add("plum", [chunk("plum", vector=pack(0.6, 0.8))])
        here.apply(change(room, state="deleted"))
        here.store.trim_removals(1)
        assert near(here) == ["apple", "pear"]
        assert near(there) == []
        here.add("fig", [chunk("fig", vector=pack(0.8, 0.6))])
        assert near(here) == ["apple", "fig", "pear"]
        assert here.store.trim_removals(1) == 0

    def test_sessions_move_with_turns_and_chunks(self, rooms: tuple[Room, Room]) -> None:
        """A merged space's sessions are found in the other; only those that came from it go back."""
        here, there = rooms
        mine, theirs = here.session("k1"), there.session("k2")
        here.say(mine, "apple said")
        there.say(theirs, "pear said")
        assert here.store.move_sessions(operation("merge"), here.id, there.id, None) == 1
        assert (here.find("said"), there.find("said")) == (set(), {"apple said", "pear said"})
        assert here.store.sessions([here.id]) == []
        assert [turn.text for turn in there.store.turns([there.id], session=mine.uid)] == ["apple said"]
        assert there.say(there.store.sessions([there.id], uid=mine.uid)[0], "apple said", "more") != []
        assert there.store.move_sessions(operation("undo"), there.id, here.id, here.id) == 1
        assert (here.find("said"), there.find("said")) == ({"apple said"}, {"pear said"})
        assert {turn.text for turn in here.store.turns([here.id], session=mine.uid)} == {"apple said", "more"}

    def test_a_session_whose_key_is_taken_keeps_its_turns(self, rooms: tuple[Room, Room]) -> None:
        """Two sessions of one key in merged spaces stay two."""
        here, there = rooms
        for room in rooms:
            room.say(room.session("same"), f"in {room.name}")
        here.store.move_sessions(operation("merge"), here.id, there.id, None)
        assert len({session.key for session in there.store.sessions([there.id])}) == 2
        assert there.find("in") == {"in here", "in there"}

    def test_a_moved_note_can_be_found_by_its_old_events(self, rooms: tuple[Room, Room]) -> None:
        """The events of the time before stay where they happened."""
        here, there = rooms
        made = here.add("apple")
        here.apply(change(made, to_space=there.id))
        assert [event.verb for event in here.store.events([here.id]) if event.uid == made.uid] == ["add", "leave"]

    def test_a_session_gets_its_own_key_back_when_it_comes_home(self, rooms: tuple[Room, Room]) -> None:
        """Where the target had the same one it was given another for the time being."""
        here, there = rooms
        moved, twin = here.session("same"), there.session("same")
        here.store.move_sessions(operation("merge"), here.id, there.id, None)
        assert len({session.key for session in here.store.sessions([there.id])}) == 2
        here.store.move_sessions(operation("undo"), there.id, here.id, here.id)
        assert [(session.uid, session.key) for session in here.store.sessions([here.id])] == [(moved.uid, "same")]
        assert [session.uid for session in here.store.sessions([there.id])] == [twin.uid]
