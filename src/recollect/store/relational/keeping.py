"""What upkeep reads and removes: weights for the bounds, what is past its time, and the chain's beginning.

Removing events never breaks a chain: a mark in `meta` says where it begins now and from which hash it goes on.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect import audit
from recollect.store import SEARCHABLE, Operation
from recollect.store.relational.base import Chains, ChunkOwner, Engine, scope_of
from recollect.store.relational.rows import NOTE_FROM, NOTE_SELECT, batches, marks, note_of
from recollect.types import ChunkDraft, Link, Note

if TYPE_CHECKING:
    from recollect.maturity import Used
    from recollect.policies import Hidden, Weight

_FOUND = sorted(SEARCHABLE)
_WEIGHTS = (
    "select n.id, n.space, n.bytes, n.kind, n.pinned, n.session, n.created_ms, u.last_access_ms from notes n "
    "left join note_use u on u.space = n.space and u.note_id = n.id where n.state = 'live'"
)
_USED = (
    "select n.id, n.space, n.uid, n.tier, n.state, n.confidence, n.importance, n.pinned, coalesce(u.accesses, 0), "
    "coalesce(u.last_access_ms, n.created_ms), coalesce(u.strength, 1.0) "
)
_SUPERFLUOUS = (
    "from revisions where at_ms < ? and rev < "
    "(select n.rev from notes n where n.space = revisions.space and n.id = revisions.note_id) - ?"
)
# What an event at or before `seq` says about an image that is still here: the note as it is, or a kept version.
_ANCHORED = (
    "select e.uid, e.rev, e.digest, n.space from events e "
    "join notes n on n.uid = e.uid and n.space in (select id from spaces) "
    "where e.space = ? and e.seq <= ? and e.verb <> 'leave' and e.rev > 0 and (n.rev = e.rev or exists "
    "(select 1 from revisions r where r.space = n.space and r.note_id = n.id and r.rev = e.rev)) order by e.seq"
)


class Keeping(Engine):
    def live_size(self) -> tuple[int, int]:
        rows = self._rows("select count(*), cast(coalesce(sum(bytes), 0) as bigint) from notes where state = 'live'")
        return rows[0][0], rows[0][1]

    def weights(self) -> "list[Weight]":
        from recollect.policies import Weight

        return [Weight(*row) for row in self._rows(_WEIGHTS)]

    def tier_candidates(self, spaces: Sequence[int], accesses: int, confidence: float) -> "list[Used]":
        from recollect.maturity import Used

        risen = self._rows(
            f"{_USED}from note_use u join notes n on n.space = u.space and n.id = u.note_id "
            f"where u.space in ({marks(spaces)}) and u.accesses >= ? and n.tier = 'episodic' and n.state = 'live'",
            (*spaces, accesses),
        )
        fallen = self._rows(
            f"{_USED}from notes n left join note_use u on u.space = n.space and u.note_id = n.id "
            f"where n.space in ({marks(spaces)}) and n.tier = 'semantic' "
            "and (n.state = 'superseded' or (n.state = 'live' and n.confidence < ?))",
            (*spaces, confidence),
        )
        return [Used(*row) for row in (*risen, *fallen)]

    def due(self, now_ms: int) -> list[tuple[int, int]]:
        """Live notes whose time has passed: (space, id)."""
        rows = self._rows(
            "select space, id from notes where expires_ms <= ? and state = 'live' order by space, id", (now_ms,)
        )
        return [(space, id) for space, id in rows]

    def hidden(self) -> "list[Hidden]":
        from recollect.policies import Hidden

        return [
            Hidden(*row)
            for row in self._rows(
                "select uid, space, bytes, updated_ms from notes where state in ('evicted', 'expired')"
            )
        ]

    def seen_before(self, before_ms: int) -> int | None:
        """The newest event that is no younger than this."""
        found: int | None = self._rows("select max(at_ms) from events where at_ms <= ?", (before_ms,))[0][0]
        return found

    def trim(self, revisions_before_ms: int, keep: int, accesses_before_ms: int, cache: int) -> dict[str, int]:
        with self.transaction([]):
            old = self._rows(f"delete {_SUPERFLUOUS} returning 1", (revisions_before_ms, keep))
            read = self._rows("delete from accesses where at_ms < ? returning 1", (accesses_before_ms,))
            extra = max(0, self._rows("select count(*) from embedding_cache")[0][0] - cache)
            self._rows(
                "delete from embedding_cache where (provider, model, dims, hash) in "
                "(select provider, model, dims, hash from embedding_cache order by used_ms, hash limit ?)",
                (extra,),
            )
        return {"revisions": len(old), "accesses": len(read), "cache": extra}

    def count_trim(self, revisions_before_ms: int, keep: int, accesses_before_ms: int, cache: int) -> dict[str, int]:
        """What `trim` would remove."""
        extra = self._rows("select count(*) from embedding_cache")[0][0] - cache
        return {
            "revisions": self._rows(f"select count(*) {_SUPERFLUOUS}", (revisions_before_ms, keep))[0][0],
            "accesses": self._rows("select count(*) from accesses where at_ms < ?", (accesses_before_ms,))[0][0],
            "cache": max(0, extra),
        }

    # -- the chain ------------------------------------------------------------------------------------------------

    def chain(self, space: int) -> tuple[tuple[int, str], tuple[int, str]]:
        begin = self._rows("select value from meta where key = ?", (f"chain_begins:{space}",))
        seq, _, mark = begin[0][0].partition(":") if begin else ("0", "", audit.GENESIS)
        rows = self._rows("select seq, head from spaces where id = ?", (space,))
        # A mark that cannot be read fits no event, so the chain is told to be broken.
        return (int(seq) if seq.isdecimal() else -1, mark), (rows[0][0], rows[0][1])

    def images(self, after: int, limit: int) -> list[tuple[Note, bytes]]:
        rows = self._rows(f"{NOTE_SELECT}, n.salt{NOTE_FROM}where n.id > ? order by n.id limit ?", (after, limit))
        ids = [row[1] for row in rows]
        links: dict[int, tuple[Link, ...]] = {}
        for part in batches(ids):
            for note_id, to, kind in self._rows(
                "select note_id, to_uid, kind from links where space in (select id from spaces) "
                f"and note_id in ({marks(part)}) order by note_id, to_uid, kind",
                part,
            ):
                links[note_id] = (*links.get(note_id, ()), Link(to, kind))
        return [(note_of(row[:-1], links.get(row[1], ())), bytes(row[-1])) for row in rows]

    def versions(self, after: tuple[int, int], limit: int) -> list[tuple[int, int, str, str, bytes]]:
        rows = self._rows(
            "select r.note_id, r.rev, n.uid, r.image, r.salt from revisions r "
            "join notes n on n.space = r.space and n.id = r.note_id "
            "where (r.note_id, r.rev) > (?, ?) order by r.note_id, r.rev limit ?",
            (*after, limit),
        )
        return [(*row[:4], bytes(row[4])) for row in rows]

    def said(self, after: int, limit: int) -> list[tuple[int, str, str]]:
        sql = "select id, text, content_hash from turns where id > ? order by id limit ?"
        return [(id, text, hash_) for id, text, hash_ in self._rows(sql, (after, limit))]

    def slices(self, after: int, limit: int) -> list[tuple[int, int, str, int, str, str, str, str]]:
        rows = self._rows(
            "select id, space, case when note_id is not null then 'note' when turn_id is not null then 'turn' "
            "else 'file' end, coalesce(note_id, turn_id, file_id), context, content, hash, terms from chunks "
            "where id > ? order by id limit ?",
            (after, limit),
        )
        return [(*row[:7], row[7]) for row in rows]

    def unsearchable(self) -> list[tuple[int, int]]:
        rows = self._rows(
            f"select n.space, n.id from notes n where n.state in ({marks(_FOUND)}) "
            "and n.tier <> 'scratchpad' "
            "and not exists (select 1 from chunks c where c.space = n.space and c.note_id = n.id)",
            _FOUND,
        )
        return [(space, note_id) for space, note_id in rows]

    def give_chunks(self, space: int, note: Note, chunks: Sequence[ChunkDraft]) -> None:
        owner = ChunkOwner("note", note.id, scope_of(space, note.state), note.trusted, note.created_ms, chunks)
        with self.transaction([space]):
            self._insert_chunks(space, [owner])

    def old_events(self, space: int, before_ms: int) -> int:
        """The last event of the beginning of the chain that is all older; 0 if there is none."""
        rows = self._rows("select min(seq) from events where space = ? and at_ms >= ?", (space, before_ms))
        last: int = rows[0][0] - 1 if rows[0][0] is not None else self.chain(space)[1][0]
        return last if last > self.chain(space)[0][0] else 0

    def trim_events(self, op: Operation, space: int, seq: int) -> int:
        with self.transaction([space]):
            rows = self._rows("select hash from events where space = ? and seq = ?", (space, seq))
            if not rows:
                return 0
            chains = Chains(self, op, [space])
            kept = {(uid, rev): (digest, home) for uid, rev, digest, home in self._rows(_ANCHORED, (space, seq))}
            for (uid, rev), (digest, home) in kept.items():
                chains.append(space, uid, rev, digest, verb="anchor" if home == space else "trace")
            chains.write()
            gone = self._rows("delete from events where space = ? and seq <= ? returning 1", (space, seq))
            self._rows(
                "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
                (f"chain_begins:{space}", f"{seq}:{rows[0][0]}"),
            )
        return len(gone)

    # -- erasure --------------------------------------------------------------------------------------------------

    def drop_versions(self, versions: Sequence[tuple[int, int]]) -> int:
        with self.transaction([]):
            self._many("delete from revisions where note_id = ? and rev = ?", versions)
        return len(versions)

    def clear_queries(self, spaces: Sequence[int]) -> int:
        with self.transaction([]):
            rows = self._rows(
                f"update accesses set query = null where query is not null and space in ({marks(spaces)}) returning 1",
                spaces,
            )
        return len(rows)

    def leftover_terms(self, terms: Sequence[str]) -> list[str]:
        return []  # terms are in the rows themselves

    # -- room -----------------------------------------------------------------------------------------------------

    def make_room(self) -> bool:
        return False

    def compact(self, merge: bool = False) -> int:
        return 0  # the server does that by itself
