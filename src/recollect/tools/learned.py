"""What usage taught: past requests, the tools that served them, and how far each pair is trusted.

    alike(past)  = cosine + keyword evidence of the request for the past one
    learned(tool) = the largest over its past requests of (alike - CAUTION - static) * confidence, never below 0
    profile(tool) = the tool's vector drawn towards the mean of the requests that it served

A past request must be more like the new one than the tool's own description is, by CAUTION: requests resemble each
other in ways that have nothing to do with tools. A maximum, so that a tool that is used often does not win by number. A
term weighs by how often requests that share it shared the tool, so that a folder that is in every request counts for
little, and a few observations change little.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from recollect.text.tokens import terms
from recollect.tools.described import Described, Key
from recollect.tools.words import Floats, Words
from recollect.types import Pair

CAUTION = 0.1
MORE_CAUTION = (0.1, 100)  # on top while little was learned; half of it at that many requests
OWN_VECTOR = 2.0  # uses; at that many a tool's vector is half its description, half the requests that it served
TELLING_PRIOR = (0.3, 2)  # how often a shared term means a shared tool, before it was seen, and what that is worth
ARGUMENT_SEEN = 5  # uses of a path's or an address's term before it counts half
NEAREST = 10


class Learned:
    """The pairs in memory. Adding is incremental; removing is a new start from those that stay."""

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self.pairs: dict[str, Pair] = {}
        self._row: dict[str, int] = {}  # of a request
        self._words = Words()
        self._vectors: Any = None
        self._used = Counter[tuple[str, Key]]()  # requests by term and tool
        self._same = Counter[str]()  # ordered pairs of requests that share the term and the tool
        self._owed: dict[str, Pair] = {}
        self._links: tuple[Any, Any, Any] | None = None
        self._profiles: Any = None
        for pair in pairs:
            self.add(pair)

    def __len__(self) -> int:
        return len(self._row)

    def owed(self) -> list[Pair]:
        """Pairs that still lack a vector of the store's model and have the words to make one."""
        return list(self._owed.values())

    def add(self, pair: Pair) -> None:
        """A pair as it is now; one that is known is replaced."""
        known = pair.id in self.pairs
        self.pairs[pair.id] = pair
        row = self._row.get(pair.query)
        if row is None:
            row = self._row[pair.query] = len(self._row)
            self._words.add([] if pair.hashed else terms(pair.query))
        self._put_vector(row, pair)
        if pair.vector or pair.hashed:
            self._owed.pop(pair.id, None)
        else:
            self._owed[pair.id] = pair
        if not known and not pair.hashed:
            self._count(pair)
        self._links = self._profiles = None

    def _put_vector(self, row: int, pair: Pair) -> None:
        if not pair.vector:
            return
        vector = np.frombuffer(pair.vector, dtype="<f8").astype(np.float32)
        if self._vectors is None:
            self._vectors = np.zeros((64, len(vector)), dtype=np.float32)
        if len(vector) != self._vectors.shape[1]:
            return
        if row >= len(self._vectors):
            more = np.zeros((max(row + 1, 2 * len(self._vectors)), self._vectors.shape[1]), dtype=np.float32)
            more[: len(self._vectors)] = self._vectors
            self._vectors = more
        self._vectors[row] = vector

    def _count(self, pair: Pair) -> None:
        for term in set(terms(pair.query)):
            place = (term, (pair.server, pair.tool))
            self._same[term] += 2 * self._used[place]
            self._used[place] += 1

    # -- asking ---------------------------------------------------------------------------------------------------

    def lift(self, static: Floats, alike: Floats, tools: Described) -> Floats:
        """What past requests add to each tool's static evidence."""
        lift = np.zeros(len(static))
        rows, numbers, trust = self._linked(tools)
        if len(rows):
            gain = (alike[rows] - self._caution() - static[numbers]) * trust
            np.maximum.at(lift, numbers, gain)
        return lift

    def alike(self, vector: Any, query: Sequence[str], arguments: Collection[str] = ()) -> Floats:
        """How like the new request each past one is; `arguments` are the terms that say on what, not what to do."""
        if vector is None:
            return self._words.evidence(query)
        return self._words.evidence(query, lambda term: self._telling(term, term in arguments)) + self.cosines(vector)

    def cosines(self, vector: Any) -> Floats:
        rows = len(self._row)
        if vector is None or self._vectors is None or self._vectors.shape[1] != len(vector):
            return np.zeros(rows)
        found = np.zeros(rows)
        have = min(rows, len(self._vectors))
        found[:have] = self._vectors[:have] @ vector
        return found

    def _caution(self) -> float:
        most, half = MORE_CAUTION
        return CAUTION + most * half / (half + len(self._row))

    def _telling(self, term: str, is_argument: bool) -> float:
        prior, worth = TELLING_PRIOR
        seen = self._words.frequency(term)
        share = (self._same[term] + prior * worth) / (seen * (seen - 1) + worth)
        known = seen / (seen + ARGUMENT_SEEN) if is_argument else 1.0
        return self._words.idf(term) * min(1.0, share) * known

    def _linked(self, tools: Described) -> tuple[Any, Any, Any]:
        """Row, tool and trust of every pair whose tool can be called; tools that are away are kept, not offered."""
        if self._links is None:
            found = [
                (self._row[pair.query], number, min(1.5, max(0.0, pair.confidence)))
                for pair in self.pairs.values()
                if (number := tools.number.get((pair.server, pair.tool))) is not None
            ]
            rows, numbers, trust = zip(*found, strict=True) if found else ((), (), ())
            self._links = (np.array(rows, dtype=int), np.array(numbers, dtype=int), np.array(trust, dtype=np.float64))
        return self._links

    def profiles(self, tools: Described) -> Any:
        """The tools' vectors, drawn towards what they were used for; None without vectors."""
        if self._profiles is None and tools.vectors is not None:
            self._profiles = self._drawn(tools)
        return self._profiles

    def _drawn(self, tools: Described) -> Any:
        rows, numbers, trust = self._linked(tools)
        profiles = tools.vectors.copy()
        if not len(rows) or self._vectors is None or self._vectors.shape[1] != profiles.shape[1]:
            return profiles
        have = rows < len(self._vectors)
        rows, numbers, trust = rows[have], numbers[have], trust[have]
        sums = np.zeros(profiles.shape)
        np.add.at(sums, numbers, self._vectors[rows] * trust[:, None])
        often = np.bincount(numbers, weights=trust, minlength=len(profiles))[:, None]
        share = often / (often + OWN_VECTOR)
        return _of_length_one(profiles * (1 - share) + _of_length_one(sums) * share).astype(np.float32)

    def stale(self) -> None:
        """The live tools changed."""
        self._links = self._profiles = None

    def confidence(self, vector: Any) -> float:
        """How well past usage covers a context: the mean score of the nearest ten, times how many there are of ten."""
        if not self._row or vector is None:
            return 0.0
        trust: Mapping[str, float] = _best_trust(self.pairs.values())
        cosines = self.cosines(vector)
        weights = np.array([min(1.0, trust.get(query, 0.0)) for query in self._row])
        scores = sorted((score for score in (cosines * weights).tolist() if score > 0), reverse=True)[:NEAREST]
        return sum(scores) / NEAREST if scores else 0.0


def _best_trust(pairs: Iterable[Pair]) -> dict[str, float]:
    best: dict[str, float] = {}
    for pair in pairs:
        best[pair.query] = max(best.get(pair.query, 0.0), pair.confidence)
    return best


def _of_length_one(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
