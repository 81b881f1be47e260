"""Forgetting: every trace of what was chosen goes, in one transaction, and a receipt says what went and what did not.

It cannot be undone. Rows, earlier versions, index terms, vectors, cached embeddings, logged queries and what hooks left
to be captured go; then the engine's own files are cleaned; while a reader holds old pages, that part is pending.
Tombstones without words keep a later import or sync from bringing anything back.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from recollect import backup, dailylog
from recollect.config import Settings
from recollect.errors import InvalidInput
from recollect.ids import Ref
from recollect.rechunking import turn_chunks_of
from recollect.store import Operation, SourceFile, Store
from recollect.text.tokens import terms
from recollect.types import STATES, Filter, Note, Session, Turn
from recollect.upkeep.pending import finish
from recollect.upkeep.spooled import Choice, Spooled, remove, spooled
from recollect.values import value
from recollect.write import Limits

PAGE = 1000
MOST = 10_000_000
MOST_TERMS = 20_000


@value
class Wish:
    """What shall be forgotten. `since_ms` narrows the others, or stands alone: everything from then on."""

    notes: tuple[Ref, ...] = ()
    sessions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    query: str = ""
    since_ms: int | None = None


@value
class Found:
    notes: tuple[Note, ...] = ()
    versions: tuple[tuple[int, int], ...] = ()  # earlier versions that alone have the words: (note, revision)
    sessions: tuple[Session, ...] = ()
    renamed: tuple[Session, ...] = ()  # sessions whose title or summary has the words
    turns: tuple[Turn, ...] = ()
    files: tuple[SourceFile, ...] = ()
    pairs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.notes, self.versions, self.sessions, self.renamed, self.turns, self.files, self.pairs))


@value
class Receipt:
    """What went (`removed`, by table), what could not be cleaned yet, and who still holds a copy."""

    removed: Mapping[str, int]
    notes: tuple[int, ...]
    sessions: tuple[str, ...]
    files: tuple[str, ...]
    pending: bool
    leftovers: tuple[str, ...]  # terms that the index still has although no text does
    backups: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    operation: str = ""
    dry_run: bool = False


def forget(
    store: Store, settings: Settings, spaces: Sequence[int], wish: Wish, op: Operation, limits: Limits, dry_run: bool
) -> Receipt:
    if not (wish.notes or wish.sessions or wish.sources or wish.query or wish.since_ms is not None):
        raise InvalidInput("nothing was named to be forgotten", hint="name ids, a session, a source, a query or a time")
    with store.snapshot():
        found = find(store, spaces, wish)
        words = _words(store, spaces, found)
        held = backup.holding(settings, [note.uid for note in found.notes], _session_uids(found))
        waiting = spooled(store, settings, spaces, _choice(wish, found))
    if dry_run:
        counts = _counted(found) | {"waiting captures": len(waiting.files)}
        return _receipt(found, counts, False, (), held, settings, op, waiting, dry_run=True)
    lines = _logged(store, spaces, found)
    removed = _remove(store, spaces, wish, found, op, limits)
    removed["daily log lines"] = dailylog.strike(settings.home, lines, wish.query)
    removed["waiting captures"] = remove(waiting.files)
    pending = finish(store, due=bool(found), wait=True)
    leftovers = tuple(store.leftover_terms(words))
    return _receipt(found, removed, pending, leftovers, held, settings, op, waiting)


def _choice(wish: Wish, found: Found) -> Choice:
    """The same for what hooks left to be captured."""
    everything = wish == Wish(since_ms=wish.since_ms)
    return Choice(found.sessions, wish.sources, wish.query, wish.since_ms, everything)


def erase(
    store: Store, spaces: Sequence[int], notes: Sequence[str], sessions: Sequence[str], op: Operation
) -> Mapping[str, object]:
    """The plain form: these notes and sessions, all traces of them."""
    with store.transaction(sorted(spaces)):
        counts = store.remove(op, spaces, notes, sessions)
        store.clear_queries(spaces)
    return {"removed": counts, "pending": finish(store, due=True, wait=True)}


# -- choosing -----------------------------------------------------------------------------------------------------


def find(store: Store, spaces: Sequence[int], wish: Wish) -> Found:
    notes = {note.uid: note for note in store.notes(wish.notes, spaces)}
    sessions = {one.uid: one for uid in wish.sessions for one in store.sessions(spaces, uid=uid)}
    files: list[SourceFile] = []
    for source in wish.sources:
        notes |= {note.uid: note for note in _listed(store, spaces, wish, sources=(source,))}
        sessions |= {one.uid: one for one in _sessions(store, spaces, wish) if one.source == source}
        files += [file for file in store.files(under=source) if file.space in spaces]
    for one in list(sessions.values()):
        for name in (one.uid, one.key):
            notes |= {note.uid: note for note in _listed(store, spaces, replace(wish, since_ms=None), session=name)}
    found = Found(sessions=tuple(sessions.values()))
    if wish.query:
        found = _mentions(store, spaces, wish, notes, found)
        files += _files_with(store, spaces, wish.query)
    elif wish == Wish(since_ms=wish.since_ms):
        notes |= {note.uid: note for note in _listed(store, spaces, wish)}
        found = replace(found, sessions=tuple(_sessions(store, spaces, wish)), turns=_turns(store, spaces, wish))
    gone = {one.uid for one in found.sessions}
    return replace(
        found, notes=tuple(notes.values()), turns=tuple(turn for turn in found.turns if turn.session not in gone),
        files=tuple({file.id: file for file in files}.values()),
    )  # fmt: skip


def _listed(store: Store, spaces: Sequence[int], wish: Wish, **more: object) -> list[Note]:
    where = Filter(tuple(spaces), 0, states=STATES, since_ms=wish.since_ms, **more)  # type: ignore[arg-type]
    return store.list_notes(where, MOST)


def _sessions(store: Store, spaces: Sequence[int], wish: Wish) -> list[Session]:
    since = wish.since_ms if wish.since_ms is not None else -(10**15)
    return [one for one in store.sessions(spaces, limit=MOST) if one.started_ms >= since]


def _turns(store: Store, spaces: Sequence[int], wish: Wish) -> tuple[Turn, ...]:
    since = wish.since_ms if wish.since_ms is not None else -(10**15)
    phrase = wish.query.casefold()
    return tuple(
        turn
        for one in store.sessions(spaces, limit=MOST)
        for turn in store.turns(spaces, session=one.uid)
        if turn.at_ms >= since and phrase in f"{turn.text}\n{turn.speaker}".casefold()
    )


def _mentions(store: Store, spaces: Sequence[int], wish: Wish, notes: dict[str, Note], found: Found) -> Found:
    """Whatever has the words, compared letter by letter without regard to case."""
    phrase = wish.query.casefold()
    names = {space.name: space.id for space in store.spaces()}
    since = wish.since_ms if wish.since_ms is not None else -(10**15)
    seen, last, ours = set[int](), 0, set[int]()
    while page := store.images(last, PAGE):
        for note, _ in page:
            if names.get(note.space) in spaces:
                ours.add(note.id)
                if note.created_ms >= since and phrase in _text(note):
                    notes[note.uid] = note
        last = page[-1][0].id
    seen |= {note.id for note in notes.values()}
    versions, at = [], (0, 0)
    while past := store.versions(at, PAGE):
        versions += [row[:2] for row in past if row[0] in ours - seen and phrase in row[3].casefold()]
        at = past[-1][:2]
    return replace(
        found, versions=tuple(versions), turns=_turns(store, spaces, wish),
        renamed=tuple(one for one in store.sessions(spaces, limit=MOST)
                      if phrase in f"{one.title}\n{one.summary}\n{one.key}\n{one.source}".casefold()),
        pairs=tuple(pair.id for pair in store.pairs(spaces) if phrase in pair.query.casefold()),
    )  # fmt: skip


def _text(note: Note) -> str:
    parts = (note.title, note.content, note.context, note.source, note.session or "", *note.tags, repr(note.metadata))
    return "\n".join(parts).casefold()


def _files_with(store: Store, spaces: Sequence[int], query: str) -> list[SourceFile]:
    where = Filter(tuple(spaces), 0, owners=("file",))
    chunks = store.keyword(terms(query), where, 100_000).chunks
    paths = sorted({chunk.file_path for chunk in chunks if query.casefold() in chunk.content.casefold()})
    return [file for file in store.files(paths) if file.space in spaces]


# -- removing -----------------------------------------------------------------------------------------------------


def _remove(
    store: Store, spaces: Sequence[int], wish: Wish, found: Found, op: Operation, limits: Limits
) -> dict[str, int]:
    names = {space.name: space.id for space in store.spaces()}
    with store.transaction(sorted(spaces)):
        uids = [note.uid for note in found.notes]
        removed = store.remove(op, spaces, uids, _session_uids(found), [turn.id for turn in found.turns])
        for file in found.files:
            store.remove_file(op, file.space, file.path, forget=True)
        removed["revisions"] += store.drop_versions(found.versions)
        removed["queries"] = store.clear_queries(spaces)
        removed["files"] = len(found.files)
        removed["tool pairs"] = store.forget_pairs(spaces, found.pairs)
        for one in found.renamed:
            if one.uid not in _session_uids(found):
                store.put_session(op, names[one.space], replace(one, title="", summary=""))
        _rebuild_neighbours(store, names, found.turns, op, limits)
    return removed


def _rebuild_neighbours(
    store: Store, names: Mapping[str, int], turns: Iterable[Turn], op: Operation, limits: Limits
) -> None:
    """A turn is indexed with words of those around it; they must not keep what the turn said."""
    for turn in turns:
        space = names[turn.space]
        for near in store.turns([space], session=turn.session, around=(turn.position - 1, turn.position + 1)):
            store.rebuild_chunks(op, space, "turn", near.id, turn_chunks_of(store, limits, space, near.id))


def _session_uids(found: Found) -> list[str]:
    return [one.uid for one in found.sessions]


def _words(store: Store, spaces: Sequence[int], found: Found) -> list[str]:
    """Every term of what goes, so that the index can be asked for them afterwards."""
    texts = [_text(note) for note in found.notes] + [turn.text for turn in found.turns]
    for one in found.sessions:
        texts += [turn.text for turn in store.turns(spaces, session=one.uid)]
    words: dict[str, None] = {}
    for text in texts:
        words.update(dict.fromkeys(terms(text)))
        if len(words) > MOST_TERMS:
            break
    return list(words)[:MOST_TERMS]


def _logged(store: Store, spaces: Sequence[int], found: Found) -> list[str]:
    """The texts that a daily log may have of these notes: as they are, and as they were."""
    past = [str(image.image["content"]) for note in found.notes for image in store.history(note.uid, spaces)]
    return [note.content for note in found.notes] + past


def _counted(found: Found) -> dict[str, int]:
    return {
        "notes": len(found.notes), "revisions": len(found.versions) + sum(note.rev - 1 for note in found.notes),
        "sessions": len(found.sessions), "files": len(found.files), "tool pairs": len(found.pairs),
        "turns": len(found.turns) + sum(one.turns for one in found.sessions),
    }  # fmt: skip


def _receipt(
    found: Found, removed: Mapping[str, int], pending: bool, leftovers: tuple[str, ...], backups: Sequence[str],
    settings: Settings, op: Operation, waiting: Spooled, dry_run: bool = False,
) -> Receipt:  # fmt: skip
    remarks = []
    if pending:
        remarks.append(
            "a reader holds old pages: run this again, or doctor, once it is gone; the next one to open will"
        )
    if backups:
        remarks.append("older backups still hold it; delete them if it must be gone from there too")
    if waiting.elsewhere:
        remarks.append(f"{waiting.elsewhere} waiting captures of other spaces have the words too: use --space all")
    remarks += [
        f"{path} has the words and waits to be read: index it and forget again, or delete it"
        for path in waiting.transcripts
    ]
    if settings.store.startswith(("postgresql:", "postgres:")):
        remarks.append("the server keeps removed rows in its own files and log until it has reused them")
    return Receipt(
        removed, tuple(note.id for note in found.notes), tuple(_session_uids(found)),
        tuple(file.path for file in found.files), pending, leftovers, tuple(backups), tuple(remarks),
        "" if dry_run else op.id, dry_run,
    )  # fmt: skip
