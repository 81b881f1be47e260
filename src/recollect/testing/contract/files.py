"""Indexed files: how far they were read is stored with what was read; and leases, held by one at a time."""

from dataclasses import replace

import pytest

from recollect.errors import Conflict
from recollect.store import SourceFile
from recollect.testing.contract.rules import Rules
from recollect.testing.room import MakeStore, Room, chunk, operation


def source(path: str, **fields: object) -> SourceFile:
    return replace(SourceFile(path, "files", "file", "hash", 1, 10), **fields)  # type: ignore[arg-type]


class FileRules(Rules):
    def test_a_file_is_kept_with_its_place(self, room: Room) -> None:
        """Putting it again updates the row; its chunks are replaced only when they are given."""
        first = room.store.put_file(operation("index"), room.id, source("/a/one.md"), [chunk("apple pie")])
        again = room.store.put_file(operation("index"), room.id, source("/a/one.md", offset=7, state='{"x":1}'), None)
        (kept,) = room.store.files(["/a/one.md", "/a/none.md"])
        assert first == again == kept.id and (kept.offset, kept.state, kept.space) == (7, '{"x":1}', room.id)
        assert room.find("apple") == {"apple pie"}
        room.store.put_file(operation("index"), room.id, source("/a/one.md"), [chunk("pear tart"), chunk("plum")])
        assert room.find("apple", "pear", "plum") == {"pear tart", "plum"}

    def test_files_are_listed_by_folder(self, room: Room) -> None:
        """A folder is not a prefix of its neighbour's name."""
        for path in ("/a/b/one", "/a/b/c/two", "/a/bc/three", "/a/b"):
            room.store.put_file(operation("index"), room.id, source(path), [])
        assert [file.path for file in room.store.files(under="/a/b")] == ["/a/b", "/a/b/c/two", "/a/b/one"]
        assert {file.path for file in room.store.files(under="")} >= {"/a/b", "/a/b/one", "/a/bc/three"}

    def test_a_removed_file_is_no_longer_found(self, room: Room) -> None:
        """Its chunks go with it; a forgotten one does not come back."""
        room.store.put_file(operation("index"), room.id, source("/one"), [chunk("apple")])
        assert room.store.remove_file(operation("index"), room.id, "/one")
        assert not room.store.remove_file(operation("index"), room.id, "/one")
        assert room.find("apple") == set() and room.store.files(["/one"]) == []
        room.store.put_file(operation("index"), room.id, source("/one"), [chunk("apple")])
        room.store.remove_file(operation("erase"), room.id, "/one", forget=True)
        with pytest.raises(Conflict):
            room.store.put_file(operation("index"), room.id, source("/one"), [chunk("apple")])

    def test_file_chunks_are_untrusted_and_have_lines(self, room: Room) -> None:
        """What stands in a file is data, and an answer can say where."""
        draft = replace(chunk("apple"), start_line=3, end_line=5)
        room.store.put_file(operation("index"), room.id, source("/one"), [draft])
        (found,) = room.chunks("apple")
        assert (found.owner, found.file_path, found.start_line, found.end_line) == ("file", "/one", 3, 5)
        assert not found.trusted and room.chunks("apple", trusted_only=True) == ()
        assert room.chunks("apple", owners=("note", "turn")) == ()

    def test_a_place_is_stored_in_the_transaction_of_what_was_read(self, room: Room) -> None:
        """Or neither."""
        session = room.session()
        with pytest.raises(RuntimeError), room.store.transaction([room.id]):
            room.say(session, "one")
            room.store.put_file(operation("index"), room.id, source("/log", offset=5), None)
            raise RuntimeError
        assert room.store.files(["/log"]) == [] and room.store.turns([room.id], session=session.uid) == []

    def test_turns_that_were_taken_back_are_gone(self, room: Room) -> None:
        """Those after the record; all of them for an empty one; none for one that is not there."""
        session = room.session()
        room.say(session, "one", "two", "three")
        assert room.store.retract_turns(operation(), room.id, session, "nowhere") == 0
        assert room.store.retract_turns(operation(), room.id, session, "one") == 2
        assert room.find("one", "two", "three") == {"one"}
        assert room.store.retract_turns(operation(), room.id, session, "") == 1

    def test_a_session_is_found_by_its_key(self, room: Room) -> None:
        """In its own space only."""
        session = room.session("k")
        assert room.store.find_session(room.id, "agent", "k") == session
        assert room.store.find_session(room.id, "agent", "other") is None

    def test_a_lease_has_one_holder_until_its_time_is_over(self, room: Room, make_store: MakeStore) -> None:
        """The holder may renew it and give it back."""
        other = make_store(room.store)
        assert room.store.lease("sync", "one", 1000, 500)
        assert not other.lease("sync", "two", 1200, 500)
        assert room.store.lease("sync", "one", 1400, 500)
        assert not other.lease("sync", "two", 1600, 500)
        assert other.lease("sync", "two", 1900, 500)
        assert not room.store.lease("sync", "one", 2000, 500)
        other.lease("sync", "two", 2000, 0)
        assert room.store.lease("sync", "one", 2000, 500)

    def test_what_surrounds_a_chunk_is_found(self, room: Room) -> None:
        """Other chunks of an owner that has several, chunks of turns by place, and who spoke."""
        long = room.add("long", [chunk("first part"), chunk("second part")])
        short = room.add("short")
        owners = [("note", long.id), ("note", short.id)]
        assert [found.content for found in room.store.siblings(owners, [room.id])] == ["first part", "second part"]
        session = room.session()
        room.say(session, "one", "two", "three")
        (two,) = room.chunks("two")
        assert two.session is not None and two.position == 2
        near = room.store.turn_chunks([(two.session, 1), (two.session, 3), (two.session, 9)], [room.id])
        assert {found.content for found in near} == {"one", "three"}
        assert room.store.speakers([room.id]) == ["user"]

    def test_chunks_of_an_older_tokenizer_are_named(self, room: Room) -> None:
        """None while everything is of this version; with a number, whatever has a chunk up to it."""
        note = room.add("apple")
        room.store.put_file(operation("index"), room.id, source("/one"), [chunk("pear")])
        assert room.store.stale(10) == []
        last = room.store.last_chunk()
        assert [what for _, what, _ in room.store.stale(10, last)] == ["note", "file"]
        room.store.rebuild_chunks(operation("reindex"), room.id, "note", note.id, [chunk("plum")])
        assert [what for _, what, _ in room.store.stale(10, last)] == ["file"]
        assert [found.content for found in room.store.owned("note", note.id, room.id)] == ["plum"]
