"""The keyword side of a score: which share of what the query asks for a chunk says, weighed by how rare it is.

`bm25` is a share between 0 and 1, so that scores of different queries can be compared; `telling` says how much a
query's words can prove at all. The constants come from a sweep over twenty collections of conversations, prose, tools
and questions in three languages; all of them are flat around these values.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

from recollect.values import value

K1 = 0.7  # low: that a word is there matters more than how often
B = 0.75
WORTH = 0.13
CONTEXT_WEIGHT = 0.7  # a neighbour's word, the speaker's name or the date against a word of the chunk itself
# Small stores know little about which words are rare: without these imagined chunks a single match in a store of
# three notes would count for nothing. Measured: no change of quality from 0 to 1000.
IMAGINED = 1000


@value
class Statistics:
    """Of the searched spaces: how many chunks, their average number of own terms, in how many each term is."""

    total: int
    average_terms: float
    frequencies: Mapping[str, int] = field(default_factory=dict)


def idf(total: int, frequency: int) -> float:
    """How telling a term is; above 0 even for one that is everywhere."""
    frequency = min(frequency, total)
    return math.log(1 + (total + IMAGINED - frequency + 0.5) / (frequency + 0.5))


def telling(weights: Mapping[str, float], worth: float = WORTH) -> float:
    """How much a full match of the query's words is worth beside a cosine of 1; long, rare queries prove more."""
    return worth * math.pow(sum(weights.values()), 0.6)


@value
class Matches:
    """How often each query term is in a chunk, context weighed; how many terms of its own it has; both weighed."""

    often: Mapping[str, float]
    own: int
    length: float


def needles(terms: Sequence[str]) -> dict[str, str]:
    return {term: f" {term} " for term in terms}


def matches(query: Mapping[str, str], terms: str, context: str = "") -> Matches:
    """`query` comes from `needles`. Counting in the joined text is several times quicker than splitting it."""
    often: dict[str, float] = {}
    own, around = f" {terms} ", f" {context} " if context else ""
    for term, needle in query.items():
        if needle in own:
            often[term] = float(_count(own, needle))
        if around and needle in around:
            often[term] = often.get(term, 0.0) + CONTEXT_WEIGHT * _count(around, needle)
    size = _words(terms)
    return Matches(often, size, size + CONTEXT_WEIGHT * _words(context))


def _count(text: str, needle: str) -> int:
    if needle + needle[1:] in text:  # a term next to itself: the two share a space and count as one
        return text.replace(" ", "  ").count(needle)
    return text.count(needle)


def _words(terms: str) -> int:
    return terms.count(" ") + 1 if terms else 0


def term_weights(terms: Sequence[str], statistics: Statistics, found: Sequence[Matches]) -> dict[str, float]:
    """The idf of each query term. A term that is only in contexts has no frequency: the candidates' is taken."""
    seen = Counter(term for one in found for term in one.often)
    return {term: idf(statistics.total, max(statistics.frequencies.get(term, 0), seen[term])) for term in terms}


def bm25(found: Matches, average: float, weights: Mapping[str, float], k1: float = K1, b: float = B) -> float:
    """The share of the query's weight that a chunk matches, 0 to 1; each term saturates with its frequency."""
    whole = sum(weights.values())
    if not found.often or whole <= 0:
        return 0.0
    slack = k1 * (1 - b + b * found.length / average) if average > 0 else k1
    return sum([weights[term] * often / (often + slack) for term, often in found.often.items()]) / whole
