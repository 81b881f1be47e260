"""The walk over a transcript of JSON lines that all line formats share.

A format is a function from one record to what it means, with a state that it may change; this module does the rest:
places, marks, heads, malformed and torn lines. The state is plain JSON and goes into every mark, so that reading on
from a mark gives what reading in one go would have given.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput
from recollect.readers.contract import Head, Item, Mark, Rewind, Said, Skip
from recollect.readers.fields import first_records, is_document, key_from, modified_ms, time_of
from recollect.readers.lines import MAX_LINE_BYTES, Line, Unpackable, json_lines, parse_json, read_whole

Meaning = Said | Rewind | Skip
State = dict[str, Any]

MARK_EVERY_LINES = 200
MARK_EVERY_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands, and the time it gets if it tells none."""

    path: Path
    offset: int
    line: int | None
    mtime_ms: int

    @property
    def record(self) -> str:
        """An id for a record that brings none: where it starts."""
        return f"@{self.offset}"


Step = Callable[[dict[str, Any], Place, State], Iterable[Meaning]]


class LineReader:
    """A reader of JSON lines: a subclass says which records are its own and what each of them means."""

    name = ""
    appends = True

    def sniff(self, path: Path, head: bytes) -> bool:
        return any(map(self.is_ours, first_records(head)))

    def read(
        self, path: Path, offset: int = 0, state: Mapping[str, Any] | None = None, *, root: Path | None = None
    ) -> Iterator[Item]:
        return read_jsonl(self.name, self.step, path, offset, state, root)

    def is_ours(self, record: dict[str, Any]) -> bool:
        raise NotImplementedError

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        raise NotImplementedError


class DocumentReader:
    """A reader of transcripts that are one JSON document: a subclass says how such a document looks, where its messages
    are and what each of them means."""

    name = ""
    appends = False
    looks: re.Pattern[bytes]  # found at the beginning of every such document

    def sniff(self, path: Path, head: bytes) -> bool:
        return is_document(head) and self.looks.search(head) is not None

    def read(
        self, path: Path, offset: int = 0, state: Mapping[str, Any] | None = None, *, root: Path | None = None
    ) -> Iterator[Item]:
        return read_document(self, path, root)

    def records(self, document: dict[str, Any], path: Path, state: State) -> list[Any]:
        raise NotImplementedError

    def step(self, record: dict[str, Any], place: Place, state: State) -> Iterable[Meaning]:
        raise NotImplementedError


class Sessions:
    """Which session the records belong to: kept in the state, told as a `Head` whenever more of it is known."""

    def __init__(self, agent: str, path: Path, state: State) -> None:
        self._agent, self._path, self._state = agent, path, state
        self._told: Head | None = None

    def news(self, *, needed: bool) -> Iterator[Head]:
        """The head, if it changed since it was told; a session without an id gets one when it is `needed`."""
        session: State = self._state.setdefault("session", {})
        if needed and not session.get("key"):
            session["key"] = key_from(self._path)
        if not session.get("key"):
            return
        known = {name: session[name] for name in ("key", "cwd", "title", "started_ms", "parent") if session.get(name)}
        head = Head(self._agent, **known)
        if head != self._told:
            self._told = head
            yield head


def learn(state: State, **known: Any) -> None:
    """Note what a record tells of its session. Another key starts another session; otherwise what came first stays."""
    session: State = state.setdefault("session", {})
    key = known.get("key")
    if key and session.get("key") and session["key"] != key:
        session.clear()
        state.pop("title_rank", None)
    for name, value in known.items():
        if value and not session.get(name):
            session[name] = value


def entitle(state: State, title: str, rank: int = 0) -> None:
    """A title replaces an earlier one of the same or a lower rank."""
    if title and rank >= state.get("title_rank", 0):
        state.setdefault("session", {})["title"] = title
        state["title_rank"] = rank


def when(record_times: Iterable[Any], place: Place, state: State) -> int:
    """The record's own time, else that of the record before, else the file's."""
    at_ms = time_of(*record_times)
    if at_ms:
        state["at_ms"] = at_ms
        learn(state, started_ms=at_ms)
    return at_ms or state.get("at_ms") or place.mtime_ms


def read_jsonl(
    agent: str, step: Step, path: Path, offset: int, state: Mapping[str, Any] | None, root: Path | None
) -> Iterator[Item]:
    """Every whole line of the file from `offset` on, as `step` understands it."""
    now: State = deepcopy(dict(state or {})) if offset else {}
    sessions = Sessions(agent, path, now)
    mtime_ms = modified_ms(path)
    lines_before = now.get("lines", 0)
    done = _Done(offset, lines_before, offset, lines_before)
    try:
        for line in json_lines(path, offset, done.lines, root):
            if line.reason or not isinstance(line.record, dict):
                yield Skip(line.reason or "malformed line", line.number)
            else:
                place = Place(path, line.start, line.number, mtime_ms)
                yield from _understand(step, line.record, place, now, sessions)
            if done.move(line):
                yield done.mark(now)
    except Unpackable as trouble:
        yield Skip(str(trouble))
    yield done.mark(now)


def _understand(step: Step, record: dict[str, Any], place: Place, state: State, sessions: Sessions) -> Iterator[Item]:
    meanings = list(step(record, place, state))
    needed = any(not isinstance(meaning, Skip) for meaning in meanings)
    yield from sessions.news(needed=needed)
    yield from meanings


@dataclass(slots=True)
class _Done:
    """How far the reading got, and when it is time to say so."""

    offset: int
    lines: int
    marked_offset: int
    marked_lines: int

    def move(self, line: Line) -> bool:
        self.offset = line.end
        self.lines = line.number if line.ended else line.number - 1
        return (
            self.lines - self.marked_lines >= MARK_EVERY_LINES or self.offset - self.marked_offset >= MARK_EVERY_BYTES
        )

    def mark(self, state: State) -> Mark:
        self.marked_offset, self.marked_lines = self.offset, self.lines
        return Mark(self.offset, self.lines, deepcopy(state | {"lines": self.lines}))


def read_document(reader: DocumentReader, path: Path, root: Path | None) -> Iterator[Item]:
    """Every message of the document, as its reader understands it."""
    state: State = {}
    sessions = Sessions(reader.name, path, state)
    mtime_ms = modified_ms(path)
    try:
        content = read_whole(path, root, MAX_LINE_BYTES)
        document = None if content is None else parse_json(content.removeprefix(b"\xef\xbb\xbf"))
    except InvalidInput:
        # The agent may be writing it this moment; it is read again when it changes.
        yield Skip("malformed document")
        return
    except Unpackable as trouble:
        yield Skip(str(trouble))
        return
    if not isinstance(document, dict):
        yield Skip("document larger than 32 MB" if content is None else "malformed document")
        return
    for index, record in enumerate(reader.records(document, path, state)):
        if isinstance(record, dict):
            yield from _understand(reader.step, record, Place(path, index, None, mtime_ms), state, sessions)
        else:
            yield Skip("malformed record")
    yield from sessions.news(needed=False)
    yield Mark(len(content or b""), 0, {})
