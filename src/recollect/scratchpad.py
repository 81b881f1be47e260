"""The scratchpad: what one session of one agent has at hand, for a while and within a budget of tokens.

An item is a note of the tier `scratchpad`, stored as it is put, so that a kill loses nothing; history, undo and
erasure are those of every note. Items of other sessions are never seen here. What no longer fits becomes an episodic
note in the same transaction. At its start a session takes over what the one before it left behind.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.config import Settings
from recollect.errors import InvalidInput, NotFound
from recollect.ids import Ref, new_uid, parse_ref
from recollect.retention import RATES
from recollect.store import Change, Operation, Store, Use
from recollect.text.redact import clean
from recollect.tiers import settle
from recollect.types import Draft, Filter, Link, Note, Origin, Session, Space
from recollect.values import value
from recollect.write import Limits, Prepared, change, prepare

MINUTE_MS = 60_000
IDLE_MS = 10 * MINUTE_MS  # a session that did not end may still go on for this long after it was last seen
MOST_ITEMS = 10_000
ABOUT = "scratchpad"  # where an item's metadata say whose it is


@value
class Jotted(Note):
    """The item as it is now; `created` is False where a key was written over, `overflow` has the ids that made room."""

    created: bool = True
    overflow: tuple[int, ...] = ()
    notice: str = ""
    operation: str = ""


@value
class Restored:
    """What was taken over, and from which session; `notice` says what else is there to be had."""

    items: tuple[Note, ...] = ()
    session: str | None = None
    overflow: tuple[int, ...] = ()
    notice: str = ""
    operation: str = ""


@value
class _Left:
    """What a session left behind: its items, when it was last seen, and whether it has ended."""

    session: str
    items: tuple[Note, ...]
    seen_ms: int
    ended_ms: int | None
    known: bool

    def is_over(self, now_ms: int) -> bool:
        return not self.known or self.ended_ms is not None or now_ms - self.seen_ms >= IDLE_MS


class Scratchpad:
    """The items of one (space, agent, session); `of` gives another session's."""

    def __init__(
        self, store: Store, settings: Settings, limits: Limits, operation: Callable[[str], Operation],
        space: Callable[[bool], Space | None], agent: str, session: str | None = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._settings = settings
        self._limits = limits
        self._operation = operation
        self._space = space
        self.agent = clean(agent).text
        self.session = clean(session).text if session else None

    def of(self, session: Session | str | None, agent: str | None = None) -> "Scratchpad":
        """The scratchpad of a session; one that was started here brings its agent along."""
        if isinstance(session, Session):
            agent, session = agent or session.agent, session.uid
        return Scratchpad(
            self._store, self._settings, self._limits, self._operation, self._space, agent or self.agent, session
        )

    # -- reading --------------------------------------------------------------------------------------------------

    def items(self) -> list[Note]:
        """What is at hand, what matters most first: pinned, then by importance, then the newest."""
        space = self._space(False)
        found = self._own(space, self._operation("list").at_ms) if space is not None else []
        return sorted(found, key=lambda item: (not item.pinned, -item.importance, -item.updated_ms, -item.id))

    def get(self, ref: int | str | Note) -> Note:
        """The item with a key, an id or a uid; the access is counted."""
        op = self._operation("get")
        found = self._find(ref, op.at_ms)
        self._store.record_use([Use(found.id, "get", op.at_ms)], RATES[self._settings.forgetting])
        return found

    # -- changing -------------------------------------------------------------------------------------------------

    def put(
        self, text: str, *, key: str | None = None, ttl_minutes: float | None = None, importance: int = 5,
        pinned: bool = False, kind: str | None = None, tags: Sequence[str] = (), origin: Origin = "agent",
        allow_secrets: bool = False,
    ) -> Jotted:  # fmt: skip
        """Puts a text on the scratchpad. One with the same `key` is written over; `ttl_minutes` 0 is for good."""
        op, key = self._operation("put"), self._key(key)
        draft = Draft(
            text, kind=kind, tags=tags, importance=importance, pinned=pinned, origin=origin, session=self.session,
            metadata=self._about(key), tier="scratchpad", expires_ms=self._until(op.at_ms, ttl_minutes),
        )  # fmt: skip
        space = self._writable()
        new = prepare(draft, space.name, self._limits, op.at_ms, allow_secrets)
        with self._store.transaction([space.id]):
            items = self._own(space, op.at_ms)
            old = next((item for item in items if key is not None and key_of(item) == key), None)
            rest = [item for item in items if item is not old]
            spilled = self._spilled(rest, new.note)
            put = self._put(new.note, old, op)
            self._store.apply(op, space.id, [put])
            ids = self._settle(space, spilled, op)
            made = self._now(space, put.note.uid)
        return _jotted(made, new, old is None, ids, op)

    def drop(self, ref: int | str | Note) -> Note:
        """Takes an item off; `undo` and `restore` of the note bring it back."""
        op, space = self._operation("drop"), self._writable()
        found = self._find(ref, op.at_ms)
        self._store.apply(op, space.id, [self._dropped(found, op)])
        return self._now(space, found.uid)

    def clear(self) -> list[Note]:
        """Takes everything off, in one operation; returns what was there."""
        op, space = self._operation("drop"), self._space(False)
        if space is None:
            return []
        with self._store.transaction([space.id]):
            items = self._own(space, op.at_ms)
            self._store.apply(op, space.id, [self._dropped(item, op) for item in items])
        return items

    def restore(self, session: Session | str | None = None) -> Restored:
        """Takes over what the newest session of this agent that is over left behind, or what a named one has.

        What would have been there still when that session was last seen comes back, with a new lease of time. From a
        session that has not ended but was silent for long the items are copied, since it may come back for them.
        """
        op, space = self._operation("restore"), self._space(False)
        if space is None:
            return Restored()
        named = session.uid if isinstance(session, Session) else session
        with self._store.transaction([space.id]):
            left = self._left(space)
            found, notice = _chosen(left, named, op.at_ms)
            if found is None:
                return Restored(notice=notice)
            return self._take_over(space, found, op, notice)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _writable(self) -> Space:
        found = self._space(True)
        assert found is not None
        return found

    def _key(self, key: str | None) -> str | None:
        if key is None:
            return None
        if not isinstance(key, str) or not key.strip() or len(key) > 200:
            raise InvalidInput(f"{str(key)[:40]!r} is no key", hint="a key is a short name, such as plan")
        return clean(key.strip()).text

    def _about(self, key: str | None) -> dict[str, Any]:
        return {ABOUT: {"agent": self.agent} | ({} if key is None else {"key": key})}

    def _until(self, now_ms: int, minutes: float | None) -> int | None:
        if minutes is None:
            minutes = self._settings.scratchpad_minutes
        if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 <= minutes <= 5_256_000:
            raise InvalidInput(f"{minutes!r} is no number of minutes", hint="give 1 or more, or 0 for good")
        return now_ms + int(minutes * MINUTE_MS) if minutes else None

    def _listed(self, space: Space, now_ms: int, **more: Any) -> list[Note]:
        where = Filter((space.id,), now_ms, tiers=("scratchpad",), **more)
        found = self._store.list_notes(where, MOST_ITEMS)
        return [item for item in found if _about_of(item).get("agent") == self.agent]

    def _own(self, space: Space, now_ms: int) -> list[Note]:
        """The live items of this session, newest first."""
        return [item for item in self._listed(space, now_ms) if item.session == self.session]

    def _find(self, ref: int | str | Note, now_ms: int) -> Note:
        space = self._space(False)
        items = self._own(space, now_ms) if space is not None else []
        key = clean(ref.strip()).text if isinstance(ref, str) else None
        wanted = ref.uid if isinstance(ref, Note) else _uid_or_id(ref)
        found = next((item for item in items if key is not None and key_of(item) == key), None)
        found = found or next((item for item in items if wanted in (item.uid, item.id)), None)
        if found is None:
            shown = ref.id if isinstance(ref, Note) else ref
            raise NotFound(
                f"nothing called {str(shown)[:60]!r} is on this scratchpad", hint="`recollect scratchpad list` shows it"
            )
        return found

    def _spilled(self, rest: Sequence[Note], new: Note) -> list[Note]:
        budget = self._settings.scratchpad_tokens
        if new.token_count > budget:
            raise InvalidInput(
                f"the text has {new.token_count:,} tokens; the scratchpad holds {budget:,}",
                hint="remember it as a note: `recollect add`; `scratchpad_tokens` moves the limit",
            )
        gone = overflow(rest, budget - new.token_count)
        if sum(item.token_count for item in rest if item not in gone) > budget - new.token_count:
            raise InvalidInput(
                f"pinned items fill the scratchpad of {budget:,} tokens", hint="drop or unpin one of them first"
            )
        return gone

    def _put(self, new: Note, old: Note | None, op: Operation) -> Change:
        """A new item, or the old one of this key with the new text: the same uid, links and history."""
        if old is None:
            return change(new, 0, self._limits, rechunk=True)
        after = replace(
            new, uid=old.uid, id=old.id, created_ms=old.created_ms, updated_ms=max(op.at_ms, old.updated_ms),
            links=old.links,
        )  # fmt: skip
        return change(after, old.rev, self._limits, rechunk=False)

    def _settle(self, space: Space, items: Iterable[Note], op: Operation) -> tuple[int, ...]:
        """One after the other: two items may have the same text."""
        made = replace(op, verb="overflow")
        return tuple(settle(self._store, space.id, item, made, self._limits).id for item in items)

    def _dropped(self, item: Note, op: Operation) -> Change:
        after = replace(item, state="deleted", updated_ms=max(op.at_ms, item.updated_ms))
        return change(after, item.rev, self._limits, rechunk=False)

    def _now(self, space: Space, uid: str) -> Note:
        return self._store.notes([Ref("note", None, uid)], [space.id])[0]

    # -- taking over ----------------------------------------------------------------------------------------------

    def _left(self, space: Space) -> list[_Left]:
        """The other sessions of this agent that have something here, the last seen first."""
        by_session: dict[str, list[Note]] = {}
        for item in self._listed(space, 0, states=("live", "expired")):
            if item.session is not None and item.session != self.session:
                by_session.setdefault(item.session, []).append(item)
        found = [self._left_by(space, session, items) for session, items in by_session.items()]
        return sorted((one for one in found if one.items), key=lambda one: (-one.seen_ms, one.session))

    def _left_by(self, space: Space, session: str, items: Sequence[Note]) -> _Left:
        rows = self._store.sessions([space.id], uid=session)
        row = rows[0] if rows else self._store.find_session(space.id, self.agent, session)
        # What has expired since was changed by that, and not by the session.
        put = [item.updated_ms if item.state == "live" else item.created_ms for item in items]
        seen = max(*put, row.seen_ms if row else 0, 0)
        ended = row.ended_ms if row else None
        at = seen if ended is None else ended
        there = tuple(item for item in items if item.expires_ms is None or item.expires_ms > at)
        return _Left(session, there, seen, ended, row is not None)

    def _take_over(self, space: Space, left: _Left, op: Operation, notice: str) -> Restored:
        own = self._own(space, op.at_ms)
        taken = {key_of(item) for item in own}
        arriving = [self._arriving(item, taken, op) for item in left.items]
        moves = not left.known or left.ended_ms is not None
        gone = {item.uid for item in overflow([*own, *arriving], self._settings.scratchpad_tokens)}
        stay = [item for item in arriving if item.uid not in gone]
        if moves:
            changes = [change(item, item.rev, self._limits, rechunk=False) for item in stay]
        else:
            changes = [change(_copy(item, op), 0, self._limits, rechunk=False) for item in stay]
        self._store.apply(op, space.id, changes)
        # A copy that does not fit is not made; what it would have been made of is still there.
        spilled = [item for item in (*own, *(left.items if moves else ())) if item.uid in gone]
        ids = self._settle(space, spilled, op)
        items = self._store.notes([Ref("note", None, one.note.uid) for one in changes], [space.id])
        return Restored(tuple(items), left.session, ids, notice, op.id if changes or ids else "")

    def _arriving(self, item: Note, taken: set[str | None], op: Operation) -> Note:
        """The item as it will be here; a key that is in use stays with whom it is."""
        key = key_of(item)
        about = self._about(None if key in taken else key)
        return replace(
            item, state="live", session=self.session, metadata={**item.metadata, **about},
            expires_ms=None if item.expires_ms is None else self._until(op.at_ms, None),
            updated_ms=max(op.at_ms, item.updated_ms),
        )  # fmt: skip


def overflow(items: Iterable[Note], budget: int) -> list[Note]:
    """Which items have to go for the rest to fit: the least important first, then the oldest; never what is pinned."""
    every = list(items)
    size = sum(item.token_count for item in every)
    gone = []
    for item in sorted(every, key=lambda item: (item.importance, item.updated_ms, item.id)):
        if size <= budget:
            break
        if not item.pinned:
            gone.append(item)
            size -= item.token_count
    return gone


def key_of(item: Note) -> str | None:
    return _about_of(item).get("key")


def _about_of(item: Note) -> Mapping[str, Any]:
    about = item.metadata.get(ABOUT)
    return about if isinstance(about, Mapping) else {}


def _uid_or_id(ref: int | str) -> int | str | None:
    """None for what can be no id: then it was a key."""
    try:
        found = parse_ref(ref)
    except InvalidInput:
        return None
    return (found.uid or found.id) if found.what == "note" else None


def _copy(item: Note, op: Operation) -> Note:
    return replace(
        item, uid=new_uid(op.at_ms), id=0, rev=1, created_ms=op.at_ms, updated_ms=op.at_ms,
        links=(*item.links, Link(item.uid, "copy")),
    )  # fmt: skip


def _chosen(left: Sequence[_Left], named: str | None, now_ms: int) -> tuple[_Left | None, str]:
    """Whose items are taken over, and what to say about those who still work with theirs."""
    if named is not None:
        return next((one for one in left if one.session == named), None), ""
    found = next((one for one in left if one.is_over(now_ms)), None)
    busy = [one for one in left if not one.is_over(now_ms)]
    if not busy:
        return found, ""
    return found, f"session {busy[0].session} has not ended and keeps its items; name it to take them over"


def _jotted(note: Note, prepared: Prepared, created: bool, ids: tuple[int, ...], op: Operation) -> Jotted:
    notice = f"redacted: {', '.join(prepared.redacted)}" if prepared.redacted else ""
    return Jotted(**vars(note), created=created, overflow=ids, notice=notice, operation=op.id)
