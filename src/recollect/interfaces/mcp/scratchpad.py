"""The tools of the `scratchpad` profile: what a session has at hand for a while, in few tokens.

Items belong to the server's agent and, where it is given, to one session of it; those of others are never seen.
"""

from collections.abc import Callable
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from recollect.fence import NOTICE, Fence, harmless
from recollect.interfaces import answers
from recollect.interfaces.mcp import shapes
from recollect.interfaces.mcp.tools import Spec, spec
from recollect.memory import Memory
from recollect.scratchpad import key_of
from recollect.types import Note

Session = Annotated[str | None, Field(description="The session whose scratchpad it is; one for all without it.")]
Ref = Annotated[int | str, Field(description="An item's key or id.")]


class Item(shapes.Open):
    id: int
    key: str | None = None
    text: str
    pinned: bool
    importance: int
    expires_at: str | None = None


class Items(shapes.Open):
    items: list[Item]
    tokens: int = Field(description="What the items cost together.")


class Put(shapes.Open):
    item: Item
    created: bool = Field(description="False when an item of this key was written over.")
    overflow: list[int] = Field(default=[], description="Items that no longer fitted and are ordinary notes now.")


def scratchpad_tools(memory: Callable[[], Memory]) -> list[Spec]:
    tools = ScratchpadTools(memory)
    return [
        spec("memory_scratchpad", "Read the scratchpad", tools.read,
             "What you have at hand for this task: plans, findings, open ends. Read it after a break or a compaction.",
             reads=True),
        spec("memory_scratchpad_put", "Note on the scratchpad", tools.put, (
            "Keep something at hand for the task under way; the same key is written over. What must last longer is for"
            " memory_add."), idempotent=True),
        spec("memory_scratchpad_drop", "Take off the scratchpad", tools.drop,
             "Take an item off the scratchpad. `recollect undo` brings it back."),
    ]  # fmt: skip


class ScratchpadTools:
    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    def read(self, session: Session = None) -> Annotated[CallToolResult, Items]:
        found = self._memory().scratchpad.of(session).items()
        fence = Fence()
        lines = [
            fence(item.content, id=item.id, key=key_of(item), pinned=item.pinned or None, origin=item.origin,
                  trusted=item.trusted)
            for item in found
        ]  # fmt: skip
        value = {"items": [_row(item) for item in found], "tokens": sum(item.token_count for item in found)}
        return shapes.result("\n".join([NOTICE, *lines]) if lines else "the scratchpad is empty", value)

    def put(
        self,
        text: Annotated[str, Field(description="What to have at hand.")],
        key: Annotated[str | None, Field(description="A short name, such as plan.")] = None,
        session: Session = None,
        pinned: Annotated[bool, Field(description="Never make room for others.")] = False,
        importance: Annotated[int, Field(ge=1, le=10)] = 5,
        ttl_minutes: Annotated[float | None, Field(ge=0, description="How long it stays; 0 is for good.")] = None,
    ) -> Annotated[CallToolResult, Put]:
        pad = self._memory().scratchpad.of(session)
        made = pad.put(text, key=key, pinned=pinned, importance=importance, ttl_minutes=ttl_minutes)
        lines = [f"{'noted' if made.created else 'written over'} as {key_of(made) or f'#{made.id}'}", made.notice]
        if made.overflow:
            lines.append(f"{len(made.overflow)} older items are ordinary notes now")
        value = {"item": _row(made), "created": made.created, "overflow": list(made.overflow)}
        return shapes.result("\n".join(filter(None, lines)), value)

    def drop(self, item: Ref, session: Session = None) -> Annotated[CallToolResult, Item]:
        gone = self._memory().scratchpad.of(session).drop(item)
        return shapes.result(f"took {key_of(gone) or f'#{gone.id}'} off", _row(gone))


def _row(item: Note) -> dict[str, Any]:
    return {
        "id": item.id, "key": key_of(item), "text": harmless(item.content), "pinned": item.pinned,
        "importance": item.importance, "expires_at": answers.iso(item.expires_ms),
    }  # fmt: skip
