"""Chunks, the searchable slices that notes, turns and files own, and the filter over them."""

from collections.abc import Sequence

from recollect.store import Operation
from recollect.store.relational.base import ChunkOwner
from recollect.store.relational.rows import Row, Shape, batches, chunk_clauses, marks, note_clauses
from recollect.store.relational.vectors import VectorTables
from recollect.text.chunk import CHUNKER_VERSION
from recollect.text.tokens import TOKENIZER_VERSION
from recollect.types import Chunk, ChunkDraft, Filter

CHUNK_COLUMNS = (
    "id", "space", "note_id", "turn_id", "file_id", "session_id", "chunk_idx", "content", "context", "file_path",
    "start_line", "end_line", "scope", "terms", "context_terms", "term_count", "trusted", "chunker", "tokenizer",
    "hash", "created_ms",
)  # fmt: skip
CHUNK_SELECT = (
    "select c.id, s.name, c.note_id, c.turn_id, c.file_id, c.chunk_idx, c.content, c.context, c.terms, "
    "c.context_terms, c.trusted, c.created_ms, c.session_id, t.position, t.speaker, c.file_path, "
    "c.start_line, c.end_line, n.uid, n.importance, c.hash "
)
CHUNK_JOINS = (
    "join spaces s on s.id = c.space left join notes n on n.space = c.space and n.id = c.note_id "
    "left join turns t on t.space = c.space and t.id = c.turn_id "
)
_INSERT = f"insert into chunks ({', '.join(CHUNK_COLUMNS)}) values ({', '.join('?' * len(CHUNK_COLUMNS))})"


class ChunkTables(VectorTables):
    def _insert_chunks(self, space: int, owners: Sequence[ChunkOwner]) -> None:
        count = sum(len(owner.chunks) for owner in owners)
        if not count:
            return
        ids = iter(self._next_ids("chunks", count))
        rows: list[Row] = []
        vectors: list[tuple[int, bytes]] = []
        for what, owner, scope, trusted, created_ms, chunks, session, path in owners:
            note = owner if what == "note" else None
            turn = owner if what == "turn" else None
            file = owner if what == "file" else None
            for idx, draft in enumerate(chunks):
                chunk_id, words = next(ids), draft.terms
                rows.append((
                    chunk_id, space, note, turn, file, session, idx, draft.content, draft.context, path,
                    draft.start_line, draft.end_line, scope, words, draft.context_terms,
                    words.count(" ") + 1 if words else 0, int(trusted), CHUNKER_VERSION, TOKENIZER_VERSION, draft.hash,
                    created_ms,
                ))  # fmt: skip
                if draft.vector is not None:
                    vectors.append((chunk_id, draft.vector))
        self._write_chunks(rows)
        if vectors:
            self._give_vectors(space, vectors)

    def _write_chunks(self, rows: Sequence[Row]) -> None:
        """Stores rows of CHUNK_COLUMNS; an engine that indexes terms in a column of its own adds it here."""
        self._many(_INSERT, rows)

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

    def chunks(self, ids: Sequence[int], where: Filter) -> list[Chunk]:
        found: dict[int, Chunk] = {}
        clauses = chunk_clauses(where, self.tag_sql)
        for part in batches(ids):
            rows = self._rows(
                f"{CHUNK_SELECT}from chunks c {CHUNK_JOINS}where c.id in ({marks(part)}) and {clauses.sql}",
                (*part, *clauses.values),
            )
            found.update((row[0], chunk_of(row)) for row in rows)
        return [found[chunk] for chunk in ids if chunk in found]

    def owned(self, what: str, owner: int, space: int) -> list[Chunk]:
        column = f"{what}_id"
        rows = self._rows(
            f"{CHUNK_SELECT}from chunks c {CHUNK_JOINS}where c.space = ? and c.{column} = ? order by c.chunk_idx",
            (space, owner),
        )
        return [chunk_of(row) for row in rows]

    def note_vectors(self, model: str, where: Filter, limit: int) -> list[tuple[int, bytes]]:
        model_id = self._model_id(model)
        if model_id is None:
            return []
        clauses = note_clauses(where, self.tag_sql)
        notes = self._rows(
            f"select n.id from notes n where {clauses.sql} order by n.created_ms desc, n.id desc limit ?",
            (*clauses.values, limit),
        )
        found: dict[int, bytes] = {}
        # In two steps: as one join a planner may begin with all vectors.
        for part in batches([row[0] for row in notes]):
            rows = self._rows(
                "select c.note_id, v.vector from chunks c join vectors v on v.space = c.space and v.chunk_id = c.id "
                f"where v.model = ? and c.space in ({marks(where.spaces)}) and c.note_id in ({marks(part)}) "
                "and c.chunk_idx = 0",
                (model_id, *where.spaces, *part),
            )
            found.update((note, self._vector_bytes(vector)) for note, vector in rows)
        return [(row[0], found[row[0]]) for row in notes if row[0] in found]

    def siblings(self, owners: Sequence[tuple[str, int]], spaces: Sequence[int]) -> list[Chunk]:
        found: list[Chunk] = []
        for what in ("note", "turn", "file"):
            column = f"{what}_id"
            long = self._owners_of_many([owner_id for kind, owner_id in owners if kind == what], column, spaces)
            for part in batches(long):
                rows = self._rows(
                    f"{CHUNK_SELECT}from chunks c {CHUNK_JOINS}where c.space in ({marks(spaces)}) "
                    f"and c.{column} in ({marks(part)})",
                    (*spaces, *part),
                )
                found += [chunk_of(row) for row in rows]
        return found

    def _owners_of_many(self, ids: Sequence[int], column: str, spaces: Sequence[int]) -> list[int]:
        """Those that have more than one chunk: few, so that asking first is cheap."""
        found: list[int] = []
        for part in batches(ids):
            rows = self._rows(
                f"select distinct {column} from chunks c where c.space in ({marks(spaces)}) "
                f"and c.{column} in ({marks(part)}) and c.chunk_idx > 0",
                (*spaces, *part),
            )
            found += [row[0] for row in rows]
        return found

    def turn_chunks(self, places: Sequence[tuple[int, int]], spaces: Sequence[int]) -> list[Chunk]:
        found: list[Chunk] = []
        for part in batches(places, 250):
            pairs = ", ".join("(?, ?)" for _ in part)
            rows = self._rows(
                f"{CHUNK_SELECT}from chunks c {CHUNK_JOINS}where c.space in ({marks(spaces)}) and c.turn_id in "
                f"(select id from turns where (session_id, position) in (values {pairs}))",  # sql: only ? marks
                (*spaces, *(number for place in part for number in place)),
            )
            found += [chunk_of(row) for row in rows]
        return found

    def speakers(self, spaces: Sequence[int]) -> list[str]:
        return [
            row[0] for row in self._rows(f"select distinct speaker from turns where space in ({marks(spaces)})", spaces)
        ]


_CHUNK = Shape("isIIIissssiiIISSIISIs")


def chunk_of(row: Row) -> Chunk:
    _CHUNK.check(row)
    note, turn, file = row[2:5]
    return Chunk(
        id=row[0], space=row[1],
        owner="note" if note is not None else "turn" if turn is not None else "file",
        owner_id=note if note is not None else turn if turn is not None else file,
        idx=row[5], content=row[6], context=row[7], terms=row[8], context_terms=row[9], trusted=bool(row[10]),
        created_ms=row[11], session=row[12], position=row[13], speaker=row[14] or "", file_path=row[15] or "",
        start_line=row[16], end_line=row[17], uid=row[18] or "", importance=row[19] or 5, hash=row[20],
    )  # fmt: skip
