"""Reading notes: by reference, as pages, as neighbours, and through every filter."""

from dataclasses import replace
from typing import Any

import pytest

from recollect.ids import Ref
from recollect.testing.contract.rules import Rules
from recollect.testing.room import NOW_MS, Room, by_uid, insert, note
from recollect.types import Note

HOSTILE_TAGS = (
    "plain", "it's", 'say "hi"', "100%", "a?b", "$.x", "[0]", "a,b", "\\", "\\'; drop table notes; --", "ü🙂", " ",
    "null", "x" * 500, "{}", "%s", "*",
)  # fmt: skip


def _place(found: Note) -> tuple[int, int]:
    return found.created_ms, found.id


class ReadingRules(Rules):
    def test_notes_come_in_the_order_asked(self, room: Room) -> None:
        """By id or by uid, in any state; what does not exist is left out."""
        a, b, c = (room.add(text) for text in "abc")
        room.change(b, verb="delete", state="deleted")
        refs = [Ref("note", c.id, None), *by_uid(a.uid, "nobody"), Ref("note", 10**9, None), *by_uid(b.uid, a.uid)]
        assert [found.content for found in room.store.notes(refs, [room.id])] == ["c", "a", "b", "a"]
        assert room.store.notes([], [room.id]) == []
        assert room.store.notes(refs, []) == []

    def test_more_refs_than_a_statement_holds(self, room: Room) -> None:
        """Long lists are asked in parts."""
        room.apply(*(insert(note(f"note {n}")) for n in range(1200)))
        every = room.store.list_notes(room.see(), 2000)
        assert [found.content for found in every] == [f"note {n}" for n in reversed(range(1200))]
        assert room.store.notes([Ref("note", found.id, None) for found in every], [room.id]) == every

    def test_pages_stay_stable_while_notes_are_added(self, room: Room) -> None:
        """A page starts after the last row of the one before, whatever came meanwhile; equal times do not matter."""
        for n in range(9):
            room.add(f"old {n}", created_ms=1000 + n // 4)
        seen, before = list[str](), None
        for turn in range(5):
            page = room.store.list_notes(room.see(), 2, before)
            seen += [found.content for found in page]
            before = (page[-1].created_ms, page[-1].id)
            room.add(f"new {turn}", created_ms=5000)
        assert room.store.list_notes(room.see(), 2, before) == []
        assert seen == [f"old {n}" for n in reversed(range(9))]

    def test_neighbours_before_and_after(self, room: Room) -> None:
        """Nearest first on both sides; notes of the same millisecond are ordered by id."""
        notes = [room.add(f"n{n}", created_ms=1000 + n // 3) for n in range(9)]
        before, after = room.store.neighbours(_place(notes[4]), room.see(), 3, 2)
        assert [found.content for found in before] == ["n3", "n2", "n1"]
        assert [found.content for found in after] == ["n5", "n6"]
        before, after = room.store.neighbours(_place(notes[0]), room.see(), 3, 0)
        assert (before, after) == ([], [])

    def test_neighbours_respect_the_filter(self, room: Room) -> None:
        """What the filter hides is no neighbour."""
        notes = [room.add(f"n{n}", kind="fact" if n % 2 else "event") for n in range(6)]
        room.change(notes[5], verb="delete", state="deleted")
        before, after = room.store.neighbours(_place(notes[3]), room.see(kinds=("fact",)), 5, 5)
        assert ([found.content for found in before], after) == (["n1"], [])

    @pytest.mark.parametrize(
        ("fields", "filters"),
        [
            ({"kind": "event"}, {"kinds": ("event", "task")}),
            ({"tier": "semantic"}, {"tiers": ("semantic",)}),
            ({"tags": ("x", "y")}, {"tags": ("y", "z")}),
            ({"importance": 9}, {"min_importance": 8}),
            ({"confidence": 0.9}, {"min_confidence": 0.8}),
            ({"source": "a.md"}, {"sources": ("a.md",)}),
            ({"session": "s1"}, {"session": "s1"}),
            ({"pinned": True}, {"pinned": True}),
            ({"created_ms": 5000}, {"since_ms": 5000}),
            ({"created_ms": 5000}, {"since_ms": 4000, "until_ms": 5001}),
        ],
    )
    def test_a_filter_goes_into_every_lane(self, room: Room, fields: dict[str, Any], filters: dict[str, Any]) -> None:
        """list_notes, keyword and chunks agree on what passes."""
        plain: dict[str, Any] = {"tags": ("w",), "confidence": 0.5, "created_ms": 3000}
        room.add("apple wanted", **{**plain, **fields})
        room.add("apple other", **plain)
        assert room.texts(**filters) == ["apple wanted"]
        assert room.find("apple", **filters) == {"apple wanted"}
        ids = [found.id for found in room.chunks("apple")]
        assert [found.content for found in room.store.chunks(ids, room.see(**filters))] == ["apple wanted"]
        assert len(room.texts()) == 2

    def test_until_is_exclusive_and_not_pinned_is_a_filter_too(self, room: Room) -> None:
        """The borders of the filter."""
        room.add("a", created_ms=1000, pinned=True)
        room.add("b", created_ms=2000)
        assert room.texts(since_ms=1000, until_ms=2000) == ["a"]
        assert room.texts(pinned=False) == ["b"]

    @pytest.mark.parametrize("tag", HOSTILE_TAGS)
    def test_a_tag_is_data_whatever_it_says(self, room: Room, tag: str) -> None:
        """Any string can be a tag, and finds exactly the notes that have it."""
        room.add("tagged", tags=(tag, "more"))
        room.add("untagged", tags=(tag + "x", "x" + tag))
        assert room.texts(tags=(tag,)) == ["tagged"]
        assert room.find("tagged", "untagged", tags=("nothing", tag)) == {"tagged"}

    def test_only_trusted_origins(self, room: Room) -> None:
        """What tools, the web and files said is left out on request."""
        for origin in ("user", "agent", "tool", "web", "file"):
            room.add(f"by {origin}", origin=origin)
        assert sorted(room.texts(trusted_only=True)) == ["by agent", "by user"]
        assert room.find("by", trusted_only=True) == {"by agent", "by user"}
        assert len(room.find("by")) == 5

    def test_expiry_follows_the_clock_of_the_filter(self, room: Room) -> None:
        """A note past its time is hidden at once, before upkeep marks it; asking for expired ones shows it."""
        room.add("short", expires_ms=NOW_MS)
        room.add("long", expires_ms=NOW_MS + 1)
        assert room.texts() == ["long"]
        assert room.find("short", "long") == {"long"}
        early = replace(room.see(), now_ms=NOW_MS - 1)
        assert len(room.store.list_notes(early, 9)) == 2
        assert sorted(room.texts(states=("live", "expired"))) == ["long", "short"]

    def test_states_are_hidden_until_asked_for(self, room: Room) -> None:
        """Only live notes are found by default; deleted and evicted ones are listed, but no longer searched."""
        notes: dict[str, Note] = {}
        for state in ("live", "superseded", "expired", "evicted", "deleted"):
            notes[state] = room.add(f"apple {state}")
            if state != "live":
                room.change(notes[state], state=state, keep_chunks=True)
        assert room.texts() == ["apple live"]
        assert room.find("apple") == {"apple live"}
        everything: Any = tuple(notes)
        assert len(room.texts(states=everything)) == 5
        assert room.texts(states=("deleted",)) == ["apple deleted"]
        assert room.find("apple", states=("superseded",)) == {"apple superseded"}
        assert room.find("apple", states=everything) == {"apple live", "apple superseded", "apple expired"}

    def test_a_restored_note_is_found_again(self, room: Room) -> None:
        """Chunks come back with the change that brings the note back."""
        made = room.add("apple")
        hidden = room.change(made, verb="delete", state="deleted")
        assert room.find("apple") == set()
        room.change(hidden, verb="restore", state="live")
        assert room.find("apple") == {"apple"}

    def test_an_unknown_note_has_no_history_and_no_salt(self, room: Room) -> None:
        """Nothing is known of a note that never was."""
        assert room.store.history("nobody", [room.id]) == []
        assert room.store.salt("nobody", [room.id]) is None

    def test_images_of_an_earlier_time(self, rooms: tuple[Room, Room]) -> None:
        """The version that was in force then, for notes that were changed since; the others are as they are."""
        here, there = rooms
        here.add("never changed")
        made = here.change(here.change(here.add("one"), content="two"), content="three")
        there.change(there.add("elsewhere"), content="changed")
        first, second = (version.at_ms for version in here.store.history(made.uid, [here.id]))

        def then(at_ms: int) -> dict[int, tuple[int, str]]:
            found = here.store.images_at([here.id], at_ms)
            return {note: (rev, image["content"]) for note, (rev, image) in found.items()}

        assert then(first - 1) == {made.id: (1, "one")}
        assert then(first) == {made.id: (2, "two")}
        assert then(second) == {}
