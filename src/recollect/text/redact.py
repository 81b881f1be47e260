"""The text part of the write boundary: what must not be kept is replaced before anything else sees the text.

Invariants: line breaks inside what is replaced stay, so line numbers remain true; cleaning twice is cleaning once; time
is linear in the text. Ordinary text is dismissed by plain substring tests and loads neither the rules nor RE2.
"""

import re
from bisect import bisect_right
from functools import cache
from typing import Any

from recollect.text.secret_signs import LONG, suspicious
from recollect.values import value

PRIVATE = "[private]"
_ROUNDS = 4  # hiding one secret may bring another rule's context together; more rounds than this were never needed
_PRIVATE_TAG = re.compile(r"<(/?)private(?:\s[^<>]*)?>", re.IGNORECASE)


@value
class Redaction:
    """The text without secrets, and the names of the rules that found some, each once, in order of appearance."""

    text: str
    found: tuple[str, ...] = ()


def clean(text: str) -> Redaction:
    """`text` without private blocks and without secrets."""
    return redact(strip_private(text))


def strip_private(text: str) -> str:
    """`text` with each `<private>…</private>` block replaced; one that is never closed reaches to the end."""
    if "<" not in text or "private" not in text.lower():
        return text
    out: list[str] = []
    depth = start = at = 0
    for tag in _PRIVATE_TAG.finditer(text):
        closing = tag[1] == "/"
        if tag[0].endswith("/>") or (closing and depth == 0):
            continue
        if not closing and depth == 0:
            out.append(text[at : tag.start()])
            start = tag.start()
        depth += -1 if closing else 1
        if depth == 0:
            at = tag.end()
            out.append(PRIVATE + _line_breaks(text[start:at]))
    if depth:
        return "".join(out) + PRIVATE + _line_breaks(text[start:])
    return "".join(out) + text[at:]


def redact(text: str) -> Redaction:
    """`text` with every secret replaced by `[redacted:<kind>]`."""
    if not suspicious(text.split()):
        return Redaction(text)
    found: dict[str, None] = {}
    for _ in range(_ROUNDS):
        spans = _secrets(text)
        if not spans:
            break
        text = _replaced(text, spans)
        found.update(dict.fromkeys(name for _, _, name in spans))
    return Redaction(text, tuple(found))


def _secrets(text: str) -> list[tuple[int, int, str]]:
    """Byte spans of the secrets in `text`, in order, none overlapping another."""
    from recollect.text.secret_rules import BY_MARKER, RULES, SHORT_BY_MARKER

    lowered = text.lower()
    groups = BY_MARKER if max(map(len, text.split()), default=0) >= LONG else SHORT_BY_MARKER
    suspects = [
        numbers for rare, markers in groups if rare in lowered for marker, numbers in markers if marker in lowered
    ]
    raw = b""
    taken: list[tuple[int, int, str]] = []
    for number in sorted({number for numbers in suspects for number in numbers}):
        rule = RULES[number]
        if rule.shape and not re.search(rule.shape, lowered):
            continue
        raw = raw or text.encode("utf-8", "surrogatepass")
        for start, end in _matches(number, raw):
            _take(taken, start, end, rule.name)
    return taken


def _matches(number: int, raw: bytes) -> list[tuple[int, int]]:
    """Spans of the secrets one rule sees."""
    from recollect.text.secret_rules import RULES

    agrees, pattern = RULES[number].agrees, _pattern(number)
    spans: list[tuple[int, int]] = []
    at = 0
    while (match := pattern.search(raw, at)) is not None:
        whole = match.start(), match.end()
        start, end = next((span for span in map(match.span, range(1, pattern.groups + 1)) if span[0] >= 0), whole)
        value, before = _text(raw[start:end]), _text(raw[whole[0] : start])
        if agrees(value, before):
            spans.append((start, end))
            at = end
        else:
            # The candidate may itself be the name of the next assignment: look again from there.
            at = start if start > max(whole[0], at) else end
        at = max(at, whole[0] + 1)
    return spans


def _take(taken: list[tuple[int, int, str]], start: int, end: int, name: str) -> None:
    place = bisect_right(taken, (start, end, ""))
    if place and taken[place - 1][1] > start:
        return
    if place < len(taken) and taken[place][0] < end:
        return
    taken.insert(place, (start, end, name))


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    out: list[str] = []
    at = 0
    for start, end, name in spans:
        out += (_text(raw[at:start]), f"[redacted:{name}]", _line_breaks(_text(raw[start:end])))
        at = end
    out.append(_text(raw[at:]))
    return "".join(out)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _line_breaks(text: str) -> str:
    return "".join(char for char in text if char in "\r\n") if "\n" in text or "\r" in text else ""


@cache
def _pattern(number: int) -> Any:
    import re2

    from recollect.text.secret_rules import RULES

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(RULES[number].pattern.encode(), options)
