"""Times given in words, against what is remembered: "before the release" is before the newest note that says release.

What such words were taken to mean is told, because a note that only mentions a release may be the newest.
"""

import time
from collections.abc import Mapping
from typing import Any

from recollect import timewords
from recollect.errors import InvalidInput
from recollect.store import Store
from recollect.text.tokens import query_terms
from recollect.types import Filter

LOOKED_AT = 200
_READ = {
    "since": ("since_ms", timewords.start_of),
    "until": ("until_ms", timewords.end_of),
    "as_of": ("as_of_ms", timewords.last_of),
}


class Happened:
    """When something was, by the notes and turns that one may see; remembers what it answered."""

    def __init__(self, store: Store, where: Filter) -> None:
        self._store = store
        self._where = where
        self.notices: list[str] = []

    def __call__(self, what: str) -> int | None:
        """The time of the newest note with all of these words; without one, of the newest turn."""
        wanted = query_terms(what)
        if not wanted or not self._where.spaces:
            return None
        found = [
            chunk
            for chunk in self._store.keyword(wanted, self._where, LOOKED_AT).chunks
            if set(wanted) <= set(chunk.terms.split()) and chunk.owner != "file"
        ]
        if not found:
            return None
        best = max(found, key=lambda chunk: (chunk.owner == "note", chunk.created_ms, chunk.id))
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(best.created_ms / 1000))
        name = f"note {best.owner_id}" if best.owner == "note" else f"turn t{best.owner_id}"
        self.notices.append(f"{what!r} was taken to be {name}, {day}")
        return best.created_ms


def in_ms(filters: Mapping[str, Any], now_ms: int, happened: Happened) -> tuple[dict[str, Any], list[str]]:
    """The filters with their words for times replaced, and what the words were taken to mean."""
    timed = {name: given for name, given in filters.items() if name not in _READ}
    for name, (field, read) in _READ.items():
        given = filters.get(name)
        if given is None:
            continue
        if not isinstance(given, str):
            raise InvalidInput(f"{name} is {type(given).__name__}, not words", hint=f"give text, or `{field}` a number")
        timed[field] = read(given, timewords.Clock(now_ms), happened)
    return timed, happened.notices
