"""How memories fade and what use earns them: the formulas, with the numbers that were asked for."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.maturity import Used, moves
from recollect.retention import (
    DAY_MS,
    FADED,
    HOUR_MS,
    RATES,
    familiar,
    retention,
    standing,
    strengthened,
    worth,
)

NOW = 1_000 * DAY_MS


def used(**fields: Any) -> Used:
    plain = Used(1, 1, "a", "episodic", "live", 1.0, 5, 0, 2, NOW, 1.0)
    return plain._replace(**fields)


def test_with_the_seeds_rate_a_note_that_nobody_reads_is_at_a_tenth_after_23_03_hours() -> None:
    hours = math.log(1 / FADED) / RATES["seed"]
    assert hours == pytest.approx(23.03, abs=0.005)
    assert retention(1.0, round(hours * HOUR_MS), 0, RATES["seed"]) == pytest.approx(FADED, abs=1e-6)
    assert retention(1.0, HOUR_MS, 0, RATES["seed"]) == pytest.approx(math.exp(-0.1))


def test_by_default_half_is_left_after_thirty_days_and_every_access_slows_the_fading() -> None:
    assert retention(1.0, 30 * DAY_MS, 0, RATES["days"]) == pytest.approx(0.5)
    assert retention(1.0, 60 * DAY_MS, 2, RATES["days"]) == pytest.approx(0.5)
    assert retention(0.6, 30 * DAY_MS, 0, RATES["days"]) == pytest.approx(0.3)
    assert retention(0.8, 1000 * DAY_MS, 0, RATES["off"]) == 0.8


def test_an_access_adds_a_fifth_of_what_is_missing() -> None:
    assert strengthened(0.5) == pytest.approx(0.6)
    assert strengthened(0.0) == pytest.approx(0.2)
    assert strengthened(1.0) == pytest.approx(1.0)


def test_what_is_pinned_does_not_fade_and_a_clock_that_went_back_makes_nothing_younger() -> None:
    assert retention(0.1, 1000 * DAY_MS, 0, RATES["seed"], pinned=True) == 1.0
    assert retention(0.7, -5 * DAY_MS, 0, RATES["seed"]) == 0.7


def test_worth_weighs_strength_use_freshness_and_importance_four_three_two_one() -> None:
    assert worth(1.0, 0, 10**15, 0) == pytest.approx(0.4)
    assert worth(0.0, 10**6, 10**15, 0) == pytest.approx(0.3)
    assert worth(0.0, 0, 0, 0) == pytest.approx(0.2)
    assert worth(0.0, 0, 10**15, 10) == pytest.approx(0.1)
    assert worth(0.5, 1, 7 * DAY_MS, 5) == pytest.approx(0.2 + 0.1 * math.log(2) + 0.2 / math.e + 0.05)
    assert worth(0.0, 0, 10**15, 1, pinned=True) == 1.0
    assert familiar(19) < 1.0
    assert familiar(20) == 1.0


@given(
    strength=st.floats(0, 1), idle=st.integers(-(10**13), 10**13), accesses=st.integers(0, 10**6),
    rate=st.sampled_from(sorted(RATES.values())), importance=st.integers(1, 10), pinned=st.booleans(),
)  # fmt: skip
def test_every_measure_stays_between_nothing_and_all(
    strength: float, idle: int, accesses: int, rate: float, importance: int, pinned: bool
) -> None:
    left = retention(strength, idle, accesses, rate, pinned)
    assert 0 <= left <= 1
    assert 0 <= worth(left, accesses, idle, importance, pinned) <= 1 + 1e-9
    assert 0 <= standing(left, accesses) <= 1
    assert left <= strengthened(left) <= 1 + 1e-9
    assert standing(left, 0) == 0
    assert retention(strength, idle, accesses + 1, rate, pinned) >= left


# -- the plan ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("note", "to"),
    [
        (used(), "semantic"),
        (used(accesses=1), None),
        (used(strength=0.71), "semantic"),
        (used(strength=0.69), None),
        (used(strength=0.2, pinned=1), "semantic"),
        (used(used_ms=NOW - 30 * DAY_MS), "semantic"),
        (used(used_ms=NOW - 32 * DAY_MS), None),
        (used(used_ms=NOW - 32 * DAY_MS, accesses=3), "semantic"),
        (used(confidence=0.29), None),
        (used(state="superseded"), None),
        (used(tier="semantic"), None),
        (used(tier="semantic", used_ms=0, accesses=0), None),
        (used(tier="semantic", confidence=0.3), None),
        (used(tier="semantic", confidence=0.29), "episodic"),
        (used(tier="semantic", confidence=0.29, pinned=1), "episodic"),
        (used(tier="semantic", state="superseded"), "episodic"),
        (used(tier="scratchpad"), None),
    ],
)
def test_who_moves(note: Used, to: str | None) -> None:
    assert [move.to for move in moves([note], NOW, RATES["days"])] == ([to] if to else [])


def test_the_plan_begins_with_what_is_worth_most_and_says_why() -> None:
    notes = [used(id=1, importance=2), used(id=2, importance=9), used(id=3, tier="semantic", state="superseded")]
    plan = moves(notes, NOW, RATES["days"])
    assert [move.id for move in plan] == [2, 3, 1]
    assert [move.why for move in plan] == ["read 2 times, 100% retained", "superseded", "read 2 times, 100% retained"]


@given(
    st.builds(
        used, tier=st.sampled_from(["episodic", "semantic"]), state=st.sampled_from(["live", "superseded"]),
        confidence=st.floats(0, 1), strength=st.floats(0, 1), accesses=st.integers(0, 9), pinned=st.integers(0, 1),
        used_ms=st.integers(0, NOW),
    )
)  # fmt: skip
def test_nothing_goes_to_and_fro(note: Used) -> None:
    """Whatever the rule moves, it leaves where it is the next time."""
    for move in moves([note], NOW, RATES["days"]):
        assert moves([note._replace(tier=move.to)], NOW, RATES["days"]) == []
