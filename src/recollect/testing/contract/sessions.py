"""Sessions and turns: canonical, unique by record, in the order said."""

from dataclasses import replace

import pytest

from recollect import audit
from recollect.errors import Conflict, NotFound
from recollect.testing.contract.rules import Rules
from recollect.testing.room import Room, operation
from recollect.types import Session


class SessionRules(Rules):
    def test_a_session_is_one_by_agent_and_key(self, room: Room) -> None:
        """Putting it again updates it and keeps its identity."""
        first = room.session("k", title="one")
        again = room.session("k", title="two", summary="sum", ended_ms=9)
        assert (again.uid, again.id) == (first.uid, first.id)
        assert (again.title, again.summary, again.ended_ms) == ("two", "sum", 9)
        assert room.session("k", agent="another").uid != first.uid
        assert len(room.store.sessions([room.id])) == 2

    def test_turns_are_kept_in_the_order_said(self, room: Room) -> None:
        """Positions count from one and go on with the next call."""
        session = room.session()
        ids = room.say(session, "one", "two") + room.say(session, "three")
        turns = room.store.turns([room.id], session=session.uid)
        assert [(turn.position, turn.text, turn.id) for turn in turns] == [
            (1, "one", ids[0]), (2, "two", ids[1]), (3, "three", ids[2]),
        ]  # fmt: skip
        assert {(turn.session, turn.space, turn.content_hash) for turn in turns[:1]} == {
            (session.uid, "home", audit.content_hash("one"))
        }
        assert [turn.text for turn in room.store.turns([room.id], ids=[ids[2], ids[0]])] == ["one", "three"]
        assert room.store.turns([room.id], session=session.uid, around=(2, 3)) == turns[1:]
        assert room.store.sessions([room.id])[0].turns == 3

    def test_a_record_is_stored_once(self, room: Room) -> None:
        """Adding the same turns again is a no-op; only new ones go in, also within one call."""
        session = room.session()
        room.say(session, "one", "two")
        before = room.store.events([room.id])
        assert room.say(session, "one", "two") == []
        assert room.store.events([room.id]) == before
        assert len(room.say(session, "two", "three", "three")) == 1
        assert [turn.text for turn in room.store.turns([room.id], session=session.uid)] == ["one", "two", "three"]
        assert len(room.chunks("three")) == 1

    def test_the_same_record_in_two_sessions_is_two_turns(self, room: Room) -> None:
        """Turns are unique by (session, record), never by content."""
        one, two = room.session("one"), room.session("two")
        assert room.say(one, "hello") != room.say(two, "hello")
        assert len(room.chunks("hello")) == 2

    def test_turns_are_found_by_keyword(self, room: Room) -> None:
        """A turn's chunk names its session, position and speaker; the filter takes turns or leaves them."""
        session = room.session(source="log.jsonl")
        (turn,) = room.say(session, "apple pie")
        room.say(session, "pear", origin="tool")
        room.add("apple note", session="other")
        (found,) = room.chunks("apple", owners=("turn",))
        assert (found.owner, found.owner_id, found.session, found.position) == ("turn", turn, session.id, 1)
        assert (found.speaker, found.file_path, found.trusted) == ("user", "log.jsonl", True)
        assert room.find("apple", owners=("note",)) == {"apple note"}
        assert room.find("apple", "pear", session=session.uid) == {"apple pie", "pear"}
        assert room.find("apple", "pear", trusted_only=True) == {"apple pie", "apple note"}
        assert room.find("apple", kinds=("fact",)) == {"apple note"}

    def test_turns_of_a_session_that_is_not_here_are_refused(self, rooms: tuple[Room, Room]) -> None:
        """A session is written through its own space."""
        here, there = rooms
        session = there.session()
        with pytest.raises(NotFound):
            here.say(session, "lost")
        with pytest.raises(NotFound):
            here.say(Session("nobody", "here", "a", "k", 1, 1, id=10**9), "lost")
        assert there.store.turns([here.id, there.id], session=session.uid) == []

    def test_a_turn_moves_the_last_seen_time(self, room: Room) -> None:
        """Sessions are listed by when something was last said in them."""
        old, new = room.session("old"), room.session("new")
        assert [session.key for session in room.store.sessions([room.id])] == ["new", "old"]
        room.say(old, "still here")
        assert [session.key for session in room.store.sessions([room.id])] == ["old", "new"]
        assert room.store.sessions([room.id], limit=1)[0].seen_ms > new.seen_ms

    def test_sessions_are_recorded(self, room: Room) -> None:
        """Making a session and adding turns append events whose numbers chain."""
        session = room.session()
        room.say(session, "one", "two")
        assert [event.verb for event in room.store.events([room.id])][-2:] == ["session", "turns"]
        assert audit.broken_at(room.store.events([room.id])) is None

    def test_a_forgotten_session_is_not_brought_back(self, room: Room) -> None:
        """Erasing leaves a tombstone: a later sync of the same transcript is refused."""
        session = room.session("secret", source="s.jsonl")
        room.say(session, "apple")
        done = room.store.erase(operation("erase"), [room.id], [], [session.uid])
        assert (done.counts["sessions"], done.counts["turns"], done.counts["chunks"]) == (1, 1, 1)
        assert room.find("apple") == set()
        assert room.store.turns([room.id], session=session.uid) == []
        with pytest.raises(Conflict):
            room.store.put_session(operation(), room.id, replace(session, uid="new"))
        assert room.session("another").key == "another"
        assert room.store.forgotten_session(room.id, session.agent, "secret")
        assert not room.store.forgotten_session(room.id, session.agent, "another")
        assert not room.store.forgotten_session(room.id, "someone else", "secret")
        assert audit.broken_at(room.store.events([room.id])) is None
