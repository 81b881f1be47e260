"""One tokenizer for every engine: text in, index terms out.

Invariant: every term consists of letters, numbers and private-use characters only, already folded, so that SQLite's
plain `unicode61` tokenizer keeps it as exactly one token and leaves it as it is; PostgreSQL gets the same terms. The
same text gives the same terms on every Python: letters younger than Unicode 3.2, whose properties depend on the
interpreter, and combining marks, which `unicode61` would split at, are moved into the private-use planes.

Any change in what `terms` returns must raise `TOKENIZER_VERSION`; stores re-index what an older version tokenised.
"""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

TOKENIZER_VERSION = 1
MAX_TERM = 64
MAX_QUERY_CHARS = 1 << 16
_MEMO_WORDS = 1 << 15
_MEMO_LENGTH = 128  # longer pieces are analysed each time: the memo must not hold megabytes

_FOLDABLE = "0-9A-Za-z\u00aa-\u052f\u1c80-\u1c8f\u1d00-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f\ua640-\ua7ff"
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
# Letters that carry their stroke or ligature without a combining mark, so that decomposition does not find it.
_PLAIN = {
    "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h", "Ħ": "H", "ı": "i",
    "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "TH", "’": "'", "ʼ": "'", "‐": "-", "‑": "-",
}  # fmt: skip

_COUSINS = "\U000f0000-\U0010fffd"  # where marks and young letters are moved to
_HANGUL = "\uac00-\ud7a3\u1100-\u11ff"
_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0eff\u1780-\u17d3\u1000-\u109f\U00020000-\U0003ffff"
)
_WORD = f"(?:[A-Za-z0-9]++|[^\\W_{_UNSPACED}{_HANGUL}]|[\ue000-\uf8ff{_COUSINS}])"
_JOIN = r"(?:_++|_*+(?:::|[-./\\@:'])_*+|(?<=[0-9]),(?=[0-9]{3}(?![0-9])))"
_TAIL = r"(?:\+\+|[#+](?![^\W_]))?"
_HEAD = r"(?:(?<![\w.])\.(?=[A-Za-z]))?"

# Compiled when they are first used: most words are plain and need none of them.
_ASCII_CHUNK = f"{_HEAD}[A-Za-z0-9]++(?:{_JOIN}[A-Za-z0-9]++)*+{_TAIL}"
_GROUP_BORDER = r"[/\\@:]+"
_ASCII_PART = "[A-Za-z0-9]+"
_CAMEL = r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[A-Z][0-9]*|[0-9]+"
_PLURAL_ACRONYM = r"[A-Z]{2,}s"
_CONTRACTION = r"(?i)([A-Za-z]+)'(s|t|re|ve|ll|d|m)"
_SUFFIX_NAMES = {"+": "plus", "#": "sharp"}

_STOP = frozenset("""
    a about all also am an and any are as at be because been but by can cant could did do does doesnt dont for from get
    had has have he her him his how i if in into is isnt it its just me my no not of on or our out she should so some
    than that the their them then there these they this to too up us was we were what when where which who why will
    with would you your
""".split())  # fmt: skip  # noqa: SIM905
_HAN_STOP = frozenset(
    "的了是在和有我你他她它们們这這那个個不也都与與及或等之其于以为為被把对對从從到吗嗎呢吧么麼什怎哪谁誰何"
)


class _Wide(NamedTuple):
    """Patterns for text beyond ASCII. Compiled when the first such text comes: it takes ten milliseconds."""

    chunk: re.Pattern[str]
    part: re.Pattern[str]
    unit: re.Pattern[str]
    hangul: re.Pattern[str]
    marked: re.Pattern[str]


@lru_cache(maxsize=1)
def _wide() -> _Wide:
    word = f"{_HEAD}{_WORD}++(?:{_JOIN}{_WORD}++)*+{_TAIL}"
    return _Wide(
        chunk=re.compile(f"{word}|[{_UNSPACED}][{_UNSPACED}{_COUSINS}]*+|[{_HANGUL}]++|[^\\x00-\\x7f\\s]"),
        part=re.compile(f"{_WORD}+"),
        unit=re.compile(f"[{_UNSPACED}][{_COUSINS}]*"),
        hangul=re.compile(f"[{_HANGUL}]"),
        marked=re.compile(f"([{_FOLDABLE}])[{_MARKS}]+"),
    )


def terms(text: str) -> list[str]:
    """Index terms of `text` in order, with repetitions. Visible text always yields at least one."""
    if text.isascii():  # no chunk reaches over white space, so each word is looked up as it stands
        out = list(chain.from_iterable(map(_memo.__getitem__, text.split())))
    else:
        out = list(chain.from_iterable(_any_terms(piece, False) for piece in _pieces(text)))
    return out or _symbols(text)


class _Memo(dict[str, tuple[str, ...]]):
    """The terms of plain ASCII words seen before, punctuation and all; a long word is analysed each time."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        pieces = [word] if word.isalnum() else re.findall(_ASCII_CHUNK, word)
        found = tuple(chain.from_iterable(_any_terms(piece, False) for piece in pieces))
        if len(word) <= _MEMO_LENGTH:
            if len(self) >= _MEMO_WORDS:
                self.clear()
            self[word] = found
        return found


_memo = _Memo()


def query_terms(text: str, limit: int = 64) -> list[str]:
    """Distinct terms to ask the index for, in order, at most `limit`.

    English stop words are left out unless nothing else remains. Runs of an unspaced script give bigrams and the Han
    characters that may be words, or their one character. Of a query with too many terms those that look most telling
    stay: long terms (a CJK character counts for three letters), terms with digits, terms the query repeats; ties go to
    the earlier one. Only the first 64 Ki characters are read.
    """
    found: list[str] = []
    for piece in _pieces(text[:MAX_QUERY_CHARS]):
        found.extend(_any_terms(piece, True))
    counts = Counter(found or _symbols(text[:MAX_QUERY_CHARS]))
    kept = [term for term in counts if term not in _STOP] or list(counts)
    if len(kept) <= limit:
        return kept
    best = sorted(kept, key=lambda term: -_telling(term, counts[term]))[:limit]
    chosen = set(best)
    return [term for term in kept if term in chosen]


def _pieces(text: str) -> list[str]:
    return re.findall(_ASCII_CHUNK, text) if text.isascii() else _wide().chunk.findall(_folded(text))


def _telling(term: str, count: int) -> int:
    letters = len(term) if term.isascii() else sum(3 if char >= "\u0e00" else 1 for char in term)
    return min(letters, 12) + 3 * any(char.isdigit() for char in term) + 2 * min(count - 1, 3)


def _folded(text: str) -> str:
    """Compatibility form without Latin, Greek and Cyrillic diacritics and invisible characters; case is kept."""
    bare = _wide().marked.sub(r"\1", unicodedata.normalize("NFKD", text))
    whole = unicodedata.normalize("NFKC", bare)
    moved = {ord(char): safe for char in set(whole) if (safe := _safe(char)) != char}
    return whole.translate(moved) if moved else whole


@lru_cache(maxsize=1 << 15)
def _safe(char: str) -> str:
    """`char` as something `unicode61` keeps and every Python reads alike; symbols and spaces stay for the regex."""
    if char in _PLAIN:
        return _PLAIN[char]
    code, category = ord(char), unicodedata.category(char)
    if category in ("Cf", "Cs") or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return ""
    if category[0] not in "LMN":
        return char
    if category[0] != "M" and (_stable(code) or unicodedata.ucd_3_2_0.category(char)[0] in "LN"):
        return char
    folded = char.casefold()
    if folded != char:
        return "".join(_safe(part) for part in folded)
    return chr(0xF0000 + code) if code < 0x1FFFE else char


def _stable(code: int) -> bool:
    return code < 0x530 or 0x3400 <= code <= 0x9FFF or code >= 0x20000


def _any_terms(piece: str, query: bool) -> tuple[str, ...]:
    if piece.isascii():
        return _chunk_terms(piece) if len(piece) <= _MEMO_LENGTH else _chunk_terms.__wrapped__(piece)
    return _run_terms(piece, query) if len(piece) <= _MEMO_LENGTH else _run_terms.__wrapped__(piece, query)


@lru_cache(maxsize=1 << 15)
def _run_terms(piece: str, query: bool) -> tuple[str, ...]:
    """Terms of a piece that is not plain ASCII: an unspaced run, a Hangul word, a symbol or a word of any script."""
    if _wide().unit.match(piece):
        units = [_kept(unit) for unit in _wide().unit.findall(piece)]
        return (*_bigrams(units), *filter(_is_word, units)) if query and len(units) > 1 else (*units, *_bigrams(units))
    if _wide().hangul.match(piece):
        return (piece[:MAX_TERM], *(_bigrams(piece) if len(piece) > 2 else ()))
    if len(piece) == 1 and unicodedata.category(piece)[0] not in "LNC":
        return (_spelled(piece),) if unicodedata.category(piece)[0] == "S" else ()
    if unicodedata.category(piece[0])[0] == "C" and not _wide().part.match(piece):
        return ()
    return _chunk_terms.__wrapped__(piece)


def _is_word(unit: str) -> bool:
    """A Han character may be a word by itself, unlike a kana or a Thai letter; those that every text has are none."""
    return unit not in _HAN_STOP and ("\u3400" <= unit <= "\u9fff" or unit >= "\U00020000")


def _bigrams(units: Iterable[str]) -> list[str]:
    return [left + right for left, right in pairwise(units)]


def _kept(unit: str) -> str:
    """The unit itself, or its spelling where the script's block holds a sign or a hole there."""
    letter = unicodedata.category(unit[0])[0] in "LN" or ord(unit[0]) >= 0x20000
    return unit[:8] if letter else _spelled(unit[0])


def _spelled(char: str) -> str:
    return f"u{ord(char):x}"


def _symbols(text: str) -> list[str]:
    """What is left to find a text by that has no word in it: its visible characters, each once."""
    return [
        _spelled(char)
        for char in dict.fromkeys(text)
        if unicodedata.category(char)[0] not in "ZC" or char > "\U000e0fff"
    ]


@lru_cache(maxsize=1 << 15)
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    """Parts and compounds of one chunk: words joined by single connectors, such as `src/app/userName.py` or `C++`."""
    if chunk.isascii() and chunk.isalnum():
        return tuple(_word_terms(chunk))
    contraction = re.fullmatch(_CONTRACTION, chunk)
    if contraction:
        word, ending = contraction.groups()
        return (_term(word + ending if ending in "tT" else word),)
    out: list[str] = []
    part = _ASCII_PART if chunk.isascii() else _wide().part
    groups = [re.findall(part, group) for group in re.split(_GROUP_BORDER, chunk)]
    for group in groups:
        for part in group:
            out.extend(_word_terms(part))
        if len(group) > 1:
            out.extend(_compound(group))
    whole = [part for group in groups for part in group]
    if len(groups) > 1 and len(whole) > 1:
        out.extend(_compound(whole))
    if chunk[0] == ".":
        out.append(_term("dot" + whole[0]))
    suffix = "".join(_SUFFIX_NAMES[sign] for sign in chunk[-2:] if sign in _SUFFIX_NAMES)
    if suffix:
        out.append(_term(whole[-1][: MAX_TERM - len(suffix)]) + suffix)
    return tuple(out)


def _compound(parts: list[str]) -> list[str]:
    """The parts as one word, and its stem where that differs: `Node.js` is found by `nodejs` and by `node.js`."""
    word = "".join(parts)[: MAX_TERM + 1]
    return list(dict.fromkeys((_folded_term(word), _term(word))))


def _word_terms(word: str) -> list[str]:
    """A word, after the words its capitals set apart. A word of mostly one-letter humps is noise, not a name."""
    if word.islower() or word.isupper() or not word.isascii() or len(word) > MAX_TERM:
        return [_term(word[: MAX_TERM + 1])]
    humps: list[str] = re.findall(_CAMEL, word)
    noisy = len(humps) > 4 and len(word) * 2 < len(humps) * 5
    if len(humps) == 1 or noisy or re.fullmatch(_PLURAL_ACRONYM, word):
        return [_term(word)]
    return [*map(_term, humps), _term(word)]


@lru_cache(maxsize=1 << 15)
def _term(word: str) -> str:
    """The word folded and stemmed. Stop words keep their form: `does` must not become the name Doe."""
    folded = _folded_term(word)
    if folded in _STOP or len(folded) == MAX_TERM or not folded.isascii():
        return folded
    return str(_stemmer().stemWord(folded))


def _folded_term(word: str) -> str:
    folded = word.casefold()
    return folded[:MAX_TERM] if folded.isascii() else "".join(map(_safe, folded))[:MAX_TERM]


_local = threading.local()  # a Stemmer must not be shared between threads


def _stemmer() -> Any:
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        import Stemmer

        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    return stemmer
