"""What a note is worth apart from the query, gently, and an answer that does not say one thing five times.

A boost is added to the evidence before it becomes a score; each is at most a few hundredths of a cosine, so that it
decides between near equals and never lifts what does not match. All of them are neutral for a plain note.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from recollect.values import value

_DAY_MS = 86_400_000
Item = TypeVar("Item")


@value
class Boosts:
    """The most that each may add. 0 turns one off."""

    recency: float = 0.02
    half_life_days: float = 30.0
    importance: float = 0.03
    standing: float = 0.03

    def of(self, age_ms: int, importance: int, standing: float) -> float:
        return self.recent(age_ms) + self.important(importance) + self.known(standing)

    def recent(self, age_ms: int) -> float:
        if self.half_life_days <= 0:
            return 0.0
        return self.recency * math.exp2(-max(0, age_ms) / (_DAY_MS * self.half_life_days))

    def important(self, importance: int) -> float:
        """5 of 10 is neutral."""
        return self.importance * (min(10, max(1, importance)) - 5) / 5

    def known(self, standing: float) -> float:
        """What was never read has no standing and loses nothing; what was read often gains, until it fades."""
        return self.standing * min(1.0, max(0.0, standing))


OFF = Boosts(recency=0.0, importance=0.0, standing=0.0)


def diversify(
    items: Sequence[Item], score: Callable[[Item], float], alike: Callable[[Item, Item], float], strength: float,
    limit: int,
) -> list[Item]:  # fmt: skip
    """The first `limit` of `items` (best first), each next one by its score less `strength` times its likeness (0..1)
    to those already taken. The first stays first, and a larger limit only adds."""
    if strength <= 0:
        return list(items[:limit])
    rest = list(items)
    taken: list[Item] = []
    penalty = [0.0] * len(rest)
    while rest and len(taken) < limit:
        at = max(range(len(rest)), key=lambda i: (score(rest[i]) * (1 - strength * penalty[i]), -i))
        best = rest.pop(at)
        penalty.pop(at)
        taken.append(best)
        penalty = [max(old, alike(best, item)) for old, item in zip(penalty, rest, strict=True)]
    return taken
