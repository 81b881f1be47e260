"""Rows to values and filters to SQL: pure translation, shared by every verb."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recollect.errors import StoreCorrupt
from recollect.types import TRUSTED_ORIGINS, Filter, Link, Note

Row = tuple[Any, ...]

NOTE_COLUMNS = (
    "id", "uid", "rev", "state", "kind", "tier", "title", "content", "context", "source", "origin", "session", "tags",
    "importance", "confidence", "pinned", "token_count", "bytes", "content_hash", "metadata", "created_ms",
    "updated_ms", "expires_ms", "valid_from_ms", "valid_to_ms", "superseded_by",
)  # fmt: skip
NOTE_ROW = ("id", "space", *NOTE_COLUMNS[1:], "salt")
NOTE_SELECT = "select s.name, " + ", ".join(f"n.{name}" for name in NOTE_COLUMNS)
NOTE_FROM = " from notes n join spaces s on s.id = n.space "


def marks(values: Sequence[Any]) -> str:
    """`?, ?, ?` for an in-list; an empty list matches nothing."""
    return ", ".join("?" * len(values)) or "null"


def batches(values: Sequence[Any], size: int = 500) -> Iterable[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


class Shape:
    """The types of a row's columns, a letter each: `s` text, `i` integer, `f` number; capitals may be nothing.

    Damage can turn a text into bytes or a number into nothing, and whatever then works with it fails in its own way.
    """

    _KINDS: Mapping[str, tuple[type, ...]] = {"s": (str,), "i": (int,), "f": (float, int)}

    def __init__(self, letters: str) -> None:
        self._allowed = [
            (*self._KINDS[letter.lower()], *((type(None),) if letter.isupper() else ())) for letter in letters
        ]
        self._seen: set[tuple[type, ...]] = set()  # few: which columns are nothing

    def check(self, row: Row) -> None:
        types = tuple(map(type, row))
        if types in self._seen:
            return
        if not all(found in allowed for found, allowed in zip(types, self._allowed, strict=True)):
            raise StoreCorrupt("a stored value is of the wrong kind", hint=_HINT)
        self._seen.add(types)


_HINT = "run `recollect doctor`; `recollect backup list` shows copies"
_NOTE = Shape("sisissssssssSsifiiissiiIIIS")


def note_of(row: Row, links: tuple[Link, ...] = ()) -> Note:
    _NOTE.check(row)
    space, *values = row
    fields = dict(zip(NOTE_COLUMNS, values, strict=True))
    fields["tags"] = tuple(load(fields["tags"])) if fields["tags"] != "[]" else ()
    fields["metadata"] = load(fields["metadata"]) if fields["metadata"] != "{}" else {}
    fields["pinned"] = bool(fields["pinned"])
    return Note(space=space, links=links, **fields)


def load(text: str) -> Any:
    """What `dump` wrote; anything else is damage."""
    try:
        return json.loads(text)
    except (ValueError, TypeError) as trouble:  # a bit can turn a text into a number, or into nothing
        raise StoreCorrupt(f"a stored value cannot be read: {trouble}", hint=_HINT) from trouble


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")) if value else "[]"


def note_row(id: int, space: int, note: Note, rev: int, salt: bytes) -> Row:
    """The values of NOTE_ROW."""
    return (
        id, space, note.uid, rev, note.state, note.kind, note.tier, note.title, note.content, note.context, note.source,
        note.origin, note.session, dump(list(note.tags)) if note.tags else "[]", note.importance, note.confidence,
        int(note.pinned), note.token_count, note.bytes, note.content_hash,
        dump(dict(note.metadata)) if note.metadata else "{}", note.created_ms, note.updated_ms, note.expires_ms,
        note.valid_from_ms, note.valid_to_ms, note.superseded_by, salt,
    )  # fmt: skip


class Clauses:
    """Collects `and` conditions with their bound values."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, part: str, *values: Any) -> None:
        self.parts.append(part)
        self.values.extend(values)

    def among(self, column: str, values: Sequence[Any]) -> None:
        self.add(f"{column} in ({marks(values)})", *values)

    @property
    def sql(self) -> str:
        return " and ".join(self.parts) or "true"


def note_clauses(where: Filter, tag_sql: str) -> Clauses:
    """The filter as conditions on `notes n`; `tag_sql` is the engine's test for one tag."""
    clauses = Clauses()
    clauses.among("n.space", where.spaces)
    _note_fields(clauses, where, tag_sql)
    if not (where.tiers or where.with_scratchpad):
        clauses.add("n.tier <> 'scratchpad'")
    _within(clauses, "n.created_ms", where)
    if where.session is not None:
        clauses.add("n.session = ?", where.session)
    if where.trusted_only:
        clauses.among("n.origin", sorted(TRUSTED_ORIGINS))
    return clauses


def _within(clauses: Clauses, column: str, where: Filter) -> None:
    if where.since_ms is not None:
        clauses.add(f"{column} >= ?", where.since_ms)
    if where.until_ms is not None:
        clauses.add(f"{column} < ?", where.until_ms)


def _note_fields(clauses: Clauses, where: Filter, tag_sql: str) -> None:
    clauses.among("n.state", where.states)
    if where.as_of_ms is not None:
        _true_then(clauses, where.as_of_ms)
    elif "expired" not in where.states:
        clauses.add("(n.expires_ms is null or n.expires_ms > ?)", where.now_ms)
    for column, values in (("n.kind", where.kinds), ("n.tier", where.tiers), ("n.source", where.sources)):
        if values:
            clauses.among(column, values)
    if where.tiers == ("scratchpad",):
        clauses.add("n.tier = 'scratchpad'")  # in these words, so that its index can be used
    if where.tags:
        clauses.add("(" + " or ".join([tag_sql] * len(where.tags)) + ")", *where.tags)
    if where.min_importance is not None:
        clauses.add("n.importance >= ?", where.min_importance)
    if where.min_confidence is not None:
        clauses.add("n.confidence >= ?", where.min_confidence)
    if where.pinned is not None:
        clauses.add("n.pinned = ?", int(where.pinned))


def turn_clauses(where: Filter) -> Clauses:
    """The part of the filter that concerns turns, as conditions on `turns t join sessions z`."""
    clauses = Clauses()
    clauses.among("t.space", where.spaces)
    _within(clauses, "t.at_ms", where)
    if where.as_of_ms is not None:
        clauses.add("t.at_ms <= ?", where.as_of_ms)
    if where.session is not None:
        clauses.add("z.uid = ?", where.session)
    if where.trusted_only:
        clauses.among("t.origin", sorted(TRUSTED_ORIGINS))
    return clauses


def _true_then(clauses: Clauses, at_ms: int) -> None:
    """A note is true from the time it names, else from its making, until it was replaced or expired."""
    clauses.add("coalesce(n.valid_from_ms, n.created_ms) <= ?", at_ms)
    clauses.add("(n.valid_to_ms is null or n.valid_to_ms > ?)", at_ms)
    clauses.add("(n.expires_ms is null or n.expires_ms > ?)", at_ms)


def chunk_clauses(where: Filter, tag_sql: str) -> Clauses:
    """The filter as conditions on `chunks c left join notes n`; turns and files pass the parts that concern them."""
    clauses = Clauses()
    clauses.among("c.space", where.spaces)
    owners = ("note",) if where.notes_only else where.owners
    kinds_of_owner = [f"c.{owner}_id is not null" for owner in owners if owner != "note"]
    if "note" in owners:
        fields = Clauses()
        _note_fields(fields, where, tag_sql)
        kinds_of_owner.append(f"(c.note_id is not null and {fields.sql})")
        clauses.add("(" + " or ".join(kinds_of_owner) + ")", *fields.values)
    else:
        clauses.add("(" + (" or ".join(kinds_of_owner) or "false") + ")")
    _within(clauses, "c.created_ms", where)
    if where.as_of_ms is not None:
        clauses.add("(c.note_id is not null or c.created_ms <= ?)", where.as_of_ms)
    if where.session is not None:
        clauses.add(
            "(n.session = ? or c.session_id in (select id from sessions z where z.space = c.space and z.uid = ?))",
            where.session,
            where.session,
        )
    if where.trusted_only:
        clauses.add("c.trusted = 1")
    return clauses
