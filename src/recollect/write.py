"""From what a caller gives to what a store keeps: validated, redacted, classified, cut into chunks.

This is the one write boundary. Every string of a draft passes `clean` before anything is hashed, stored, embedded or
logged; nothing here touches a database.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect import audit
from recollect.config import Settings
from recollect.errors import InvalidInput
from recollect.ids import new_uid
from recollect.store import Change, is_searchable
from recollect.text.chunk import ModelInput, Piece, chunk, estimate_tokens
from recollect.text.classify import kind_of, title_of
from recollect.text.redact import clean, strip_private
from recollect.text.tokens import terms
from recollect.text.visible import check
from recollect.types import KINDS, ORIGINS, TIERS, ChunkDraft, Draft, Link, Note
from recollect.values import value

MAX_TAG_LENGTH = 100
MAX_METADATA_BYTES = 65_536
# A note that is longer than this is indexed twice: as slices of the usual size, which know the whole, and as fine ones,
# which are about one thing. On sessions of several short messages the right one is among the first five in 95.8 of
# 100 cases with both and in 93.3 with the usual slices alone.
FINE_ABOVE = 80
FINE_TOKENS, FINE_OVERLAP = 64, 10
BUNDLED_READS = 254  # word pieces, beside the two marks around them


@value
class Limits:
    """What the write boundary lets through; from the settings."""

    kinds: tuple[str, ...] = ()
    max_note_bytes: int = 1_000_000
    max_tags: int = 64
    chunk_tokens: int = 256
    chunk_overlap: int = 50
    redact: bool = True
    model: ModelInput | None = None  # slices are cut to what it reads


def limits_of(settings: Settings) -> Limits:
    return Limits(
        kinds=tuple(settings.kinds), max_note_bytes=settings.max_note_bytes, max_tags=settings.max_tags,
        chunk_tokens=settings.chunk_tokens, chunk_overlap=settings.chunk_overlap, redact=settings.redact,
        model=model_input(settings.embedder),
    )  # fmt: skip


@value
class Prepared:
    note: Note
    redacted: tuple[str, ...]  # names of the rules that found a secret
    words: Sequence[str] | None = None  # the terms of the text, where they were needed anyway


def prepare(draft: Draft, space: str, limits: Limits, now_ms: int, allow_secrets: bool = False) -> Prepared:
    """A draft as the note it becomes."""
    boundary = Boundary(limits, allow_secrets)
    content = boundary.text(draft.content, "the text", limits.max_note_bytes)
    if not content.strip():
        raise InvalidInput("the text is empty", hint="give something to remember, or pipe it in with `-`")
    title = boundary.text(draft.title, "the title", 1000) if draft.title else ""
    check_ranges(draft.importance, draft.confidence)
    words = terms(content)
    kind = draft.kind or kind_of(words)
    if kind not in KINDS:
        check_choice("kind", kind, (*KINDS, *limits.kinds))
    check_choice("origin", draft.origin, ORIGINS)
    check_choice("tier", draft.tier, TIERS)
    note = Note(
        uid=draft.uid or new_uid(), space=space, content=content, kind=kind, title=title or title_of(content),
        content_hash=audit.content_hash(content), created_ms=now_ms if draft.created_ms is None else draft.created_ms,
        updated_ms=now_ms if draft.updated_ms is None else draft.updated_ms,
        state=draft.state, tier=draft.tier, context=boundary.text(draft.context, "the context", limits.max_note_bytes),
        source=boundary.text(draft.source, "the source", 4096), origin=draft.origin,
        session=boundary.name(draft.session, "the session"),
        tags=boundary.tags(draft.tags), importance=draft.importance, confidence=float(draft.confidence),
        pinned=draft.pinned, token_count=estimate_tokens(content), bytes=len(content.encode()),
        metadata=boundary.metadata(draft.metadata), expires_ms=draft.expires_ms, valid_from_ms=draft.valid_from_ms,
        valid_to_ms=draft.valid_to_ms, superseded_by=boundary.name(draft.superseded_by, "superseded_by"),
        links=boundary.links(draft.links),
    )  # fmt: skip
    return Prepared(note, boundary.rules(), words)


def revise(note: Note, fields: Mapping[str, Any], limits: Limits, now_ms: int, allow_secrets: bool = False) -> Prepared:
    """The note with some fields changed; what follows from the text (hash, size, title) follows."""
    boundary = Boundary(limits, allow_secrets)
    new = dict(fields)
    if "content" in new:
        new["content"] = boundary.text(new["content"], "the text", limits.max_note_bytes)
        if not new["content"].strip():
            raise InvalidInput("the text is empty", hint="to remove a note use `recollect delete`")
        new |= _of_content(new["content"])
        if "title" not in new and note.title == title_of(note.content):
            new["title"] = title_of(new["content"])
    for name, size in (("title", 1000), ("context", limits.max_note_bytes), ("source", 4096)):
        if name in new:
            new[name] = boundary.text(new[name], f"the {name}", size)
    if "tags" in new:
        new["tags"] = boundary.tags(new["tags"])
    if "metadata" in new:
        new["metadata"] = boundary.metadata(new["metadata"])
    if "links" in new:
        new["links"] = boundary.links(new["links"])
    if "kind" in new:
        check_choice("kind", new["kind"], (*KINDS, *limits.kinds))
    check_ranges(new.get("importance", note.importance), new.get("confidence", note.confidence))
    return Prepared(replace(note, **new, updated_ms=max(now_ms, note.updated_ms)), boundary.rules())


def _of_content(content: str) -> dict[str, Any]:
    return {
        "content_hash": audit.content_hash(content),
        "token_count": estimate_tokens(content),
        "bytes": len(content.encode()),
    }


def change(
    note: Note, expected_rev: int, limits: Limits, *, rechunk: bool, to_space: int | None = None,
    vector: bytes | None = None, words: Sequence[str] | None = None,
) -> Change:  # fmt: skip
    """The note as a change for the store, with a fresh salt and its digest."""
    salt = audit.new_salt()
    pieces = chunks_of(note, limits, vector, words) if rechunk and is_searchable(note) else None
    digest = audit.digest(salt, audit.encoded(note))
    return Change(note, expected_rev, salt, digest, pieces, to_space)


def chunks_of(
    note: Note, limits: Limits, vector: bytes | None = None, words: Sequence[str] | None = None
) -> tuple[ChunkDraft, ...]:
    """The searchable slices of a note. A title of its own is embedded and indexed with each of them that does not begin
    with it; the note's context and tags are indexed as context."""
    title = "" if _says_its_title(note) else fitting_lead(note.title, limits)
    context_terms = " ".join(terms(f"{note.context}\n{' '.join(note.tags)}")) if note.context or note.tags else ""
    pieces = sliced(note.content, title, limits)
    if len(pieces) > 1:
        vector = words = None
    fine = _fine(note, title, limits)
    drafts = [
        _slice(
            piece, "" if title and piece.text.startswith(title) else title, context_terms, note.content_hash,
            words if at == 0 else None, vector if at == 0 else None,
        )
        for at, piece in enumerate((*pieces, *fine))
    ]
    return tuple(drafts)


def _says_its_title(note: Note) -> bool:
    """In every slice: it begins with it, and is short or the title is no more than that beginning."""
    begins = note.content.startswith(note.title.rstrip("…"))
    return begins and (note.token_count <= FINE_ABOVE or note.title == title_of(note.content))


def _fine(note: Note, title: str, limits: Limits) -> list[Piece]:
    if note.token_count <= FINE_ABOVE or limits.chunk_tokens <= FINE_TOKENS:
        return []
    return sliced(note.content, title, replace(limits, chunk_tokens=FINE_TOKENS, chunk_overlap=FINE_OVERLAP))


def sliced(text: str, title: str, limits: Limits) -> list[Piece]:
    """The text in slices that the model reads whole, title included."""
    model = limits.model.after(embedded_text(title, "")) if limits.model is not None and title else limits.model
    return chunk(text, limits.chunk_tokens, limits.chunk_overlap, model)


def fitting_lead(title: str, limits: Limits) -> str:
    """As much of a title as leaves the text a quarter of the model's input."""
    if not title or limits.model is None:
        return title
    most = replace(limits.model, most=limits.model.most * 3 // 4)
    return chunk(title, len(title), 0, most)[0].text


def model_input(embedder: str) -> ModelInput | None:
    """What the named embedder reads at once, where that can be counted here."""
    return ModelInput(BUNDLED_READS, _word_pieces) if embedder == "minilm" else None


def _word_pieces(text: str) -> int:
    from recollect.embed.wordpiece import bundled

    return bundled().count(text)


def _slice(
    piece: Piece, title: str, context_terms: str, known: str, words: Sequence[str] | None, vector: bytes | None
) -> ChunkDraft:
    """`words` are the terms of the piece, where they are known already, and then `known` is its hash."""
    text = embedded_text(title, piece.text)
    return ChunkDraft(
        content=piece.text, terms=" ".join(words if words is not None and not title else terms(text)), context=title,
        context_terms=context_terms, start_line=piece.start_line, end_line=piece.end_line, vector=vector,
        hash=audit.content_hash(text) if words is None or title else known,
    )  # fmt: skip


def embedded_text(title: str, text: str) -> str:
    """What the model reads for a chunk."""
    return f"{title}. {text}" if title else text


class Boundary:
    """Checks and cleans the strings of one call, and remembers which secrets it found."""

    def __init__(self, limits: Limits, allow_secrets: bool) -> None:
        self._limits = limits
        self._keep = allow_secrets or not limits.redact
        self.found: list[str] = []

    def text(self, value: Any, what: str, max_bytes: int) -> str:
        if not isinstance(value, str):
            raise InvalidInput(f"{what} is {type(value).__name__}, not text", hint="give a string")
        if not value:
            return value
        check(value, what)
        if len(value) * 4 > max_bytes and len(value.encode()) > max_bytes:
            raise InvalidInput(
                f"{what} has {len(value.encode()):,} bytes; the limit is {max_bytes:,}",
                hint="split it, or index it as a file; `max_note_bytes` in the settings moves the limit",
            )
        if self._keep:
            return strip_private(value)
        result = clean(value)
        self.found += result.found
        return result.text

    def rules(self) -> tuple[str, ...]:
        """The names of the rules that found a secret, each once."""
        return tuple(dict.fromkeys(self.found)) if self.found else ()

    def name(self, given: str | None, what: str) -> str | None:
        return None if given is None else self.text(given, what, 1000)

    def links(self, links: Sequence[Link]) -> tuple[Link, ...]:
        """Each once, in a fixed order, so that the same links always give the same image."""
        if not links:
            return ()
        cleaned = {Link(self.text(link.to, "a link", 1000), self.text(link.kind, "a link", 1000)) for link in links}
        return tuple(sorted(cleaned, key=lambda link: (link.to, link.kind)))

    def tags(self, tags: Sequence[str]) -> tuple[str, ...]:
        if not tags:
            return ()
        if isinstance(tags, str):
            raise InvalidInput("tags are a list, not one string", hint='give ["a", "b"]')
        if len(tags) > self._limits.max_tags:
            raise InvalidInput(f"{len(tags)} tags; the limit is {self._limits.max_tags}", hint="keep the telling ones")
        cleaned = [self.text(tag, "a tag", 4 * MAX_TAG_LENGTH).strip() for tag in tags]
        if any(len(tag) > MAX_TAG_LENGTH for tag in cleaned):
            raise InvalidInput(f"a tag is longer than {MAX_TAG_LENGTH} characters", hint="put long text into the note")
        return tuple(dict.fromkeys(tag for tag in cleaned if tag))

    def metadata(self, value: Mapping[str, Any]) -> dict[str, Any]:
        if not value:
            return {}
        try:
            size = len(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as trouble:
            raise InvalidInput(
                f"metadata is not JSON: {trouble}", hint="use strings, numbers, lists and objects"
            ) from None
        if size > MAX_METADATA_BYTES:
            raise InvalidInput(
                f"metadata has {size:,} bytes; the limit is {MAX_METADATA_BYTES:,}", hint="put text into the note"
            )
        cleaned: dict[str, Any] = self._walk(dict(value))
        return cleaned

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value, "metadata", MAX_METADATA_BYTES)
        if isinstance(value, Mapping):
            return {self._walk(str(key)): self._walk(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._walk(item) for item in value]
        return value


def check_choice(what: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InvalidInput(f"unknown {what} {str(value)[:40]!r}", hint=f"one of: {', '.join(allowed)}")


def check_ranges(importance: Any, confidence: Any) -> None:
    if not isinstance(importance, int) or isinstance(importance, bool) or not 1 <= importance <= 10:
        raise InvalidInput(f"importance {importance!r} is not a whole number from 1 to 10", hint="5 is the default")
    if not isinstance(confidence, int | float) or isinstance(confidence, bool) or not 0 <= confidence <= 1:
        raise InvalidInput(f"confidence {confidence!r} is not a number from 0 to 1", hint="1.0 is the default")
