"""Feature hashing: a vector from the words of a text alone, without any model.

Each term falls into one of 256 places, by FNV-1a so that every process and platform agrees, with a sign from the same
hash and the weight 1 + ln(count). It finds shared words, not meaning. A text without terms gets the zero vector.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from recollect.text.tokens import TOKENIZER_VERSION, query_terms, terms

if TYPE_CHECKING:
    import numpy as np

DIMS = 256
_ALL = 1 << 20


class HashingEmbedder:
    name = "hashing"
    model = f"fnv1a-{DIMS}-terms{TOKENIZER_VERSION}"
    dims = DIMS
    max_tokens = 8192  # nothing limits it; a longer text only gets vaguer

    def embed(self, texts: Sequence[str]) -> "np.ndarray[Any, np.dtype[np.float32]]":
        import numpy as np

        return np.array([_vector(text) for text in texts], np.float32).reshape(len(texts), DIMS)


def _vector(text: str) -> list[float]:
    vector = [0.0] * DIMS
    counts = Counter(terms(text))
    for term in query_terms(text, limit=_ALL):  # leaves out stop words
        number = fnv1a(term)
        weight = 1 + math.log(max(1, counts[term]))
        vector[number % DIMS] += weight if number >> 8 & 1 else -weight  # FNV mixes its low bits best
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


@lru_cache(maxsize=1 << 15)
def fnv1a(term: str) -> int:
    """The 64-bit FNV-1a hash of the term's UTF-8 bytes."""
    number = 0xCBF29CE484222325
    for byte in term.encode("utf-8", "surrogatepass"):
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return number
