"""What the shared tables need from an engine."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

from recollect import audit
from recollect.errors import RecollectError
from recollect.store import Operation
from recollect.store.relational.rows import Row, marks
from recollect.types import ChunkDraft

EVENT_INSERT = (
    "insert into events (space, seq, operation, verb, uid, rev, actor, at_ms, digest, hash) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Engine:
    """The seam between the shared SQL and one database."""

    tag_sql: str  # true when `notes n` has the bound tag
    for_update: str  # locks the rows of a select until the transaction ends

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        raise NotImplementedError

    def _many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        raise NotImplementedError

    def transaction(self, spaces: Sequence[int]) -> AbstractContextManager[None]:
        raise NotImplementedError

    def snapshot(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    def _room_for(self, changes: int) -> AbstractContextManager[None]:
        """While so many changes are written, in one transaction, the engine may take more memory."""
        return nullcontext()

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """A verb that fails inside a transaction is undone alone, so that the caller may go on."""
        self._rows("savepoint verb")
        try:
            yield
        except BaseException:
            with suppress(RecollectError):  # the connection may be gone: the first trouble is the one to report
                self._rows("rollback to savepoint verb")
                self._rows("release savepoint verb")
            raise
        self._rows("release savepoint verb")

    def _next_ids(self, name: str, count: int) -> Sequence[int]:
        """`count` rising ids that were never handed out before."""
        raise NotImplementedError

    def _lock_registry(self) -> None:
        """Holds off others who make spaces or models until the transaction ends."""

    def _move_vectors(self, column: str, owner: int, space: int) -> None:
        """Stores the vectors of an owner's chunks anew in another space, so that readers of both see the change."""
        raise NotImplementedError

    def _buried(self, space: int, what: str, names: Sequence[str]) -> set[str]:
        """Those names that have a tombstone."""
        raise NotImplementedError

    def _insert_chunks(self, space: int, owners: Sequence["ChunkOwner"]) -> None:
        raise NotImplementedError


class ChunkOwner(NamedTuple):
    """What a chunk takes from the note, turn or file that owns it."""

    what: str
    id: int
    scope: str
    trusted: bool
    created_ms: int
    chunks: Sequence[ChunkDraft]
    session_id: int | None = None
    file_path: str | None = None


def scope_of(space: int, state: str = "live") -> str:
    """The space as an index term; what is hidden by default has its own, so that a search need not sort it out."""
    return f"s{space}" if state == "live" else f"s{space}h"


class Chains:
    """The event chains that one transaction extends: read once, written once."""

    def __init__(self, engine: Engine, op: Operation, spaces: Sequence[int]) -> None:
        self._engine = engine
        self._op = op
        ids = sorted(set(spaces))
        rows = engine._rows(
            f"select id, seq, head from spaces where id in ({marks(ids)}) order by id" + engine.for_update, ids
        )
        self._heads: dict[int, tuple[int, str]] = {row[0]: (row[1], row[2]) for row in rows}
        self._new: list[Row] = []

    def append(self, space: int, uid: str, rev: int, digest: str, verb: str | None = None) -> None:
        self.extend(space, [(uid, rev, digest)], verb)

    def extend(self, space: int, changes: Sequence[tuple[str, int, str]], verb: str | None = None) -> None:
        """An event for each (uid, revision, digest)."""
        seq, head = self._heads[space]
        op, chain, new = self._op, audit.chain, self._new
        operation, actor, at_ms, verb = op.id, op.actor, op.at_ms, verb or op.verb
        for uid, rev, digest in changes:
            seq += 1
            head = chain(head, seq, operation, verb, uid, rev, actor, at_ms, digest)
            new.append((space, seq, operation, verb, uid, rev, actor, at_ms, digest, head))
        self._heads[space] = (seq, head)

    def write(self) -> None:
        if not self._new:
            return
        self._engine._many(EVENT_INSERT, self._new)
        touched = {row[0] for row in self._new}
        self._engine._many(
            "update spaces set seq = ?, head = ? where id = ?",
            [(*self._heads[space], space) for space in sorted(touched)],
        )
