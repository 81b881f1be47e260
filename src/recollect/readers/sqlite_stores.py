"""Agents that keep their sessions in SQLite: Cursor's CLI, OpenClaw, OpenCode. Opened read-only, never changed.

A database is not read by byte offsets: every reading starts at the top, and the state says which rows were told. A
row that was told before is looked at again only when the database was replaced by another one.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput
from recollect.readers.contract import Item, Mark, Skip
from recollect.readers.cursor import cursor_message
from recollect.readers.fields import dict_of, modified_ms, name_of, path_of, said, spoken, text_of, time_of, why_silent
from recollect.readers.jsonl import Meaning, Place, Sessions, State, entitle, learn, when
from recollect.readers.lines import MAX_LINE_BYTES, Unpackable, parse_json, unpack_zstd
from recollect.readers.paths import check_under, open_safely
from recollect.readers.tree import tree_step

if TYPE_CHECKING:
    import apsw

SQLITE_MAGIC = b"SQLite format 3\x00"
BUSY_MS = 250
MAX_NOTES_BYTES = 1 << 16


class _DatabaseReader:
    """What the three have in common: how they are recognised and opened."""

    appends = False
    name = ""
    tables: frozenset[str] = frozenset()

    def sniff(self, path: Path, head: bytes) -> bool:
        if not head.startswith(SQLITE_MAGIC):
            return False
        try:
            with _opened(path, None) as database:
                return self.tables <= _tables(database)
        except _Closed:
            return False

    def read(
        self, path: Path, offset: int = 0, state: Mapping[str, Any] | None = None, *, root: Path | None = None
    ) -> Iterator[Item]:
        try:
            with _opened(path, root) as database:
                yield from self.rows(database, path, dict(state or {}))
        except _Closed as trouble:
            yield Skip(str(trouble))

    def rows(self, database: "apsw.Connection", path: Path, state: State) -> Iterator[Item]:
        raise NotImplementedError


class CursorStoreReader(_DatabaseReader):
    """Messages are JSON blobs named by their hash, in the order of their rows; the rest is Cursor's own encoding."""

    name = "cursor"
    tables = frozenset({"blobs", "meta"})

    def rows(self, database: "apsw.Connection", path: Path, state: State) -> Iterator[Item]:
        now: State = {}
        sessions = Sessions(self.name, path, now)
        _learn_cursor_session(database, path, now)
        after = _position(database, state)
        rows = database.execute("select rowid, id, data from blobs where rowid > ? order by rowid", (after,))
        last_id = text_of(state.get("id"))
        for rowid, ident, content in rows:
            after, last_id = rowid, text_of(ident)
            message = _json_message(content)
            if message is None:
                continue  # Cursor's own encoding: the tree of the conversation, not its words
            place = Place(path, rowid, None, modified_ms(path))
            meanings = cursor_message(text_of(message.get("role")), message.get("content"), last_id, place, now)
            yield from _told(sessions, meanings)
        yield Mark(0, 0, {"after": after, "id": last_id})


def _position(database: "apsw.Connection", state: State) -> int:
    """The last row that was told, if it is still the same row."""
    after = state.get("after")
    if not isinstance(after, int):
        return 0
    found = database.execute("select id from blobs where rowid = ?", (after,)).fetchone()
    return after if found and text_of(found[0]) == state.get("id") else 0


def _json_message(content: Any) -> dict[str, Any] | None:
    if isinstance(content, str):
        content = content.encode("utf-8", "replace")
    if not isinstance(content, bytes) or not content.startswith(b"{") or len(content) > MAX_LINE_BYTES:
        return None
    try:
        message = parse_json(content)
    except InvalidInput:
        return None
    return message if isinstance(message, dict) and "role" in message else None


def _learn_cursor_session(database: "apsw.Connection", path: Path, state: State) -> None:
    row = database.execute("select value from meta where key = '0'").fetchone()
    try:
        meta = dict_of(parse_json(bytes.fromhex(row[0]))) if row and isinstance(row[0], str) else {}
    except (ValueError, InvalidInput):
        meta = {}
    beside = _cursor_notes(path)
    learn(state, key=name_of(meta.get("agentId")) or path.parent.name)
    when((meta.get("createdAt"), beside.get("createdAtMs")), Place(path, 0, None, 0), state)
    entitle(state, name_of(beside.get("title")) or name_of(meta.get("name")))


def _cursor_notes(path: Path) -> dict[str, Any]:
    """What Cursor writes down beside its database; the title there is the newer one."""
    try:
        with open_safely(path.with_name("meta.json"), path.parent) as notes:
            return dict_of(parse_json(notes.read(MAX_NOTES_BYTES)))
    except (OSError, InvalidInput):
        return {}


_EVENTS = "select seq, event_json, null from transcript_events where session_id = ? and seq > ? order by seq"
_EVENTS_PACKED = _EVENTS.replace("null", "event_zstd")


class OpenClawStoreReader(_DatabaseReader):
    """`event_json` is the record that the JSON lines had, large ones packed as `event_zstd`; `seq` is their order."""

    name = "openclaw"
    tables = frozenset({"transcript_events"})

    def rows(self, database: "apsw.Connection", path: Path, state: State) -> Iterator[Item]:
        told: dict[str, int] = dict(dict_of(state.get("told")))
        newest = database.execute("select session_id, max(seq) from transcript_events group by session_id order by 1")
        for session, last in newest.fetchall():
            key = name_of(session)
            before = told.get(key, -1)
            if not isinstance(session, str) or not isinstance(last, int) or last == before:
                continue
            # A session that became shorter was written anew.
            yield from self._session(database, path, session, before if last > before else -1)
            told[key] = last
            yield Mark(0, 0, {"told": dict(told)})
        yield Mark(0, 0, {"told": dict(told)})

    def _session(self, database: "apsw.Connection", path: Path, session: str, before: int) -> Iterator[Item]:
        now: State = {}
        learn(now, key=name_of(session))
        sessions = Sessions(self.name, path, now)
        packs = database.execute("select 1 from pragma_table_info('transcript_events') where name = 'event_zstd'")
        rows = database.execute(_EVENTS_PACKED if packs.fetchone() else _EVENTS, (session, before))
        for seq, event, packed in rows:
            place = Place(path, seq, None, modified_ms(path))
            try:
                content = unpack_zstd(packed, MAX_LINE_BYTES) if event is None and isinstance(packed, bytes) else event
                record = parse_json(content if isinstance(content, str | bytes) else "")
            except (InvalidInput, Unpackable) as trouble:
                yield Skip(str(trouble) if isinstance(trouble, Unpackable) else "malformed record")
                continue
            if not isinstance(record, dict):
                yield Skip("malformed record")
            elif record.get("type") == "session":
                learn(now, cwd=path_of(record.get("cwd")), started_ms=time_of(record.get("timestamp")))
            else:
                yield from _told(sessions, list(tree_step(record, place, now)))


class OpenCodeStoreReader(_DatabaseReader):
    """Sessions, their messages and the messages' parts; the words are the text parts."""

    name = "opencode"
    tables = frozenset({"session", "message", "part"})

    def rows(self, database: "apsw.Connection", path: Path, state: State) -> Iterator[Item]:
        after = state.get("after") if isinstance(state.get("after"), int) else 0
        newest = after
        sessions = database.execute(
            "select id, parent_id, directory, title, time_created, time_updated from session"
            " where time_updated >= ? order by time_updated, id",
            (after,),
        )
        for ident, parent, folder, title, created, updated in sessions.fetchall():
            if not isinstance(ident, str):
                continue
            now: State = {}
            learn(now, key=name_of(ident), parent=name_of(parent), cwd=path_of(folder), started_ms=time_of(created))
            entitle(now, name_of(title))
            yield from self._session(database, path, ident, now)
            newest = max(newest or 0, updated if isinstance(updated, int) else 0)
        yield Mark(0, 0, {"after": newest})

    def _session(self, database: "apsw.Connection", path: Path, session: str, now: State) -> Iterator[Item]:
        sessions = Sessions(self.name, path, now)
        rows = database.execute(
            "select id, data, time_created from message where session_id = ? order by time_created, id", (session,)
        )
        for ident, data, created in rows.fetchall():
            role = text_of(_object(data).get("role"))
            if role not in {"user", "assistant"}:
                yield Skip("unknown record type")
                continue
            parts = [
                _object(part[0])
                for part in database.execute("select data from part where message_id = ? order by id", (ident,))
            ]
            place = Place(path, 0, None, modified_ms(path))
            yield from _told(sessions, opencode_message(role, name_of(ident), parts, created, place, now))


def opencode_message(
    role: str, ident: str, parts: list[dict[str, Any]], created: Any, place: Place, state: State
) -> list[Meaning]:
    """One message of OpenCode; parts that it made up itself (`synthetic`) were not said."""
    words = spoken([part for part in parts if not (part.get("synthetic") or part.get("ignored"))], role)
    at_ms = when((created,), place, state)
    return [said(role, ident, words, at_ms, None)] if words else [Skip(why_silent(parts))]


def _object(data: Any) -> dict[str, Any]:
    try:
        return dict_of(parse_json(data if isinstance(data, str | bytes) else ""))
    except InvalidInput:
        return {}


def _told(sessions: Sessions, meanings: list[Meaning]) -> Iterator[Item]:
    yield from sessions.news(needed=any(not isinstance(meaning, Skip) for meaning in meanings))
    yield from meanings


class _Closed(Exception):
    """The database cannot be read now; the text says why."""


@contextmanager
def _opened(path: Path, root: Path | None) -> "Iterator[apsw.Connection]":
    """A read-only connection. Foreign databases are not trusted: no code of theirs runs, no link is followed."""
    import apsw

    try:
        check_under(path, path.parent if root is None else root)
        real = str(path.resolve(strict=True))
        database = apsw.Connection(real, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
        try:
            database.set_busy_timeout(BUSY_MS)
            database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            database.limit(apsw.SQLITE_LIMIT_LENGTH, 2 * MAX_LINE_BYTES)
            with database:  # one snapshot
                yield database
        finally:
            database.close()
    except apsw.BusyError as trouble:
        raise _Closed("database is busy") from trouble
    except (apsw.Error, OSError, InvalidInput) as trouble:
        raise _Closed(f"database cannot be read: {type(trouble).__name__}") from trouble


def _tables(database: "apsw.Connection") -> set[str]:
    return {name for (name,) in database.execute("select name from sqlite_schema where type = 'table'")}
