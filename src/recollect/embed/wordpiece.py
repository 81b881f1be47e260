"""WordPiece for uncased BERT models, equal to the reference tokenizer id by id.

Text is cleaned, CJK characters stand alone, accents go, letters become small, punctuation splits; each word is then
cut greedily into the longest known pieces. The one allowed difference from the reference is its older Unicode tables:
a few hundred rare characters that it does not know yet.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CLS, SEP, UNK = "[CLS]", "[SEP]", "[UNK]"

_MARKERS = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_SLICE = re.compile(r".{1,4096}\S*", re.DOTALL)
_LONGEST_WORD = 100
_CACHED_WORDS = 20_000
_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class _Cleaning(dict[int, str | None]):
    """A table for str.translate: control characters go, any white space becomes a blank, CJK stands alone."""

    def __missing__(self, point: int) -> str | None:
        char = chr(point)
        kept: str | None = char
        if char in "\t\n\r":
            kept = " "
        elif char in "\0\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
            kept = None
        elif char.isspace():
            kept = " "
        elif any(low <= point <= high for low, high in _CJK):
            kept = f" {char} "
        self[point] = kept
        return kept


class _Splitting(dict[int, str | None]):
    """A table for str.translate, after decomposition: accents go and punctuation stands alone."""

    def __missing__(self, point: int) -> str | None:
        char = chr(point)
        category = unicodedata.category(char)
        kept: str | None = char
        if category == "Mn":
            kept = None
        elif category[0] == "P" or (33 <= point <= 126 and not char.isalnum()):
            kept = f" {char} "
        self[point] = kept
        return kept


_cleaning = _Cleaning()
_splitting = _Splitting()


def split_words(text: str) -> list[str]:
    """Normalised words and single punctuation marks, in order."""
    text = text.translate(_cleaning)
    if text.isascii():
        return text.lower().translate(_splitting).split()
    # Accents go before the case folds, and a capital sigma is always a plain sigma: both as in the reference.
    bare = unicodedata.normalize("NFD", text).translate(_splitting)
    return bare.replace("Σ", "σ").lower().split()


class WordPiece:
    """Turns text into ids of one vocabulary. Safe to share between threads."""

    def __init__(self, vocabulary: list[str]) -> None:
        self._ids = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        self._cls, self._sep, self._unk = (self._ids[marker] for marker in (CLS, SEP, UNK))
        self._words: dict[str, tuple[int, ...]] = {}

    @classmethod
    def from_file(cls, path: Path) -> "WordPiece":
        return cls(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """Ids of [CLS], at most `max_tokens - 2` pieces of the text, and [SEP]."""
        room = max_tokens - 2
        ids = [self._cls]
        for pieces in self._pieces(text):
            ids.extend(pieces)
            if len(ids) > room:
                break
        del ids[room + 1 :]
        ids.append(self._sep)
        return ids

    def count(self, text: str) -> int:
        """How many pieces the text has, without [CLS] and [SEP]."""
        return sum(map(len, self._pieces(text)))

    def _pieces(self, text: str) -> Iterator[tuple[int, ...]]:
        # Slices end at white space, so they tokenise like the whole, and a huge text costs no more than its start.
        for piece in _SLICE.finditer(text):
            for part in _MARKERS.split(piece[0]):
                if _MARKERS.fullmatch(part):
                    yield (self._ids[part],)
                    continue
                for word in split_words(part):
                    yield self._words.get(word) or self._cut(word)

    def _cut(self, word: str) -> tuple[int, ...]:
        ids = (self._unk,) if len(word) > _LONGEST_WORD else self._longest_pieces(word)
        if len(self._words) >= _CACHED_WORDS:
            self._words.clear()
        self._words[word] = ids
        return ids

    def _longest_pieces(self, word: str) -> tuple[int, ...]:
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unk,)
            ids.append(number)
            start = end
        return tuple(ids)


@cache
def bundled() -> WordPiece:
    """The tokenizer of the bundled model, once for a process; it costs milliseconds, the model does not come along."""
    return WordPiece.from_file(Path(__file__).parent / "model" / "vocab.txt")
