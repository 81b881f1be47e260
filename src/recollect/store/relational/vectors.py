"""Models, pending work and the embedding cache: which chunks still lack a vector, and texts embedded before.

Vectors of different models are never compared: every row names its model, and one model at a time is active.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recollect.errors import InvalidInput, NotFound
from recollect.store.relational.base import Engine
from recollect.store.relational.rows import Row, batches, marks

_VECTOR = "insert into vectors (space, model, chunk_id, dtype, vector) values (?, ?, ?, 'f4', ?) on conflict do nothing"
_KEY = "provider = ? and model = ? and dims = ?"


class VectorTables(Engine):
    def active_model(self) -> tuple[str, int] | None:
        rows = self._rows(
            "select m.name, m.dims from meta a join models m on m.name = a.value where a.key = 'active_model'"
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def add_model(self, model: str, dims: int) -> None:
        with self.transaction([]):
            self._lock_registry()
            if self._model_id(model) is None:
                (model_id,) = self._next_ids("models", 1)
                self._rows("insert into models (id, name, dims) values (?, ?, ?)", (model_id, model, dims))

    def set_active_model(self, model: str, dims: int) -> None:
        with self.transaction([]):
            self.add_model(model, dims)
            self._rows(
                "insert into meta (key, value) values ('active_model', ?) "
                "on conflict (key) do update set value = excluded.value",
                (model,),
            )

    def drop_model(self, model: str) -> int:
        """Removes the vectors of a model that no longer serves."""
        with self.transaction([]):
            gone = self._rows("delete from vectors where model = ? returning 1", (self._known_model(model),))
        return len(gone)

    def _model_id(self, model: str) -> int | None:
        rows = self._rows("select id from models where name = ?", (model,))
        return rows[0][0] if rows else None

    def _known_model(self, model: str) -> int:
        found = self._model_id(model)
        if found is None:
            raise NotFound(f"this store does not know the model {model!r}", hint="`recollect reindex --model` adds one")
        return found

    def _active_model_id(self) -> int:
        active = self.active_model()
        if active is None:
            raise NotFound("this store has no model yet", hint="set one before giving vectors: Memory.reindex")
        return self._known_model(active[0])

    def pending(self, model: str, spaces: Sequence[int] | None, limit: int) -> list[tuple[int, str, str]]:
        bound = "" if spaces is None else f"c.space in ({marks(spaces)}) and "
        rows = self._rows(
            f"select c.id, c.hash, c.context, c.content from chunks c where {bound}not exists "
            "(select 1 from vectors v where v.chunk_id = c.id and v.space = c.space and v.model = ?) "
            "order by c.id desc limit ?",
            (*(spaces or ()), self._known_model(model), limit),
        )
        return [(id, hash_, f"{title}. {text}" if title else text) for id, hash_, title, text in rows]

    def chunk_mark(self, spaces: Sequence[int] | None) -> tuple[int, int]:
        """The newest chunk, and the events of the spaces: what moves from one space to another leaves an event."""
        bound, values = ("true", ()) if spaces is None else (f"s.id in ({marks(spaces)})", tuple(spaces))
        rows = self._rows(
            f"select coalesce((select max(id) from chunks), 0), coalesce(sum(s.seq), 0) from spaces s where {bound}",
            values,
        )
        return int(rows[0][0]), int(rows[0][1])

    def count_pending(self, model: str, spaces: Sequence[int] | None) -> int:
        """How many chunks lack a vector; one subtraction, since every vector has its chunk."""
        bound = "" if spaces is None else f"and space in ({marks(spaces)})"
        values = tuple(spaces or ())
        total = self._rows(f"select count(*) from chunks where true {bound}", values)[0][0]
        model_id = self._model_id(model)
        done = self._rows(f"select count(*) from vectors where model = ? {bound}", (model_id, *values))[0][0]
        return int(total) - int(done)

    def put_vectors(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> int:
        model_id = self._known_model(model)
        given = dict(vectors)
        self._refuse_misfits(model_id, list(given.values()))
        with self.transaction(self._homes(list(given))):
            new = self._without_vector(model_id, list(given))
            self._many(_VECTOR, [(space, model_id, id, self._vector_value(given[id])) for space, id in new])
        return len(new)

    def _give_vectors(self, space: int, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Vectors that came along with new chunks; they are of the active model."""
        model_id = self._active_model_id()
        self._refuse_misfits(model_id, [vector for _, vector in vectors])
        self._many(_VECTOR, ((space, model_id, id, self._vector_value(vector)) for id, vector in vectors))

    def _homes(self, chunk_ids: Sequence[int]) -> list[int]:
        """The spaces of chunks, to be locked before anything is written for them."""
        found: set[int] = set()
        for part in batches(chunk_ids):
            rows = self._rows(f"select distinct space from chunks where id in ({marks(part)})", part)
            found.update(row[0] for row in rows)
        return sorted(found)

    def _without_vector(self, model_id: int, chunk_ids: Sequence[int]) -> list[Row]:
        """Those chunks (space, id) that exist and have no vector of this model."""
        found: list[Row] = []
        for part in batches(chunk_ids):
            found += self._rows(
                f"select c.space, c.id from chunks c where c.id in ({marks(part)}) and not exists "
                "(select 1 from vectors v where v.space = c.space and v.chunk_id = c.id and v.model = ?) order by c.id",
                (*part, model_id),
            )
        return found

    def _refuse_misfits(self, model_id: int, vectors: Sequence[bytes]) -> None:
        """A vector of another size would spoil every later scan, and one with NaN or infinity has no distance."""
        import numpy as np

        dims = self._rows("select dims from models where id = ?", (model_id,))[0][0]
        wrong = next((vector for vector in vectors if len(vector) != 4 * dims), None)
        if wrong is not None:
            raise InvalidInput(
                f"a vector has {len(wrong)} bytes; {dims} float32 values take {4 * dims}",
                hint="give vectors of the model that the store names, as float32",
            )
        for part in batches(vectors, 100):
            if not np.isfinite(np.frombuffer(b"".join(part), dtype="<f4")).all():
                raise InvalidInput("a vector holds NaN or infinity", hint="the embedding model failed; try again")

    def _vector_value(self, vector: bytes) -> Any:
        """Float32 bytes as the engine binds them."""
        return vector

    def _vector_bytes(self, stored: Any) -> bytes:
        """What the engine keeps of a vector, back as float32 bytes."""
        return bytes(stored)

    # -- cache ----------------------------------------------------------------------------------------------------

    def cached(self, provider: str, model: str, dims: int, hashes: Sequence[str], now_ms: int) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for part in batches(hashes):
            rows = self._rows(
                f"update embedding_cache set used_ms = ? where {_KEY} and hash in ({marks(part)}) "
                "returning hash, vector",
                (now_ms, provider, model, dims, *part),
            )
            found.update((row[0], bytes(row[1])) for row in rows)
        return found

    def cache(self, provider: str, model: str, dims: int, vectors: Mapping[str, bytes], now_ms: int, keep: int) -> None:
        with self.transaction([]):
            self._many(
                "insert into embedding_cache (provider, model, dims, hash, vector, used_ms) values (?, ?, ?, ?, ?, ?) "
                "on conflict (provider, model, dims, hash) do update set used_ms = excluded.used_ms",
                [(provider, model, dims, hash_, vector, now_ms) for hash_, vector in vectors.items()],
            )
            extra = self._rows("select count(*) from embedding_cache")[0][0] - keep
            if extra > 0:
                self._rows(
                    "delete from embedding_cache where (provider, model, dims, hash) in "
                    "(select provider, model, dims, hash from embedding_cache order by used_ms, hash limit ?)",
                    (extra,),
                )
