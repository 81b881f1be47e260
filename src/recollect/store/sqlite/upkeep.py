"""Numbers, checks, repair, backup and the scrubbing that ends an erasure."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from recollect.errors import StoreCorrupt, StoreFull, StoreUnavailable
from recollect.store import Use
from recollect.store.relational.numbers import Numbers
from recollect.store.sqlite.connect import explain, translated
from recollect.types import Finding

_MISFITS = (
    "from vectors v left join models m on m.id = v.model left join chunks c on c.id = v.chunk_id "
    "where c.id is null or m.id is null or length(v.vector) <> 4 * m.dims or c.space <> v.space"
)
VACUUM_BYTES = 1_000_000  # given back in one step; the log needs up to three times as much
MERGE_PAGES = 100  # of 4 KB, in one step
MERGING = {True: (4, 16), False: (0, 1000)}  # how many segments make a write merge some, or all: FTS5's own, and never
SCRUB_SECONDS = 3.0  # how long an erasure waits for readers before it says that it is pending


class SqliteUpkeep(Numbers):
    path: Path
    _busy_seconds: float

    def _connection(self) -> apsw.Connection:
        raise NotImplementedError

    def record_use(self, uses: Sequence[Use], rate: float = 0.0) -> bool:
        """Written when the store is free at once; dropped otherwise, so that a search never waits as a writer."""
        connection = self._connection()
        connection.set_busy_timeout(0)
        try:
            with self.transaction([]):
                self._write_use(uses, rate)
        except StoreUnavailable:
            return False
        finally:
            self._restore_busy_handler(connection)
        return True

    def _restore_busy_handler(self, connection: apsw.Connection) -> None:
        raise NotImplementedError

    # -- checks ---------------------------------------------------------------------------------------------------

    def check(self) -> list[Finding]:
        return [
            self._integrity(),
            self._index_drift(),
            self._sizes(),
            self._orphans(),
            self._vectors(),
            self._permissions(),
        ]

    def _integrity(self) -> Finding:
        rows = [row[0] for row in self._rows("pragma integrity_check(20)")]
        rows += [f"row {row[1]} of {row[0]} points nowhere" for row in self._rows("pragma foreign_key_check")[:20]]
        problems = [row for row in rows if row != "ok"]
        return Finding(
            "integrity", not problems, "; ".join(problems) or "the file is sound",
            hint="restore the newest backup: `recollect backup restore`" if problems else "",
        )  # fmt: skip

    def _index_drift(self) -> Finding:
        """Only FTS5's own check with rank 1 compares the index with what it indexes."""
        try:
            with self.transaction([]):
                self._rows("insert into chunks_fts (chunks_fts, rank) values ('integrity-check', 1)")
        except StoreCorrupt:
            return Finding(
                "keyword index", False, "it differs from the chunks", "`recollect doctor --fix` rebuilds it", True
            )
        return Finding("keyword index", True, "it agrees with the chunks")

    def _sizes(self) -> Finding:
        rows = self._rows(
            "select z.space from space_sizes z where (z.chunks, z.terms) <> "
            "(select count(*), coalesce(sum(term_count), 0) from chunks c where c.space = z.space)"
        )
        return Finding(
            "sizes", not rows, f"{len(rows)} spaces have wrong totals" if rows else "totals are right", fixable=True
        )

    def _vectors(self) -> Finding:
        """Each of its chunk and of its model's size; what a chunk still lacks is work, not a fault."""
        bad = self._rows(f"select count(*) {_MISFITS}")[0][0]
        detail = f"{bad} vectors fit no chunk or model" if bad else "every vector has its chunk and its model"
        return Finding("vectors", not bad, detail, "`recollect doctor --fix` makes them anew" if bad else "", True)

    def _permissions(self) -> Finding:
        if os.name != "posix":
            return Finding("permissions", True, "left to the system")
        open_to_others = [
            path.name
            for suffix in ("", "-wal", "-shm")
            if (path := Path(f"{self.path}{suffix}")).exists() and path.stat().st_mode & 0o077
        ]
        return Finding(
            "permissions", not open_to_others,
            f"others may read {', '.join(open_to_others)}" if open_to_others else "only you may read the store",
            hint="`recollect doctor --fix` closes them" if open_to_others else "", fixable=True,
        )  # fmt: skip

    def repair(self) -> list[str]:
        done = []
        for finding in self.check():
            if finding.ok or not finding.fixable:
                continue
            if finding.check == "keyword index":
                with self.transaction([]):
                    self._rows("insert into chunks_fts (chunks_fts) values ('rebuild')")
                done.append("rebuilt the keyword index")
            elif finding.check == "vectors":
                with self.transaction([]):
                    self._rows(f"delete from vectors where change in (select v.change {_MISFITS})")
                done.append("removed vectors that fit nothing; they are made anew")
            elif finding.check == "sizes":
                self._recount()
                done.append("recounted the spaces")
            elif finding.check == "permissions":
                for suffix in ("", "-wal", "-shm"):
                    with contextlib.suppress(FileNotFoundError):
                        Path(f"{self.path}{suffix}").chmod(0o600)
                done.append("closed the store to other users")
        return done

    def _recount(self) -> None:
        with self.transaction([]):
            self._rows(
                "update space_sizes set (chunks, terms) = "
                "(select count(*), coalesce(sum(term_count), 0) from chunks c where c.space = space_sizes.space)"
            )

    # -- backup and scrubbing -------------------------------------------------------------------------------------

    def backup(self, target: Path) -> None:
        """An online copy through SQLite's backup API, checked before it gets its name."""
        part = target.with_name(f".{target.name}.part")
        with translated(target):
            os.close(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
            copy = apsw.Connection(str(part))
            try:
                with copy.backup("main", self._connection(), "main") as running:
                    while not running.done:
                        running.step(1000)
                if copy.pragma("integrity_check") != "ok":
                    raise StoreCorrupt(f"the copy of {self.path} is damaged", hint="run `recollect doctor`")
                copy.pragma("journal_mode", "delete")
            finally:
                copy.close()
            part.replace(target)

    def compact(self, merge: bool = False) -> int:
        """In steps, with the log emptied in between, so that it needs little room itself."""
        from recollect.store.sqlite import ballast

        before, free = self._pages(), -1
        step = VACUUM_BYTES // self._connection().pragma("page_size")
        with contextlib.suppress(StoreFull):  # what was cleaned up is done; room for this comes another time
            if merge:
                self._merge()
            while self._empty_log() and free != (free := self._connection().pragma("freelist_count")) and free:
                self._rows(f"pragma incremental_vacuum({step})")  # sql: our own number
            if ballast.lay(self.path):
                self._merge_beside_writing(True)
        return before - self._pages()

    def _merge(self) -> None:
        """What is removed stays in the index, marked, until the segments that hold it are merged. (FTS5's own secure
        deletion spares that and loses track of long lists: searches then miss notes, and removals leave words.)"""
        connection, pages, before = self._connection(), -MERGE_PAGES, -2
        while connection.total_changes() - before >= 2:  # a step that changes less found nothing to do
            before = connection.total_changes()
            with self.transaction([]):
                self._rows("insert into chunks_fts (chunks_fts, rank) values ('merge', ?)", (pages,))
            pages = MERGE_PAGES  # below zero it starts a merge of all segments, above it goes on with one
            self._empty_log("passive")  # without waiting for readers

    def _merge_beside_writing(self, wanted: bool) -> None:
        """Now and then a write merges segments on the way, which takes far more room than the write itself."""
        held = self._rows("select v from chunks_fts_config where k = 'automerge'") or [MERGING[True]]
        if held[0][0] != MERGING[wanted][0]:
            with self.transaction([]):
                self._many(
                    "insert into chunks_fts (chunks_fts, rank) values (?, ?)",
                    list(zip(("automerge", "crisismerge"), MERGING[wanted], strict=True)),
                )

    def _empty_log(self, how: str = "truncate") -> bool:
        """False while a reader keeps the log: then it is emptied another time."""
        try:
            return not self._rows(f"pragma wal_checkpoint({how})")[0][0]  # sql: our own word
        except StoreUnavailable:
            return False

    def make_room(self) -> bool:
        """The ballast, what the log holds that is in the file by now, and what merging would take."""
        from recollect.store.sqlite import ballast

        given = ballast.give_up(self.path)
        log = Path(f"{self.path}-wal")
        before = log.stat().st_size if log.exists() else 0
        with contextlib.suppress(StoreUnavailable):
            self._rows("pragma wal_checkpoint(truncate)")
            self._merge_beside_writing(False)
        return given or (log.stat().st_size if log.exists() else 0) < before

    def _pages(self) -> int:
        connection = self._connection()
        size: int = connection.pragma("page_count") * connection.pragma("page_size")
        return size

    def leftover_terms(self, terms: Sequence[str]) -> list[str]:
        """FTS5 shows its own vocabulary; a term in it must match a chunk that is there."""
        self._rows("create virtual table if not exists temp.chunk_words using fts5vocab (main, chunks_fts, row)")
        held = [term for term in terms if self._rows("select 1 from temp.chunk_words where term = ?", (term,))]
        self._rows("drop table temp.chunk_words")
        sql = "select 1 from chunks_fts f join chunks c on c.id = f.rowid where chunks_fts match ? limit 1"
        return [term for term in held if not self._rows(sql, (f'"{term}"',))]

    def scrub(self, wait: bool = True) -> bool:
        """Merges the FTS segments that hold the erased terms and empties the write-ahead log."""
        self._merge()
        connection = self._connection()
        connection.set_busy_timeout(int(min(self._busy_seconds, SCRUB_SECONDS) * 1000) if wait else 0)
        try:
            busy, *_ = connection.execute("pragma wal_checkpoint(truncate)").fetchall()[0]
        except apsw.BusyError:
            return True
        except apsw.Error as trouble:
            raise explain(trouble, self.path) from trouble
        finally:
            self._restore_busy_handler(connection)
        return bool(busy)
