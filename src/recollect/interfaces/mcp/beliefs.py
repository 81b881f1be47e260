"""The tools of the `beliefs` profile: what is true now, what was, and what says the same or the opposite."""

from collections.abc import Callable
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from recollect.beliefs import is_id
from recollect.fence import NOTICE, Fence
from recollect.interfaces import answers
from recollect.interfaces.mcp import shapes
from recollect.interfaces.mcp.tools import Id, Spec, spec
from recollect.memory import Memory
from recollect.types import Note


class Believed(shapes.Open):
    id: int
    uid: str
    confidence: float
    rev: int


class Replaced(shapes.Open):
    old: int
    new: int
    operation: str
    notice: str = ""


class Candidate(shapes.Open):
    older: int
    newer: int
    score: float
    subject: str
    was: str
    now: str
    reasons: list[str]


class Candidates(shapes.Open):
    contradictions: list[Candidate]
    notice: str = ""


class Group(shapes.Open):
    keep: int
    others: list[int]
    scores: list[float]
    by: str


class Groups(shapes.Open):
    groups: list[Group]
    merged: bool
    operation: str = ""
    notice: str = ""


class Gathering(shapes.Open):
    gathered: int
    made: list[int]
    hidden: int
    dry_run: bool
    operation: str = ""
    notice: str = ""


def belief_tools(memory: Callable[[], Memory]) -> list[Spec]:
    tools = BeliefTools(memory)
    return [
        spec("memory_contradictions", "List contradictions", tools.contradictions, (
            "Notes that say different things of the same, the surest first. Candidates only: decide each with"
            " memory_supersede, or leave it. Call it with the id of a note that you just added."), reads=True),
        spec("memory_supersede", "Supersede a note", tools.supersede, (
            "Let a note, or a new text, take the place of a note that is no longer true. The old one stays, hidden, and"
            " is found with as_of."), destroys=False),
        spec("memory_reinforce", "Confirm a note", tools.reinforce,
             "Say that something remembered was confirmed: its confidence rises."),
        spec("memory_contradict", "Doubt a note", tools.contradict,
             "Say that something speaks against a note, without putting another in its place: its confidence falls."),
        spec("memory_duplicates", "Find and merge duplicates", tools.duplicates, (
            "Notes that say the same; with merge the richest stays and supersedes the others. `recollect undo` takes it"
            " back.")),
        spec("memory_consolidate", "Consolidate old notes", tools.consolidate, (
            "Gather old notes on one subject, or old sessions, in one note each, with links to the sources, which"
            " stay.")),
    ]  # fmt: skip


class BeliefTools:
    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    def contradictions(
        self,
        id: Annotated[int | str | None, Field(description="Only those of this note.")] = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        min_score: Annotated[float, Field(ge=0, le=1)] = 0.5,
    ) -> Annotated[CallToolResult, Candidates]:
        beliefs = self._memory().beliefs
        found = beliefs.contradictions(id, limit=limit, min_score=min_score)
        rows = [
            {"older": one.older.id, "newer": one.newer.id, "score": one.score,
             "subject": shapes.clipped(one.subject, 20), "was": shapes.clipped(one.was, 30),
             "now": shapes.clipped(one.now, 30), "reasons": [shapes.clipped(reason, 40) for reason in one.reasons]}
            for one in found
        ]  # fmt: skip
        fence = Fence()
        lines = [
            fence(shapes.clipped(f"{one.older.content} → {one.newer.content}", 80), older=one.older.id,
                  newer=one.newer.id, score=f"{one.score:.2f}",
                  trusted=one.older.trusted and one.newer.trusted)
            for one in found
        ]  # fmt: skip
        text = "\n".join([NOTICE, *lines]) if lines else "no contradictions found"
        return shapes.result(text, {"contradictions": rows, "notice": beliefs.notice})

    def supersede(
        self,
        old: Id,
        new: Annotated[int | str, Field(description="The note that is true now, by its id; or the text that is.")],
        at: Annotated[str | None, Field(description="Since when it is true: 2026-03-01, last Tuesday.")] = None,
    ) -> Annotated[CallToolResult, Replaced]:
        memory = self._memory()
        text = isinstance(new, str) and not is_id(new)
        more: dict[str, Any] = {"origin": "agent"} if text else {}
        done = memory.beliefs.supersede(old, new, at=at, **more)
        value = {"old": done.old.id, "new": done.new.id, "operation": done.operation, "notice": done.notice}
        said = f"#{done.new.id} supersedes #{done.old.id}"
        return shapes.result("\n".join(filter(None, [said, done.notice])), value)

    def reinforce(self, id: Id, times: Annotated[int, Field(ge=1, le=100)] = 1) -> Annotated[CallToolResult, Believed]:
        return _believed(self._memory().beliefs.reinforce(id, times))

    def contradict(
        self,
        id: Id,
        times: Annotated[int, Field(ge=1, le=100)] = 1,
        by: Annotated[int | str | None, Field(description="The note that speaks against it.")] = None,
    ) -> Annotated[CallToolResult, Believed]:
        return _believed(self._memory().beliefs.contradict(id, times, by=by))

    def duplicates(
        self,
        merge: Annotated[bool, Field(description="Merge them; otherwise they are only shown.")] = False,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> Annotated[CallToolResult, Groups]:
        beliefs = self._memory().beliefs
        done = beliefs.merge_duplicates(limit=limit, dry_run=not merge)
        rows = [
            {"keep": group.keep.id, "others": [note.id for note in group.others], "scores": list(group.scores),
             "by": group.by}
            for group in done.groups
        ]  # fmt: skip
        fence = Fence()
        lines = [
            fence(shapes.clipped(note.content, 40), id=note.id, like=group.keep.id, trusted=note.trusted)
            for group in done.groups
            for note in (group.keep, *group.others)
        ]
        text = "\n".join([NOTICE, *lines]) if lines else "no duplicates found"
        value = {"groups": rows, "merged": merge, "operation": done.operation, "notice": beliefs.notice}
        return shapes.result(text, value)

    def consolidate(
        self,
        dry_run: Annotated[bool, Field(description="Only say what would be made.")] = False,
        sessions: Annotated[bool, Field(description="Old sessions instead of notes.")] = False,
        older_than_days: Annotated[float | None, Field(ge=0, description="7 for notes, 30 for sessions.")] = None,
    ) -> Annotated[CallToolResult, Gathering]:
        done = self._memory().consolidate(sessions=sessions, older_than_days=older_than_days, dry_run=dry_run)
        value: dict[str, Any] = {
            "gathered": len(done.gathered), "made": [note.id for note in done.made], "hidden": done.hidden,
            "dry_run": dry_run, "operation": done.operation, "notice": done.notice,
        }  # fmt: skip
        fence = Fence()
        lines = [fence(shapes.clipped(one.draft.content, 80), notes=len(one.notes)) for one in done.gathered]
        return shapes.result("\n".join([NOTICE, *lines]) if lines else "nothing to gather", value)


def _believed(note: Note) -> CallToolResult:
    value = answers.brief_json(note) | {"rev": note.rev, "confidence": note.confidence}
    return shapes.result(f"#{note.id} has a confidence of {note.confidence:g}", value)
