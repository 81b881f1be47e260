"""Writing into one space of a store the way the write pipeline does: hashed, salted, chunked, as an operation."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from recollect import audit
from recollect.ids import Ref, new_uid
from recollect.store import Applied, Change, Operation, Store, TurnDraft
from recollect.types import Chunk, ChunkDraft, Filter, Note, Session, Turn

NOW_MS = 2_000_000_000_000
_ticks: Iterator[int] = itertools.count(1_700_000_000_000)


class MakeStore(Protocol):
    def __call__(self, _same_place_as: Store | None = None, /) -> Store: ...


def operation(verb: str = "add", id: str | None = None) -> Operation:
    return Operation(id or new_uid(), verb, "tester", next(_ticks))


def words(text: str) -> str:
    """Terms of the simplest kind: the words of a text, lower case."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def chunk(text: str, context: str = "", vector: bytes | None = None) -> ChunkDraft:
    return ChunkDraft(text, words(text), context, words(context), hash=audit.content_hash(text), vector=vector)


def note(text: str, **fields: Any) -> Note:
    at_ms = next(_ticks)
    made = Note(
        uid=new_uid(), space="", content=text, kind="fact", title=text[:40], content_hash=audit.content_hash(text),
        created_ms=at_ms, updated_ms=at_ms, bytes=len(text.encode()), token_count=len(text.split()),
    )  # fmt: skip
    return replace(made, **fields)


def insert(new: Note, chunks: Sequence[ChunkDraft] | None = None) -> Change:
    drafts = (chunk(new.content, new.context),) if chunks is None else tuple(chunks)
    return _change(new, 0, drafts, None)


def change(before: Note, *, to_space: int | None = None, keep_chunks: bool = False, **fields: Any) -> Change:
    """The note with other fields; `content` brings its hash along."""
    if "content" in fields:
        fields["content_hash"] = audit.content_hash(fields["content"])
    after = replace(before, **{"updated_ms": next(_ticks), **fields})
    drafts = None if keep_chunks else (chunk(after.content, after.context),)
    return _change(after, before.rev, drafts, to_space)


def _change(after: Note, expected: int, chunks: tuple[ChunkDraft, ...] | None, to_space: int | None) -> Change:
    salt = audit.new_salt()
    return Change(after, expected, salt, audit.digest(salt, audit.encode(audit.image(after))), chunks, to_space)


def by_uid(*uids: str) -> list[Ref]:
    return [Ref("note", None, uid) for uid in uids]


class Room:
    """One space of a store."""

    def __init__(self, store: Store, name: str = "home") -> None:
        self.store = store
        self.name = name
        self.id = store.ensure_space(name, "project", [("name", name)], operation("space")).id

    def apply(self, *changes: Change, verb: str = "add") -> list[Applied]:
        return self.store.apply(operation(verb), self.id, changes)

    def add(self, text: str, chunks: Sequence[ChunkDraft] | None = None, **fields: Any) -> Note:
        (done,) = self.apply(insert(note(text, **fields), chunks))
        return self.get(done.uid)

    def change(self, before: Note, verb: str = "update", **fields: Any) -> Note:
        (done,) = self.apply(change(before, **fields), verb=verb)
        return self.get(done.uid) if fields.get("to_space") is None else before

    def get(self, uid: str) -> Note:
        return self.store.notes(by_uid(uid), [self.id])[0]

    def has(self, uid: str) -> bool:
        return bool(self.store.notes(by_uid(uid), [self.id]))

    def see(self, **fields: Any) -> Filter:
        return Filter(spaces=(self.id,), now_ms=NOW_MS, **fields)

    def texts(self, **fields: Any) -> list[str]:
        """What `list_notes` shows through a filter, newest first."""
        return [found.content for found in self.store.list_notes(self.see(**fields), 1000)]

    def chunks(self, *terms: str, **fields: Any) -> tuple[Chunk, ...]:
        return self.store.keyword(terms, self.see(**fields), 1000).chunks

    def find(self, *terms: str, **fields: Any) -> set[str]:
        """What the keyword lane matches."""
        return {found.content for found in self.chunks(*terms, **fields)}

    def session(self, key: str = "key", **fields: Any) -> Session:
        at_ms = next(_ticks)
        fresh = Session(new_uid(), self.name, "agent", key, started_ms=at_ms, seen_ms=at_ms)
        return self.store.put_session(operation("session"), self.id, replace(fresh, **fields))

    def say(self, session: Session, *texts: str, **fields: Any) -> list[int]:
        """Turns whose record is their text."""
        drafts = [
            TurnDraft(Turn("user", text, at_ms=next(_ticks), record=text, **fields), (chunk(text),)) for text in texts
        ]
        return self.store.add_turns(operation("turns"), self.id, session, drafts)
