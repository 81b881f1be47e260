"""Use counters, numbers, named values, checks and repair."""

import pytest

from recollect.store import Use
from recollect.testing.contract.rules import Rules
from recollect.testing.room import MakeStore, Room


class UpkeepRules(Rules):
    def test_only_an_access_counts_as_use(self, room: Room) -> None:
        """Getting a note counts and is remembered; a search hit is only logged."""
        one, two = room.add("one"), room.add("two")
        uses = [Use(one.id, "get", 10), Use(one.id, "get", 20), Use(two.id, "search", 30, 0.5, "a query")]
        assert room.store.record_use([*uses, Use(10**9, "get", 5)])
        usage = room.store.usage([one.id, two.id, 10**9], [room.id])
        assert set(usage) == {one.id}
        assert (usage[one.id].accesses, usage[one.id].last_access_ms) == (2, 20)

    def test_strength_starts_full_and_an_access_keeps_it_there(self, room: Room) -> None:
        """Each access adds a fifth of what is missing; nothing is missing yet."""
        made = room.add("one")
        for n in range(3):
            room.store.record_use([Use(made.id, "get", n)])
        assert room.store.usage([made.id], [room.id])[made.id].strength == pytest.approx(1.0)

    def test_use_leaves_no_event_and_no_revision(self, room: Room) -> None:
        """Counters are outside what is canonical."""
        made = room.add("one")
        before = room.store.events([room.id])
        room.store.record_use([Use(made.id, "get", 1)])
        assert room.store.events([room.id]) == before
        assert room.get(made.uid) == made

    def test_use_may_be_dropped_but_never_waits_for_a_writer(self, room: Room, make_store: MakeStore) -> None:
        """While another holds the note, the answer is quick: written, or dropped and said so."""
        made = room.add("one")
        other = make_store(room.store)
        with room.store.transaction([room.id]):
            room.change(made, content="two")
            said = other.record_use([Use(made.id, "get", 1)])
        assert (made.id in room.store.usage([made.id], [room.id])) is said

    def test_numbers_of_a_space(self, room: Room) -> None:
        """Counts by state and kind, sizes, times and averages, as plain numbers."""
        room.add("four", kind="fact", importance=2, created_ms=100, bytes=4)
        made = room.add("sixsix", kind="event", importance=4, created_ms=300, bytes=6, confidence=0.5)
        gone = room.add("gone", created_ms=900)
        room.change(gone, verb="delete", state="deleted")
        room.say(room.session(), "one", "two")
        room.store.record_use([Use(made.id, "get", 1)])
        numbers = room.store.stats([room.id])
        wanted = {
            "notes": 2, "bytes": 10, "oldest_ms": 100, "newest_ms": 300, "kinds": {"fact": 1, "event": 1},
            "states": {"live": 2, "deleted": 1}, "average_importance": 3.0, "average_confidence": 0.75, "sessions": 1,
            "turns": 2, "chunks": 4, "vectors": 0, "events": 7, "accesses": 1,
        }  # fmt: skip
        assert {name: numbers[name] for name in wanted} == wanted
        assert {name: type(numbers[name]) for name in wanted} == {name: type(value) for name, value in wanted.items()}
        assert numbers["file_bytes"] > 0

    def test_numbers_of_an_empty_space(self, room: Room) -> None:
        """No notes, no averages, no error."""
        numbers = room.store.stats([room.id])
        assert (numbers["notes"], numbers["bytes"], numbers["average_importance"]) == (0, 0, None)

    def test_named_values(self, room: Room, make_store: MakeStore) -> None:
        """Small settings of the store, seen by everyone who opens it."""
        assert room.store.get_meta("k") is None
        room.store.set_meta("k", "one")
        room.store.set_meta("k", "two 'quoted' 🙂")
        assert make_store(room.store).get_meta("k") == "two 'quoted' 🙂"

    def test_a_healthy_store_passes_its_checks(self, room: Room) -> None:
        """Checks are named, say something, and find nothing after ordinary work."""
        made = room.change(room.add("one"), content="two")
        room.say(room.session(), "three")
        room.change(made, verb="delete", state="deleted")
        findings = room.store.check()
        assert [finding for finding in findings if not finding.ok] == []
        assert all(finding.check and finding.detail for finding in findings)
        assert room.store.repair() == []

    def test_a_note_that_cannot_be_found_is_reported(self, room: Room) -> None:
        """A live note without chunks is a finding."""
        room.add("lost", [])
        assert any(not finding.ok for finding in room.store.check())

    def test_the_store_names_its_engine_and_place(self, room: Room) -> None:
        """For people who ask where their memory is."""
        assert room.store.engine
        assert room.store.location
