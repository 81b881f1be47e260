"""Numbers about a store, how often its notes are used, and its few named values."""

from collections.abc import Sequence
from typing import Any

from recollect.store import ACCESSES, SEARCHABLE, Usage, Use
from recollect.store.relational.base import Engine
from recollect.store.relational.rows import batches, marks
from recollect.types import Finding

_STATES = sorted(SEARCHABLE)
_FIRST_USE = (
    "insert into note_use (space, note_id, accesses, last_access_ms, strength) "
    "select space, id, 0, created_ms, 1.0 from notes where id = ? on conflict do nothing"
)
# `retention.strengthened` of what `retention.retention` leaves, in one step that no other reader can come between. The
# time is bounded, because a server refuses to tell how little is left after ages.
_USE = (
    "update note_use set accesses = accesses + 1, last_access_ms = ?, strength = 0.2 + 0.8 * strength * exp(-? * "
    "(case when ? <= last_access_ms then 0 when ? - last_access_ms > ? then ? else ? - last_access_ms end) "
    "/ 3600000.0 / (1 + 0.5 * accesses)) "
    "where space = (select space from notes where id = ?) and note_id = ?"
)
_ACCESS = (
    "insert into accesses (space, note_id, how, at_ms, score, query) "
    "select space, id, ?, ?, ?, ? from notes where id = ?"
)
_NUMBERS = (
    "select count(*), cast(coalesce(sum(bytes), 0) as bigint), min(created_ms), max(created_ms), "
    "cast(avg(importance) as double precision), cast(avg(confidence) as double precision) from notes "
)


class Numbers(Engine):
    def _size_on_disk(self) -> int:
        raise NotImplementedError

    def _write_use(self, uses: Sequence[Use], rate: float) -> None:
        """An access strengthens by a fifth of what is missing; search hits are only logged."""
        most_ms = int(min(10**15, 500 * 3_600_000 / rate if rate > 0 else 10**15))
        ordered = sorted(uses, key=lambda use: use.note_id)  # two writers meet the rows in the same order
        read = [(use.at_ms, use.note_id) for use in ordered if use.how in ACCESSES]
        self._many(_FIRST_USE, [(note_id,) for _, note_id in read])
        self._many(_USE, [(at, rate, at, at, most_ms, most_ms, at, note_id, note_id) for at, note_id in read])
        self._many(_ACCESS, [(use.how, use.at_ms, use.score, use.query, use.note_id) for use in ordered])

    def usage(self, note_ids: Sequence[int], spaces: Sequence[int]) -> dict[int, Usage]:
        found: dict[int, Usage] = {}
        for part in batches(note_ids):
            rows = self._rows(
                "select u.note_id, u.accesses, u.last_access_ms, u.strength, "
                "(select n.pinned from notes n where n.space = u.space and n.id = u.note_id) from note_use u "
                f"where u.space in ({marks(spaces)}) and u.note_id in ({marks(part)})",
                (*spaces, *part),
            )
            found.update((row[0], Usage(row[1], row[2], row[3], bool(row[4]))) for row in rows)
        return found

    def stats(self, spaces: Sequence[int]) -> dict[str, Any]:
        inside = f"where space in ({marks(spaces)})"
        where = f"{inside} and tier <> 'scratchpad'"
        count, size, oldest, newest, importance, confidence = self._rows(
            f"{_NUMBERS}{where} and state = 'live'", spaces
        )[0]
        by_state = self._rows(f"select state, count(*) from notes {where} group by state", spaces)
        by_kind = self._rows(f"select kind, count(*) from notes {where} and state = 'live' group by kind", spaces)
        by_tier = self._rows(f"select tier, count(*) from notes {inside} and state = 'live' group by tier", spaces)
        accesses = self._rows(f"select cast(coalesce(sum(accesses), 0) as bigint) from note_use {inside}", spaces)
        rows = {
            table: self._rows(f"select count(*) from {table} {inside}", spaces)[0][0]
            for table in ("sessions", "turns", "chunks", "vectors", "events")
        }
        return {
            "notes": count, "bytes": size, "oldest_ms": oldest, "newest_ms": newest, "kinds": dict(by_kind),
            "states": dict(by_state), "tiers": dict(by_tier),
            "average_importance": importance, "average_confidence": confidence, **rows,
            "accesses": accesses[0][0], "file_bytes": self._size_on_disk(),
        }  # fmt: skip

    def get_meta(self, key: str) -> str | None:
        rows = self._rows("select value from meta where key = ?", (key,))
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: str) -> None:
        with self.transaction([]):
            self._rows(
                "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
                (key, value),
            )

    def _orphans(self) -> Finding:
        """Notes in a searchable state without a chunk would be remembered but never found."""
        count = self._rows(
            f"select count(*) from notes n where n.state in ({marks(_STATES)}) and n.tier <> 'scratchpad' "
            "and not exists (select 1 from chunks c where c.space = n.space and c.note_id = n.id)",
            _STATES,
        )[0][0]
        return Finding(
            "searchable", not count, f"{count} notes have no chunks" if count else "every note can be found",
            "`recollect doctor --fix` indexes them" if count else "", fixable=True,
        )  # fmt: skip
