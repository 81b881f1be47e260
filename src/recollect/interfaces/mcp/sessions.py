"""The tools of the `sessions` profile: which conversations there were, and what was said in one."""

from collections.abc import Callable
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from recollect.fence import NOTICE, Fence, harmless
from recollect.interfaces import answers
from recollect.interfaces.mcp import shapes
from recollect.interfaces.mcp.tools import Spec, spec
from recollect.memory import Memory


class SessionRow(shapes.Open):
    uid: str
    agent: str
    title: str
    turns: int
    summary: str = ""


class Sessions(shapes.Open):
    sessions: list[SessionRow]


class TurnRow(shapes.Open):
    id: str
    speaker: str
    text: str


class SessionTurns(shapes.Open):
    session: SessionRow
    turns: list[TurnRow]


def session_tools(memory: Callable[[], Memory]) -> list[Spec]:
    tools = SessionTools(memory)
    return [
        spec("memory_sessions", "List sessions", tools.sessions, "Earlier conversations, the last active first.",
             reads=True),
        spec("memory_session", "Read a session", tools.session,
             "What was said in a session: a page of its turns.", reads=True),
    ]  # fmt: skip


class SessionTools:
    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    def sessions(self, limit: Annotated[int, Field(ge=1, le=100)] = 10) -> Annotated[CallToolResult, Sessions]:
        fence = Fence()
        rows, lines = [], []
        for session in self._memory().sessions(limit=limit):
            rows.append(answers.plain(session) | {"title": shapes.clipped(session.title or session.key, 30)})
            said = f"{session.title or session.key} | {session.summary}".rstrip(" |")
            date = (answers.iso(session.seen_ms) or "")[:10]
            lines.append(
                fence(shapes.clipped(said, 80), id=session.uid, agent=session.agent, date=date, turns=session.turns)
            )
        return shapes.result("\n".join([NOTICE, *lines]) if lines else "no sessions yet", {"sessions": rows})

    def session(
        self,
        uid: str,
        start: Annotated[int, Field(ge=0, description="How many turns to pass over.")] = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
        max_chars: Annotated[int, Field(ge=100, le=100_000, description="Longest text of each turn.")] = 2000,
    ) -> Annotated[CallToolResult, SessionTurns]:
        memory = self._memory()
        session = memory.session(uid)
        turns = memory.turns(session)[start : start + limit]
        fence = Fence()
        lines = [
            fence(turn.text[:max_chars], id=f"t{turn.id}", speaker=turn.speaker, origin=turn.origin) for turn in turns
        ]
        rows = [
            {"id": f"t{turn.id}", "speaker": turn.speaker, "text": harmless(turn.text[:max_chars])} for turn in turns
        ]
        head = f"turns {start} to {start + len(turns)} of {session.turns}. {NOTICE}"
        return shapes.result("\n".join([head, *lines]), {"session": answers.plain(session), "turns": rows})
