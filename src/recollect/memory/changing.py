"""Changing: every verb that makes a note another one, and the two that take back and remove."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect import spaces as placing
from recollect.errors import InvalidInput, NotFound
from recollect.filters import make_filter
from recollect.ids import Ref
from recollect.memory.opened import Reference, note_ref
from recollect.memory.reading import Reading
from recollect.store import Change, Operation
from recollect.types import Event, Link, Note

if TYPE_CHECKING:
    from recollect.consolidation import Consolidated
    from recollect.tiers import Matured
    from recollect.upkeep.forgetting import Receipt

_CHANGEABLE = frozenset(
    {"content", "title", "kind", "tags", "importance", "confidence", "context", "source", "metadata", "expires_ms",
     "valid_from_ms", "valid_to_ms", "pinned"}
)  # fmt: skip
_INDEXED = ("content", "title", "context", "tags")  # a change of these changes what is found


class Changing(Reading):
    """The verbs that change notes, each one operation that can be undone, but for erasure."""

    def update(
        self, ref: Reference, *, expected_rev: int | None = None, allow_secrets: bool = False, **fields: Any
    ) -> Note:
        """Changes fields of a note. With `expected_rev` only if nobody changed it meanwhile, else `Conflict`."""
        unknown = set(fields) - _CHANGEABLE
        if unknown or not fields:
            what = f"cannot change {', '.join(sorted(unknown))}" if unknown else "nothing to change"
            raise InvalidInput(what, hint=f"one or more of: {', '.join(sorted(_CHANGEABLE))}")
        return self._change(ref, "update", fields, expected_rev, allow_secrets)

    def _change(
        self, ref: Reference, verb: str, fields: Mapping[str, Any], expected_rev: int | None = None,
        allow_secrets: bool = False,
    ) -> Note:  # fmt: skip
        note = self._note(ref)
        op = self._operation(verb)
        home = self._space_id(note.space)
        self._store.apply(op, home, [self._revised(op, note, fields, expected_rev, allow_secrets)])
        return self._store.notes([Ref("note", note.id, None)], [home])[0]

    def _change_many(
        self, refs: Sequence[Reference], verb: str, fields: Callable[[Note], Mapping[str, Any]]
    ) -> Sequence[Note]:
        """Changes notes in one operation; those without fields to change stay as they are."""
        notes = {note.uid: note for note in map(self._note, refs)}
        op = self._operation(verb)
        changes: dict[int, list[Change]] = {}
        for note in notes.values():
            if given := fields(note):
                changes.setdefault(self._space_id(note.space), []).append(self._revised(op, note, given))
        if changes:
            with self._store.transaction(sorted(changes)):
                for home, those in changes.items():
                    self._store.apply(op, home, those)
        return [self._note(note) for note in notes.values()]

    def _revised(
        self, op: Operation, note: Note, fields: Mapping[str, Any], expected_rev: int | None = None,
        allow_secrets: bool = False,
    ) -> Change:  # fmt: skip
        from recollect.write import change, revise

        item = revise(note, fields, self._limits, op.at_ms, allow_secrets)
        hidden = note.state in ("deleted", "evicted")
        rechunk = hidden or any(getattr(item.note, name) != getattr(note, name) for name in _INDEXED)
        wanted = note.rev if expected_rev is None else expected_rev
        return change(item.note, wanted, self._limits, rechunk=rechunk)

    def delete(self, ref: Reference) -> Note:
        """Hides a note from search; `restore` or `undo` brings it back. To remove every trace, forget it."""
        return self.delete_many([ref])[0]

    def delete_many(self, refs: Sequence[Reference]) -> Sequence[Note]:
        """Hides notes in one operation, all of them or none; one `undo` brings them all back."""

        def fields(note: Note) -> Mapping[str, Any]:
            if note.state == "deleted":
                hint = f"`recollect restore {note.id}` brings it back"
                raise NotFound(f"note {note.id} is already deleted", hint=hint)
            return {"state": "deleted"}

        return self._with_room(lambda: self._change_many(refs, "delete", fields))

    def restore(self, ref: Reference) -> Note:
        """Makes a hidden note live again."""
        return self.restore_many([ref])[0]

    def restore_many(self, refs: Sequence[Reference]) -> Sequence[Note]:
        """Makes hidden notes live again in one operation, all of them or none."""

        def fields(note: Note) -> Mapping[str, Any]:
            again = {"valid_to_ms": None} if note.state == "superseded" else {}
            return {} if note.state == "live" else {"state": "live", "superseded_by": None, **again}

        return self._change_many(refs, "restore", fields)

    def pin(self, ref: Reference, pinned: bool = True) -> Note:
        return self.pin_many([ref], pinned)[0]

    def pin_many(self, refs: Sequence[Reference], pinned: bool = True) -> Sequence[Note]:
        """Pins notes, or takes their pins off, in one operation."""
        return self._change_many(refs, "pin", lambda _: {"pinned": pinned})

    def link(self, ref: Reference, to: Reference, kind: str = "related") -> Note:
        note, target = self._note(ref), self._note(to)
        if note.uid == target.uid:
            raise InvalidInput("a note cannot be linked to itself", hint="name two notes")
        return self._change(note, "link", {"links": (*note.links, Link(target.uid, kind))}, note.rev)

    def unlink(self, ref: Reference, to: Reference) -> Note:
        note, target = self._note(ref), note_ref(to)
        uid = target.uid or self._note(to).uid
        return self._change(note, "unlink", {"links": tuple(x for x in note.links if x.to != uid)}, note.rev)

    def promote(self, ref: Reference) -> Note:
        """One tier up: from the scratchpad to an episodic note, from there to semantic; the same uid, pin and history.

        If a live note has the text of a scratchpad item already, the answer is that note.
        """
        from recollect import tiers

        note = self._note(ref)
        return tiers.promote(self._store, self._space_id(note.space), note, self._operation("promote"), self._limits)

    def demote(self, ref: Reference) -> Note:
        """One tier down, from semantic to episodic."""
        from recollect import tiers

        note = self._note(ref)
        return tiers.demote(self._store, self._space_id(note.space), note, self._operation("demote"), self._limits)

    def mature(self, *, dry_run: bool = False) -> "Matured":
        """Promotes what is read and retained, demotes what is doubted or superseded; clean-ups do so by themselves."""
        from recollect import tiers
        from recollect.retention import RATES

        op, rate = self._operation("mature"), RATES[self.settings.forgetting]
        return tiers.mature(self._store, self._visible(), op, rate, self._limits, dry_run)

    def undo(self, operation: str | None = None) -> Sequence[Note]:
        """Takes an operation back (without an id: the newest of this space); returns its notes as they are now."""
        from recollect.undo import NOT_UNDOABLE, undo

        seen = self._visible()
        spaces = [space for space in self._store.spaces() if space.id in seen or space.merged_into in seen]
        if operation is None:
            undoable = (events for events in self.operations() if events[0].verb not in NOT_UNDOABLE)
            newest = next(undoable, None)
            if newest is None:
                raise NotFound("nothing to undo in this space", hint="`recollect log` lists operations")
            operation = newest[0].operation
        return undo(self._store, operation, spaces, self._operation("undo"), self._limits)

    def operations(self, *, limit: int = 20) -> Sequence[Sequence[Event]]:
        """The newest operations of this space, each with its events."""
        found: dict[str, tuple[Event, ...]] = {}
        spaces = self._visible() if self._wish.name == "all" else [self._space().id]
        for event in self._store.latest_events(spaces, limit * 100):
            found[event.operation] = (event, *found.get(event.operation, ()))
        return tuple(found.values())[:limit]

    def erase(self, refs: Sequence[Reference] = (), *, sessions: Sequence[str] = ()) -> Mapping[str, Any]:
        """Removes every trace of notes and sessions. Cannot be undone."""
        from recollect.upkeep import forgetting

        uids = [self._note_anyway(ref).uid for ref in refs]
        return forgetting.erase(self._store, self._visible(), uids, sessions, self._operation("erase"))

    def forget(
        self, refs: Sequence[Reference] = (), *, sessions: Sequence[str] = (), sources: Sequence[str] = (),
        query: str = "", since_ms: int | None = None, dry_run: bool = False,
    ) -> "Receipt":  # fmt: skip
        """Removes every trace of notes, sessions, what came from a source, or all that has the words of a query.

        Cannot be undone. The receipt says what went, what is pending because a reader is open, and which backups
        still hold it. `since_ms` narrows the choice, or alone chooses everything from then on.
        """
        from recollect.upkeep import forgetting

        notes = tuple(Ref("note", self._note_anyway(ref).id, None) for ref in refs)
        wish = forgetting.Wish(notes, tuple(self.session(one).uid for one in sessions), tuple(sources), query, since_ms)
        op = self._operation("erase")
        if sources and not dry_run:
            from recollect.following import unfollow

            unfollow(self._store, sources)
        return self._with_room(
            lambda: forgetting.forget(self._store, self.settings, self._visible(), wish, op, self._limits, dry_run)
        )

    def _note_anyway(self, ref: Reference) -> Note:
        """A note whose text no longer has its hash can still be erased."""
        found = self._store.notes([note_ref(ref)], self._visible())
        if not found:
            raise NotFound(f"no note {ref}", hint="`recollect list` shows the notes that you can see")
        return found[0]

    def consolidate(
        self, *, sessions: bool = False, older_than_days: float | None = None, least: int = 3,
        hide_sources: bool = False, dry_run: bool = False,
    ) -> "Consolidated":  # fmt: skip
        """Gathers old episodic notes on one subject (7 days, at least 3), or with `sessions` each old session (30
        days), in one semantic note with links to its sources, which stay unless they are to be hidden."""
        from recollect import consolidation as gathering

        wish = gathering.wish(sessions, older_than_days, least)
        op = self._operation("consolidate")
        home = self._writable() if self._wish.name == "all" else placing.find(self._store, self._wish)
        if home is None:  # nothing was ever written here
            return gathering.Consolidated((), (), 0, "", dry_run)
        if not sessions:
            self._search().embedding.drain((home.id,), gathering.COMPARED, 5000)
        gathered, notice = gathering.plan(self._store, make_filter((home.id,), op.at_ms, (), {}), wish)
        if dry_run or not gathered:
            return gathering.Consolidated((), tuple(gathered), 0, "", dry_run, notice)
        if hide_sources:
            self._copy_before("consolidate", sum(len(one.notes) for one in gathered), op)
        return replace(gathering.apply(self._store, home, gathered, op, self._limits, hide_sources), notice=notice)
