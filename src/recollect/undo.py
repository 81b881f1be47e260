"""Undo of an operation: every note it touched gets back the image it had before, if it is still as it was left.

What the operation made becomes deleted; what it moved goes home. The undo is an operation itself and can be undone.
"""

from collections.abc import Sequence
from dataclasses import replace

from recollect import audit
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.ids import Ref
from recollect.store import Operation, Store
from recollect.types import Event, Note, Space
from recollect.write import Limits, change

NOT_UNDOABLE = frozenset({"erase", "turns", "session", "rename", "space"})


def undo(store: Store, operation: str, visible: Sequence[Space], op: Operation, limits: Limits) -> list[Note]:
    """Returns the notes as they are now."""
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
        notes = [_undo_note(store, event, spaces, op, limits) for event in events if event.uid not in by_uid]
        for event in events:
            if event.uid in by_uid:
                _reopen(store, by_uid[event.uid], op)
    return notes


def _undo_note(store: Store, event: Event, spaces: dict[str, int], op: Operation, limits: Limits) -> Note:
    space = spaces[event.space]
    found = store.notes([Ref("note", None, event.uid)], [space])
    if not found or found[0].rev != event.rev:
        what = f"note {found[0].id} was changed later" if found else "a note is gone"
        raise Conflict(f"cannot undo: {what}", hint="undo the later change first; `recollect history ID` shows it")
    note, home = found[0], None
    if event.rev == 1:
        before = replace(note, state="deleted")
    else:
        revision = next(r for r in store.history(event.uid, [space]) if r.rev == event.rev - 1)
        before = replace(note, **audit.fields_of(revision.image))
        home = spaces.get(revision.moved_from) if revision.moved_from else None
        if revision.moved_from and home is None:
            raise Conflict(f"cannot undo: the space {revision.moved_from!r} is not visible", hint="use --space all")
    store.apply(op, space, [change(before, note.rev, limits, rechunk=True, to_space=home)])
    ref = Ref("note", None, event.uid)
    return store.notes([ref], [home if home is not None else space])[0]


def _reopen(store: Store, space: Space, op: Operation) -> None:
    """The space of a merge: opens it again and takes its sessions home."""
    if space.merged_into is None:
        raise Conflict(f"the space {space.name!r} is not merged any more", hint="`recollect spaces` shows them")
    store.move_sessions(op, space.merged_into, space.id, space.id)
    store.close_space(space.id, None, op)
