"""What tools answer: the models behind the output schemas, and short texts that fence what was remembered.

Three layers, so that an agent pays for what it needs: a row of a search stays under 100 tokens, an entry of a timeline
under 200, and only `get` has whole texts.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field

from recollect.errors import RecollectError
from recollect.fence import NOTICE, Fence, harmless
from recollect.interfaces import answers
from recollect.text.chunk import estimate_tokens
from recollect.types import TRUSTED_ORIGINS, Answer, Chunk, Hit, Moment, Note, Turn

TITLE_TOKENS = 20
SNIPPET_TOKENS = 24
PREVIEW_TOKENS = 80
ERROR = "recollect/error"


class Open(BaseModel):
    """Fields may be added later; clients keep what they know."""

    model_config = ConfigDict(extra="allow")


class Row(Open):
    id: int | str = Field(description="A note's number, or t17 / c17 for a turn or passage.")
    title: str
    kind: str
    score: float = Field(description="From 0 to 1; at 0.5 a first hit is as often right as wrong.")
    created_at: str | None
    matched_by: list[str]
    origin: str
    trusted: bool


class Found(Open):
    hits: list[Row]
    mode: str = Field(description="What really ran: hybrid, keyword or vector.")
    notices: list[str] = []


class Entry(Open):
    id: int | str = Field(description="A note's number, t17 for a turn, a session's uid.")
    title: str
    kind: str
    created_at: str | None
    position: Literal["before", "anchor", "after"]
    distance: int
    origin: str
    trusted: bool
    preview: str


class Timeline(Open):
    entries: list[Entry]


class Whole(Open):
    id: int | str
    content: str
    created_at: str | None = None
    origin: str = ""
    trusted: bool = False
    truncated: bool = False


class Got(Open):
    notes: list[Whole]
    missing: list[str] = []


class Changed(Open):
    id: int
    uid: str
    kind: str
    title: str
    space: str
    rev: int


class Remembered(Changed):
    created: bool
    duplicate: bool


class Deleted(Open):
    deleted: list[int]
    confirmed: bool = Field(description="Whether somebody was asked and agreed; false when the client cannot ask.")


class Cleaned(Open):
    evicted: int
    freed_bytes: int
    dry_run: bool
    confirmed: bool


class Stats(Open):
    notes: int
    space: str | None = None


def result(text: str, value: Mapping[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=dict(value))


def refusal(error: RecollectError) -> CallToolResult:
    """An error as the agent reads it: what happened, and what to do next; programs find its parts in `_meta`.

    Structured content would have to be what the tool promises, and some clients insist on it for errors too.
    """
    hint = f"\nhint: {error.hint}" if error.hint else ""
    text = harmless(f"{error.code}: {error.message}{hint}")
    return CallToolResult(
        content=[TextContent(type="text", text=text)], is_error=True, _meta={ERROR: answers.error_json(error)}
    )


def clipped(text: str, tokens: int) -> str:
    """One line of `text` that costs at most so many tokens, as JSON counts them."""
    line = " ".join(harmless(text).split())
    if _cost(line) <= tokens:
        return line
    while line and _cost(line) >= tokens:
        line = line[: max(1, len(line) * 9 // 10)] if len(line) > 1 else ""
    return line.rstrip() + "…"


def _cost(line: str) -> int:
    return estimate_tokens(json.dumps(line, ensure_ascii=False)) - 1


# -- search ------------------------------------------------------------------------------------------------------------


def row(hit: Hit) -> dict[str, Any]:
    title = clipped(hit.title, TITLE_TOKENS)
    found = {
        "id": int(hit.id) if hit.id.isdigit() else hit.id, "title": title, "kind": hit.kind,
        "score": round(hit.score, 3), "created_at": _second(hit.created_ms), "matched_by": list(hit.matched_by),
        "origin": hit.origin, "trusted": hit.trusted,
    }  # fmt: skip
    said = clipped(hit.snippet, SNIPPET_TOKENS)
    return (
        found
        if title.rstrip("…") in said[: len(title) + 20] and len(said) <= len(title) + 3
        else found | {"snippet": said}
    )


def found(answer: Answer) -> CallToolResult:
    rows = [row(hit) for hit in answer.hits]
    value = {"hits": rows, "mode": answer.mode, "notices": list(answer.notices)}
    if not rows:
        return result("\n".join(["nothing found", *answer.notices]), value)
    fence = Fence()
    head = f"{len(rows)} found ({answer.mode}). {NOTICE} memory_get has whole texts."
    return result("\n".join([head, *(row_line(fence, each) for each in rows), *answer.notices]), value)


def row_line(fence: Fence, each: Mapping[str, Any]) -> str:
    said = each["title"] if "snippet" not in each else f"{each['title']} | {each['snippet']}"
    return fence(
        said, id=each["id"], kind=each["kind"], score=f"{each['score']:.2f}",
        date=str(each["created_at"])[:10], origin=each["origin"], trusted=each["trusted"],
    )  # fmt: skip


# -- timeline ----------------------------------------------------------------------------------------------------------


def timeline(moments: Sequence[Moment]) -> CallToolResult:
    entries = [entry(moment) for moment in moments]
    fence = Fence()
    lines = [
        fence(
            f"{each['title']} | {each['preview']}" if each["preview"] else each["title"], id=each["id"],
            at=f"{each['distance']:+d}" if each["distance"] else "anchor", kind=each["kind"], date=each["created_at"],
            origin=each["origin"], trusted=each["trusted"],
        )
        for each in entries
    ]  # fmt: skip
    return result("\n".join([NOTICE, *lines]), {"entries": entries})


def entry(moment: Moment) -> dict[str, Any]:
    said = moment.note or moment.turn
    origin = said.origin if said is not None else "agent"
    text = clipped(_cut(said), PREVIEW_TOKENS) if said is not None else ""
    title = clipped(moment.title, TITLE_TOKENS)
    return {
        "id": moment.id, "title": title, "kind": moment.kind, "created_at": _second(moment.at_ms),
        "position": moment.position, "distance": moment.distance, "origin": origin,
        "trusted": origin in TRUSTED_ORIGINS, "preview": "" if text == title else text,
    }  # fmt: skip


# -- whole texts -------------------------------------------------------------------------------------------------------


def got(items: Sequence[Note | Turn | Chunk], missing: Sequence[str], max_chars: int) -> CallToolResult:
    fence = Fence()
    wholes = [whole(item, max_chars) for item in items]
    lines = [
        fence(
            _cut(item)[:max_chars], id=each["id"], kind=each.get("kind"), date=each["created_at"],
            origin=each["origin"], trusted=each["trusted"], truncated=each["truncated"] or None,
        )
        for item, each in zip(items, wholes, strict=True)
    ]  # fmt: skip
    lost = [f"not found: {harmless(', '.join(missing))}"] if missing else []
    return result("\n".join([NOTICE, *lines, *lost]), {"notes": wholes, "missing": list(missing)})


def whole(item: Note | Turn | Chunk, max_chars: int) -> dict[str, Any]:
    """Every field of it, the text cut where it is too long to be useful at once."""
    if isinstance(item, Note):
        value = answers.note_json(item) | {"trusted": item.trusted}
    elif isinstance(item, Turn):
        value = answers.plain(item) | {"id": f"t{item.id}", "content": item.text, "created_at": answers.iso(item.at_ms)}
        value = {name: part for name, part in value.items() if name != "text"}
        value |= {"trusted": item.origin in ("user", "agent"), "kind": "turn"}
    else:
        value = answers.plain(item) | {"id": f"c{item.id}", "origin": item.owner, "kind": "passage"}
        value = {name: part for name, part in value.items() if name not in ("terms", "context_terms")}
    text = _cut(item)
    value["content"] = harmless(text[:max_chars])
    value["truncated"] = len(text) > max_chars
    return value | ({"chars": len(text)} if value["truncated"] else {})


def _cut(item: Note | Turn | Chunk) -> str:
    return item.text if isinstance(item, Turn) else item.content


def _second(at_ms: int) -> str | None:
    """The time to the second: milliseconds cost tokens and tell an agent nothing."""
    said = answers.iso(at_ms)
    return said if said is None or "." not in said else said[: said.index(".")] + "Z"
