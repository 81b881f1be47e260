"""Identities: UUIDv7 for notes and sessions, prefixed short ids for what an answer shows.

A uid is sortable by time and made on the client, so that export, import and several writers never collide.
A reference is what people and agents type: `17` or a uid (note), `c17` (chunk), `t17` (turn).
"""

import os
import re
import threading
import time
from typing import Literal, NamedTuple

from recollect.errors import InvalidInput

_UID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SHORT = r"([ct]?)([1-9][0-9]{0,17})"
_lock = threading.Lock()
_last = [0, 0]  # the millisecond and counter of the newest uid of this process


class Ref(NamedTuple):
    """What a person typed to name something: exactly one of `id` and `uid` is set."""

    what: Literal["note", "chunk", "turn"]
    id: int | None
    uid: str | None


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def new_uid(at_ms: int | None = None) -> str:
    """A UUIDv7; within one process and millisecond the counter keeps them rising."""
    ms = now_ms() if at_ms is None else at_ms
    tail = os.urandom(9)
    with _lock:
        if ms == _last[0]:
            _last[1] += 1
        else:
            _last[0], _last[1] = ms, tail[8] & 0x7F
        counter = _last[1] & 0xFFF
    return _format(ms, counter, tail)


def _format(ms: int, counter: int, tail: bytes) -> str:
    low = tail[:8].hex()
    variant = "89ab"[tail[0] & 3]
    return f"{ms >> 16 & 0xFFFFFFFF:08x}-{ms & 0xFFFF:04x}-7{counter:03x}-{variant}{low[:3]}-{low[3:15]}"


def is_uid(text: str) -> bool:
    return len(text) == 36 and re.fullmatch(_UID, text) is not None


def parse_ref(text: str | int) -> Ref:
    """Reads `17`, `#17`, `c17`, `t17` or a uid; anything else is refused with an example."""
    word = str(text).strip().lower().removeprefix("#")
    if is_uid(word):
        return Ref("note", None, word)
    match = re.fullmatch(_SHORT, word)
    if match is None:
        raise InvalidInput(
            f"not an id: {str(text)[:60]!r}",
            hint="ids look like 17, c17, t17 or a full uid; `recollect list` shows them",
        )
    what: Literal["note", "chunk", "turn"] = {"": "note", "c": "chunk", "t": "turn"}[match[1]]  # type: ignore[assignment]
    return Ref(what, int(match[2]), None)
