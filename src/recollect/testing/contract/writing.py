"""`apply`: inserts, duplicates, compare-and-set, revisions, digests and the chain of events."""

import pytest

from recollect import audit
from recollect.errors import Conflict, NotFound
from recollect.testing.contract.rules import Rules
from recollect.testing.room import Room, by_uid, change, insert, note, operation
from recollect.types import Link, Note


class WriteRules(Rules):
    def test_a_note_reads_back_as_it_was_written(self, room: Room) -> None:
        """Every field of a note survives the store."""
        given = note(
            "all fields: ünïcode ‘quotes’ \\ % ? 🙂", kind="decision", title="a title", tier="semantic", context="for",
            source="file.md", origin="tool", session="s-1", tags=("a", "b c"), importance=9, confidence=0.25,
            pinned=True, metadata={"k": [1, 2.5, None, {"ü": True}]}, expires_ms=5_000_000_000_000, valid_from_ms=1,
            valid_to_ms=2, superseded_by="x", links=(Link("a", "cause"), Link("b")),
        )  # fmt: skip
        (done,) = room.apply(insert(given))
        found = room.get(given.uid)
        assert audit.image(found) == audit.image(given)
        assert (found.id, found.rev, found.space) == (done.id, 1, "home")
        assert (found.bytes, found.token_count, found.trusted) == (given.bytes, given.token_count, False)

    def test_adding_the_text_of_a_live_note_returns_that_note(self, room: Room) -> None:
        """A duplicate is answered with the note that has the text, and changes nothing."""
        first = room.add("same words")
        (again,) = room.apply(insert(note("same words", kind="event")))
        assert (again.id, again.uid, again.rev, again.duplicate) == (first.id, first.uid, 1, True)
        assert room.texts() == ["same words"]
        assert len(room.chunks("same")) == 1

    def test_a_text_given_twice_in_one_call_is_stored_once(self, room: Room) -> None:
        """Duplicates are noticed inside a batch too."""
        one, other, two = room.apply(insert(note("twice")), insert(note("once")), insert(note("twice")))
        assert (one.duplicate, other.duplicate, two.duplicate) == (False, False, True)
        assert two.uid == one.uid
        assert sorted(room.texts()) == ["once", "twice"]

    def test_the_text_of_a_hidden_note_makes_a_new_note(self, room: Room) -> None:
        """Only live notes stand in the way."""
        gone = room.change(room.add("again"), verb="delete", state="deleted")
        fresh = room.add("again")
        assert fresh.uid != gone.uid
        assert fresh.id > gone.id
        assert room.get(gone.uid).state == "deleted"

    def test_the_same_text_may_live_in_two_spaces(self, rooms: tuple[Room, Room]) -> None:
        """Uniqueness ends at the border of a space."""
        here, there = rooms
        assert here.add("shared").uid != there.add("shared").uid

    def test_a_batch_sees_what_its_earlier_changes_did(self, room: Room) -> None:
        """A text that the same call freed can be added, one that it took is a duplicate."""
        old = room.add("old words")
        changed, freed, taken = room.apply(
            change(old, content="new words"), insert(note("old words")), insert(note("new words"))
        )
        assert (changed.uid, changed.rev) == (old.uid, 2)
        assert not freed.duplicate
        assert (taken.uid, taken.duplicate) == (old.uid, True)

    def test_bringing_a_second_live_note_to_a_text_is_a_conflict(self, room: Room) -> None:
        """Neither an update nor a restore may make two live notes of one text."""
        room.add("taken")
        other = room.add("other")
        with pytest.raises(Conflict):
            room.change(other, content="taken")
        hidden = room.change(other, verb="delete", state="deleted")
        room.add("other")
        with pytest.raises(Conflict):
            room.change(hidden, verb="restore", state="live")

    def test_a_change_of_an_older_revision_is_a_conflict(self, room: Room) -> None:
        """Compare-and-set: who changes a note must have seen its newest revision."""
        first = room.add("one")
        second = room.change(first, content="two")
        with pytest.raises(Conflict) as trouble:
            room.change(first, content="three")
        assert trouble.value.hint
        assert room.get(first.uid) == second

    def test_changing_a_note_of_nowhere_is_not_found(self, rooms: tuple[Room, Room]) -> None:
        """A note is changed through its own space only."""
        here, there = rooms
        foreign = there.add("over there")
        with pytest.raises(NotFound):
            here.apply(change(foreign, content="mine"))
        assert there.get(foreign.uid) == foreign

    def test_ids_are_never_used_twice(self, room: Room) -> None:
        """A short id names one note for ever, even after it was erased."""
        first = room.add("first")
        room.store.erase(operation("erase"), [room.id], [first.uid], [])
        second = room.add("second")
        assert second.id > first.id

    def test_a_revision_holds_the_note_as_it_was(self, room: Room) -> None:
        """The image before each change is kept whole, with the operation that ended it."""
        before = room.add("one", tags=("x",), links=(Link("u", "cause"),), metadata={"deep": {"a": [1]}})
        images = [audit.image(before)]
        op = operation("update")
        room.store.apply(op, room.id, [change(before, content="two", tags=("y",), links=())])
        images.append(audit.image(room.get(before.uid)))
        room.change(room.get(before.uid), verb="delete", state="deleted")
        history = room.store.history(before.uid, [room.id])
        assert [revision.rev for revision in history] == [1, 2]
        assert [dict(revision.image) for revision in history] == images
        assert (history[0].operation, history[0].at_ms, history[0].moved_from) == (op.id, op.at_ms, None)

    def test_restoring_an_image_brings_every_field_back(self, room: Room) -> None:
        """What undo needs: an image applied as a change equals the note that it was taken from."""
        before = room.add("one", tags=("x",), metadata={"k": "v"}, links=(Link("z"),), importance=8)
        room.change(before, content="two", tags=(), metadata={}, links=(), importance=1, state="superseded")
        image = room.store.history(before.uid, [room.id])[0].image
        back = Note(space="", rev=2, **audit.fields_of(image))
        room.apply(change(back, updated_ms=back.updated_ms), verb="undo")
        found = room.get(before.uid)
        assert found.rev == 3
        assert audit.image(found) == dict(image)

    def test_every_digest_opens_with_its_salt(self, room: Room) -> None:
        """The event of revision n proves the image of revision n: current on the note, older in the history."""
        made = room.add("one")
        made = room.change(made, content="two")
        room.change(made, importance=7, keep_chunks=True)
        digests = {event.rev: event.digest for event in room.store.events([room.id]) if event.uid == made.uid}
        for revision in room.store.history(made.uid, [room.id]):
            assert digests[revision.rev] == audit.digest(revision.salt, audit.encode(revision.image))
        salt = room.store.salt(made.uid, [room.id])
        assert salt is not None
        assert digests[3] == audit.digest(salt, audit.encode(audit.image(room.get(made.uid))))

    def test_events_rise_without_gaps_and_chain_in_each_space(self, rooms: tuple[Room, Room]) -> None:
        """Each space counts its own events; every row continues the one before."""
        here, there = rooms
        for n in range(4):
            there.add(f"note {n}")
            kept = here.add(f"note {n}")
        here.change(kept, verb="delete", state="deleted")
        for room in rooms:
            events = room.store.events([room.id])
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert {event.space for event in events} == {room.name}
            assert audit.broken_at(events) is None
        assert [event.verb for event in here.store.events([here.id])][-2:] == ["add", "delete"]

    def test_events_carry_no_text(self, room: Room) -> None:
        """An event says who changed what and when, never what it says."""
        made = room.add("a very secret sentence")
        event = room.store.events([room.id])[-1]
        assert (event.uid, event.rev, event.verb, event.actor) == (made.uid, 1, "add", "tester")
        assert "secret" not in repr(event)

    def test_events_since_continue_where_the_reader_stopped(self, room: Room) -> None:
        """A follower asks for what is newer than the last number it saw, page by page."""
        for n in range(5):
            room.add(f"note {n}")
        every = room.store.events([room.id])
        assert room.store.events([room.id], since=every[2].seq) == every[3:]
        assert room.store.events([room.id], since=every[0].seq, limit=2) == every[1:3]
        assert room.store.events([room.id], since=every[-1].seq) == []

    def test_an_operation_lists_its_events(self, room: Room) -> None:
        """All events of one call carry its id."""
        op = operation("import")
        room.store.apply(op, room.id, [insert(note("a")), insert(note("b")), insert(note("a"))])
        room.add("c")
        found = room.store.operation(op.id, [room.id])
        assert [event.verb for event in found] == ["import", "import"]
        assert len(room.store.notes(by_uid(*(event.uid for event in found)), [room.id])) == 2
        assert room.store.operation("unknown", [room.id]) == []

    def test_links_are_written_kept_and_replaced(self, room: Room) -> None:
        """Links belong to the note: unchanged ones stay, new ones take their place."""
        made = room.add("linked", links=(Link("a"), Link("b", "cause")))
        kept = room.change(made, importance=6)
        assert kept.links == made.links == (Link("a"), Link("b", "cause"))
        assert room.change(kept, links=(Link("c"),)).links == (Link("c"),)
        assert room.change(room.get(made.uid), links=()).links == ()
        assert [found.links for found in room.store.list_notes(room.see(), 5)] == [()]
