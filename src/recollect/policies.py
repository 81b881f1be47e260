"""What shall go and what shall stay: pure functions from plain rows to a plan. No clock, no database.

Whoever asks brings the rows and the time; what comes back can be shown before anything is done. The order and the
exemptions of every policy are here and nowhere else.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from recollect.values import value

DAY_MS = 86_400_000
TARGET = 0.85  # of a bound that was passed: room for a while, so that not every write evicts
PROTECTED_KINDS = frozenset({"decision"})
ACTIVE_MS = DAY_MS  # a session that was not ended counts as active for this long after it was last seen
TRUST_MS = DAY_MS  # how far the clock is believed beyond what an earlier day left behind
FAR_MS = 3 * DAY_MS  # a weekend is not far
REMOVALS = 10_000  # kept of the log that readers of vectors follow; a row is some 20 bytes
ACCESS_DAYS = 90  # each access is kept this long; the counters beside it stay
FEW = 20  # the newest versions of a note are kept however old they are


class Weight(NamedTuple):
    """A live note as the bounds see it."""

    id: int
    space: int
    bytes: int
    kind: str
    pinned: int
    session: str | None
    created_ms: int
    accessed_ms: int | None


class Hidden(NamedTuple):
    """A note that was evicted or has expired; `since_ms` says when."""

    uid: str
    space: int
    bytes: int
    since_ms: int


@value
class Bounds:
    max_notes: int
    max_bytes: int


@value
class Eviction:
    """Which notes go, in order; `stop` says why none can, in words for the user."""

    chosen: tuple[Weight, ...] = ()
    notes: int = 0
    bytes: int = 0
    protected: int = 0
    protected_bytes: int = 0
    stop: str = ""

    @property
    def freed_bytes(self) -> int:
        return sum(weight.bytes for weight in self.chosen)


def believed_now(now_ms: int, earlier_ms: int | None) -> int:
    """The time that may be acted upon.

    `earlier_ms` is the newest event that is at least TRUST_MS old by the clock. A clock that jumped ahead is far from
    everything that was ever written, so it is believed for one day beyond that event and no more; it is trusted again
    once something was written a day before. A clock that jumped back is taken as it is: nothing is due early.
    """
    return now_ms if earlier_ms is None else min(now_ms, earlier_ms + TRUST_MS)


def present(now_ms: int, earlier_ms: int | None) -> int:
    """The time by which a session counts as going on: the clock, unless it is far from all that was written."""
    return now_ms if earlier_ms is None or now_ms - earlier_ms <= FAR_MS else earlier_ms


def is_active(seen_ms: int, ended_ms: int | None, now_ms: int) -> bool:
    return ended_ms is None and seen_ms > now_ms - ACTIVE_MS


def is_protected(weight: Weight, active: Collection[tuple[int, str]]) -> bool:
    """Decisions, pinned notes, and what belongs to a session that is still going on: `active` has (space, session)."""
    if weight.pinned or weight.kind in PROTECTED_KINDS:
        return True
    return weight.session is not None and (weight.space, weight.session) in active


def evictions(
    weights: Sequence[Weight], bounds: Bounds, active: Collection[tuple[int, str]], force: bool = False
) -> Eviction:
    """Down to TARGET of both bounds if one was passed (or `force`): least recently accessed first, then oldest.

    A note that was never accessed counts from its creation. If what is protected alone is more than the target,
    nothing goes: evicting everything else would not help for long.
    """
    notes, size = len(weights), sum(weight.bytes for weight in weights)
    protected = [weight for weight in weights if is_protected(weight, active)]
    held = sum(weight.bytes for weight in protected)
    plan = Eviction((), notes, size, len(protected), held)
    over = notes > bounds.max_notes or size > bounds.max_bytes
    most_notes, most_bytes = int(bounds.max_notes * TARGET), int(bounds.max_bytes * TARGET)
    if not (over or force) or (notes <= most_notes and size <= most_bytes):
        return plan
    if len(protected) > most_notes or held > most_bytes:
        return _with(plan, stop=_too_small(plan, most_notes, most_bytes))
    kept = {weight.id for weight in protected}
    order = sorted((weight for weight in weights if weight.id not in kept), key=_age)
    chosen: list[Weight] = []
    for weight in order:
        if notes <= most_notes and size <= most_bytes:
            break
        chosen.append(weight)
        notes, size = notes - 1, size - weight.bytes
    return _with(plan, chosen=tuple(chosen))


def _age(weight: Weight) -> tuple[int, int, int]:
    accessed = weight.created_ms if weight.accessed_ms is None else weight.accessed_ms
    return accessed, weight.created_ms, weight.id


def _with(plan: Eviction, chosen: tuple[Weight, ...] = (), stop: str = "") -> Eviction:
    return Eviction(chosen, plan.notes, plan.bytes, plan.protected, plan.protected_bytes, stop)


def _too_small(plan: Eviction, most_notes: int, most_bytes: int) -> str:
    return (
        f"{plan.protected:,} notes ({plan.protected_bytes:,} bytes) are decisions, pinned or of an active session; "
        f"cleaning up would have to end at {most_notes:,} notes and {most_bytes:,} bytes"
    )


def purges(hidden: Iterable[Hidden], before_ms: int, cap_bytes: int) -> list[Hidden]:
    """Hidden notes whose grace has passed; beyond the cap the longest hidden go before that."""
    waiting = sorted(hidden, key=lambda row: (row.since_ms, row.uid))
    size = sum(row.bytes for row in waiting)
    gone: list[Hidden] = []
    for row in waiting:
        if row.since_ms > before_ms and size <= cap_bytes:
            break
        gone.append(row)
        size -= row.bytes
    return gone
