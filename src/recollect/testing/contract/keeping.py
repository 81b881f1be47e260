"""Bounds and retention: what upkeep reads and removes, and a chain that can be trimmed."""

from dataclasses import replace

from recollect import audit
from recollect.policies import Hidden
from recollect.store import Use
from recollect.testing.contract.rules import Rules
from recollect.testing.room import MakeStore, Room, chunk, operation
from recollect.types import Link


class KeepingRules(Rules):
    def test_weights_say_what_the_bounds_need(self, rooms: tuple[Room, Room]) -> None:
        """Every live note of every space, with its last access; search hits are none."""
        here, there = rooms
        one = here.add("one", bytes=10, pinned=True, session="s", created_ms=5)
        two = there.add("two", bytes=20, kind="decision")
        gone = here.add("three")
        here.change(gone, verb="delete", state="deleted")
        here.store.record_use([Use(one.id, "get", 7), Use(two.id, "search", 9)])
        first, second = sorted(here.store.weights())
        assert first == (one.id, here.id, 10, "fact", True, "s", 5, 7)
        assert second == (two.id, there.id, 20, "decision", False, None, two.created_ms, None)
        assert here.store.live_size() == (2, 30)

    def test_only_live_notes_whose_time_has_passed_are_due(self, rooms: tuple[Room, Room]) -> None:
        """At the very millisecond too."""
        here, there = rooms
        one, two = here.add("one", expires_ms=100), there.add("two", expires_ms=101)
        here.change(here.add("three", expires_ms=50), verb="delete", state="deleted")
        here.add("four")
        assert here.store.due(99) == []
        assert here.store.due(100) == [(here.id, one.id)]
        assert here.store.due(101) == [(here.id, one.id), (there.id, two.id)]

    def test_hidden_notes_are_those_that_upkeep_hid(self, room: Room) -> None:
        """Evicted and expired; deleted and superseded ones are the user's own doing."""
        room.change(room.add("kept"), verb="delete", state="deleted")
        room.change(room.add("newer", bytes=1), state="superseded")
        one = room.change(room.add("one", bytes=3), state="evicted", updated_ms=70)
        two = room.change(room.add("two", bytes=4), state="expired", updated_ms=80)
        assert sorted(room.store.hidden()) == sorted([Hidden(one.uid, room.id, 3, 70), Hidden(two.uid, room.id, 4, 80)])

    def test_the_newest_event_before_a_time(self, room: Room) -> None:
        """Of any space; None where all are younger."""
        at_ms = room.store.events([room.id])[0].at_ms
        assert room.store.seen_before(at_ms - 1) is None
        assert room.store.seen_before(at_ms) == at_ms

    def test_removing_may_be_part_of_a_transaction(self, room: Room) -> None:
        """Rolled back with it, or there with it; the engine's files are cleaned afterwards."""
        made = room.add("apple")
        try:
            with room.store.transaction([room.id]):
                room.store.remove(operation("purge"), [room.id], [made.uid], [])
                raise KeyError
        except KeyError:
            pass
        assert room.find("apple") == {"apple"}
        assert room.store.remove(operation("purge"), [room.id], [made.uid], [])["notes"] == 1
        assert room.store.scrub() is False
        assert not room.has(made.uid)

    def test_old_versions_go_but_never_the_newest_few(self, room: Room) -> None:
        """By when they were replaced; a note keeps its newest versions however old."""
        made = room.add("version 1")
        for number in range(2, 8):
            made = room.change(made, content=f"version {number}")
        replaced = [revision.at_ms for revision in room.store.history(made.uid, [room.id])]
        assert room.store.count_trim(replaced[5] + 1, 2, 0, 100)["revisions"] == 4
        assert room.store.trim(replaced[2], 2, 0, 100)["revisions"] == 2
        assert [revision.rev for revision in room.store.history(made.uid, [room.id])] == [3, 4, 5, 6]
        assert room.store.trim(replaced[5] + 1, 2, 0, 100)["revisions"] == 2
        assert [revision.rev for revision in room.store.history(made.uid, [room.id])] == [5, 6]
        assert room.get(made.uid) == made

    def test_old_accesses_go_and_the_counters_stay(self, room: Room) -> None:
        """What was used how often is still known."""
        made = room.add("one")
        room.store.record_use([Use(made.id, "get", 10), Use(made.id, "get", 20)])
        assert room.store.count_trim(0, 1, 20, 100)["accesses"] == 1
        assert room.store.trim(0, 1, 20, 100)["accesses"] == 1
        assert room.store.usage([made.id], [room.id])[made.id].accesses == 2

    def test_the_cache_is_trimmed_to_its_bound(self, room: Room) -> None:
        """The least recently used go first."""
        room.store.cache("p", "m", 1, {"a": b"1111", "b": b"2222"}, 1, 10)
        room.store.cached("p", "m", 1, ["a"], 2)
        assert room.store.trim(0, 1, 0, 1)["cache"] == 1
        assert set(room.store.cached("p", "m", 1, ["a", "b"], 3)) == {"a"}

    def test_a_trimmed_chain_still_proves_every_note(self, rooms: tuple[Room, Room]) -> None:
        """It goes on from where it was cut, and what the cut events said of images that are here is said again."""
        here, there = rooms
        made = here.change(here.add("one"), content="two")
        moved = here.add("moves away")
        here.change(moved, to_space=there.id)
        erased = here.add("erased")
        here.store.erase(operation("erase"), [here.id], [erased.uid], [])
        before = here.store.events([here.id])
        last = before[-1]
        assert here.store.old_events(here.id, before[0].at_ms) == 0
        assert here.store.old_events(here.id, last.at_ms + 1) == last.seq
        gone = here.store.trim_events(operation("anchor"), here.id, last.seq)
        assert gone == len(before)
        (start, prev), (end, head) = here.store.chain(here.id)
        events = here.store.events([here.id])
        assert (start, prev) == (last.seq, last.hash)
        assert audit.broken_at(events, prev) is None
        assert (events[0].seq, events[-1].seq, events[-1].hash) == (last.seq + 1, end, head)
        assert {(event.verb, event.uid, event.rev) for event in events} == {
            ("anchor", made.uid, 1), ("anchor", made.uid, 2), ("trace", moved.uid, 1),
        }  # fmt: skip
        digests = {(event.uid, event.rev): event.digest for event in events}
        salt = here.store.salt(made.uid, [here.id])
        assert salt is not None
        assert digests[made.uid, 2] == audit.digest(salt, audit.encode(audit.image(here.get(made.uid))))
        here.change(here.get(made.uid), content="three")
        assert audit.broken_at(here.store.events([here.id]), prev) is None
        assert here.store.old_events(here.id, 0) == 0

    def test_a_chain_that_was_never_trimmed_begins_at_its_beginning(self, room: Room, make_store: MakeStore) -> None:
        """And ends at the newest event, as another process sees it too."""
        room.add("one")
        last = room.store.events([room.id])[-1]
        assert make_store(room.store).chain(room.id) == ((0, audit.GENESIS), (last.seq, last.hash))

    def test_images_and_versions_come_with_the_salts_of_their_digests(self, rooms: tuple[Room, Room]) -> None:
        """Of every space and state, in pages; each opens the digest of its event."""
        here, there = rooms
        made = here.change(here.add("one", links=(Link("a"), Link("b"))), content="two")
        made = here.change(made, verb="delete", state="deleted")
        other = there.add("elsewhere")
        store = here.store
        digests = {(event.uid, event.rev): event.digest for event in store.events([here.id, there.id])}
        images = [*store.images(0, 1), *store.images(made.id, 10)]
        assert [note for note, _ in images] == [made, other]
        for note, salt in images:
            assert digests[note.uid, note.rev] == audit.digest(salt, audit.encode(audit.image(note)))
        versions = [*store.versions((0, 0), 1), *store.versions((made.id, 1), 10)]
        assert [row[:3] for row in versions] == [(made.id, 1, made.uid), (made.id, 2, made.uid)]
        for _, rev, uid, encoded, salt in versions:
            assert digests[uid, rev] == audit.digest(salt, encoded)

    def test_many_removals_leave_an_index_that_agrees(self, room: Room) -> None:
        """Before and after it is merged, which a second run finds done."""
        notes = [room.add(f"apple {number}") for number in range(30)]
        with room.store.transaction([room.id]):
            for one in notes[:25]:
                room.change(replace(one), state="evicted", keep_chunks=True)
        for merge in (False, True, True):
            assert room.store.compact(merge) >= 0
            assert len(room.find("apple")) == 5
            assert [finding for finding in room.store.check() if not finding.ok] == []

    def test_turns_and_slices_are_read_in_pages(self, room: Room) -> None:
        """For whoever compares them with their hashes."""
        made = room.add("apple", [chunk("apple", "fruit")])
        first, second = room.say(room.session(), "one", "two")
        store = room.store
        said = [*store.said(0, 1), *store.said(first, 10)]
        assert said == [(first, "one", audit.content_hash("one")), (second, "two", audit.content_hash("two"))]
        slices = [*store.slices(0, 1), *store.slices(1, 10)]
        assert [row[1:7] for row in slices] == [
            (room.id, "note", made.id, "fruit", "apple", audit.content_hash("apple")),
            (room.id, "turn", first, "", "one", audit.content_hash("one")),
            (room.id, "turn", second, "", "two", audit.content_hash("two")),
        ]
        assert [row[7] for row in slices] == ["apple", "one", "two"]

    def test_a_note_that_lost_its_chunks_gets_new_ones(self, room: Room) -> None:
        """Without a new revision or event: what is derived has no history."""
        made = room.add("apple", [])
        hidden = room.add("banana", [])
        room.change(hidden, verb="delete", state="deleted", keep_chunks=True)
        events = room.store.events([room.id])
        assert room.store.unsearchable() == [(room.id, made.id)]
        room.store.give_chunks(room.id, made, [chunk("apple")])
        assert room.store.unsearchable() == []
        assert room.find("apple") == {"apple"}
        assert (room.store.events([room.id]), room.get(made.uid)) == (events, made)
