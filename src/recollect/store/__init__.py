"""The Store contract: what every engine does in full, or refuses at open with a hint.

Rules that hold for every verb:
- spaces: every read takes the visible spaces (ids) and never returns a row of another one; `space` comes first in
  every key, so that an engine can be partitioned by it.
- one write verb for notes, `apply`: compare-and-set on the revision, the image before the change kept as a
  revision, chunks and index rows replaced, one event appended; all of a call or nothing.
- `transaction(spaces)` groups verbs; inside it the calling thread sees its own writes, others see none of them. A
  verb that fails inside is undone alone, so the caller may go on.
- chunks, terms and vectors are derived: they exist for notes in a searchable state that are not on the scratchpad,
  for turns and for files, and can be rebuilt from what is canonical. A chunk has exactly one owner.
- vectors are kept by (chunk, model), have length one, and carry a change number that rises in the store. An engine
  that answers from a copy in memory logs removals too, so that every reader can follow both.
- use counters are outside what is canonical: `record_use` may drop them when the store is busy.

`recollect.testing.StoreContract` is the executable form of this page; it runs over every engine.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from recollect.ids import Ref
from recollect.store.words import (
    ACCESSES,
    SEARCHABLE,
    Applied,
    Change,
    Erased,
    KeywordLane,
    Operation,
    SourceFile,
    TurnDraft,
    Usage,
    Use,
    claims_text,
    is_searchable,
)
from recollect.types import (
    Chunk,
    ChunkDraft,
    Event,
    Filter,
    Finding,
    Note,
    Pair,
    Revision,
    Session,
    Space,
    Turn,
)

if TYPE_CHECKING:
    from recollect.maturity import Used
    from recollect.policies import Hidden, Weight

SCHEMA_VERSION = 3
__all__ = [
    "ACCESSES", "SCHEMA_VERSION", "SEARCHABLE", "Applied", "Change", "Erased", "KeywordLane", "Operation", "SourceFile",
    "Store", "TurnDraft", "Usage", "Use", "claims_text", "is_searchable",
]  # fmt: skip


class Store(Protocol):
    engine: str
    location: str

    def close(self) -> None: ...

    def transaction(self, spaces: Sequence[int]) -> AbstractContextManager[None]:
        """Everything inside becomes visible at once, or not at all."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Reads inside see one state of the store, whatever others write meanwhile."""

    # -- spaces ---------------------------------------------------------------------------------------------------

    def spaces(self) -> list[Space]: ...

    def ensure_space(self, name: str, kind: str, aliases: Sequence[tuple[str, str]], op: Operation) -> Space:
        """The space of the first alias that is known, else one made under a free name; missing aliases are added."""

    def rename_space(self, space: int, name: str, op: Operation) -> Space: ...

    def close_space(self, space: int, merged_into: int | None, op: Operation) -> None:
        """Marks a space as merged (its aliases move along), or opens it again when `merged_into` is None."""

    # -- notes ----------------------------------------------------------------------------------------------------

    def apply(self, op: Operation, space: int, changes: Sequence[Change]) -> list[Applied]:
        """Changes in the order given: a later one sees what an earlier one did to the texts of the space."""

    def notes(self, refs: Sequence[Ref], spaces: Sequence[int]) -> list[Note]:
        """The notes that exist among `refs`, in any state, in the order asked."""

    def list_notes(self, where: Filter, limit: int, before: tuple[int, int] | None = None) -> list[Note]:
        """Newest first by (created_ms, id); `before` continues after the last row of the page before."""

    def neighbours(
        self, at: tuple[int, int], where: Filter, before: int, after: int
    ) -> tuple[list[Note], list[Note]]:
        """The notes around (created_ms, id), nearest first on both sides."""

    def turns_around(
        self, at: tuple[int, int], where: Filter, before: int, after: int
    ) -> tuple[list[Turn], list[Turn]]:
        """The turns around (at_ms, id), nearest first on both sides."""

    def sessions_around(
        self, at_ms: int, where: Filter, before: int, after: int
    ) -> tuple[list[tuple[str, Session]], list[tuple[str, Session]]]:
        """Where sessions began ("start", up to a time on the side before) and ended ("end", from it on on the side
        after), nearest first on both sides."""

    def holders(self, space: int, hashes: Sequence[str]) -> dict[str, str]:
        """Which live note (its uid) has each of these texts, by hash; the scratchpad does not count."""

    def history(self, uid: str, spaces: Sequence[int]) -> list[Revision]: ...

    def images_at(self, spaces: Sequence[int], at_ms: int) -> dict[int, tuple[int, dict[str, Any]]]:
        """For each note that was changed since: the revision and image that were in force then, by note id."""

    def salt(self, uid: str, spaces: Sequence[int]) -> bytes | None: ...

    def events(self, spaces: Sequence[int], since: int = 0, limit: int = 1000) -> list[Event]: ...

    def latest_events(self, spaces: Sequence[int], limit: int) -> list[Event]:
        """The newest events, newest first."""

    def operation(self, operation: str, spaces: Sequence[int]) -> list[Event]: ...

    def erase(self, op: Operation, spaces: Sequence[int], notes: Sequence[str], sessions: Sequence[str]) -> Erased:
        """Removes every trace of notes and sessions; their events stay, without salt, and others' links to them too."""

    def remove(
        self, op: Operation, spaces: Sequence[int], notes: Sequence[str], sessions: Sequence[str],
        turns: Sequence[int] = (),
    ) -> dict[str, int]:  # fmt: skip
        """The rows of an erasure, counted by table; may be part of a transaction, and `scrub` ends it. Under the verb
        `purge` what goes may come back; otherwise tombstones remember it."""

    def scrub(self, wait: bool = True) -> bool:
        """Removes what was erased from the engine's own files; True while somebody still holds old pages."""

    def forgotten(self, space: int, uids: Sequence[str]) -> set[str]:
        """Those of these notes that were erased here, and shall not come back."""

    def forgotten_session(self, space: int, agent: str, key: str) -> bool:
        """Whether that session was erased here, and shall not come back."""

    def drop_versions(self, versions: Sequence[tuple[int, int]]) -> int:
        """Removes earlier versions: (note id, revision)."""

    def clear_queries(self, spaces: Sequence[int]) -> int:
        """Takes the words of searches out of the log of accesses."""

    def leftover_terms(self, terms: Sequence[str]) -> list[str]:
        """Those terms that the keyword index has although no chunk does."""

    # -- sessions -------------------------------------------------------------------------------------------------

    def put_session(self, op: Operation, space: int, session: Session) -> Session:
        """Makes or updates the session of (space, agent, key)."""

    def move_sessions(self, op: Operation, source: int, target: int, only_from: int | None) -> int:
        """Moves sessions with their turns and chunks; `only_from` takes just those that came from that space."""

    def sessions(self, spaces: Sequence[int], limit: int = 50, uid: str | None = None) -> list[Session]: ...

    def add_turns(self, op: Operation, space: int, session: Session, turns: Sequence[TurnDraft]) -> list[int]:
        """Stores those turns whose record the session does not have yet; returns their ids."""

    def turns(
        self,
        spaces: Sequence[int],
        ids: Sequence[int] = (),
        session: str | None = None,
        around: tuple[int, int] | None = None,
    ) -> list[Turn]: ...

    def find_session(self, space: int, agent: str, key: str) -> Session | None: ...

    def turn_hashes(self, space: int, session: Session, records: Sequence[str]) -> dict[str, str]:
        """The content hash of each of these records that the session has."""

    def retract_turns(self, op: Operation, space: int, session: Session, after_record: str) -> int:
        """Removes the turns said after a record (all of them for ""), because the speakers took them back."""

    # -- files ----------------------------------------------------------------------------------------------------

    def files(self, paths: Sequence[str] = (), under: str | None = None) -> list[SourceFile]:
        """Indexed files by path, or all below a folder ("" is any); of every space, as a file is read once for all."""

    def put_file(self, op: Operation, space: int, file: SourceFile, chunks: Sequence[ChunkDraft] | None) -> int:
        """Makes or updates the row of (space, path) and, unless `chunks` is None, replaces its chunks."""

    def remove_file(self, op: Operation, space: int, path: str, forget: bool = False) -> bool:
        """Removes a file and its chunks; turns stay. `forget` leaves a tombstone, so that it does not come back."""

    def lease(self, name: str, holder: str, now_ms: int, ttl_ms: int) -> bool:
        """Takes or renews a lease; False while another holder has it. A `ttl_ms` of 0 gives it back."""

    def stale(self, limit: int, before: int | None = None) -> list[tuple[int, str, int]]:
        """Owners (space, what, id) whose chunks an older version cut or tokenised, oldest first; with `before` those
        of any version that have a chunk up to this number."""

    def last_chunk(self) -> int: ...

    # -- search ---------------------------------------------------------------------------------------------------

    def keyword(self, terms: Sequence[str], where: Filter, limit: int) -> KeywordLane: ...

    def chunks(self, ids: Sequence[int], where: Filter) -> list[Chunk]:
        """The chunks among `ids` that pass the filter."""

    def owned(self, what: str, owner: int, space: int) -> list[Chunk]:
        """The chunks of one note, turn or file, in order."""

    def siblings(self, owners: Sequence[tuple[str, int]], spaces: Sequence[int]) -> list[Chunk]:
        """All chunks of those owners that have several."""

    def turn_chunks(self, places: Sequence[tuple[int, int]], spaces: Sequence[int]) -> list[Chunk]:
        """The chunks of the turns at (session, position)."""

    def speakers(self, spaces: Sequence[int]) -> list[str]:
        """Who spoke in the sessions of these spaces, each once."""

    def rebuild_chunks(
        self, op: Operation, space: int, owner: str, owner_id: int, chunks: Sequence[ChunkDraft]
    ) -> None: ...

    def active_model(self) -> tuple[str, int] | None:
        """The model (identity, dims) whose vectors serve searches; set even while there are none."""

    def set_active_model(self, model: str, dims: int) -> None: ...

    def add_model(self, model: str, dims: int) -> None:
        """Makes a model known beside the active one, so that its vectors can be gathered."""

    def drop_model(self, model: str) -> int: ...

    def pending(self, model: str, spaces: Sequence[int] | None, limit: int) -> list[tuple[int, str, str]]:
        """Chunks without a vector of this model, newest first: (id, hash, text to embed)."""

    def count_pending(self, model: str, spaces: Sequence[int] | None) -> int: ...

    def chunk_mark(self, spaces: Sequence[int] | None) -> tuple[int, int]:
        """Two numbers, found without counting: while both stay, no chunk came into these spaces."""

    def put_vectors(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> int:
        """Stores float32 vectors; chunks that are gone or already have one are left alone. Returns how many went in."""

    def cached(self, provider: str, model: str, dims: int, hashes: Sequence[str], now_ms: int) -> dict[str, bytes]:
        """Vectors of texts embedded before, by hash; a hit is as good as new for the least-recently-used order."""

    def cache(
        self, provider: str, model: str, dims: int, vectors: Mapping[str, bytes], now_ms: int, keep: int
    ) -> None: ...

    def similarities(self, model: str, query: Any, ids: Sequence[int], spaces: Sequence[int]) -> dict[int, float]:
        """The cosine of each of these chunks that has a vector."""

    def note_vectors(self, model: str, where: Filter, limit: int) -> list[tuple[int, bytes]]:
        """Of the newest notes that pass, those that have one: (note id, float32 vector of the first chunk)."""

    def vector_lane(self, model: str, query: Any, where: Filter, limit: int) -> list[tuple[int, float]]:
        """Exact nearest chunks by cosine inside the filter: (chunk id, similarity), best first."""

    # -- tools ----------------------------------------------------------------------------------------------------

    def learn_pair(self, space: int, pair: Pair, weight: float) -> Pair:
        """Counts a use of a tool for a query. A new pair starts at `pair.confidence`, a known one moves towards it by
        `weight`, in one step that no other learner can come between. Returns the pair as it is now."""

    def fail_pair(self, space: int, id: str, weight: float, at_ms: int) -> Pair | None:
        """Counts a failure of a known pair and moves it towards 0 by `weight`; an unknown one stays unknown."""

    def pairs(self, spaces: Sequence[int], after: int = -1) -> list[Pair]:
        """Pairs that changed after a change number, in the order of their last change."""

    def pairs_stamp(self, spaces: Sequence[int]) -> tuple[int, int]:
        """How many pairs there are and the newest change number, so that a copy in memory knows when it is stale."""

    def put_pair_vectors(self, space: int, model: str, vectors: Mapping[str, bytes]) -> None:
        """Gives pairs, by id, the vectors of another model."""

    def prune_pairs(
        self, spaces: Sequence[int], least_confidence: float, used_since_ms: int, most: int, keep: int
    ) -> dict[str, int]:
        """In one transaction, in each space: drops pairs below a confidence (`doubtful`) and those not used since
        (`unused`); if more than `most` are left, all but the `keep` of highest confidence (`surplus`)."""

    def forget_pairs(self, spaces: Sequence[int], ids: Sequence[str]) -> int: ...

    # -- use, numbers, upkeep -------------------------------------------------------------------------------------

    def record_use(self, uses: Sequence[Use], rate: float = 0.0) -> bool:
        """Logs uses; those of ACCESSES also count, and bring back a part of what was lost at `rate` per hour."""

    def usage(self, note_ids: Sequence[int], spaces: Sequence[int]) -> dict[int, Usage]: ...

    def tier_candidates(self, spaces: Sequence[int], accesses: int, confidence: float) -> "list[Used]":
        """Live episodic notes read at least so often; semantic ones that are superseded, or live and doubted."""

    def stats(self, spaces: Sequence[int]) -> dict[str, Any]: ...

    def get_meta(self, key: str) -> str | None: ...

    def set_meta(self, key: str, value: str) -> None: ...

    def check(self) -> list[Finding]: ...

    def repair(self) -> list[str]:
        """Rebuilds what is derived and damaged; says what it did."""

    def backup(self, target: Path) -> None: ...

    # -- bounds and retention -------------------------------------------------------------------------------------

    def live_size(self) -> tuple[int, int]:
        """How many live notes there are in the store, and their bytes."""

    def weights(self) -> "list[Weight]":
        """Every live note of the store, as the bounds see it."""

    def due(self, now_ms: int) -> list[tuple[int, int]]:
        """Live notes whose time has passed: (space, id)."""

    def hidden(self) -> "list[Hidden]":
        """Every evicted or expired note."""

    def seen_before(self, before_ms: int) -> int | None:
        """The time of the newest event that is not younger than this."""

    def trim(self, revisions_before_ms: int, keep: int, accesses_before_ms: int, cache: int) -> dict[str, int]:
        """Removes versions replaced before a time (but never a note's newest `keep`), accesses before a time, and
        the least recently used of the embedding cache."""

    def trim_removals(self, keep: int) -> int:
        """Drops all but the newest of the log that readers of vectors follow, where an engine has one; a reader that is
        behind it notices, and reads everything anew."""

    def count_trim(self, revisions_before_ms: int, keep: int, accesses_before_ms: int, cache: int) -> dict[str, int]:
        """What `trim` would remove."""

    def chain(self, space: int) -> tuple[tuple[int, str], tuple[int, str]]:
        """Where a space's chain of events begins (the last event that was trimmed) and ends: (seq, hash) of each."""

    def images(self, after: int, limit: int) -> list[tuple[Note, bytes]]:
        """Notes of every space and state with the salt of their newest digest, by rising id after `after`."""

    def versions(self, after: tuple[int, int], limit: int) -> list[tuple[int, int, str, str, bytes]]:
        """Earlier versions by rising (note, revision): note id, revision, uid, encoded image, salt."""

    def said(self, after: int, limit: int) -> list[tuple[int, str, str]]:
        """Turns of every space by rising id: id, text, hash."""

    def slices(self, after: int, limit: int) -> list[tuple[int, int, str, int, str, str, str, str]]:
        """Chunks by rising id: id, space, kind and id of the owner, context, content, hash, terms."""

    def unsearchable(self) -> list[tuple[int, int]]:
        """Notes that ought to be found but have no chunks: (space, id)."""

    def give_chunks(self, space: int, note: Note, chunks: Sequence[ChunkDraft]) -> None:
        """Indexes a note that has no chunks."""

    def old_events(self, space: int, before_ms: int) -> int:
        """The last event of that part of the chain's beginning which is older than a time; 0 if there is none."""

    def trim_events(self, op: Operation, space: int, seq: int) -> int:
        """Removes events up to `seq`. What they say about images that are still here is said again at the end of the
        chain, so that every note can still be proven: as an `anchor`, or as a `trace` where the note is in another
        space by now."""

    def make_room(self) -> bool:
        """Gives up what was kept for a full disk, so that a removal can go on; False if there is nothing to give."""

    def compact(self, merge: bool = False) -> int:
        """Gives free room back to the system; returns how many bytes. With `merge` that of the index too, which takes
        as long as the index is large."""
