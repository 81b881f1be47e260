"""Reading single fields of foreign records: times, texts, names. Whatever is odd becomes empty, never an error."""

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from recollect.readers.clean import spoken_by_agent, spoken_by_user
from recollect.readers.contract import Said

_ROTATED = re.compile(r"(\.(?:jsonl|ndjson|json))[.~].*$")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LATEST_MS = 253_402_300_799_999  # the last millisecond of the year 9999
TEXT_TYPES = frozenset({"text", "input_text", "output_text"})


def text_of(value: Any) -> str:
    """A string as it can be stored: NUL and lone surrogates become the replacement character."""
    return _UNSTORABLE.sub("\ufffd", value) if isinstance(value, str) else ""


def name_of(value: Any) -> str:
    """A short string such as an id, a path or a title, on one line."""
    return " ".join(text_of(value).split())[:1000]


def path_of(value: Any) -> str:
    return text_of(value)[:4096]


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def time_of(*values: Any) -> int:
    """Milliseconds of the first value that is a time: ISO 8601, or seconds, milliseconds or microseconds since 1970."""
    for value in values:
        at_ms = _number_ms(value) if isinstance(value, int | float) else _iso_ms(value)
        if 0 < at_ms <= _LATEST_MS:
            return at_ms
    return 0


def _number_ms(value: float) -> int:
    if isinstance(value, bool) or not 0 < value < 1e17:  # also sorts out NaN, infinity and endless integers
        return 0
    if value < 1e11:  # seconds until the year 5138, milliseconds since March 1973
        return int(value * 1000)
    return int(value) if value < 1e14 else int(value // 1000)


def _iso_ms(value: Any) -> int:
    if not isinstance(value, str) or not 8 <= len(value) <= 40:
        return 0
    try:
        moment = datetime.fromisoformat(value.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def texts(content: Any, kinds: Iterable[str] = TEXT_TYPES) -> list[str]:
    """The texts of a message's content: a string, a list of typed blocks, or a list of parts without types."""
    if isinstance(content, str):
        return [text_of(content)]
    if isinstance(content, dict):
        content = [content]
    found = []
    for block in list_of(content):
        if isinstance(block, str):
            found.append(text_of(block))
        elif isinstance(block, dict) and str(block.get("type", "text")) in kinds and not block.get("thought"):
            found.append(text_of(block.get("text")))
    return found


def spoken(content: Any, role: str, wrappings: frozenset[str] = frozenset()) -> str:
    """What a user or an assistant said in a message: its text blocks, cleaned one by one."""
    if role == "user":
        parts = [spoken_by_user(part, wrappings) for part in texts(content)]
    else:
        parts = [spoken_by_agent(part) for part in texts(content)]
    return "\n\n".join(part for part in parts if part)


def said(role: str, record: str, text: str, at_ms: int, line: int | None) -> Said:
    if role == "user":
        return Said(record, "user", "user", text, at_ms, line)
    return Said(record, "assistant", "agent", text, at_ms, line)


def key_from(path: Path) -> str:
    """A session's key when the format gives none: the UUID in the file's name, else name and place together.

    A file that was rotated away (`chat.jsonl.1`) or packed has the key that it had before.
    """
    match = _UUID.search(path.name)
    if match:
        return match[0].lower()
    name = path.name.split(".", 1)[0] or path.name
    first = path.absolute().with_name(_ROTATED.sub(r"\1", path.name))
    return f"{name[:80]}-{hashlib.sha256(str(first).encode('utf-8', 'replace')).hexdigest()[:12]}"


def modified_ms(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


def why_silent(content: Any) -> str:
    """Why a message has no words to remember."""
    kinds = {str(block.get("type")) for block in list_of(content) if isinstance(block, dict)}
    if any("tool" in kind.lower() or "function" in kind.lower() for kind in kinds):
        return "tool call or result"
    if any(part.strip() for part in texts(content)):
        return "injected context"
    if any("think" in kind or "reason" in kind for kind in kinds):
        return "hidden reasoning"
    return "no text"


@lru_cache(maxsize=2)  # every reader looks at the same beginning
def first_records(head: bytes, most: int = 40) -> list[dict[str, Any]]:
    """The first whole JSON objects of a file's beginning, one per line."""
    found = []
    lines = head.removeprefix(b"\xef\xbb\xbf").splitlines()[: most * 4]
    for line in lines:
        if not line.lstrip().startswith(b"{"):
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append(record)
        if len(found) == most:
            break
    return found


def is_document(head: bytes) -> bool:
    """Whether the file begins like one JSON object."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
