"""Learned pairs of query and tool. They are canonical, but no events: what was observed, not what was said.

A confidence moves inside one statement, so that processes that learn the same pair at once lose nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.store.relational.base import Engine
from recollect.store.relational.rows import Row, batches, marks
from recollect.types import Pair

_COLUMNS = (
    "id, server, tool, query, confidence, uses, failures, hashed, model, vector, created_ms, last_used_ms, change"
)
_SELECT = (
    "select p.id, p.server, p.tool, p.query, p.confidence, p.uses, p.failures, p.hashed, p.model, p.vector, "
    "p.created_ms, p.last_used_ms, s.name from tool_pairs p join spaces s on s.id = p.space "
)
# A pair that is new starts at the signal; a vector is kept until one of another model comes.
_SUCCESS = (
    f"insert into tool_pairs (space, {_COLUMNS}) values (?, ?, ?, ?, ?, ?, 1, 0, ?, ?, ?, ?, ?, ?) "
    "on conflict (space, id) do update set "
    "confidence = tool_pairs.confidence + ? * (excluded.confidence - tool_pairs.confidence), "
    "uses = tool_pairs.uses + 1, change = excluded.change, "
    "model = case when excluded.model <> '' then excluded.model else tool_pairs.model end, "
    "vector = case when excluded.model <> '' then excluded.vector else tool_pairs.vector end, "
    "last_used_ms = case when excluded.last_used_ms > tool_pairs.last_used_ms "
    "then excluded.last_used_ms else tool_pairs.last_used_ms end"
)
_FAILURE = (
    "update tool_pairs set confidence = confidence - ? * confidence, failures = failures + 1, change = ?, "
    "last_used_ms = case when ? > last_used_ms then ? else last_used_ms end where space = ? and id = ?"
)


class PairTables(Engine):
    def learn_pair(self, space: int, pair: Pair, weight: float) -> Pair:
        """Counts a use; `pair.confidence` is the signal, towards which a known pair moves by `weight`."""
        values = (
            space, pair.id, pair.server, pair.tool, pair.query, pair.confidence, int(pair.hashed), pair.model,
            pair.vector, pair.created_ms, pair.last_used_ms,
        )  # fmt: skip
        with self.transaction([space]):
            self._rows(_SUCCESS, (*values, *self._next_ids("pairs", 1), weight))
            return self._pair(space, pair.id)[0]

    def fail_pair(self, space: int, id: str, weight: float, at_ms: int) -> Pair | None:
        """Counts a failure of a pair that is known and moves it towards 0; an unknown one stays unknown."""
        with self.transaction([space]):
            self._rows(_FAILURE, (weight, *self._next_ids("pairs", 1), at_ms, at_ms, space, id))
            found = self._pair(space, id)
        return found[0] if found else None

    def _pair(self, space: int, id: str) -> list[Pair]:
        return [_pair_of(row) for row in self._rows(f"{_SELECT}where p.space = ? and p.id = ?", (space, id))]

    def pairs(self, spaces: Sequence[int], after: int = -1) -> list[Pair]:
        rows = self._rows(
            f"{_SELECT}where p.space in ({marks(spaces)}) and p.change > ? order by p.change, p.id", (*spaces, after)
        )
        return [_pair_of(row) for row in rows]

    def pairs_stamp(self, spaces: Sequence[int]) -> tuple[int, int]:
        """How many pairs there are and the newest change; read from an index alone."""
        rows = self._rows(
            f"select count(*), coalesce(max(change), 0) from tool_pairs where space in ({marks(spaces)})", spaces
        )
        return int(rows[0][0]), int(rows[0][1])

    def put_pair_vectors(self, space: int, model: str, vectors: Mapping[str, bytes]) -> None:
        with self.transaction([space]):
            changes = self._next_ids("pairs", len(vectors))
            self._many(
                "update tool_pairs set model = ?, vector = ?, change = ? where space = ? and id = ?",
                [
                    (model, vector, change, space, id)
                    for change, (id, vector) in zip(changes, vectors.items(), strict=True)
                ],
            )

    def prune_pairs(
        self, spaces: Sequence[int], least_confidence: float, used_since_ms: int, most: int, keep: int
    ) -> dict[str, int]:
        gone = {"doubtful": 0, "unused": 0, "surplus": 0}
        with self.transaction(spaces):
            for space in sorted(set(spaces)):
                gone["doubtful"] += self._drop("confidence < ?", space, least_confidence)
                gone["unused"] += self._drop("last_used_ms < ?", space, used_since_ms)
                if self._rows("select count(*) from tool_pairs where space = ?", (space,))[0][0] > most:
                    clause = (
                        "id in (select id from tool_pairs where space = ? "
                        "order by confidence desc, last_used_ms desc, id limit 1000000000 offset ?)"
                    )
                    gone["surplus"] += self._drop(clause, space, space, keep)
        return gone

    def _drop(self, clause: str, space: int, *values: Any) -> int:
        return len(self._rows(f"delete from tool_pairs where space = ? and {clause} returning 1", (space, *values)))

    def forget_pairs(self, spaces: Sequence[int], ids: Sequence[str]) -> int:
        gone = 0
        with self.transaction(spaces):
            for part in batches(ids):
                gone += len(
                    self._rows(
                        f"delete from tool_pairs where space in ({marks(spaces)}) and id in ({marks(part)}) "
                        "returning 1",
                        (*spaces, *part),
                    )
                )
        return gone


def _pair_of(row: Row) -> Pair:
    id, server, tool, query, confidence, uses, failures, hashed, model, vector, created, used, space = row
    return Pair(
        id, server, tool, query, float(confidence), uses, failures, bool(hashed), model, bytes(vector), created, used,
        space,
    )  # fmt: skip
