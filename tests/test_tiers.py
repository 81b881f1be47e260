"""Promotion and demotion, by hand and by rule, and what use does to a search; on both engines."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recollect import InvalidInput, Memory, Note
from recollect.retention import DAY_MS, HOUR_MS
from shell import Shell

if TYPE_CHECKING:
    from maturing_room import Clock, Open

pytest_plugins = ["postgres_server", "maturing_room"]


def read(memory: Memory, note: Note, times: int = 2) -> None:
    for _ in range(times):
        memory.get(note.id)


def verbs(memory: Memory, note: Note) -> list[str]:
    return [event.verb for event in memory.events() if event.uid == note.uid]


# -- by hand -------------------------------------------------------------------------------------------------------


def test_promotion_keeps_uid_links_pin_and_history_and_can_be_undone(memory: Memory) -> None:
    other = memory.add("The oven is old")
    note = memory.pin(memory.add("The kettle is red", tags=["kitchen"]))
    note = memory.link(note, other)
    up = memory.promote(note.id)
    assert (up.uid, up.id, up.tier, up.links, up.pinned, up.tags) == (
        note.uid, note.id, "semantic", note.links, True, ("kitchen",),
    )  # fmt: skip
    assert [revision.image["tier"] for revision in memory.history(note)] == ["episodic"] * 3
    assert verbs(memory, note) == ["add", "pin", "link", "promote"]
    assert memory.search("kettle", tiers=["semantic"])[0].uid == note.uid
    (back,) = memory.undo()
    assert replace(back, rev=note.rev) == note
    assert memory.search("kettle", tiers=["semantic"]).hits == ()
    assert memory.verify().ok


def test_demotion_is_the_way_back(memory: Memory) -> None:
    note = memory.promote(memory.add("The kettle is red"))
    down = memory.demote(note)
    assert (down.uid, down.tier, down.state) == (note.uid, "episodic", "live")
    assert verbs(memory, note) == ["add", "promote", "demote"]


def test_what_cannot_move_is_refused_with_a_way_out(memory: Memory) -> None:
    note = memory.add("The kettle is red")
    refused: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: memory.demote(note), "episodic and not semantic"),
        (lambda: memory.promote(memory.promote(note)), "semantic already"),
        (lambda: memory.promote(memory.delete(memory.add("Gone"))), "deleted"),
        (lambda: memory.promote(memory.add("Perhaps", confidence=0.2)), "confidence of 0.20"),
        (lambda: memory.add("Jotted", tier="scratchpad"), "scratchpad"),
    )
    for act, why in refused:
        with pytest.raises(InvalidInput, match=why) as trouble:
            act()
        assert trouble.value.hint


# -- by rule -------------------------------------------------------------------------------------------------------


def test_what_is_read_twice_and_retained_becomes_knowledge(memory: Memory) -> None:
    known, once, found = memory.add("The kettle is red"), memory.add("The oven is old"), memory.add("The door is blue")
    read(memory, known)
    read(memory, once, 1)
    for _ in range(5):
        memory.search("door")
    planned = memory.mature(dry_run=True)
    assert [(move.id, move.tier, move.to, move.title) for move in planned.moved] == [
        (known.id, "episodic", "semantic", "The kettle is red")
    ]
    assert (planned.operation, memory.get(found.id).tier) == ("", "episodic")
    done = memory.mature()
    assert [move.uid for move in done.moved] == [known.uid]
    assert {note.uid: note.tier for note in memory.list()} == {
        known.uid: "semantic", once.uid: "episodic", found.uid: "episodic",
    }  # fmt: skip
    assert memory.mature() == replace(done, moved=(), operation="")


def test_what_was_read_long_ago_stays_an_episode(memory: Memory, clock: "Clock") -> None:
    note = memory.add("The kettle is red")
    read(memory, note)
    clock.now += 40 * DAY_MS
    assert memory.mature(dry_run=True).moved == ()
    memory.get(note.id)
    assert len(memory.mature(dry_run=True).moved) == 1


def test_doubt_and_being_superseded_take_knowledge_down(memory: Memory) -> None:
    doubted, old, new = (
        memory.promote(memory.add(text)) for text in ("Tea is cold", "I live in Bonn", "I live in Ulm")
    )
    memory.update(doubted, confidence=0.2)
    memory._change(old, "supersede", {"state": "superseded", "superseded_by": new.uid})
    done = memory.mature()
    assert {move.uid: move.why for move in done.moved} == {doubted.uid: "confidence 0.20", old.uid: "superseded"}
    assert (memory.get(old.id).state, memory.get(old.id).tier, memory.get(new.id).tier) == (
        "superseded", "episodic", "semantic",
    )  # fmt: skip
    memory.undo(done.operation)
    assert (memory.get(old.id).tier, memory.get(doubted.id).tier) == ("semantic", "semantic")


def test_the_rule_does_not_overrule_a_person(memory: Memory) -> None:
    """What was demoted by hand, or whose promotion was undone, is not promoted again by the next run."""
    note, other = memory.add("The kettle is red"), memory.add("The oven is old")
    read(memory, note)
    read(memory, other)
    done = memory.mature()
    memory.undo(done.operation)
    memory.demote(memory.promote(other))
    read(memory, note)
    assert memory.mature().moved == ()
    assert memory.promote(note).tier == "semantic"


def test_the_rule_moves_only_what_is_in_sight_and_upkeep_everything(open_memory: "Open") -> None:
    here, there = open_memory("here"), open_memory("there")
    one, other = here.add("The kettle is red"), there.add("The oven is old")
    read(here, one)
    read(there, other)
    assert [move.uid for move in here.mature(dry_run=True).moved] == [one.uid]
    cleaned = here.upkeep()
    assert cleaned is not None
    assert (cleaned.promoted, cleaned.demoted) == (2, 0)
    assert there.get(other.id).tier == "semantic"
    there.undo(cleaned.operation)
    assert (here.get(one.id).tier, there.get(other.id).tier) == ("episodic", "episodic")


def test_a_clean_up_says_what_it_would_promote_and_changes_nothing_twice(memory: Memory, clock: "Clock") -> None:
    note = memory.add("The kettle is red", expires_ms=clock.now + HOUR_MS)
    kept = memory.add("The oven is old")
    read(memory, note)
    read(memory, kept)
    clock.now += 2 * HOUR_MS
    assert memory.cleanup(dry_run=True).promoted == 1
    done = memory.cleanup()
    assert (done.expired, done.promoted) == (1, 1)
    memory.undo(done.operation)
    assert memory.get(kept.id).tier == "episodic"


# -- forgetting ----------------------------------------------------------------------------------------------------


def test_only_what_is_read_in_full_or_told_counts_as_accessed(memory: Memory) -> None:
    read_one, told, found = (
        memory.add("The kettle is red"),
        memory.add("We chose tea", pinned=True),
        memory.add("A cup"),
    )
    memory.get(read_one.id)
    memory.search("cup")
    memory.list()
    memory.timeline(found.id)
    memory.history(found.id)
    memory.context(sections=["pinned"])
    usage = memory._store.usage([read_one.id, told.id, found.id], [memory._space().id])
    assert {note: one.accesses for note, one in usage.items()} == {read_one.id: 1, told.id: 1}


def test_what_was_told_before_is_not_told_and_not_counted_again(memory: Memory) -> None:
    note = memory.add("We chose tea", pinned=True)
    seen = [item.id for item in memory.context(sections=["pinned"]).items]
    again = memory.context(sections=["pinned"], told=seen)
    assert (again.text, again.items, again.tokens) == ("", (), 0)
    assert memory._store.usage([note.id], [memory._space().id])[note.id].accesses == 1


def test_an_access_after_a_pause_strengthens_what_is_left(open_memory: "Open", clock: "Clock") -> None:
    """At the seed's rate half is lost in 6.93 hours; then an access makes 0.6 of it."""
    memory = open_memory(forgetting="seed")
    note = memory.add("The kettle is red")
    clock.now += round(6.931471806 * HOUR_MS) - 1
    memory.get(note.id)
    used = memory._store.usage([note.id], [memory._space().id])[note.id]
    assert used.strength == pytest.approx(0.6, abs=1e-4)


def test_without_any_access_age_changes_nothing_that_forgetting_decides(open_memory: "Open", clock: "Clock") -> None:
    memory = open_memory()
    memory.add_many([f"A red kettle in kitchen number {number}" for number in range(20)])
    clock.now += 400 * DAY_MS
    answers = [
        [(hit.uid, hit.score) for hit in open_memory(forgetting=preset).search("red kettle", limit=20)]
        for preset in ("days", "seed", "off")
    ]
    clock.now -= 10
    assert [[uid for uid, _ in answer] for answer in answers] == [[uid for uid, _ in answers[0]]] * 3
    assert answers[0] == answers[2]


def test_what_is_read_often_comes_before_its_equal_until_it_fades(open_memory: "Open", clock: "Clock") -> None:
    memory = open_memory()
    first = memory.add("The red kettle in the kitchen, one")
    second = memory.add("The red kettle in the kitchen, two")
    assert memory.search("red kettle")[0].uid == second.uid
    read(memory, first, 3)
    assert memory.search("red kettle")[0].uid == first.uid
    assert memory.search("red kettle", boosts=False)[0].uid == second.uid
    assert open_memory(forgetting="off").search("red kettle")[0].uid == second.uid
    gained = memory.search("red kettle", explain=True)[0].score - memory.search("red kettle")[1].score
    assert gained < 0.05
    clock.now += 5 * 365 * DAY_MS
    faded = memory.search("red kettle")
    assert abs(faded[0].score - faded[1].score) < 1e-6


def test_a_rival_that_fits_better_stays_first_however_often_the_other_is_read(memory: Memory) -> None:
    often = memory.add("A kettle stands in the hall beside the coats and boots and umbrellas of everybody")
    better = memory.add("The red copper kettle")
    read(memory, often, 30)
    assert memory.search("red copper kettle")[0].uid == better.uid


def test_nothing_is_ever_deleted_by_forgetting(open_memory: "Open", clock: "Clock") -> None:
    memory = open_memory(forgetting="seed")
    notes = memory.add_many([f"note {number}" for number in range(10)])
    clock.now += 3000 * DAY_MS
    memory.mature()
    memory.cleanup()
    assert {note.uid for note in memory.list(limit=50)} == {note.uid for note in notes}


# -- the command line ----------------------------------------------------------------------------------------------


def test_promote_demote_and_mature_on_the_command_line(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell("add", "The kettle is red")
    assert "#1: The kettle is red is semantic now" in shell("promote", "1").out
    assert shell("demote", "1", "--json").json["tier"] == "episodic"
    assert shell("demote", "1").code == 2
    shell("add", "The oven is old")
    for _ in range(2):
        shell("get", "2")
    assert "would promote" in shell("mature", "--dry-run").out
    done = shell("mature", "--json").json
    assert [(move["id"], move["to"]) for move in done["moved"]] == [(2, "semantic")]
    assert "nothing" in shell("mature").out
    assert shell("undo", done["operation"]).code == 0
