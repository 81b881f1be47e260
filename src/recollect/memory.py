"""Memory, the one object: opens a store, wires the pipelines, delegates.

Every interface ends here and adds no behaviour of its own. A Memory may be shared between threads; it holds one store
and one place to write (`space`), sees that space and the user's, and never more unless asked.
"""

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recollect import spaces as placing
from recollect.config import Settings, load_settings
from recollect.errors import InvalidInput, NotFound, StoreCorrupt, StoreFull
from recollect.filters import make_filter
from recollect.ids import Ref, new_uid, now_ms, parse_ref
from recollect.store import Change, Operation, Use
from recollect.store.opening import may_be_older, open_store
from recollect.types import (
    TIERS,
    UNFILED_SPACE,
    USER_SPACE,
    Added,
    Answer,
    Chunk,
    Draft,
    Event,
    Filter,
    Finding,
    Link,
    Moment,
    Note,
    Origin,
    Revision,
    Session,
    Space,
    Turn,
)
from recollect.values import making_many, widened

if TYPE_CHECKING:
    import threading

    from recollect.background import Background
    from recollect.beliefs import Beliefs
    from recollect.beside import Surroundings
    from recollect.consolidation import Consolidated
    from recollect.context import Context
    from recollect.embed import Embedder
    from recollect.following import Sources
    from recollect.index import Indexed, Indexer, Progress
    from recollect.scratchpad import Scratchpad
    from recollect.search import Searcher
    from recollect.tiers import Matured
    from recollect.tools import ToolMemory
    from recollect.transfer import Imported
    from recollect.upkeep.cleanup import Cleaned
    from recollect.upkeep.forgetting import Receipt
    from recollect.upkeep.verify import Verified
    from recollect.write import Limits

Reference = int | str | Note
T = TypeVar("T")
BULK = 100  # more notes than this at once are preceded by a copy of the store


class Memory:
    """`Memory("memory.db")` and you are working.

    `store` is a path or a postgresql:// address; without it the settings decide. `space` is "auto" (the project of
    the current folder, else the user space), a name, or "all" (reading only).
    """

    def __init__(
        self,
        store: str | Path | None = None,
        *,
        space: str | None = None,
        settings: Settings | None = None,
        actor: str = "python",
        folder: str | Path | None = None,
        clock: Callable[[], int] = now_ms,
        embedder: "Embedder | None" = None,
        create: bool = True,
    ) -> None:
        chosen: dict[str, Any] = {
            name: str(value) for name, value in (("store", store), ("space", space)) if value is not None
        }
        self.settings = load_settings(**chosen) if settings is None else replace(settings, **chosen)
        self.actor = actor
        self._clock = clock
        self._folder = Path(folder) if folder is not None else Path.cwd()
        if store is None:
            self.settings = placing.with_local_store(self.settings, self._folder)
        if may_be_older(str(self.settings.store)):
            from recollect.backup import before_upgrade

            before_upgrade(self.settings, self._clock())
        self._store = open_store(
            str(self.settings.store), busy_seconds=self.settings.busy_timeout_seconds,
            durability=self.settings.durability, create=create,
        )  # fmt: skip
        if self._store.engine == "sqlite" and self._store.get_meta("pending_scrub"):
            from recollect.upkeep.pending import finish

            finish(self._store)
        self._wish = placing.wish(self.settings.space, self._folder, self.settings.home)
        self._embedder = embedder
        self._searcher: Searcher | None = None
        self._tools: ToolMemory | None = None
        self._on_search: Callable[[], None] | None = None  # what a search asks of the background, if there is one

    @cached_property
    def _limits(self) -> "Limits":
        from recollect.write import limits_of

        return limits_of(self.settings)

    def close(self) -> None:
        if self._searcher is not None:
            self._searcher.flush()
        self._store.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- remembering ----------------------------------------------------------------------------------------------

    def add(
        self,
        content: str,
        *,
        kind: str | None = None,
        title: str | None = None,
        tags: Sequence[str] = (),
        importance: int = 5,
        confidence: float = 1.0,
        context: str = "",
        source: str = "",
        origin: Origin = "user",
        session: str | None = None,
        pinned: bool = False,
        expires_ms: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        links: Sequence[Link] = (),
        allow_secrets: bool = False,
        **more: Any,
    ) -> Added:
        """Remembers a text; without a kind the text decides. `more` takes the other fields of `Draft`.

        The text of a live note gives that note back, with `duplicate` set.
        """
        draft = Draft(
            content, kind=kind, title=title, tags=tags, importance=importance, confidence=confidence, context=context,
            source=source, origin=origin, session=session, pinned=pinned, expires_ms=expires_ms,
            metadata=metadata or {}, links=links, **more,
        )  # fmt: skip
        return self.add_many([draft], allow_secrets=allow_secrets)[0]

    def add_many(self, drafts: Iterable[Draft | str], *, allow_secrets: bool = False) -> Sequence[Added]:
        """Remembers many texts in one transaction: all of them or none."""
        from recollect.write import change, prepare

        given = [draft if isinstance(draft, Draft) else Draft(draft) for draft in drafts]
        if any(draft.tier == "scratchpad" for draft in given):
            raise InvalidInput("what is added is kept, and the scratchpad is not", hint="use scratchpad.put for that")
        op = self._operation("add")
        space = self._writable()
        with making_many(len(given)):
            prepared = [prepare(draft, space.name, self._limits, op.at_ms, allow_secrets) for draft in given]
            changes = [
                change(item.note, 0, self._limits, rechunk=True, vector=draft.vector, words=item.words)
                for item, draft in zip(prepared, given, strict=True)
            ]
            added = self._added(op, space, prepared, self._store.apply(op, space.id, changes))
        return self._logged(added) if self.settings.daily_log else added

    def capture(self, output: str, *, agent: str = "", session: str | None = None) -> Sequence[Added]:
        """Remembers what is worth keeping of an agent's output: a note for each part that is long enough."""
        from recollect.capture import from_output

        drafts = from_output(output, agent or self.actor, session)
        return self.add_many(drafts) if drafts else ()

    def capture_call(
        self, tool: str, arguments: Mapping[str, Any], result: Any = None, *, agent: str = "",
        session: str | None = None,
    ) -> Added | None:  # fmt: skip
        """Remembers a tool call that changed something; None for one that only looked, failed or was just told."""
        from recollect.capture import CALL_TAG, LAST_TITLES, from_call

        titles = {note.title for note in self.list(limit=LAST_TITLES, tags=[CALL_TAG])}
        draft = from_call(tool, arguments, result, agent or self.actor, titles, session)
        return self.add_many([draft])[0] if draft is not None else None

    def _added(self, op: Operation, space: Space, prepared: Sequence[Any], applied: Sequence[Any]) -> Sequence[Added]:
        """The notes as stored; an insert is already in our hands, only duplicates are read."""
        twins = [Ref("note", done.id, None) for done in applied if done.duplicate]
        found = {note.id: note for note in self._store.notes(twins, [space.id])} if twins else {}
        answer = []
        for item, done in zip(prepared, applied, strict=True):
            note = found.get(done.id) or item.note
            notice = f"redacted: {', '.join(item.redacted)}" if item.redacted else ""
            made = {"id": done.id, "created": not done.duplicate, "duplicate": done.duplicate}
            answer.append(widened(note, Added, notice=notice, operation=op.id, **made))
        return answer

    def _logged(self, added: Sequence[Added]) -> Sequence[Added]:
        from recollect.dailylog import append

        trouble = append(self.settings.home, [note for note in added if note.created])
        return [replace(note, notice=trouble) if trouble and note.created else note for note in added]

    # -- reading --------------------------------------------------------------------------------------------------

    def get(self, ref: Reference, *, as_of_ms: int | None = None, as_of: str | None = None) -> Note:
        """The whole note; its text is checked against its hash, and the access is counted.

        `as_of_ms`, or `as_of` in words, gives it as it was then, from its versions.
        """
        note = self._note(ref)
        if as_of is not None:
            as_of_ms = self._times({"as_of": as_of})[0]["as_of_ms"]
        if as_of_ms is not None:
            from recollect.past import note_at

            then = note_at(self._store, note, self._space_id(note.space), as_of_ms)
            if then is None:
                raise NotFound(
                    f"note {note.id} was not there then", hint=f"`recollect history {note.id}` shows its past"
                )
            return self._verified(then)
        self._used([note.id], "get")
        return note

    def _used(self, notes: Sequence[int], how: str) -> None:
        """Counts accesses: a note that was read in full or told to an agent."""
        from recollect.retention import RATES

        at_ms = self._clock()
        self._store.record_use([Use(note, how, at_ms) for note in notes], RATES[self.settings.forgetting])

    def _note(self, ref: Reference) -> Note:
        wanted = _note_ref(ref)
        found = self._store.notes([wanted], self._visible())
        if not found:
            raise NotFound(
                f"no note {wanted.id or wanted.uid}", hint="`recollect list` shows the notes that you can see"
            )
        return self._verified(found[0])

    def _verified(self, note: Note) -> Note:
        from recollect.audit import content_hash

        if content_hash(note.content) != note.content_hash:
            raise StoreCorrupt(
                f"the text of note {note.id} is not what was remembered (its hash differs)",
                hint="run `recollect doctor`; `recollect backup list` shows copies",
            )
        return note

    def passage(self, ref: str) -> Chunk | Turn:
        """What a `c17` or `t17` of an answer stands for."""
        wanted = parse_ref(ref)
        if wanted.what == "turn":
            turns = self._store.turns(self._visible(), ids=[wanted.id or 0])
            if turns:
                return turns[0]
        elif wanted.what == "chunk":
            chunks = self._store.chunks([wanted.id or 0], self._filter())
            if chunks:
                return chunks[0]
        else:
            raise InvalidInput(f"{ref} names a note", hint="use get for notes")
        raise NotFound(f"nothing with the id {ref}", hint="search again: what is indexed gets new ids when it changes")

    def surroundings(self, ref: "str | Chunk | Turn") -> "Surroundings":
        """What stands before and after a passage or turn: some lines of its file, or the turns next to it."""
        from recollect.beside import surroundings

        item = self.passage(ref) if isinstance(ref, str) else ref
        return surroundings(self._store, item, self._space_id(item.space))

    def list(
        self, *, limit: int = 20, before: Note | None = None, as_of_ms: int | None = None, **filters: Any
    ) -> Sequence[Note]:
        """Notes, newest first; `before` continues after the last note of a page. Filters as in `search`.

        `as_of_ms`, or `as_of` in words, lists what was there then, as it was then.
        """
        if "as_of" in filters:
            filters, _ = self._times(filters)
            as_of_ms = filters.pop("as_of_ms", as_of_ms)
        page = (before.created_ms, before.id) if before is not None else None
        if as_of_ms is not None:
            from recollect.past import list_at

            return list_at(self._store, self._filter(**filters), as_of_ms, limit, page)
        return self._store.list_notes(self._filter(**filters), limit, page)

    def search(self, query: str, *, limit: int | None = None, **options: Any) -> Answer:
        """The best notes, turns and passages for a query, by keyword and meaning.

        Options: mode ("hybrid", "keyword", "vector"), fusion, min_score, explain, and the filters kinds, tiers, tags,
        since_ms, until_ms, as_of_ms (what was true then), min_importance, min_confidence, sources, session,
        trusted_only, states, owners. `since`, `until` and `as_of` take words: "last Tuesday", "before the release".
        """
        if self._on_search is not None:
            self._on_search()
        if _WORDS_FOR_TIMES.isdisjoint(options):
            return self._search().run(query, limit=limit, **options)
        timed, notices = self._times(options)
        answer = self._search().run(query, limit=limit, **timed)
        return replace(answer, notices=(*notices, *answer.notices))

    def context(
        self, query: str | None = None, *, budget_tokens: int = 2000, told: Container[str] = (), **options: Any
    ) -> "Context":
        """What an agent should know, within a budget: for a query, or at the start of a session without one.

        `told` are the ids that it was told before: where nothing else is to be told, the answer is empty.
        Options: sections, min_score (of what counts as relevant), include_untrusted, except_session (a uid), session
        (whose scratchpad is told; without it every one in sight is).
        """
        from recollect.context import compile_context

        found = compile_context(self, query, budget_tokens, **options)
        new = [item.id for item in found.items if item.id not in told]
        if not new:
            return replace(found, text="", items=(), tokens=0)
        self._used([int(note) for note in new if note.isdigit()], "context")
        return found

    def timeline(
        self, ref: Reference, *, before: int = 5, after: int = 5, notes_only: bool = False, **filters: Any
    ) -> Sequence[Moment]:
        """What happened just before and after a note or a turn (`t17`), oldest first: notes, turns, and where sessions
        began and ended. Filters that only notes have leave notes alone."""
        from recollect.timeline import around

        asked = None if isinstance(ref, Note) else parse_ref(ref)
        said = self.passage(str(ref)) if asked is not None and asked.what == "turn" else None
        anchor = said if isinstance(said, Turn) else self._note(ref)
        return around(self._store, anchor, self._filter(**filters), before, after, notes_only)

    def history(self, ref: Reference) -> Sequence[Revision]:
        """The earlier images of a note, oldest first."""
        return self._store.history(self._note(ref).uid, self._visible())

    # -- changing -------------------------------------------------------------------------------------------------

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
        note, target = self._note(ref), _note_ref(to)
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
        found = self._store.notes([_note_ref(ref)], self._visible())
        if not found:
            raise NotFound(f"no note {ref}", hint="`recollect list` shows the notes that you can see")
        return found[0]

    # -- conversations --------------------------------------------------------------------------------------------

    def start_session(self, key: str | None = None, *, agent: str = "", title: str = "", source: str = "") -> Session:
        """The session of (agent, key) in this space; made if it is new, opened again if it had ended."""
        from recollect import conversation

        op = self._operation("session")
        begun = conversation.start(self._store, self._writable().id, op, key, agent or self.actor, title, source)
        if begun.started_ms == op.at_ms and not begun.turns:  # a new one takes over what the last one left at hand
            self.scratchpad.of(begun).restore()
        return begun

    def was_forgotten(self, key: str, *, agent: str = "") -> bool:
        """Whether the session of (agent, key) was forgotten in this space, and is therefore not to be brought back."""
        space = placing.find(self._store, self._wish)
        return space is not None and self._store.forgotten_session(space.id, agent or self.actor, key)

    def end_session(self, session: Session | str, *, summary: str = "") -> Session:
        op = self._operation("session")
        found = self.session(session)
        from recollect.text.redact import clean

        ended = replace(found, ended_ms=op.at_ms, summary=clean(summary).text or found.summary)
        return self._store.put_session(op, self._space_id(found.space), ended)

    def session(self, session: Session | str) -> Session:
        uid = session.uid if isinstance(session, Session) else session
        found = self._store.sessions(self._visible(), uid=uid)
        if not found:
            raise NotFound(f"no session {uid}", hint="`recollect sessions` lists them")
        return found[0]

    def sessions(self, *, limit: int = 50) -> Sequence[Session]:
        return self._store.sessions(self._visible(), limit=limit)

    def about(self, session: Session | str) -> str:
        """A session in one line: of its summary, its title, or the first words that were said."""
        from recollect.summary import line_of

        found = self.session(session)
        said = () if found.summary or found.title else self._store.turns(
            [self._space_id(found.space)], session=found.uid, around=(1, 3)
        )  # fmt: skip
        return line_of(found, said)

    def add_turns(self, session: Session | str, turns: Iterable[Turn], *, allow_secrets: bool = False) -> Sequence[int]:
        """Remembers what was said; turns whose record the session already has are left alone."""
        from recollect import conversation

        op = self._operation("turns")
        found = self.session(session)
        stored = conversation.add(
            self._store, self._space_id(found.space), found, list(turns), op, self._limits, allow_secrets
        )
        return stored.ids

    def turns(self, session: Session | str) -> Sequence[Turn]:
        found = self.session(session)
        return self._store.turns([self._space_id(found.space)], session=found.uid)

    # -- what already happened ------------------------------------------------------------------------------------

    def index(
        self, *paths: str | Path, agents: bool = False, force: bool = False, embed: bool = True, follow: bool = True,
        progress: "Progress | None" = None,
    ) -> "Indexed":  # fmt: skip
        """Makes files and agents' transcripts searchable; what did not change is not read again.

        `agents` finds the history of every installed agent by itself. A transcript belongs to the project of the
        folder that it was made in; what names no folder belongs to this Memory's project, or to `unfiled`. Folders
        and histories are followed: `sync` and long-lived processes keep them in step, unless `follow` is off.
        """
        from recollect.index import roots_of

        if not paths and not agents:
            raise InvalidInput("nothing to index", hint="name files or folders, or ask for the agents' histories")
        if self._wish.name == "all":
            self._writable()  # says why not
        here = [Path(path).absolute() for path in paths]
        place = self._placed(self.settings.space, self._wish)
        done = self._indexer(place).run(roots_of(here, agents, os.environ), force=force, progress=progress)
        if follow:
            from recollect import following

            places = [str(path) for path in here if path.is_dir()] + ([following.AGENTS] if agents else [])
            asked = (self.settings.space, str(self._folder.absolute()))
            following.follow(self._store, (following.Followed(path, *asked) for path in places))
        return replace(done, embedded=self.embed_pending() if embed else 0)

    def sync(
        self, *, force: bool = False, embed: bool = True, progress: "Progress | None" = None
    ) -> "Indexed":  # fmt: skip
        """Reads what changed in the folders and histories that were indexed before on this machine."""
        from recollect.following import AGENTS, followed
        from recollect.index import combined, roots_of

        done = []
        for one in followed(self._store):
            place = self._placed(one.space, placing.wish(one.space, Path(one.folder), self.settings.home))
            if one.path == AGENTS or Path(one.path).is_dir():
                roots = roots_of([Path(one.path)] if one.path else [], one.path == AGENTS, os.environ)
                done.append(self._indexer(place).run(roots, force=force, progress=progress))
        return replace(combined(done), embedded=self.embed_pending() if embed else 0)

    def indexed(self) -> "Sources":
        """Which places are kept in step on this machine, and which files in sight are indexed."""
        from recollect.following import sources

        return sources(self._store, self._visible())

    def _indexer(self, place: Callable[[str], int]) -> "Indexer":
        from recollect.index import Indexer

        return Indexer(self._store, self._limits, self._clock, self.actor, place)

    def watch(
        self, *paths: str | Path, agents: bool = False, poll: bool = False, stop: "threading.Event",
        report: "Callable[[Indexed, bool], None] | None" = None,
    ) -> None:  # fmt: skip
        """Indexes now and whenever something changes under the roots, until `stop` is set."""
        from recollect.index import roots_of
        from recollect.watching import watch

        def sync(changed: Sequence[Path], first: bool = False) -> None:
            done = self.index(*(changed or paths), agents=agents and not changed, follow=not changed)
            if report is not None:
                report(done, first)

        roots = roots_of([Path(path) for path in paths], agents, os.environ)
        sync((), first=True)
        watch(roots, sync, stop, poll=poll)

    def background(self, *, interval_seconds: float = 300.0) -> "Background":
        """Work for a long-lived process, in a thread under the store's lease: sync, embed, clean up.

        The settings `sync_on_start`, `sync_on_search` and `sync_interval_seconds` say when it syncs.
        """
        from recollect.background import Background, Syncing, log

        log.setLevel(self.settings.log_level.upper())
        every = self.settings.sync_interval_seconds
        sync = Syncing(
            lambda beat: self.sync(embed=False, progress=lambda *_: beat()),
            on_start=self.settings.sync_on_start, interval_seconds=every,
        )  # fmt: skip
        embed = lambda beat: self.embed_pending(progress=lambda _: beat())  # noqa: E731
        made = Background(
            self._store, [sync, embed, lambda _: self.upkeep()], min(interval_seconds, every or interval_seconds)
        )

        def asked() -> None:
            sync.ask()
            made.poke()

        self._on_search = asked if self.settings.sync_on_search else None
        return made

    def _placed(self, space: str, wish: placing.Wish) -> Callable[[str], int]:
        """Which space something from a folder belongs to; a space that was chosen by name takes everything."""

        def place(folder: str) -> int:
            op = self._operation("space")
            if space != "auto":
                return placing.find_or_make(self._store, wish, op).id
            otherwise = wish if wish.kind == "project" else placing.UNFILED
            return placing.home_of(self._store, folder, self.settings.home, otherwise, op).id

        return place

    # -- tools ----------------------------------------------------------------------------------------------------

    @property
    def tools(self) -> "ToolMemory":
        """Which tool fits a request, by what tools say of themselves and by what worked before."""
        if self._tools is None:
            from recollect.tools import ToolMemory

            self._tools = ToolMemory(
                self._store, self.settings, self._search().embedding, self._clock, self._visible_and_merged,
                lambda: self._writable().id,
            )  # fmt: skip
        return self._tools

    @property
    def beliefs(self) -> "Beliefs":
        """How sure notes are, which one took another's place, and which say the same or the opposite."""
        from recollect.beliefs import Beliefs

        return Beliefs(
            self._store, self._limits, self._note, self._operation, self._filter, lambda: self._search().embedding
        )

    def _visible_and_merged(self) -> tuple[int, ...]:
        seen = self._visible()
        return (*seen, *(space.id for space in self._store.spaces() if space.merged_into in seen))

    # -- the scratchpad -------------------------------------------------------------------------------------------

    @property
    def scratchpad(self) -> "Scratchpad":
        """What an agent has at hand for a while; `scratchpad.of(session)` is that of one session."""
        from recollect.scratchpad import Scratchpad

        def space(make: bool) -> Space | None:
            return self._writable() if make else placing.find(self._store, self._wish)

        return Scratchpad(self._store, self.settings, self._limits, self._operation, space, self.actor)

    # -- spaces ---------------------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The folder that this Memory works in: its project decides the space."""
        return self._folder

    @property
    def space(self) -> str:
        """The name of the space that this Memory writes to."""
        return self._space().name

    def spaces(self) -> Sequence[Space]:
        return self._store.spaces()

    def rename_space(self, name: str, to: str) -> Space:
        placing.check_name(to)
        return self._store.rename_space(placing.named(self._store, name).id, to, self._operation("rename"))

    def merge_spaces(self, source: str, target: str, *, dry_run: bool = False) -> placing.MergePreview:
        """Moves everything of one space into another; `undo` takes it back."""
        one, other = placing.named(self._store, source), placing.named(self._store, target)
        if dry_run:
            return placing.preview_merge(self._store, one, other, self._clock())
        op = self._operation("merge")
        self._copy_before("merge", placing.preview_merge(self._store, one, other, op.at_ms).notes, op)
        return placing.merge(self._store, one, other, op, self._limits)

    # -- numbers, transfer, upkeep --------------------------------------------------------------------------------

    def events(self, since: int = 0, *, limit: int = 1000) -> Sequence[Event]:
        """Changes of this space after a sequence number, oldest first; text-free."""
        spaces = self._visible() if self._wish.name == "all" else [self._space().id]
        return self._store.events(spaces, since, limit)

    def stats(self) -> dict[str, Any]:
        spaces = self._visible()
        numbers = self._store.stats(spaces)
        return numbers | self._search().stats(spaces) | {"store": self._store.location, "engine": self._store.engine}

    def export(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Every note as plain values, oldest first; `import_notes` takes them back without loss."""
        from recollect import transfer

        return transfer.export(self._store, self._filter(**{"states": transfer.EXPORTED, "tiers": TIERS, **filters}))

    def import_notes(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], None] | None = None,
        dry_run: bool = False,
    ) -> "Imported":
        """Takes exported notes; a note is known by its uid, so that importing twice changes nothing."""
        from recollect import transfer

        op = self._operation("import")
        found = placing.find(self._store, self._wish) or Space(0, "", self._wish.name, self._wish.kind, op.at_ms)
        space = found if dry_run else self._writable()
        given, count = transfer.counted(rows, BULK + 1)
        if not dry_run:
            self._copy_before("import", count, op)
        return transfer.import_rows(self._store, space, given, op, self._limits, progress, dry_run)

    def embed_pending(
        self, *, limit: int = 10**9, seconds: float = 10**6, progress: Callable[[int], None] | None = None
    ) -> int:
        """Makes the vectors that are still owed; searches do a little of this by themselves. Returns how many."""
        return self._search().embedding.drain(None, limit, int(seconds * 1000), progress)

    def reindex(
        self, model: str | None = None, *, force: bool = False, progress: Callable[[int], None] | None = None
    ) -> Mapping[str, Any]:
        """Brings what is derived up to date: cuts and tokenises anew what an older version did (all with `force`),
        and gives the store another model if an embedder is named; the old vectors serve until the new are complete."""
        from recollect.embedding import reindex
        from recollect.rechunking import rechunk

        done = rechunk(self._store, self._limits, self._operation("reindex"), force, progress)
        name = model or self.settings.embedder
        if name == "none":
            return {"model": None, "embedded": 0, "rechunked": done}
        identity, count = reindex(self._store, self.settings, name, self._clock, progress)
        self.settings, self._searcher, self._tools = replace(self.settings, embedder=name), None, None
        return {"model": identity, "embedded": count, "rechunked": done}

    def evaluate(self, *, notes: int = 200, mode: str = "hybrid", fusion: str = "default") -> Mapping[str, Any]:
        """Measures search on known items: asks for notes with words of their own. Results are kept as history."""
        from datetime import UTC, datetime

        from recollect import __version__
        from recollect.evaluation import DEPTH, evaluate, remember

        def ask(text: str) -> Answer:
            return self.search(text, limit=DEPTH, mode=mode, fusion=fusion)

        done = vars(evaluate(self.list(limit=notes), ask))
        at = datetime.fromtimestamp(self._clock() / 1000, UTC).isoformat(timespec="seconds")
        entry = {"date": at, "model": self.stats()["model"], "fusion": fusion, **done, "version": __version__}
        return {"result": entry, "history": remember(self.settings.home / "eval.jsonl", entry)}

    def backup(self, target: str | Path) -> Path:
        """An online, verified copy of the store."""
        path = Path(target)
        self._store.backup(path)
        return path

    def cleanup(
        self, *, max_notes: int | None = None, max_bytes: int | None = None, force: bool = False, dry_run: bool = False
    ) -> "Cleaned":
        """Brings the store back within its bounds and removes what is past its time; `undo` takes evictions back.

        Without `force` notes are evicted only if the store is over a limit. A dry run only says what would go.
        """
        from recollect.upkeep import cleanup

        wanted = cleanup.rules(self.settings, max_notes, max_bytes, force)
        op = self._operation("cleanup")
        return self._with_room(lambda: cleanup.run(self._store, self.settings, wanted, op, self._limits, dry_run))

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
        gathered = gathering.plan(self._store, make_filter((home.id,), op.at_ms, (), {}), wish)
        if dry_run or not gathered:
            return gathering.Consolidated((), tuple(gathered), 0, "", dry_run)
        if hide_sources:
            self._copy_before("consolidate", sum(len(one.notes) for one in gathered), op)
        return gathering.apply(self._store, home, gathered, op, self._limits, hide_sources)

    def upkeep(self) -> "Cleaned | None":
        """What long-lived processes call at start, at shutdown and now and then: cleans up if a run is due.

        On a server that many share nothing is evicted unasked.
        """
        from recollect.upkeep import cleanup

        return cleanup.unasked(self._store, self.settings, self._operation("cleanup"), self._limits)

    def verify(self) -> "Verified":
        """Proves the chain of events and every note and version against it; with `audit_key_file` also by a seal,
        which is made anew when all is well."""
        from recollect.upkeep import verify

        return verify.sealed(self._store, self.settings)

    def check(self, *, surroundings: bool = False) -> Sequence[Finding]:
        """What doctor sees: integrity, index drift, hashes, the chain of events; with `surroundings` also the disk,
        the clock, the model's files and the copies."""
        from recollect.upkeep.checks import check

        findings = check(self._store)
        if surroundings:
            from recollect.upkeep.surroundings import look

            findings += look(self._store, self.settings, self._clock())
        return findings

    def repair(self) -> Sequence[str]:
        """Rebuilds derived data that is damaged; says what it did."""
        from recollect.upkeep.checks import repair

        return repair(self._store, self._limits, self._operation("repair"))

    # -- inside ---------------------------------------------------------------------------------------------------

    def _with_room(self, work: Callable[[], T]) -> T:
        """What frees room must be possible on a full disk: then what was kept for that is given up."""
        try:
            return work()
        except StoreFull:
            if not self._store.make_room():
                raise
            return work()

    def _copy_before(self, why: str, notes: int, op: Operation) -> None:
        """A verified copy before many notes change at once."""
        if notes > BULK:
            from recollect.backup import before_bulk

            before_bulk(self.settings, self._store, why, op.at_ms)

    def _operation(self, verb: str) -> Operation:
        at = self._clock()
        return Operation(new_uid(at), verb, self.actor, at)

    def _writable(self) -> Space:
        if self._wish.name == "all":
            raise InvalidInput("all spaces can be read, not written to", hint="name one space")
        return placing.find_or_make(self._store, self._wish, self._operation("space"))

    def _space(self) -> Space:
        found = placing.find(self._store, self._wish)
        if found is None:
            raise NotFound(f"nothing is remembered in {self._wish.name!r} yet", hint="add a note first")
        return found

    def _visible(self) -> tuple[int, ...]:
        """The ids of the spaces that this Memory may read."""
        known = self._store.spaces()
        if self._wish.name == "all":
            return tuple(space.id for space in known if space.merged_into is None)
        found = placing.find(self._store, self._wish)
        kinds = {USER_SPACE} if self._wish.sees_user else {UNFILED_SPACE} if self._wish.outside else set()
        user = [space.id for space in known if space.kind in kinds]
        return tuple(dict.fromkeys(([found.id] if found else []) + user))

    def _space_id(self, name: str) -> int:
        return placing.named(self._store, name).id

    def _times(self, filters: Mapping[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        """Filters with their words for times as milliseconds, and which note "the release" was taken to be."""
        from recollect.happened import Happened, in_ms

        return in_ms(filters, self._clock(), Happened(self._store, self._filter()))

    def _filter(self, **filters: Any) -> Filter:
        if not _WORDS_FOR_TIMES.isdisjoint(filters):
            filters, _ = self._times(filters)
        return make_filter(self._visible(), self._clock(), tuple(self.settings.kinds), filters)

    def _search(self) -> "Searcher":
        if self._searcher is None:
            from recollect.search import Searcher

            self._searcher = Searcher(self._store, self.settings, self._filter, self._clock, self._embedder)
        return self._searcher


_CHANGEABLE = frozenset(
    {"content", "title", "kind", "tags", "importance", "confidence", "context", "source", "metadata", "expires_ms",
     "valid_from_ms", "valid_to_ms", "pinned"}
)  # fmt: skip
_INDEXED = ("content", "title", "context", "tags")  # a change of these changes what is found
_WORDS_FOR_TIMES = frozenset({"since", "until", "as_of"})


def _note_ref(ref: Reference) -> Ref:
    if isinstance(ref, Note):
        return Ref("note", ref.id, None)
    found = parse_ref(ref)
    if found.what != "note":
        raise InvalidInput(
            f"{ref} is a {found.what}, not a note", hint="notes have plain numbers; use passage() for this one"
        )
    return found
