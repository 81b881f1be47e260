"""Two spaces never see each other, on any verb that reads."""

from collections.abc import Callable
from typing import Any

from recollect.ids import Ref
from recollect.store import Store, Use
from recollect.testing.contract.rules import Rules
from recollect.testing.contract.vectors import pack
from recollect.testing.room import NOW_MS, Room, by_uid, chunk, operation
from recollect.types import Filter, Link, Note, Session

EVERY_STATE: Any = ("live", "superseded", "expired", "evicted", "deleted")


def everything_read(store: Store, space: int, other: Note, session: Session, turn: int, model: str) -> dict[str, Any]:
    """Each reading verb, asked from one space for what belongs to another."""
    where = Filter(spaces=(space,), now_ms=NOW_MS, states=EVERY_STATE)
    around = Filter(spaces=(space,), now_ms=NOW_MS)
    ids = range(1, 200)
    verbs: dict[str, Callable[[], Any]] = {
        "notes": lambda: store.notes([Ref("note", other.id, None), *by_uid(other.uid)], [space]),
        "list_notes": lambda: store.list_notes(where, 100),
        "neighbours": lambda: store.neighbours((other.created_ms + 1, 0), around, 9, 9),
        "history": lambda: store.history(other.uid, [space]),
        "salt": lambda: store.salt(other.uid, [space]),
        "events": lambda: [event for event in store.events([space]) if event.verb != "space"],
        "operation": lambda: store.operation("the operation", [space]),
        "sessions": lambda: store.sessions([space]) + store.sessions([space], uid=session.uid),
        "turns_around": lambda: store.turns_around((5, 0), around, 9, 9),
        "sessions_around": lambda: store.sessions_around(5, around, 9, 9),
        "note_vectors": lambda: store.note_vectors(model, where, 100),
        "turns": lambda: store.turns([space], ids=[turn]) + store.turns([space], session=session.uid),
        "keyword": lambda: store.keyword(["apple", "said"], where, 100).chunks,
        "frequencies": lambda: sum(store.keyword(["apple", "said"], where, 100).frequencies.values()),
        "total": lambda: store.keyword(["apple"], where, 100).total,
        "chunks": lambda: store.chunks(ids, where),
        "pending": lambda: store.pending(model, [space], 100),
        "count_pending": lambda: store.count_pending(model, [space]),
        "vector_lane": lambda: store.vector_lane(model, [1.0, 0.0], where, 100),
        "usage": lambda: store.usage([other.id], [space]),
        "stats": lambda: [
            value for name, value in store.stats([space]).items() if name not in ("file_bytes", "events")
        ],
    }
    return {name: ask() for name, ask in verbs.items()}


def _is_empty(answer: Any) -> bool:
    if isinstance(answer, list | tuple):
        return all(_is_empty(part) for part in answer)
    return not answer


class IsolationRules(Rules):
    def test_no_reading_verb_crosses_a_space(self, rooms: tuple[Room, Room]) -> None:
        """Asked from an empty space, every verb knows nothing of the other one; asked from there, all do."""
        here, there = rooms
        store = here.store
        store.set_active_model("m", 2)
        store.add_model("n", 2)
        made = there.add("apple", [chunk("apple", vector=pack(1, 0))], links=(Link("x"),), created_ms=5)
        made = there.change(made, importance=6, keep_chunks=True)
        store.apply(operation("add", id="the operation"), there.id, [])
        there.add("more", created_ms=1)
        session = there.session()
        (turn,) = there.say(session, "apple said")
        store.record_use([Use(made.id, "get", 1)])
        crossed = {
            name: answer
            for model in ("m", "n")
            for name, answer in everything_read(store, here.id, made, session, turn, model).items()
            if not _is_empty(answer)
        }
        assert crossed == {}
        own = everything_read(store, there.id, made, session, turn, "m")
        assert {name for name, answer in own.items() if _is_empty(answer)} <= {"operation"}

    def test_no_visible_space_means_nothing(self, room: Room) -> None:
        """An empty list of spaces is not a missing filter."""
        made = room.add("apple")
        session = room.session()
        room.say(session, "said")
        nowhere = Filter(spaces=(), now_ms=NOW_MS)
        assert room.store.notes(by_uid(made.uid), []) == []
        assert room.store.list_notes(nowhere, 9) == []
        assert room.store.keyword(["apple"], nowhere, 9).chunks == ()
        assert room.store.events([]) == []
        assert room.store.sessions([]) == []
        assert room.store.stats([])["notes"] == 0
        assert room.store.chunks(range(1, 50), nowhere) == []

    def test_two_visible_spaces_are_searched_together(self, rooms: tuple[Room, Room]) -> None:
        """Rows say which space they came from; numbers are those of both."""
        here, there = rooms
        here.add("apple here")
        there.add("apple there")
        Room(here.store, "third").add("apple third")
        both = Filter(spaces=(here.id, there.id), now_ms=NOW_MS)
        lane = here.store.keyword(["apple", "third"], both, 10)
        assert {f"{found.space}: {found.content}" for found in lane.chunks} == {
            "here: apple here",
            "there: apple there",
        }
        assert (lane.frequencies, lane.total) == ({"apple": 2, "third": 0}, 2)
        assert [found.space for found in here.store.list_notes(both, 9)] == ["there", "here"]
        assert here.store.stats([here.id, there.id])["notes"] == 2
