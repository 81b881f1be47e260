"""The default ranking: evidence in units of a cosine, added up, then turned into a score between 0 and 1.

    chunk   = trust * cosine + telling(query) * bm25(chunk)
    owner   = what its best chunks mean, and how much of the query its widest chunk says: a meaning is found in one
              slice, while words count where most of them stand together
    turn   += a little of its neighbours where it is short and they are, of its session's best three, of being said
              by the one whom the query names, less for being a bare question or long: who says much, hits by chance
    all    += being of the time that the query means, and the boosts

The weights were fitted by a listwise softmax (equal weight for each collection), rounded, and checked by fitting on
one half of the conversations and queries of eighteen collections and scoring the other: within 1.1 points.
Nothing is scaled to the best of the other candidates, so a score means the same in every answer: about how often a
first hit with it was right.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.rank.asking import Asking, participants
from recollect.rank.boosts import Boosts, diversify
from recollect.rank.fusion import WEIGHTS, Lanes, fuse_rrf, fuse_weighted, logistic, ranks
from recollect.rank.keyword import Matches, bm25, matches, needles, telling, term_weights
from recollect.values import value

SHORT_TURN = 40  # terms; a turn shorter than this leans on its neighbours, the more the shorter
BEST_CHUNKS, OF_THE_BEST = 3, 0.8  # the best chunk's meaning, and a little of the mean of the best few
OF_THE_WIDEST = 0.6  # of the keyword share; the rest is the best chunk's
SPOKEN_BEFORE = 0.18  # of the previous turn's cosine: an answer is about what was asked
NEIGHBOUR = 0.12  # of the better neighbour's evidence
SESSION = 0.17  # of the mean of the session's best three
NAMED_SPEAKER = 0.14
BARE_QUESTION = -0.19
LONG_TURN = -0.05  # times the logarithm of the number of its chunks
IN_WINDOW = 0.15
# What a chunk without a vector would probably have, by its keyword share.
GUESS = (0.16, 0.6)
# Slope and middle of the score, by the lanes that ran; at the middle a first hit is as often right as wrong.
SCALES = {"hybrid": (2.2, 0.67), "keyword": (4.7, 0.37), "vector": (3.9, 0.54)}

Owner = tuple[str, int]
Place = tuple[int, int]  # session, position


@value
class Candidate:
    """A chunk that a lane found, or that surrounds one (`shown` is False: it lends evidence and is no answer).

    `cosine` is None where the chunk has no vector yet. `turn_terms` is the length of the whole turn, if that is more
    than this chunk.
    """

    chunk: int
    owner: Owner
    terms: str
    context_terms: str = ""
    cosine: float | None = None
    created_ms: int = 0
    uid: str = ""
    session: int | None = None
    position: int | None = None
    speaker: str = ""
    question: bool = False
    turn_terms: int = 0
    importance: int = 5
    standing: float = 0.0
    shown: bool = True


@value
class Ranked:
    """One owner in the answer: its best chunk, its score, and why (`parts` add up to `evidence`)."""

    owner: Owner
    chunk: int
    score: float
    evidence: float
    matched_by: tuple[str, ...]
    created_ms: int
    uid: str
    keyword_rank: int | None = None
    vector_rank: int | None = None
    keyword: float = 0.0
    cosine: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    terms: str = ""


@value
class _Scored:
    candidate: Candidate
    own: int
    meaning: float
    share: float
    evidence: float


@dataclass(slots=True)
class _Owner:
    """What is gathered about one note, turn or file while ranking."""

    best: Candidate
    length: int
    chunks: int
    meaning: float
    share: float
    evidence: float
    parts: dict[str, float]


def rank(
    asking: Asking, candidates: Iterable[Candidate], *, mode: str = "hybrid", fusion: str = "default",
    weights: tuple[float, float] = WEIGHTS, boosts: Boosts | None = None, diversity: float = 0.0,
    limit: int | None = None,
) -> list[Ranked]:  # fmt: skip
    """Owners, best first. Equal scores go to the newer, then to the smaller uid."""
    pool = list(candidates)
    mode = _ran(mode, pool)
    if mode == "vector":
        pool = [candidate for candidate in pool if candidate.cosine is not None]
    owners = _gather(asking, pool, mode)
    if fusion == "default":
        _add_conversation(asking, owners)
    for owner in owners.values():
        _add_rest(asking, owner, boosts or Boosts())
    rows = _sorted(owners, mode, fusion, weights)
    limit = len(rows) if limit is None else limit
    if diversity <= 0:
        return [_row(*row) for row in rows[:limit]]
    whole = [_row(*row) for row in rows]
    return diversify(whole, lambda row: row.score, _likeness(whole), diversity, limit)


def _ran(mode: str, pool: Sequence[Candidate]) -> str:
    if mode == "hybrid" and all(candidate.cosine is None for candidate in pool):
        return "keyword"
    return mode


def _gather(asking: Asking, pool: Sequence[Candidate], mode: str) -> dict[Owner, _Owner]:
    query = needles(asking.terms)
    found = [matches(query, candidate.terms, candidate.context_terms) for candidate in pool]
    weights = term_weights(asking.terms, asking.statistics, found)
    worth = telling(weights)
    average = asking.statistics.average_terms * _context_ratio(found)
    grouped: dict[Owner, list[_Scored]] = defaultdict(list)
    for candidate, one in zip(pool, found, strict=True):
        share = 0.0 if mode == "vector" else bm25(one, average, weights)
        meaning = 0.0 if mode == "keyword" else asking.trust * _cosine(candidate, share)
        grouped[candidate.owner].append(_Scored(candidate, one.own, meaning, share, meaning + worth * share))
    return {key: _owner(chunks, worth) for key, chunks in grouped.items()}


def _owner(chunks: list[_Scored], worth: float) -> _Owner:
    chunks.sort(key=lambda chunk: (-chunk.evidence, chunk.candidate.chunk))
    best = chunks[0]
    widest = max(chunks, key=lambda chunk: chunk.own)
    few = _mean([chunk.meaning for chunk in chunks[:BEST_CHUNKS]])
    meaning = OF_THE_BEST * best.meaning + (1 - OF_THE_BEST) * few
    share = OF_THE_WIDEST * widest.share + (1 - OF_THE_WIDEST) * best.share
    length = max(best.candidate.turn_terms, sum([chunk.own for chunk in chunks]))
    parts = {"meaning": meaning, "keyword": worth * share}
    return _Owner(best.candidate, length, len(chunks), meaning, share, meaning + worth * share, parts)


def _cosine(candidate: Candidate, share: float) -> float:
    return candidate.cosine if candidate.cosine is not None else GUESS[0] + GUESS[1] * share


def _context_ratio(found: Sequence[Matches]) -> float:
    """How much longer chunks are with their context; the store knows the average of their own terms only."""
    own = sum([one.own for one in found])
    return sum([one.length for one in found]) / own if own else 1.0


def _add_conversation(asking: Asking, owners: Mapping[Owner, _Owner]) -> None:
    """What turns lend each other. All of it is computed from the evidence before, so that order does not matter."""
    turns: dict[Place, _Owner] = {}
    sessions: dict[int, list[float]] = defaultdict(list)
    for owner in owners.values():
        at = owner.best
        if at.session is not None and at.position is not None:
            turns[at.session, at.position] = owner
            sessions[at.session].append(owner.evidence)
    best_three = {session: _mean(sorted(all_)[-3:]) for session, all_ in sessions.items()}
    speakers = {owner.best.speaker for owner in turns.values()}
    named = {speaker: bool(asking.names & participants((speaker,))) for speaker in speakers}
    lent = {place: _lent(turns, place, best_three[place[0]], named) for place in turns}
    for place, owner in turns.items():
        owner.parts |= lent[place]
        owner.evidence += sum(lent[place].values())


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _lent(turns: Mapping[Place, _Owner], place: Place, session: float, named: Mapping[str, bool]) -> dict[str, float]:
    owner = turns[place]
    at = owner.best
    short = max(0.0, 1 - owner.length / SHORT_TURN)
    before, after = (turns.get((place[0], place[1] + step)) for step in (-1, 1))
    gains = [_terse(near) * (near.evidence - owner.evidence) for near in (before, after) if near is not None]
    asked = _terse(before) * (before.meaning - owner.meaning) if before is not None else 0.0
    parts = {
        "neighbours": short * (NEIGHBOUR * max(gains, default=0.0) + SPOKEN_BEFORE * asked),
        "session": SESSION * (session - owner.evidence),
        "speaker": NAMED_SPEAKER if named[at.speaker] else 0.0,
        "question": BARE_QUESTION * short if at.question else 0.0,
        "length": LONG_TURN * math.log(owner.chunks),
    }
    return {name: part for name, part in parts.items() if part}


def _terse(near: _Owner) -> float:
    """How much of a neighbour counts: a long one is a text of its own, not the context of a short one."""
    return min(1.0, max(0.0, 2 - near.length / SHORT_TURN))


def _add_rest(asking: Asking, owner: _Owner, boosts: Boosts) -> None:
    at = owner.best
    if asking.window is not None and asking.window.holds(at.created_ms):
        owner.parts["time"] = IN_WINDOW
        owner.evidence += IN_WINDOW
    extra = boosts.of(asking.now_ms - at.created_ms, at.importance, at.standing) if asking.now_ms else 0.0
    if extra:
        owner.parts["boosts"] = extra
        owner.evidence += extra


def _sorted(
    owners: Mapping[Owner, _Owner], mode: str, fusion: str, weights: tuple[float, float]
) -> list[tuple[_Owner, Lanes, float]]:
    shown = [owner for owner in owners.values() if owner.best.shown]
    by_keyword = ranks({i: o.share for i, o in enumerate(shown) if o.share > 0})
    by_vector = ranks({i: o.meaning for i, o in enumerate(shown) if mode != "keyword" and o.best.cosine is not None})
    rows = []
    for i, owner in enumerate(shown):
        if i in by_keyword or i in by_vector:
            keyword = _score("keyword", owner.parts["keyword"]) if i in by_keyword else 0.0
            lanes = Lanes(by_keyword.get(i), by_vector.get(i), keyword, min(1.0, max(0.0, owner.meaning)))
            # Rounded, so that what differs by the order of an addition is a tie.
            rows.append((owner, lanes, round(_fused(lanes, owner, mode, fusion, weights), 9)))
    rows.sort(key=lambda row: (-row[2], -row[0].best.created_ms, row[0].best.uid))
    return rows


def _fused(lanes: Lanes, owner: _Owner, mode: str, fusion: str, weights: tuple[float, float]) -> float:
    if fusion == "rrf":
        return fuse_rrf(lanes)
    if fusion == "weighted":
        return fuse_weighted(lanes, *weights, one_lane="" if mode == "hybrid" else mode)
    return _score(mode, owner.evidence)


def _score(mode: str, evidence: float) -> float:
    slope, middle = SCALES[mode]
    return logistic(slope * (evidence - middle))


def _row(owner: _Owner, lanes: Lanes, score: float) -> Ranked:
    at = owner.best
    found = (("keyword", lanes.keyword_rank), ("vector", lanes.vector_rank))
    return Ranked(
        owner=at.owner, chunk=at.chunk, score=score, evidence=owner.evidence,
        matched_by=tuple(lane for lane, place in found if place is not None), created_ms=at.created_ms, uid=at.uid,
        keyword_rank=lanes.keyword_rank, vector_rank=lanes.vector_rank, keyword=owner.share, cosine=at.cosine,
        parts=owner.parts, terms=at.terms,
    )  # fmt: skip


def _likeness(rows: Sequence[Ranked]) -> Callable[[Ranked, Ranked], float]:
    """The share of terms that two chunks have in common."""
    terms = {row.chunk: frozenset(row.terms.split()) for row in rows}

    def alike(one: Ranked, other: Ranked) -> float:
        both = len(terms[one.chunk] & terms[other.chunk])
        return both / (len(terms[one.chunk]) + len(terms[other.chunk]) - both) if both else 0.0

    return alike
