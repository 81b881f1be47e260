"""Learned pairs: exact confidences, nothing lost between learners, pruning in one transaction, spaces apart."""

import struct
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from recollect.errors import RecollectError
from recollect.testing.contract.rules import Rules
from recollect.testing.room import MakeStore, Room
from recollect.types import Pair

DAY_MS = 86_400_000


def pair(id: str, confidence: float = 1.0, at_ms: int = 1000, **fields: Any) -> Pair:
    given: dict[str, Any] = {"server": "files", "tool": "read", "query": f"query {id}"} | fields
    return Pair(id=id, confidence=confidence, created_ms=at_ms, last_used_ms=at_ms, **given)


def ids(pairs: Sequence[Pair]) -> list[str]:
    return [found.id for found in pairs]


class PairRules(Rules):
    def learn(self, room: Room, *pairs: Pair) -> None:
        for one in pairs:
            room.store.learn_pair(room.id, one, 0.2)

    def test_a_pair_comes_back_as_it_was_learned(self, room: Room, make_store: MakeStore) -> None:
        """Every field, the float64 vector bit for bit, and by another store object too."""
        vector = struct.pack("<3d", 0.1, -1 / 3, 1e-17)
        given = pair("a", 1.5, query="naïve 🙂 'q'", hashed=True, model="m", vector=vector)
        stored = room.store.learn_pair(room.id, given, 0.2)
        assert (stored.uses, stored.failures, stored.confidence, stored.space) == (1, 0, 1.5, room.name)
        assert (stored.vector, stored.model, stored.hashed, stored.query) == (vector, "m", True, "naïve 🙂 'q'")
        assert make_store(room.store).pairs([room.id]) == [stored]

    def test_confidence_moves_towards_each_signal(self, room: Room, make_store: MakeStore) -> None:
        """The first confidence is the signal; then 0.8 of the old and 0.2 of the new, exactly, whoever asks."""
        self.learn(room, pair("a", 1.5, 1000))
        again = make_store(room.store).learn_pair(room.id, pair("a", 0.5, 2000), 0.2)
        assert (again.confidence, again.uses, again.created_ms, again.last_used_ms) == (1.3, 2, 1000, 2000)

    def test_a_clock_that_goes_back_does_not_age_a_pair(self, room: Room) -> None:
        """The time of the last use only rises."""
        self.learn(room, pair("a", at_ms=2000), pair("a", at_ms=1000))
        assert room.store.pairs([room.id])[0].last_used_ms == 2000

    def test_a_use_without_a_vector_keeps_the_one_that_is_there(self, room: Room) -> None:
        """A learner whose model is away does not take meaning from a pair."""
        self.learn(room, pair("a", model="m", vector=b"12345678"), pair("a"))
        found = room.store.pairs([room.id])[0]
        assert (found.model, found.vector) == ("m", b"12345678")
        room.store.put_pair_vectors(room.id, "n", {"a": b"87654321", "unknown": b""})
        found = room.store.pairs([room.id])[0]
        assert (found.model, found.vector) == ("n", b"87654321")

    def test_a_failure_lowers_and_never_makes_a_pair(self, room: Room) -> None:
        """Failing is counted where the pair is known; an unknown pair stays unknown."""
        self.learn(room, pair("a", 1.0))
        failed = room.store.fail_pair(room.id, "a", 0.2, 5000)
        assert failed is not None
        assert (failed.confidence, failed.uses, failed.failures, failed.last_used_ms) == (0.8, 1, 1, 5000)
        assert room.store.fail_pair(room.id, "b", 0.2, 5000) is None
        assert ids(room.store.pairs([room.id])) == ["a"]

    def test_many_learners_at_once_lose_nothing(self, room: Room, make_store: MakeStore) -> None:
        """Each of forty uses from four threads counts."""

        def work() -> None:
            store = make_store(room.store)
            for _ in range(10):
                store.learn_pair(room.id, pair("a", 1.0), 0.2)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (found,) = room.store.pairs([room.id])
        assert (found.uses, found.confidence) == (40, 1.0)

    def test_the_stamp_and_the_newer_pairs_follow_changes(self, room: Room) -> None:
        """A copy in memory can be kept fresh without reading everything, whatever the clocks of the writers say."""
        store = room.store
        assert store.pairs_stamp([room.id]) == (0, 0)
        self.learn(room, pair("a", at_ms=3000), pair("b", at_ms=3000))
        (count, newest) = store.pairs_stamp([room.id])
        assert (count, newest > 0, ids(store.pairs([room.id], after=newest))) == (2, True, [])
        store.fail_pair(room.id, "a", 0.2, 1000)
        assert ids(store.pairs([room.id], after=newest)) == ["a"]
        store.learn_pair(room.id, pair("b", at_ms=3000), 0.2)
        assert ids(store.pairs([room.id], after=newest)) == ["a", "b"]
        store.put_pair_vectors(room.id, "m", {"a": b"12345678"})
        assert ids(store.pairs([room.id], after=newest)) == ["b", "a"]
        newest = store.pairs_stamp([room.id])[1]
        store.forget_pairs([room.id], ["a"])
        self.learn(room, pair("c", at_ms=1))
        assert (store.pairs_stamp([room.id])[0], store.pairs_stamp([room.id])[1] > newest) == (2, True)

    def test_pruning_drops_the_doubtful_alone(self, room: Room) -> None:
        """Below the least confidence; at it a pair stays."""
        self.learn(room, pair("low", 0.09), pair("edge", 0.1), pair("high", 1.5))
        gone = room.store.prune_pairs([room.id], 0.1, 0, 100, 90)
        assert gone == {"doubtful": 1, "unused": 0, "surplus": 0}
        assert sorted(ids(room.store.pairs([room.id]))) == ["edge", "high"]

    def test_pruning_drops_the_unused_alone(self, room: Room) -> None:
        """Not used since the time given; used at that moment stays."""
        self.learn(room, pair("old", at_ms=999), pair("edge", at_ms=1000))
        assert room.store.prune_pairs([room.id], 0.1, 1000, 100, 90)["unused"] == 1
        assert ids(room.store.pairs([room.id])) == ["edge"]

    def test_pruning_drops_the_surplus_alone(self, room: Room) -> None:
        """Only beyond the bound, then down to what is to be kept, the most trusted first, the newer among equals."""
        self.learn(room, *(pair(f"p{n}", 0.5 + n / 100, at_ms=1000) for n in range(10)))
        assert room.store.prune_pairs([room.id], 0.1, 0, 10, 9)["surplus"] == 0
        self.learn(room, pair("newer", 0.5, at_ms=2000))
        assert room.store.prune_pairs([room.id], 0.1, 0, 10, 9)["surplus"] == 2
        assert set(ids(room.store.pairs([room.id]))) == {f"p{n}" for n in range(1, 10)}

    def test_pruning_is_one_transaction(self, room: Room, make_store: MakeStore) -> None:
        """All three strategies together become visible at once, or not at all."""
        self.learn(room, pair("doubtful", 0.05, 5000), pair("unused", 1.0, 10), pair("weak", 0.4, 5000))
        self.learn(room, *(pair(f"p{n}", 1.0, 5000) for n in range(4)))
        other = make_store(room.store)
        before = other.pairs([room.id])
        with pytest.raises(RuntimeError), room.store.transaction([room.id]):
            gone = room.store.prune_pairs([room.id], 0.1, 1000, 4, 3)
            assert gone == {"doubtful": 1, "unused": 1, "surplus": 2}
            assert len(room.store.pairs([room.id])) == 3
            assert other.pairs([room.id]) == before
            raise RuntimeError
        assert other.pairs([room.id]) == before
        room.store.prune_pairs([room.id], 0.1, 1000, 4, 3)
        assert len(other.pairs([room.id])) == 3

    def test_pruning_that_fails_half_way_leaves_everything(self, room: Room) -> None:
        """The last strategy cannot run: what the first two dropped is there again."""
        self.learn(room, pair("doubtful", 0.05, 5000), pair("unused", 1.0, 10), pair("kept", 1.0, 5000))
        nonsense: Any = "many"
        with pytest.raises(RecollectError):
            room.store.prune_pairs([room.id], 0.1, 1000, 0, nonsense)
        assert len(room.store.pairs([room.id])) == 3

    def test_pairs_are_forgotten_by_id(self, room: Room) -> None:
        """What is forgotten is gone; others stay."""
        self.learn(room, pair("a"), pair("b"))
        assert room.store.forget_pairs([room.id], ["a", "unknown"]) == 1
        assert ids(room.store.pairs([room.id])) == ["b"]

    def test_spaces_do_not_share_pairs(self, rooms: tuple[Room, Room]) -> None:
        """The same id may be in two spaces; each verb sees the space that it was asked for."""
        here, there = rooms
        store = here.store
        self.learn(here, pair("a", 1.5))
        assert (store.pairs([there.id]), store.pairs([]), store.pairs_stamp([there.id])) == ([], [], (0, 0))
        assert store.fail_pair(there.id, "a", 0.2, 1) is None
        self.learn(there, pair("a", 0.5))
        assert store.forget_pairs([there.id], ["a"]) == 1
        store.prune_pairs([there.id], 9.0, 9 * DAY_MS, 0, 0)
        assert [found.confidence for found in store.pairs([here.id, there.id])] == [1.5]
