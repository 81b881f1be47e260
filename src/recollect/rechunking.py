"""Cutting and tokenising anew, in place: one owner per transaction.

Whatever was cut by another version of the chunker or tokenizer is done; with `everything` all that there is. Others
read and write meanwhile, keyword search never pauses, and a kill leaves every owner old or new, so that a second run
goes on. The vectors of new chunks come from the cache where the text is the same.
"""

from collections.abc import Callable

from recollect import audit, conversation
from recollect.ids import Ref
from recollect.store import Operation, Store
from recollect.text.tokens import terms
from recollect.types import ChunkDraft
from recollect.write import Limits, chunks_of, embedded_text, sliced

BATCH = 100


def rechunk(
    store: Store, limits: Limits, op: Operation, everything: bool = False, progress: Callable[[int], None] | None = None
) -> int:
    """Returns how many notes, turns and files were done."""
    before = store.last_chunk() if everything else None
    done = 0
    while work := store.stale(BATCH, before):
        for space, what, owner in work:
            with store.transaction([space]):
                store.rebuild_chunks(op, space, what, owner, chunks_anew(store, limits, space, what, owner))
            done += 1
            if progress is not None:
                progress(done)
    return done


def chunks_anew(store: Store, limits: Limits, space: int, what: str, owner: int) -> tuple[ChunkDraft, ...]:
    if what == "note":
        found = store.notes([Ref("note", owner, None)], [space])
        return chunks_of(found[0], limits) if found else ()
    if what == "turn":
        return turn_chunks_of(store, limits, space, owner)
    return _file(store, limits, space, owner)


def turn_chunks_of(store: Store, limits: Limits, space: int, owner: int) -> tuple[ChunkDraft, ...]:
    (turn,) = store.turns([space], ids=[owner])
    near = store.turns([space], session=turn.session, around=(turn.position - 1, turn.position + 1))
    words = [terms(each.text) for each in near]
    at = next(number for number, each in enumerate(near) if each.id == owner)
    return conversation.turn_chunks(turn, conversation.around(words, at), limits)


def _file(store: Store, limits: Limits, space: int, owner: int) -> tuple[ChunkDraft, ...]:
    """A file may be gone or changed, so its slices are all there is: their terms are made anew, and one that is longer
    than the model reads is cut again."""
    return tuple(
        ChunkDraft(
            content=piece.text, terms=" ".join(terms(piece.text)), context=chunk.context,
            context_terms=chunk.context_terms, start_line=_moved(chunk.start_line, piece.start_line),
            end_line=_moved(chunk.start_line, piece.end_line),
            hash=audit.content_hash(embedded_text(chunk.context, piece.text)),
        )
        for chunk in store.owned("file", owner, space)
        for piece in sliced(chunk.content, chunk.context, limits)
    )  # fmt: skip


def _moved(start: int | None, line: int) -> int | None:
    return None if start is None else start + line - 1
