"""What a question says besides its words: whom it names, when it means, and whether the model can read it."""

import re
from collections.abc import Iterable

from recollect.rank.keyword import Statistics
from recollect.values import value

# Who speaks in a session with an agent; the words are too common to be anyone's name.
ROLES = frozenset(("user", "assistant", "system", "tool", "human", "agent", "bot", "ai", "model", "developer"))
# Names that are words too: in lower case they are taken for the word.
WORDS_TOO = frozenset((
    "art", "bill", "chance", "chase", "dawn", "drew", "faith", "grace", "guy", "hope", "jack", "joy", "mark", "may",
    "nick", "pat", "rich", "rob", "rose", "sue", "summer", "will",
))  # fmt: skip
LEAST_TRUST = 0.1

_WORD = re.compile(r"\w+")
_NAMED = re.compile(r"(\w+)(?:['’]s\b)?")
_DAY_MS = 86_400_000
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "couple": 2, "two": 2, "few": 3, "three": 3, "four": 4, "several": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_VAGUE = ("couple", "few", "several")
_UNITS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNT = r"(\d{1,3}|" + "|".join(NUMBERS) + r")"
_AGO = re.compile(rf"\b(?:(?:a|the)\s+)?{_COUNT}(?:\s+of)?\s+(day|week|month|year)s?\s+(?:ago|back|earlier)\b", re.I)
_PAST = re.compile(rf"\b(?:past|last|previous)\s+(?:{_COUNT}(?:\s+of)?\s+)?(day|week|month|year)s?\b", re.I)
_WEEKDAY = re.compile(rf"\b(?:last|on|this past)\s+({'|'.join(DAYS)})\b", re.I)
_YESTERDAY = re.compile(r"\byesterday\b", re.I)
_TODAY = re.compile(r"\btoday\b", re.I)


@value
class Window:
    start_ms: int
    end_ms: int

    def holds(self, at_ms: int) -> bool:
        return self.start_ms <= at_ms < self.end_ms


@value
class Asking:
    """A query as ranking sees it. `names` are the participants it names, `trust` how far cosines may be believed."""

    terms: tuple[str, ...]
    statistics: Statistics
    names: frozenset[str] = frozenset()
    window: Window | None = None
    trust: float = 1.0
    now_ms: int = 0


def participants(speakers: Iterable[str]) -> frozenset[str]:
    """The names, in lower case, by which a question may call those who spoke."""
    words = {word for speaker in speakers for word in _WORD.findall(speaker.casefold())}
    return frozenset(word for word in words - ROLES if len(word) > 1)


def without_names(query: str, names: frozenset[str]) -> tuple[str, frozenset[str]]:
    """The text to embed, and whom it names. A model takes a name for the topic, and every turn would be near."""
    found: set[str] = set()

    def drop(match: re.Match[str]) -> str:
        name = match[1].casefold()
        if name not in names or (name in WORDS_TOO and match[1].islower()):
            return match[0]
        found.add(name)
        return ""

    rest = " ".join(_NAMED.sub(drop, query).split()) if names else query
    return (rest if len(_WORD.findall(rest)) > 1 else query), frozenset(found)


def trust_of(query: str, latin_only: bool) -> float:
    """How far to believe a model that knows Latin letters alone: by the share of them in the query."""
    letters = [char for char in query if char.isalpha()]
    if not latin_only or not letters:
        return 1.0
    return LEAST_TRUST + (1 - LEAST_TRUST) * sum(char < "\u0250" for char in letters) / len(letters)


def window_of(query: str, now_ms: int) -> Window | None:
    """The time a question means by "two weeks ago", "last Friday", "yesterday", "in the past month"; whole days."""
    today = now_ms - now_ms % _DAY_MS

    def days(first: float, last: float) -> Window:
        return Window(today - round(first) * _DAY_MS, today - round(last) * _DAY_MS + _DAY_MS)

    if ago := _AGO.search(query):
        back, unit = _number(ago[1]) * _UNITS[ago[2].lower()], _UNITS[ago[2].lower()]
        # People round: a week or a month ago is not a day, and the further back, the less exact.
        slack = max(unit / 5 if unit > 1 else 0, back / 8, back / 2 if ago[1].lower() in _VAGUE else 0)
        return days(back + slack, back - slack)
    if _YESTERDAY.search(query):
        return days(1, 1)
    if weekday := _WEEKDAY.search(query):
        back = (today // _DAY_MS + 3 - DAYS.index(weekday[1].lower())) % 7 or 7  # day 0 was a Thursday
        return days(back, back)
    if past := _PAST.search(query):
        return days((_number(past[1]) if past[1] else 1) * _UNITS[past[2].lower()] * 1.1, 0)
    return days(0, 0) if _TODAY.search(query) else None


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS[word.lower()]
