"""What stands before and after a passage: lines of its file, or the turns next to it.

It comes from the index, never from the file: what was indexed was cleaned and is allowed to be seen, and the file may
have changed or gone since.
"""

from collections.abc import Sequence

from recollect.store import Store
from recollect.types import Chunk, Turn
from recollect.values import value

LINES = 5
TURNS = 2
WIDTH = 200  # characters, where a neighbour has no line end


@value
class Beside:
    """A neighbour: a turn with its speaker and time, or some lines of a file."""

    text: str
    id: str = ""
    lines: tuple[int, int] | None = None
    speaker: str = ""
    at_ms: int = 0


@value
class Surroundings:
    """In reading order; empty where there is nothing before or after."""

    before: tuple[Beside, ...] = ()
    after: tuple[Beside, ...] = ()


def surroundings(store: Store, item: Chunk | Turn, space: int) -> Surroundings:
    if isinstance(item, Turn):
        return _turns(store, item, space)
    if item.owner == "turn":
        return _turns(store, store.turns([space], ids=[item.owner_id])[0], space)
    if item.owner == "file":
        return _lines(item, [chunk for chunk in store.owned("file", item.owner_id, space) if chunk.id != item.id])
    return Surroundings()  # a note is shown whole


def _turns(store: Store, turn: Turn, space: int) -> Surroundings:
    near = store.turns([space], session=turn.session, around=(turn.position - TURNS, turn.position + TURNS))
    shown = [(each.position, Beside(each.text, f"t{each.id}", None, each.speaker, each.at_ms)) for each in near]
    return Surroundings(
        tuple(each for position, each in shown if position < turn.position),
        tuple(each for position, each in shown if position > turn.position),
    )


def _lines(item: Chunk, others: Sequence[Chunk]) -> Surroundings:
    """Slices overlap, so lines are gathered by number; a line that was cut into slices goes on in the next one."""
    if not item.start_line or not item.end_line:
        return Surroundings()
    known = {
        number: line
        for chunk in others
        for number, line in enumerate(chunk.content.splitlines(), chunk.start_line or 1)
        if not item.start_line <= number <= item.end_line
    }
    before = [(number, known[number]) for number in sorted(known) if number < item.start_line][-LINES:]
    after = [(number, known[number]) for number in sorted(known) if number > item.end_line][:LINES]
    inside = [chunk for chunk in others if chunk.start_line == chunk.end_line]
    return Surroundings(
        _block(before) or tuple(
            Beside(chunk.content[: len(chunk.content) - shared(chunk.content, item.content)][-WIDTH:], f"c{chunk.id}")
            for chunk in inside if chunk.idx == item.idx - 1
        ),
        _block(after) or tuple(
            Beside(chunk.content[shared(item.content, chunk.content) :][:WIDTH], f"c{chunk.id}")
            for chunk in inside if chunk.idx == item.idx + 1
        ),
    )  # fmt: skip


def shared(first: str, second: str) -> int:
    """How many characters the end of one slice has in common with the beginning of the next."""
    return next((size for size in range(min(len(first), len(second)), 0, -1) if first.endswith(second[:size])), 0)


def _block(lines: Sequence[tuple[int, str]]) -> tuple[Beside, ...]:
    if not lines:
        return ()
    return (Beside("\n".join(line for _, line in lines), "", (lines[0][0], lines[-1][0])),)
