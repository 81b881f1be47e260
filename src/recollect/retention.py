"""How memories fade and how use strengthens them: pure formulas. No clock, no database.

Retention is what is left of a note's strength, 0 to 1. It decides between near equals in a search and moves notes
between tiers; it never removes one. What is pinned does not fade. After a clock that went back nothing is younger than
new.
"""

import math

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
# By preset, what is lost each hour: half in 30 days, or a tenth in the first hour; "off" forgets nothing.
RATES = {"days": math.log(2) / (30 * 24), "seed": 0.1, "off": 0.0}
SPACING = 0.5  # each access slows the fading by half of the first rate
LESSON = 0.2  # of what is missing to full strength; an access brings it back
FADED = 0.1  # below this little is left
_MANY = 3.0  # the logarithm of so many accesses that more add nothing: about 20


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
