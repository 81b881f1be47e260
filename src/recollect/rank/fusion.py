"""Fusion by name: reciprocal ranks, and a weighted sum of the two lanes' own scores.

Both see only the lanes. They are here for comparison and for those who ask for them; `order.rank` is the default.
"""

import math
from collections.abc import Mapping

from recollect.values import value

FUSIONS = ("default", "rrf", "weighted")
RRF_K = 60
WEIGHTS = (0.7, 0.3)  # vector, keyword


@value
class Lanes:
    """One owner in both lanes: ranks count from 1, scores are 0 to 1; None where a lane did not find it."""

    keyword_rank: int | None = None
    vector_rank: int | None = None
    keyword_score: float = 0.0
    vector_score: float = 0.0


def logistic(value: float) -> float:
    """0 to 1 without reaching either, whatever the value."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


def ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """Places from 1; equal scores share the better place, so that order of arrival decides nothing."""
    places: dict[int, int] = {}
    place = 0
    before: float | None = None
    for seen, (key, score) in enumerate(sorted(scores.items(), key=lambda pair: -pair[1]), 1):
        if score != before:
            place, before = seen, score
        places[key] = place
    return places


def fuse_rrf(lanes: Lanes, k: int = RRF_K) -> float:
    """The sum of 1 / (k + rank), divided by the most it can be: 1 for what is first in both lanes."""
    return sum((k + 1) / (k + place) for place in (lanes.keyword_rank, lanes.vector_rank) if place is not None) / 2


def fuse_weighted(lanes: Lanes, vector: float = WEIGHTS[0], keyword: float = WEIGHTS[1], one_lane: str = "") -> float:
    """The weighted mean of the lanes' scores; when only `one_lane` ran, its score alone."""
    if one_lane:
        return lanes.keyword_score if one_lane == "keyword" else lanes.vector_score
    whole = vector + keyword
    return (vector * lanes.vector_score + keyword * lanes.keyword_score) / whole if whole > 0 else 0.0
