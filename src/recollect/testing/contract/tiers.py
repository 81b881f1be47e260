"""The scratchpad among the other tiers, outside search and free to say what others say; and what use counts for."""

import pytest

from recollect.errors import Conflict
from recollect.maturity import Used
from recollect.retention import HOUR_MS, RATES, retention, strengthened
from recollect.store import Use
from recollect.testing.contract.rules import Rules
from recollect.testing.room import Room, insert, note


class TierRules(Rules):
    def test_what_is_on_the_scratchpad_has_no_chunks(self, room: Room) -> None:
        """It is neither searched nor missed by those who look for notes without chunks."""
        jotted = room.add("a kettle to buy", tier="scratchpad")
        assert room.chunks("kettle") == ()
        assert room.store.owned("note", jotted.id, room.id) == []
        assert room.store.unsearchable() == []
        assert all(finding.ok for finding in room.store.check())

    def test_a_note_that_leaves_the_scratchpad_is_found_and_one_that_returns_is_not(self, room: Room) -> None:
        """Chunks follow the tier, there and back."""
        jotted = room.add("a kettle to buy", tier="scratchpad")
        kept = room.change(jotted, verb="promote", tier="episodic")
        assert (kept.uid, kept.rev) == (jotted.uid, 2)
        assert room.find("kettle") == {"a kettle to buy"}
        room.change(kept, verb="undo", tier="scratchpad")
        assert room.chunks("kettle") == ()

    def test_a_text_may_stand_on_the_scratchpad_twice_and_beside_a_note(self, room: Room) -> None:
        """Nothing there is a duplicate, and nothing there makes one."""
        one, two = room.apply(insert(note("same", tier="scratchpad")), insert(note("same", tier="scratchpad")))
        (said,) = room.apply(insert(note("same")))
        (third,) = room.apply(insert(note("same", tier="scratchpad")))
        assert len({one.uid, two.uid, said.uid, third.uid}) == 4
        assert not any(done.duplicate for done in (one, two, said, third))
        assert room.apply(insert(note("same")))[0].uid == said.uid

    def test_leaving_the_scratchpad_for_a_text_that_is_live_is_a_conflict(self, room: Room) -> None:
        """Whoever promotes has to look first."""
        room.add("taken")
        jotted = room.add("taken", tier="scratchpad")
        with pytest.raises(Conflict):
            room.change(jotted, tier="episodic")
        assert room.get(jotted.uid).tier == "scratchpad"

    def test_a_filter_names_the_scratchpad_or_leaves_it_out(self, room: Room) -> None:
        """Inside everything is seen; what is asked for from outside is without it unless it is named."""
        room.add("said")
        room.add("jotted", tier="scratchpad")
        assert sorted(room.texts()) == ["jotted", "said"]
        assert room.texts(with_scratchpad=False) == ["said"]
        assert room.texts(with_scratchpad=False, tiers=("scratchpad",)) == ["jotted"]
        assert sorted(room.texts(with_scratchpad=False, tiers=("scratchpad", "episodic"))) == ["jotted", "said"]

    def test_numbers_count_the_scratchpad_by_tier_alone(self, room: Room) -> None:
        """It is no note yet."""
        room.add("said", kind="fact")
        room.add("known", kind="fact", tier="semantic")
        room.add("jotted", kind="task", tier="scratchpad")
        numbers = room.store.stats([room.id])
        assert (numbers["notes"], numbers["kinds"], numbers["states"]) == (2, {"fact": 2}, {"live": 2})
        assert numbers["tiers"] == {"episodic": 1, "semantic": 1, "scratchpad": 1}

    # -- use and what it earns ------------------------------------------------------------------------------------

    def test_an_access_brings_back_a_fifth_of_what_was_lost(self, room: Room) -> None:
        """The counters move as the formulas say, whatever the preset and however long the pause."""
        for rate in RATES.values():
            made = room.add(f"at {rate}", created_ms=HOUR_MS)
            strength, last, count = 1.0, HOUR_MS, 0
            for at in (2 * HOUR_MS, 2 * HOUR_MS, HOUR_MS, 50 * HOUR_MS, 10**6 * HOUR_MS):
                assert room.store.record_use([Use(made.id, "get", at)], rate)
                strength = strengthened(retention(strength, at - last, count, rate))
                last, count = at, count + 1
                found = room.store.usage([made.id], [room.id])[made.id]
                assert (found.accesses, found.last_access_ms) == (count, last)
                assert found.strength == pytest.approx(strength)

    def test_what_was_told_in_a_context_counts_like_what_was_read(self, room: Room) -> None:
        made = room.add("told")
        room.store.record_use([Use(made.id, "context", 5), Use(made.id, "search", 6), Use(made.id, "get", 7)])
        assert room.store.usage([made.id], [room.id])[made.id].accesses == 2

    def test_candidates_are_read_notes_and_knowledge_in_doubt(self, rooms: tuple[Room, Room]) -> None:
        """Coarse on purpose: what is read often or doubted; the plan decides."""
        here, there = rooms
        read, once = here.add("read", importance=7), here.add("once")
        here.add("never")
        doubted = here.add("doubted", tier="semantic", confidence=0.2, created_ms=77)
        here.add("sure", tier="semantic", confidence=0.3)
        old = here.change(here.add("old", tier="semantic"), state="superseded")
        here.change(here.add("gone", tier="semantic", confidence=0.1), state="deleted")
        afar = there.add("afar")
        uses = [Use(note_id, "get", 9) for note_id in (read.id, read.id, once.id, afar.id, afar.id)]
        here.store.record_use(uses)
        found = {row.uid: row for row in here.store.tier_candidates([here.id], 2, 0.3)}
        assert set(found) == {read.uid, doubted.uid, old.uid}
        assert found[read.uid] == Used(read.id, here.id, read.uid, "episodic", "live", 1.0, 7, 0, 2, 9, 1.0)
        assert found[doubted.uid][8:] == (0, 77, 1.0)
        assert {row.space for row in here.store.tier_candidates([here.id, there.id], 2, 0.3)} == {here.id, there.id}

    def test_who_holds_a_text_is_told_by_hash(self, rooms: tuple[Room, Room]) -> None:
        here, there = rooms
        made = here.add("held")
        jotted = here.add("jotted", tier="scratchpad")
        gone = here.change(here.add("gone"), state="deleted")
        hashes = [made.content_hash, jotted.content_hash, gone.content_hash, "0" * 64]
        assert here.store.holders(here.id, hashes) == {made.content_hash: made.uid}
        assert there.store.holders(there.id, hashes) == {}
