"""The tools that an agent meets by default: three layers to read, three verbs to write, and numbers.

Each is one call of Memory. Deleting asks the person first where the client can ask; elsewhere it goes ahead, because
nothing is lost: restore brings notes back.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, Resolve
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import BaseModel, Field

from recollect.errors import NotFound
from recollect.ids import parse_ref
from recollect.interfaces import answers
from recollect.interfaces.cli.words import moment_ms, since_until, validity
from recollect.interfaces.mcp import shapes
from recollect.interfaces.mcp.shapes import Changed, Cleaned, Deleted, Found, Got, Remembered, Stats, Timeline
from recollect.memory import Memory
from recollect.types import Note, Origin
from recollect.upkeep.cleanup import Cleaned as Planned
from recollect.values import value

MOST_AT_ONCE = 50

Id = Annotated[int | str, Field(description="A note's number or uid, as search gives it.")]
When = Annotated[
    str | None,
    Field(description="2026-01-31, 2026-01-31T10:00Z, 12h, 30d, or words: last Tuesday, in March, before the release."),
]
Then = Annotated[
    str | None, Field(description="Only what was true then (words as in since), although superseded by now.")
]


class Confirm(BaseModel):
    confirm: bool = Field(default=True, title="Go ahead")


@value
class Spec:
    """One tool: what it is called, what it does, and what a host may expect of it."""

    name: str
    title: str
    call: Callable[..., Any]
    annotations: ToolAnnotations
    description: str


def spec(
    name: str, title: str, call: Callable[..., Any], description: str, *, reads: bool = False, destroys: bool = False,
    idempotent: bool = False,
) -> Spec:  # fmt: skip
    hints = ToolAnnotations(
        title=title, read_only_hint=reads, destructive_hint=destroys, idempotent_hint=idempotent or reads,
        open_world_hint=False,
    )  # fmt: skip
    return Spec(name, title, call, hints, description)


def default_tools(memory: Callable[[], Memory]) -> list[Spec]:
    tools = MemoryTools(memory)
    return [
        spec("memory_search", "Search memory", tools.search, (
            "Find what was remembered, by keyword and meaning. Returns compact rows; read a whole text with memory_get."
            " Search before asking the user for something they may have told before."), reads=True),
        spec("memory_timeline", "Timeline around a note", tools.timeline,
             "What happened just before and after a note or turn: notes, turns, sessions; oldest first.", reads=True),
        spec("memory_get", "Read whole notes", tools.get,
             "Whole notes by number or uid; also turns (t17) and passages (c17) that a search named.", reads=True),
        spec("memory_add", "Remember", tools.add, (
            "Remember a decision, fact, preference, fix or lesson, in one self-contained text. A text that is already"
            " remembered gives that note back."), idempotent=True),
        spec("memory_update", "Change a note", tools.update,
             "Change fields of a note; what is not given stays. The old text stays in its history."),
        spec("memory_delete", "Delete notes", tools.delete,
             "Hide notes from search. They can be restored with `recollect restore`.", destroys=True, idempotent=True),
        spec("memory_stats", "Memory statistics", tools.stats, "How much is remembered, and where.", reads=True),
        spec("memory_cleanup", "Clean up memory", tools.cleanup, (
            "Bring memory back within its bounds: evicts the least used notes when there are too many, and removes what"
            " is past its time. Decisions and pinned notes stay; `recollect undo` takes evictions back."),
            destroys=True, idempotent=True),
    ]  # fmt: skip


class MemoryTools:
    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    def search(
        self,
        query: Annotated[str, Field(description="What to look for: a question or keywords.")],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        mode: Literal["hybrid", "keyword", "vector"] = "hybrid",
        kinds: Annotated[list[str], Field(description="Only these kinds of note, such as decision or bugfix.")] = [],  # noqa: B006
        tags: Annotated[list[str], Field(description="Only notes with one of these tags.")] = [],  # noqa: B006
        since: When = None,
        until: When = None,
        as_of: Then = None,
        session: Annotated[str | None, Field(description="Only this session, by its uid.")] = None,
        min_score: Annotated[float | None, Field(ge=0, le=1, description="Leave weaker hits out.")] = None,
        trusted_only: Annotated[bool, Field(description="Leave out what came from tools, the web or files.")] = False,
    ) -> Annotated[CallToolResult, Found]:
        filters: dict[str, Any] = {"kinds": kinds, "tags": tags, "session": session, "trusted_only": trusted_only}
        filters |= since_until(since, until, as_of)
        return shapes.found(self._memory().search(query, limit=limit, mode=mode, min_score=min_score, **filters))

    def timeline(
        self,
        id: Id,
        before: Annotated[int, Field(ge=0, le=50)] = 5,
        after: Annotated[int, Field(ge=0, le=50)] = 5,
    ) -> Annotated[CallToolResult, Timeline]:
        return shapes.timeline(self._memory().timeline(id, before=before, after=after))

    def get(
        self,
        ids: Annotated[list[int | str], Field(min_length=1, max_length=MOST_AT_ONCE)],
        max_chars: Annotated[int, Field(ge=200, le=1_000_000, description="Longest text of each.")] = 20_000,
        as_of: Annotated[str | None, Field(description="Notes as they were then: a date or words.")] = None,
    ) -> Annotated[CallToolResult, Got]:
        memory = self._memory()
        items, missing = [], []
        for ref in ids:
            try:
                note = parse_ref(ref).what == "note"
                items.append(memory.get(ref, as_of=as_of) if note else memory.passage(str(ref)))
            except NotFound:
                missing.append(str(ref))
        if not items:
            raise NotFound(f"nothing with the id {', '.join(missing)}", hint="memory_search gives ids")
        return shapes.got(items, missing, max_chars)

    def add(
        self,
        content: Annotated[str, Field(description="The text to remember, understandable on its own.")],
        kind: Annotated[
            str | None, Field(description="fact, decision, preference, bugfix, …; else the text decides.")
        ] = None,
        title: str | None = None,
        tags: list[str] = [],  # noqa: B006
        importance: Annotated[int, Field(ge=1, le=10)] = 5,
        confidence: Annotated[float, Field(ge=0, le=1)] = 1.0,
        context: Annotated[str, Field(description="What it was about; helps to find it.")] = "",
        source: Annotated[str, Field(description="Where it comes from: a link, a file, a person.")] = "",
        origin: Annotated[Origin, Field(description="Who said it; web, tool and file are not trusted.")] = "agent",
        session: str | None = None,
        pinned: bool = False,
        expires: Annotated[str | None, Field(description="When to forget it: 2026-12-31, or 12h, 30d, 2w.")] = None,
        valid_from: Annotated[str | None, Field(description="Since when it is true, if not since now: a date.")] = None,
        valid_to: Annotated[str | None, Field(description="Until when it is true: a date.")] = None,
    ) -> Annotated[CallToolResult, Remembered]:
        added = self._memory().add(
            content, kind=kind, title=title, tags=tags, importance=importance, confidence=confidence, context=context,
            source=source, origin=origin, session=session, pinned=pinned,
            expires_ms=None if expires is None else moment_ms(expires, ahead=True), **validity(valid_from, valid_to),
        )  # fmt: skip
        verb = "already remembered" if added.duplicate else "remembered"
        lines = [f"{verb} as #{added.id} ({added.kind}) in {added.space}", added.notice]
        return shapes.result("\n".join(filter(None, lines)), answers.added_json(added))

    def update(
        self,
        id: Id,
        content: str | None = None,
        kind: str | None = None,
        title: str | None = None,
        tags: list[str] | None = None,
        importance: Annotated[int | None, Field(ge=1, le=10)] = None,
        confidence: Annotated[float | None, Field(ge=0, le=1)] = None,
        context: str | None = None,
        source: str | None = None,
        pinned: bool | None = None,
        expires: Annotated[str | None, Field(description="2026-12-31, or 12h, 30d, 2w; never takes it off.")] = None,
        expected_rev: Annotated[int | None, Field(description="Change it only if this is still its revision.")] = None,
    ) -> Annotated[CallToolResult, Changed]:
        given = {
            "content": content, "kind": kind, "title": title, "tags": tags, "importance": importance,
            "confidence": confidence, "context": context, "source": source, "pinned": pinned,
        }  # fmt: skip
        fields: dict[str, Any] = {name: field for name, field in given.items() if field is not None}
        if expires is not None:
            fields["expires_ms"] = None if expires.strip() == "never" else moment_ms(expires, ahead=True)
        note = self._memory().update(id, expected_rev=expected_rev, **fields)
        changed = answers.brief_json(note) | {"rev": note.rev}
        return shapes.result(f"changed #{note.id}, now revision {note.rev}", changed)

    @property
    def delete(self) -> Callable[..., CallToolResult]:
        """Made here, because its question has to see the notes of this very Memory."""

        def confirmation(ids: list[int | str], ctx: Context[Any, Any]) -> Any:
            if not can_ask(ctx):
                return Confirm()
            return Elicit(question(_notes(self._memory(), ids)), Confirm)

        def delete(
            ids: Annotated[list[int | str], Field(min_length=1, max_length=MOST_AT_ONCE)],
            ctx: Context[Any, Any],
            answer: Annotated[ElicitationResult[Confirm], Resolve(confirmation)],
        ) -> Annotated[CallToolResult, Deleted]:
            memory = self._memory()
            if not isinstance(answer, AcceptedElicitation) or not answer.data.confirm:
                return shapes.result("nothing was deleted: the person said no", {"deleted": [], "confirmed": False})
            deleted = [note.id for note in memory.delete_many(_notes(memory, ids))]
            numbers = ", ".join(f"#{number}" for number in deleted)
            text = f"deleted {_count(deleted)}: {numbers}; `recollect restore` brings notes back"
            return shapes.result(text, {"deleted": deleted, "confirmed": can_ask(ctx)})

        return delete

    @property
    def cleanup(self) -> Callable[..., CallToolResult]:
        """Made here, because its question has to know what would go."""

        def confirmation(force: bool, dry_run: bool, ctx: Context[Any, Any]) -> Any:
            planned = None if dry_run or not can_ask(ctx) else self._memory().cleanup(force=force, dry_run=True)
            return Elicit(what_goes(planned), Confirm) if planned is not None and planned.anything else Confirm()

        def cleanup(
            answer: Annotated[ElicitationResult[Confirm], Resolve(confirmation)],
            force: Annotated[bool, Field(description="Evict down to 85 % although no bound was passed.")] = False,
            dry_run: Annotated[bool, Field(description="Only say what would go.")] = False,
        ) -> Annotated[CallToolResult, Cleaned]:
            refused = not isinstance(answer, AcceptedElicitation) or not answer.data.confirm
            done = self._memory().cleanup(force=force, dry_run=dry_run or refused)
            numbers = answers.plain(done) | {"confirmed": not refused}
            if refused:
                return shapes.result("nothing was removed: the person said no", numbers)
            return shapes.result(f"{'would evict' if dry_run else 'evicted'} {_many(done.evicted)}", numbers)

        return cleanup

    def stats(self) -> Annotated[CallToolResult, Stats]:
        memory = self._memory()
        numbers = answers.stats_json(memory.stats())
        try:
            numbers["space"] = memory.space
        except NotFound:  # nothing was written here yet
            numbers["space"] = None
        text = f"{numbers['notes']} notes, {numbers.get('sessions', 0)} sessions, {numbers.get('turns', 0)} turns"
        return shapes.result(text, numbers)


def can_ask(ctx: Context[Any, Any]) -> bool:
    """Whether the client shows forms to its person; a bare `elicitation` capability means forms."""
    capabilities = ctx.client_capabilities
    asked = capabilities.elicitation if capabilities is not None else None
    return asked is not None and (asked.form is not None or asked.url is None)


def what_goes(planned: Planned) -> str:
    """The question before a clean-up, with exact counts."""
    parts = [f"{_many(planned.evicted)} evicted, {planned.freed_bytes:,} bytes"]
    parts += [f"{count} {what}" for count, what in (
        (planned.expired, "expired"), (planned.purged, "hidden long ago and removed for good"),
        (planned.revisions, "old versions removed"), (planned.events, "old events removed"),
    ) if count]  # fmt: skip
    return f"Shall memory be cleaned up? {'; '.join(parts)}. Evictions can be undone."


def question(notes: Sequence[Note]) -> str:
    shown = "\n".join(f"#{note.id} {shapes.clipped(note.title, 25)}" for note in notes[:10])
    more = f"\n… and {len(notes) - 10} more" if len(notes) > 10 else ""
    return f"Shall {_count(notes)} be deleted? They can be restored.\n{shown}{more}"


def _notes(memory: Memory, ids: Sequence[int | str]) -> list[Note]:
    """The notes to delete; an id that names none stops everything before anything is deleted."""
    found = {note.uid: note for note in map(memory.get, ids)}
    gone = [note for note in found.values() if note.state == "deleted"]
    if gone:
        raise NotFound(f"note {gone[0].id} is already deleted", hint="leave it out")
    return list(found.values())


def _count(items: Sequence[object]) -> str:
    return _many(len(items))


def _many(count: int) -> str:
    return f"{count} note{'' if count == 1 else 's'}"
