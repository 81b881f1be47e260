"""Sessions and turns on their way into the store: cleaned, and indexed with what surrounds them.

A short turn ("Yes, last Tuesday!") says little alone, so its neighbours' words are indexed with it as context, the
fewer the longer it is itself; who spoke and when is indexed with every turn. The newest turn has no successor yet:
when one arrives, the context of the turn before is written anew.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from recollect import audit
from recollect.errors import InvalidInput
from recollect.ids import new_uid
from recollect.store import Operation, Store, TurnDraft
from recollect.text.redact import clean
from recollect.text.tokens import terms
from recollect.types import ORIGINS, ChunkDraft, Origin, Session, Turn
from recollect.values import value
from recollect.write import Boundary, Limits, check_choice, sliced

CONTEXT_TERMS = 70  # a turn with this many words of its own needs no context
_ORIGIN_OF: dict[str, Origin] = {
    "assistant": "agent",
    "agent": "agent",
    "model": "agent",
    "ai": "agent",
    "tool": "tool",
}


@value
class Stored:
    """The ids of the turns that were new, and how many chunks they make."""

    ids: list[int]
    chunks: int


def start(
    store: Store, space: int, op: Operation, key: str | None, agent: str, title: str, source: str, started_ms: int = 0
) -> Session:
    """The session of (agent, key); `started_ms` is given for one that is read from a transcript."""
    uid = new_uid(op.at_ms)
    seen = started_ms or op.at_ms
    fresh = Session(
        uid=uid, space="", agent=clean(agent).text, key=clean(key or uid).text, started_ms=seen, seen_ms=seen,
        title=clean(title).text, source=clean(source).text,
    )  # fmt: skip
    known = store.find_session(space, fresh.agent, fresh.key)
    if known is not None:
        fresh = replace(
            known, seen_ms=max(seen, known.seen_ms), ended_ms=None, title=fresh.title or known.title,
            source=fresh.source or known.source, started_ms=min(seen, known.started_ms),
        )  # fmt: skip
    return store.put_session(op, space, fresh)


def add(
    store: Store,
    space: int,
    session: Session,
    turns: Sequence[Turn],
    op: Operation,
    limits: Limits,
    allow_secrets: bool,
) -> Stored:
    """Stores the turns whose record is new; the last one stored before gets its successor as context."""
    boundary = Boundary(limits, allow_secrets)
    ready = [_cleaned(turn, boundary, op, limits) for turn in turns]
    with store.transaction([space]):
        known = store.turns([space], session=session.uid, around=(session.turns - 1, 10_000_000))
        records = store.turn_hashes(space, session, [turn.record for turn in ready])
        new = list({turn.record: turn for turn in reversed(ready) if turn.record not in records}.values())[::-1]
        before = known[-2:]
        line = [*before, *new]
        words = [terms(turn.text) for turn in line]
        drafts = [
            TurnDraft(turn, turn_chunks(turn, around(words, at), limits, words[at]))
            for at, turn in enumerate(line)
            if at >= len(before)
        ]
        ids = store.add_turns(op, space, session, drafts)
        if ids and before:
            last = before[-1]
            context = around(words, len(before) - 1)
            store.rebuild_chunks(op, space, "turn", last.id, turn_chunks(last, context, limits))
    # Fewer than were new: what was forgotten does not come back.
    kept = {turn.record for turn in store.turns([space], ids=ids)} if 0 < len(ids) < len(drafts) else None
    counted = [len(draft.chunks) for draft in drafts if kept is None or draft.turn.record in kept]
    return Stored(ids, sum(counted) if ids else 0)


def _cleaned(turn: Turn, boundary: Boundary, op: Operation, limits: Limits) -> Turn:
    text = boundary.text(turn.text, "a turn", limits.max_note_bytes)
    if not text.strip():
        raise InvalidInput("a turn is empty", hint="leave empty turns out")
    check_choice("origin", turn.origin, ORIGINS)
    origin = _ORIGIN_OF.get(turn.speaker.casefold(), "user") if turn.origin == "user" else turn.origin
    return replace(
        turn, text=text, speaker=boundary.text(turn.speaker, "the speaker", 1000), origin=origin,
        at_ms=turn.at_ms or op.at_ms, record=boundary.text(turn.record, "the record id", 1000) or new_uid(op.at_ms),
    )  # fmt: skip


def around(words: Sequence[Sequence[str]], at: int) -> list[str]:
    """The end of the turn before and the beginning of the one after, as far as there is room."""
    room = CONTEXT_TERMS - len(words[at])
    if room <= 0:
        return []
    before = words[at - 1][-room:] if at > 0 else []
    after = words[at + 1][:room] if at + 1 < len(words) else []
    return [*before, *after]


def turn_chunks(
    turn: Turn, context: Sequence[str], limits: Limits, words: Sequence[str] | None = None
) -> tuple[ChunkDraft, ...]:
    """The slices of a turn; `words` are its terms, where they are known already."""
    surroundings = " ".join([*context, *terms(f"{turn.speaker} {_date_words(turn.at_ms)}")])
    pieces = sliced(turn.text, "", limits)
    return tuple(
        ChunkDraft(
            content=piece.text, terms=" ".join(words if words and len(pieces) == 1 else terms(piece.text)),
            context_terms=surroundings, start_line=turn.line, end_line=turn.line, hash=audit.content_hash(piece.text),
        )
        for piece in pieces
    )  # fmt: skip


def _date_words(at_ms: int) -> str:
    """`8 May 2023 Monday`, for questions that name a day; English month names whatever the locale."""
    day = time.gmtime(at_ms / 1000)
    return f"{day.tm_mday} {_MONTHS[day.tm_mon - 1]} {day.tm_year} {_DAYS[day.tm_wday]}"


_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
