"""Undo of an operation: every note it touched gets back the image it had before, if it is still as it was left.

What the operation made becomes deleted; what it moved goes home. The undo is an operation itself and can be undone.
"""

from collections.abc import Sequence
from dataclasses import replace

from recollect import audit
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.ids import Ref
from recollect.store import Change, Operation, Store
from recollect.types import Event, Note, Space
from recollect.write import Limits, change

NOT_UNDOABLE = frozenset({"erase", "purge", "anchor", "trace", "turns", "session", "rename", "space"})
BATCH = 500
STORE_WIDE = frozenset({"evict", "expire", "mature"})  # a clean-up is of the whole store, and so is taking it back


def undo(store: Store, operation: str, visible: Sequence[Space], op: Operation, limits: Limits) -> list[Note]:
    """Returns the notes as they are now."""
    visible = _reached(store, operation, visible)
    spaces = {space.name: space.id for space in visible}
    ids = sorted(spaces.values())
    with store.transaction(ids):
        events = [event for event in store.operation(operation, ids) if event.verb != "leave"]
        if not events:
            raise NotFound(f"no operation {operation!r} here", hint="`recollect log` lists operations")
        final = [event for event in events if event.verb in NOT_UNDOABLE]
        if final:
            raise InvalidInput(f"{final[0].verb!r} cannot be undone", hint="an erasure is final by design")
        by_uid = {space.uid: space for space in visible}
        notes: list[Note] = []
        touched = [event for event in events if event.uid not in by_uid]
        for start in range(0, len(touched), BATCH):
            notes += _undo_notes(store, touched[start : start + BATCH], spaces, op, limits)
        for event in events:
            if event.uid in by_uid:
                _reopen(store, by_uid[event.uid], op)
    return notes


def _reached(store: Store, operation: str, visible: Sequence[Space]) -> Sequence[Space]:
    """The spaces in which to take it back: whole, or not at all. Taking back what was taken back reaches as far."""
    every = store.spaces()
    events = store.operation(operation, [space.id for space in every])
    seen = {space.name for space in visible}
    verbs = {event.verb for event in events}
    near = any(event.space in seen for event in events)
    if verbs & STORE_WIDE or ("undo" in verbs and near):
        return every
    if near and any(event.space not in seen for event in events):
        raise Conflict("cannot undo: it changed notes of other spaces too", hint="use --space all")
    return visible


def _undo_notes(
    store: Store, events: Sequence[Event], spaces: dict[str, int], op: Operation, limits: Limits
) -> list[Note]:
    """All of them that are in one space in one call, in the order of what happened."""
    homes: dict[str, int] = {}
    for name in dict.fromkeys(event.space for event in events):
        here = [event for event in events if event.space == name]
        space = spaces[name]
        refs = [Ref("note", None, event.uid) for event in here]
        found = {note.uid: note for note in store.notes(refs, [space])}
        changes = [_taken_back(store, event, found.get(event.uid), spaces, limits) for event in here]
        store.apply(op, space, changes)
        homes |= {one.note.uid: space if one.to_space is None else one.to_space for one in changes}
    now = {home: store.notes([Ref("note", None, uid) for uid in homes if homes[uid] == home], [home])
           for home in set(homes.values())}  # fmt: skip
    by_uid = {note.uid: note for notes in now.values() for note in notes}
    return [by_uid[uid] for uid in homes]


def _taken_back(store: Store, event: Event, note: Note | None, spaces: dict[str, int], limits: Limits) -> Change:
    if note is None or note.rev != event.rev:
        what = "a note is gone" if note is None else f"note {note.id} was changed later"
        raise Conflict(f"cannot undo: {what}", hint="undo the later change first; `recollect history ID` shows it")
    home = None
    if event.rev == 1:
        before = replace(note, state="deleted")
    else:
        past = store.history(event.uid, [spaces[event.space]])
        revision = next((image for image in past if image.rev == event.rev - 1), None)
        if revision is None:
            raise Conflict(f"cannot undo: what note {note.id} was before is no longer kept", hint="restore a backup")
        before = replace(note, **audit.fields_of(revision.image))
        home = spaces.get(revision.moved_from) if revision.moved_from else None
        if revision.moved_from and home is None:
            raise Conflict(f"cannot undo: the space {revision.moved_from!r} is not visible", hint="use --space all")
    return change(before, note.rev, limits, rechunk=True, to_space=home)


def _reopen(store: Store, space: Space, op: Operation) -> None:
    """The space of a merge: opens it again and takes its sessions home."""
    if space.merged_into is None:
        raise Conflict(f"the space {space.name!r} is not merged any more", hint="`recollect spaces` shows them")
    store.move_sessions(op, space.merged_into, space.id, space.id)
    store.close_space(space.id, None, op)
