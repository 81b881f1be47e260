"""Where a text may be cut without tearing apart what a reader sees as one character.

A practical subset of Unicode's grapheme clusters: marks, joiners, variation selectors, skin tones, flags, Hangul jamo
and surrogate pairs stay with what they belong to. A cluster longer than 64 characters is cut all the same.
"""

import unicodedata

_LONGEST = 64


def border(text: str, at: int) -> int:
    """The nearest place at or before `at` where `text` may be cut, but never 0 unless `at` is: a cut makes progress."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    place = at
    while place > max(0, at - _LONGEST):
        if not _joined(text, place):
            return place
        place -= 1
    return at


def _joined(text: str, at: int) -> bool:
    left, right = text[at - 1], text[at]
    if right < "\x80":
        return left == "\r" and right == "\n"
    if left == "\u200d" or right == "\u200d" or _extends(right):
        return True
    if _is_flag_half(left) and _is_flag_half(right):
        return _flag_halves_before(text, at) % 2 == 1
    return "\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff"


def _extends(char: str) -> bool:
    return (
        unicodedata.category(char)[0] == "M"
        or "\u1160" <= char <= "\u11ff"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    start = at
    while start > max(0, at - _LONGEST) and _is_flag_half(text[start - 1]):
        start -= 1
    return at - start
