"""Keyword evidence for many short texts at once: the formula of `rank.keyword`, over postings in numpy."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from recollect.rank.keyword import K1, B, idf, telling

WORTH = 0.148  # of a full match; a tool's few words say more about it than a note's many about what is in it
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Words:
    """Texts as counted terms. A text gets the next number when it is added; there is no removing, only a new start."""

    def __init__(self) -> None:
        self._texts: dict[str, list[int]] = {}
        self._often: dict[str, list[int]] = {}
        self._ready: dict[str, tuple[Any, Any]] = {}  # the two lists of a term as arrays, made when asked for
        self._lengths: list[int] = []
        self._slack: Floats | None = None

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, terms: Sequence[str]) -> None:
        number = len(self._lengths)
        for term, often in Counter(terms).items():
            self._texts.setdefault(term, []).append(number)
            self._often.setdefault(term, []).append(often)
            self._ready.pop(term, None)
        self._lengths.append(len(terms))
        self._slack = None

    def frequency(self, term: str) -> int:
        return len(self._texts.get(term, ()))

    def idf(self, term: str) -> float:
        return idf(len(self), self.frequency(term))

    def evidence(self, query: Sequence[str], weigh: Callable[[str], float] | None = None) -> Floats:
        """For each text the share of the query's weight that it matches, times what the query can prove at all."""
        weights = {term: (weigh or self.idf)(term) for term in query}
        found = np.zeros(len(self))
        whole = sum(weights.values())
        if whole <= 0 or not self._lengths:
            return found
        slack = self._slack_of_each()
        for term, weight in weights.items():
            if term in self._texts:
                texts, often = self._arrays(term)
                found[texts] += weight * often / (often + slack[texts])
        return found * (telling(_only(weights), WORTH) / whole)

    def _arrays(self, term: str) -> tuple[Any, Any]:
        if term not in self._ready:
            self._ready[term] = (np.array(self._texts[term]), np.array(self._often[term], dtype=np.float64))
        return self._ready[term]

    def _slack_of_each(self) -> Floats:
        if self._slack is None:
            lengths = np.array(self._lengths, dtype=np.float64)
            average = float(lengths.mean()) or 1.0
            self._slack = K1 * (1 - B + B * lengths / average)
        return self._slack


def _only(weights: Mapping[str, float]) -> Mapping[str, float]:
    return {term: weight for term, weight in weights.items() if weight > 0}
