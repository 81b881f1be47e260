"""What can still be read of a damaged file, row by row: a page that is gone takes its own rows along and no others.

Rows are looked up by id, because a scan ends at the first damaged page. Nothing is written to the file.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from recollect import audit
from recollect.store.relational.rows import NOTE_COLUMNS
from recollect.values import value

BYTES_PER_ID = 16  # ids are handed out in small batches and some are never used; no file has more than this many
_LAST = {table: f"select max(id) from {table}" for table in ("notes", "turns", "sessions", "spaces")}
_JSON = ("tags", "metadata")
_NOTE = f"select space, {', '.join(NOTE_COLUMNS)} from notes where id = ?"
_LINKS = "select to_uid, kind from links where note_id = ? order by to_uid, kind"
_SESSION = (
    "select space, uid, agent, key, started_ms, seen_ms, ended_ms, title, summary, source from sessions where id = ?"
)
_TURN = "select session_id, speaker, text, at_ms, record, origin, line, position, content_hash from turns where id = ?"


@value
class Salvaged:
    """Notes as export rows with the id of their space, sessions by id, turns by session; how much was not whole."""

    spaces: dict[int, tuple[str, str]]
    notes: list[dict[str, Any]]
    sessions: dict[int, tuple[Any, ...]]
    turns: dict[int, list[tuple[Any, ...]]]
    lost: int


def read(path: Path) -> Salvaged:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return _read(connection)
    finally:
        connection.close()


def _read(connection: apsw.Connection) -> Salvaged:
    lost: list[int] = []
    notes = []
    for row in _rows(connection, _NOTE, _most(connection, "notes"), lost):
        note = _note(connection, row)
        if note is None:
            lost.append(row[1])
        else:
            notes.append(note)
    turns: dict[int, list[tuple[Any, ...]]] = {}
    for row in _rows(connection, _TURN, _most(connection, "turns"), lost):
        if audit.content_hash(str(row[2])) == row[-1]:
            turns.setdefault(row[0], []).append(row)
    sessions = dict(_by_id(connection, _SESSION, _most(connection, "sessions"), lost))
    return Salvaged(_spaces(connection), notes, sessions, turns, len(lost))


def _note(connection: apsw.Connection, row: tuple[Any, ...]) -> dict[str, Any] | None:
    """As an export has it; None where its text is not the one that was remembered or its fields cannot be read."""
    space, *values = row
    fields = dict(zip(NOTE_COLUMNS, values, strict=True))
    try:
        for name in _JSON:
            fields[name] = json.loads(fields[name])
        whole = audit.content_hash(fields["content"]) == fields["content_hash"]
    except (ValueError, TypeError, AttributeError):
        return None
    fields["pinned"] = bool(fields["pinned"])
    links = _asked(connection, _LINKS, (fields["id"],)) or []
    return {"space": space, **fields, "links": [list(link) for link in links]} if whole else None


def _spaces(connection: apsw.Connection) -> dict[int, tuple[str, str]]:
    found = {}
    for id in range(1, min(_most(connection, "spaces"), 10_000) + 1):
        for name, kind in _asked(connection, "select name, kind from spaces where id = ?", (id,)) or []:
            if isinstance(name, str) and isinstance(kind, str):
                found[id] = (name, kind)
    return found


def _most(connection: apsw.Connection, name: str) -> int:
    """The highest id worth trying: what the table or the counter says, and never more than the file has room for."""
    room = Path(connection.db_filename("main")).stat().st_size // BYTES_PER_ID
    last = _asked(connection, _LAST[name], ())
    given = _asked(connection, "select value from counters where name = ?", (name,))
    told = [rows[0][0] for rows in (last, given) if rows and isinstance(rows[0][0], int)]
    return min([room, *told])


def _rows(connection: apsw.Connection, sql: str, most: int, lost: list[int]) -> Iterator[tuple[Any, ...]]:
    for _, row in _by_id(connection, sql, most, lost):
        yield row


def _by_id(connection: apsw.Connection, sql: str, most: int, lost: list[int]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    for id in range(1, most + 1):
        rows = _asked(connection, sql, (id,))
        if rows is None:
            lost.append(id)
        for row in rows or []:
            yield id, row


def _asked(connection: apsw.Connection, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]] | None:
    """None where the answer would have to be read from a damaged page."""
    with contextlib.suppress(apsw.Error, UnicodeDecodeError):
        return connection.execute(sql, values).fetchall()
    return None
