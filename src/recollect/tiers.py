"""Promotion and demotion: by the rule's plan, which can be shown before it is applied, and by hand.

A move is a change of one note like any other: the same uid, links, pin and history, an event, undo. A plan is computed
and applied in one transaction under one operation. The rule promotes a note once; what was taken back from there, by
hand, by the rule or by undo, returns by hand alone, so that nobody's decision is overruled by the next clean-up.
"""

from collections.abc import Sequence
from dataclasses import replace

from recollect.errors import InvalidInput
from recollect.ids import Ref
from recollect.maturity import LEAST_ACCESSES, LEAST_CONFIDENCE, Move, moves
from recollect.store import Change, Operation, Store
from recollect.types import Note, Tier
from recollect.values import value
from recollect.write import Limits, change

BATCH = 100
FROM_SCRATCHPAD = "from-scratchpad"


@value
class Moved:
    """A note in a plan, with the words by which people know it."""

    id: int
    uid: str
    title: str
    space: str
    tier: Tier
    to: Tier
    why: str
    retention: float
    worth: float


@value
class Matured:
    """What a run of the rule did, or with `dry_run` would do."""

    moved: tuple[Moved, ...] = ()
    operation: str = ""
    dry_run: bool = False


def plan(store: Store, spaces: Sequence[int], now_ms: int, rate: float) -> list[Move]:
    """Inside a transaction the plan is still true when it is applied."""
    wanted = moves(store.tier_candidates(spaces, LEAST_ACCESSES, LEAST_CONFIDENCE), now_ms, rate)
    return [move for move in wanted if move.to != "semantic" or not _was_semantic(store, move)]


def _was_semantic(store: Store, move: Move) -> bool:
    return any(past.image.get("tier") == "semantic" for past in store.history(move.uid, [move.space]))


def mature(store: Store, spaces: Sequence[int], op: Operation, rate: float, limits: Limits, dry_run: bool) -> Matured:
    with store.snapshot() if dry_run else store.transaction(sorted(spaces)):
        planned = plan(store, spaces, op.at_ms, rate)
        before = _notes(store, planned)
        if not dry_run:
            apply(store, op, planned, limits)
    told = tuple(
        Moved(note.id, note.uid, note.title, note.space, note.tier, move.to, move.why, move.retention, move.worth)
        for move in planned
        if (note := before.get(move.id)) is not None
    )
    return Matured(told, op.id if planned and not dry_run else "", dry_run)


def apply(store: Store, op: Operation, planned: Sequence[Move], limits: Limits) -> None:
    """All moves, inside the caller's transaction."""
    notes = _notes(store, planned)
    for space in sorted({move.space for move in planned}):
        here = [move for move in planned if move.space == space]
        for start in range(0, len(here), BATCH):
            batch = here[start : start + BATCH]
            store.apply(op, space, [_moved(notes[move.id], move.to, op.at_ms, limits) for move in batch])


def _notes(store: Store, planned: Sequence[Move]) -> dict[int, Note]:
    refs = [Ref("note", move.id, None) for move in planned]
    return {note.id: note for note in store.notes(refs, sorted({move.space for move in planned}))}


def _moved(note: Note, to: Tier, at_ms: int, limits: Limits) -> Change:
    return change(replace(note, tier=to, updated_ms=max(at_ms, note.updated_ms)), note.rev, limits, rechunk=False)


# -- by hand ------------------------------------------------------------------------------------------------------


def promote(store: Store, space: int, note: Note, op: Operation, limits: Limits) -> Note:
    """One tier up. A scratchpad item whose text is live already is superseded by that note, which is the answer."""
    if note.state != "live":
        raise InvalidInput(
            f"note {note.id} is {note.state}", hint=f"`recollect restore {note.id}` brings it back first"
        )
    if note.tier == "semantic":
        raise InvalidInput(f"note {note.id} is semantic already", hint="there is no tier above")
    if note.tier == "scratchpad":
        return settle(store, space, note, op, limits)
    if note.confidence < LEAST_CONFIDENCE:
        raise InvalidInput(
            f"note {note.id} has a confidence of {note.confidence:.2f}; knowledge begins at {LEAST_CONFIDENCE}",
            hint=f"raise it first: `recollect update {note.id} --confidence 0.5`",
        )
    store.apply(op, space, [_moved(note, "semantic", op.at_ms, limits)])
    return _now(store, space, note.uid)


def demote(store: Store, space: int, note: Note, op: Operation, limits: Limits) -> Note:
    """One tier down; nothing goes back to the scratchpad but by undo."""
    if note.tier != "semantic":
        raise InvalidInput(f"note {note.id} is {note.tier} and not semantic", hint="there is no tier below for it")
    store.apply(op, space, [_moved(note, "episodic", op.at_ms, limits)])
    return _now(store, space, note.uid)


def settle(store: Store, space: int, item: Note, op: Operation, limits: Limits) -> Note:
    """A scratchpad item becomes a note for good, with chunks to be found by; in one transaction."""
    with store.transaction([space]):
        twin = store.holders(space, [item.content_hash]).get(item.content_hash)
        at_ms = max(op.at_ms, item.updated_ms)
        if twin is not None:
            after = replace(item, state="superseded", superseded_by=twin, expires_ms=None, updated_ms=at_ms)
        else:
            tags = tuple(dict.fromkeys((*item.tags, FROM_SCRATCHPAD)))
            after = replace(item, tier="episodic", state="live", tags=tags, expires_ms=None, updated_ms=at_ms)
        store.apply(op, space, [change(after, item.rev, limits, rechunk=True)])
        return _now(store, space, twin or item.uid)


def _now(store: Store, space: int, uid: str) -> Note:
    return store.notes([Ref("note", None, uid)], [space])[0]
