"""The two lanes over chunks: FTS5 for keywords, an exact in-memory scan for vectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recollect.store import KeywordLane
from recollect.store.relational.base import scope_of
from recollect.store.relational.chunks import CHUNK_COLUMNS, CHUNK_JOINS, CHUNK_SELECT, ChunkTables, chunk_of
from recollect.store.relational.rows import Row, batches, chunk_clauses, marks
from recollect.types import Chunk, Filter

if TYPE_CHECKING:
    from recollect.vectors.exact import ExactScan

CONTEXT_WEIGHT = 0.5  # neighbours' words count half of a chunk's own when candidates are drawn

_RANKED = "order by bm25(chunks_fts, 1.0, ?, 0.0), chunks_fts.rowid desc limit ?"


class SqliteLanes(ChunkTables):
    def __init__(self) -> None:
        self._scan: ExactScan | None = None

    def keyword(self, terms: Sequence[str], where: Filter, limit: int) -> KeywordLane:
        total, words = self._rows(
            "select coalesce(sum(chunks), 0), coalesce(sum(terms), 0) from space_sizes "
            f"where space in ({marks(where.spaces)})",
            where.spaces,
        )[0]
        if not terms or not total:
            return KeywordLane((), total, 0.0, dict.fromkeys(terms, 0))
        scope = _scope(where)
        quoted = [f'"{term}"' for term in terms]
        frequencies = {
            term: self._rows(
                "select count(*) from chunks_fts where chunks_fts match ?", (f"{scope} AND terms : {word}",)
            )[0][0]
            for term, word in zip(terms, quoted, strict=True)
        }
        match = f"{scope} AND {{terms context_terms}} : ({' OR '.join(quoted)})"
        return KeywordLane(tuple(self._matching(match, where, limit)), total, words / total, frequencies)

    def _matching(self, match: str, where: Filter, limit: int) -> list[Chunk]:
        """The best chunks inside the filter. First the index is asked alone and the filter about its best: joined,
        every chunk with one of the words would be read, half a store. Where too few of them pass, it is joined."""
        rows = self._rows(
            f"select rowid from chunks_fts where chunks_fts match ? {_RANKED}", (match, CONTEXT_WEIGHT, 2 * limit)
        )
        best = [row[0] for row in rows]
        found = self.chunks(best[:limit], where)
        if len(found) < limit:
            found += self.chunks(best[limit:], where)
        if len(found) >= limit or len(best) < 2 * limit:
            return found[:limit]
        clauses = chunk_clauses(where, self.tag_sql)
        joined = self._rows(
            f"{CHUNK_SELECT}from chunks_fts join chunks c on c.id = chunks_fts.rowid {CHUNK_JOINS}"
            f"where chunks_fts match ? and {clauses.sql} {_RANKED}",
            (match, *clauses.values, CONTEXT_WEIGHT, limit),
        )
        return [chunk_of(row) for row in joined]

    def _write_chunks(self, rows: Sequence[Row]) -> None:
        """The rows, and their terms in one statement: ten times quicker than one by one."""
        super()._write_chunks(rows)
        self._rows(
            "insert into chunks_fts (rowid, terms, context_terms, scope) "
            "select id, terms, context_terms, scope from chunks where id between ? and ?",
            (rows[0][0], rows[-1][0]),
        )
        words = CHUNK_COLUMNS.index("term_count")
        self._rows(
            "update space_sizes set chunks = chunks + ?, terms = terms + ? where space = ?",
            (len(rows), sum(row[words] for row in rows), rows[0][1]),
        )

    def _move_vectors(self, column: str, owner: int, space: int) -> None:
        rows = self._rows(
            f"delete from vectors where chunk_id in (select id from chunks where {column} = ?) "
            "returning model, chunk_id, dtype, vector",
            (owner,),
        )
        self._many(
            "insert into vectors (space, model, chunk_id, dtype, vector) values (?, ?, ?, ?, ?)",
            [(space, *row) for row in rows],
        )

    def vector_lane(self, model: str, query: Any, where: Filter, limit: int) -> list[tuple[int, float]]:
        model_id = self._model_id(model)
        if model_id is None:
            return []
        with self.snapshot():
            return self._exact_scan().nearest(model_id, query, where, limit)

    def similarities(self, model: str, query: Any, ids: Sequence[int], spaces: Sequence[int]) -> dict[int, float]:
        model_id = self._model_id(model)
        if model_id is None:
            return {}
        with self.snapshot():
            return self._exact_scan().similarities(model_id, query, ids, spaces)

    def _exact_scan(self) -> "ExactScan":
        """What a transaction sees may yet be rolled back: it gets a scan of its own that nobody else follows."""
        from recollect.vectors.exact import ExactScan

        if self._writing():
            return ExactScan(self)
        if self._scan is None:
            self._scan = ExactScan(self)
        return self._scan

    def _writing(self) -> bool:
        raise NotImplementedError

    def vector_rows(self, model_id: int, space: int, after: int) -> list[tuple[int, int, bytes]]:
        """Vectors of a space newer than a change number: (change, chunk, bytes)."""
        return self._rows(
            "select change, chunk_id, vector from vectors where space = ? and model = ? and change > ? order by change",
            (space, model_id, after),
        )

    def removed_rows(self, model_id: int, space: int, after: int) -> list[tuple[int, int]]:
        return self._rows(
            "select change, chunk_id from removals where space = ? and model = ? and change > ?",
            (space, model_id, after),
        )

    def removals_begin(self) -> int:
        """The oldest removal that is still logged; 0 when there never was one."""
        begin: int = self._rows("select coalesce(min(change), 0) from removals")[0][0]
        return begin

    def trim_removals(self, keep: int) -> int:
        """The newest always stays: it says how far the log has come."""
        with self.transaction([]):
            newest = self._rows("select coalesce(max(change), 0) from removals")[0][0]
            return len(self._rows("delete from removals where change <= ? returning 1", (newest - max(1, keep),)))

    def passing(self, ids: Sequence[int], where: Filter) -> set[int]:
        """Those of `ids` that pass the filter."""
        clauses = chunk_clauses(where, self.tag_sql)
        found: set[int] = set()
        for part in batches(ids):
            rows = self._rows(
                f"select c.id from chunks c {CHUNK_JOINS}where c.id in ({marks(part)}) and {clauses.sql}",
                (*part, *clauses.values),
            )
            found.update(row[0] for row in rows)
        return found

    def allowed_chunks(self, where: Filter) -> list[int]:
        """Every chunk that passes the filter, for filters that leave few."""
        clauses = chunk_clauses(where, self.tag_sql)
        return [
            row[0] for row in self._rows(f"select c.id from chunks c {CHUNK_JOINS}where {clauses.sql}", clauses.values)
        ]


def _scope(where: Filter) -> str:
    states = {"live"} | ({"hidden"} if set(where.states) - {"live"} else set())
    words = [f'"{scope_of(space, state)}"' for space in where.spaces for state in sorted(states)]
    return f"scope : ({' OR '.join(words)})"
