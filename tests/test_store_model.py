"""Random histories: the store against a plain model of it, and two spaces that must not meet.

The model knows only dictionaries. Whatever sequence of writes Hypothesis finds, both must agree on every note, every
revision, every keyword match and every number, and each chain of events must verify.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from faults import SIZES
from recollect import audit
from recollect.errors import Conflict, NotFound
from recollect.ids import Ref
from recollect.store import Store, Use
from recollect.testing import MakeStore, Room
from recollect.testing.contract.vectors import pack
from recollect.testing.room import NOW_MS, by_uid, change, chunk, insert, note, operation
from recollect.types import STATES, Filter, Note

pytest_plugins = ["postgres_server"]
pytestmark = pytest.mark.timeout(SIZES.timeout)

WORDS = ("apple", "pear", "plum", "fig")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
SPACES = st.sampled_from((0, 1))
HIDDEN = ("evicted", "deleted")
NOISY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@dataclass
class Kept:
    """What the model remembers of a note."""

    uid: str
    space: int
    text: str
    state: str = "live"
    rev: int = 1
    images: list[dict[str, Any]] = field(default_factory=list)


class Histories(RuleBasedStateMachine):
    make: MakeStore
    notes = Bundle("notes")

    def __init__(self) -> None:
        super().__init__()
        self.store = type(self).make()
        self.rooms = [Room(self.store, "here"), Room(self.store, "there")]
        self.model: dict[str, Kept] = {}
        self.written = [1, 1]  # events per space: its making

    def live(self, space: int, text: str, but: str = "") -> Kept | None:
        rows = self.model.values()
        return next((k for k in rows if (k.space, k.text, k.state) == (space, text, "live") and k.uid != but), None)

    def current(self, kept: Kept) -> Note:
        return self.rooms[kept.space].get(kept.uid)

    def write(self, kept: Kept, verb: str, image_of: Note | None = None, to: int | None = None, **new: Any) -> None:
        """Changes a note in both; a text that is live elsewhere in its space must be refused by the store."""
        before = self.current(kept)
        wanted = image_of or before
        after = {
            "text": wanted.content,
            "state": wanted.state,
            **{("text" if k == "content" else k): v for k, v in new.items()},
        }
        home = kept.space if to is None else to
        given = change(replace(wanted, rev=before.rev), to_space=None if to is None else self.rooms[to].id, **new)
        if after["state"] == "live" and self.live(home, after["text"], but=kept.uid):
            with pytest.raises(Conflict):
                self.rooms[kept.space].apply(given, verb=verb)
            return
        self.rooms[kept.space].apply(given, verb=verb)
        kept.images.append(audit.image(before))
        self.written[kept.space] += 1
        if home != kept.space:
            self.written[home] += 1
        kept.space, kept.text, kept.state, kept.rev = home, after["text"], after["state"], kept.rev + 1

    # -- what may happen ------------------------------------------------------------------------------------------

    @rule(target=notes, space=SPACES, text=TEXTS)
    def add(self, space: int, text: str) -> str:
        twin = self.live(space, text)
        (done,) = self.rooms[space].apply(insert(note(text)))
        assert done.duplicate is (twin is not None)
        if twin is not None:
            assert done.uid == twin.uid
            return twin.uid
        self.model[done.uid] = Kept(done.uid, space, text)
        self.written[space] += 1
        return done.uid

    @rule(space=SPACES, texts=st.lists(TEXTS, min_size=2, max_size=4), stale=st.booleans())
    def add_many(self, space: int, texts: list[str], stale: bool) -> None:
        """A batch that ends in a conflict leaves nothing."""
        batch = [insert(note(text)) for text in texts]
        if stale:
            with pytest.raises(NotFound):
                self.rooms[space].apply(*batch, change(note("never stored", rev=1)))
            return
        for text, done in zip(texts, self.rooms[space].apply(*batch), strict=True):
            twin = self.live(space, text)
            assert done.duplicate is (twin is not None)
            if twin is None:
                self.model[done.uid] = Kept(done.uid, space, text)
                self.written[space] += 1

    @rule(uid=notes, text=TEXTS)
    def update(self, uid: str, text: str) -> None:
        if uid in self.model:
            self.write(self.model[uid], "update", content=text)

    @rule(uid=notes, state=st.sampled_from(STATES))
    def set_state(self, uid: str, state: str) -> None:
        """Delete, evict, supersede, expire, and back to live: restore."""
        if uid in self.model:
            self.write(self.model[uid], "state", state=state)

    @rule(uid=notes, back=st.integers(1, 3))
    def restore_image(self, uid: str, back: int) -> None:
        """What undo does: an older image becomes the newest revision."""
        kept = self.model.get(uid)
        if kept is None or len(kept.images) < back:
            return
        image = self.store.history(uid, [self.rooms[kept.space].id])[-back].image
        assert dict(image) == kept.images[-back]
        self.write(kept, "undo", image_of=Note(space="", **audit.fields_of(image)), updated_ms=image["updated_ms"])

    @rule(uid=notes, space=SPACES)
    def move(self, uid: str, space: int) -> None:
        kept = self.model.get(uid)
        if kept is not None and kept.space != space:
            self.write(kept, "move", to=space)

    @rule(uid=notes)
    def change_an_older_revision(self, uid: str) -> None:
        kept = self.model.get(uid)
        if kept is not None:
            with pytest.raises(Conflict):
                self.rooms[kept.space].apply(change(replace(self.current(kept), rev=kept.rev + 1), content="never"))

    @rule(uid=consumes(notes))
    def erase(self, uid: str) -> None:
        kept = self.model.pop(uid, None)
        done = self.store.erase(operation("erase"), [room.id for room in self.rooms], [uid], [])
        assert done.counts["notes"] == (kept is not None)
        if kept is not None:
            self.written[kept.space] += 1

    # -- what must hold -------------------------------------------------------------------------------------------

    @invariant()
    def every_search_matches_the_model(self) -> None:
        for index, room in enumerate(self.rooms):
            inside = [kept for kept in self.model.values() if kept.space == index]
            found = {(n.uid, n.content, n.state, n.rev) for n in self.store.list_notes(room.see(states=STATES), 1000)}
            assert found == {(kept.uid, kept.text, kept.state, kept.rev) for kept in inside}
            lane = self.store.keyword(WORDS, room.see(), 1000)
            ids = {n.id: n.uid for n in self.store.list_notes(room.see(), 1000)}
            live = [kept for kept in inside if kept.state == "live"]
            assert sorted(ids[c.owner_id] for c in lane.chunks) == sorted(kept.uid for kept in live)
            assert lane.frequencies == {word: sum(word in kept.text.split() for kept in live) for word in WORDS}
            assert lane.total == sum(kept.state not in HIDDEN for kept in inside)

    def teardown(self) -> None:
        for index, room in enumerate(self.rooms):
            events = self.store.events([room.id], limit=100_000)
            assert audit.broken_at(events) is None
            assert [event.seq for event in events] == list(range(1, self.written[index] + 1))
            digests = {(event.uid, event.rev): event.digest for event in events}
            for kept in [kept for kept in self.model.values() if kept.space == index]:
                history = self.store.history(kept.uid, [room.id])
                assert [dict(revision.image) for revision in history] == kept.images
                salt, image = self.store.salt(kept.uid, [room.id]), audit.image(self.current(kept))
                assert salt is not None
                assert digests[kept.uid, kept.rev] == audit.digest(salt, audit.encode(image))
        assert [finding for finding in self.store.check() if not finding.ok] == []
        self.store.close()


def _play(make: MakeStore, examples: int, steps: int) -> None:
    machine = type("Machine", (Histories,), {"make": staticmethod(make)})
    chosen = settings(max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=NOISY)
    run_state_machine_as_test(machine, settings=chosen)


@pytest.mark.slow
def test_sqlite_agrees_with_the_model(sqlite_stores: MakeStore) -> None:
    _play(sqlite_stores, examples=50 * SIZES.histories, steps=30)


@pytest.mark.slow
def test_postgresql_agrees_with_the_model(postgres_emptied: MakeStore) -> None:
    _play(postgres_emptied, examples=15 * SIZES.histories, steps=20)


# -- two spaces ---------------------------------------------------------------------------------------------------

ACTS = st.lists(
    st.tuples(SPACES, st.sampled_from(("add", "change", "delete", "link", "say", "use", "erase")), st.integers(0, 3)),
    min_size=1, max_size=25,
)  # fmt: skip
MARKS = ("mine", "yours")


@pytest.fixture(params=["sqlite", "postgresql"])
def make_store(request: pytest.FixtureRequest) -> Iterator[MakeStore]:
    name = "sqlite_stores" if request.param == "sqlite" else "postgres_emptied"
    yield request.getfixturevalue(name)


@settings(max_examples=25 * SIZES.histories, deadline=None, suppress_health_check=NOISY)
@given(acts=ACTS)
def test_two_spaces_never_meet(make_store: MakeStore, acts: list[tuple[int, str, int]]) -> None:
    """Whatever is written, no reading verb of one space shows an id, a uid or a word of the other."""
    store = make_store()
    store.set_active_model("m", 2)
    rooms = [Room(store, f"{mark}-space") for mark in MARKS]
    for step, (side, act, pick) in enumerate(acts):
        _act(rooms[side], MARKS[side], act, pick, step)
    owned = [_owned(store, room) for room in rooms]
    uids = {value for found in owned for value in found["uids"]}
    for side, room in enumerate(rooms):
        foreign = {MARKS[1 - side], *owned[1 - side]["uids"]}
        for verb, answer in _read_everything(store, room, uids).items():
            for value in _values(answer):
                assert not any(mark in value for mark in foreign), (verb, value)
        numbers = store.stats([room.id])
        assert numbers["notes"] + sum(numbers["states"].get(state, 0) for state in STATES[1:]) == len(
            owned[side]["notes"]
        )
        lane = store.vector_lane("m", [1.0, 0.0], room.see(states=STATES), 1000)
        assert {id for id, _ in lane} <= owned[side]["chunks"]
        assert set(store.usage(range(1, 200), [room.id])) <= owned[side]["notes"]
        assert owned[side]["chunks"].isdisjoint(owned[1 - side]["chunks"])
    store.close()


def _act(room: Room, mark: str, act: str, pick: int, step: int) -> None:
    known = room.store.list_notes(room.see(), 100)
    text = f"{mark} {step} {WORDS[pick]}"
    if act == "say":
        room.say(room.session(f"{mark}-{pick}"), text)
    elif act == "add" or not known:
        room.add(text, [chunk(text, vector=pack(1, 0))], session=f"{mark}-s", source=f"{mark}.md", tags=(f"{mark}-t",))
    else:
        old = known[pick % len(known)]
        if act == "change":
            room.change(old, content=text)
        elif act == "delete":
            room.change(old, verb="delete", state="superseded" if pick else "deleted", keep_chunks=True)
        elif act == "link":
            room.change(old, metadata={"by": mark}, title=text)
        elif act == "use":
            room.store.record_use([Use(old.id, "get", step)])
        else:
            room.store.erase(operation("erase"), [room.id], [old.uid], [])


def _owned(store: Store, room: Room) -> dict[str, set[Any]]:
    where = room.see(states=STATES)
    notes, sessions = store.list_notes(where, 1000), store.sessions([room.id])
    return {
        "uids": {found.uid for found in notes} | {found.uid for found in sessions},
        "notes": {found.id for found in notes},
        "chunks": {found.id for found in store.chunks(range(1, 500), where)},
    }


def _read_everything(store: Store, room: Room, uids: set[str]) -> dict[str, Any]:
    """Every reading verb, asked for everything there is on either side."""
    space, where, ids = [room.id], room.see(states=STATES), range(1, 200)
    terms = (*MARKS, *WORDS)
    return {
        "notes": store.notes([*by_uid(*uids), *(Ref("note", id, None) for id in ids)], space),
        "list_notes": store.list_notes(where, 1000),
        "neighbours": store.neighbours((NOW_MS // 2, 0), where, 100, 100),
        "history": [store.history(uid, space) for uid in uids],
        "events": store.events(space),
        "operation": [store.operation(event.operation, space) for event in store.events(space)],
        "sessions": store.sessions(space) + [s for uid in uids for s in store.sessions(space, uid=uid)],
        "turns": store.turns(space, ids=ids) + [t for uid in uids for t in store.turns(space, session=uid)],
        "turns around": store.turns_around((NOW_MS // 2, 0), where, 100, 100),
        "keyword": store.keyword(terms, where, 1000).chunks,
        "chunks": store.chunks(range(1, 500), where),
        "pending": store.pending("m", space, 1000),
        "tagged": store.list_notes(replace(where, tags=tuple(f"{mark}-t" for mark in MARKS)), 100),
        "sourced": store.keyword(terms, replace(where, sources=tuple(f"{mark}.md" for mark in MARKS)), 100).chunks,
        "of a session": [store.keyword(terms, replace(where, session=f"{mark}-s"), 100).chunks for mark in MARKS],
        "frequencies of the other's word": store.keyword(terms, Filter((room.id,), NOW_MS), 10).frequencies.items(),
    }


def _values(answer: Any) -> Iterator[str]:
    """All strings in an answer; a frequency counts as its word where it is not zero."""
    if isinstance(answer, str):
        yield answer
    elif is_dataclass(answer):
        for part in fields(answer):
            yield from _values(getattr(answer, part.name))
    elif isinstance(answer, dict):
        yield from _values(list(answer.items()))
    elif isinstance(answer, tuple) and len(answer) == 2 and answer[1] == 0:
        return
    elif hasattr(answer, "__iter__") and not isinstance(answer, bytes):
        for part in answer:
            yield from _values(part)
