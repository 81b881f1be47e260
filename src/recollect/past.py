"""Reading what a note, or all notes, were at an earlier time, from the versions that changes left behind.

A version was in force until it was replaced. Whatever was erased, purged or trimmed since is not in the past either.
"""

from collections.abc import Sequence
from dataclasses import replace

from recollect import audit
from recollect.store import Store
from recollect.types import STATES, TRUSTED_ORIGINS, Filter, Note


def note_at(store: Store, note: Note, space: int, at_ms: int) -> Note | None:
    """The note as it was then; None if it was not yet there."""
    history = store.history(note.uid, [space])
    first = next((version for version in history if version.at_ms > at_ms), None)
    then = note if first is None else replace(note, rev=first.rev, **audit.fields_of(first.image))
    return then if then.created_ms <= at_ms else None


def list_at(store: Store, where: Filter, at_ms: int, limit: int, before: tuple[int, int] | None = None) -> list[Note]:
    """Newest first, as `list_notes`: the same filter, put to the notes as they were."""
    with store.snapshot():
        now = store.list_notes(
            Filter(where.spaces, where.now_ms, states=STATES, until_ms=at_ms + 1), 10_000_000, before
        )
        changed = store.images_at(where.spaces, at_ms)
    then = (
        replace(note, rev=changed[note.id][0], **audit.fields_of(changed[note.id][1])) if note.id in changed else note
        for note in now
    )
    found = [note for note in then if note.created_ms <= at_ms and matches(note, where, at_ms)]
    return sorted(found, key=lambda note: (note.created_ms, note.id), reverse=True)[:limit]


def reworded(store: Store, notes: Sequence[Note], spaces: Sequence[int], at_ms: int) -> list[int]:
    """Those notes that had another text then: a search finds them by the words that they have now."""
    return [
        note.id
        for note in notes
        if note.rev > 1
        and (first := next((old for old in store.history(note.uid, spaces) if old.at_ms > at_ms), None)) is not None
        and first.image["content_hash"] != note.content_hash
    ]


def matches(note: Note, where: Filter, at_ms: int) -> bool:
    """Whether a note passes a filter, as the engines decide it."""
    chosen: Sequence[tuple[tuple[str, ...], str]] = (
        (where.states, note.state), (where.kinds, note.kind), (where.tiers, note.tier), (where.sources, note.source),
    )  # fmt: skip
    if any(allowed and value not in allowed for allowed, value in chosen):
        return False
    if "expired" not in where.states and note.expires_ms is not None and note.expires_ms <= at_ms:
        return False
    if note.tier == "scratchpad" and not (where.tiers or where.with_scratchpad):
        return False
    if where.tags and not set(where.tags) & set(note.tags):
        return False
    return _within(note, where)


def _within(note: Note, where: Filter) -> bool:
    least = (
        (where.min_importance, note.importance), (where.min_confidence, note.confidence),
        (where.since_ms, note.created_ms),
    )  # fmt: skip
    return (
        all(low is None or value >= low for low, value in least)
        and (where.until_ms is None or note.created_ms < where.until_ms)
        and where.session in (None, note.session)
        and where.pinned in (None, note.pinned)
        and (not where.trusted_only or note.origin in TRUSTED_ORIGINS)
    )
