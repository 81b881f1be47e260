"""Cut a text into searchable pieces that fit a model's input.

Invariants: a piece is a slice of the text; every character is in at least one piece; no piece is estimated above the
limit, nor counted above what the model reads where that is given; neighbours share at most `overlap` tokens. Cuts fall
on line ends where they can, then on sentence ends, then between words, and inside a word only when it fills a piece by
itself.

The estimate is quick and right for English; hashes, code and other languages can need three times as much. So a piece
that the model would not read to its end is cut again, in proportion.

Any change in where the cuts fall must raise `CHUNKER_VERSION`; stores re-chunk what an older version cut.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import accumulate

from recollect.text.graphemes import border
from recollect.values import value

CHUNKER_VERSION = 2

Span = tuple[int, int]  # start and end of a slice

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


@value
class ModelInput:
    """What a model reads at once: the most tokens of its own, the way to count them, and what it reads first."""

    most: int
    count: Callable[[str], int]
    lead: str = ""

    def after(self, lead: str) -> "ModelInput":
        return replace(self, lead=lead)

    def share(self, text: str) -> float:
        """How much of the text the model reads; 1 is all of it."""
        # A token is at least a character, or one of the four that a character may be taken apart into.
        visible = len(self.lead) + len(text) - text.count(" ")
        if visible * (1 if text.isascii() and self.lead.isascii() else 4) <= self.most:
            return 1.0
        room = self.most - (self.count(self.lead) if self.lead else 0)
        return min(1.0, max(room, 1) / max(self.count(text), 1))


def estimate_tokens(text: str) -> int:
    """About how many tokens a model needs: one per CJK-like character, else a quarter of the length, or one a word."""
    if text.isascii():
        by_length = -(-len(text) // 4)
        # There are at most as many words as gaps and one, and it takes counting them only where these are many.
        if text.isprintable() and text.count(" ") < by_length:
            return by_length
        return max(by_length, _words(text))
    dense = len(_dense().findall(text))
    return dense + max(-(-(len(text) - dense) // 4), _words(_dense().sub(" ", text)))


def chunk(text: str, max_tokens: int = 256, overlap: int = 50, model: ModelInput | None = None) -> list[Piece]:
    """Pieces of `text` in order; a text that fits is one piece, as it is. An empty text has no piece."""
    if not text:
        return []
    spans = _spans(text, max(1, max_tokens), overlap)
    if model is not None and (len(spans) > 1 or model.share(text) < 1):
        spans = _without_inner(_fitted(text, spans, max(1, max_tokens), overlap, model))
    if spans == [(0, len(text))]:
        return [Piece(text, 1, _line_count(text))]
    line_starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return [
        Piece(text[first:last], bisect_right(line_starts, first), bisect_right(line_starts, last - 1))
        for first, last in spans
    ]


def _fitted(text: str, spans: list[Span], limit: int, overlap: int, model: ModelInput) -> list[Span]:
    """The spans, those that the model would not read whole cut into smaller ones."""
    fitted: list[Span] = []
    for first, last in spans:
        piece = text[first:last]
        share = model.share(piece)
        if share == 1 or limit == 1:
            fitted.append((first, last))
            continue
        smaller = max(1, min(limit - 1, int(estimate_tokens(piece) * share)))
        shared = overlap * smaller // limit
        inner = _fitted(piece, _spans(piece, smaller, shared), smaller, shared, model)
        fitted += [(first + start, first + end) for start, end in inner]
    return fitted


def _without_inner(spans: list[Span]) -> list[Span]:
    """Without spans that others cover: where two overlapping ones were cut again, their parts may lie in each other."""
    kept: list[Span] = []
    for span in spans:
        if kept and span[1] <= kept[-1][1]:
            continue
        while kept and span[0] <= kept[-1][0]:
            kept.pop()
        kept.append(span)
    return kept


def _spans(text: str, limit: int, overlap: int) -> list[Span]:
    """The whole text if it is estimated to fit, else slices of whole units."""
    if len(text) <= limit or estimate_tokens(text) <= limit:  # no estimate is above the number of characters
        return [(0, len(text))]
    return _slices(text, _units(text, limit), limit, min(overlap, limit // 2))


def _slices(text: str, units: list[int], limit: int, overlap: int) -> list[Span]:
    """Slices made of as many whole units as fit. `units` are the places where units end."""
    starts = [0, *units[:-1]]
    costs = [estimate_tokens(text[start:end]) for start, end in zip(starts, units, strict=True)]
    total = [0, *accumulate(costs)]
    spans: list[Span] = []
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
