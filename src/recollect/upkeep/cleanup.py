"""Cleaning up: the policies' plans, computed and applied in one transaction, so that a kill leaves before or after.
Only on a full disk it is done in parts, each a transaction under the same operation.

What is evicted or expired can be restored and the whole run undone; what was hidden longer than its grace is gone for
good, under an operation of its own. A run is store-wide, because a bound is.
"""

import itertools
import logging
from collections.abc import Iterable
from dataclasses import fields, replace

from recollect import backup, policies, tiers
from recollect.config import Settings
from recollect.errors import InvalidInput, StoreCorrupt, StoreFull
from recollect.ids import Ref, new_uid
from recollect.maturity import Move
from recollect.policies import DAY_MS, Bounds, Eviction, Hidden
from recollect.retention import RATES
from recollect.store import Change, Operation, Store
from recollect.types import Note, State
from recollect.upkeep.verify import read_key, seal, sealed
from recollect.values import value
from recollect.write import Limits, change

BATCH = 100
BULK = 100  # from here on a copy of the store is made first
PART, PART_BYTES = 25, 2000  # notes, and bytes for each; a transaction was measured to write eight times the text
DUE_MS = 6 * 3_600_000
WRITES = 1000
_log = logging.getLogger("recollect.upkeep")


@value
class Rules:
    """The bounds and periods of one run; from the settings and the caller."""

    bounds: Bounds
    grace_days: int
    history_days: int
    cache_entries: int
    forgetting: str = "days"
    force: bool = False
    unasked: bool = False  # nobody waits for the answer: what cannot be done is logged
    part: int = 0  # so many notes at most; 0: all


@value
class Cleaned:
    """What a run did, or with `dry_run` would do."""

    notes: int = 0
    bytes: int = 0
    evicted: int = 0
    freed_bytes: int = 0
    expired: int = 0
    purged: int = 0
    promoted: int = 0
    demoted: int = 0
    revisions: int = 0
    events: int = 0
    accesses: int = 0
    cache: int = 0
    pairs: int = 0
    disk_bytes: int = 0
    operation: str = ""
    notice: str = ""
    dry_run: bool = False

    @property
    def anything(self) -> bool:
        return bool(
            self.evicted or self.expired or self.purged or self.promoted or self.demoted or self.revisions
            or self.events or self.accesses or self.cache or self.pairs
        )  # fmt: skip


@value
class Plan:
    eviction: Eviction
    due: tuple[tuple[int, int], ...]
    purges: tuple[Hidden, ...]
    moves: tuple[Move, ...]  # between tiers
    now_ms: int  # as far as the clock is believed


def rules(settings: Settings, max_notes: int | None, max_bytes: int | None, force: bool) -> Rules:
    bounds = Bounds(
        settings.max_notes if max_notes is None else max_notes, settings.max_bytes if max_bytes is None else max_bytes
    )
    for name, given in (("notes", bounds.max_notes), ("bytes", bounds.max_bytes)):
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise InvalidInput(f"a limit of {given} {name} would leave nothing", hint="give a limit of 1 or more")
    return Rules(
        bounds, settings.evicted_grace_days, settings.history_days, settings.cache_entries, settings.forgetting, force
    )


def run(
    store: Store, settings: Settings, wanted: Rules, op: Operation, limits: Limits, dry_run: bool = False
) -> Cleaned:
    """One run, with a copy of the store before it if much goes."""
    if settings.audit_key_file and not dry_run:
        _keep_sealed(store, settings)
    if not dry_run and len(plan(store, wanted, op.at_ms).eviction.chosen) > BULK:
        backup.before_bulk(settings, store, "cleanup", op.at_ms)
    try:
        done = clean(store, wanted, op, limits, dry_run)
    except StoreFull:
        if dry_run or not store.make_room():
            raise
        done = _in_parts(store, wanted, op, limits)
    if settings.audit_key_file and done.events:
        seal(store, read_key(settings.audit_key_file))  # the old one may be of an event that is gone now
    return done


def _in_parts(store: Store, wanted: Rules, op: Operation, limits: Limits) -> Cleaned:
    """To the same end as at once: after the first part a bound that was passed may not be any more."""
    begun = bool(plan(store, wanted, op.at_ms).eviction.chosen)
    one = done = clean(store, replace(wanted, part=PART), op, limits)
    size = 2 * PART
    while one.evicted or one.expired or one.purged:
        try:
            one = clean(store, replace(wanted, part=size, force=begun), op, limits)
        except StoreFull:
            if size == PART or not store.make_room():
                raise
            size = PART
        else:
            done, size = _both(done, one), 2 * size  # what is freed is room for more
    return done


def _both(done: Cleaned, more: Cleaned) -> Cleaned:
    counts = {f.name: getattr(done, f.name) + getattr(more, f.name) for f in fields(Cleaned) if f.type is int}
    return replace(done, **(counts | {"notes": done.notes, "bytes": done.bytes}))


def _keep_sealed(store: Store, settings: Settings) -> None:
    """A seal may only be made anew over what was found well: trimming must not launder a forged chain."""
    found = sealed(store, settings)
    if not found.ok:
        raise StoreCorrupt(f"not cleaned up: {found.problems[0]}", hint="look at it with `recollect verify`")


def unasked(store: Store, settings: Settings, op: Operation, limits: Limits) -> Cleaned | None:
    """A run by a process that lives on: only when one is due, and without evicting where many share a server."""
    if not is_due(store, op.at_ms):
        return None
    wanted = replace(rules(settings, None, None, False), unasked=True)
    if store.engine != "sqlite":
        wanted = replace(wanted, bounds=Bounds(10**18, 10**18))
    return run(store, settings, wanted, op, limits)


def plan(store: Store, wanted: Rules, clock_ms: int) -> Plan:
    """Reads what the policies need; inside a transaction the plan is still true when it is applied."""
    earlier = store.seen_before(clock_ms - policies.TRUST_MS)
    now_ms = policies.believed_now(clock_ms, earlier)
    due = store.due(now_ms)
    notes, size = store.live_size()
    eviction = Eviction(notes=notes, bytes=size)
    if wanted.force or notes > wanted.bounds.max_notes or size > wanted.bounds.max_bytes:
        gone = set(due)
        weights = [weight for weight in store.weights() if (weight.space, weight.id) not in gone]
        eviction = policies.evictions(
            weights, wanted.bounds, _active(store, policies.present(clock_ms, earlier)), wanted.force
        )
    grace_ms = now_ms - wanted.grace_days * DAY_MS
    purges = policies.purges(store.hidden(), grace_ms, cap_bytes=wanted.bounds.max_bytes)
    leaving = {*due, *((weight.space, weight.id) for weight in eviction.chosen)}  # nothing changes twice in one run
    spaces = [space.id for space in store.spaces()]
    moves = tiers.plan(store, spaces, now_ms, RATES[wanted.forgetting])
    stay = tuple(move for move in moves if (move.space, move.id) not in leaving)
    made = Plan(eviction, tuple(due), tuple(purges), stay, now_ms)
    return _part(made, wanted.part) if wanted.part else made


def _part(made: Plan, most: int) -> Plan:
    sizes = itertools.accumulate(weight.bytes for weight in made.eviction.chosen)
    count = min(most, max(1, sum(size <= most * PART_BYTES for size in sizes)))
    eviction = replace(made.eviction, chosen=made.eviction.chosen[:count])
    return replace(made, eviction=eviction, due=made.due[:most], purges=made.purges[:most])


def _active(store: Store, now_ms: int) -> set[tuple[int, str]]:
    """A note names its session by uid or by key."""
    ids = {space.name: space.id for space in store.spaces()}
    sessions = store.sessions(list(ids.values()), limit=1_000_000)
    running = [one for one in sessions if policies.is_active(one.seen_ms, one.ended_ms, now_ms)]
    return {(ids[one.space], name) for one in running for name in (one.uid, one.key)}


def clean(store: Store, wanted: Rules, op: Operation, limits: Limits, dry_run: bool = False) -> Cleaned:
    """The plan, then all of it or none. What stops the eviction is raised where somebody waits for the answer."""
    before = (op.at_ms - wanted.history_days * DAY_MS, op.at_ms - policies.ACCESS_DAYS * DAY_MS)
    with store.snapshot() if dry_run else store.transaction([space.id for space in store.spaces()]):
        made = plan(store, wanted, op.at_ms)
        if made.eviction.stop and not wanted.unasked:
            raise InvalidInput(made.eviction.stop, hint="raise max_notes or max_bytes, or unpin or delete notes")
        shift = op.at_ms - made.now_ms  # where the clock is not believed, nothing is old by it
        before = (before[0] - shift, before[1] - shift)
        trim = (before[0], policies.FEW, before[1], wanted.cache_entries)
        counts = store.count_trim(*trim) if dry_run else _apply(store, made, op, limits, trim)
        counts["events"] = _old_events(store, op, before[0], dry_run)
        counts["pairs"] = _pairs(store, made.now_ms, dry_run)
    done = Cleaned(
        notes=made.eviction.notes, bytes=made.eviction.bytes, evicted=len(made.eviction.chosen),
        freed_bytes=made.eviction.freed_bytes, expired=len(made.due), purged=len(made.purges),
        promoted=sum(move.to == "semantic" for move in made.moves),
        demoted=sum(move.to == "episodic" for move in made.moves),
        operation=op.id if not dry_run and (made.eviction.chosen or made.due or made.moves) else "",
        notice=made.eviction.stop, dry_run=dry_run, **counts,
    )  # fmt: skip
    if not dry_run:
        merge = bool(made.purges) or len(made.eviction.chosen) >= BULK  # what is purged leaves the index too
        done = replace(done, disk_bytes=store.compact(merge))
        _report(done)
    return done


def _report(done: Cleaned) -> None:
    _log.log(
        logging.WARNING if done.notice else logging.INFO,
        "cleanup: evicted %d notes (%d bytes), expired %d, purged %d, promoted %d, demoted %d, old versions %d, "
        "events %d; %s",
        done.evicted, done.freed_bytes, done.expired, done.purged, done.promoted, done.demoted, done.revisions,
        done.events,
        done.notice or "within bounds",
    )  # fmt: skip


def _apply(store: Store, made: Plan, op: Operation, limits: Limits, trim: tuple[int, int, int, int]) -> dict[str, int]:
    _hide(store, replace(op, verb="expire"), made.due, "expired", limits)
    chosen = [(weight.space, weight.id) for weight in made.eviction.chosen]
    _hide(store, replace(op, verb="evict"), chosen, "evicted", limits)
    tiers.apply(store, replace(op, verb="mature"), made.moves, limits)
    if made.purges:
        purge = Operation(new_uid(op.at_ms), "purge", op.actor, op.at_ms)
        store.remove(purge, sorted({row.space for row in made.purges}), [row.uid for row in made.purges], [])
    store.trim_removals(policies.REMOVALS)
    return store.trim(*trim)


def _hide(store: Store, op: Operation, which: Iterable[tuple[int, int]], state: State, limits: Limits) -> None:
    by_space: dict[int, list[int]] = {}
    for space, note_id in which:
        by_space.setdefault(space, []).append(note_id)
    for space, ids in sorted(by_space.items()):
        for start in range(0, len(ids), BATCH):
            notes = store.notes([Ref("note", note_id, None) for note_id in ids[start : start + BATCH]], [space])
            store.apply(op, space, [_hidden(note, state, op.at_ms, limits) for note in notes])


def _hidden(note: Note, state: State, at_ms: int, limits: Limits) -> Change:
    return change(replace(note, state=state, updated_ms=max(at_ms, note.updated_ms)), note.rev, limits, rechunk=False)


def _old_events(store: Store, op: Operation, before_ms: int, dry_run: bool) -> int:
    trim = Operation(new_uid(op.at_ms), "anchor", op.actor, op.at_ms)
    count = 0
    for space in store.spaces():
        last = store.old_events(space.id, before_ms)
        if last and dry_run:
            count += last - store.chain(space.id)[0][0]
        elif last:
            count += store.trim_events(trim, space.id, last)
    return count


def _pairs(store: Store, now_ms: int, dry_run: bool) -> int:
    """Learned tool pairs that are doubtful, unused or too many; they leave no events, and undo does not know them."""
    from recollect.tools import KEEP, standing_limits

    least, days, most = standing_limits(store)
    spaces, since, keep = [space.id for space in store.spaces()], now_ms - int(days * DAY_MS), int(most * KEEP)
    if not dry_run:
        return sum(store.prune_pairs(spaces, least, since, most, keep).values())
    gone = 0
    for space in spaces:
        pairs = store.pairs([space])
        kept = sum(pair.confidence >= least and pair.last_used_ms >= since for pair in pairs)
        gone += len(pairs) - (keep if kept > most else kept)
    return gone


def is_due(store: Store, at_ms: int) -> bool:
    """Whether enough time or enough writes have passed since the last run by anyone; a clock that went back is due."""
    last = (store.get_meta("upkeep") or "").split(":")
    written = sum(store.chain(space.id)[1][0] for space in store.spaces())
    if len(last) == 2 and at_ms - DUE_MS < int(last[0]) <= at_ms and written - int(last[1]) < WRITES:
        return False
    store.set_meta("upkeep", f"{at_ms}:{written}")
    return True
