"""Index: files become chunks, transcripts become sessions and turns; what did not change is not read again.

How far a file was read is stored in the transaction that stores what was read, so that a kill leaves each file before
or after a step and a second run goes on. A transcript that grew is read from where it was left; one that was cut,
rotated or replaced is read anew, and turns that are already known stay as they are. Turns outlive their file; the
chunks of a plain file go when the file goes. One bad file or line never stops the rest.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from recollect import audit, conversation
from recollect.errors import Conflict, InvalidInput
from recollect.ids import new_uid
from recollect.readers import (
    FileReader,
    Found,
    Head,
    Mark,
    Refused,
    Rewind,
    Root,
    Said,
    Skip,
    TranscriptReader,
    agent_histories,
    reader_for,
    walk,
)
from recollect.readers.contract import Text
from recollect.readers.paths import open_safely
from recollect.rechunking import turn_chunks_of
from recollect.store import Operation, SourceFile, Store
from recollect.text.redact import clean
from recollect.text.tokens import terms
from recollect.types import UNFILED_SPACE, ChunkDraft, Session, Turn
from recollect.values import value
from recollect.write import Limits, embedded_text, fitting_lead, sliced

HEAD_BYTES = 4096  # enough to tell whether a transcript is still the one that was read
TAIL_BYTES = 1024
TURNS_PER_STEP = 500
IGNORED = "on the ignore list"

Place = Callable[[str], int]  # the space of a working folder ("" if none is known)
Progress = Callable[[int, int, Path], None]  # files done, files in all, the file at hand


@value
class Indexed:
    """What a run did."""

    indexed: int = 0
    unchanged: int = 0
    removed: int = 0
    ignored: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    sessions: int = 0
    turns: int = 0
    chunks: int = 0
    bytes_read: int = 0
    formats: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # of each format: the reason, how often
    unfiled: int = 0
    embedded: int = 0


class Indexer:
    """One run over some files; counts what it does."""

    def __init__(self, store: Store, limits: Limits, clock: Callable[[], int], actor: str, place: Place) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock
        self._actor = actor
        self._place = place
        self._counts: Counter[str] = Counter()
        self._formats: dict[str, Counter[str]] = {}
        self._left_out: dict[str, Counter[str]] = {}
        self._skipped: list[tuple[str, str]] = []

    def run(self, roots: Sequence[Root], *, force: bool = False, progress: Progress | None = None) -> Indexed:
        found: list[tuple[Found, Path]] = []
        for root in roots:
            found += self._look(root)
        known = {file.path: file for file in self._store.files([str(file.path) for file, _ in found])}
        for done, (file, base) in enumerate(found):
            if progress is not None:
                progress(done, len(found), file.path)
            self._one(file, base, known.get(str(file.path)), force)
        if progress is not None and found:
            progress(len(found), len(found), found[-1][0].path)
        return self._result()

    def _look(self, root: Root) -> list[tuple[Found, Path]]:
        """What is under a root now; what was there before and is gone goes from the index."""
        top = root.path
        base = top.resolve() if top.is_dir() else top
        files: list[tuple[Found, Path]] = []
        for entry in walk(top):
            if isinstance(entry, Refused):
                self._refuse(entry.path, entry.reason)
            elif not root.agent or root.covers(entry.path):
                files.append((entry, base if top.is_dir() else top.parent))
        there = {str(file.path) for file, _ in files}
        for gone in self._store.files(under=str(base)):
            if gone.path not in there and not Path(gone.path).exists():
                self._store.remove_file(self._operation(), gone.space, gone.path)
                self._counts["removed"] += 1
        return files

    def _one(self, file: Found, root: Path, known: SourceFile | None, force: bool) -> None:
        file = _with_log(file)
        if known is not None and not force and (known.size, known.mtime_ns) == (file.size, file.mtime_ns):
            self._counts["unchanged"] += 1
            return
        try:
            reader = reader_for(file.path, root=root)
            if isinstance(reader, Skip):
                self._refuse(file.path, reader.reason)
            elif isinstance(reader, FileReader):
                self._plain(file, root, reader, known, force)
            else:
                _Transcript(self, file, root, reader, known, force).read()
        except (OSError, InvalidInput, Conflict) as trouble:
            self._refuse(file.path, str(trouble))

    # -- plain files ----------------------------------------------------------------------------------------------

    def _plain(self, file: Found, root: Path, reader: FileReader, known: SourceFile | None, force: bool) -> None:
        read = reader.read(file.path, root=root)
        if not isinstance(read, Text):
            self._refuse(file.path, read.reason)
            return
        row = SourceFile(
            str(file.path), "files", reader.name, audit.content_hash(read.text), file.mtime_ns, file.size,
            offset=file.size, indexed_ms=self._clock(),
        )  # fmt: skip
        space = known.space if known is not None else self._place(str(file.path.parent))
        self._counts["bytes_read"] += file.size
        if known is not None and known.hash == row.hash and not force:
            self._store.put_file(self._operation(), space, row, None)
            self._counts["unchanged"] += 1
            return
        chunks = file_chunks(read.text, file.path, self._limits)
        self._store.put_file(self._operation(), space, row, chunks)
        self._count_format(reader.name, chunks=len(chunks))

    # -- counting -------------------------------------------------------------------------------------------------

    def _count_format(self, name: str, **numbers: int) -> None:
        self._counts["indexed"] += 1
        self._counts.update(numbers)
        self._formats.setdefault(name, Counter()).update({"files": 1, **numbers})

    def _refuse(self, path: Path, reason: str) -> None:
        if reason == IGNORED:
            self._counts["ignored"] += 1
        else:
            self._skipped.append((str(path), reason))

    def _operation(self) -> Operation:
        at = self._clock()
        return Operation(new_uid(at), "index", self._actor, at)

    def _result(self) -> Indexed:
        numbers = {name: self._counts[name] for name in _COUNTED}
        return Indexed(
            **numbers, skipped=tuple(self._skipped), formats=_sorted(self._formats), left_out=_sorted(self._left_out)
        )


def _sorted(counts: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    return {name: dict(sorted(numbers.items())) for name, numbers in sorted(counts.items()) if numbers}


def _renamed(turn: Turn, known_hash: str) -> Turn:
    """The turn under another record id, unless it is the one that is known."""
    mark = audit.content_hash(clean(turn.text).text)
    return turn if mark == known_hash else replace(turn, record=f"{turn.record}~{mark[:12]}")


def _with_log(file: Found) -> Found:
    """A database in use changes in its write-ahead log first: what counts is the newer of the two."""
    try:
        log = file.path.with_name(f"{file.path.name}-wal").stat()
    except OSError:
        return file
    return replace(file, mtime_ns=max(file.mtime_ns, log.st_mtime_ns))


_COUNTED = (
    "indexed", "unchanged", "removed", "ignored", "sessions", "turns", "chunks", "bytes_read", "unfiled",
)  # fmt: skip


def file_chunks(text: str, path: Path, limits: Limits) -> list[ChunkDraft]:
    """The slices of a file; its name is embedded and indexed with each of them."""
    about = " ".join(terms(f"{path.parent.name} {path.name}"))
    name = fitting_lead(path.name, limits)
    return [
        ChunkDraft(
            content=piece.text, terms=" ".join(terms(piece.text)), context=name, context_terms=about,
            start_line=piece.start_line, end_line=piece.end_line,
            hash=audit.content_hash(embedded_text(name, piece.text)),
        )
        for piece in sliced(clean(text).text, name, limits)
        if piece.text.strip()
    ]  # fmt: skip


class _Transcript:
    """One transcript on its way into the store, step by step."""

    def __init__(
        self, indexer: Indexer, file: Found, root: Path, reader: TranscriptReader, known: SourceFile | None, force: bool
    ) -> None:
        self._in = indexer
        self._store = indexer._store
        self._file = file
        self._root = root
        self._reader = reader
        self._known = known
        self._op = indexer._operation()
        self._head: Head | None = None
        self._homes: dict[tuple[str, str], tuple[int, Session]] = {}
        self._waiting: list[Said] = []
        self._space: int | None = known.space if known is not None else None
        self._offset, self._state = (0, None) if force else self._resume()

    def _resume(self) -> tuple[int, Mapping[str, Any] | None]:
        """Where to go on: only if what was read before is still there, byte for byte at its beginning and end."""
        known = self._known
        if known is None or known.reader != self._reader.name:
            return 0, None
        state = json.loads(known.state)
        if not self._reader.appends:
            return 0, state
        if self._file.size >= known.offset and self._print(known.offset) == known.hash:
            return known.offset, state
        return 0, None

    def _print(self, offset: int) -> str:
        """A fingerprint of what was read: the first and the last bytes before the offset."""
        with open_safely(self._file.path, self._root) as stream:
            head = stream.read(min(HEAD_BYTES, offset))
            stream.seek(max(0, offset - TAIL_BYTES))
            tail = stream.read(min(TAIL_BYTES, offset))
        return hashlib.sha256(head + b"\0" + tail).hexdigest()

    def read(self) -> None:
        before = Counter(self._in._counts)
        last = self._offset
        for item in self._reader.read(self._file.path, self._offset, self._state, root=self._root):
            if isinstance(item, Head):
                self._flush()
                self._head = _merged(self._head, item)
            elif isinstance(item, Said):
                self._waiting.append(item)
                if len(self._waiting) >= TURNS_PER_STEP:
                    self._flush()
            elif isinstance(item, Rewind):
                self._flush()
                self._rewind(item)
            elif isinstance(item, Skip):
                self._leave_out(item.reason)
            else:
                self._step(item)
                last = max(last, item.offset)
        self._flush()
        self._in._counts["bytes_read"] += max(0, last - self._offset) if self._reader.appends else self._file.size
        counts = self._in._counts
        self._in._count_format(self._reader.name)
        for what in ("turns", "chunks"):
            self._in._formats[self._reader.name][what] += counts[what] - before[what]

    def _step(self, mark: Mark) -> None:
        """What was said up to the mark, and that it was read, in one transaction."""
        home = self._space
        with self._store.transaction(sorted(self._open_spaces())):
            self._flush()
            home = self._space if self._space is not None else self._in._place("")
            row = SourceFile(
                str(self._file.path), "sessions", self._reader.name,
                self._print(mark.offset) if self._reader.appends else "", self._file.mtime_ns, self._file.size,
                offset=mark.offset, line=mark.line, state=json.dumps(dict(mark.state)), indexed_ms=self._in._clock(),
            )  # fmt: skip
            self._store.put_file(self._op, home, row, None)
        self._space = home

    def _open_spaces(self) -> Iterable[int]:
        self._session()
        return {space for space, _ in self._homes.values()} | ({self._space} if self._space is not None else set())

    def _session(self) -> tuple[int, Session] | None:
        """The session of the newest head, made when the first thing is said in it."""
        head = self._head
        if head is None or not self._waiting:
            return None
        key = (head.agent, head.key)
        if key not in self._homes:
            space = self._in._place(head.cwd)
            fresh = self._store.find_session(space, *key) is None
            session = conversation.start(
                self._store, space, self._op, head.key, head.agent, head.title, str(self._file.path), head.started_ms
            )
            self._homes[key] = (space, session)
            self._in._counts["sessions"] += fresh
            self._in._counts["unfiled"] += fresh and session.space == UNFILED_SPACE
            self._space = self._space if self._space is not None else space
        return self._homes[key]

    def _flush(self) -> None:
        found = self._session()
        if found is None:
            return
        space, session = found
        turns = [self._turn(said) for said in self._waiting]
        turns = self._apart(space, session, turns)
        self._waiting = []
        added = conversation.add(self._store, space, session, turns, self._op, self._in._limits, False)
        self._in._counts.update(turns=len(added.ids), chunks=added.chunks)
        if self._head is not None:
            fresh = self._store.sessions([space], uid=session.uid)[0]
            self._homes[self._head.agent, self._head.key] = (space, fresh)

    def _leave_out(self, reason: str, count: int = 1) -> None:
        self._in._left_out.setdefault(self._reader.name, Counter())[reason] += count

    def _turn(self, said: Said) -> Turn:
        most = self._in._limits.max_note_bytes
        text = said.text
        if len(text.encode()) > most:
            text = text.encode()[:most].decode("utf-8", "ignore")
            self._leave_out("end of a very long message")
        return Turn(said.speaker, text, said.at_ms, said.record, said.origin, line=said.line)

    def _apart(self, space: int, session: Session, turns: list[Turn]) -> list[Turn]:
        """A record id that is only a place stands for other words once the file was cut or replaced there."""
        placed = [turn.record for turn in turns if turn.record.startswith("@")]
        known = self._store.turn_hashes(space, session, placed)
        return [_renamed(turn, known[turn.record]) if turn.record in known else turn for turn in turns]

    def _rewind(self, item: Rewind) -> None:
        """What is taken back may have been said in an earlier pass, so the session need not be open yet."""
        if self._head is None:
            return
        key = (self._head.agent, self._head.key)
        space = self._homes[key][0] if key in self._homes else self._in._place(self._head.cwd)
        session = self._store.find_session(space, *key)
        if session is None:
            return
        with self._store.transaction([space]):
            self._leave_out("taken back", self._store.retract_turns(self._op, space, session, item.to_record))
            # The turn that is now the last was indexed with words of the one that followed it.
            for last in self._store.turns([space], session=session.uid)[-1:]:
                chunks = turn_chunks_of(self._store, self._in._limits, space, last.id)
                self._store.rebuild_chunks(self._op, space, "turn", last.id, chunks)
        if key in self._homes:
            self._homes[key] = (space, self._store.sessions([space], uid=session.uid)[0])


def _merged(known: Head | None, new: Head) -> Head:
    """A head that comes again adds to what is known of the same session."""
    if known is None or (known.agent, known.key) != (new.agent, new.key):
        return new
    started = min(filter(None, (known.started_ms, new.started_ms)), default=0)
    return Head(new.agent, new.key, new.cwd or known.cwd, new.title or known.title, started, new.parent or known.parent)


def combined(runs: Sequence[Indexed]) -> Indexed:
    """What several runs did together."""
    formats: dict[str, Counter[str]] = {}
    left_out: dict[str, Counter[str]] = {}
    for run in runs:
        for whole, part in ((formats, run.formats), (left_out, run.left_out)):
            for name, counts in part.items():
                whole.setdefault(name, Counter()).update(counts)
    return Indexed(
        **{name: sum(getattr(run, name) for run in runs) for name in _COUNTED},
        skipped=tuple(skipped for run in runs for skipped in run.skipped), formats=_sorted(formats),
        left_out=_sorted(left_out),
    )  # fmt: skip


def roots_of(paths: Sequence[Path], agents: bool, environ: Mapping[str, str]) -> list[Root]:
    """The named places, and with `agents` every history that an installed agent keeps here."""
    named = [Root("", path.absolute(), ("*",)) for path in paths]
    return named + (agent_histories(Path.home(), environ) if agents else [])
