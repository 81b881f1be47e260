"""Numbers about a store, and its few named values."""

from collections.abc import Sequence
from typing import Any

from recollect.store.relational.base import Engine
from recollect.store.relational.rows import marks


class Numbers(Engine):
    def _size_on_disk(self) -> int:
        raise NotImplementedError

    def stats(self, spaces: Sequence[int]) -> dict[str, Any]:
        inside = f"space in ({marks(spaces)})"
        states: dict[str, int] = dict(
            self._rows(f"select state, count(*) from notes where {inside} group by state", spaces)
        )
        kinds: dict[str, int] = dict(
            self._rows(f"select kind, count(*) from notes where {inside} and state = 'live' group by kind", spaces)
        )
        count, size, oldest, newest, importance, confidence = self._rows(
            "select count(*), coalesce(sum(bytes), 0), min(created_ms), max(created_ms), avg(importance), avg(confidence) "
            f"from notes where {inside} and state = 'live'",
            spaces,
        )[0]
        return {
            "notes": count, "bytes": size, "oldest_ms": oldest, "newest_ms": newest, "kinds": kinds, "states": states,
            "average_importance": importance, "average_confidence": confidence,
            "sessions": self._count("sessions", inside, spaces), "turns": self._count("turns", inside, spaces),
            "chunks": self._count("chunks", inside, spaces), "vectors": self._count("vectors", inside, spaces),
            "events": self._count("events", inside, spaces),
            "accesses": self._rows("select coalesce(sum(accesses), 0) from note_use")[0][0],
            "file_bytes": self._size_on_disk(),
        }  # fmt: skip

    def _count(self, table: str, where: str, values: Sequence[Any]) -> int:
        number: int = self._rows(f"select count(*) from {table} where {where}", values)[0][0]
        return number

    def get_meta(self, key: str) -> str | None:
        rows = self._rows("select value from meta where key = ?", (key,))
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: str) -> None:
        with self.transaction([]):
            self._rows(
                "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
                (key, value),
            )
