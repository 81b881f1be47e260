"""Reading: one note, lists, search, context, what stood around it and what it was before."""

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput, NotFound
from recollect.ids import parse_ref
from recollect.memory.opened import WORDS_FOR_TIMES, Opened, Reference
from recollect.types import Answer, Chunk, Moment, Note, Revision, Session, Turn

if TYPE_CHECKING:
    from recollect.beside import Surroundings
    from recollect.context import Context


class Reading(Opened):
    """The verbs that only look."""

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
        if WORDS_FOR_TIMES.isdisjoint(options):
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

    def session(self, session: Session | str) -> Session:
        uid = session.uid if isinstance(session, Session) else session
        found = self._store.sessions(self._visible(), uid=uid)
        if not found:
            raise NotFound(f"no session {uid}", hint="`recollect sessions` lists them")
        return found[0]

    def sessions(self, *, limit: int = 50) -> Sequence[Session]:
        return self._store.sessions(self._visible(), limit=limit)

    def turns(self, session: Session | str) -> Sequence[Turn]:
        found = self.session(session)
        return self._store.turns([self._space_id(found.space)], session=found.uid)
