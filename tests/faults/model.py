"""A plain model of a store, and the steps that change both.

A step is known in full before it is tried (ids and texts are chosen by the caller), so that whoever survives can say
what the store looks like without it and with it. A step that was tried and not acknowledged is unknown: both are
right, anything between is not.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect import Memory
from recollect.ids import new_uid
from recollect.transfer import BATCH
from recollect.types import STATES, Event

SPACE = "faults"
Image = tuple[str, str]  # state and text
World = dict[str, tuple[Image, ...]]  # each note's images by uid, the newest last; the revision is their number
Seen = dict[str, tuple[int, str, str]]  # what a store shows of a note: revision, state, text


@dataclass(frozen=True, slots=True)
class Step:
    """One call of Memory. `texts` has the uid of every note it touches, with the text it gives where it gives one."""

    verb: str
    texts: tuple[tuple[str, str], ...]

    def as_json(self) -> list[Any]:
        return [self.verb, self.texts]

    @staticmethod
    def from_json(values: Sequence[Any]) -> "Step":
        return Step(values[0], tuple((uid, text) for uid, text in values[1]))


def perform(memory: Memory, step: Step) -> None:
    uid, text = step.texts[0]
    if step.verb == "add":
        memory.add(text, uid=uid)
    elif step.verb == "update":
        memory.update(uid, content=text)
    elif step.verb == "delete":
        memory.delete(uid)
    elif step.verb == "restore":
        memory.restore(uid)
    elif step.verb == "undo":
        memory.undo(newest_operation(memory, uid))
    elif step.verb == "import":
        memory.import_notes([{"uid": one, "content": words} for one, words in step.texts])
    else:
        memory.erase([uid])


def newest_operation(memory: Memory, uid: str) -> str:
    revisions = memory.history(uid)
    if revisions:
        return revisions[-1].operation
    return next(event.operation for event in all_events(memory) if event.uid == uid)


def after(world: World, step: Step) -> World:
    """The world once the step has happened."""
    changed = dict(world)
    for uid, text in step.texts:
        past = world.get(uid, ())
        if step.verb == "erase":
            del changed[uid]
        elif step.verb in ("add", "import", "update"):
            changed[uid] = (*past, ("live", text))
        elif step.verb == "undo":
            changed[uid] = (*past, past[-2] if len(past) > 1 else ("deleted", past[-1][1]))
        else:
            changed[uid] = (*past, ("deleted" if step.verb == "delete" else "live", past[-1][1]))
    return changed


def outcomes(world: World, step: Step) -> Iterator[World]:
    """Every world that an unacknowledged step may leave; a long import may stop between its batches."""
    yield world
    if step.verb != "import":
        yield after(world, step)
        return
    for end in range(BATCH, len(step.texts), BATCH):
        yield after(world, Step("import", step.texts[:end]))
    yield after(world, step)


def shown(world: World) -> Seen:
    return {uid: (len(images), *images[-1]) for uid, images in world.items()}


def seen_in(memory: Memory) -> Seen:
    """Every note of the space, in any state."""
    found: Seen = {}
    page = memory.list(limit=500, states=STATES)
    while page:
        found |= {note.uid: (note.rev, note.state, note.content) for note in page}
        page = memory.list(limit=500, states=STATES, before=page[-1])
    return found


def all_events(memory: Memory) -> list[Event]:
    events: list[Event] = []
    while page := memory.events(since=events[-1].seq if events else 0):
        events += page
    return events


def difference(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> str:
    """What a failing test needs to say about two worlds, and no more."""
    wrong = [uid for uid in {*expected, *actual} if expected.get(uid) != actual.get(uid)]
    lines = [f"{u}: expected {str(expected.get(u))[:60]}, found {str(actual.get(u))[:60]}" for u in sorted(wrong)[:5]]
    return f"{len(wrong)} notes differ\n" + "\n".join(lines)


def check_sound(memory: Memory, words: int | None = None) -> None:
    """Doctor finds nothing, each change has its event, and each live note is found by its own word, no other is."""
    bad = [finding for finding in memory.check() if not finding.ok]
    assert not bad, bad
    seen = seen_in(memory)
    revisions: dict[str, list[int]] = {}
    for event in all_events(memory):
        if event.rev:
            revisions.setdefault(event.uid, []).append(event.rev)
    for uid, (rev, _, _) in seen.items():
        assert revisions.get(uid) == list(range(1, rev + 1)), f"{uid} is at {rev}, its events say {revisions.get(uid)}"
    chosen = list(seen.items())
    if words is not None and len(chosen) > words:
        chosen = random.Random(len(chosen)).sample(chosen, words)
    for uid, (_, state, text) in chosen:
        hits = [hit.uid for hit in memory.search(text.split()[0], mode="keyword", limit=5)]
        assert hits == ([uid] if state == "live" else []), f"{uid} is {state}; its word finds {hits}"


class Author:
    """Thinks up steps at random, over the notes of one writer."""

    def __init__(
        self,
        seed: object,
        world: World,
        weights: Mapping[str, int],
        import_sizes: Sequence[int],
        calls: Sequence[Sequence[str]] = (),
    ) -> None:
        self._dice = random.Random(str(seed))
        self.world = world
        self._verbs = [verb for verb, weight in weights.items() for _ in range(weight)]
        self._import_sizes = import_sizes
        self._last: dict[str, tuple[str, ...]] = {}  # who changed last with whom: an undo takes back the whole call
        for call in calls:
            self._remember(tuple(call))

    def next_step(self) -> Step:
        verb = self._dice.choice(self._verbs)
        if verb == "import":
            return Step(verb, tuple((new_uid(), self._text()) for _ in range(self._dice.choice(self._import_sizes))))
        wanted = {"update": "live", "delete": "live", "restore": "deleted"}.get(verb)
        known = [uid for uid, images in self.world.items() if wanted is None or images[-1][0] == wanted]
        if verb == "undo":
            known = [uid for uid in known if uid in self._last] or known
        if verb == "add" or not known:
            return Step("add", ((new_uid(), self._text()),))
        uid = self._dice.choice(known)
        if verb == "undo":
            return self._undo(uid)
        return Step(verb, ((uid, self._text() if verb == "update" else ""),))

    def _undo(self, uid: str) -> Step:
        together = self._last.get(uid, ())
        if not together or any(self._last[one] is not together for one in together):
            return Step("update" if self.world[uid][-1][0] == "live" else "restore", ((uid, self._text()),))
        return Step("undo", tuple((one, "") for one in together))

    def happened(self, step: Step) -> None:
        self.world = after(self.world, step)
        self._remember(tuple(uid for uid, _ in step.texts))

    def _remember(self, call: tuple[str, ...]) -> None:
        self._last |= dict.fromkeys(call, call)

    def _text(self) -> str:
        return f"{self._word()} is the word of this note, {self._dice.choice(_MORE)}"

    def _word(self) -> str:
        return "".join(self._dice.choices("bcdfghjklmnpqrtvwxz", k=14))


_MORE = ("and no other has it.", "as far as the writer knows. " * 20, "long, " * 300)
