"""All of a call or nothing; transactions and snapshots, also as a second store object sees them."""

from dataclasses import replace
from typing import Any

import pytest

from recollect import audit
from recollect.errors import Conflict, NotFound
from recollect.store import Store
from recollect.testing.contract.rules import Rules
from recollect.testing.room import MakeStore, Room, change, insert, note, operation


def _state(store: Store, spaces: list[int]) -> dict[str, Any]:
    """What a reader can see of the store; `file_bytes` is the engine's business."""
    numbers = {name: value for name, value in store.stats(spaces).items() if name != "file_bytes"}
    return {"numbers": numbers, "events": store.events(spaces), "spaces": store.spaces()}


class AtomicRules(Rules):
    def test_a_conflict_in_the_middle_of_a_batch_leaves_nothing(self, room: Room) -> None:
        """No note, chunk, link, revision or event of a failed call is there afterwards."""
        first, second = room.add("first"), room.add("second")
        room.change(second, content="second, changed")
        before = _state(room.store, [room.id])
        with pytest.raises(Conflict):
            room.apply(
                insert(note("new")), change(first, content="first, changed"), change(second, content="too late"),
                insert(note("newer")),
            )  # fmt: skip
        assert _state(room.store, [room.id]) == before
        assert room.find("new", "newer", "late") == set()
        assert room.store.history(first.uid, [room.id]) == []
        assert room.get(first.uid) == first

    def test_a_failed_call_does_not_break_the_chain(self, room: Room) -> None:
        """Sequence numbers go on without a gap after a failure."""
        first = room.add("first")
        with pytest.raises(NotFound):
            room.apply(insert(note("x")), change(note("unknown", rev=1)))
        room.change(first, content="second")
        events = room.store.events([room.id])
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert audit.broken_at(events) is None

    def test_a_transaction_that_fails_takes_all_of_its_verbs_back(self, room: Room) -> None:
        """Notes, sessions, turns, settings and spaces written inside go together."""
        kept = room.add("kept")
        before = _state(room.store, [room.id])
        with pytest.raises(RuntimeError), room.store.transaction([room.id]):
            room.add("inside")
            room.change(kept, content="changed")
            room.say(room.session("inside"), "said inside")
            room.store.set_meta("inside", "yes")
            Room(room.store, "made inside")
            assert "inside" in room.texts()
            raise RuntimeError
        assert _state(room.store, [room.id]) == before
        assert room.store.get_meta("inside") is None
        assert room.find("inside", "changed") == set()

    def test_a_verb_that_fails_inside_a_transaction_is_undone_alone(self, room: Room) -> None:
        """The caller may catch a conflict and go on; what the failed verb had written is not committed."""
        first = room.add("first")
        with room.store.transaction([room.id]):
            room.add("before")
            with pytest.raises(Conflict):
                room.apply(insert(note("half")), change(first, content="x"), change(first, content="y"))
            room.add("after")
        assert sorted(room.texts()) == ["after", "before", "first"]
        assert room.find("half", "x") == set()
        assert audit.broken_at(room.store.events([room.id])) is None

    def test_nobody_sees_a_transaction_before_it_ends(self, room: Room, make_store: MakeStore) -> None:
        """Another store object sees all of it at once, after the commit."""
        other = Room(make_store(room.store))
        with room.store.transaction([room.id]):
            made = room.add("one")
            room.add("two")
            assert sorted(room.texts()) == ["one", "two"]
            assert other.texts() == []
            assert other.find("one") == set()
            assert not other.has(made.uid)
        assert sorted(other.texts()) == ["one", "two"]
        assert other.find("one") == {"one"}

    def test_transactions_nest(self, room: Room) -> None:
        """An inner one ends with the outer one."""
        with pytest.raises(RuntimeError), room.store.transaction([room.id]):
            with room.store.transaction([room.id]):
                room.add("inner")
            raise RuntimeError
        assert room.texts() == []
        with room.store.transaction([room.id]), room.store.transaction([room.id]):
            room.add("inner")
        assert room.texts() == ["inner"]

    def test_a_snapshot_keeps_one_state_while_others_write(self, room: Room, make_store: MakeStore) -> None:
        """Reads inside agree with each other; after it the new state is there."""
        other = Room(make_store(room.store))
        first = room.add("first")
        with room.store.snapshot():
            assert room.texts() == ["first"]
            other.add("second")
            other.change(first, verb="delete", state="deleted")
            assert room.texts() == ["first"]
            assert room.find("first", "second") == {"first"}
            assert room.get(first.uid).state == "live"
            assert room.store.stats([room.id])["notes"] == 1
        assert room.texts() == ["second"]
        assert room.find("first", "second") == {"second"}

    def test_two_store_objects_write_by_turns(self, room: Room, make_store: MakeStore) -> None:
        """Revisions and the chain hold when writers on one place alternate."""
        rooms = (room, Room(make_store(room.store)))
        made = room.add("0")
        for n in range(1, 7):
            made = rooms[n % 2].change(made, content=str(n))
        with pytest.raises(Conflict):
            rooms[0].change(replace(made, rev=made.rev - 1), content="late")
        events = room.store.events([room.id])
        assert audit.broken_at(events) is None
        assert [event.rev for event in events if event.uid == made.uid] == list(range(1, 8))

    def test_a_second_object_finds_the_same_space(self, room: Room, make_store: MakeStore) -> None:
        """Spaces belong to the place, not to the object that made them."""
        store = make_store(room.store)
        again = store.ensure_space("another name", "project", [("name", "home")], operation("space"))
        assert (again.id, again.name) == (room.id, "home")
