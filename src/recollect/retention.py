"""How memories fade, how use strengthens them, and which tier that earns them: pure formulas and a plan from them.

Retention is what is left of a note's strength, 0 to 1. It decides between near equals in a search and moves notes
between tiers; it never removes one. What is pinned does not fade. After a clock that went back nothing is younger than
new.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from recollect.types import Tier
from recollect.values import value

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
# By preset, what is lost each hour: half in 30 days, or a tenth in the first hour; "off" forgets nothing.
RATES = {"days": math.log(2) / (30 * 24), "seed": 0.1, "off": 0.0}
SPACING = 0.5  # each access slows the fading by half of the first rate
LESSON = 0.2  # of what is missing to full strength; an access brings it back
FADED = 0.1  # below this little is left
LEAST_RETENTION = 0.7
LEAST_ACCESSES = 2
LEAST_CONFIDENCE = 0.3
_MANY = 3.0  # the logarithm of so many accesses that more add nothing: 19


class Used(NamedTuple):
    """A note and its use, as the tiers see it; one that was never read counts from its creation."""

    id: int
    space: int
    uid: str
    tier: str
    state: str
    confidence: float
    importance: int
    pinned: int
    accesses: int
    used_ms: int
    strength: float


@value
class Move:
    """A note that shall change its tier, and why."""

    id: int
    space: int
    uid: str
    to: Tier
    why: str
    retention: float
    worth: float


def retention(strength: float, idle_ms: int, accesses: int, rate: float, pinned: bool = False) -> float:
    """What is left after a time without use: R = S * exp(-hours * rate / (1 + 0.5 * accesses))."""
    if pinned:
        return 1.0
    return strength * math.exp(-max(0, idle_ms) / HOUR_MS * rate / (1 + SPACING * accesses))


def strengthened(left: float) -> float:
    """The strength that an access leaves behind: 0.5 becomes 0.6."""
    return left + LESSON * (1 - left)


def familiar(accesses: int) -> float:
    """How well known a note is by its use, 0 to 1; the first times count most."""
    return min(1.0, math.log(accesses + 1) / _MANY)


def standing(left: float, accesses: int) -> float:
    """What use makes of a note in a search, 0 to 1: 0 for one that was never read, whatever its age."""
    return left * familiar(accesses)


def worth(left: float, accesses: int, idle_ms: int, importance: int, pinned: bool = False) -> float:
    """How much a note matters by itself, 0 to 1: what is left of it, its use, how fresh it is, what its writer said."""
    if pinned:
        return 1.0
    fresh = math.exp(-max(0, idle_ms) / DAY_MS / 7)
    return 0.4 * left + 0.3 * familiar(accesses) + 0.2 * fresh + 0.1 * importance / 10


def moves(notes: Iterable[Used], now_ms: int, rate: float) -> list[Move]:
    """Who is promoted and who is demoted, the most worthy first. What is doubted is not promoted, so nothing goes to
    and fro."""
    found = [move for note in notes if (move := _move(note, now_ms, rate)) is not None]
    return sorted(found, key=lambda move: (-move.worth, move.id))


def _move(note: Used, now_ms: int, rate: float) -> Move | None:
    idle_ms = now_ms - note.used_ms
    left = retention(note.strength, idle_ms, note.accesses, rate, bool(note.pinned))
    to, why = _verdict(note, left)
    if to is None:
        return None
    value_ = worth(left, note.accesses, idle_ms, note.importance, bool(note.pinned))
    return Move(note.id, note.space, note.uid, to, why, round(left, 4), round(value_, 4))


def _verdict(note: Used, left: float) -> tuple[Tier | None, str]:
    doubted = note.confidence < LEAST_CONFIDENCE
    if note.tier == "semantic" and note.state == "superseded":
        return "episodic", "superseded"
    if note.tier == "semantic" and note.state == "live" and doubted:
        return "episodic", f"confidence {note.confidence:.2f}"
    kept = left >= LEAST_RETENTION and note.accesses >= LEAST_ACCESSES
    if note.tier == "episodic" and note.state == "live" and kept and not doubted:
        return "semantic", f"read {note.accesses} times, {left:.0%} retained"
    return None, ""
