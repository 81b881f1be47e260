"""What kind of note a text is, and what to call it, when the writer did not say.

`classify` looks for whole stemmed words, so `Fixed` and `errors` count while `prefix` and `address` do not. The first
kind of the list with a word in the text wins. Both functions run on every write: they import the stemmer, no more.
"""

import re
import unicodedata
from collections.abc import Collection

from recollect.text.graphemes import border
from recollect.text.tokens import terms

# Priority order; the words as the stemmer leaves them, with the irregular forms it cannot join.
_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("bugfix", frozenset({"fix", "bug", "error", "crash", "bugfix", "hotfix"})),
    ("feature", frozenset({"add", "new", "featur", "creat"})),
    ("refactor", frozenset({"refactor", "restructur"})),
    ("decision", frozenset({"decid", "decis", "chose", "choos", "chosen"})),
    ("discovery", frozenset({"found", "discov", "discoveri", "learn", "learnt"})),
    ("change", frozenset({"chang", "updat", "modifi"})),
)
_TELLING = frozenset().union(*(words for _, words in _KINDS))
DEFAULT_KIND = "observation"

_LINE_MARKERS = r"^\s*(?:(?:>|#{1,6}(?=\s)|[-*+](?=\s)|\d{1,3}[.)](?=\s)|\[[ xX]\](?=\s))\s*)+"
_NO_TITLE = r"^\s*(?:`{3,}|~{3,}|<!--|-{3,}\s*$|={3,}\s*$|\*{3,}\s*$|_{3,}\s*$)"
_LINK = r"!?\[([^\[\]]{1,300})\]\([^()\s]{0,2000}\)"
# Underscores are left alone: in these notes they are more often part of a name than emphasis.
_EMPHASIS = r"(\*{1,3}|~~|`+)(?=\S)(.{1,300}?)(?<=\S)\1"
_LONGEST_LINE = 500


def classify(text: str) -> str:
    """One of bugfix, feature, refactor, decision, discovery, change, or else observation."""
    return kind_of(terms(text))


def kind_of(found: Collection[str]) -> str:
    """The same for a text whose terms are already known."""
    if _TELLING.isdisjoint(found):
        return DEFAULT_KIND
    seen = _TELLING.intersection(found)
    for kind, words in _KINDS:
        if not words.isdisjoint(seen):
            return kind
    return DEFAULT_KIND


def title_of(text: str, limit: int = 80) -> str:
    """The first line that says something, without its Markdown markers, in at most `limit` characters."""
    fallback = ""
    for line in text.splitlines():
        plain = _collapsed(line[:_LONGEST_LINE])
        if not plain:
            continue
        fallback = fallback or plain
        if not plain[0].isalpha() and re.match(_NO_TITLE, plain):
            continue
        bare = _unmarked(plain)
        if bare[0].isalnum() or any(char.isalnum() for char in bare):
            return _cut(bare, limit)
    return _cut(fallback, limit) or ("untitled" if text else "")


def _collapsed(line: str) -> str:
    """One line without control and invisible characters, its spaces made single."""
    if line.isprintable():
        if "  " not in line:
            return line.strip()
        return " ".join(line.split())
    seen = (char if unicodedata.category(char) not in ("Cc", "Cs") else " " for char in line)
    return " ".join("".join(seen).split())


def _unmarked(line: str) -> str:
    bare = line if line[0].isalpha() else re.sub(_LINE_MARKERS, "", line)
    if "](" in bare:
        bare = re.sub(_LINK, r"\1", bare)
    if "*" in bare or "`" in bare or "~" in bare:
        for _ in range(3):
            bare = re.sub(_EMPHASIS, r"\2", bare)
    return bare.rstrip("# ").strip() or line


def _cut(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    at = max(1, limit - 1) if line.isascii() else border(line, max(1, limit - 1))
    space = line.rfind(" ", limit // 2, at + 1)
    return line[: space if space > 0 else at].rstrip(" ,;:–-") + "…"
