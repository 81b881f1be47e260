"""The policies are pure: whatever they are given, what must stay stays, and the order is the order."""

from hypothesis import given
from hypothesis import strategies as st

from recollect.policies import (
    DAY_MS,
    TARGET,
    Bounds,
    Hidden,
    Weight,
    believed_now,
    evictions,
    is_active,
    is_protected,
    purges,
)

NOW = 1_800_000_000_000
WEIGHTS = st.lists(
    st.builds(
        Weight, st.just(0), st.sampled_from((1, 2)), st.integers(0, 500), st.sampled_from(("fact", "decision")),
        st.integers(0, 1), st.sampled_from((None, "s", "t")), st.integers(0, 50), st.none() | st.integers(0, 50),
    ),
    max_size=40,
).map(lambda rows: [row._replace(id=number) for number, row in enumerate(rows, 1)])  # fmt: skip


def weight(id: int, *, bytes: int = 10, accessed: int | None = None, created: int = 0, **fields: object) -> Weight:
    return Weight(id, 1, bytes, "fact", 0, None, created, accessed)._replace(**fields)  # type: ignore[arg-type]


def chosen(weights: list[Weight], notes: int = 1000, size: int = 10**9, force: bool = False) -> list[int]:
    return [row.id for row in evictions(weights, Bounds(notes, size), {(1, "s")}, force).chosen]


@given(WEIGHTS, st.integers(1, 60), st.integers(1, 20_000), st.booleans())
def test_an_eviction_ends_within_the_target_or_evicts_nothing(
    weights: list[Weight], notes: int, size: int, force: bool
) -> None:
    active = {(1, "s")}
    plan = evictions(weights, Bounds(notes, size), active, force)
    gone = {row.id for row in plan.chosen}
    kept = [row for row in weights if row.id not in gone]
    assert not any(is_protected(row, active) for row in plan.chosen)
    if gone:
        assert len(kept) <= notes * TARGET
        assert sum(row.bytes for row in kept) <= size * TARGET
        last = max((row.accessed_ms if row.accessed_ms is not None else row.created_ms) for row in plan.chosen)
        free = [row for row in kept if not is_protected(row, active)]
        assert all((row.accessed_ms if row.accessed_ms is not None else row.created_ms) >= last for row in free)
    elif not plan.stop and not force:
        within = len(weights) <= notes and sum(row.bytes for row in weights) <= size
        assert within or (
            len(weights) <= int(notes * TARGET) and sum(row.bytes for row in weights) <= int(size * TARGET)
        )
    assert plan.freed_bytes == sum(row.bytes for row in weights if row.id in gone)


def test_at_the_limit_nothing_goes_and_one_beyond_it_everything_down_to_85_percent() -> None:
    assert chosen([weight(n) for n in range(100)], notes=100) == []
    assert chosen([weight(n) for n in range(101)], notes=100) == list(range(16))
    assert chosen([weight(n) for n in range(101)], size=1000) == list(range(16))


def test_force_evicts_between_the_target_and_the_limit_and_never_below_the_target() -> None:
    assert chosen([weight(n) for n in range(90)], notes=100, force=True) == list(range(5))
    assert chosen([weight(n) for n in range(80)], notes=100, force=True) == []


def test_the_least_recently_accessed_go_first_then_the_oldest() -> None:
    rows = [
        weight(1, created=50), weight(2, created=10, accessed=60), weight(3, created=40),
        weight(4, created=1, accessed=40), *(weight(n, created=90) for n in range(5, 11)),
    ]  # fmt: skip
    assert chosen(rows, notes=8)[:4] == [4, 3, 1, 2]


def test_decisions_pinned_notes_and_active_sessions_stay() -> None:
    rows = [
        weight(1, kind="decision"), weight(2, pinned=1), weight(3, session="s"), weight(4, session="s", space=2),
        *(weight(n, created=9) for n in range(5, 21)),
    ]  # fmt: skip
    assert chosen(rows, notes=19)[0] == 4
    assert not {1, 2, 3} & set(chosen(rows, notes=5))


def test_protected_notes_beyond_the_target_stop_the_eviction_with_the_figures() -> None:
    rows = [weight(n, pinned=1) for n in range(9)] + [weight(n) for n in range(9, 20)]
    plan = evictions(rows, Bounds(10, 10**9), set())
    assert not plan.chosen
    assert "9 notes (90 bytes)" in plan.stop
    assert "8 notes" in plan.stop


def test_hidden_notes_go_after_their_grace_or_when_they_are_too_many() -> None:
    rows = [Hidden(f"n{n}", 1, 10, since_ms=n * 10) for n in range(5)]
    assert [row.uid for row in purges(rows, before_ms=15, cap_bytes=1000)] == ["n0", "n1"]
    assert [row.uid for row in purges(rows, before_ms=-1, cap_bytes=30)] == ["n0", "n1"]
    assert purges(rows, before_ms=-1, cap_bytes=50) == []


def test_a_session_is_active_for_a_day_unless_it_ended() -> None:
    assert is_active(NOW - DAY_MS + 1, None, NOW)
    assert not is_active(NOW - DAY_MS, None, NOW)
    assert not is_active(NOW, NOW, NOW)


def test_a_clock_that_jumped_ahead_is_believed_for_one_day_beyond_what_was_written() -> None:
    yesterday = NOW - DAY_MS
    assert believed_now(NOW, yesterday) == NOW
    assert believed_now(NOW + 3650 * DAY_MS, NOW) == NOW + DAY_MS
    assert believed_now(NOW - 3650 * DAY_MS, None) == NOW - 3650 * DAY_MS
    assert believed_now(NOW, None) == NOW
