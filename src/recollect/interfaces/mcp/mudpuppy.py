"""The `mudpuppy` profile: five `memory_*` tools with camelCase fields, six entry types and weighted fusion.

Vector counts 0.7 and keyword 0.3; an entry is a `fact` from `manual` unless said otherwise; a failure is an `error`
beside empty results.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from recollect.errors import NotFound, RecollectError
from recollect.fence import harmless
from recollect.interfaces import answers
from recollect.interfaces.mcp.rulebook import reply
from recollect.interfaces.mcp.shapes import Open
from recollect.interfaces.mcp.tools import Spec, spec
from recollect.memory import Memory
from recollect.types import Note

EntryType = Literal["fact", "preference", "event", "insight", "task", "relationship"]
WEIGHTS = (0.7, 0.3)


class AddedEntry(Open):
    id: int
    created: bool
    duplicate: bool


class Entries(Open):
    results: list[dict[str, Any]]
    total: int


class Entry(Open):
    id: int
    content: str


class Gone(Open):
    success: bool
    deleted: bool


class Totals(Open):
    totalEntries: int  # noqa: N815


def tools(memory: Callable[[], Memory]) -> list[Spec]:
    verbs = EntryTools(memory)
    return [
        spec("memory_add", "Add memory", verbs.add, "Store a memory entry.", idempotent=True),
        spec("memory_search", "Search memory", verbs.search, "Search memory entries.", reads=True),
        spec("memory_get", "Get memory", verbs.get, "A memory entry by its id.", reads=True),
        spec("memory_stats", "Memory statistics", verbs.stats, "Numbers of the memory.", reads=True),
        spec("memory_delete", "Delete memory", verbs.delete, "Delete a memory entry.", destroys=True, idempotent=True),
    ]


class EntryTools:
    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    def add(
        self,
        content: str,
        entryType: EntryType = "fact",  # noqa: N803
        source: str = "manual",
        context: str = "",
        confidence: Annotated[float, Field(ge=0, le=1)] = 1.0,
        importance: Annotated[int, Field(ge=1, le=10)] = 5,
        tags: list[str] = [],  # noqa: B006
        expiresAt: Annotated[int | None, Field(description="Milliseconds since 1970.")] = None,  # noqa: N803
    ) -> Annotated[CallToolResult, AddedEntry]:
        added = self._memory().add(
            content, kind=entryType, source=source, context=context, confidence=confidence, importance=importance,
            tags=tags, expires_ms=expiresAt, origin="agent",
        )  # fmt: skip
        return reply({"id": added.id, "created": added.created, "duplicate": added.duplicate})

    def search(
        self,
        query: str,
        mode: Literal["hybrid", "vector", "keyword"] = "hybrid",
        limit: Annotated[int, Field(ge=1, le=1000)] = 10,
        entryTypes: list[EntryType] = [],  # noqa: B006, N803
        minImportance: Annotated[int | None, Field(ge=1, le=10)] = None,  # noqa: N803
        minConfidence: Annotated[float | None, Field(ge=0, le=1)] = None,  # noqa: N803
        tags: list[str] = [],  # noqa: B006
    ) -> Annotated[CallToolResult, Entries]:
        memory = self._memory()
        answer = memory.search(
            query, limit=limit, mode=mode, fusion="weighted", weights=WEIGHTS, kinds=entryTypes, tags=tags,
            min_importance=minImportance, min_confidence=minConfidence, owners="note",
        )  # fmt: skip
        rows = [
            entry(memory.get(hit.id)) | {"score": round(hit.score, 3), "matchedBy": list(hit.matched_by)}
            for hit in answer
        ]
        return reply({"results": rows, "total": len(rows)})

    def get(self, id: int) -> Annotated[CallToolResult, Entry]:
        return reply(entry(self._note(id)))

    def delete(self, id: int) -> Annotated[CallToolResult, Gone]:
        try:
            self._memory().delete(id)
        except NotFound:
            return reply({"success": True, "deleted": False})
        return reply({"success": True, "deleted": True})

    def stats(self) -> Annotated[CallToolResult, Totals]:
        stats = self._memory().stats()
        return reply(
            {"totalEntries": stats["notes"], "byType": dict(stats.get("kinds") or {}),
             "avgImportance": stats.get("average_importance"), "avgConfidence": stats.get("average_confidence"),
             "totalAccesses": stats.get("accesses", 0), "oldest": stats.get("oldest_ms"),
             "newest": stats.get("newest_ms")}
        )  # fmt: skip

    def _note(self, number: int) -> Note:
        try:
            note = self._memory().get(number)
        except NotFound:
            note = None
        if note is None or note.state != "live":
            raise NotFound(f"Memory entry not found: {number}")
        return note


def entry(note: Note) -> dict[str, Any]:
    return {
        "id": note.id, "content": harmless(note.content), "entryType": note.kind, "source": note.source,
        "context": harmless(note.context), "confidence": note.confidence, "importance": note.importance,
        "tags": list(note.tags), "createdAt": note.created_ms, "updatedAt": note.updated_ms,
        "expiresAt": note.expires_ms,
    }  # fmt: skip


def refusal(error: RecollectError) -> CallToolResult:
    message = f"{error.message} ({error.hint})" if error.hint else error.message
    value = {"error": message, "results": [], "total": 0, "code": error.code}
    return CallToolResult(content=[TextContent(type="text", text=answers.dumps(value))], is_error=True)
