"""A damaged file is set aside, never thrown away, and what can be read of it becomes a new store.

Only notes and turns whose text still has its hash are taken. The new store has a chain of its own: versions, events and
use counters stay in the damaged file. A backup, if there is a sound one, is named and left to the user to choose.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollect import backup, conversation, transfer
from recollect.config import STORE_URL_SCHEMES, Settings
from recollect.errors import RecollectError, StoreForeign
from recollect.ids import new_uid
from recollect.store import Operation, Store
from recollect.store.opening import open_store
from recollect.types import Session, Turn
from recollect.values import value
from recollect.write import Limits

RECOVERED = ("recovered", "project")


@value
class Rescued:
    aside: Path
    notes: int
    turns: int
    lost: int
    backup: Path | None

    @property
    def story(self) -> list[str]:
        told = [f"set the damaged file aside as {self.aside}"]
        told.append(f"recovered {self.notes} notes and {self.turns} turns; {self.lost} rows could not be read")
        if self.backup is not None:
            told.append(f"a sound backup is there too: `recollect backup restore {self.backup.name}`")
        return told


def rescue(settings: Settings, at_ms: int) -> Rescued:
    """For a store on SQLite that nobody else uses now."""
    from recollect.store.sqlite import restoring, salvage

    if settings.store.startswith(STORE_URL_SCHEMES):
        raise StoreForeign("a PostgreSQL store is not repaired from here", hint="use the server's own tools")
    path = Path(settings.store)
    found = salvage.read(path)
    staged = path.with_name(f".{path.name}.{os.getpid()}.rescue")
    try:
        store = open_store(str(staged), busy_seconds=5.0, durability="full", create=True)
        try:
            notes, turns = _fill(store, found, Operation(new_uid(at_ms), "import", "doctor", at_ms))
        finally:
            store.close()
        aside = restoring.move_away(staged, path)
    finally:
        restoring.discard(staged)
    return Rescued(aside, notes, turns, found.lost, backup.newest_sound(settings))


def _fill(store: Store, found: Any, op: Operation) -> tuple[int, int]:
    kinds = sorted({row["kind"] for row in found.notes if isinstance(row["kind"], str)})
    limits = Limits(redact=False, max_note_bytes=100_000_000, max_tags=10_000, kinds=tuple(kinds))
    homes = {}
    for id in {row["space"] for row in found.notes} | {row[0] for row in found.sessions.values()}:
        name, kind = found.spaces.get(id, RECOVERED)
        homes[id] = store.ensure_space(name, kind, [("name", name.casefold())], op)
    notes = 0
    for id, space in homes.items():
        rows = [row | {"space": space.name} for row in found.notes if row["space"] == id]
        notes += transfer.import_rows(store, space, rows, op, limits).new
    return notes, sum(_talk(store, homes, found, id, rows, op, limits) for id, rows in found.turns.items())


def _talk(
    store: Store, homes: dict[int, Any], found: Any, session_id: int, rows: Sequence[Any], op: Operation, limits: Limits
) -> int:
    row = found.sessions.get(session_id)
    if row is None:
        return 0
    space, uid, agent, key, started, seen, ended, title, summary, source = row
    try:
        session = store.put_session(
            op, homes[space].id, Session(uid, "", agent, key, started, seen, 0, ended, title, summary, source)
        )
        ordered = sorted(rows, key=lambda one: one[7])
        turns = [Turn(one[1], one[2], one[3], one[4], one[5], line=one[6]) for one in ordered]
        return len(conversation.add(store, homes[space].id, session, turns, op, limits, allow_secrets=True).ids)
    except (RecollectError, TypeError, ValueError):  # fields of a damaged row may be anything
        return 0
