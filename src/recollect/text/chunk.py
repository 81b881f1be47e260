"""Cut a text into searchable pieces that fit a model's input.

Invariants: a piece is a slice of the text; every character is in at least one piece; no piece is estimated above the
limit; neighbours share at most `overlap` tokens. Cuts fall on line ends where
they can, then on sentence ends, then between words, and inside a word only when it fills a piece by itself.

Any change in where the cuts fall must raise `CHUNKER_VERSION`; stores re-chunk what an older version cut.
"""

import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate

from recollect.text.graphemes import border
from recollect.values import value

CHUNKER_VERSION = 1

_SENTENCE_END = r"[.!?…]+[\"')\]]*\s+|[。！？]+\s*"
_SPACE_END = r"\s+"


@cache
def _dense() -> re.Pattern[str]:
    """Scripts in which a model spends about one token on each character; compiled when such text first comes."""
    return re.compile(
        "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f"
        "\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U0001f000-\U0003ffff]"
    )


@value
class Piece:
    """A slice of a text and the lines (counted from 1) of its first and last character."""

    text: str
    start_line: int
    end_line: int


def estimate_tokens(text: str) -> int:
    """About how many tokens a model needs: one per CJK-like character, else a quarter of the length, or one a word."""
    if text.isascii():
        return max(-(-len(text) // 4), _words(text))
    dense = len(_dense().findall(text))
    return dense + max(-(-(len(text) - dense) // 4), _words(_dense().sub(" ", text)))


def chunk(text: str, max_tokens: int = 256, overlap: int = 50) -> list[Piece]:
    """Pieces of `text` in order; a text that fits is one piece, as it is. An empty text has no piece."""
    if not text:
        return []
    if estimate_tokens(text) <= max_tokens:
        return [Piece(text, 1, _line_count(text))]
    limit = max(1, max_tokens)
    units = _units(text, limit)
    line_starts = [0, *(found.end() for found in re.finditer("\n", text))]
    pieces: list[Piece] = []
    for first, last in _spans(text, units, limit, min(overlap, limit // 2)):
        lines = bisect_right(line_starts, first), bisect_right(line_starts, last - 1)
        pieces.append(Piece(text[first:last], *lines))
    return pieces


def _spans(text: str, units: list[int], limit: int, overlap: int) -> list[tuple[int, int]]:
    """Slices made of as many whole units as fit. `units` are the places where units end."""
    starts = [0, *units[:-1]]
    costs = [estimate_tokens(text[start:end]) for start, end in zip(starts, units, strict=True)]
    total = [0, *accumulate(costs)]
    spans: list[tuple[int, int]] = []
    first = 0
    while True:
        last = max(first + 1, bisect_right(total, total[first] + limit) - 1)
        spans.append((starts[first], units[last - 1]))
        if last >= len(units):
            return spans
        # Step back over what may be shared, but always begin later than this piece did and end later than it ends.
        again = last
        least = max(total[last] - overlap, total[last + 1] - limit)
        while again - 1 > first and total[again - 1] >= least:
            again -= 1
        first = again


def _units(text: str, limit: int) -> list[int]:
    """Where the smallest parts end that need not be cut: lines, or what over-long lines have to be cut into."""
    ends: list[int] = []
    start = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        ends += [start + end for end in _line_units(line, limit)]
        start += len(line)
    return ends


def _line_units(line: str, limit: int) -> list[int]:
    ends = [len(line)]
    for splitter in (_SENTENCE_END, _SPACE_END):
        if _fits(line, ends, limit):
            return ends
        ends = _split(line, ends, limit, splitter)
    return ends if _fits(line, ends, limit) else _hard(line, ends, limit)


def _fits(line: str, ends: list[int], limit: int) -> bool:
    return all(estimate_tokens(line[a:b]) <= limit for a, b in zip([0, *ends[:-1]], ends, strict=True))


def _split(line: str, ends: list[int], limit: int, splitter: str) -> list[int]:
    out: list[int] = []
    start = 0
    for end in ends:
        if estimate_tokens(line[start:end]) > limit:
            inner = (border(line, found.end()) for found in re.compile(splitter).finditer(line, start, end))
            out += [place for place in inner if start < place < end]
        out.append(end)
        start = end
    return sorted(set(out))


def _hard(line: str, ends: list[int], limit: int) -> list[int]:
    """Cut words that are still too long. So many characters never cost more than `limit`, with or without CJK."""
    out: list[int] = []
    start = 0
    for end in ends:
        if estimate_tokens(line[start:end]) > limit:
            width = limit if _dense().search(line, start, end) else limit * 4
            while end - start > width:
                place = border(line, start + width)
                start = place if place > start else start + width
                out.append(start)
        out.append(end)
        start = end
    return out


def _words(text: str) -> int:
    return len(text.split())


def _line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))
