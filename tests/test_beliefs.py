"""Belief on both engines: confidence, superseding, merging, gathering; dated, hidden by default, undone exactly."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Memory, Turn
from recollect import consolidation as gathering
from recollect.beliefs import Beliefs, contradicted, reinforced
from recollect.config import load_settings
from recollect.errors import Conflict, InvalidInput, NotFound, RecollectError
from recollect.types import STATES, Link
from shell import Shell

pytest_plugins = ["postgres_server"]
START = 1_800_000_000_000
NOISY = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


class Ticking:
    """A clock that moves by a second with every look."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += 1000
        return self.now


def opened(place: str, home: Path, clock: Callable[[], int]) -> Memory:
    return Memory(place, space="here", settings=load_settings(home=home, auto_backups=0, embedder="none"), clock=clock)


@pytest.fixture(params=["sqlite", "postgresql"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    place = tmp_path / "memory.db" if request.param == "sqlite" else request.getfixturevalue("databases").empty()
    with opened(str(place), tmp_path / "home", Ticking()) as made:
        yield made


def sound(memory: Memory) -> bool:
    return memory.verify().ok and all(finding.ok for finding in memory.check())


# -- confidence --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "times", "up", "down"),
    [(0.5, 1, 0.6, 0.4), (0.5, 3, 0.75, 0.2), (0.9, 1, 0.95, 0.8), (0.0, 2, 0.2, 0.0), (1.0, 5, 1.0, 0.5),
     (0.3, 10, 0.65, 0.0)],
)  # fmt: skip
def test_confidence_moves_by_a_tenth_and_at_most_half_of_what_is_missing(
    confidence: float, times: int, up: float, down: float
) -> None:
    assert reinforced(confidence, times) == up
    assert contradicted(confidence, times) == down


@given(st.floats(0, 1), st.integers(1, 1000))
def test_confidence_stays_between_0_and_1(confidence: float, times: int) -> None:
    assert confidence - 1e-9 <= reinforced(confidence, times) <= 1
    assert 0 <= contradicted(confidence, times) <= confidence + 1e-9


def test_evidence_is_counted_and_undone(memory: Memory) -> None:
    note = memory.add("Ana drinks tea", confidence=0.5, metadata={"a": 1})
    assert memory.beliefs.reinforce(note.id).confidence == 0.6
    again = memory.beliefs.reinforce(note.id, 2)
    assert (again.confidence, again.metadata) == (0.8, {"a": 1, "evidence": 3})
    memory.undo()
    assert memory.get(note.id).metadata == {"a": 1, "evidence": 1}


def test_a_contradicted_note_stays_but_is_no_longer_knowledge(memory: Memory) -> None:
    note = memory.add("Ana drinks tea", confidence=0.4, tier="semantic")
    against = memory.add("Ana poured her tea away")
    assert memory.beliefs.contradict(note.id).tier == "semantic"  # 0.3 is not below 0.3
    doubted = memory.beliefs.contradict(note.id, by=against.id)
    assert (doubted.confidence, doubted.tier, doubted.state) == (0.2, "episodic", "live")
    assert doubted.links == (Link(against.uid, "contradicted by"),)
    memory.undo()
    assert memory.get(note.id).tier == "semantic"


# -- superseding -------------------------------------------------------------------------------------------------------


def test_a_superseded_note_is_hidden_dated_and_found_as_of_then(memory: Memory) -> None:
    old = memory.add("Ana works at Acme", kind="fact", tags=["people"], links=[Link("x", "about")])
    new = memory.add("Ana works at Globex", kind="fact")
    done = memory.beliefs.supersede(old.id, new.id)
    assert (done.old.state, done.old.superseded_by, done.old.valid_to_ms) == ("superseded", new.uid, new.created_ms)
    assert done.old.links == (Link("x", "about"),) and done.new.links == (Link(old.uid, "supersedes"),)

    def found(**options: Any) -> list[str]:
        return [hit.title for hit in memory.search("where does Ana work", mode="keyword", **options)]

    assert found() == ["Ana works at Globex"]
    assert found(as_of_ms=new.created_ms - 1) == ["Ana works at Acme"]
    assert found(as_of_ms=new.created_ms) == ["Ana works at Globex"]
    assert found(as_of_ms=old.created_ms - 1) == []
    assert [note.id for note in memory.list()] == [new.id]
    memory.undo(done.operation)
    assert sorted(found()) == ["Ana works at Acme", "Ana works at Globex"]
    assert memory.get(new.id).links == () and memory.get(old.id).valid_to_ms is None
    assert sound(memory)


def test_a_text_can_take_the_place_of_a_note_and_inherits_from_it(memory: Memory) -> None:
    old = memory.add(
        "The queue runs on Redis", kind="decision", tags=["infra"], importance=8, pinned=True, tier="semantic",
        links=[Link("x", "about")],
    )  # fmt: skip
    done = memory.beliefs.supersede(old.id, "The queue runs on Kafka", importance=9)
    new = done.new
    assert (new.kind, new.tags, new.importance, new.pinned, new.tier) == ("decision", ("infra",), 9, True, "semantic")
    assert set(new.links) == {Link("x", "about"), Link(old.uid, "supersedes")}
    assert done.old.tier == "episodic"
    assert len({event.operation for event in memory.operations(limit=1)[0]}) == 1
    memory.undo(done.operation)
    assert [note.content for note in memory.list()] == ["The queue runs on Redis"]
    assert memory.get(old.id).tier == "semantic"
    assert sound(memory)


def test_since_when_the_new_one_is_true_can_be_said(memory: Memory) -> None:
    old = memory.add("Ana lives in Berlin", valid_from_ms=START - 10**9)
    done = memory.beliefs.supersede(old.id, "Ana lives in Lisbon", at_ms=START - 10**8)
    assert (done.old.valid_to_ms, done.new.valid_from_ms) == (START - 10**8, START - 10**8)
    then = memory.search("Ana lives", mode="keyword", as_of_ms=START - 10**8 - 1)
    assert [hit.title for hit in then] == ["Ana lives in Berlin"]
    later = memory.beliefs.supersede(done.new.id, "Ana lives in Porto", at="2027-01-15T07:30Z")
    assert later.new.valid_from_ms == later.old.valid_to_ms == 1_799_998_200_000
    with pytest.raises(InvalidInput, match="still to come"):
        memory.beliefs.supersede(later.new.id, "Ana lives in Faro", at_ms=START * 2)
    with pytest.raises(InvalidInput, match="not true yet"):
        memory.beliefs.supersede(later.new.id, "Ana lives in Faro", at_ms=START - 2 * 10**9)


def test_the_same_question_finds_what_took_the_place_of_a_note(memory: Memory) -> None:
    first = memory.add("Ana works at the library", context="people")
    second = memory.add("Ana joined the archive")
    third = memory.add("Ana left the archive for a publisher")
    memory.add("Ana drinks tea")
    memory.beliefs.supersede(first.id, second.id)
    done = memory.beliefs.supersede(second.id, third.id)
    assert set(done.new.context.split()) == {"people", "works", "joined"}
    hits = memory.search("where does Ana work", mode="keyword")
    assert hits[0].id == str(third.id)
    memory.undo(done.operation)
    assert memory.get(third.id).context == ""


def test_the_text_of_a_live_note_supersedes_by_that_note(memory: Memory) -> None:
    old, twin = memory.add("I use vim"), memory.add("I use helix")
    done = memory.beliefs.supersede(old.id, "I use helix")
    assert done.new.id == twin.id and len(memory.list()) == 1
    memory.undo(done.operation)
    assert {note.content for note in memory.list()} == {"I use vim", "I use helix"}


def test_what_cannot_be_superseded_is_refused_with_a_hint(memory: Memory) -> None:
    one, two = memory.add("one thing"), memory.add("another thing")
    beliefs = memory.beliefs
    for wrong, error in (
        (lambda: beliefs.supersede(one.id, one.id), InvalidInput),
        (lambda: beliefs.supersede(one.id, "one thing"), InvalidInput),
        (lambda: beliefs.supersede(one.id, 99), NotFound),
        (lambda: beliefs.supersede(99, "x"), NotFound),
        (lambda: beliefs.supersede(one.id, two.id, kind="fact"), InvalidInput),
        (lambda: beliefs.supersede(one.id, "x", colour="red"), InvalidInput),
        (lambda: beliefs.supersede(one.id, " "), InvalidInput),
        (lambda: beliefs.reinforce(one.id, 0), InvalidInput),
        (lambda: beliefs.merge(one.id), InvalidInput),
        (lambda: beliefs.merge(one.id, one.uid), InvalidInput),
    ):
        with pytest.raises(error) as told:
            wrong()
        assert told.value.hint
    beliefs.supersede(one.id, two.id)
    with pytest.raises(Conflict, match="superseded already"):
        beliefs.supersede(one.id, "yet another")
    assert memory.restore(one.id).valid_to_ms is None
    assert len(memory.list()) == 2
    assert beliefs.supersede(two.id, "17", as_text=True).new.content == "17"


def test_a_search_says_when_a_note_had_another_text_then(memory: Memory) -> None:
    note = memory.add("The port is 8080")
    before = memory._clock()
    memory.update(note.id, content="The port is 9090")
    answer = memory.search("port", mode="keyword", as_of_ms=before)
    assert [hit.title for hit in answer] == ["The port is 9090"]
    assert "had another text then" in answer.notices[0]
    assert memory.get(note.id, as_of_ms=before).content == "The port is 8080"


def test_secrets_do_not_come_in_by_superseding(memory: Memory) -> None:
    old = memory.add("The key is in the vault")
    done = memory.beliefs.supersede(old.id, "The key is AKIA" + "IOSFODNN7EXAMPLF")
    assert "AKIAIOSF" not in done.new.content and "redacted" in done.notice


# -- contradictions and duplicates -------------------------------------------------------------------------------------


def test_contradictions_are_listed_and_nothing_is_decided(memory: Memory) -> None:
    old = memory.add("I use vim")
    memory.add("The office is in Rome")
    new = memory.add("I switched from vim to helix")
    before = list(memory.export())
    (found,) = memory.beliefs.contradictions()
    assert (found.older.id, found.newer.id, found.was, found.now) == (old.id, new.id, "vim", "helix")
    assert list(memory.export()) == before
    assert memory.beliefs.contradictions(2) == ()
    assert len(memory.beliefs.contradictions(new.id)) == 1
    memory.beliefs.supersede(old.id, new.id)
    assert memory.beliefs.contradictions() == ()


def test_duplicates_are_shown_merged_and_taken_back(memory: Memory) -> None:
    text = "The database backup runs nightly at 2am"
    short = memory.add(text, tags=["ops"], importance=7, links=[Link("x", "about")])
    rich = memory.add(f"{text} on the replica", tags=["db"], confidence=0.5)
    memory.add("Ana works at Acme")
    before = list(memory.export())
    shown = memory.beliefs.merge_duplicates(dry_run=True)
    assert list(memory.export()) == before and shown.hidden == 1
    (group,) = shown.groups
    assert (group.keep.id, [note.id for note in group.others], group.by) == (rich.id, [short.id], "words")
    done = memory.beliefs.merge_duplicates()
    kept = memory.get(rich.id)
    assert (set(kept.tags), kept.importance, kept.confidence) == ({"ops", "db"}, 7, 1.0)
    assert set(kept.links) == {Link("x", "about"), Link(short.uid, "merged")}
    assert memory.get(short.id).state == "superseded" and memory.get(short.id).superseded_by == rich.uid
    assert [hit.id for hit in memory.search("ops", mode="keyword")] == [str(rich.id)]  # its new tag is indexed
    assert memory.beliefs.duplicates() == ()
    memory.undo(done.operation)
    assert list(memory.export()) == before
    assert sound(memory)


def test_duplicates_are_found_by_meaning_where_there_are_vectors(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path, embedder="hashing")
    with Memory(tmp_path / "memory.db", space="here", settings=settings) as memory:
        memory.add("Deploys happen on Thursdays at the office in Rome")
        memory.add("On Thursdays deploys happen at the office in Rome")
        memory.add("Lunch is at noon")
        (group,) = memory.beliefs.duplicates()
        assert group.by == "meaning" and group.scores[0] > 0.88


def test_notes_can_be_merged_by_hand(memory: Memory) -> None:
    one, two, three = (memory.add(text) for text in ("Tea is hot", "The kettle is on", "The pot is full"))
    done = memory.beliefs.merge(two.id, three.id, keep=one.id)
    assert [note.id for note in memory.list()] == [one.id] and done.hidden == 2
    memory.undo()
    assert len(memory.list()) == 3
    web = memory.add("Tea is very hot", origin="web")
    with pytest.raises(InvalidInput, match="trusted"):
        memory.beliefs.merge(one.id, web.id)


# -- consolidation -----------------------------------------------------------------------------------------------------

EPISODES = (
    "The staging deploy failed because the disk was full", "Staging deploy failed again, the disk is full",
    "Cleaning the disk cache fixed the staging deploy", "Lunch with Ana was nice",
)  # fmt: skip


def test_notes_on_one_subject_become_one_note_with_links_to_them(memory: Memory) -> None:
    notes = [memory.add(text, tags=["ops"]) for text in EPISODES]
    before = list(memory.export())
    assert memory.consolidate().gathered == ()  # too young
    plan = memory.consolidate(older_than_days=0, dry_run=True)
    assert list(memory.export()) == before and plan.made == ()
    (gathered,) = plan.gathered
    assert [note.id for note in gathered.notes] == [note.id for note in notes[:3]]
    assert ": 3 notes, 2027-01-15 to 2027-01-15." in gathered.draft.content
    done = memory.consolidate(older_than_days=0)
    made = memory.get(done.made[0].id)
    assert (made.tier, made.origin, made.tags) == ("semantic", "agent", ("ops",))
    assert set(made.links) == {Link(note.uid, "source") for note in notes[:3]}
    assert made.metadata["consolidated"] == 3
    assert made.metadata["first_seen_ms"] == notes[0].created_ms
    assert made.metadata["last_seen_ms"] == notes[2].created_ms
    said = [line[2:].rsplit(" (", 1)[0] for line in made.content.splitlines()[1:]]
    assert said and set(said) <= set(EPISODES)  # extractive
    assert len(memory.list()) == 5  # the sources stay
    assert memory.consolidate(older_than_days=0).made == ()  # and are not gathered twice
    told = memory.beliefs.supersede(notes[0].id, "The staging deploy works")
    assert f"note {made.id} was gathered from it" in told.notice
    memory.undo(told.operation)
    memory.undo(done.operation)
    assert [row for row in memory.export() if row["state"] == "live"] == before
    assert sound(memory)


def test_sources_can_be_hidden_except_what_is_pinned(memory: Memory) -> None:
    notes = [memory.add(text, pinned=at == 0) for at, text in enumerate(EPISODES[:3])]
    done = memory.consolidate(older_than_days=0, hide_sources=True)
    assert done.hidden == 2
    assert {note.id for note in memory.list()} == {notes[0].id, done.made[0].id}
    assert memory.get(notes[1].id).superseded_by == done.made[0].uid
    memory.undo(done.operation)
    assert {note.id for note in memory.list()} == {note.id for note in notes}
    assert sound(memory)


def test_what_is_not_trusted_is_not_gathered_with_what_is(memory: Memory) -> None:
    for at, text in enumerate(EPISODES[:3]):
        memory.add(text, origin="web" if at else "user")
    assert memory.consolidate(older_than_days=0, dry_run=True).gathered == ()
    memory.add("The staging deploy failed once more: the disk is full", origin="web")
    memory.add("Again the staging deploy failed, and the disk is full", origin="web")
    done = memory.consolidate(older_than_days=0)
    assert memory.get(done.made[0].id).trusted is False


def test_an_old_session_becomes_one_note_and_its_turns_stay(memory: Memory) -> None:
    session = memory.start_session("talk", agent="a", title="About billing")
    said = ["Which database shall we use for billing?", "We decided to use PostgreSQL for billing.",
            "Please write that down in the plan.", "I added the plan to docs/plan.md."]  # fmt: skip
    turns = [
        Turn("user" if at % 2 == 0 else "assistant", text, at_ms=START + at, origin="user" if at % 2 == 0 else "agent")
        for at, text in enumerate(said)
    ]
    memory.add_turns(session, turns)
    assert memory.consolidate(sessions=True).gathered == ()
    done = memory.consolidate(sessions=True, older_than_days=0)
    made = memory.get(done.made[0].id)
    assert (made.tier, made.session, made.links) == ("semantic", session.uid, (Link(session.uid, "session"),))
    assert "PostgreSQL" in made.content and "4 turns" in made.content
    assert len(memory.turns(session)) == 4
    assert memory.consolidate(sessions=True, older_than_days=0).made == ()
    memory.undo(done.operation)
    assert memory.list() == []
    assert len(memory.consolidate(sessions=True, older_than_days=0).made) == 1


def test_where_more_notes_are_than_can_be_compared_the_answer_says_so_and_older_ones_get_their_turn(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = [memory.add(text, created_ms=1000 + number).id for number, text in enumerate(EPISODES[:3])]
    newer = [memory.add(f"The tram to the harbour was late on day {number}").id for number in range(3)]
    monkeypatch.setattr(gathering, "COMPARED", 3)
    first, second = (memory.consolidate(older_than_days=0) for _ in range(2))
    assert [sorted(note.id for note in one.notes) for one in (*first.gathered, *second.gathered)] == [newer, older]
    assert (first.notice, second.notice) == ("only the newest 3 notes that were not gathered yet were compared", "")


def test_bad_wishes_are_refused(memory: Memory) -> None:
    memory.add("one")
    for wrong in ({"older_than_days": -1}, {"least": 1}, {"older_than_days": float("nan")}):
        with pytest.raises(InvalidInput):
            memory.consolidate(**wrong)


# -- all or nothing ----------------------------------------------------------------------------------------------------


def test_what_meets_a_change_by_another_leaves_nothing_behind(memory: Memory) -> None:
    """Each is several writes; when a later one fails, the earlier ones did not happen either."""
    old = memory.add("Ana works at Acme")
    stale = memory.get(old.id)
    for text in EPISODES[:3]:
        memory.add(text)
    shown = memory.beliefs.duplicates()
    plan, _ = gathering.plan(memory._store, memory._filter(), gathering.wish(False, 0, 3))
    memory.update(old.id, importance=9)
    for note in memory.list(limit=10):
        memory.update(note.id, importance=8)
    before = list(memory.export())
    late = Beliefs(
        memory._store, memory._limits, lambda _: stale, memory._operation, memory._filter,
        lambda: memory._search().embedding,
    )  # fmt: skip
    with pytest.raises(Conflict):
        late.supersede(stale, "Ana works at Globex")
    assert shown
    with pytest.raises(Conflict):
        memory.beliefs.merge_duplicates(shown)
    with pytest.raises(Conflict):
        gathering.apply(
            memory._store, memory._space(), plan, memory._operation("consolidate"), memory._limits, hide=True
        )
    assert list(memory.export()) == before


# -- no sequence loses a note or breaks undo ---------------------------------------------------------------------------

VERBS = ("add", "reinforce", "contradict", "supersede", "replace", "merge", "unite", "consolidate", "hide", "restore",
         "delete", "undo", "link")  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=10)
SAID = (
    "Ana works at Acme", "Ana works at Globex", "The staging deploy failed because the disk is full",
    "The staging deploy failed since the disk is full", "The staging deploy failed, the disk is full again",
    "I use vim", "I switched to helix", "The disk of the staging deploy is full",
)  # fmt: skip


def act(memory: Memory, verb: str, pick: int, other: int) -> str | None:
    """Does it; the operation that it left, if any."""
    known = sorted(memory.list(limit=1000, states=STATES), key=lambda note: note.id)
    one, two = known[pick % len(known)], known[other % len(known)]
    beliefs = memory.beliefs
    acts: dict[str, Callable[[], object]] = {
        "add": lambda: memory.add(SAID[pick % len(SAID)], tags=[f"t{other}"], importance=1 + other % 10),
        "reinforce": lambda: beliefs.reinforce(one, 1 + other),
        "contradict": lambda: beliefs.contradict(one, 1 + other, by=two),
        "supersede": lambda: beliefs.supersede(one, two),
        "replace": lambda: beliefs.supersede(one, SAID[other % len(SAID)]),
        "merge": lambda: beliefs.merge(one, two),
        "unite": lambda: beliefs.merge_duplicates(),
        "consolidate": lambda: memory.consolidate(older_than_days=0),
        "hide": lambda: memory.consolidate(older_than_days=0, least=2, hide_sources=True),
        "restore": lambda: memory.restore(one),
        "delete": lambda: memory.delete(one),
        "undo": lambda: memory.undo(),
        "link": lambda: memory.link(one, two),
    }
    before = memory.operations(limit=1)[0][0].operation
    with contextlib.suppress(RecollectError):
        acts[verb]()
    newest = memory.operations(limit=1)[0][0].operation
    return newest if newest != before else None


def everything(memory: Memory) -> dict[str, Any]:
    """Every note that was ever made, by uid; what an undo leaves deleted was not there before."""
    return {row["uid"]: row for row in memory.export(states=STATES)}


def _check(memory: Memory, steps: list[tuple[str, int, int]]) -> None:
    memory.add("in the beginning there was tea")
    seen = set(everything(memory))
    for verb, pick, other in steps:
        before = everything(memory)
        operation = act(memory, verb, pick, other)
        after = everything(memory)
        assert seen <= set(after), "a note was lost"
        seen = set(after)
        if operation is None:
            assert after == before
            continue
        memory.undo(operation)
        undone = everything(memory)
        assert {uid: row for uid, row in undone.items() if uid in before} == before
        assert all(undone[uid]["state"] == "deleted" for uid in undone if uid not in before)
        memory.undo()  # the undo, so that the sequence goes on
        again = everything(memory)
        assert {uid: row["state"] for uid, row in again.items()} == {uid: row["state"] for uid, row in after.items()}
    assert sound(memory)


@settings(max_examples=30, deadline=None, suppress_health_check=NOISY)
@given(steps=STEPS)
def test_no_sequence_loses_a_note_or_breaks_undo_on_sqlite(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("beliefs")
    with opened(str(folder / "memory.db"), folder, Ticking()) as memory:
        _check(memory, steps)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=NOISY)
@given(steps=STEPS)
def test_no_sequence_loses_a_note_or_breaks_undo_on_postgresql(
    databases: Any, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    with opened(databases.empty(), tmp_path_factory.mktemp("beliefs"), Ticking()) as memory:
        _check(memory, steps)


# -- doors -------------------------------------------------------------------------------------------------------------


def test_the_command_line_decides_a_contradiction(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.add("Ana works at Acme")
    shell.add("Ana left Acme for Globex")
    (row,) = shell("contradictions", "--json").json["contradictions"]
    assert (row["older"]["id"], row["newer"]["id"], row["was"], row["now"]) == (1, 2, "Acme", "Globex")
    assert shell("supersede", "1", "2").out == "#2 supersedes #1: Ana left Acme for Globex\n"
    assert shell("contradictions").out == "no contradictions found\n"
    assert shell("supersede", "1", "2").code == 4
    assert "2 notes as before" in shell("undo").out
    done = shell("supersede", "1", "Ana", "works", "at", "Initech", "--json").json
    assert (done["old"]["state"], done["new"]["title"]) == ("superseded", "Ana works at Initech")
    assert shell("contradict", "3", "--times", "2", "--by", "2").out == "#3 has a confidence of 0.8\n"
    assert shell("reinforce", "3").out == "#3 has a confidence of 0.9\n"


def test_the_command_line_says_when_something_is_true(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.add("Ana lived in Rome", "--valid-from", "2019-05-01", "--valid-to", "2023-08-01")
    assert "true until: 2023-08-01" in shell("get", "1").out
    assert "Ana lived in Rome" in shell("search", "where did Ana live", "--as-of", "2020").out
    assert "nothing found" in shell("search", "where did Ana live", "--as-of", "2024").out
    assert shell("update", "1", "--valid-to", "never").code == 0
    assert "Ana lived in Rome" in shell("search", "where did Ana live", "--as-of", "2024").out
    wrong = shell("add", "x", "--valid-from", "2023-01-01", "--valid-to", "2022-01-01")
    assert (wrong.code, "over before it begins" in wrong.err) == (2, True)


def test_the_command_line_merges_and_gathers(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for text in ("Ana painted the fence green", "The garden fence needs paint", "Green paint for the fence is out"):
        shell.add(text)
    shell.add("Lunch is at noon every day")
    shell.add("Lunch is at noon, every day")
    assert "nothing changed: --merge merges them" in shell("duplicates").out
    assert "merged; 1 note hidden" in shell("duplicates", "--merge").out
    assert "would be made from #1, #2, #3" in shell("consolidate", "--older-than", "0", "--dry-run").out
    done = shell("consolidate", "--older-than", "0", "--hide-sources", "--json").json
    assert (done["hidden"], done["gathered"][0]["sources"]) == (3, [1, 2, 3])
    assert shell("consolidate", "--sessions").out == "nothing to gather\n"


def test_the_profile_for_beliefs_keeps_what_is_known_true(tmp_path: Path) -> None:
    import test_mcp

    with Memory(tmp_path / "memory.db", space="here", settings=load_settings(home=tmp_path, embedder="none")) as memory:
        memory.add("I use vim")
        memory.add("I switched from vim to helix")

        def call(tool: str, **arguments: Any) -> Any:
            return test_mcp.call(memory, tool, arguments, profile="beliefs").structured_content

        (row,) = call("memory_contradictions", id=2)["contradictions"]
        assert (row["older"], row["newer"]) == (1, 2)
        assert call("memory_supersede", old=1, new=2)["new"] == 2
        done = call("memory_supersede", old=2, new="I use emacs")
        assert memory.get(done["new"]).origin == "agent"
        assert call("memory_contradict", id=done["new"])["confidence"] == 0.9
        assert call("memory_reinforce", id=done["new"])["confidence"] == 0.95
        assert call("memory_duplicates")["groups"] == []
        assert call("memory_consolidate", dry_run=True)["gathered"] == 0
        hits = call("memory_search", query="use", as_of="now", mode="keyword")["hits"]
        assert [hit["id"] for hit in hits] == [done["new"]]
