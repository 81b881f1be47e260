"""Resources and prompts: what a person picks from a menu, and what a client may read by address."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from pydantic import Field

from recollect.errors import NotFound, RecollectError
from recollect.fence import NOTICE, Fence, harmless
from recollect.interfaces import answers
from recollect.interfaces.mcp import shapes
from recollect.memory import Memory
from recollect.types import Note

T = TypeVar("T")

RECENT = 20
MOST_TURNS = 200
LONGEST = 100_000  # characters of one resource


def offer(server: MCPServer, memory: Callable[[], Memory]) -> None:
    reading = Reading(memory)
    server.resource(
        "memory://recent", name="recent", title="Recent notes", mime_type="text/plain",
        description="The newest notes of this project and the user's own.",
    )(reading.recent)  # fmt: skip
    server.resource(
        "memory://note/{id}", name="note", title="A note", mime_type="text/plain", description="A whole note."
    )(reading.note)
    server.resource(
        "memory://session/{uid}", name="session", title="A session", mime_type="text/plain",
        description="What was said in a session, and its summary.",
    )(reading.session)  # fmt: skip
    server.prompt("recall", title="Recall", description="What is remembered about a topic.")(reading.recall)
    server.prompt(
        "hand_over", title="Hand over", description="Save what the next session has to know, before this one ends."
    )(hand_over)


class Reading:
    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    def recent(self) -> str:
        return listed(self._asked(lambda memory: memory.list(limit=RECENT)))

    def note(self, id: str) -> str:
        note = self._asked(lambda memory: memory.get(id))
        about = f"#{note.id} {note.kind} in {harmless(note.space)}, {answers.iso(note.created_ms)}"
        text = Fence()(note.content[:LONGEST], id=note.id, origin=note.origin, trusted=note.trusted)
        return f"{about}\n{NOTICE}\n{text}"

    def session(self, uid: str) -> str:
        session = self._asked(lambda memory: memory.session(uid))
        turns = self._asked(lambda memory: memory.turns(session))[-MOST_TURNS:]
        fence = Fence()
        lines = [f"{session.turns} turns, the last {len(turns)} here. {NOTICE}"]
        lines += [fence(session.summary, id=session.uid, kind="summary")] if session.summary else []
        lines += [
            fence(turn.text[: LONGEST // 10], id=f"t{turn.id}", speaker=turn.speaker, origin=turn.origin)
            for turn in turns
        ]
        return "\n".join(lines)[:LONGEST]

    def recall(self, topic: Annotated[str, Field(description="What to recall.")]) -> str:
        """What a search for the topic finds, and the request to use it."""
        found = shapes.found(self._memory().search(topic, limit=10)).content[0]
        text = getattr(found, "text", "")
        return f"What do we remember about: {topic}\n\n{text}\n\nRead whole notes with memory_get where they matter."

    def _asked(self, question: Callable[[Memory], T]) -> T:
        try:
            return question(self._memory())
        except NotFound as error:
            raise ResourceNotFoundError(f"{error.message} ({error.hint})") from error
        except RecollectError as error:
            raise ResourceError(f"{error.code}: {error.message} ({error.hint})") from error


def listed(notes: Sequence[Note]) -> str:
    fence = Fence()
    lines = [
        fence(shapes.clipped(note.title, 30), id=note.id, kind=note.kind,
              date=(answers.iso(note.created_ms) or "")[:10], origin=note.origin, trusted=note.trusted)
        for note in notes
    ]  # fmt: skip
    return "\n".join([NOTICE, *lines]) if lines else "nothing is remembered here yet"


def hand_over(open_ends: Annotated[str, Field(description="What is not finished, if you know.")] = "") -> str:
    """Asks the agent to write down what the next session needs."""
    known = f" Known open ends: {open_ends}" if open_ends else ""
    return (
        "Before this session ends, remember with memory_add what the next one has to know, each in a text of its own"
        " that is understandable without this conversation: decisions and why they were made (kind decision), what was"
        " changed and where, what was found out, and what is still open (kind task)." + known
    )
