"""An exact scan in memory, one matrix per space, kept fresh by the store's change numbers.

The truth is in the store. A matrix is loaded on the first search of its space; later searches read only vectors
newer than the last one seen and mask the rows of chunks that were removed. The log of removals is trimmed now and then;
who has not read it up to there loads its matrix anew.
"""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from recollect.types import Filter

if TYPE_CHECKING:
    import numpy as np


class VectorSource(Protocol):
    def vector_rows(self, model_id: int, space: int, after: int) -> list[tuple[int, int, bytes]]: ...

    def removed_rows(self, model_id: int, space: int, after: int) -> list[tuple[int, int]]: ...

    def removals_begin(self) -> int: ...

    def allowed_chunks(self, where: Filter) -> list[int]: ...

    def passing(self, ids: Sequence[int], where: Filter) -> set[int]: ...


class _Matrix:
    """The vectors of one space: rows grow in doubling blocks, removed ones are masked."""

    def __init__(self) -> None:
        self.removal = 0
        self._clear()

    def _clear(self) -> None:
        self.change = 0
        self.count = 0
        self.ids: Any = None  # 0 where the row was removed: a chunk that leaves and comes back gets a new row
        self.rows: Any = None

    def refresh(self, source: VectorSource, model_id: int, space: int) -> None:
        import numpy as np

        trimmed = source.removals_begin() - 1
        if trimmed > self.removal:  # what was removed from here before that can no longer be known
            self._clear()
            self.removal = trimmed
        gone = source.removed_rows(model_id, space, self.removal)
        if gone:
            self.removal = max(change for change, _ in gone)
            if self.count:
                known = self.ids[: self.count]
                known[np.isin(known, [chunk_id for _, chunk_id in gone])] = 0
        new = source.vector_rows(model_id, space, self.change)
        if not new:
            return
        self.change = new[-1][0]
        block = np.frombuffer(b"".join(row[2] for row in new), dtype="<f4").reshape(len(new), -1)
        self._grow(len(new), block.shape[1])
        self.rows[self.count : self.count + len(new)] = block
        self.ids[self.count : self.count + len(new)] = [row[1] for row in new]
        self.count += len(new)

    def _grow(self, extra: int, dims: int) -> None:
        import numpy as np

        needed = self.count + extra
        if self.rows is None:
            self.rows, self.ids = np.empty((needed, dims), np.float32), np.empty(needed, np.int64)
        elif needed > len(self.rows):
            room = max(needed, 2 * len(self.rows))
            rows, ids = np.empty((room, dims), np.float32), np.empty(room, np.int64)
            rows[: self.count], ids[: self.count] = self.rows[: self.count], self.ids[: self.count]
            self.rows, self.ids = rows, ids

    def similarities(self, query: "np.ndarray[Any, Any]") -> tuple[Any, Any]:
        ids = self.ids[: self.count]
        alive = ids != 0
        return ids[alive], (self.rows[: self.count] @ query)[alive]


class ExactScan:
    def __init__(self, source: VectorSource) -> None:
        self._source = source
        self._matrices: dict[tuple[int, int], _Matrix] = {}
        self._lock = threading.Lock()

    def nearest(self, model_id: int, query: Any, where: Filter, limit: int) -> list[tuple[int, float]]:
        """The best `limit` chunks inside the filter. Exact: it widens until enough pass or none is left."""
        import numpy as np

        query = np.asarray(query, np.float32)
        with self._lock:
            parts = [
                self._fresh(model_id, space).similarities(query) for space in where.spaces if self._has(model_id, space)
            ]
        if not parts:
            return []
        ids = np.concatenate([part[0] for part in parts])
        scores = np.concatenate([part[1] for part in parts])
        if _narrow(where):
            keep = np.isin(ids, np.array(self._source.allowed_chunks(where), np.int64))
            ids, scores = ids[keep], scores[keep]
        return self._best(ids, scores, where, limit)

    def similarities(self, model_id: int, query: Any, ids: Sequence[int], spaces: Sequence[int]) -> dict[int, float]:
        """The cosine of each of `ids` that has a vector in these spaces."""
        import numpy as np

        query, wanted = np.asarray(query, np.float32), np.array(sorted(ids), np.int64)
        found: dict[int, float] = {}
        with self._lock:
            for space in spaces:
                if self._has(model_id, space) and len(wanted):
                    matrix = self._fresh(model_id, space)
                    rows = np.flatnonzero(np.isin(matrix.ids[: matrix.count], wanted))
                    scores = matrix.rows[rows] @ query
                    found.update(zip(matrix.ids[rows].tolist(), scores.tolist(), strict=True))
        return found

    def _has(self, model_id: int, space: int) -> bool:
        return self._fresh(model_id, space).count > 0

    def _fresh(self, model_id: int, space: int) -> _Matrix:
        matrix = self._matrices.setdefault((model_id, space), _Matrix())
        matrix.refresh(self._source, model_id, space)
        return matrix

    def _best(self, ids: Any, scores: Any, where: Filter, limit: int) -> list[tuple[int, float]]:
        import numpy as np

        wanted = limit
        while True:
            top = _top(scores, wanted)
            top = top[np.lexsort((-ids[top], -scores[top]))]
            best = list(zip(ids[top].tolist(), scores[top].tolist(), strict=True))
            passing = self._source.passing([chunk_id for chunk_id, _ in best], where)
            found = [pair for pair in best if pair[0] in passing]
            if len(found) >= limit or wanted >= len(scores):
                return found[:limit]
            wanted *= 4


def _narrow(where: Filter) -> bool:
    """Whether a filter may leave so few that it is quicker to list them first."""
    times = (where.since_ms, where.until_ms, where.as_of_ms)
    return bool(where.notes_only or where.session or where.trusted_only or any(at is not None for at in times))


def _top(scores: Any, wanted: int) -> Any:
    """The rows of the best `wanted` scores and all that tie with the last: which of them counts is not chance."""
    import numpy as np

    if not 0 < wanted < len(scores):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - wanted)[len(scores) - wanted])
