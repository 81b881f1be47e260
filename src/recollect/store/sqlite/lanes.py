"""Chunks and the two lanes over them: FTS5 for keywords, an exact in-memory scan for vectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recollect.store import KeywordLane, Operation
from recollect.store.relational.base import ChunkOwner, scope_of
from recollect.store.relational.rows import Row, batches, chunk_clauses, marks
from recollect.store.relational.vectors import VectorTables
from recollect.text.chunk import CHUNKER_VERSION
from recollect.text.tokens import TOKENIZER_VERSION
from recollect.types import Chunk, ChunkDraft, Filter

if TYPE_CHECKING:
    from recollect.vectors.exact import ExactScan

_CHUNK_INSERT = (
    "insert into chunks (id, space, note_id, turn_id, file_id, session_id, chunk_idx, content, context, file_path, "
    "start_line, end_line, scope, terms, context_terms, term_count, trusted, chunker, tokenizer, hash, created_ms) "
    f"values ({', '.join('?' * 21)})"
)
_CHUNK_SELECT = (
    "select c.id, s.name, c.note_id, c.turn_id, c.file_id, c.chunk_idx, c.content, c.context, c.terms, "
    "c.context_terms, c.trusted, c.created_ms, c.session_id, t.position, t.speaker, c.file_path, c.start_line, c.end_line "
)
_CHUNK_JOINS = (
    "join spaces s on s.id = c.space left join notes n on n.id = c.note_id left join turns t on t.id = c.turn_id "
)
CONTEXT_WEIGHT = 0.5  # neighbours' words count half of a chunk's own when candidates are drawn


class SqliteLanes(VectorTables):
    def __init__(self) -> None:
        self._scan: ExactScan | None = None

    def _insert_chunks(self, space: int, owners: Sequence[ChunkOwner]) -> None:
        count = sum(len(owner.chunks) for owner in owners)
        if not count:
            return
        ids = iter(self._next_ids("chunks", count))
        rows: list[Row] = []
        vectors: list[tuple[int, bytes]] = []
        for owner in owners:
            for idx, draft in enumerate(owner.chunks):
                chunk_id = next(ids)
                rows.append(_chunk_row(chunk_id, space, owner, idx, draft))
                if draft.vector is not None:
                    vectors.append((chunk_id, draft.vector))
        self._many(_CHUNK_INSERT, rows)
        if vectors:
            self._put_vectors(self._active_model_id(), space, vectors)

    def rebuild_chunks(
        self, op: Operation, space: int, owner: str, owner_id: int, chunks: Sequence[ChunkDraft]
    ) -> None:
        with self.transaction([space]):
            rows = self._rows(
                f"select scope, trusted, created_ms, session_id, file_path from chunks "
                f"where space = ? and {owner}_id = ? limit 1",
                (space, owner_id),
            )
            self._rows(f"delete from chunks where space = ? and {owner}_id = ?", (space, owner_id))
            if rows:
                scope, trusted, created_ms, session_id, path = rows[0]
                self._insert_chunks(
                    space, [ChunkOwner(owner, owner_id, scope, bool(trusted), created_ms, chunks, session_id, path)]
                )

    # -- keywords -------------------------------------------------------------------------------------------------

    def keyword(self, terms: Sequence[str], where: Filter, limit: int) -> KeywordLane:
        total, words = self._rows(
            f"select coalesce(sum(chunks), 0), coalesce(sum(terms), 0) from space_sizes where space in ({marks(where.spaces)})",
            where.spaces,
        )[0]
        if not terms or not total:
            return KeywordLane((), total, 0.0, {})
        scope = _scope(where)
        quoted = [f'"{term}"' for term in terms]
        frequencies = {
            term: self._rows(
                "select count(*) from chunks_fts where chunks_fts match ?", (f"{scope} AND terms : {word}",)
            )[0][0]
            for term, word in zip(terms, quoted, strict=True)
        }
        clauses = chunk_clauses(where, self.tag_sql)
        rows = self._rows(
            f"{_CHUNK_SELECT}from chunks_fts f join chunks c on c.id = f.rowid {_CHUNK_JOINS}"
            f"where chunks_fts match ? and {clauses.sql} order by bm25(chunks_fts, 1.0, ?, 0.0), c.id desc limit ?",
            (f"{scope} AND {{terms context_terms}} : ({' OR '.join(quoted)})", *clauses.values, CONTEXT_WEIGHT, limit),
        )
        return KeywordLane(tuple(_chunk_of(row) for row in rows), total, words / total, frequencies)

    def chunks(self, ids: Sequence[int], where: Filter) -> list[Chunk]:
        found: dict[int, Chunk] = {}
        clauses = chunk_clauses(where, self.tag_sql)
        for part in batches(ids):
            rows = self._rows(
                f"{_CHUNK_SELECT}from chunks c {_CHUNK_JOINS}where c.id in ({marks(part)}) and {clauses.sql}",
                (*part, *clauses.values),
            )
            found.update((row[0], _chunk_of(row)) for row in rows)
        return [found[chunk] for chunk in ids if chunk in found]

    # -- vectors --------------------------------------------------------------------------------------------------

    def _store_vectors(self, model_id: int, vectors: Sequence[tuple[int, bytes]]) -> int:
        before = self._rows("select count(*) from vectors where model = ?", (model_id,))[0][0]
        self._many(
            "insert into vectors (space, model, chunk_id, dtype, vector) "
            "select space, ?, id, 'f4', ? from chunks where id = ? on conflict (chunk_id, model) do nothing",
            [(model_id, vector, chunk_id) for chunk_id, vector in vectors],
        )
        return int(self._rows("select count(*) from vectors where model = ?", (model_id,))[0][0]) - int(before)

    def _put_vectors(self, model_id: int, space: int, vectors: Sequence[tuple[int, bytes]]) -> None:
        self._many(
            "insert into vectors (space, model, chunk_id, dtype, vector) values (?, ?, ?, 'f4', ?)",
            [(space, model_id, chunk_id, vector) for chunk_id, vector in vectors],
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
        if self._scan is None:
            from recollect.vectors.exact import ExactScan

            self._scan = ExactScan(self)
        with self.snapshot():
            return self._scan.nearest(model_id, query, where, limit)

    def vector_rows(self, model_id: int, space: int, after: int) -> list[tuple[int, int, bytes]]:
        """Vectors of a space newer than a change number: (change, chunk, bytes)."""
        return self._rows(
            "select change, chunk_id, vector from vectors where space = ? and model = ? and change > ? order by change",
            (space, model_id, after),
        )

    def removed_rows(self, space: int, after: int) -> list[tuple[int, int]]:
        return self._rows("select change, chunk_id from removals where space = ? and change > ?", (space, after))

    def allowed_chunks(self, where: Filter) -> list[int]:
        """Every chunk that passes the filter, for filters that leave few."""
        clauses = chunk_clauses(where, self.tag_sql)
        return [
            row[0] for row in self._rows(f"select c.id from chunks c {_CHUNK_JOINS}where {clauses.sql}", clauses.values)
        ]


def _scope(where: Filter) -> str:
    states = {"live"} | ({"hidden"} if set(where.states) - {"live"} else set())
    words = [f'"{scope_of(space, state)}"' for space in where.spaces for state in sorted(states)]
    return f"scope : ({' OR '.join(words)})"


def _chunk_row(chunk_id: int, space: int, owner: ChunkOwner, idx: int, draft: ChunkDraft) -> Row:
    what, owner_id = owner.what, owner.id
    return (
        chunk_id, space, owner_id if what == "note" else None, owner_id if what == "turn" else None,
        owner_id if what == "file" else None, owner.session_id, idx, draft.content, draft.context, owner.file_path,
        draft.start_line, draft.end_line, owner.scope, draft.terms, draft.context_terms,
        draft.terms.count(" ") + 1, int(owner.trusted), CHUNKER_VERSION, TOKENIZER_VERSION, draft.hash, owner.created_ms,
    )  # fmt: skip


def _chunk_of(row: Row) -> Chunk:
    note, turn, file = row[2:5]
    return Chunk(
        id=row[0], space=row[1],
        owner="note" if note is not None else "turn" if turn is not None else "file",
        owner_id=note if note is not None else turn if turn is not None else file,
        idx=row[5], content=row[6], context=row[7], terms=row[8], context_terms=row[9], trusted=bool(row[10]),
        created_ms=row[11], session=row[12], position=row[13], speaker=row[14] or "", file_path=row[15] or "",
        start_line=row[16], end_line=row[17],
    )  # fmt: skip
