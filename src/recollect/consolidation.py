"""Episodes become knowledge: notes on one subject, or the turns of an old session, are gathered in one semantic note.

Extractive: sentences stand as they were written, with their dates, how many there were, and when the first and the
last was seen. The new note links to its sources, which stay as they are unless asked to be hidden. What is trusted and
what is not are never gathered together, so that a web page does not become knowledge by being repeated. A run is one
operation.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recollect.beliefs import hidden
from recollect.errors import InvalidInput
from recollect.likeness import overlap
from recollect.store import Change, Operation, Store
from recollect.summary import sentences, summarise
from recollect.text.tokens import query_terms
from recollect.types import TRUSTED_ORIGINS, Draft, Filter, Link, Note, Origin, Session, Space
from recollect.values import value
from recollect.write import Limits, change, prepare

DAY_MS = 86_400_000
COMPARED = 5000  # the newest so many notes that were not gathered before
LEAST_NOTES = 3
LEAST_TURNS = 4
MOST_NOTES = 50  # of one cluster
SENTENCES = 5
SAME_SUBJECT = 0.3  # of the weight of two notes' words, in common
NEAR = (0.6, 0.2)  # cosine, and words, where both are known
SAID_BY = 0.6  # of the notes must have a word for it to be the subject's
SOURCE, SESSION = "source", "session"


@value
class Wish:
    """Whether sessions or notes, how old in milliseconds, and how many notes make a subject."""

    sessions: bool
    age_ms: int
    least: int


def wish(sessions: bool, older_than_days: float | None, least: int) -> Wish:
    days = older_than_days if older_than_days is not None else 30.0 if sessions else 7.0
    if not 0 <= days < 100_000 or least < 2:
        raise InvalidInput(
            f"{days:g} days and {least} notes cannot be gathered", hint="at least 0 days and 2 notes; 7 and 3 are usual"
        )
    return Wish(sessions, int(days * DAY_MS), least)


@value
class Gathered:
    """One semantic note as it was or would be made, and what it was made of."""

    subject: str
    draft: Draft
    notes: tuple[Note, ...] = ()
    session: Session | None = None


@value
class Consolidated:
    made: tuple[Note, ...]
    gathered: tuple[Gathered, ...]
    hidden: int
    operation: str
    dry_run: bool
    notice: str = ""


# -- notes on one subject ----------------------------------------------------------------------------------------------


def clusters(
    notes: Sequence[Note], vectors: Mapping[int, Any], least: int = LEAST_NOTES
) -> list[tuple[str, tuple[Note, ...]]]:
    """Groups of notes on one subject with its words; a note is in one at most. Whoever has the most neighbours comes
    first, and only those near to it are taken, so that a chain of associations does not become one subject."""
    known = {note.id: note for note in notes}
    words = {note.id: _words(note) for note in notes}
    counts = Counter(word for found in words.values() for word in found)
    weights = {word: math.log(1 + len(notes) / count) for word, count in counts.items()}
    near = _near(words, weights, vectors)
    found, taken = [], set[int]()
    for center in sorted(near, key=lambda id: (-len(near[id]), id)):
        if center in taken:
            continue
        trusted = known[center].trusted
        members = [id for id in near[center] if id not in taken and known[id].trusted == trusted]
        group = sorted([center, *members], key=lambda id: (known[id].created_ms, id))[-MOST_NOTES:]
        subject = _subject([known[id] for id in group], [words[id] for id in group], weights)
        if len(group) >= least and subject:
            taken |= set(group)
            found.append((subject, tuple(known[id] for id in group)))
    return found


def _words(note: Note) -> frozenset[str]:
    return frozenset(query_terms(f"{note.content}\n{' '.join(note.tags)}", limit=256))


def _near(
    words: Mapping[int, frozenset[str]], weights: Mapping[str, float], vectors: Mapping[int, Any]
) -> dict[int, set[int]]:
    """Which notes speak of the same. Only those that share a word are compared; a word that most have says nothing."""
    having: dict[str, list[int]] = defaultdict(list)
    for id, found in words.items():
        for word in found:
            having[word].append(id)
    common = max(20, len(words) // 50)
    lengths = {id: math.sqrt(sum(weights[word] ** 2 for word in found)) or 1.0 for id, found in words.items()}
    near: dict[int, set[int]] = defaultdict(set)
    for id, found in words.items():
        shared: dict[int, float] = defaultdict(float)
        for word in found:
            if len(having[word]) <= common:
                weight = weights[word] ** 2
                for other in having[word]:
                    shared[other] += weight
        for other, weight in shared.items():
            by_words = weight / (lengths[id] * lengths[other])
            if other > id and by_words >= NEAR[1] and _alike(by_words, vectors.get(id), vectors.get(other)):
                near[id].add(other)
                near[other].add(id)
    return near


def _alike(by_words: float, one: Any, other: Any) -> bool:
    if by_words >= SAME_SUBJECT:
        return True
    return one is not None and other is not None and float(one @ other) >= NEAR[0]


def _subject(notes: Sequence[Note], words: Sequence[frozenset[str]], weights: Mapping[str, float]) -> str:
    """The telling words that most of the notes have, as they are written there."""
    counts = Counter(word for found in words for word in found)
    shared = [word for word, count in counts.items() if count >= max(2, SAID_BY * len(notes))]
    best = sorted(shared, key=lambda word: (-counts[word], -weights[word], word))[:3]
    spelled: dict[str, Counter[str]] = defaultdict(Counter)
    for note in notes:
        for word in f"{note.content} {' '.join(note.tags)}".split():
            plain = word.strip(".,;:!?()[]\"'`")
            for term in query_terms(plain) if plain else ():
                if term in best:
                    spelled[term][plain] += 1
    return " ".join(spelled[term].most_common(1)[0][0] for term in best if spelled[term])


def representative(notes: Sequence[Note], most: int = SENTENCES) -> list[tuple[Note, str]]:
    """The sentences that say most of what the others say too, none twice, in the order of their time."""
    said = [(note, sentence) for note in notes for sentence in sentences(note.content)[:20] or [note.title]]
    terms = [frozenset(query_terms(sentence)) for _, sentence in said]
    counts = Counter(term for found in terms for term in found)
    worth = [sum(counts[term] for term in found) / math.sqrt(len(found)) if found else 0.0 for found in terms]
    chosen: list[int] = []
    for at in sorted(range(len(said)), key=lambda at: (-worth[at], -said[at][0].created_ms, at)):
        if len(chosen) < most and all(overlap(terms[at], terms[other]) < 0.6 for other in chosen):
            chosen.append(at)
    return [said[at] for at in sorted(chosen, key=lambda at: (said[at][0].created_ms, at))]


def gather_notes(subject: str, notes: tuple[Note, ...]) -> Gathered:
    first, last = notes[0].created_ms, notes[-1].created_ms
    head = f"About {subject}: {len(notes)} notes, {_day(first)} to {_day(last)}."
    lines = [f"- {sentence} ({_day(note.created_ms)})" for note, sentence in representative(notes)]
    tags = Counter(tag for note in notes for tag in note.tags)
    draft = Draft(
        "\n".join([head, *lines]), kind=_most(note.kind for note in notes), title=f"{subject} ({len(notes)} notes)",
        tags=[tag for tag, count in tags.most_common(10) if 2 * count >= len(notes)], tier="semantic",
        importance=max(note.importance for note in notes), origin=_origin(notes), source="consolidation",
        confidence=round(sum(note.confidence for note in notes) / len(notes), 4),
        metadata={"consolidated": len(notes), "first_seen_ms": first, "last_seen_ms": last},
        links=[Link(note.uid, SOURCE) for note in notes],
    )  # fmt: skip
    return Gathered(subject, draft, notes=notes)


def _most(values: Iterable[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def _origin(notes: Sequence[Note]) -> Origin:
    """What we put together from trusted notes is an agent's word; the rest keeps the origin that most of it has."""
    if notes[0].origin in TRUSTED_ORIGINS:
        return "agent"
    return Counter(note.origin for note in notes).most_common(1)[0][0]


def _day(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at_ms / 1000))


# -- the store ---------------------------------------------------------------------------------------------------------


def plan(store: Store, where: Filter, wish: Wish) -> tuple[list[Gathered], str]:
    """What would be made, and what the caller should know; nothing is written."""
    before = where.now_ms - wish.age_ms + 1
    return (of_sessions(store, where, before), "") if wish.sessions else of_notes(store, where, before, wish.least)


def of_notes(store: Store, where: Filter, before_ms: int, least: int) -> tuple[list[Gathered], str]:
    """What episodic notes made before a time would become; those that a semantic note already gathered are left out."""
    old = Filter(where.spaces, where.now_ms, tiers=("episodic",), until_ms=before_ms)
    with store.snapshot():
        done = _linked_to(store, where, SOURCE)
        fresh, seen = _newest(store, old, done)
        vectors = _vectors(store, old, seen)
    notice = f"only the newest {COMPARED:,} notes that were not gathered yet were compared" if fresh[COMPARED:] else ""
    groups = clusters(fresh[:COMPARED], vectors, least)
    return [gather_notes(subject, group) for subject, group in groups], notice


def _newest(store: Store, where: Filter, done: set[str]) -> tuple[list[Note], int]:
    """The newest notes but those that are `done`, more than are compared if there are more; and how many were seen."""
    fresh: list[Note] = []
    seen, last = 0, None
    while len(fresh) <= COMPARED and (page := store.list_notes(where, COMPARED, last)):
        fresh += [note for note in page if note.uid not in done]
        seen, last = seen + len(page), (page[-1].created_ms, page[-1].id)
    return fresh, seen


def of_sessions(store: Store, where: Filter, before_ms: int) -> list[Gathered]:
    """What sessions that were last seen before a time would become; the turns stay."""
    with store.snapshot():
        done = _linked_to(store, where, SESSION)
        found = []
        for session in store.sessions(where.spaces, limit=10_000_000):
            if session.uid not in done and session.turns >= LEAST_TURNS and session.seen_ms < before_ms:
                made = _gather_session(store, where, session)
                found += [made] if made is not None else []
    return found


def _gather_session(store: Store, where: Filter, session: Session) -> Gathered | None:
    turns = store.turns(where.spaces, session=session.uid)
    text = summarise(turns)
    if not text:
        return None
    first, last = min(turn.at_ms for turn in turns), max(turn.at_ms for turn in turns)
    name = session.title or session.key
    draft = Draft(
        f"Session {name} with {session.agent}: {len(turns)} turns, {_day(first)} to {_day(last)}.\n{text}",
        kind="observation", title=f"Session: {name}"[:80], tier="semantic", origin="agent", source="consolidation",
        session=session.uid, links=[Link(session.uid, SESSION)],
        metadata={"consolidated": len(turns), "first_seen_ms": first, "last_seen_ms": last},
    )  # fmt: skip
    return Gathered(name, draft, session=session)


def _linked_to(store: Store, where: Filter, kind: str) -> set[str]:
    """What live semantic notes were made of."""
    known = store.list_notes(Filter(where.spaces, where.now_ms, tiers=("semantic",)), 10_000_000)
    return {link.to for note in known for link in note.links if link.kind == kind}


def _vectors(store: Store, where: Filter, newest: int) -> dict[int, Any]:
    model = store.active_model()
    rows = store.note_vectors(model[0], where, newest) if model is not None else []
    if not rows:
        return {}
    import numpy as np

    return {id: np.frombuffer(row, dtype="<f4") for id, row in rows}


def apply(
    store: Store, space: Space, gathered: Sequence[Gathered], op: Operation, limits: Limits, hide: bool
) -> Consolidated:
    """All of it in one transaction; `hide` supersedes the sources that are not pinned."""
    items = [prepare(one.draft, space.name, limits, op.at_ms) for one in gathered]
    with store.transaction([space.id]):
        made = [change(item.note, 0, limits, rechunk=True, words=item.words) for item in items]
        done = store.apply(op, space.id, made)
        gone: list[Change] = []
        for one, item, result in zip(gathered, items, done, strict=True):
            if hide and not result.duplicate:
                gone += [hidden(note, item.note, op, limits) for note in one.notes if not note.pinned]
        if gone:
            store.apply(op, space.id, gone)
    notes = tuple(_stored(item.note, result.id) for item, result in zip(items, done, strict=True))
    return Consolidated(notes, tuple(gathered), len(gone), op.id, False)


def _stored(note: Note, id: int) -> Note:
    return Note(**{**vars(note), "id": id})
