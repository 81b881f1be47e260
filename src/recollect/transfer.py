"""Export and import: plain rows, lossless, known by uid.

A row is the note's canonical image plus its space's name. Importing a row whose uid is here and unchanged does
nothing; a changed one is updated if the row is newer; a deleted one is restored. Secrets are redacted on the way in
like everywhere else, so a row that carries one arrives without it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import chain, islice
from types import NoneType
from typing import Any

from recollect import audit
from recollect.errors import InvalidInput, RecollectError
from recollect.ids import Ref, is_uid
from recollect.store import Change, Operation, Store
from recollect.text.visible import check
from recollect.types import STATES, Draft, Filter, Link, Note, Space, State
from recollect.values import value
from recollect.write import Limits, change, check_choice, prepare

EXPORTED: tuple[State, ...] = ("live", "superseded", "expired")
BATCH = 500
_HINT = "export writes the format that import reads"
_TIME = (int, NoneType)
_SHAPES: Mapping[str, tuple[type, ...]] = {
    "kind": (str, NoneType), "title": (str, NoneType), "context": (str,), "source": (str,), "origin": (str,),
    "session": (str, NoneType), "tags": (list, tuple), "pinned": (bool,), "tier": (str,), "metadata": (dict,),
    "state": (str,), "superseded_by": (str, NoneType), "created_ms": _TIME, "updated_ms": _TIME, "expires_ms": _TIME,
    "valid_from_ms": _TIME, "valid_to_ms": _TIME,
}  # fmt: skip
_DRAFT_FIELDS = {field.name for field in fields(Draft)} - {"space", "vector", "links"}


@value
class Imported:
    """What an import did; `skipped` says why, by row number."""

    new: int = 0
    updated: int = 0
    restored: int = 0
    unchanged: int = 0
    skipped: tuple[tuple[int, str], ...] = ()
    operation: str = ""


def export(store: Store, where: Filter) -> Iterator[dict[str, Any]]:
    """Oldest first, so that a second export after more notes only grows at its end."""
    notes: list[Note] = []
    page = store.list_notes(where, BATCH)
    while page:
        notes += page
        page = store.list_notes(where, BATCH, (page[-1].created_ms, page[-1].id))
    for note in reversed(notes):
        yield {"space": note.space, **audit.image(note)}


def counted(rows: Iterable[Mapping[str, Any]], most: int) -> tuple[Iterable[Mapping[str, Any]], int]:
    """The same rows, and how many there are as far as it matters; no more than `most` are read ahead."""
    ahead = iter(rows)
    first = list(islice(ahead, most))
    return chain(first, ahead), len(first)


def import_rows(
    store: Store, space: Space, rows: Iterable[Mapping[str, Any]], op: Operation, limits: Limits,
    progress: Callable[[int], None] | None = None, dry_run: bool = False,
) -> Imported:  # fmt: skip
    """One operation, one transaction per batch: a kill leaves whole batches, and importing again finishes the work.

    A dry run only reads; it counts a text that a live note of another uid has as new.
    """
    total = Imported(operation=op.id)
    batch: list[tuple[int, Mapping[str, Any]]] = []
    for number, row in enumerate(rows, 1):
        batch.append((number, row))
        if len(batch) == BATCH:
            total = _import_batch(store, space, batch, op, limits, total, dry_run)
            batch = []
            if progress is not None:
                progress(number)
    if batch:
        total = _import_batch(store, space, batch, op, limits, total, dry_run)
        if progress is not None:
            progress(batch[-1][0])
    return total


def _import_batch(
    store: Store,
    space: Space,
    batch: list[tuple[int, Mapping[str, Any]]],
    op: Operation,
    limits: Limits,
    total: Imported,
    dry_run: bool,
) -> Imported:
    ready: list[Note] = []
    numbers: dict[str, int] = {}  # where a note stands among the rows
    undated: set[str] = set()  # rows that do not say when they changed are never newer than what is here
    skipped = list(total.skipped)
    for number, row in batch:
        try:
            draft = draft_of(row)
            ready.append(prepare(draft, space.name, limits, op.at_ms).note)
            numbers[ready[-1].uid] = number
            undated |= {ready[-1].uid} if draft.updated_ms is None else set()
        except RecollectError as trouble:
            skipped.append((number, trouble.message))
    with store.snapshot() if dry_run else store.transaction([space.id]):
        buried = store.forgotten(space.id, [note.uid for note in ready])
        skipped += [(numbers[uid], "it was forgotten here") for uid in sorted(buried)]
        ready = [note for note in ready if note.uid not in buried]
        known = {note.uid: note for note in store.notes([Ref("note", None, note.uid) for note in ready], [space.id])}
        new, updated, restored = [], [], []
        for note in ready:
            old = known.get(note.uid)
            if old is None:
                new.append(change(note, 0, limits, rechunk=True))
                known[note.uid] = note
            elif old.state in ("deleted", "evicted"):
                restored.append(_onto(old, note, limits))
            elif note.uid not in undated and note.updated_ms > old.updated_ms and audit.image(old) != audit.image(note):
                updated.append(_onto(old, note, limits))
        done = [] if dry_run else store.apply(op, space.id, [*new, *updated, *restored])
    twins = sum(1 for one in done if one.duplicate)
    changed = len(new) + len(updated) + len(restored)
    return replace(
        total, new=total.new + len(new) - twins, updated=total.updated + len(updated), skipped=tuple(skipped),
        restored=total.restored + len(restored), unchanged=total.unchanged + len(ready) - changed + twins,
    )  # fmt: skip


def _onto(old: Note, note: Note, limits: Limits) -> Change:
    return change(replace(note, id=old.id, rev=old.rev), old.rev, limits, rechunk=True)


def draft_of(row: Mapping[str, Any]) -> Draft:
    """A row of an export as a draft; what it does not know is refused, so that a typo loses nothing."""
    if not isinstance(row, Mapping):
        raise InvalidInput("a row is not an object", hint="each line of the file is one JSON object")
    if not isinstance(row.get("content"), str):
        raise InvalidInput("a row has no content", hint=_HINT)
    if "uid" in row and not (isinstance(row["uid"], str) and is_uid(row["uid"])):
        raise InvalidInput(f"{row['uid']!r} is no uid", hint="leave uid out to make a new note")
    known = {name: given for name, given in row.items() if name in _DRAFT_FIELDS}
    for name, given in known.items():
        if name in _SHAPES and (not isinstance(given, _SHAPES[name]) or (name.endswith("_ms") and not _is_time(given))):
            raise InvalidInput(f"{name} is {str(given)[:40]!r}, which it cannot be", hint=_HINT)
    check_choice("state", known.get("state", "live"), STATES)
    for name in ("session", "superseded_by"):
        check(known.get(name) or "", name)
    return Draft(**{**known, "links": _links(row.get("links", ()))})


def _is_time(value: Any) -> bool:
    """A moment between the years 1 and 9999; `true` is a number to Python."""
    return value is None or (not isinstance(value, bool) and -62_135_596_800_000 <= value < 253_402_300_800_000)


def _links(pairs: Any) -> tuple[Link, ...]:
    good = isinstance(pairs, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
        for pair in pairs
    )
    if not good or not all(is_uid(to) and len(kind) <= 100 for to, kind in pairs):
        raise InvalidInput("links are not pairs of a uid and a kind", hint=_HINT)
    for _, kind in pairs:
        check(kind, "the kind of a link")
    return tuple(Link(to, kind) for to, kind in pairs)
