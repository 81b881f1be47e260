"""`erase`: no trace of the text, a chain that still verifies."""

from recollect import audit
from recollect.store import Use
from recollect.testing.contract.rules import Rules
from recollect.testing.room import Room, by_uid, operation
from recollect.types import Link


class EraseRules(Rules):
    def test_an_erased_note_is_gone_from_every_verb(self, room: Room) -> None:
        """Row, revisions with salts, chunks, links, use: all removed, and counted."""
        made = room.add("secret one", links=(Link("a"),))
        made = room.change(made, content="secret two")
        room.store.record_use([Use(made.id, "get", 5)])
        kept = room.add("kept")
        done = room.store.erase(operation("erase"), [room.id], [made.uid, "nobody"], [])
        assert {name: done.counts[name] for name in ("notes", "revisions", "chunks", "accesses")} == {
            "notes": 1, "revisions": 1, "chunks": 1, "accesses": 1,
        }  # fmt: skip
        assert room.store.notes(by_uid(made.uid), [room.id]) == []
        assert room.store.history(made.uid, [room.id]) == []
        assert room.store.salt(made.uid, [room.id]) is None
        assert room.find("secret") == set()
        assert room.store.usage([made.id], [room.id]) == {}
        assert room.texts(states=("live", "deleted", "superseded")) == ["kept"]
        assert room.get(kept.uid) == kept

    def test_the_chain_verifies_after_an_erasure(self, room: Room) -> None:
        """Events stay, and the erasure is one of them."""
        made = room.change(room.add("one"), content="two")
        op = operation("erase")
        room.store.erase(op, [room.id], [made.uid], [])
        events = room.store.events([room.id])
        assert [event.verb for event in events if event.uid == made.uid] == ["add", "update", "erase"]
        assert audit.broken_at(events) is None
        assert len(room.store.operation(op.id, [room.id])) == 1

    def test_erasing_a_note_leaves_the_digests_of_others_true(self, room: Room) -> None:
        """A note that links to the erased one is not changed behind its own back."""
        made = room.add("secret")
        linking = room.add("linking", links=(Link(made.uid),))
        room.store.erase(operation("erase"), [room.id], [made.uid], [])
        salt = room.store.salt(linking.uid, [room.id])
        digest = [event.digest for event in room.store.events([room.id]) if event.uid == linking.uid][-1]
        assert salt is not None
        assert digest == audit.digest(salt, audit.encode(audit.image(room.get(linking.uid))))

    def test_the_text_of_an_erased_note_can_be_added_again(self, room: Room) -> None:
        """An erasure is of what was, not of what will be."""
        made = room.add("apple")
        room.store.erase(operation("erase"), [room.id], [made.uid], [])
        assert room.add("apple").uid != made.uid

    def test_erasing_reaches_the_visible_spaces_only(self, rooms: tuple[Room, Room]) -> None:
        """A note or session of another space is left alone."""
        here, there = rooms
        made, session = there.add("apple"), there.session()
        there.say(session, "said")
        done = here.store.erase(operation("erase"), [here.id], [made.uid], [session.uid])
        assert set(done.counts.values()) == {0}
        assert there.get(made.uid) == made
        assert len(there.store.turns([there.id], session=session.uid)) == 1

    def test_turns_are_erased_one_by_one_and_do_not_come_back(self, room: Room) -> None:
        """The rest of the session stays; the record leaves a tombstone without words."""
        session = room.session()
        first, second = room.say(session, "apple pie", "banana split")
        counts = room.store.remove(operation("erase"), [room.id], [], [], [first, 10**9])
        assert (counts["turns"], counts["chunks"]) == (1, 1)
        assert [turn.id for turn in room.store.turns([room.id], session=session.uid)] == [second]
        assert room.find("apple") == set()
        assert room.say(session, "apple pie") == []
        assert audit.broken_at(room.store.events([room.id])) is None

    def test_an_erased_note_is_remembered_as_forgotten_and_a_purged_one_is_not(self, rooms: tuple[Room, Room]) -> None:
        """In its own space alone."""
        here, there = rooms
        erased, purged = here.add("one"), here.add("two")
        here.store.remove(operation("erase"), [here.id], [erased.uid], [])
        here.store.remove(operation("purge"), [here.id], [purged.uid], [])
        both = [erased.uid, purged.uid]
        assert here.store.forgotten(here.id, both) == {erased.uid}
        assert here.store.forgotten(there.id, both) == set()

    def test_versions_are_dropped_one_by_one(self, room: Room) -> None:
        """The others stay, and so does the note."""
        made = room.change(room.change(room.add("one"), content="two"), content="three")
        assert room.store.drop_versions([(made.id, 1)]) == 1
        assert [image.rev for image in room.store.history(made.uid, [room.id])] == [2]
        assert room.get(made.uid) == made

    def test_logged_queries_lose_their_words(self, rooms: tuple[Room, Room]) -> None:
        """In the given spaces; that something was found stays on record."""
        here, there = rooms
        for room in rooms:
            room.store.record_use([Use(room.add("apple").id, "search", 5, 0.5, "a secret query")])
        assert here.store.clear_queries([here.id]) == 1
        assert here.store.clear_queries([here.id]) == 0
        assert there.store.clear_queries([there.id]) == 1

    def test_no_term_is_left_over_after_an_erasure(self, room: Room) -> None:
        """Neither of what went nor, wrongly told, of what is there."""
        made = room.add("apple banana")
        room.add("banana")
        room.store.erase(operation("erase"), [room.id], [made.uid], [])
        assert room.store.leftover_terms(["apple", "banana", "cherry"]) == []
