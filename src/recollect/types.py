"""The words that rooms exchange: frozen values, no behaviour beyond what follows from their own fields.

Times are milliseconds since 1970, UTC. `space` is a space's name everywhere outside the store. A note's canonical
fields are those of `audit.image`; `id`, `rev` and `space` are local to one store.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from recollect.values import value

State = Literal["live", "superseded", "expired", "evicted", "deleted"]
Tier = Literal["scratchpad", "episodic", "semantic"]
Origin = Literal["user", "agent", "tool", "web", "file"]
Mode = Literal["hybrid", "keyword", "vector"]

KINDS = (
    "fact", "preference", "event", "insight", "task", "relationship", "bugfix", "feature", "refactor", "decision",
    "discovery", "change", "observation",
)  # fmt: skip
STATES: tuple[State, ...] = ("live", "superseded", "expired", "evicted", "deleted")
TIERS: tuple[Tier, ...] = ("scratchpad", "episodic", "semantic")
ORIGINS: tuple[Origin, ...] = ("user", "agent", "tool", "web", "file")
TRUSTED_ORIGINS = frozenset({"user", "agent"})

USER_SPACE = "user"
UNFILED_SPACE = "unfiled"


@value
class Link:
    to: str
    kind: str = "related"


@value
class Note:
    """One thing remembered."""

    uid: str
    space: str
    content: str
    kind: str
    title: str
    content_hash: str
    created_ms: int
    updated_ms: int
    id: int = 0
    rev: int = 1
    state: State = "live"
    tier: Tier = "episodic"
    context: str = ""
    source: str = ""
    origin: Origin = "user"
    session: str | None = None
    tags: tuple[str, ...] = ()
    importance: int = 5
    confidence: float = 1.0
    pinned: bool = False
    token_count: int = 0
    bytes: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_ms: int | None = None
    valid_from_ms: int | None = None
    valid_to_ms: int | None = None
    superseded_by: str | None = None
    links: tuple[Link, ...] = ()

    @property
    def trusted(self) -> bool:
        return self.origin in TRUSTED_ORIGINS


@value
class Added(Note):
    """The note that `add` made or found; `duplicate` says which, `notice` what else the caller should know."""

    created: bool = True
    duplicate: bool = False
    notice: str = ""
    operation: str = ""


@value
class Draft:
    """A note about to be: what the caller gives, before redaction, hashing and classification."""

    content: str
    kind: str | None = None
    title: str | None = None
    context: str = ""
    source: str = ""
    origin: Origin = "user"
    session: str | None = None
    tags: Sequence[str] = ()
    importance: int = 5
    confidence: float = 1.0
    pinned: bool = False
    tier: Tier = "episodic"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_ms: int | None = None
    valid_from_ms: int | None = None
    valid_to_ms: int | None = None
    links: Sequence[Link] = ()
    created_ms: int | None = None
    updated_ms: int | None = None
    state: State = "live"
    superseded_by: str | None = None
    uid: str | None = None
    space: str | None = None
    vector: Any = None


@value
class Space:
    """Where notes live and who may see them: a project, the user, a team."""

    id: int
    uid: str
    name: str
    kind: str
    created_ms: int
    merged_into: int | None = None
    aliases: tuple[tuple[str, str], ...] = ()


@value
class Session:
    uid: str
    space: str
    agent: str
    key: str
    started_ms: int
    seen_ms: int
    id: int = 0
    ended_ms: int | None = None
    title: str = ""
    summary: str = ""
    source: str = ""
    turns: int = 0


@value
class Turn:
    """What one speaker said in a session; unique by (session, record), never by content."""

    speaker: str
    text: str
    at_ms: int = 0
    record: str = ""
    origin: Origin = "user"
    id: int = 0
    session: str = ""
    position: int = 0
    line: int | None = None
    content_hash: str = ""
    space: str = ""


@value
class Event:
    """One text-free row per change; `seq` rises within a space, `hash` chains it to the row before."""

    space: str
    seq: int
    operation: str
    verb: str
    uid: str
    rev: int
    actor: str
    at_ms: int
    digest: str
    hash: str


@value
class Revision:
    """The image of a note before a change; `salt` opens the digest of the event that had made it."""

    uid: str
    rev: int
    operation: str
    at_ms: int
    image: Mapping[str, Any]
    salt: bytes
    moved_from: str | None = None


@value
class ChunkDraft:
    """A searchable slice about to be stored; `context` is embedded and indexed with it but not shown."""

    content: str
    terms: str
    context: str = ""
    context_terms: str = ""
    start_line: int | None = None
    end_line: int | None = None
    hash: str = ""
    vector: Any = None


@value
class Chunk:
    """A searchable slice with the place it came from; exactly one of note, turn and file owns it."""

    id: int
    space: str
    owner: Literal["note", "turn", "file"]
    owner_id: int
    idx: int
    content: str
    context: str
    terms: str
    context_terms: str
    trusted: bool
    created_ms: int
    session: int | None = None
    position: int | None = None
    speaker: str = ""
    file_path: str = ""
    start_line: int | None = None
    end_line: int | None = None
    uid: str = ""
    importance: int = 5
    hash: str = ""


@value
class Filter:
    """What a read may see; `spaces` (ids) is never empty and goes into every lane."""

    spaces: tuple[int, ...]
    now_ms: int
    kinds: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    min_importance: int | None = None
    min_confidence: float | None = None
    sources: tuple[str, ...] = ()
    session: str | None = None
    trusted_only: bool = False
    states: tuple[State, ...] = ("live",)
    pinned: bool | None = None
    with_scratchpad: bool = True  # whether the scratchpad passes where no tier is named
    owners: tuple[Literal["note", "turn", "file"], ...] = ("note", "turn", "file")
    as_of_ms: int | None = None  # only what was true then; whether hidden notes count, `states` says

    @property
    def notes_only(self) -> bool:
        """Turns and files have no kind, tier, tags or importance: filtering on one leaves notes alone."""
        return bool(
            self.kinds or self.tiers or self.tags or self.sources or self.pinned is not None
            or self.min_importance is not None or self.min_confidence is not None
        )  # fmt: skip


@value
class Hit:
    """One answer row: compact on purpose; `get` has the full text."""

    id: str
    uid: str
    title: str
    kind: str
    score: float
    created_ms: int
    matched_by: tuple[str, ...]
    space: str
    snippet: str
    origin: str = "user"
    trusted: bool = True
    session: str | None = None
    speaker: str = ""
    path: str = ""
    lines: tuple[int, int] | None = None
    why: str = ""
    explain: Mapping[str, Any] = field(default_factory=dict)


@value
class Answer(Sequence[Hit]):
    """The hits of one search, and what really ran to find them."""

    hits: tuple[Hit, ...]
    mode: str
    query: str
    notices: tuple[str, ...] = ()
    pending: int = 0

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: Any) -> Any:
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@value
class Moment:
    """A timeline entry and where it stands to the anchor: a note, a turn, or the start or end of a session."""

    note: Note | None
    position: Literal["before", "anchor", "after"]
    distance: int
    what: Literal["note", "turn", "start", "end"] = "note"
    turn: Turn | None = None
    session: Session | None = None

    @property
    def id(self) -> int | str:
        """A note's number, `t17` for a turn, a session's uid."""
        if self.turn is not None:
            return f"t{self.turn.id}"
        return self.note.id if self.note is not None else self.session.uid if self.session is not None else ""

    @property
    def at_ms(self) -> int:
        if self.turn is not None:
            return self.turn.at_ms
        if self.note is not None:
            return self.note.created_ms
        session = self.session
        return 0 if session is None else session.started_ms if self.what == "start" else session.ended_ms or 0

    @property
    def kind(self) -> str:
        return self.note.kind if self.note is not None else self.what

    @property
    def title(self) -> str:
        if self.turn is not None:
            return " ".join(f"{self.turn.speaker}: {self.turn.text[:200]}".split())[:80]
        if self.note is not None:
            return self.note.title
        name = "" if self.session is None else self.session.title or self.session.key
        return f"session {'began' if self.what == 'start' else 'ended'}: {name}"


@value
class Finding:
    """One thing that doctor looked at."""

    check: str
    ok: bool
    detail: str
    hint: str = ""
    fixable: bool = False


@value
class Tool:
    """Something that can be called. `parameters` are names with their descriptions; all of it is untrusted text."""

    name: str
    description: str = ""
    server: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@value
class ToolHit:
    """A tool in an answer: its score, 0 to 1, and the pieces of evidence behind it."""

    tool: Tool
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)


@value
class Pair:
    """What was learned: for this query that tool was used. `vector` is the query's, float64, of `model`.

    `confidence` is 0 to 1.5. `hashed` means that `query` is a digest, kept instead of the words.
    """

    id: str
    server: str
    tool: str
    query: str
    confidence: float
    uses: int = 0
    failures: int = 0
    hashed: bool = False
    model: str = ""
    vector: bytes = b""
    created_ms: int = 0
    last_used_ms: int = 0
    space: str = ""
