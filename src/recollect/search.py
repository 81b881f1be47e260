"""Search: one snapshot, two lanes, one ranked answer that says what ran.

The filter goes into both lanes. Vectors of pending chunks are made within the deadline; what cannot be done by
meaning is said in the answer's notices, never passed over. The pool of candidates does not depend on the limit, so
the first hit is the same however many are asked for.
"""

from collections.abc import Callable, Sequence
from typing import Any

from recollect import rank
from recollect.config import Settings
from recollect.embedding import Embedding
from recollect.errors import InvalidInput
from recollect.ids import Ref
from recollect.retention import RATES, retention, standing
from recollect.showing import Shown
from recollect.store import Store, Use
from recollect.text.redact import clean
from recollect.text.tokens import query_terms
from recollect.text.visible import check
from recollect.types import Answer, Chunk, Filter
from recollect.values import value
from recollect.write import check_choice

CANDIDATES = 200  # of each lane
NEIGHBOURS_OF = 100  # the best so many turns lend to and borrow from those around them
PENDING_PER_SEARCH = 256
MAX_QUERY = 65_536
MODES = ("hybrid", "keyword", "vector")


@value
class _Pool:
    """What the lanes found in one snapshot."""

    asking: rank.Asking
    chunks: dict[int, Chunk]
    cosines: dict[int, float]
    around: dict[int, Chunk]
    mode: str


class Searcher:
    """Searches one store for one caller; keeps the model and the vectors in memory between searches."""

    def __init__(
        self, store: Store, settings: Settings, make_filter: Callable[..., Filter], clock: Callable[[], int],
        embedder: Any = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._settings = settings
        self._make_filter = make_filter
        self._clock = clock
        self._uses: list[Use] = []
        self.embedding = Embedding(store, settings, clock, embedder)

    def stats(self, spaces: tuple[int, ...]) -> dict[str, Any]:
        active = self._store.active_model()
        return {"model": active[0] if active else None, "pending": self.embedding.pending(spaces)}

    def run(
        self, query: str, *, limit: int | None = None, mode: str = "hybrid", fusion: str | None = None,
        min_score: float | None = None, explain: bool = False, boosts: bool = True, diversity: float = 0.0,
        weights: tuple[float, float] | None = None, **filters: Any,
    ) -> Answer:  # fmt: skip
        limit = self._settings.search_limit if limit is None else limit
        fusion = fusion or self._settings.search_fusion
        _check(query, limit, mode, fusion, diversity)
        where = self._make_filter(**filters)
        if not where.spaces:
            return Answer((), mode, query, ("nothing is remembered here yet",))
        pool, notices = self._pool(query[:MAX_QUERY], where, mode)
        rows = rank.rank(
            pool.asking, _candidates(pool, self._standings(pool, where)), mode=pool.mode, fusion=fusion,
            weights=weights or (self._settings.weight_vector, self._settings.weight_keyword),
            boosts=None if boosts else rank.OFF, diversity=diversity, limit=limit,
        )  # fmt: skip
        least = self._settings.search_min_score if min_score is None else min_score
        rows = [row for row in rows if row.score >= least][:limit]
        hits = Shown(self._store, where, pool.chunks, pool.asking.terms, explain).hits(rows)
        if where.as_of_ms is not None:
            notices += self._reworded(rows, where, where.as_of_ms)
        self._log(query, rows)
        return Answer(tuple(hits), pool.mode, query, tuple(notices), self._owed(where, pool.mode))

    def _reworded(self, rows: Sequence[rank.Ranked], where: Filter, at_ms: int) -> list[str]:
        from recollect.past import reworded

        refs = [Ref("note", row.owner[1], None) for row in rows if row.owner[0] == "note"]
        ids = reworded(self._store, self._store.notes(refs, where.spaces), where.spaces, at_ms)
        return [f"note {id} had another text then: `recollect get {id} --as-of` shows it" for id in ids]

    # -- lanes ----------------------------------------------------------------------------------------------------

    def _pool(self, query: str, where: Filter, mode: str) -> tuple[_Pool, list[str]]:
        names = rank.participants(self._store.speakers(where.spaces))
        text, named = rank.without_names(query, names)
        vector, notices = self._vector(text, where, mode)
        if vector is None:
            mode = "keyword"
        terms = query_terms(query)
        with self._store.snapshot():
            lane = self._store.keyword(terms, where, 0 if mode == "vector" else CANDIDATES)
            chunks = {chunk.id: chunk for chunk in lane.chunks}
            if vector is not None:
                near = [chunk_id for chunk_id, cosine in self._nearest(vector, where) if cosine > 0]
                chunks |= {chunk.id: chunk for chunk in self._store.chunks([i for i in near if i not in chunks], where)}
            around = self._around(list(chunks.values()), where)
            known = [*chunks, *around]
            cosines = self._cosines(vector, known, where) if vector is not None else {}
        asking = rank.Asking(
            terms=tuple(terms), statistics=rank.Statistics(lane.total, lane.average_terms, lane.frequencies),
            names=named, window=rank.window_of(query, self._clock()),
            now_ms=self._clock() if where.as_of_ms is None else where.as_of_ms,
            trust=rank.trust_of(query, self.embedding.latin_only),
        )  # fmt: skip
        return _Pool(asking, chunks, cosines, around, mode), notices

    def _vector(self, text: str, where: Filter, mode: str) -> tuple[Any, list[str]]:
        """The query's vector, and what to tell the user if there is none. Pending chunks are embedded on the way."""
        if mode == "keyword" or not text.strip():
            return None, []
        vector = self.embedding.query(text)
        if vector is None:
            return None, [self.embedding.notice]
        self.embedding.drain(where.spaces, PENDING_PER_SEARCH, self._settings.search_deadline_ms)
        return vector, [self.embedding.notice] if self.embedding.notice else []

    def _nearest(self, vector: Any, where: Filter) -> list[tuple[int, float]]:
        model = self._store.active_model()
        return self._store.vector_lane(model[0], vector, where, CANDIDATES) if model is not None else []

    def _cosines(self, vector: Any, ids: Sequence[int], where: Filter) -> dict[int, float]:
        model = self._store.active_model()
        return self._store.similarities(model[0], vector, ids, where.spaces) if model is not None else {}

    def _around(self, found: list[Chunk], where: Filter) -> dict[int, Chunk]:
        """What lends evidence without being an answer: other chunks of the same owner, turns before and after."""
        owners = list(dict.fromkeys((chunk.owner, chunk.owner_id) for chunk in found))
        near = self._store.siblings(owners, where.spaces)
        have = {(chunk.session, chunk.position) for chunk in found}
        places = [
            place
            for chunk in found[: 2 * NEIGHBOURS_OF]
            if chunk.session is not None and chunk.position is not None
            for step in (-1, 1)
            if (place := (chunk.session, chunk.position + step)) not in have
        ]
        if places:
            near += self._store.turn_chunks(list(dict.fromkeys(places)), where.spaces)
        known = {chunk.id for chunk in found}
        return {chunk.id: chunk for chunk in near if chunk.id not in known}

    def _standings(self, pool: _Pool, where: Filter) -> dict[int, float]:
        """What use has made of the notes that were found; those that nobody ever read have none."""
        rate = RATES[self._settings.forgetting]
        found = sorted({chunk.owner_id for chunk in pool.chunks.values() if chunk.owner == "note"})
        if not rate or not found:
            return {}
        return {
            note: standing(
                retention(one.strength, pool.asking.now_ms - one.last_access_ms, one.accesses, rate, one.pinned),
                one.accesses,
            )
            for note, one in self._store.usage(found, where.spaces).items()
        }

    def _owed(self, where: Filter, mode: str) -> int:
        return self.embedding.pending(where.spaces) if mode != "keyword" else 0

    # -- use ------------------------------------------------------------------------------------------------------

    def _log(self, query: str, rows: Sequence[rank.Ranked]) -> None:
        at, words = self._clock(), clean(query[:500]).text
        self._uses += [
            Use(row.owner[1], "search", at, round(row.score, 4), words) for row in rows if row.owner[0] == "note"
        ]
        if len(self._uses) >= 500:
            self.flush()

    def flush(self) -> None:
        """Writes the log of searches, if the store is free."""
        uses, self._uses = self._uses, []
        if uses:
            self._store.record_use(uses)


def _check(query: str, limit: int, mode: str, fusion: str, diversity: float) -> None:
    if not isinstance(query, str):
        raise InvalidInput("the query is not text", hint="give a string")
    check(query, "the query")
    if not query.strip():
        raise InvalidInput("the query is empty", hint="say what to look for; `recollect list` shows the newest notes")
    check_choice("mode", mode, MODES)
    check_choice("fusion", fusion, rank.FUSIONS)
    if not isinstance(limit, int) or not 1 <= limit <= 1000:
        raise InvalidInput(f"limit {limit} is not between 1 and 1000", hint="10 is the default")
    if not 0 <= diversity <= 1:
        raise InvalidInput(f"diversity {diversity} is not between 0 and 1", hint="0 is the default")


def _candidates(pool: _Pool, standings: dict[int, float]) -> list[rank.Candidate]:
    owners = {(chunk.owner, chunk.owner_id) for chunk in pool.chunks.values()}
    return [
        _candidate(
            chunk, pool.cosines.get(chunk.id), (chunk.owner, chunk.owner_id) in owners,
            standings.get(chunk.owner_id, 0.0) if chunk.owner == "note" else 0.0,
        )
        for chunk in (*pool.chunks.values(), *pool.around.values())
    ]


def _candidate(chunk: Chunk, cosine: float | None, shown: bool, standing: float) -> rank.Candidate:
    return rank.Candidate(
        chunk=chunk.id, owner=(chunk.owner, chunk.owner_id), terms=chunk.terms, context_terms=chunk.context_terms,
        cosine=cosine, created_ms=chunk.created_ms, uid=chunk.uid or f"{chunk.owner}{chunk.owner_id}",
        session=chunk.session, position=chunk.position, speaker=chunk.speaker,
        question=chunk.owner == "turn" and chunk.content.rstrip().endswith(("?", "？")), importance=chunk.importance,
        shown=shown, standing=standing,
    )  # fmt: skip
