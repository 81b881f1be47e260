"""Words for times: what they mean, in which zone, and what is refused."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.timewords import Clock, end_of, last_of, span_of, start_of
from shell import Shell

NOW = datetime(2026, 11, 15, 14, 30, tzinfo=UTC)  # a Sunday


def ms(text: str, zone: Any = UTC) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def clock(zone: Any = UTC) -> Clock:
    return Clock(round(NOW.timestamp() * 1000), zone)


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("2026-01-31", "2026-01-31", "2026-02-01"),
        ("2026-01-31T10:00", "2026-01-31T10:00", "2026-01-31T10:00"),
        ("2026-01-31T10:00+02:00", "2026-01-31T08:00", "2026-01-31T08:00"),
        ("2026-03", "2026-03-01", "2026-04-01"),
        ("in 2025", "2025-01-01", "2026-01-01"),
        ("12h", "2026-11-15T02:30", "2026-11-15T02:30"),
        ("2w", "2026-11-01T14:30", "2026-11-01T14:30"),
        ("yesterday", "2026-11-14", "2026-11-15"),
        ("the day before yesterday", "2026-11-13", "2026-11-14"),
        ("last Tuesday", "2026-11-10", "2026-11-11"),
        ("on Friday", "2026-11-13", "2026-11-14"),
        ("Sunday", "2026-11-15", "2026-11-16"),
        ("last Sunday", "2026-11-08", "2026-11-09"),
        ("last friday evening", "2026-11-13T18:00", "2026-11-14"),
        ("this morning", "2026-11-15T05:00", "2026-11-15T12:00"),
        ("last night", "2026-11-14T18:00", "2026-11-15T05:00"),
        ("3 weeks ago", "2026-10-25", "2026-10-26"),
        ("a couple of weeks ago", "2026-11-01", "2026-11-02"),
        ("a month ago", "2026-10-15", "2026-10-16"),
        ("5 hours ago", "2026-11-15T09:30", "2026-11-15T10:30"),
        ("the past 3 days", "2026-11-12", "2026-11-15T14:30"),
        ("last week", "2026-11-02", "2026-11-09"),
        ("this month", "2026-11-01", "2026-12-01"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("last November", "2025-11-01", "2025-12-01"),
        ("March 2024", "2024-03-01", "2024-04-01"),
        ("March 5th", "2026-03-05", "2026-03-06"),
        ("the 5th of December", "2025-12-05", "2025-12-06"),
        ("before last Tuesday", None, "2026-11-10"),
        ("until yesterday", None, "2026-11-15"),
        ("after March", "2026-04-01", None),
        ("since March", "2026-03-01", None),
        ("before the release", None, "2026-06-01T12:00"),
        ("after our release", "2026-06-01T12:00", None),
    ],
)
def test_words_mean_a_span(words: str, start: str | None, end: str | None) -> None:
    found = span_of(words, clock(), lambda what: ms("2026-06-01T12:00") if what == "release" else None)
    assert (found.start_ms, found.end_ms) == tuple(None if at is None else ms(at) for at in (start, end))


def test_days_begin_and_end_in_the_zone_that_is_given() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert span_of("yesterday", clock(tokyo)).start_ms == ms("2026-11-14", tokyo)
    late = Clock(ms("2026-11-15T20:00"), tokyo)  # there it is the 16th already
    assert span_of("yesterday", late).start_ms == ms("2026-11-15", tokyo)
    assert span_of("2026-01-31T10:00", late).start_ms == ms("2026-01-31T10:00", tokyo)


def test_a_day_has_23_hours_when_clocks_go_forward() -> None:
    zoneinfo = pytest.importorskip("zoneinfo")
    try:
        berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    except zoneinfo.ZoneInfoNotFoundError:
        pytest.skip("this machine has no time zones")
    day = span_of("2026-03-29", clock(berlin))
    assert day.start_ms is not None and day.end_ms is not None
    assert day.end_ms - day.start_ms == 23 * 3_600_000


@pytest.mark.parametrize(
    "words",
    ["", " ", "soon", "2026-13-40", "2026-02-30", "31 february", "in the merry month", "99999999w", "before the flood",
     "-1d", "tomorrowish", "9999999 years ago", "last", "a", "9999 years ago"],
)  # fmt: skip
def test_what_is_not_understood_is_an_error_with_examples(words: str) -> None:
    with pytest.raises(InvalidInput) as told:
        span_of(words, clock(), lambda _: None)
    assert "last Tuesday" in told.value.hint


@given(st.text(max_size=40))
def test_any_text_is_a_span_or_an_error(words: str) -> None:
    try:
        found = span_of(words, clock(), lambda _: None)
    except InvalidInput:
        return
    assert found.start_ms is not None or found.end_ms is not None


def test_each_filter_takes_its_side() -> None:
    now = clock()
    assert start_of("yesterday", now) == ms("2026-11-14")
    assert end_of("yesterday", now) == ms("2026-11-15")
    assert last_of("yesterday", now) == ms("2026-11-15") - 1
    assert last_of("this month", now) == now.now_ms  # it is not over yet
    assert last_of("30d", now) == ms("2026-10-16T14:30")
    assert last_of("before last Tuesday", now) == ms("2026-11-10") - 1
    assert end_of("since March", now) == last_of("since March", now) == now.now_ms
    with pytest.raises(InvalidInput, match="no beginning"):
        start_of("before last Tuesday", now)


# -- against what is remembered ----------------------------------------------------------------------------------------


def test_before_an_event_is_before_the_newest_note_that_names_it(tmp_path: Path) -> None:
    now = [ms("2026-01-10")]
    with Memory(tmp_path / "memory.db", space="here", clock=lambda: now[0]) as memory:
        for day, text in (
            ("2026-01-10", "Release 1 went out"), ("2026-02-10", "The queue runs on Redis"),
            ("2026-03-10", "Release 2 went out"), ("2026-04-10", "The queue runs on Kafka"),
        ):  # fmt: skip
            now[0] = ms(day)
            memory.add(text)
        now[0] = ms("2026-05-01")
        early = memory.search("queue", mode="keyword", until="before the release")
        assert [hit.title for hit in early] == ["The queue runs on Redis"]
        assert "'release' was taken to be note 3" in early.notices[0] or "note 3" in early.notices[0]
        late = memory.search("queue", mode="keyword", since="after the release")
        assert [hit.title for hit in late] == ["The queue runs on Kafka"]
        assert len(memory.list(since="in February", until="in March")) == 2
        assert [note.title for note in memory.list(as_of="in January")] == ["Release 1 went out"]
        assert memory.get(1, as_of="in March").title == "Release 1 went out"
        with pytest.raises(InvalidInput, match="says when 'the flood' was"):
            memory.search("queue", until="before the flood")
        with pytest.raises(InvalidInput, match="not words"):
            memory.search("queue", since=5)


def test_the_command_line_takes_words_for_times(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.add("We chose tea")
    assert "We chose tea" in shell("list", "--since", "yesterday").out
    assert shell("list", "--until", "yesterday").out == "no notes here\n"
    assert "We chose tea" in shell("search", "tea", "--since", "this year", "--as-of", "today").out
    assert "nothing found" in shell("search", "tea", "--as-of", "last year").out
    wrong = shell("search", "tea", "--since", "the other day")
    assert (wrong.code, "for example: 2026-01-31" in wrong.err) == (2, True)
