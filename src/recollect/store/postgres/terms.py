"""Our terms as PostgreSQL's text search types, spelled out by us: the server's parser and dictionaries see nothing."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

_LAST_POSITION = 16383  # a tsvector holds no higher one
_MOST_PLACES = 64  # of one term: ranking saturates long before
_WEIGHTS = [0.5, 0.0, 0.0, 1.0]  # of D, C, B and A: neighbours' words count half of a chunk's own
_SATURATION, _LENGTH = 1.2, 0.75  # how soon repeating a term stops helping, how far a chunk's length counts against it


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
    """The order in which candidates are drawn: BM25, as near as the server's own functions come to it.

    `ts_rank` of one term rises with its count n as the sum of 1/i² does, from 0.608 towards 1; turned back it gives
    n within a few hundredths, and 0 where the term is missing. Rarity and length are ours. A term that stands in the
    context alone has no frequency and counts as rare.
    """
    length = f"({_SATURATION * (1 - _LENGTH)} + {_SATURATION * _LENGTH / max(average_terms, 1.0):.9f} * c.term_count)"
    count = "(0.608 / (1.0005 - ts_rank(?::float4[], c.lexemes, ?::tsquery)) - 0.608)"
    parts, values = [], list[Any]()
    for term, found in frequencies.items():
        parts.append(f"?::float8 * (1 - {length} / ({count} + {length}))")
        values += [math.log(1 + (total - found + 0.5) / (found + 0.5)), _WEIGHTS, tsquery([term])]
    return f"({' + '.join(parts)})", values
