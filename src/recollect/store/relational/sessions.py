"""Sessions and turns: canonical, because agents delete their own transcripts. A turn is unique by its record id."""

from collections.abc import Sequence
from typing import Any

from recollect import audit
from recollect.errors import Conflict, NotFound
from recollect.store import Operation, TurnDraft
from recollect.store.relational.base import Chains, ChunkOwner, Engine, scope_of
from recollect.store.relational.rows import Clauses, Row, batches, marks, turn_clauses
from recollect.types import TRUSTED_ORIGINS, Filter, Session, Turn

_SESSION = (
    "select z.uid, s.name, z.agent, z.key, z.started_ms, z.seen_ms, z.id, z.ended_ms, z.title, z.summary, z.source, "
    "(select count(*) from turns t where t.space = z.space and t.session_id = z.id) "
    "from sessions z join spaces s on s.id = z.space "
)
_TURN = (
    "select t.speaker, t.text, t.at_ms, t.record, t.origin, t.id, z.uid, t.position, t.line, t.content_hash, s.name "
    "from turns t join sessions z on z.id = t.session_id and z.space = t.space join spaces s on s.id = t.space "
)
_TURN_INSERT = (
    "insert into turns (id, space, session_id, record, position, speaker, origin, text, at_ms, line, content_hash) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class SessionTables(Engine):
    def put_session(self, op: Operation, space: int, session: Session) -> Session:
        with self.transaction([space]):
            if self.forgotten_session(space, session.agent, session.key):
                raise Conflict(
                    "this session was forgotten", hint="a forgotten session is not brought back; use a new key"
                )
            row = self._rows(
                "select uid from sessions where space = ? and agent = ? and key = ?",
                (space, session.agent, session.key),
            )
            uid = row[0][0] if row else session.uid
            if row:
                self._rows(
                    "update sessions set seen_ms = ?, ended_ms = ?, title = ?, summary = ?, source = ?, "
                    "started_ms = ? where space = ? and uid = ?",
                    (session.seen_ms, session.ended_ms, session.title, session.summary, session.source,
                     session.started_ms, space, uid),
                )  # fmt: skip
            else:
                self._make_session(op, space, session)
        return self.sessions([space], uid=uid)[0]

    def forgotten_session(self, space: int, agent: str, key: str) -> bool:
        return bool(self._buried(space, "session", [f"{agent}\n{key}"]))

    def _make_session(self, op: Operation, space: int, session: Session) -> None:
        (session_id,) = self._next_ids("sessions", 1)
        self._rows(
            "insert into sessions (id, space, uid, agent, key, started_ms, seen_ms, ended_ms, title, summary, source, "
            "salt) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (session_id, space, session.uid, session.agent, session.key, session.started_ms, session.seen_ms,
             session.ended_ms, session.title, session.summary, session.source, audit.new_salt()),
        )  # fmt: skip
        chains = Chains(self, op, [space])
        chains.append(space, session.uid, 0, audit.GENESIS, verb="session")
        chains.write()

    def move_sessions(self, op: Operation, source: int, target: int, only_from: int | None) -> int:
        """No event of its own: the merge that moves sessions records itself on the space."""
        with self.transaction(sorted((source, target))):
            clause, values = ("and moved_from = ?", [only_from]) if only_from is not None else ("", [])
            rows = self._rows(f"select id, uid, agent, key from sessions where space = ? {clause}", (source, *values))
            for session_id, uid, agent, known_as in rows:
                key = known_as if only_from is None else known_as.removesuffix(f"~{uid}")  # it had its own at home
                twin = self._rows(
                    "select 1 from sessions where space = ? and agent = ? and key = ?", (target, agent, key)
                )
                came_from = source if only_from is None else None
                self._rows(
                    "update sessions set space = ?, key = ?, moved_from = ? where space = ? and id = ?",
                    (target, f"{key}~{uid}" if twin else key, came_from, source, session_id),
                )
                # Where a move cascades, turns and chunks are there already; a second update does no harm.
                self._rows(
                    "update turns set space = ? where space = ? and session_id = ?", (target, source, session_id)
                )
                self._rows(
                    "update chunks set space = ?, scope = ? where space in (?, ?) and session_id = ?",
                    (target, scope_of(target), source, target, session_id),
                )
                self._move_vectors("session_id", session_id, target)
        return len(rows)

    def sessions(self, spaces: Sequence[int], limit: int = 50, uid: str | None = None) -> list[Session]:
        clause, values = ("and z.uid = ? ", [uid]) if uid is not None else ("", [])
        rows = self._rows(
            f"{_SESSION}where z.space in ({marks(spaces)}) {clause}order by z.seen_ms desc, z.id desc limit ?",
            (*spaces, *values, limit),
        )
        return [Session(*row) for row in rows]

    def find_session(self, space: int, agent: str, key: str) -> Session | None:
        rows = self._rows(f"{_SESSION}where z.space = ? and z.agent = ? and z.key = ?", (space, agent, key))
        return Session(*rows[0]) if rows else None

    def retract_turns(self, op: Operation, space: int, session: Session, after_record: str) -> int:
        with self.transaction([space]):
            rows = self._rows(
                "select position from turns where space = ? and session_id = ? and record = ?",
                (space, session.id, after_record),
            )
            if after_record and not rows:
                return 0
            gone = self._rows(
                "delete from turns where space = ? and session_id = ? and position > ? returning 1",
                (space, session.id, rows[0][0] if rows else 0),
            )
            if gone:
                chains = Chains(self, op, [space])
                chains.append(space, session.uid, rows[0][0] if rows else 0, audit.GENESIS, verb="turns")
                chains.write()
        return len(gone)

    def add_turns(self, op: Operation, space: int, session: Session, turns: Sequence[TurnDraft]) -> list[int]:
        with self.transaction([space]):
            home = self._rows("select salt from sessions where space = ? and id = ?", (space, session.id))
            if not home:
                raise NotFound(f"no session {session.uid} in this space", hint="make it first")
            new = self._unknown(space, session, turns)
            if not new:
                return []
            last = self._rows(
                "select coalesce(max(position), 0) from turns where space = ? and session_id = ?", (space, session.id)
            )[0][0]
            ids = list(self._next_ids("turns", len(new)))
            rows, owners = [], []
            for position, (turn_id, draft) in enumerate(zip(ids, new, strict=True), last + 1):
                rows.append(_turn_row(turn_id, space, session.id, position, draft.turn))
                owners.append(_owner(space, session, turn_id, draft))
            self._many(_TURN_INSERT, rows)
            self._insert_chunks(space, owners)
            self._rows(
                "update sessions set seen_ms = ? where space = ? and id = ? and seen_ms < ?",
                (latest := max(draft.turn.at_ms for draft in new), space, session.id, latest),
            )
            proof = "\n".join(f"{draft.turn.record}:{audit.content_hash(draft.turn.text)}" for draft in new)
            chains = Chains(self, op, [space])
            chains.append(space, session.uid, last + len(new), audit.digest(bytes(home[0][0]), proof), verb="turns")
            chains.write()
        return ids

    def turn_hashes(self, space: int, session: Session, records: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in batches(records):
            rows = self._rows(
                "select record, content_hash from turns where space = ? and session_id = ? "
                f"and record in ({marks(part)})",
                (space, session.id, *part),
            )
            found.update(rows)
        return found

    def _unknown(self, space: int, session: Session, turns: Sequence[TurnDraft]) -> list[TurnDraft]:
        known = set(self.turn_hashes(space, session, [draft.turn.record for draft in turns]))
        records = {f"{session.agent}\n{session.key}\n{draft.turn.record}": draft.turn.record for draft in turns}
        known |= {records[name] for name in self._buried(space, "turn", list(records))}
        new = []
        for draft in turns:
            if draft.turn.record not in known:
                known.add(draft.turn.record)
                new.append(draft)
        return new

    def turns(
        self,
        spaces: Sequence[int],
        ids: Sequence[int] = (),
        session: str | None = None,
        around: tuple[int, int] | None = None,
    ) -> list[Turn]:
        """By ids, or of one session in order; `around` limits that to positions from..to."""
        where, values = f"where t.space in ({marks(spaces)}) ", list[Any](spaces)
        if session is None:
            where, values = where + f"and t.id in ({marks(ids)}) ", [*values, *ids]
        else:
            where, values = where + "and z.uid = ? ", [*values, session]
        if around is not None:
            where, values = where + "and t.position between ? and ? ", [*values, *around]
        return [Turn(*row) for row in self._rows(f"{_TURN}{where}order by t.session_id, t.position", values)]

    # -- around a time --------------------------------------------------------------------------------------------

    def turns_around(
        self, at: tuple[int, int], where: Filter, before: int, after: int
    ) -> tuple[list[Turn], list[Turn]]:
        sides = []
        for sign, order, limit in (("<", "desc", before), (">", "asc", after)):
            clauses = turn_clauses(where)
            clauses.add(f"(t.at_ms, t.id) {sign} (?, ?)", *at)
            rows = self._rows(
                f"{_TURN}where {clauses.sql} order by t.at_ms {order}, t.id {order} limit ?", (*clauses.values, limit)
            )
            sides.append([Turn(*row) for row in rows])
        return sides[0], sides[1]

    def sessions_around(
        self, at_ms: int, where: Filter, before: int, after: int
    ) -> tuple[list[tuple[str, Session]], list[tuple[str, Session]]]:
        sides = []
        for signs, order, limit in ((("<=", "<"), "desc", before), ((">", ">="), "asc", after)):
            found: list[tuple[int, str, Session]] = []
            for sign, column, what in zip(signs, ("z.started_ms", "z.ended_ms"), ("start", "end"), strict=True):
                clauses = _of_sessions(where, column)
                clauses.add(f"{column} {sign} ?", at_ms)
                rows = self._rows(
                    f"{_SESSION}where {clauses.sql} order by {column} {order}, z.id limit ?", (*clauses.values, limit)
                )
                found += [(row[4] if what == "start" else row[7], what, Session(*row)) for row in rows]
            found.sort(key=lambda one: (one[0], one[1] == "end"), reverse=order == "desc")
            sides.append([(what, session) for _, what, session in found[:limit]])
        return sides[0], sides[1]


def _of_sessions(where: Filter, column: str) -> Clauses:
    clauses = Clauses()
    clauses.among("z.space", where.spaces)
    if where.session is not None:
        clauses.add("z.uid = ?", where.session)
    if where.since_ms is not None:
        clauses.add(f"{column} >= ?", where.since_ms)
    if where.until_ms is not None:
        clauses.add(f"{column} < ?", where.until_ms)
    if where.as_of_ms is not None:
        clauses.add(f"{column} <= ?", where.as_of_ms)
    return clauses


def _turn_row(turn_id: int, space: int, session_id: int, position: int, turn: Turn) -> Row:
    hash_ = audit.content_hash(turn.text)
    return (
        turn_id,
        space,
        session_id,
        turn.record,
        position,
        turn.speaker,
        turn.origin,
        turn.text,
        turn.at_ms,
        turn.line,
        hash_,
    )


def _owner(space: int, session: Session, turn_id: int, draft: TurnDraft) -> ChunkOwner:
    turn = draft.turn
    return ChunkOwner(
        "turn", turn_id, scope_of(space), turn.origin in TRUSTED_ORIGINS, turn.at_ms, draft.chunks,
        session_id=session.id, file_path=session.source or None,
    )  # fmt: skip
