"""Indexed files, leases, and what has to be indexed anew. Where a file was read to is stored with what was read."""

from collections.abc import Sequence

from recollect import audit
from recollect.errors import Conflict
from recollect.store import Operation, SourceFile
from recollect.store.relational.base import Chains, ChunkOwner, scope_of
from recollect.store.relational.chunks import ChunkTables
from recollect.store.relational.rows import batches, marks
from recollect.text.chunk import CHUNKER_VERSION
from recollect.text.tokens import TOKENIZER_VERSION
from recollect.types import ChunkDraft

_SELECT = (
    'select path, source, reader, hash, mtime_ns, size, "offset", line, state, indexed_ms, id, space from files where '
)
_PUT = (
    'insert into files (id, space, path, source, reader, hash, mtime_ns, size, "offset", line, state, indexed_ms) '
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (space, path) do update set source = excluded.source, "
    "reader = excluded.reader, hash = excluded.hash, mtime_ns = excluded.mtime_ns, size = excluded.size, "
    '"offset" = excluded."offset", line = excluded.line, state = excluded.state, indexed_ms = excluded.indexed_ms'
)


class FileTables(ChunkTables):
    def files(self, paths: Sequence[str] = (), under: str | None = None) -> list[SourceFile]:
        if under == "":
            return [SourceFile(*row) for row in self._rows(f"{_SELECT}true order by path", ())]
        if under is not None:
            prefix = under.rstrip("/\\")
            rows = self._rows(
                f"{_SELECT}path = ? or (path >= ? and path < ?) or (path >= ? and path < ?) order by path",
                (prefix, f"{prefix}/", f"{prefix}0", f"{prefix}\\", f"{prefix}]"),
            )
            return [SourceFile(*row) for row in rows]
        found: list[SourceFile] = []
        for part in batches(paths):
            found += [SourceFile(*row) for row in self._rows(f"{_SELECT}path in ({marks(part)}) order by path", part)]
        return found

    def put_file(self, op: Operation, space: int, file: SourceFile, chunks: Sequence[ChunkDraft] | None) -> int:
        with self.transaction([space]):
            if self._forgotten(space, file.path):
                raise Conflict(f"{file.path} was forgotten", hint="a forgotten file is not indexed again")
            known = self._rows("select id from files where space = ? and path = ?", (space, file.path))
            file_id: int = known[0][0] if known else self._next_ids("files", 1)[0]
            self._rows(
                _PUT,
                (file_id, space, file.path, file.source, file.reader, file.hash, file.mtime_ns, file.size, file.offset,
                 file.line, file.state, file.indexed_ms),
            )  # fmt: skip
            if chunks is not None:
                self._rows("delete from chunks where space = ? and file_id = ?", (space, file_id))
                owner = ChunkOwner(
                    "file", file_id, scope_of(space), False, file.mtime_ns // 1_000_000, chunks, file_path=file.path
                )
                self._insert_chunks(space, [owner])
        return file_id

    def _forgotten(self, space: int, path: str) -> bool:
        value = audit.content_hash(path)
        sql = "select 1 from tombstones where space = ? and what = 'file' and value = ?"
        return bool(self._rows(sql, (space, value)))

    def remove_file(self, op: Operation, space: int, path: str, forget: bool = False) -> bool:
        with self.transaction([space]):
            rows = self._rows("select id from files where space = ? and path = ?", (space, path))
            if rows:
                if forget:
                    self._rows(
                        "delete from embedding_cache where hash in "
                        "(select hash from chunks where space = ? and file_id = ?)",
                        (space, rows[0][0]),
                    )
                self._rows("delete from chunks where space = ? and file_id = ?", (space, rows[0][0]))
                self._rows("delete from files where space = ? and id = ?", (space, rows[0][0]))
            if forget:
                self._rows(
                    "insert into tombstones (space, what, value, at_ms) values (?, 'file', ?, ?) "
                    "on conflict do nothing",
                    (space, audit.content_hash(path), op.at_ms),
                )
                chains = Chains(self, op, [space])
                chains.append(space, audit.content_hash(path)[:32], 0, audit.GENESIS, verb="erase")
                chains.write()
        return bool(rows)

    def lease(self, name: str, holder: str, now_ms: int, ttl_ms: int) -> bool:
        with self.transaction([]):
            if ttl_ms <= 0:
                self._rows("delete from leases where name = ? and holder = ?", (name, holder))
                return False
            rows = self._rows(
                "insert into leases (name, holder, expires_ms) values (?, ?, ?) on conflict (name) do update "
                "set holder = excluded.holder, expires_ms = excluded.expires_ms "
                "where leases.holder = excluded.holder or leases.expires_ms <= ? returning 1",
                (name, holder, now_ms + ttl_ms, now_ms),
            )
        return bool(rows)

    def stale(self, limit: int, before: int | None = None) -> list[tuple[int, str, int]]:
        clause, values = "(chunker <> ? or tokenizer <> ?)", [CHUNKER_VERSION, TOKENIZER_VERSION]
        if before is not None:
            clause, values = "id <= ?", [before]
        rows = self._rows(
            f"select space, note_id, turn_id, file_id, min(id) from chunks where {clause} "
            "group by space, note_id, turn_id, file_id order by min(id) limit ?",
            (*values, limit),
        )
        return [(space, *_owner_of(*owner)) for space, *owner, _ in rows]

    def last_chunk(self) -> int:
        last: int = self._rows("select coalesce(max(id), 0) from chunks")[0][0]
        return last


def _owner_of(note: int | None, turn: int | None, file: int | None) -> tuple[str, int]:
    return next((what, found) for what, found in (("note", note), ("turn", turn), ("file", file)) if found is not None)
