"""Which tier a note has earned: a pure plan from plain rows. Whoever asks brings the rows and the time."""

from collections.abc import Iterable
from typing import NamedTuple

from recollect.retention import retention, worth
from recollect.types import Tier
from recollect.values import value

LEAST_RETENTION = 0.7
LEAST_ACCESSES = 2
LEAST_CONFIDENCE = 0.3


class Used(NamedTuple):
    """A note and its use, as the tiers see it; one that was never read counts from its creation."""

    id: int
    space: int
    uid: str
    tier: str
    state: str
    confidence: float
    importance: int
    pinned: int
    accesses: int
    used_ms: int
    strength: float


@value
class Move:
    """A note that shall change its tier, and why."""

    id: int
    space: int
    uid: str
    to: Tier
    why: str
    retention: float
    worth: float


def moves(notes: Iterable[Used], now_ms: int, rate: float) -> list[Move]:
    """Who is promoted and who is demoted, the most worthy first. What is doubted is not promoted, so nothing goes to
    and fro."""
    found = [move for note in notes if (move := _move(note, now_ms, rate)) is not None]
    return sorted(found, key=lambda move: (-move.worth, move.id))


def _move(note: Used, now_ms: int, rate: float) -> Move | None:
    idle_ms = now_ms - note.used_ms
    left = retention(note.strength, idle_ms, note.accesses, rate, bool(note.pinned))
    to, why = _verdict(note, left)
    if to is None:
        return None
    value_ = worth(left, note.accesses, idle_ms, note.importance, bool(note.pinned))
    return Move(note.id, note.space, note.uid, to, why, round(left, 4), round(value_, 4))


def _verdict(note: Used, left: float) -> tuple[Tier | None, str]:
    doubted = note.confidence < LEAST_CONFIDENCE
    if note.tier == "semantic" and note.state == "superseded":
        return "episodic", "superseded"
    if note.tier == "semantic" and note.state == "live" and doubted:
        return "episodic", f"confidence {note.confidence:.2f}"
    kept = left >= LEAST_RETENTION and note.accesses >= LEAST_ACCESSES
    if note.tier == "episodic" and note.state == "live" and kept and not doubted:
        return "semantic", f"read {note.accesses} times, {left:.0%} retained"
    return None, ""
