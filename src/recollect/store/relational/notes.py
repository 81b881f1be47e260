"""`apply`, the one verb that changes notes, and `erase`, the one that removes them.

Invariant: a note's row, the image before, its chunks and its event are written in one transaction, and only if the
note is still at the revision that the caller saw.
"""

from collections.abc import Iterator, Sequence

from recollect import audit
from recollect.errors import Conflict, NotFound
from recollect.store import Applied, Change, Erased, Operation, claims_text, is_searchable
from recollect.store.relational.base import Chains, ChunkOwner, Engine, scope_of
from recollect.store.relational.rows import (
    NOTE_FROM,
    NOTE_ROW,
    NOTE_SELECT,
    Row,
    batches,
    marks,
    note_of,
    note_row,
)
from recollect.types import Link, Note
from recollect.values import making_many

_INSERT = f"insert into notes ({', '.join(NOTE_ROW)}) values ({', '.join('?' * len(NOTE_ROW))})"
_SET = NOTE_ROW[1:]
_UPDATE = f"update notes set {', '.join(f'{name} = ?' for name in _SET)} where space = ? and id = ?"
_REVISION = (
    "insert into revisions (space, note_id, rev, operation, at_ms, image, salt, moved_from) "
    "values (?, ?, ?, ?, ?, ?, ?, ?)"
)
_LINK = "insert into links (space, note_id, to_uid, kind) values (?, ?, ?, ?)"
_HINT_AGAIN = "read the note again and repeat the change on its new revision"


class NoteTables(Engine):
    def apply(self, op: Operation, space: int, changes: Sequence[Change]) -> list[Applied]:
        spaces = {space, *(change.to_space for change in changes if change.to_space is not None)}
        with making_many(len(changes)), self._room_for(len(changes)):
            return self._apply(op, space, changes, sorted(spaces))

    def _apply(self, op: Operation, space: int, changes: Sequence[Change], spaces: Sequence[int]) -> list[Applied]:
        with self.transaction(spaces):
            chains = Chains(self, op, spaces)
            batch = _Batch(self, space, self._live_texts(space, changes))
            done = [
                batch.insert(change) if change.expected_rev == 0 else self._change(op, space, change, chains, batch)
                for change in changes
            ]
            batch.write(chains)
            chains.write()
        return done

    def _live_texts(self, space: int, changes: Sequence[Change]) -> dict[str, Applied]:
        """The live notes that already have a text which is about to be inserted."""
        return self._live(space, [change.note.content_hash for change in changes if change.expected_rev == 0])

    def _live(self, space: int, hashes: Sequence[str]) -> dict[str, Applied]:
        found: dict[str, Applied] = {}
        for part in batches(hashes):
            rows = self._rows(
                f"select content_hash, id, uid, rev from notes where space = ? and state = 'live' "
                f"and tier <> 'scratchpad' and content_hash in ({marks(part)})",
                (space, *part),
            )
            found.update((row[0], Applied(row[1], row[2], row[3], duplicate=True)) for row in rows)
        return found

    def holders(self, space: int, hashes: Sequence[str]) -> dict[str, str]:
        return {text: found.uid for text, found in self._live(space, hashes).items()}

    def _change(self, op: Operation, space: int, change: Change, chains: Chains, batch: "_Batch") -> Applied:
        before, salt = self._current(space, change.note.uid)
        if before.rev != change.expected_rev:
            raise Conflict(f"note {before.id} is at revision {before.rev}, not {change.expected_rev}", hint=_HINT_AGAIN)
        home = space if change.to_space is None else change.to_space
        note, rev = change.note, before.rev + 1
        if claims_text(note):
            self._refuse_second(home, note, before.id)
        moved_from = space if home != space else None
        image = audit.encoded(before)
        self._rows(_UPDATE, (*note_row(before.id, home, note, rev, change.salt)[1:], space, before.id))
        if home != space:
            self._move_owned(before.id, space, home)
        self._rows(_REVISION, (home, before.id, before.rev, op.id, op.at_ms, image, salt, moved_from))
        self._write_links(home, before.id, note.links, before.links)
        self._rescope(space, home, before, change)
        chains.append(home, note.uid, rev, change.digest)
        if home != space:
            chains.append(space, note.uid, rev, change.digest, verb="leave")
        batch.changed(before, note if home == space else None, rev)
        return Applied(before.id, note.uid, rev)

    def _move_owned(self, note_id: int, space: int, home: int) -> None:
        """What belongs to a note follows it; where the engine cascades, nothing is left to update."""
        for table in ("links", "revisions", "note_use", "accesses"):
            self._rows(f"update {table} set space = ? where space = ? and note_id = ?", (home, space, note_id))

    def _current(self, space: int, uid: str) -> tuple[Note, bytes]:
        rows = self._rows(
            f"{NOTE_SELECT}, n.salt{NOTE_FROM}where n.space = ? and n.uid = ?" + self._lock_note, (space, uid)
        )
        if not rows:
            raise NotFound(f"no note {uid} in this space", hint="`recollect list` shows the notes that you can see")
        *row, salt = rows[0]
        note_id = row[1]
        return note_of(tuple(row), self._links([note_id], [space]).get(note_id, ())), bytes(salt)

    _lock_note = ""

    def _refuse_second(self, space: int, note: Note, note_id: int) -> None:
        other = self._rows(
            "select id from notes where space = ? and state = 'live' and tier <> 'scratchpad' and content_hash = ? "
            "and id <> ?",
            (space, note.content_hash, note_id),
        )
        if other:
            raise Conflict(
                f"live note {other[0][0]} already has this text", hint=f"look at it with `recollect get {other[0][0]}`"
            )

    def _write_links(self, space: int, note_id: int, links: Sequence[Link], before: Sequence[Link]) -> None:
        if tuple(links) == tuple(before):
            return
        self._rows("delete from links where space = ? and note_id = ?", (space, note_id))
        self._many(_LINK, _link_rows(space, note_id, links))

    def _rescope(self, space: int, home: int, before: Note, change: Change) -> None:
        """Brings the chunks in line with the note's new text, state and space."""
        note = change.note
        if not is_searchable(note) or change.chunks is not None:
            self._rows("delete from chunks where space in (?, ?) and note_id = ?", (space, home, before.id))
            if is_searchable(note) and change.chunks is not None:
                self._insert_chunks(home, [_owner(home, before.id, note, change)])
        elif home != space or before.state != note.state:
            self._rows(
                "update chunks set space = ?, scope = ? where space in (?, ?) and note_id = ?",
                (home, scope_of(home, note.state), space, home, before.id),
            )
            if home != space:
                self._move_vectors("note_id", before.id, home)

    def _links(self, note_ids: Sequence[int], spaces: Sequence[int]) -> dict[int, tuple[Link, ...]]:
        found: dict[int, tuple[Link, ...]] = {}
        for part in batches(note_ids):
            rows = self._rows(
                f"select note_id, to_uid, kind from links where space in ({marks(spaces)}) "
                f"and note_id in ({marks(part)}) order by note_id, to_uid, kind",
                (*spaces, *part),
            )
            for note_id, to, kind in rows:
                found[note_id] = (*found.get(note_id, ()), Link(to, kind))
        return found

    # -- erasure --------------------------------------------------------------------------------------------------

    def erase(self, op: Operation, spaces: Sequence[int], notes: Sequence[str], sessions: Sequence[str]) -> Erased:
        counts = self.remove(op, spaces, notes, sessions)
        return Erased(counts, pending=self.scrub())

    def remove(
        self, op: Operation, spaces: Sequence[int], notes: Sequence[str], sessions: Sequence[str],
        turns: Sequence[int] = (),
    ) -> dict[str, int]:  # fmt: skip
        counts = dict.fromkeys(("notes", "revisions", "chunks", "vectors", "cache", "sessions", "turns", "accesses"), 0)
        with self.transaction(sorted(spaces)):
            chains = Chains(self, op, spaces)
            for uid in notes:
                self._erase_note(uid, spaces, op, chains, counts)
            for uid in sessions:
                self._erase_session(uid, spaces, op.at_ms, chains, counts)
            for turn in turns:
                self._erase_turn(turn, spaces, op.at_ms, chains, counts)
            chains.write()
        return counts

    def _erase_note(
        self, uid: str, spaces: Sequence[int], op: Operation, chains: Chains, counts: dict[str, int]
    ) -> None:
        rows = self._rows(
            f"select id, space, rev from notes where uid = ? and space in ({marks(spaces)})", (uid, *spaces)
        )
        for note_id, space, rev in rows:
            self._count_owned(counts, space, "note_id", note_id)
            for table in ("revisions", "accesses"):
                counts[table] += self._count(table, space, "note_id", note_id)
            self._drop_cached(space, "note_id", note_id, counts)
            self._rows("delete from notes where space = ? and id = ?", (space, note_id))
            if op.verb != "purge":
                self._bury(space, "note", uid, op.at_ms)
            counts["notes"] += 1
            chains.append(space, uid, rev, audit.GENESIS)

    def _erase_turn(
        self, turn_id: int, spaces: Sequence[int], at_ms: int, chains: Chains, counts: dict[str, int]
    ) -> None:
        rows = self._rows(
            "select t.space, t.record, z.uid, z.agent, z.key from turns t "
            "join sessions z on z.space = t.space and z.id = t.session_id "
            f"where t.id = ? and t.space in ({marks(spaces)})",
            (turn_id, *spaces),
        )
        for space, record, uid, agent, key in rows:
            self._count_owned(counts, space, "turn_id", turn_id)
            self._drop_cached(space, "turn_id", turn_id, counts)
            self._rows("delete from turns where space = ? and id = ?", (space, turn_id))
            self._bury(space, "turn", f"{agent}\n{key}\n{record}", at_ms)
            counts["turns"] += 1
            chains.append(space, uid, 0, audit.GENESIS)

    def _bury(self, space: int, what: str, name: str, at_ms: int) -> None:
        """A tombstone: a hash that says what must not come back, and nothing else."""
        self._rows(
            "insert into tombstones (space, what, value, at_ms) values (?, ?, ?, ?) on conflict do nothing",
            (space, what, audit.content_hash(name), at_ms),
        )

    def _buried(self, space: int, what: str, names: Sequence[str]) -> set[str]:
        by_hash = {audit.content_hash(name): name for name in names}
        found: set[str] = set()
        for part in batches(list(by_hash)):
            rows = self._rows(
                f"select value from tombstones where space = ? and what = ? and value in ({marks(part)})",
                (space, what, *part),
            )
            found.update(by_hash[row[0]] for row in rows)
        return found

    def forgotten(self, space: int, uids: Sequence[str]) -> set[str]:
        return self._buried(space, "note", uids)

    def _erase_session(
        self, uid: str, spaces: Sequence[int], at_ms: int, chains: Chains, counts: dict[str, int]
    ) -> None:
        rows = self._rows(
            f"select id, space, agent, key from sessions where uid = ? and space in ({marks(spaces)})", (uid, *spaces)
        )
        for session_id, space, agent, key in rows:
            self._count_owned(counts, space, "session_id", session_id)
            self._drop_cached(space, "session_id", session_id, counts)
            counts["turns"] += self._count("turns", space, "session_id", session_id)
            self._rows("delete from turns where space = ? and session_id = ?", (space, session_id))
            self._rows("delete from sessions where space = ? and id = ?", (space, session_id))
            self._bury(space, "session", f"{agent}\n{key}", at_ms)
            counts["sessions"] += 1
            chains.append(space, uid, 0, audit.GENESIS)

    def _count(self, table: str, space: int, column: str, owner: int) -> int:
        rows = self._rows(f"select count(*) from {table} where space = ? and {column} = ?", (space, owner))
        return int(rows[0][0])

    def _count_owned(self, counts: dict[str, int], space: int, column: str, owner: int) -> None:
        counts["chunks"] += self._count("chunks", space, column, owner)
        counts["vectors"] += self._rows(
            f"select count(*) from vectors v join chunks c on c.space = v.space and c.id = v.chunk_id "
            f"where c.space = ? and c.{column} = ?",
            (space, owner),
        )[0][0]

    def _drop_cached(self, space: int, column: str, owner: int, counts: dict[str, int]) -> None:
        gone = self._rows(
            "delete from embedding_cache where hash in "
            f"(select hash from chunks where space = ? and {column} = ?) returning 1",
            (space, owner),
        )
        counts["cache"] += len(gone)

    def scrub(self, wait: bool = True) -> bool:
        return False


def _owner(space: int, note_id: int, note: Note, change: Change) -> ChunkOwner:
    scope = scope_of(space, note.state)
    return ChunkOwner("note", note_id, scope, note.trusted, note.created_ms, change.chunks or ())


def _link_rows(space: int, note_id: int, links: Sequence[Link]) -> list[Row]:
    return [(space, note_id, link.to, link.kind) for link in links]


def _fresh_ids(engine: Engine) -> Iterator[int]:
    """One at first: most calls add one note."""
    count = 1
    while True:
        yield from engine._next_ids("notes", count)
        count = 256


class _Batch:
    """Collects inserts, so that ten thousand notes are a handful of statements."""

    def __init__(self, engine: NoteTables, space: int, live: dict[str, Applied]) -> None:
        self._engine = engine
        self._space = space
        self._live = live
        self._ids = _fresh_ids(engine)
        self._rows: list[Row] = []
        self._links: list[Row] = []
        self._owners: list[ChunkOwner] = []
        self._events: list[tuple[str, int, str]] = []

    def insert(self, change: Change) -> Applied:
        note = change.note
        if not claims_text(note):
            return self._insert(change)
        twin = self._live.get(note.content_hash)
        if twin is None:
            self._live[note.content_hash] = twin = self._insert(change)
            return twin
        return twin if twin.duplicate else Applied(twin.id, twin.uid, twin.rev, duplicate=True)

    def _insert(self, change: Change) -> Applied:
        note, space, note_id = change.note, self._space, next(self._ids)
        self._rows.append(note_row(note_id, space, note, 1, change.salt))
        if note.links:
            self._links += _link_rows(space, note_id, note.links)
        if change.chunks and is_searchable(note):
            self._owners.append(_owner(space, note_id, note, change))
        self._events.append((note.uid, 1, change.digest))
        return Applied(note_id, note.uid, 1)

    def changed(self, before: Note, after: Note | None, rev: int) -> None:
        """A later insert of the same call sees what an earlier change did to the texts of this space."""
        if claims_text(before):
            self._live.pop(before.content_hash, None)
        if after is not None and claims_text(after):
            self._live[after.content_hash] = Applied(before.id, after.uid, rev, duplicate=True)

    def write(self, chains: Chains) -> None:
        if not self._rows:
            return
        self._engine._many(_INSERT, self._rows)
        if self._links:
            self._engine._many(_LINK, self._links)
        self._engine._insert_chunks(self._space, self._owners)
        chains.extend(self._space, self._events)
