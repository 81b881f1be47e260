"""From what a caller asks to the Filter that goes into every lane: names checked, single values taken as lists."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from recollect.errors import InvalidInput
from recollect.types import KINDS, STATES, TIERS, Filter
from recollect.write import check_choice

_LISTS = ("kinds", "tiers", "tags", "sources", "states", "owners")
_KNOWN = {field.name for field in fields(Filter)} - {"spaces", "now_ms", "with_scratchpad"}
_OWNERS = ("note", "turn", "file")
TRUE_THEN = ("live", "superseded", "expired")  # what may have been true at an earlier time, though hidden since


def make_filter(spaces: tuple[int, ...], now_ms: int, extra_kinds: tuple[str, ...], asked: Mapping[str, Any]) -> Filter:
    unknown = sorted(set(asked) - _KNOWN)
    if unknown:
        raise InvalidInput(f"unknown filter {unknown[0]!r}", hint=f"one of: {', '.join(sorted(_KNOWN))}")
    given = {name: value for name, value in asked.items() if value is not None}
    if "as_of_ms" in given:
        given.setdefault("states", TRUE_THEN)
    for name in _LISTS:
        if name in given:
            value = given[name]
            given[name] = (value,) if isinstance(value, str) else tuple(value)
            if not given[name]:
                del given[name]
    for name, allowed in (("kinds", (*KINDS, *extra_kinds)), ("tiers", TIERS), ("states", STATES), ("owners", _OWNERS)):
        for value in given.get(name, ()):
            check_choice(name[:-1], value, allowed)
    return Filter(spaces, now_ms, with_scratchpad=False, **given)
