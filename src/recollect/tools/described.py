"""The tools that can be called now, found by what is said about them. In memory only: built anew from the live tools.

    static = cosine of the request with the mean of the tool's views + keyword evidence

as `rank` scores notes, so that the scale is the same. A tool whose vector is still owed gets the cosine that tools with
its keyword evidence usually have.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from recollect.tools.wording import tool_terms
from recollect.tools.words import Floats, Words
from recollect.types import Tool

Key = tuple[str, str]  # server, name
USUAL_COSINE = (0.16, 0.3)  # of a tool without a vector: at no keyword evidence, and what evidence of 1 adds


class Described:
    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self.tools: tuple[Tool, ...] = tuple(tools)
        self.number: dict[Key, int] = {(tool.server, tool.name): at for at, tool in enumerate(self.tools)}
        self._words = Words()
        for tool in self.tools:
            self._words.add(tool_terms(tool))
        self.vectors: Any = None  # float32 rows in the order of the tools; zeros where one is owed
        self._has = np.zeros(len(self.tools), dtype=bool)

    def owed(self) -> list[int]:
        return [int(at) for at in np.flatnonzero(~self._has)]

    def give(self, at: int, vector: Any) -> None:
        if self.vectors is None:
            self.vectors = np.zeros((len(self.tools), len(vector)), dtype=np.float32)
        self.vectors[at] = vector
        self._has[at] = True

    def take_over(self, before: "Described") -> None:
        """Vectors of tools that have not changed since `before`."""
        for at, tool in enumerate(self.tools):
            old = before.number.get((tool.server, tool.name))
            if old is not None and before._has[old] and before.tools[old] == tool:
                self.give(at, before.vectors[old])

    def keyword(self, terms: Sequence[str]) -> Floats:
        return self._words.evidence(terms)

    def cosines(self, vector: Any, keyword: Floats) -> Floats:
        """0 for all where there is no vector of the request."""
        if vector is None:
            return np.zeros(len(self.tools))
        guess: Floats = USUAL_COSINE[0] + USUAL_COSINE[1] * np.minimum(keyword, 1.0)
        if self.vectors is None:
            return guess
        return np.where(self._has, self.vectors @ vector, guess)
