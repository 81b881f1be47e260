"""The `rulebook` profile: the six `rulebook_memory_*` tools with their own names, fields, defaults and seven kinds.

Answers are JSON, in text and as structured content; ids are uids; a failure is `success: false` with its reason.
"""

import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from recollect.errors import RecollectError, StoreUnavailable
from recollect.fence import harmless
from recollect.interfaces import answers
from recollect.interfaces.mcp.shapes import Open
from recollect.interfaces.mcp.tools import Spec, spec
from recollect.memory import Memory
from recollect.types import Note

Kind = Literal["bugfix", "feature", "refactor", "decision", "discovery", "change", "observation"]
KINDS: tuple[str, ...] = ("bugfix", "feature", "refactor", "decision", "discovery", "change", "observation")
_MODES = {"bm25": "keyword", "vector": "vector", "hybrid": "hybrid"}
DISABLED = "Memory system is not enabled. Set memory.enabled=true in the settings (RECOLLECT_OFF is set)."


class Success(Open):
    success: bool


class Results(Success):
    results: list[dict[str, Any]]
    total: int


class TimelineOf(Success):
    timeline: list[dict[str, Any]]


class Memories(Success):
    memories: list[dict[str, Any]]


class Saved(Success):
    memory: dict[str, Any]


def tools(memory: Callable[[], Memory]) -> list[Spec]:
    verbs = RulebookTools(memory)
    return [
        spec("rulebook_memory_search", "Search memories", verbs.search,
             "Search memories; returns compact rows. Use get for full details.", reads=True),
        spec("rulebook_memory_timeline", "Memory timeline", verbs.timeline,
             "Chronological context around a memory.", reads=True),
        spec("rulebook_memory_get", "Get memories", verbs.get, "Full details of memories by id.", reads=True),
        spec("rulebook_memory_save", "Save memory", verbs.save, "Save a memory.", idempotent=True),
        spec("rulebook_memory_stats", "Memory statistics", verbs.stats, "Numbers and health of memory.", reads=True),
        spec("rulebook_memory_cleanup", "Clean up memories", verbs.cleanup,
             "Evict old memories; decisions and the active session stay.", destroys=True, idempotent=True),
    ]  # fmt: skip


class RulebookTools:
    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._late = memory

    def _memory(self) -> Memory:
        if os.environ.get("RECOLLECT_OFF", "") not in ("", "0"):
            raise StoreUnavailable(DISABLED)
        return self._late()

    def search(
        self,
        query: str,
        limit: Annotated[int, Field(ge=1, le=1000)] = 20,
        mode: Literal["bm25", "vector", "hybrid"] = "hybrid",
        type: Kind | None = None,
    ) -> Annotated[CallToolResult, Results]:
        kinds = [type] if type else list(KINDS)
        answer = self._memory().search(query, limit=limit, mode=_MODES[mode], fusion="rrf", kinds=kinds)
        rows = [
            {"id": hit.uid, "title": harmless(hit.title), "type": hit.kind, "score": round(hit.score, 4),
             "matchType": match_type(hit.matched_by), "createdAt": hit.created_ms}
            for hit in answer
        ]  # fmt: skip
        return reply({"success": True, "results": rows, "total": len(rows)})

    def timeline(
        self,
        memoryId: str,  # noqa: N803
        window: Annotated[int, Field(ge=0, le=1000)] = 5,
    ) -> Annotated[CallToolResult, TimelineOf]:
        moments = self._memory().timeline(memoryId, before=window, after=window, notes_only=True)
        rows = [
            {"id": moment.note.uid, "title": harmless(moment.note.title), "type": moment.note.kind,
             "createdAt": moment.note.created_ms, "position": moment.position,
             "distanceFromAnchor": abs(moment.distance)}
            for moment in moments if moment.note is not None
        ]  # fmt: skip
        return reply({"success": True, "timeline": rows})

    def get(self, ids: list[str]) -> Annotated[CallToolResult, Memories]:
        memory = self._memory()
        return reply({"success": True, "memories": [full(memory.get(uid)) for uid in ids]})

    def save(
        self,
        type: Kind,
        title: str,
        content: str,
        tags: list[str] = [],  # noqa: B006
    ) -> Annotated[CallToolResult, Saved]:
        added = self._memory().add(content, kind=type, title=title, tags=tags, origin="agent")
        return reply({"success": True, "memory": {"id": added.uid, "type": added.kind, "title": harmless(added.title)}})

    def stats(self) -> Annotated[CallToolResult, Success]:
        return reply({"success": True} | numbers(self._memory()))

    def cleanup(self, force: bool = False) -> Annotated[CallToolResult, Success]:
        done = self._memory().cleanup(force=force)
        return reply({"success": True, "evictedCount": done.evicted, "freedBytes": done.freed_bytes})


def match_type(lanes: tuple[str, ...]) -> str:
    return "both" if len(lanes) > 1 else "vector" if lanes == ("vector",) else "bm25"


def full(note: Note) -> dict[str, Any]:
    return {
        "id": note.uid, "type": note.kind, "title": harmless(note.title), "content": harmless(note.content),
        "project": note.space, "tags": list(note.tags), "sessionId": note.session, "createdAt": note.created_ms,
        "updatedAt": note.updated_ms,
    }  # fmt: skip


def numbers(memory: Memory) -> dict[str, Any]:
    stats = memory.stats()
    size, most = int(stats.get("bytes") or 0), memory.settings.max_bytes
    return {
        "dbSizeBytes": size, "memoryCount": stats["notes"], "sessionCount": stats.get("sessions", 0),
        "oldestMemory": stats.get("oldest_ms"), "newestMemory": stats.get("newest_ms"), "maxSizeBytes": most,
        "usagePercent": round(100 * size / most, 2), "indexHealth": "degraded" if stats.get("pending") else "good",
    }  # fmt: skip


def reply(value: Mapping[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=answers.dumps(value))], structured_content=dict(value))


def refusal(error: RecollectError) -> CallToolResult:
    value = {"success": False, "error": f"{error.message} ({error.hint})" if error.hint else error.message}
    value |= {"code": error.code}
    return CallToolResult(content=[TextContent(type="text", text=answers.dumps(value))], is_error=True)
