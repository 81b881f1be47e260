"""The scratchpad: at hand for a while, within a budget, apart for every session, and never lost."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recollect import InvalidInput, Memory, Note, NotFound
from recollect.scratchpad import IDLE_MS, Scratchpad, key_of
from recollect.types import STATES
from shell import Shell

if TYPE_CHECKING:
    from maturing_room import Clock, Open

pytest_plugins = ["postgres_server", "maturing_room"]
MINUTE = 60_000
WORDS = "one two three four five six seven eight nine ten"  # 12 tokens or so


def texts(notes: object) -> list[str]:
    return [note.content for note in notes]  # type: ignore[attr-defined]


@pytest.fixture
def pad(memory: Memory) -> Scratchpad:
    return memory.scratchpad


# -- putting and taking --------------------------------------------------------------------------------------------


def test_what_is_put_is_there_and_nowhere_else(memory: Memory, pad: Scratchpad) -> None:
    memory.add("A kettle that is remembered")
    item = pad.put("A kettle to look at later", tags=["todo"])
    assert (item.created, item.tier, item.state, item.origin) == (True, "scratchpad", "live", "agent")
    assert texts(pad.items()) == ["A kettle to look at later"]
    assert texts(memory.list()) == ["A kettle that is remembered"]
    assert len(memory.search("kettle")) == 1
    assert texts(memory.list(tiers=["scratchpad"])) == ["A kettle to look at later"]
    assert [moment.note for moment in memory.timeline(1, notes_only=True)] == list(memory.list())
    assert memory.stats()["notes"] == 1
    assert all(finding.ok for finding in memory.check())
    assert memory.verify().ok


def test_a_key_names_one_item_that_is_written_over(memory: Memory, pad: Scratchpad) -> None:
    first = pad.put("Step one", key="plan")
    second = pad.put("Step two", key="plan")
    assert (second.uid, second.created, second.rev) == (first.uid, False, 2)
    assert pad.get("plan").content == "Step two"
    assert [revision.image["content"] for revision in memory.history(second)] == ["Step one"]
    memory.undo(second.operation)
    assert pad.get(" plan ").content == "Step one"


def test_the_same_text_may_be_put_twice_and_beside_a_note(memory: Memory, pad: Scratchpad) -> None:
    memory.add("Tea at four")
    assert pad.put("Tea at four").uid != pad.put("Tea at four").uid
    assert len(pad.items()) == 2


def test_items_are_found_by_key_id_and_uid(pad: Scratchpad) -> None:
    item = pad.put("Tea at four", key="7")
    other = pad.put("Cake at five")
    assert {pad.get(ref).uid for ref in ("7", item.uid, item.id, item)} == {item.uid}
    assert pad.get(str(other.id)).uid == other.uid
    for ref in ("nobody", 999, "c3"):
        with pytest.raises(NotFound, match="scratchpad") as trouble:
            pad.get(ref)
        assert trouble.value.hint


def test_pinned_comes_first_then_the_important_then_the_newest(pad: Scratchpad) -> None:
    for text, importance, pinned in (("a", 5, False), ("b", 5, False), ("c", 9, False), ("d", 1, True)):
        pad.put(text, importance=importance, pinned=pinned)
    assert texts(pad.items()) == ["d", "c", "b", "a"]


def test_drop_and_clear_can_be_taken_back(memory: Memory, pad: Scratchpad) -> None:
    pad.put("a", key="a")
    item = pad.put("b")
    pad.put("c")
    assert pad.drop("a").state == "deleted"
    assert sorted(texts(pad.clear())) == ["b", "c"]
    assert (pad.items(), pad.clear()) == ([], [])
    memory.undo()
    assert sorted(texts(pad.items())) == ["b", "c"]
    memory.erase([item.id])
    assert texts(pad.items()) == ["c"]


def test_secrets_are_redacted_on_the_scratchpad_too(pad: Scratchpad) -> None:
    item = pad.put("token ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    assert "ghp_" not in item.content
    assert item.notice.startswith("redacted")


@pytest.mark.parametrize("wrong", [{"ttl_minutes": -1}, {"ttl_minutes": True}, {"key": " "}, {"key": "x" * 300}])
def test_bad_input_is_refused_with_a_hint(pad: Scratchpad, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as trouble:
        pad.put("text", **wrong)  # type: ignore[arg-type]
    assert trouble.value.hint
    assert pad.items() == []


# -- time ----------------------------------------------------------------------------------------------------------


def test_an_item_is_gone_when_its_time_is_over_and_expires_like_any_note(
    open_memory: "Open", clock: "Clock"
) -> None:  # fmt: skip
    memory = open_memory()
    pad = memory.scratchpad
    pad.put("an hour")
    pad.put("five minutes", ttl_minutes=5)
    kept = pad.put("for good", ttl_minutes=0)
    assert kept.expires_ms is None
    clock.now += 6 * MINUTE
    assert texts(pad.items()) == ["for good", "an hour"]
    clock.now += 60 * MINUTE
    assert texts(pad.items()) == ["for good"]
    assert memory.cleanup().expired == 2
    assert all(finding.ok for finding in memory.check())
    long = open_memory(scratchpad_minutes=600).scratchpad.put("ten hours")
    assert long.expires_ms is not None
    assert long.expires_ms - long.created_ms == 600 * MINUTE


def test_a_clock_that_jumped_ahead_expires_nothing_that_has_days_to_stay(
    memory: Memory, pad: Scratchpad, clock: "Clock"
) -> None:
    item = pad.put("three days", ttl_minutes=3 * 1440)
    before = clock.now
    clock.now += 3650 * 86_400_000
    memory.cleanup()
    clock.now = before
    assert memory.get(item.id).state == "live"
    assert texts(pad.items()) == ["three days"]


# -- the budget ----------------------------------------------------------------------------------------------------


def test_what_no_longer_fits_becomes_a_note_the_least_important_and_oldest_first(
    open_memory: "Open",
) -> None:
    memory = open_memory(scratchpad_tokens=45)
    pad = memory.scratchpad
    old = pad.put(f"old {WORDS}")
    minor = pad.put(f"minor {WORDS}", importance=2)
    pad.put(f"pinned {WORDS}", pinned=True, importance=1)
    last = pad.put(f"last {WORDS}")
    assert last.overflow == (minor.id,)
    after = memory.get(minor.id)
    assert (after.uid, after.tier, after.expires_ms, after.tags) == (minor.uid, "episodic", None, ("from-scratchpad",))
    assert memory.search("minor")[0].uid == minor.uid
    assert sum(item.token_count for item in pad.items()) <= 45
    events = memory._store.operation(last.operation, [memory._space().id])
    assert [event.verb for event in events] == ["put", "overflow"]
    memory.undo(last.operation)
    assert {item.uid for item in pad.items()} >= {old.uid, minor.uid}
    assert memory.search("minor").hits == ()
    assert all(finding.ok for finding in memory.check())


def test_an_overflow_whose_text_is_a_note_already_points_to_it(open_memory: "Open") -> None:
    memory = open_memory(scratchpad_tokens=30)
    said = memory.add(WORDS)
    item = memory.scratchpad.put(WORDS)
    memory.scratchpad.put(f"more {WORDS}")
    last = memory.scratchpad.put(f"last {WORDS}")
    assert said.id in last.overflow
    after = memory.get(item.id)
    assert (after.state, after.superseded_by, after.tier) == ("superseded", said.uid, "scratchpad")
    assert len(memory.search("seven eight nine", states=STATES)) == len(last.overflow)


def test_two_overflowing_items_of_one_text_become_one_note(open_memory: "Open") -> None:
    memory = open_memory(scratchpad_tokens=25)
    pad = memory.scratchpad
    one, two = pad.put("tea at four", importance=1), pad.put("tea at four", importance=1)
    last = pad.put(f"{WORDS} {WORDS}")
    assert last.overflow == (one.id, one.id)
    assert memory.get(two.id).superseded_by == one.uid
    memory.undo(last.operation)
    assert len(pad.items()) == 2


def test_what_can_never_fit_is_refused(open_memory: "Open") -> None:
    pad = open_memory(scratchpad_tokens=30).scratchpad
    with pytest.raises(InvalidInput, match="holds 30"):
        pad.put(" ".join([WORDS] * 5))
    pad.put(f"a {WORDS}", pinned=True)
    with pytest.raises(InvalidInput, match="pinned items fill"):
        pad.put(f"{WORDS} {WORDS}")
    assert len(pad.items()) == 1


def test_writers_at_once_lose_nothing_and_keep_to_the_budget(open_memory: "Open") -> None:
    memories = [open_memory(scratchpad_tokens=60) for _ in range(4)]

    def write(number: int) -> list[str]:
        pad = memories[number].scratchpad.of("shared", "bot")
        return [pad.put(f"item {number} {one} {WORDS}").uid for one in range(6)]

    with ThreadPoolExecutor(4) as pool:
        put = {uid for uids in pool.map(write, range(4)) for uid in uids}
    items = memories[0].scratchpad.of("shared", "bot").items()
    notes = memories[0].list(limit=100, tags=["from-scratchpad"])
    assert {note.uid for note in (*items, *notes)} == put
    assert len(items) + len(notes) == 24
    assert sum(item.token_count for item in items) <= 60


# -- promotion -----------------------------------------------------------------------------------------------------


def test_promoting_an_item_makes_it_a_note_that_is_found(memory: Memory, pad: Scratchpad) -> None:
    item = pad.put("The red kettle", key="k", pinned=True)
    up = memory.promote(item.id)
    assert (up.uid, up.tier, up.pinned, up.expires_ms) == (item.uid, "episodic", True, None)
    assert (memory.search("kettle")[0].uid, pad.items()) == (item.uid, [])
    memory.undo()
    assert (len(memory.search("kettle")), texts(pad.items())) == (0, ["The red kettle"])
    assert pad.get("k").uid == item.uid


def test_promoting_an_item_whose_text_is_live_answers_with_that_note(memory: Memory, pad: Scratchpad) -> None:
    said = memory.add("The red kettle")
    item = pad.put("The red kettle")
    assert memory.promote(item.id).uid == said.uid
    after = memory.get(item.id)
    assert (after.state, after.superseded_by) == ("superseded", said.uid)
    assert len(memory.search("kettle", states=STATES)) == 1
    memory.undo()
    assert texts(pad.items()) == ["The red kettle"]


# -- sessions ------------------------------------------------------------------------------------------------------


def test_sessions_and_agents_keep_theirs_apart(open_memory: "Open") -> None:
    pads = [open_memory().scratchpad.of(session, agent) for session in ("a", "b") for agent in ("x", "y")]
    for number, one in enumerate(pads):
        one.put(f"item {number}", key="same")
    assert [texts(one.items()) for one in pads] == [["item 0"], ["item 1"], ["item 2"], ["item 3"]]
    other = open_memory("kitchen").scratchpad.of("a", "x")
    assert other.items() == []
    pads[0].clear()
    assert [len(one.items()) for one in pads] == [0, 1, 1, 1]
    with pytest.raises(NotFound):
        pads[0].drop(pads[1].items()[0])


def test_a_new_session_takes_over_what_the_last_one_left(open_memory: "Open", clock: "Clock") -> None:
    memory = open_memory()
    first = memory.start_session("one", agent="bot")
    pad = memory.scratchpad.of(first)
    kept = pad.put("half done", key="plan")
    pad.put("for a minute", ttl_minutes=1)
    clock.now += 5 * MINUTE
    memory.end_session(first)
    clock.now += 20 * 3_600_000
    memory.cleanup()  # both have expired by now
    second = open_memory().start_session("two", agent="bot")
    items = open_memory().scratchpad.of(second).items()
    assert [(item.uid, item.content, key_of(item), item.session) for item in items] == [
        (kept.uid, "half done", "plan", second.uid)
    ]
    assert pad.items() == []
    assert memory.scratchpad.of(second, "another").items() == []
    assert open_memory().context(session=second.uid).items[0].section == "scratchpad"


def test_a_session_that_goes_on_keeps_its_items(open_memory: "Open", clock: "Clock") -> None:
    memory = open_memory()
    first = memory.start_session("one", agent="bot")
    item = memory.scratchpad.of(first).put("mine", ttl_minutes=0)
    second = memory.start_session("two", agent="bot")
    pad = memory.scratchpad.of(second)
    assert pad.items() == []
    assert first.uid in pad.restore().notice
    clock.now += IDLE_MS
    copied = pad.restore()  # silent for long, but it never ended: both have it
    assert texts(copied.items) == ["mine"]
    assert copied.items[0].uid != item.uid
    assert texts(memory.scratchpad.of(first).items()) == ["mine"]


def test_a_named_session_is_taken_over_whatever_it_does(memory: Memory) -> None:
    first = memory.start_session("one", agent="bot")
    memory.scratchpad.of(first).put("mine")
    pad = memory.scratchpad.of("two", "bot")
    assert texts(pad.restore(first).items) == ["mine"]
    assert pad.restore("nobody").items == ()


def test_taking_over_respects_keys_and_the_budget_and_can_be_undone(open_memory: "Open") -> None:
    memory = open_memory(scratchpad_tokens=40)
    old, new = memory.scratchpad.of("old"), memory.scratchpad.of("new")
    theirs = [old.put(f"theirs {WORDS}", key="plan"), old.put(f"minor {WORDS}", importance=1)]
    mine = new.put(f"mine {WORDS}", key="plan")
    done = new.restore()
    assert done.session == "old"
    assert new.get("plan").uid == mine.uid
    assert {item.uid for item in new.items()} == {mine.uid, theirs[0].uid}
    assert done.overflow == (theirs[1].id,)
    assert memory.get(theirs[1].id).tier == "episodic"
    memory.undo(done.operation)
    assert texts(new.items()) == [mine.content]
    assert {item.uid for item in old.items()} == {item.uid for item in theirs}


def test_the_context_shows_the_scratchpad_first(memory: Memory) -> None:
    memory.add("A pinned thing", pinned=True)
    memory.scratchpad.of("one").put("half done")
    memory.scratchpad.of("two").put("something else")
    assert [item.section for item in memory.context().items][:3] == ["scratchpad", "scratchpad", "pinned"]
    own = [item.text for item in memory.context(session="one").items if item.section == "scratchpad"]
    assert own == ["half done"]


# -- with the rest of the house ------------------------------------------------------------------------------------


def test_merge_export_and_import_take_the_scratchpad_along(open_memory: "Open", clock: "Clock", tmp_path: Path) -> None:
    here, there = open_memory("here"), open_memory("there")
    there.add("The same words")
    item = here.scratchpad.of("s").put("The same words", key="k")
    rows = list(here.export())
    assert [row["tier"] for row in rows] == ["scratchpad"]
    with Memory(tmp_path / "other.db", space="desk", clock=clock) as other:
        assert other.import_notes(rows).new == 1
        assert texts(other.scratchpad.of("s").items()) == ["The same words"]
    merged = here.merge_spaces("here", "there")
    assert merged.duplicates == 0
    assert [found.uid for found in there.scratchpad.of("s").items()] == [item.uid]
    there.undo(merged.operation)
    assert there.scratchpad.of("s").items() == []


def test_forgetting_a_session_forgets_its_scratchpad(memory: Memory) -> None:
    session = memory.start_session("one", agent="bot")
    item = memory.scratchpad.of(session).put("Tea at four")
    other = memory.scratchpad.put("Cake at five")
    assert memory.forget(sessions=[session.uid]).notes == (item.id,)
    memory.forget(query="cake")
    with pytest.raises(NotFound):
        memory.get(other.id)


def test_restoring_a_dropped_item_beside_a_note_of_its_text(memory: Memory, pad: Scratchpad) -> None:
    item = pad.put("Tea at four")
    pad.drop(item.id)
    memory.add("Tea at four")
    back: Note = memory.restore(item.id)
    assert (back.state, back.tier) == ("live", "scratchpad")
    assert replace(back, rev=1, updated_ms=0).content == "Tea at four"


def test_all_of_it_on_the_command_line(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell("scratchpad").code == 3  # nothing is made by looking
    assert "#1" in shell("scratchpad", "put", "Try", "the", "blue", "key", "--key", "plan", "--session", "a").out
    shell("scratchpad", "put", "-", "--session", "a", "--minutes", "5", stdin=b"from a pipe")
    rows = shell("scratchpad", "list", "--session", "a", "--json").json["items"]
    assert sorted(row["content"] for row in rows) == ["Try the blue key", "from a pipe"]
    assert shell("scratchpad", "list", "--session", "b", "--json").json["items"] == []
    assert shell("scratchpad", "restore", "--session", "b", "--json").json["session"] == "a"
    assert "Try the blue key" in shell("scratchpad", "list", "--session", "b").out
    assert "dropped #1" in shell("scratchpad", "drop", "plan", "--session", "b").out
    assert "1 item" in shell("scratchpad", "clear", "--session", "b").out
    assert shell("scratchpad", "drop", "nobody").code == 3
    assert "nothing on the scratchpad" in shell("scratchpad").out
