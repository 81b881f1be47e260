"""The scratchpad among the other tiers: outside search, and free to say what others say."""

import pytest

from recollect.errors import Conflict
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
