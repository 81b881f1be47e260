"""What happened around a note or a turn: notes, turns, and where sessions began and ended, in one order.

At the same millisecond a session begins before what is said in it, a turn comes before the note that it led to, and a
session ends after both. The nearest are chosen over all of them, so that a long conversation crowds nothing out of
order.
"""

from collections.abc import Sequence

from recollect.store import Store
from recollect.types import Filter, Moment, Note, Session, Turn

_LAST = 1 << 60  # an id after every other
_ORDER = {"start": 0, "turn": 1, "note": 2, "end": 3}


def around(
    store: Store, anchor: Note | Turn, where: Filter, before: int, after: int, notes_only: bool = False
) -> list[Moment]:
    """Oldest first; the anchor is among them whatever the filter says."""
    here = _moment(anchor)
    with store.snapshot():
        sides = _notes(store, anchor, where, before, after)
        if not notes_only and not where.notes_only:
            sides = tuple(
                [*one, *turns, *sessions]
                for one, turns, sessions in zip(
                    sides, _turns(store, anchor, where, before, after),
                    _sessions(store, here.at_ms, where, before, after), strict=True,
                )
            )  # fmt: skip
    earlier = sorted(sides[0], key=_key, reverse=True)[:before]
    later = sorted(sides[1], key=_key)[:after]
    return [
        *(_placed(moment, "before", -step) for step, moment in reversed(list(enumerate(earlier, 1)))),
        here,
        *(_placed(moment, "after", step) for step, moment in enumerate(later, 1)),
    ]


def _moment(said: Note | Turn) -> Moment:
    if isinstance(said, Turn):
        return Moment(None, "anchor", 0, "turn", turn=said)
    return Moment(said, "anchor", 0)


def _placed(moment: Moment, position: str, distance: int) -> Moment:
    return Moment(moment.note, position, distance, moment.what, moment.turn, moment.session)  # type: ignore[arg-type]


def _key(moment: Moment) -> tuple[int, int, int]:
    said = moment.note or moment.turn or moment.session
    return moment.at_ms, _ORDER[moment.what], said.id if said is not None else 0


def _notes(store: Store, anchor: Note | Turn, where: Filter, before: int, after: int) -> Sequence[Sequence[Moment]]:
    at = (anchor.at_ms, 0) if isinstance(anchor, Turn) else (anchor.created_ms, anchor.id)
    return tuple([_moment(note) for note in side] for side in store.neighbours(at, where, before, after))


def _turns(store: Store, anchor: Note | Turn, where: Filter, before: int, after: int) -> Sequence[Sequence[Moment]]:
    at = (anchor.at_ms, anchor.id) if isinstance(anchor, Turn) else (anchor.created_ms, _LAST)
    return tuple([_moment(turn) for turn in side] for side in store.turns_around(at, where, before, after))


def _sessions(store: Store, at_ms: int, where: Filter, before: int, after: int) -> Sequence[Sequence[Moment]]:
    return tuple(
        [_edge(what, session) for what, session in side]
        for side in store.sessions_around(at_ms, where, before, after)
    )


def _edge(what: str, session: Session) -> Moment:
    return Moment(None, "anchor", 0, "start" if what == "start" else "end", session=session)
