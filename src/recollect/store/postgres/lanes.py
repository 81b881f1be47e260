"""The two lanes over chunks: a GIN index over our own terms, and an exact scan of the vectors of the visible spaces."""

from collections.abc import Sequence
from typing import Any

from recollect.store import KeywordLane
from recollect.store.postgres.terms import lexemes, rank_sql, tsquery
from recollect.store.relational.base import scope_of
from recollect.store.relational.chunks import CHUNK_COLUMNS, CHUNK_JOINS, CHUNK_SELECT, ChunkTables, chunk_of
from recollect.store.relational.rows import Row, chunk_clauses, marks
from recollect.types import Filter

_TERMS, _CONTEXT = CHUNK_COLUMNS.index("terms"), CHUNK_COLUMNS.index("context_terms")
_INSERT = (
    f"insert into chunks ({', '.join(CHUNK_COLUMNS)}, lexemes) "
    f"values ({', '.join('?' * len(CHUNK_COLUMNS))}, ?::tsvector)"
)
_SCOPED = "array[c.scope] && ?::text[]"


class PostgresLanes(ChunkTables):
    def _write_chunks(self, rows: Sequence[Row]) -> None:
        self._many(_INSERT, [(*row, lexemes(row[_TERMS], row[_CONTEXT])) for row in rows])

    # -- keywords -------------------------------------------------------------------------------------------------

    def keyword(self, terms: Sequence[str], where: Filter, limit: int) -> KeywordLane:
        total, words = self._rows(
            "select count(*), cast(coalesce(sum(term_count), 0) as bigint) from chunks "
            f"where space in ({marks(where.spaces)})",
            where.spaces,
        )[0]
        if not terms or not total:
            return KeywordLane((), total, 0.0, dict.fromkeys(terms, 0))
        scopes = _scopes(where)
        frequencies = self._frequencies(terms, where, scopes)
        clauses = chunk_clauses(where, self.tag_sql)
        rank, weights = rank_sql(frequencies, total, words / total)
        rows = self._rows(
            f"{CHUNK_SELECT}from chunks c {CHUNK_JOINS}where {_SCOPED} and c.lexemes @@ ?::tsquery and {clauses.sql} "
            f"order by {rank} desc, c.id desc limit ?",  # sql: rank_sql returns only ? marks and constants
            (scopes, tsquery(terms), *clauses.values, *weights, limit),
        )
        return KeywordLane(tuple(chunk_of(row) for row in rows), total, words / total, frequencies)

    def _frequencies(self, terms: Sequence[str], where: Filter, scopes: list[str]) -> dict[str, int]:
        """In how many chunks of the visible spaces each term stands, not counting their context."""
        rows = self._rows(
            "select q.place, count(*) from unnest(?::tsquery[]) with ordinality q (term, place) "
            f"join chunks c on c.space in ({marks(where.spaces)}) and {_SCOPED} and c.lexemes @@ q.term "
            "group by q.place",
            ([tsquery([term], "A") for term in terms], *where.spaces, scopes),
        )
        found = {terms[place - 1]: count for place, count in rows}
        return {term: found.get(term, 0) for term in terms}

    # -- vectors --------------------------------------------------------------------------------------------------

    def _vector_value(self, vector: bytes) -> str:
        return _literal(vector)

    def _vector_bytes(self, stored: Any) -> bytes:
        import numpy as np

        text = stored if isinstance(stored, str) else str(stored)
        return np.array(text.strip("[]").split(","), dtype="<f4").tobytes()

    def trim_removals(self, keep: int) -> int:
        """There is no such log: vectors are read where they are."""
        return 0

    def _move_vectors(self, column: str, owner: int, space: int) -> None:
        """Nothing to do: vectors follow their chunks by cascade, and nobody keeps a copy."""

    def similarities(self, model: str, query: Any, ids: Sequence[int], spaces: Sequence[int]) -> dict[int, float]:
        import numpy as np

        model_id = self._model_id(model)
        if model_id is None or not ids:
            return {}
        rows = self._rows(
            "select chunk_id, -(vector <#> ?::vector) from vectors "
            f"where space in ({marks(spaces)}) and model = ? and chunk_id = any(?)",
            (_literal(np.asarray(query, "<f4").tobytes()), *spaces, model_id, list(ids)),
        )
        return {row[0]: row[1] for row in rows}

    def vector_lane(self, model: str, query: Any, where: Filter, limit: int) -> list[tuple[int, float]]:
        """Exact within the filter: adding 0 keeps the planner from an approximate index that filters afterwards.

        Vectors have length one, so their inner product is the cosine, and a zero vector has no NaN in it.
        """
        import numpy as np

        model_id = self._model_id(model)
        if model_id is None:
            return []
        clauses = chunk_clauses(where, self.tag_sql)
        literal = _literal(np.asarray(query, "<f4").tobytes())
        rows = self._rows(
            "select c.id, -(v.vector <#> ?::vector) from vectors v "
            f"join chunks c on c.space = v.space and c.id = v.chunk_id {CHUNK_JOINS}"
            f"where v.space in ({marks(where.spaces)}) and v.model = ? and {clauses.sql} "
            "order by (v.vector <#> ?::vector) + 0, c.id desc limit ?",
            (literal, *where.spaces, model_id, *clauses.values, literal, limit),
        )
        return [(row[0], row[1]) for row in rows]


def _scopes(where: Filter) -> list[str]:
    states = ["live", "hidden"] if set(where.states) - {"live"} else ["live"]
    return [scope_of(space, state) for space in where.spaces for state in states]


def _literal(vector: bytes) -> str:
    """Float32 bytes as pgvector reads them; nine digits bring every float32 back to the bit."""
    import numpy as np

    return "[" + ",".join([f"{value:.9g}" for value in np.frombuffer(vector, dtype="<f4").tolist()]) + "]"
