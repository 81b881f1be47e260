"""Our terms as PostgreSQL's text search types, spelled out by us: the server's parser and dictionaries see nothing."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

_LAST_POSITION = 16383  # a tsvector holds no higher one
_MOST_PLACES = 64  # of one term: ranking saturates long before
_CONTEXT_WEIGHT = 0.5  # neighbours' words count half of a chunk's own when candidates are drawn
_LENGTH = 0.75  # how far a chunk's length counts against it


def lexemes(terms: str, context_terms: str) -> str:
    """A tsvector literal: terms carry weight A, context terms D; a context place comes after all of the terms."""
    places: dict[str, list[str]] = {}
    position = 0
    for words, weight in ((terms, "A"), (context_terms, "")):
        for word in words.split():
            position = min(position + 1, _LAST_POSITION)
            known = places.setdefault(word, [])
            if len(known) < _MOST_PLACES:
                known.append(f"{position}{weight}")
    return " ".join(f"{_quoted(word)}:{','.join(known)}" for word, known in places.items())


def tsquery(terms: Iterable[str], weight: str = "") -> str:
    """Any of the terms; with a weight only where they carry it."""
    return " | ".join(_quoted(term) + (f":{weight}" if weight else "") for term in terms)


def _quoted(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def rank_sql(frequencies: Mapping[str, int], total: int, average_terms: float) -> tuple[str, list[Any]]:
    """The order in which candidates are drawn: rare terms first, repeated ones more, long chunks less.

    `ts_rank` of a single term saturates with its count, as BM25's does; the rarity and the length are ours. A term
    that stands in the context alone has no frequency of its own and counts as rare.
    """
    parts, values = [], list[Any]()
    for term, count in frequencies.items():
        rarity = math.log(1 + (total - count + 0.5) / (count + 0.5))
        parts.append("?::float8 * ts_rank(?::float4[], c.lexemes, ?::tsquery)")
        values += [rarity, [_CONTEXT_WEIGHT, 0.0, 0.0, 1.0], tsquery([term])]
    length = f"({1 - _LENGTH} + {_LENGTH} * c.term_count / ?::float8)"
    return f"({' + '.join(parts)}) / {length}", [*values, max(average_terms, 1.0)]
