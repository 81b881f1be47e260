"""Vectors: kept by (chunk, model), exact inside the filter, and fresh whoever wrote them."""

import pytest

from recollect.errors import InvalidInput, NotFound
from recollect.testing.contract.rules import Rules
from recollect.testing.room import MakeStore, Room, chunk, insert, note, operation


def pack(*values: float) -> bytes:
    import numpy as np

    return np.array(values, "<f4").tobytes()


def _near(room: Room, query: list[float], limit: int = 10, **filters: object) -> list[str]:
    lane = room.store.vector_lane("m", query, room.see(**filters), limit)
    return [found.content for found in room.store.chunks([id for id, _ in lane], room.see(**filters))]


class VectorRules(Rules):
    def test_the_active_model_is_set_while_there_are_no_vectors(self, room: Room) -> None:
        """The model belongs to the store; another can gather vectors beside it and then take over."""
        assert room.store.active_model() is None
        room.store.set_active_model("m", 3)
        room.store.add_model("next", 5)
        room.store.add_model("next", 5)
        assert room.store.active_model() == ("m", 3)
        room.store.set_active_model("next", 5)
        assert room.store.active_model() == ("next", 5)

    def test_pending_lists_what_lacks_a_vector_newest_first(self, room: Room) -> None:
        """The text to embed has the context before it; a vector of another model does not count."""
        room.store.set_active_model("m", 2)
        room.store.add_model("other", 2)
        room.add("one", context="title")
        room.add("two")
        waiting = room.store.pending("m", [room.id], 10)
        assert [text for _, _, text in waiting] == ["two", "title. one"]
        assert room.store.pending("m", [room.id], 1) == waiting[:1]
        assert room.store.put_vectors("other", [(waiting[0][0], pack(1, 0))]) == 1
        assert room.store.pending("m", None, 10) == waiting
        room.store.put_vectors("m", [(waiting[0][0], pack(1, 0))])
        assert room.store.pending("m", [room.id], 10) == waiting[1:]
        assert room.store.count_pending("m", [room.id]) == 1

    def test_the_mark_changes_when_a_chunk_comes_and_stays_while_none_does(self, room: Room) -> None:
        room.store.set_active_model("m", 2)
        room.add("one")
        mark = room.store.chunk_mark([room.id])
        ((id, _, _),) = room.store.pending("m", [room.id], 10)
        room.store.put_vectors("m", [(id, pack(1, 0))])
        assert room.store.chunk_mark([room.id]) == mark
        room.add("two")
        assert room.store.chunk_mark([room.id]) != mark
        assert room.store.chunk_mark(None)[0] >= room.store.chunk_mark([room.id])[0]

    def test_storing_a_vector_again_changes_nothing(self, room: Room) -> None:
        """Racing embedders are harmless: the first vector stays, and vanished chunks are passed over."""
        room.store.set_active_model("m", 2)
        room.add("one")
        ((id, _, _),) = room.store.pending("m", [room.id], 10)
        assert room.store.put_vectors("m", [(id, pack(1, 0)), (10**9, pack(1, 0))]) == 1
        assert room.store.put_vectors("m", [(id, pack(0, 1))]) == 0
        assert room.store.vector_lane("m", [1, 0], room.see(), 5) == [(id, 1.0)]

    def test_vectors_that_do_not_fit_are_refused(self, room: Room) -> None:
        """A wrong size, NaN and infinity never get in; an unknown model is named."""
        room.store.set_active_model("m", 2)
        room.add("one")
        ((id, _, _),) = room.store.pending("m", [room.id], 10)
        for bad in (pack(1, 0, 0), pack(1), b"", pack(float("nan"), 0), pack(float("inf"), 0)):
            with pytest.raises(InvalidInput):
                room.store.put_vectors("m", [(id, bad)])
            with pytest.raises(InvalidInput):
                room.add("two", [chunk("two", vector=bad)])
        with pytest.raises(NotFound):
            room.store.put_vectors("unknown", [(id, pack(1, 0))])
        assert len(room.store.pending("m", [room.id], 10)) == 1
        assert room.store.vector_lane("unknown", [1, 0], room.see(), 5) == []

    def test_the_lane_is_exact(self, room: Room) -> None:
        """Order and similarity equal a plain scan of all vectors, for every limit."""
        import numpy as np

        count, dims, random = 300, 24, np.random.default_rng(7)
        matrix = random.standard_normal((count, dims)).astype(np.float32)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        room.store.set_active_model("m", dims)
        room.apply(*(insert(note(f"n{n}"), [chunk(f"n{n}", vector=matrix[n].tobytes())]) for n in range(count)))
        numbers = {found.id: int(found.content[1:]) for found in room.chunks(*(f"n{n}" for n in range(count)))}
        query = random.standard_normal(dims).astype(np.float32)
        query /= np.linalg.norm(query)
        scores = matrix @ query
        best = np.argsort(-scores)
        for limit in (1, 10, count, count + 50):
            lane = room.store.vector_lane("m", query, room.see(), limit)
            assert [numbers[id] for id, _ in lane] == best[:limit].tolist()
            assert np.allclose([score for _, score in lane], scores[best[:limit]], atol=1e-6)

    def test_ties_go_to_the_newer_chunk_at_every_limit(self, room: Room) -> None:
        """Equal similarities are ordered by id, so a shorter list is the head of a longer one."""
        room.store.set_active_model("m", 2)
        for n in range(20):
            room.add(f"n{n}", [chunk(f"n{n}", vector=pack(1, 0))])
        expected = [f"n{n}" for n in reversed(range(20))]
        for limit in (1, 3, 20):
            assert _near(room, [1, 0], limit) == expected[:limit]

    def test_filters_apply_before_the_nearest_are_chosen(self, room: Room) -> None:
        """Whatever the filter hides, `limit` rows come back as long as there are so many."""
        room.store.set_active_model("m", 2)
        for n in range(40):
            room.add(f"near {n}", [chunk(f"near {n}", vector=pack(1, 0))], importance=3)
        room.add("far", [chunk("far", vector=pack(0, 1))], importance=8, tags=("t",), session="s", kind="task")
        old = room.add("old", [chunk("old", vector=pack(0, 1))], created_ms=50)
        room.change(old, state="superseded", keep_chunks=True)
        for filters in ({"min_importance": 8}, {"tags": ("t",)}, {"session": "s"}, {"kinds": ("task",)}):
            assert _near(room, [1, 0], 1, **filters) == ["far"]
        assert _near(room, [1, 0], 1, states=("superseded",)) == ["old"]
        assert _near(room, [1, 0], 9, until_ms=51) == []
        assert _near(room, [1, 0], 9, until_ms=51, states=("superseded",)) == ["old"]
        assert len(_near(room, [1, 0], 41)) == 41

    def test_the_lane_follows_changes_and_deletions(self, room: Room) -> None:
        """A deleted note leaves, a changed one is found by its new vector."""
        room.store.set_active_model("m", 2)
        one = room.add("one", [chunk("one", vector=pack(1, 0))])
        two = room.add("two", [chunk("two", vector=pack(0, 1))])
        assert _near(room, [1, 0]) == ["one", "two"]
        room.change(one, verb="delete", state="deleted")
        assert _near(room, [1, 0]) == ["two"]
        room.change(two, content="two again")
        assert _near(room, [1, 0]) == []
        ((id, _, _),) = room.store.pending("m", [room.id], 10)
        room.store.put_vectors("m", [(id, pack(1, 0))])
        assert _near(room, [1, 0]) == ["two again"]

    def test_the_lane_follows_another_writer(self, room: Room, make_store: MakeStore) -> None:
        """What another object on the same place adds and removes is seen by the next search."""
        room.store.set_active_model("m", 2)
        other = Room(make_store(room.store))
        one = room.add("one", [chunk("one", vector=pack(1, 0))])
        assert _near(room, [1, 0]) == _near(other, [1, 0]) == ["one"]
        other.add("two", [chunk("two", vector=pack(0, 1))])
        other.change(one, verb="delete", state="deleted")
        assert _near(room, [1, 0]) == ["two"]
        assert room.store.drop_model("m") == 1
        assert _near(other, [1, 0]) == []

    def test_a_rolled_back_vector_leaves_no_trace(self, room: Room) -> None:
        """A search inside a transaction sees its vectors; after a failure nobody does, and later ones are found."""
        room.store.set_active_model("m", 2)
        room.add("kept", [chunk("kept", vector=pack(0, 1))])
        assert _near(room, [1, 0]) == ["kept"]
        with pytest.raises(RuntimeError), room.store.transaction([room.id]):
            room.add("lost", [chunk("lost", vector=pack(1, 0))])
            assert _near(room, [1, 0]) == ["lost", "kept"]
            raise RuntimeError
        assert _near(room, [1, 0]) == ["kept"]
        room.add("later", [chunk("later", vector=pack(0.6, 0.8))])
        assert _near(room, [1, 0]) == ["later", "kept"]
        scores = [score for _, score in room.store.vector_lane("m", [1, 0], room.see(), 5)]
        assert scores == pytest.approx([0.6, 0.0])

    def test_models_never_mix(self, room: Room) -> None:
        """Each model has its own vectors of its own size; dropping one leaves the other."""
        room.store.set_active_model("m", 2)
        room.store.add_model("wide", 3)
        room.add("one", [chunk("one", vector=pack(1, 0))])
        ((id, _, _),) = room.store.pending("wide", [room.id], 10)
        room.store.put_vectors("wide", [(id, pack(0, 0, 1))])
        assert room.store.vector_lane("wide", [0, 0, 1], room.see(), 5) == [(id, 1.0)]
        assert room.store.vector_lane("m", [1, 0], room.see(), 5) == [(id, 1.0)]
        assert room.store.drop_model("m") == 1
        assert room.store.vector_lane("wide", [0, 0, 1], room.see(), 5) == [(id, 1.0)]

    def test_given_vectors_need_a_model(self, room: Room) -> None:
        """A chunk may bring its vector once the store knows whose it is; nothing is stored before."""
        with pytest.raises(NotFound):
            room.add("one", [chunk("one", vector=pack(1, 0))])
        assert room.texts() == []

    def test_the_embedding_cache_keeps_the_latest_used(self, room: Room) -> None:
        """Vectors by text hash and model; the least recently used go first."""
        store = room.store
        store.cache("p", "m", 2, {"a": pack(1, 0), "b": pack(0, 1)}, 10, keep=10)
        assert store.cached("p", "m", 2, ["a", "x"], 20) == {"a": pack(1, 0)}
        assert store.cached("p", "other", 2, ["a"], 20) == {}
        store.cache("p", "m", 2, {"c": pack(1, 1)}, 30, keep=2)
        assert store.cached("p", "m", 2, ["a", "b", "c"], 40) == {"a": pack(1, 0), "c": pack(1, 1)}

    def test_erasing_a_note_removes_its_vectors_and_cached_text(self, room: Room) -> None:
        """Nothing computed from an erased text stays."""
        room.store.set_active_model("m", 2)
        draft = chunk("secret", vector=pack(1, 0))
        made = room.add("secret", [draft])
        room.store.cache("p", "m", 2, {draft.hash: pack(1, 0)}, 10, keep=10)
        done = room.store.erase(operation("erase"), [room.id], [made.uid], [])
        assert (done.counts["vectors"], done.counts["cache"], done.counts["chunks"]) == (1, 1, 1)
        assert _near(room, [1, 0]) == []
        assert room.store.cached("p", "m", 2, [draft.hash], 20) == {}
