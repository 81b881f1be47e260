"""Notes that say the same in nearly the same words: pairs by vectors where there are some, else by terms. Pure.

Likeness alone is not enough: "Ana works at Acme" and "Ana works at Globex" are as alike as two sentences can be. So
another value, another number, or a "not" on one side only keeps two notes apart.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from recollect.claims import LEAST_SCORE, between
from recollect.text.tokens import query_terms
from recollect.types import Note
from recollect.values import value

# Ten paraphrases that we wrote have cosines from 0.84 to 0.99 with the bundled model, and share half of their terms or
# more; another number in a sentence has 0.98, which is why likeness alone decides nothing.
LEAST_COSINE = 0.88
LEAST_TERMS_WITH_COSINE = 0.4
LEAST_TERMS = 0.75
LEAST_ORDER = 0.8  # of the words in the same order, where no vector says that two notes mean the same
_BLOCK = 1024
_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
_NOT = re.compile(r"\b(?:not|no|never|n't|without|don't|doesn't|isn't|won't|can't)\b", re.IGNORECASE)

Pair = tuple[int, int, float]


@value
class Duplicates:
    """Notes that say the same: the one to keep and the others with their likeness to it."""

    keep: Note
    others: tuple[Note, ...]
    scores: tuple[float, ...]
    by: str


def groups(notes: Sequence[Note], pairs: Iterable[Pair], by: str) -> list[Duplicates]:
    """Each note in one group at most. Members are like the one that is kept, not only like each other: a chain of
    small differences must not end in one note."""
    known = {note.id: note for note in notes}
    near: dict[int, dict[int, float]] = defaultdict(dict)
    for one, other, score in pairs:
        if one in known and other in known and _same_claim(known[one], known[other]):
            near[one][other] = near[other][one] = score
    taken: set[int] = set()
    found = []
    for note in sorted((known[id] for id in near), key=richness, reverse=True):
        members = {id: score for id, score in near[note.id].items() if id not in taken}
        if note.id in taken or not members:
            continue
        taken |= {note.id, *members}
        others = sorted(members, key=lambda id: (-members[id], id))
        found.append(
            Duplicates(note, tuple(known[id] for id in others), tuple(round(members[id], 4) for id in others), by)
        )
    return sorted(found, key=lambda group: (-max(group.scores), group.keep.id))


def richness(note: Note) -> tuple[bool, int, int, int, int]:
    """What is kept of notes that say the same: pinned, then whichever says more, then the more important, the newer."""
    return note.pinned, len(set(query_terms(note.content))), note.importance, note.created_ms, note.id


def _same_claim(one: Note, other: Note) -> bool:
    if one.space != other.space or one.trusted != other.trusted:
        return False
    numbers = [set(_NUMBER.findall(note.content)) for note in (one, other)]
    if not (numbers[0] <= numbers[1] or numbers[1] <= numbers[0]):
        return False
    if bool(_NOT.search(one.content)) != bool(_NOT.search(other.content)):
        return False
    found = between(one.content, other.content)
    return found is None or found.score < LEAST_SCORE


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0


def in_order(one: Note, other: Note) -> bool:
    """Whether two notes have their words in the same order, too: "paint the fence" is no "fence of paint"."""
    words = [query_terms(note.content, limit=256) for note in (one, other)]
    return SequenceMatcher(None, words[0], words[1], autojunk=False).ratio() >= LEAST_ORDER


def terms_of(notes: Iterable[Note]) -> dict[int, frozenset[str]]:
    return {note.id: frozenset(query_terms(note.content, limit=256)) for note in notes}


def by_terms(terms: Mapping[int, frozenset[str]], least: float = LEAST_TERMS) -> Iterator[Pair]:
    """Every pair whose terms overlap so far. Rare terms first: two sets that are alike must share one of the first few
    of each, so that only those pairs are compared."""
    counts = Counter(term for found in terms.values() for term in found)
    having: dict[str, list[int]] = defaultdict(list)
    for id, found in terms.items():
        rare = sorted(found, key=lambda term: (counts[term], term))
        candidates: set[int] = set()
        for term in rare[: len(rare) - math.ceil(least * len(rare)) + 1]:
            candidates.update(having[term])
            having[term].append(id)
        for other in sorted(candidates):
            score = overlap(found, terms[other])
            if score >= least:
                yield other, id, score


def by_vectors(
    vectors: Sequence[tuple[int, bytes]], terms: Mapping[int, frozenset[str]], least: float = LEAST_COSINE
) -> Iterator[Pair]:
    """Every pair whose vectors are so near and that share words too; block by block, so that memory stays small."""
    import numpy as np

    if not vectors:
        return
    ids = [id for id, _ in vectors]
    matrix: Any = np.frombuffer(b"".join(row for _, row in vectors), dtype="<f4").reshape(len(ids), -1)
    for start in range(0, len(ids), _BLOCK):
        near = matrix[start : start + _BLOCK] @ matrix[start:].T
        for row, column in np.argwhere(near >= least).tolist():
            one, other = ids[start + row], ids[start + column]
            if column > row and overlap(terms[one], terms[other]) >= LEAST_TERMS_WITH_COSINE:
                yield one, other, float(near[row, column])
