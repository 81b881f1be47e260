"""The values that a store takes and gives, and what is said of a note in them."""

from typing import NamedTuple

from recollect.types import Chunk, ChunkDraft, Note, Turn
from recollect.values import value

ACCESSES: frozenset[str] = frozenset({"get", "context"})  # uses that show a note to somebody, and so count
SEARCHABLE: frozenset[str] = frozenset({"live", "superseded", "expired"})  # states whose chunks are kept


def is_searchable(note: Note) -> bool:
    """Whether a note has chunks; the scratchpad is read whole and never searched."""
    return note.state in SEARCHABLE and note.tier != "scratchpad"


def claims_text(note: Note) -> bool:
    """Whether a note stands in the way of another live one with its text; on the scratchpad a text may stand twice."""
    return note.state == "live" and note.tier != "scratchpad"


@value
class Operation:
    """Who changes what, under which id; every event of a call carries it."""

    id: str
    verb: str
    actor: str
    at_ms: int


@value
class Change:
    """A note as it shall be. `expected_rev` 0 inserts; otherwise the note must be at that revision.

    `chunks` replaces the note's chunks; None keeps them (they are re-scoped when the state or space changed).
    """

    note: Note
    expected_rev: int
    salt: bytes
    digest: str
    chunks: tuple[ChunkDraft, ...] | None = None
    to_space: int | None = None


class Applied(NamedTuple):
    """What became of a change: the stored id, or the live note that already has the text."""

    id: int
    uid: str
    rev: int
    duplicate: bool = False


@value
class TurnDraft:
    turn: Turn
    chunks: tuple[ChunkDraft, ...]


@value
class KeywordLane:
    """The best matches of the keyword lane with what ranking needs to score them."""

    chunks: tuple[Chunk, ...]
    total: int
    average_terms: float
    frequencies: dict[str, int]


@value
class SourceFile:
    """An indexed file: what it was when it was read, and how far. `source` is files or sessions (a transcript)."""

    path: str
    source: str
    reader: str
    hash: str
    mtime_ns: int
    size: int
    offset: int = 0
    line: int = 0
    state: str = "{}"
    indexed_ms: int = 0
    id: int = 0
    space: int = 0


@value
class Use:
    note_id: int
    how: str
    at_ms: int
    score: float | None = None
    query: str | None = None


@value
class Usage:
    accesses: int
    last_access_ms: int
    strength: float
    pinned: bool = False


@value
class Erased:
    """What an erasure removed, by table; `pending` while an open reader keeps old pages alive."""

    counts: dict[str, int]
    pending: bool
