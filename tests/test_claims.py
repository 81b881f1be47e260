"""What notes claim: candidates for contradiction with reasons, and notes that say the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.claims import between, claims, contradictions, frame
from recollect.likeness import by_terms, groups, overlap
from recollect.testing.room import note
from recollect.types import Note

CONTRADICT = [
    ("Ana works at Acme", "Ana works at Globex", "Acme", "Globex"),
    ("Ana works at Acme as an engineer", "Ana left Acme for Globex", "Acme", "Globex"),
    ("Ana Lopez works at Acme", "Ana joined Globex in March", "Acme", "Globex"),
    ("uses vim", "switched to helix", "vim", "helix"),
    ("I use vim for everything", "I switched from vim to helix", "vim", "helix"),
    ("lives in Berlin", "moved to Lisbon", "Berlin", "Lisbon"),
    ("The user lives in Berlin.", "I moved to Lisbon last month", "Berlin", "Lisbon"),
    ("We chose PostgreSQL for billing", "We chose SQLite for billing", "PostgreSQL", "SQLite"),
    ("The user prefers dark mode", "The user now prefers light mode", "dark mode", "light mode"),
    ("Ana's manager is Bob", "Ana's manager is Carla", "Bob", "Carla"),
    ("Bob is Ana's manager", "Carla is Ana's manager", "Bob", "Carla"),
    ("The staging server listens on port 8080", "The staging server listens on port 9090", "8080", "9090"),
    ("Deploys happen on Thursdays", "Deploys happen on Mondays", "Thursdays", "Mondays"),
    ("The deadline is 3 May", "The deadline is 10 June", "3 May", "10 June"),
    ("I like coffee", "I no longer like coffee", "coffee", "coffee"),
    ("I hate cilantro", "I love cilantro", "cilantro", "cilantro"),
    ("I work at Acme as an engineer", "I left Acme, now I work at Globex", "Acme", "Globex"),
    ("My dentist is Dr. Wolff", "My dentist is Dr. Nunes, near the river", "Dr. Wolff", "Dr. Nunes"),
    ("I am on a vegetarian diet.", "I am on a vegan diet.", "vegetarian", "vegan"),
    ("He uses zsh as his shell", "He switched to fish as his shell", "zsh", "fish"),
]
AGREE = [
    ("Ana works at Acme", "Bob works at Globex"),
    ("Ana works at Acme", "Ana works at Acme in the billing team"),
    ("We chose PostgreSQL for billing", "We chose Redis for caching"),
    ("We use Python", "We use Docker"),
    ("The user prefers dark mode", "The user prefers tabs"),
    ("Ana lives in Rome", "Ana works at Acme"),
    ("I prefer short answers", "I prefer light mode now"),
    ("I prefer long answers with every detail", "I prefer light mode in every program"),
    ("The API is slow", "The weather is nice"),
    ("Does Ana work at Acme?", "Ana works at Globex"),
    ("The database backup runs nightly at 2am", "The database backup is run every night at 2am"),
]


def made(text: str, number: int, **fields: Any) -> Note:
    return note(text, id=number, space="here", created_ms=1000 * number, **fields)


@pytest.mark.parametrize(("older", "newer", "was", "now"), CONTRADICT)
def test_another_value_of_the_same_is_a_candidate(older: str, newer: str, was: str, now: str) -> None:
    (found,) = contradictions([made(newer, 2), made(older, 1)])
    assert (found.older.content, found.newer.content) == (older, newer)
    assert (found.was, found.now) == (was, now)
    assert found.score >= 0.5 and found.reasons


@pytest.mark.parametrize(("one", "other"), AGREE)
def test_what_can_both_be_true_is_none(one: str, other: str) -> None:
    assert contradictions([made(one, 1), made(other, 2)]) == []


def test_of_a_chain_each_note_is_paired_once_with_the_surest() -> None:
    texts = ["I live in Berlin", "I moved from Berlin to Lisbon", "I moved from Lisbon to Porto"]
    found = contradictions([made(text, at) for at, text in enumerate(texts, 1)])
    assert [(one.older.id, one.newer.id) for one in found] == [(2, 3), (1, 2)]


def test_events_spaces_and_times_keep_notes_apart() -> None:
    trips = [made(f"Ana moved to {city}", at, kind="event") for at, city in enumerate(("Rome", "Paris"), 1)]
    assert contradictions(trips) == []
    elsewhere = note("Ana works at Globex", id=2, space="there", created_ms=5)
    assert contradictions([made("Ana works at Acme", 1), elsewhere]) == []
    own = note("Ana works at Globex", id=3, space="user", created_ms=5000)  # what the user said holds in every project
    assert len(contradictions([made("Ana works at Acme", 1), own])) == 1
    later_told = made("Ana works at Initech", 3, valid_from_ms=1)  # told last, true first
    (found,) = contradictions([made("Ana works at Acme", 1), later_told])
    assert (found.older.id, found.newer.id) == (3, 1)


def test_what_is_not_trusted_weighs_less_and_is_told() -> None:
    plain = contradictions([made("Ana works at Acme", 1), made("Ana works at Globex", 2)])[0]
    found = contradictions([made("Ana works at Acme", 1), made("Ana works at Globex", 2, origin="web")])[0]
    assert found.score == pytest.approx(plain.score - 0.2)
    assert found.reasons[-1] == "the newer one is not trusted: it comes from web"


def test_what_both_are_about_is_told_without_the_old_value() -> None:
    assert frame("Ana works at Acme as an engineer", "Ana left Acme for Globex") == "works engineer"
    assert frame("The port is 8080", "The port is 9090") == ""
    assert frame("Tea is hot", "The pot is full") == ""


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    found = between(one, other)
    assert found is None or 0 <= found.score <= 1
    assert len(claims(one)) <= 6


def test_many_notes_are_compared_quickly() -> None:
    notes = [made(f"The server number{at} of region{at % 50} listens on port {at}", at) for at in range(1, 2000)]
    assert isinstance(contradictions(notes), list)


# -- the same in other words -------------------------------------------------------------------------------------------


def test_term_overlap_finds_every_pair_that_is_alike_enough() -> None:
    words = ["tea", "milk", "sugar", "cup", "pot", "leaf", "water", "kettle"]
    sets = {at: frozenset(words[at % 3 : at % 3 + 3 + at % 5]) for at in range(40)}
    for least in (0.5, 0.75, 1.0):
        found = {(one, other) for one, other, _ in by_terms(sets, least)}
        assert found == {
            (one, other) for one in sets for other in sets if one < other and overlap(sets[one], sets[other]) >= least
        }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The API limit is 100 requests per minute", "The API limit is 200 requests per minute"),
        ("Do commit the lock file to the repository", "Do not commit the lock file to the repository"),
        ("Ana works at Acme in Berlin", "Ana works at Globex in Berlin"),
    ],
)
def test_another_value_a_number_or_a_not_keeps_notes_apart(one: str, other: str) -> None:
    notes = [made(one, 1), made(other, 2)]
    assert groups(notes, [(1, 2, 0.99)], "words") == []


def test_the_richest_is_kept_and_a_chain_does_not_become_one() -> None:
    texts = ("run with make", "tests run with make", "all quick tests run with make")
    notes = [made(text, at) for at, text in enumerate(texts, 1)]
    (group,) = groups(notes, [(1, 2, 0.9), (2, 3, 0.95)], "words")
    assert (group.keep.id, [other.id for other in group.others]) == (3, [2])
    web = made("all tests run with make test please", 4, origin="web")
    assert groups([notes[2], web], [(3, 4, 0.99)], "words") == []
