"""Words for times: "last Tuesday", "in March", "3 weeks ago", "before the release". Pure; the clock and the zone are
arguments, and so is whoever knows when something happened.

A word means a span, from its first millisecond to the first after it: `since` takes the beginning, `until` and
`as_of` the end. A month or day without a year is the latest one that has begun. What is not understood is an error
with examples, never a guess.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, tzinfo
from typing import NoReturn

from recollect.errors import InvalidInput
from recollect.rank.asking import DAYS, NUMBERS
from recollect.values import value

EXAMPLES = (
    "2026-01-31, 2026-01-31T10:00, 12h, 30d, 2w, yesterday, last Tuesday, 3 weeks ago, in March, last month, "
    "this morning, before the release"
)
Find = Callable[[str], int | None]

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MINUTES = {"m": 1, "h": 60, "d": 1440, "w": 10_080, "y": 525_600}
_PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 29)}
_MONTH = "(" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS) + r"|sept)\.?"
_DAY = "(" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in DAYS) + "|tues|thur|thurs|wednes)"
_PART = "(" + "|".join(_PARTS) + ")"
_COUNT = r"(\d{1,4}|" + "|".join(NUMBERS) + ")"
_UNIT = "(minute|hour|day|week|month|year)s?"

_SPAN = re.compile(r"(\d{1,6})(m|h|d|w|y)")
_ISO_MONTH = re.compile(r"(\d{4})-(\d\d)")
_YEAR = re.compile(r"(?:in |the year )*((?:19|20)\d\d)")
_EDGE = re.compile(r"(before|until|till|up to|after|since|from|following) (.+)")
_AGO = re.compile(rf"(?:(?:about|around|a) )?{_COUNT}(?: of)? {_UNIT} (?:ago|back|earlier)")
_LAST_FEW = re.compile(rf"(?:in |over |within )?(?:the )?(?:last|past|previous) {_COUNT}(?: of)? {_UNIT}")
_UNIT_OF = re.compile(r"(?:the )?(this|last|past|previous) (week|month|year)")
_WEEKDAY = re.compile(rf"(?:on )?(?:(last|this|past) )?{_DAY}(?: {_PART})?")
_NEAR_DAY = re.compile(rf"(today|yesterday|the day before yesterday|day before yesterday|this|last)(?: {_PART})?")
_MONTH_DAY = re.compile(rf"(?:on )?(?:the )?{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?")
_DAY_MONTH = re.compile(rf"(?:on )?(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? (\d{{4}}))?")
_IN_MONTH = re.compile(rf"(?:in |during )?(?:(last|this) )?{_MONTH}(?: (?:of )?(\d{{4}}))?")


@value
class Span:
    """From `start_ms` up to, not including, `end_ms`; an open side is None."""

    start_ms: int | None
    end_ms: int | None


@value
class Clock:
    """Now, and the zone in which days begin and end; None is the zone of this machine."""

    now_ms: int
    zone: tzinfo | None = None

    @property
    def today(self) -> date:
        return datetime.fromtimestamp(self.now_ms / 1000, self.zone).date()

    def at(self, day: date, hours: float = 0.0) -> int:
        """A time of day on the wall, as the zone has it on that day."""
        wall = datetime.combine(day, time(), self.zone) + timedelta(hours=hours)
        return round(wall.timestamp() * 1000)

    def days(self, first: date, after: date) -> Span:
        return Span(self.at(first), self.at(after))


def span_of(text: str, clock: Clock, find: Find | None = None) -> Span:
    """The span that words mean. `find` says when something happened that the words name, or None."""
    words = " ".join(text.casefold().replace("’", "'").split())
    edge = _EDGE.fullmatch(words)
    try:
        known = _known(words, clock)
        if known is not None:
            return known
        if edge is not None:
            return _beside(edge[1], _known(edge[2], clock) or _happened(edge[2], text, find))
    except (ValueError, OverflowError, OSError):
        _refuse(text)
    return _refuse(text)


def start_of(text: str, clock: Clock, find: Find | None = None) -> int:
    """For `since`."""
    span = span_of(text, clock, find)
    if span.start_ms is None:
        raise InvalidInput(f"{text[:60]!r} has no beginning", hint="give it as `until`, or say `after …`")
    return span.start_ms


def end_of(text: str, clock: Clock, find: Find | None = None) -> int:
    """For `until`; what has no end lasts until now."""
    span = span_of(text, clock, find)
    return clock.now_ms if span.end_ms is None else span.end_ms


def last_of(text: str, clock: Clock, find: Find | None = None) -> int:
    """For `as_of`: the last moment of it, or now if it is not over yet; an instant is itself."""
    span = span_of(text, clock, find)
    if span.end_ms is None:
        return clock.now_ms
    if span.start_ms == span.end_ms:
        return span.end_ms
    begun = span.start_ms is None or span.start_ms <= clock.now_ms
    return min(span.end_ms - 1, clock.now_ms) if begun else span.end_ms - 1


def _refuse(text: str) -> NoReturn:
    raise InvalidInput(f"{text[:60]!r} is no time that we understand", hint=f"for example: {EXAMPLES}")


def _known(words: str, clock: Clock) -> Span | None:
    readers = (_instant, _calendar, _ago, _units, _weekday, _near_day, _month_day, _month)
    return next((found for read in readers if (found := read(words, clock)) is not None), None)


def _beside(side: str, span: Span) -> Span:
    if side in ("before",):
        return Span(None, span.start_ms)
    if side in ("until", "till", "up to"):
        return Span(None, span.end_ms)
    if side in ("since", "from"):
        return Span(span.start_ms, None)
    return Span(span.end_ms, None)


def _happened(what: str, text: str, find: Find | None) -> Span:
    """An event is an instant: whatever bears the words, the newest of all."""
    at_ms = find(re.sub(r"^(?:the|a|an|our|my) ", "", what)) if find is not None else None
    if at_ms is None:
        raise InvalidInput(
            f"nothing that is remembered says when {what[:60]!r} was, so {text[:60]!r} is no time",
            hint=f"for example: {EXAMPLES}",
        )
    return Span(at_ms, at_ms)


def _instant(words: str, clock: Clock) -> Span | None:
    """`now`, `30d`, or a date with a time."""
    span = _SPAN.fullmatch(words)
    if span is not None:
        at = clock.now_ms - int(span[1]) * _MINUTES[span[2]] * 60_000
        return Span(at, at)
    if words in ("now", "right now", "just now"):
        return Span(clock.now_ms, clock.now_ms)
    if len(words) > 10 and words[:4].isdigit() and words[4:5] == "-":
        then = datetime.fromisoformat(words.upper())
        at = round((then if then.tzinfo is not None else then.replace(tzinfo=clock.zone)).timestamp() * 1000)
        return Span(at, at)
    return None


def _calendar(words: str, clock: Clock) -> Span | None:
    """2026-01-31, 2026-01, 2026."""
    if year := _YEAR.fullmatch(words):
        return clock.days(date(int(year[1]), 1, 1), date(int(year[1]) + 1, 1, 1))
    if month := _ISO_MONTH.fullmatch(words):
        return _whole_month(clock, int(month[1]), int(month[2]))
    if (len(words) == 10 and words[:4].isdigit() and words[4] == "-") or (len(words) == 8 and words.isdigit()):
        day = date.fromisoformat(words)
        return clock.days(day, day + timedelta(days=1))
    return None


def _ago(words: str, clock: Clock) -> Span | None:
    """A day so long ago; for hours and minutes that hour or minute."""
    if ago := _AGO.fullmatch(words):
        count, unit = _number(ago[1]), ago[2]
        if unit in ("minute", "hour"):
            size = 60_000 if unit == "minute" else 3_600_000
            at = clock.now_ms - count * size
            return Span(at, at + size)
        day = _back(clock.today, count, unit)
        return clock.days(day, day + timedelta(days=1))
    if few := _LAST_FEW.fullmatch(words):
        count, unit = _number(few[1]), few[2]
        if unit in ("minute", "hour"):
            return Span(clock.now_ms - count * (60_000 if unit == "minute" else 3_600_000), clock.now_ms)
        return Span(clock.at(_back(clock.today, count, unit)), clock.now_ms)
    return None


def _units(words: str, clock: Clock) -> Span | None:
    """This or the last whole week (from Monday), month or year."""
    found = _UNIT_OF.fullmatch(words)
    if found is None:
        return None
    back = 0 if found[1] == "this" else 1
    today = clock.today
    if found[2] == "week":
        first = today - timedelta(days=today.weekday() + 7 * back)
        return clock.days(first, first + timedelta(days=7))
    if found[2] == "year":
        return clock.days(date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1))
    first = _back(today.replace(day=1), back, "month")
    return _whole_month(clock, first.year, first.month)


def _weekday(words: str, clock: Clock) -> Span | None:
    found = _WEEKDAY.fullmatch(words)
    if found is None:
        return None
    wanted = next(at for at, name in enumerate(DAYS) if name.startswith(found[2][:3]))
    back = (clock.today.weekday() - wanted) % 7
    if not back and found[1] in ("last", "past"):
        back = 7
    return _part(clock, clock.today - timedelta(days=back), found[3])


def _near_day(words: str, clock: Clock) -> Span | None:
    if words == "tonight":
        words = "this night"
    found = _NEAR_DAY.fullmatch(words)
    if found is None or (found[1] in ("this", "last") and found[2] is None):
        return None
    back = {"today": 0, "this": 0, "yesterday": 1, "last": 1}.get(found[1], 2)
    return _part(clock, clock.today - timedelta(days=back), found[2])


def _part(clock: Clock, day: date, part: str | None) -> Span:
    if part is None:
        return clock.days(day, day + timedelta(days=1))
    first, after = _PARTS[part]
    return Span(clock.at(day, first), clock.at(day, after))


def _month_day(words: str, clock: Clock) -> Span | None:
    if found := _MONTH_DAY.fullmatch(words):
        month, day, year = found[1], found[2], found[3]
    elif found := _DAY_MONTH.fullmatch(words):
        day, month, year = found[1], found[2], found[3]
    else:
        return None
    number = _month_number(month)
    when = date(int(year) if year else clock.today.year, number, int(day))
    if not year and when > clock.today:
        when = when.replace(year=when.year - 1)
    return clock.days(when, when + timedelta(days=1))


def _month(words: str, clock: Clock) -> Span | None:
    found = _IN_MONTH.fullmatch(words)
    if found is None:
        return None
    number, today = _month_number(found[2]), clock.today
    year = int(found[3]) if found[3] else today.year - (number > today.month)
    if found[1] == "last" and (year, number) == (today.year, today.month):
        year -= 1
    return _whole_month(clock, year, number)


def _whole_month(clock: Clock, year: int, month: int) -> Span:
    return clock.days(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1))


def _month_number(name: str) -> int:
    return next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _back(day: date, count: int, unit: str) -> date:
    """The day so many units earlier; the 31st becomes the last day of a shorter month."""
    if unit in ("day", "week"):
        return day - timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 - count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    last = (date(year + (month + 1) // 12, (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month + 1, min(day.day, last))


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS[word]
