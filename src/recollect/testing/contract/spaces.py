"""Spaces: aliases decide, names are unique, merged ones stand for another."""

import pytest

from recollect import audit
from recollect.errors import Conflict
from recollect.testing.contract.rules import Rules
from recollect.testing.room import MakeStore, Room, operation


class SpaceRules(Rules):
    def test_the_first_known_alias_decides(self, make_store: MakeStore) -> None:
        """Order of the aliases is their rank; the name given later does not matter."""
        store = make_store()
        one = store.ensure_space("one", "project", [("git", "/one")], operation())
        two = store.ensure_space("two", "project", [("remote", "host/two")], operation())
        aliases = [("marker", "?"), ("remote", "host/two"), ("git", "/one")]
        known = store.ensure_space("x", "project", aliases, operation())
        assert known.id == two.id
        assert [space.name for space in store.spaces()] == ["one", "two"]
        assert store.spaces()[0] == one

    def test_missing_aliases_are_added(self, make_store: MakeStore) -> None:
        """A space is later known by what it was found with; an alias of another stays there."""
        store = make_store()
        one = store.ensure_space("one", "project", [("git", "/one")], operation())
        two = store.ensure_space("two", "project", [("git", "/two")], operation())
        store.ensure_space("one", "project", [("git", "/one"), ("remote", "r"), ("git", "/two")], operation())
        assert store.ensure_space("?", "project", [("remote", "r")], operation()).id == one.id
        assert store.ensure_space("?", "project", [("git", "/two")], operation()).id == two.id
        assert store.spaces()[0].aliases == (("git", "/one"), ("remote", "r"))

    def test_asking_again_writes_nothing(self, room: Room) -> None:
        """Finding a known space is a read."""
        before = room.store.events([room.id])
        assert Room(room.store).id == room.id
        assert room.store.events([room.id]) == before

    @pytest.mark.parametrize(("name", "twin"), [("shop", "Shop"), ("Été", "été"), ("日本", "日本")])
    def test_a_taken_name_gets_a_number(self, make_store: MakeStore, name: str, twin: str) -> None:
        """Names are unique without regard to case, in every script."""
        store = make_store()
        names = enumerate([name, twin, name])
        made = [store.ensure_space(text, "project", [("git", str(n))], operation()) for n, text in names]
        assert [space.name for space in made] == [name, f"{twin}-2", f"{name}-3"]
        assert len({space.id for space in made} | {space.uid for space in made}) == 6

    def test_renaming(self, rooms: tuple[Room, Room]) -> None:
        """Notes show the new name; a name in use is refused; a change of case alone is not."""
        here, there = rooms
        made = here.add("apple")
        assert here.store.rename_space(here.id, "Elsewhere", operation("rename")).name == "Elsewhere"
        assert here.get(made.uid).space == "Elsewhere"
        with pytest.raises(Conflict):
            there.store.rename_space(there.id, "ELSEWHERE", operation("rename"))
        assert here.store.rename_space(here.id, "elsewhere", operation("rename")).name == "elsewhere"
        assert here.store.events([here.id])[-1].verb == "rename"

    def test_a_merged_space_stands_for_the_other(self, rooms: tuple[Room, Room]) -> None:
        """Its aliases lead to the space it went into, until it is opened again."""
        here, there = rooms
        here.store.close_space(here.id, there.id, operation("merge"))
        assert here.store.ensure_space("?", "project", [("name", "here")], operation()).id == there.id
        assert {space.id: space.merged_into for space in here.store.spaces()} == {here.id: there.id, there.id: None}
        here.store.close_space(here.id, None, operation("undo"))
        assert here.store.ensure_space("?", "project", [("name", "here")], operation()).id == here.id

    def test_merging_in_a_circle_is_a_conflict(self, rooms: tuple[Room, Room]) -> None:
        """Otherwise an alias would lead nowhere."""
        here, there = rooms
        here.store.close_space(here.id, there.id, operation("merge"))
        for space, into in ((there.id, here.id), (there.id, there.id)):
            with pytest.raises(Conflict):
                here.store.close_space(space, into, operation("merge"))

    def test_what_happens_to_a_space_is_recorded(self, room: Room) -> None:
        """Making, renaming and merging append events to the chain."""
        other = Room(room.store, "other")
        room.store.rename_space(room.id, "new", operation("rename"))
        room.store.close_space(room.id, other.id, operation("merge"))
        events = room.store.events([room.id])
        assert [event.verb for event in events] == ["space", "rename", "merge"]
        assert {event.uid for event in events} == {room.store.spaces()[0].uid}
        assert audit.broken_at(events) is None
