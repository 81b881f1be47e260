"""Belief: how sure a note is, which note took another's place, and which notes say the same or the opposite.

Every change is one operation, in one transaction, and `undo` takes it back. Nothing is removed: a superseded note
stays, hidden, with the time until which it was true. Contradictions and duplicates are found and shown; whoever asked
decides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from recollect.claims import LEAST_SCORE, Contradiction, contradictions, frame, true_from
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.ids import Ref, parse_ref
from recollect.likeness import Duplicates, by_terms, by_vectors, groups, in_order, richness, terms_of
from recollect.spaces import named
from recollect.store import Change, Operation, Store
from recollect.types import Draft, Filter, Link, Note
from recollect.values import value
from recollect.write import Limits, change, prepare, revise

if TYPE_CHECKING:
    from recollect.embedding import Embedding

STEP = 0.1  # of confidence, for each piece of evidence
CATCH_UP = 0.5  # reinforcing closes at most this share of the gap to certainty
DOUBTED = 0.3  # below this a note is no longer knowledge
COMPARED = 5000  # the newest so many notes are compared with each other
_TIERS = ("episodic", "semantic")
_INHERITED = ("kind", "tags", "importance", "tier", "pinned", "context")
_DRAFTED = {field.name for field in fields(Draft)} - {"content", "state", "superseded_by", "space", "uid"}

Reference = int | str | Note


def reinforced(confidence: float, times: int) -> float:
    """More evidence: a step for each piece, but never more than half of what is missing."""
    return round(confidence + min(STEP * times, CATCH_UP * (1 - confidence)), 10)


def contradicted(confidence: float, times: int) -> float:
    return round(max(0.0, confidence - STEP * times), 10)


def hidden(note: Note, successor: Note, op: Operation, limits: Limits, at_ms: int | None = None) -> Change:
    """The note as superseded: true until the other begins, or until now if that one began earlier."""
    begins = true_from(successor) if at_ms is None else at_ms
    ends = begins if begins > true_from(note) else max(op.at_ms, true_from(note))
    if note.valid_to_ms is not None:
        ends = min(ends, note.valid_to_ms)
    new = {"state": "superseded", "superseded_by": successor.uid, "valid_to_ms": ends, "tier": "episodic"}
    return change(revise(note, new, limits, op.at_ms, allow_secrets=True).note, note.rev, limits, rechunk=False)


@value
class Superseded:
    """What took whose place. `notice` says what else the caller should know."""

    old: Note
    new: Note
    operation: str
    notice: str = ""


@value
class Merged:
    """What was, or would be, kept and hidden."""

    groups: tuple[Duplicates, ...]
    operation: str
    dry_run: bool

    @property
    def hidden(self) -> int:
        return sum(len(group.others) for group in self.groups)


class Beliefs:
    """The beliefs of the spaces that a Memory sees."""

    def __init__(
        self, store: Store, limits: Limits, find: Callable[[Reference], Note], operation: Callable[[str], Operation],
        where: Callable[..., Filter], embedding: "Callable[[], Embedding]",
    ) -> None:  # fmt: skip
        self._store = store
        self._limits = limits
        self._find = find
        self._operation = operation
        self._where = where
        self._embedding = embedding
        self.notice = ""  # what the last comparison left out, in words for the user

    # -- confidence -----------------------------------------------------------------------------------------------

    def reinforce(self, ref: Reference, times: int = 1) -> Note:
        """Another piece of evidence for a note; its count is kept in the metadata as `evidence`."""
        note = self._live(ref)
        _check_times(times)
        new = {"confidence": reinforced(note.confidence, times), "metadata": _counted(note, "evidence", times)}
        return self._change(note, "reinforce", new)

    def contradict(self, ref: Reference, times: int = 1, *, by: Reference | None = None) -> Note:
        """Evidence against a note, counted as `contradictions`. Below 0.3 it is no longer semantic; it stays live.

        `by` names the note that speaks against it and is linked.
        """
        note = self._live(ref)
        _check_times(times)
        confidence = contradicted(note.confidence, times)
        new: dict[str, Any] = {"confidence": confidence, "metadata": _counted(note, "contradictions", times)}
        if confidence < DOUBTED and note.tier == "semantic":
            new["tier"] = "episodic"
        if by is not None:
            other = self._find(by)
            _refuse_same(note, other)
            new["links"] = _linked(note, other.uid, "contradicted by")
        return self._change(note, "contradict", new)

    def _change(self, note: Note, verb: str, new: Mapping[str, Any]) -> Note:
        op = self._operation(verb)
        home = self._home(note)
        self._store.apply(op, home, [self._revised(note, new, op)])
        return self._store.notes([Ref("note", note.id, None)], [home])[0]

    # -- superseding ----------------------------------------------------------------------------------------------

    def supersede(
        self, old: Reference, new: Reference, *, as_text: bool = False, at_ms: int | None = None,
        at: str | None = None, **more: Any,
    ) -> Superseded:  # fmt: skip
        """The new note takes the place of the old one, which stays, hidden, and is found by `as_of`. What the old one
        was about goes into the new one's context, so that the same question finds it.

        `new` is a note or a text; a string that reads as an id is one, unless it is meant `as_text`. A text takes
        kind, tags, importance, tier, pin, context and links of the old note unless `more`, fields of `Draft`, says
        otherwise. `at_ms`, or `at` in words, is when the new one became true; otherwise when it was made.
        """
        if at is not None:
            at_ms = self._where(since=at).since_ms
        before = self._live(old)
        op = self._operation("supersede")
        home = self._home(before)
        _check_start(before, at_ms, op.at_ms)
        if isinstance(new, str) and (as_text or not is_id(new)):
            with self._store.transaction([home]):
                successor, notice = self._added(before, new, op, at_ms, more)
                return self._replaced(before, successor, op, at_ms, notice)
        if more:
            raise InvalidInput(f"{', '.join(sorted(more))}: the note exists already", hint="give a text, or update it")
        successor = self._live(new)
        _refuse_same(before, successor)
        with self._store.transaction(sorted({home, self._home(successor)})):
            return self._replaced(before, successor, op, at_ms, "")

    def _added(
        self, before: Note, text: str, op: Operation, at_ms: int | None, more: Mapping[str, Any]
    ) -> tuple[Note, str]:
        """The new note, made with everything that it shall have, or the live note that already has its text."""
        unknown = sorted(set(more) - _DRAFTED)
        if unknown:
            raise InvalidInput(f"unknown field {unknown[0]!r}", hint=f"one of: {', '.join(sorted(_DRAFTED))}")
        home = self._home(before)
        inherited = {name: getattr(before, name) for name in _INHERITED}
        draft = Draft(text, **{**inherited, "links": before.links, "valid_from_ms": at_ms, **more})
        item = prepare(draft, before.space, self._limits, op.at_ms)
        if item.note.content_hash == before.content_hash:
            raise InvalidInput("the new text is the old one", hint="give the text that is true now")
        context = _joined(item.note.context, before.context, frame(before.content, item.note.content))
        whole = {"links": _linked(item.note, before.uid, "supersedes"), "context": context}
        made = revise(item.note, whole, self._limits, op.at_ms).note
        (done,) = self._store.apply(op, home, [change(made, 0, self._limits, rechunk=True, words=item.words)])
        notice = f"redacted: {', '.join(item.redacted)}" if item.redacted else ""
        return self._store.notes([Ref("note", done.id, None)], [home])[0], notice

    def _replaced(
        self, before: Note, successor: Note, op: Operation, at_ms: int | None, notice: str
    ) -> Superseded:
        home, other = self._home(before), self._home(successor)
        new: dict[str, Any] = {}
        if Link(before.uid, "supersedes") not in successor.links:
            new["links"] = _linked(successor, before.uid, "supersedes")
        context = _joined(successor.context, before.context, frame(before.content, successor.content))
        if context != successor.context:
            new["context"] = context
        if at_ms is not None and true_from(successor) > at_ms:
            new["valid_from_ms"] = at_ms
        if new:
            self._store.apply(op, other, [self._revised(successor, new, op)])
        self._store.apply(op, home, [hidden(before, successor, op, self._limits, at_ms)])
        ref = [Ref("note", before.id, None), Ref("note", successor.id, None)]
        old, now = self._store.notes(ref, sorted({home, other}))
        told = [notice, *(f"note {id} was gathered from it and still says so" for id in self._gathered_from(before))]
        return Superseded(old, now, op.id, "; ".join(filter(None, told)))

    def _gathered_from(self, note: Note) -> list[int]:
        """Live semantic notes that consolidation made of this one: they quote what is no longer true."""
        known = self._store.list_notes(self._where(tiers=("semantic",)), COMPARED)
        return [one.id for one in known if Link(note.uid, "source") in one.links]

    # -- contradictions and duplicates ----------------------------------------------------------------------------

    def contradictions(
        self, ref: Reference | None = None, *, limit: int = 20, min_score: float = LEAST_SCORE, **filters: Any
    ) -> Sequence[Contradiction]:
        """Notes that give different values to the same, the surest first, for somebody to decide; with `ref` only those
        that this note is part of. `supersede(older, newer)` decides one."""
        wanted = None if ref is None else self._live(ref)
        found = contradictions(self._notes(filters), min_score, None if wanted is None else wanted.uid)
        return tuple(found[:limit])

    def duplicates(self, *, limit: int = 50, **filters: Any) -> Sequence[Duplicates]:
        """Notes that say the same in nearly the same words, by meaning where there are vectors, else by their words."""
        notes = self._notes(filters)
        terms = terms_of(notes)
        vectors = self._vectors(filters)
        known = {note.id: note for note in notes}
        pairs = {
            (min(one, other), max(one, other)): score
            for one, other, score in by_terms(terms)
            if in_order(known[one], known[other])
        }
        for one, other, score in by_vectors([row for row in vectors if row[0] in terms], terms):
            pairs[min(one, other), max(one, other)] = score
        by = "meaning" if vectors else "words"
        return tuple(groups(notes, [(one, other, score) for (one, other), score in pairs.items()], by)[:limit])

    def merge(self, *refs: Reference, keep: Reference | None = None) -> Merged:
        """Makes several notes one: the richest (or `keep`) stays and takes over tags, links, importance and pin of the
        others, which it supersedes."""
        found = {note.uid: note for note in map(self._live, refs if keep is None else (*refs, keep))}
        if len(found) < 2:
            raise InvalidInput("merging takes two notes or more", hint="`recollect duplicates` finds some")
        kept = max(found.values(), key=richness) if keep is None else self._live(keep)
        others = tuple(note for note in found.values() if note.uid != kept.uid)
        if any(note.space != kept.space for note in others):
            raise InvalidInput("the notes are in different spaces", hint="`recollect spaces merge` joins spaces")
        if any(note.trusted != kept.trusted for note in others):
            raise InvalidInput("what is trusted and what is not cannot be one note", hint="supersede one of them")
        return self._merged([Duplicates(kept, others, (1.0,) * len(others), "hand")])

    def merge_duplicates(
        self, shown: Sequence[Duplicates] | None = None, *, limit: int = 50, dry_run: bool = False, **filters: Any
    ) -> Merged:
        """Merges what `duplicates` shows, in one operation; a dry run only shows it. With `shown` exactly those groups
        are merged, or nothing if a note was changed since."""
        found = self.duplicates(limit=limit, **filters) if shown is None else shown
        return Merged(tuple(found), "", True) if dry_run or not found else self._merged(found)

    def _merged(self, found: Sequence[Duplicates]) -> Merged:
        op = self._operation("merge")
        homes = {group.keep.space: self._home(group.keep) for group in found}
        with self._store.transaction(sorted(homes.values())):
            for space, home in homes.items():
                changes = [one for group in found if group.keep.space == space for one in self._united(group, op)]
                self._store.apply(op, home, changes)
            after = {
                note.id: note
                for group in found
                for note in self._store.notes(
                    [Ref("note", one.id, None) for one in (group.keep, *group.others)], [homes[group.keep.space]]
                )
            }
        done = tuple(
            Duplicates(after[group.keep.id], tuple(after[one.id] for one in group.others), group.scores, group.by)
            for group in found
        )
        return Merged(done, op.id, False)

    def _united(self, group: Duplicates, op: Operation) -> list[Change]:
        every = (group.keep, *group.others)
        gone = {note.uid for note in group.others}
        links = {link for note in every for link in note.links if link.to not in gone | {group.keep.uid}}
        tags = tuple(dict.fromkeys(tag for note in every for tag in note.tags))
        new = {
            "tags": tags[: self._limits.max_tags],  # what is too many stays on the hidden note
            "links": tuple(links | {Link(uid, "merged") for uid in gone}),
            "importance": max(note.importance for note in every), "pinned": any(note.pinned for note in every),
            "confidence": max(note.confidence for note in every),
            "metadata": {name: part for note in reversed(every) for name, part in note.metadata.items()},
        }  # fmt: skip
        gone_notes = [hidden(note, group.keep, op, self._limits) for note in group.others]
        return [self._revised(group.keep, new, op), *gone_notes]

    # -- inside ---------------------------------------------------------------------------------------------------

    def _notes(self, filters: Mapping[str, Any]) -> Sequence[Note]:
        found = self._store.list_notes(self._where(**{"tiers": _TIERS, **filters}), COMPARED)
        self.notice = f"only the newest {COMPARED:,} notes were compared" if len(found) == COMPARED else ""
        return found

    def _vectors(self, filters: Mapping[str, Any]) -> list[tuple[int, bytes]]:
        """Of the notes that have one; what is pending is embedded first, if this process can."""
        where = self._where(**{"tiers": _TIERS, **filters})
        self._embedding().drain(where.spaces, COMPARED, 5000)
        model = self._store.active_model()
        return [] if model is None else self._store.note_vectors(model[0], where, COMPARED)

    def _revised(self, note: Note, new: Mapping[str, Any], op: Operation) -> Change:
        item = revise(note, new, self._limits, op.at_ms, allow_secrets=True)  # it passed the boundary when it came in
        indexed = (note.tags, note.context) != (item.note.tags, item.note.context)
        return change(item.note, note.rev, self._limits, rechunk=indexed)

    def _home(self, note: Note) -> int:
        return named(self._store, note.space).id

    def _live(self, ref: Reference) -> Note:
        note = self._find(ref)
        if note.state == "superseded":
            raise Conflict(
                f"note {note.id} is superseded already", hint=f"`recollect get {note.superseded_by}` shows by what"
            )
        if note.state != "live" or note.tier not in _TIERS:
            what = note.state if note.state != "live" else f"in the {note.tier}"
            raise NotFound(f"note {note.id} is {what}", hint=f"`recollect restore {note.id}` brings a hidden note back")
        return note


def is_id(text: str) -> bool:
    try:
        return parse_ref(text).what == "note"
    except InvalidInput:
        return False


def _refuse_same(one: Note, other: Note) -> None:
    if one.uid == other.uid:
        raise InvalidInput(f"{one.id} and {other.id} are one note", hint="name two notes")


def _check_times(times: int) -> None:
    if not isinstance(times, int) or isinstance(times, bool) or not 1 <= times <= 1000:
        raise InvalidInput(f"times {times!r} is not a whole number from 1 to 1000", hint="1 is the default")


def _check_start(before: Note, at_ms: int | None, now_ms: int) -> None:
    if at_ms is not None and at_ms > now_ms:
        raise InvalidInput("that time is still to come", hint=f"note {before.id} is true until then; supersede it then")
    if at_ms is not None and at_ms <= true_from(before):
        raise InvalidInput(
            f"note {before.id} was not true yet at that time", hint="give a later time, or update its valid_from_ms"
        )


def _counted(note: Note, name: str, times: int) -> dict[str, Any]:
    known = note.metadata.get(name)
    return {**note.metadata, name: (known if isinstance(known, int) else 0) + times}


def _joined(*parts: str) -> str:
    """What a note is about, with what its predecessors were about, each once: by their words it is found again."""
    return " ".join(dict.fromkeys(part for part in parts if part and (part is parts[0] or part not in parts[0])))


def _linked(note: Note, uid: str, kind: str) -> tuple[Link, ...]:
    return (*note.links, Link(uid, kind))
