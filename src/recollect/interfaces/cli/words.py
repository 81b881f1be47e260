"""From what people type to what Memory takes: times, tags, key=value pairs, and text from standard input."""

import json
import re
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import click

from recollect.errors import InvalidInput

MOST_INPUT = 100_000_000  # the largest note that any setting allows
_SPAN = re.compile(r"(\d{1,6})(m|h|d|w|y)")
_MINUTES = {"m": 1, "h": 60, "d": 1440, "w": 10_080, "y": 525_600}


def given_text(words: Sequence[str], *, read_when_absent: bool = True) -> str | None:
    """The words of the command line, or standard input when they are `-` or, if allowed, when there are none."""
    if words and tuple(words) != ("-",):
        return " ".join(words)
    if not words and (not read_when_absent or (sys.stdin is not None and sys.stdin.isatty())):
        return None
    return read_input()


def read_input() -> str:
    """All of standard input as text; line ends at its very end do not count, as in a shell's `$(…)`."""
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInput("standard input is closed", hint="give the text as an argument, or pipe it in")
    try:
        content = sys.stdin.buffer.read(MOST_INPUT + 1)
    except OSError as trouble:
        raise InvalidInput(
            f"standard input cannot be read: {trouble.strerror or trouble}", hint="give the text as an argument"
        ) from trouble
    if len(content) > MOST_INPUT:
        raise InvalidInput(f"standard input has more than {MOST_INPUT:,} bytes", hint="split it into several notes")
    return decoded(content, "standard input").rstrip("\r\n")


def decoded(content: bytes, what: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as trouble:
        raise InvalidInput(
            f"{what} is not valid UTF-8 (byte {trouble.start})",
            hint="convert it first, for example with `iconv -t utf-8`; binary files cannot be remembered",
        ) from None


def tags(values: Iterable[str]) -> list[str]:
    """`--tag a --tag b,c` is three tags."""
    return [tag for value in values for part in value.split(",") if (tag := part.strip())]


def metadata(pairs: Iterable[str]) -> dict[str, Any]:
    """`key=value`; a value that reads as a JSON number, true, false or null is one, everything else is text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise InvalidInput(f"{pair[:40]!r} is no key=value", hint="for example --meta ticket=BILL-42")
        found[key.strip()] = _scalar(value)
    return found


def _scalar(value: str) -> Any:
    try:
        read = json.loads(value, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return value
    return value if isinstance(read, str) else read


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are no JSON: they stay text


def moment_ms(text: str, *, ahead: bool) -> int:
    """An ISO date or time (local unless it names a zone), or a span such as 30d: ahead of now, or back from it."""
    span = _SPAN.fullmatch(text.strip().lower())
    if span:
        distance = int(span[1]) * _MINUTES[span[2]] * 60_000
        return time.time_ns() // 1_000_000 + (distance if ahead else -distance)
    from datetime import datetime

    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"{text[:40]!r} is no date", hint="use 2026-01-31, 2026-01-31T10:00, or a span such as 12h, 30d or 2w"
        ) from None


def validity(valid_from: str | None, valid_to: str | None) -> dict[str, Any]:
    """Since and until when something is true; `never` takes a time off."""
    found: dict[str, int | None] = {}
    for name, text in (("valid_from_ms", valid_from), ("valid_to_ms", valid_to)):
        if text is not None:
            never = text.strip().lower() in ("never", "")
            found[name] = None if never else moment_ms(text, ahead=name == "valid_to_ms")
    first, last = found.get("valid_from_ms"), found.get("valid_to_ms")
    if first is not None and last is not None and last <= first:
        raise InvalidInput("it would be over before it begins", hint="give a later --valid-to")
    return found


def since_until(since: str | None, until: str | None, as_of: str | None = None) -> dict[str, str]:
    """The times that were given, in their own words: Memory knows what they mean."""
    given = (("since", since), ("until", until), ("as_of", as_of))
    return {name: text for name, text in given if text is not None}


def confirmed(question: str, *, yes: bool) -> bool:
    """`--yes`, or a person at a terminal who says so."""
    if yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    return click.confirm(question)
